//! Where a long block can be cut so that its parts, each between the braces alone, parse as the whole does.
//!
//! The block may be the body of a function, class or namespace, a list of initializers or of enumerators.

use text_size::{TextRange, TextSize};

use super::pieces::Scan;
use crate::lex::{self, Token, TokenKind};

/// A block of an item, and what stands between its braces.
pub(super) struct Block {
    pub(super) open: TextRange,
    pub(super) close: TextRange,
    /// One behind the other from brace to brace; at least two.
    pub(super) parts: Vec<TextRange>,
}

/// The bytes of an item before and behind the block, which are parsed with each part.
const FRAME: usize = 1 << 13;

/// The innermost block that is nearly all of an item, if it can be cut into parts of about `least` bytes.
pub(super) fn block(text: &str, item: TextRange, least: usize) -> Option<Block> {
    let braces = main_braces(text, item, least.min(FRAME))?;
    let brace = TextSize::of('{');
    let open = TextRange::at(braces.start(), brace);
    let close = TextRange::new(braces.end() - brace, braces.end());
    let inside = TextRange::new(open.end(), close.start());
    let parts = parts(text, inside, least);
    (parts.len() > 1).then_some(Block { open, close, parts })
}

/// The innermost braces that hold all of an item but `rest` bytes.
fn main_braces(text: &str, item: TextRange, rest: usize) -> Option<TextRange> {
    let mut open = Vec::new();
    for token in lex::significant_tokens(text, item) {
        match token.text(text) {
            "{" => open.push(token.range.start()),
            "}" => {
                let braces = TextRange::new(open.pop()?, token.range.end());
                if usize::from(item.len() - braces.len()) <= rest {
                    return Some(braces);
                }
            }
            _ => {}
        }
    }
    None
}

/// What stands between two parts.
#[derive(Clone, Copy, PartialEq)]
enum Separator {
    /// The end of a statement or declaration.
    Statement,
    /// The same, with `case` behind it: what follows a label belongs to it.
    Label,
    Comma,
}

fn parts(text: &str, inside: TextRange, least: usize) -> Vec<TextRange> {
    let separator = separator(text, inside);
    let mut parts = Vec::new();
    let mut start = inside.start();
    let mut scan = Scan::default();
    let mut loops = Loops::default();
    let mut tokens = lex::significant_tokens(text, inside).peekable();
    while let Some(token) = tokens.next() {
        let ends_statement = scan.ends_item(token, text);
        if !scan.is_outside() {
            continue;
        }
        let word = token.text(text);
        loops.see(word);
        let next = tokens.peek().map(|next| next.text(text));
        let is_cut = match separator {
            Separator::Comma => word == ",",
            Separator::Label => ends_statement && matches!(next, Some("case" | "default")),
            Separator::Statement => {
                let is_word = tokens.peek().is_some_and(|next| is_word(*next));
                let continues = match next {
                    Some("while") => loops.are_open(),
                    next => matches!(next, Some("else" | "catch")),
                };
                ends_statement && is_word && !continues
            }
        };
        let end = token.range.end();
        if is_cut && usize::from(end - start) >= least {
            parts.push(TextRange::new(start, end));
            start = end;
        }
    }
    parts.push(TextRange::new(start, inside.end()));
    parts
}

fn is_word(token: Token) -> bool {
    token.kind == TokenKind::Identifier
}

fn separator(text: &str, inside: TextRange) -> Separator {
    let mut scan = Scan::default();
    let mut separator = Separator::Comma;
    for token in lex::significant_tokens(text, inside) {
        scan.ends_item(token, text);
        if !scan.is_outside() {
            continue;
        }
        match token.text(text) {
            "case" => return Separator::Label,
            ";" => separator = Separator::Statement,
            _ => {}
        }
    }
    separator
}

/// The loops that begin with `do` and whose `while` has not come.
#[derive(Default)]
struct Loops {
    n_open: usize,
    is_behind_statement: bool,
}

impl Loops {
    fn see(&mut self, word: &str) {
        match word {
            "do" => self.n_open += 1,
            "while" if self.is_behind_statement => self.n_open = self.n_open.saturating_sub(1),
            _ => {}
        }
        self.is_behind_statement = matches!(word, ";" | "}");
    }

    fn are_open(&self) -> bool {
        self.n_open > 0
    }
}
