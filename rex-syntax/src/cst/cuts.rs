//! Where a long item can be cut so that its parts, each with the beginning and the end of the item alone, parse as the whole does.
//!
//! What is cut may be the body of a function, class or namespace, a list of initializers, enumerators, arguments or declarators, or a chain of
//! operators.

use text_size::TextRange;

use super::chains::{Chain, chain};
use super::pieces::Scan;
use crate::kind::Kind;
use crate::lex::{self, Token, TokenKind};
use crate::source::Language;

/// What is nearly all of an item.
pub(super) enum Cut {
    List(ListCut),
    Chain(Chain),
}

/// A list of an item.
pub(super) struct ListCut {
    /// All parts.
    pub(super) inside: TextRange,
    /// One behind the other; at least two.
    pub(super) parts: Vec<TextRange>,
    is_block: bool,
}

impl ListCut {
    /// What of a text stands before the parts and behind them.
    pub(super) fn frame(&self, text: TextRange) -> [TextRange; 2] {
        [
            TextRange::new(text.start(), self.inside.start()),
            TextRange::new(self.inside.end(), text.end()),
        ]
    }

    /// Whether its elements are children of a node of a kind, one beside the other.
    pub(super) fn may_be_of(&self, kind: Kind) -> bool {
        self.is_block
            || matches!(
                kind,
                Kind::ArgumentList
                    | Kind::Declaration
                    | Kind::FieldDeclaration
                    | Kind::ParameterList
                    | Kind::TypeDefinition
            )
    }
}

/// The bytes of an item before and behind what is cut, which are parsed with each part.
const FRAME: usize = 1 << 13;

/// What is nearly all of an item, if it can be cut into parts of about `least` bytes.
pub(super) fn cut(text: &str, item: TextRange, least: usize, language: Language) -> Option<Cut> {
    let rest = least.min(FRAME);
    let (inside, is_block) = match main_brackets(text, item, rest) {
        Some((inside, opener)) => (inside, opener == "{"),
        None => (item, false),
    };
    let is_most = |part: TextRange| usize::from(item.len() - part.len()) <= rest;
    let commas = || commas(text, inside, least).filter(|list| is_most(list.inside));
    let block = is_block.then(|| block(text, inside, least)).flatten();
    let list = block.or_else(commas);
    if let Some(list) = list {
        return Some(Cut::List(list));
    }
    let chain = chain(text, inside, least, language)?;
    is_most(chain.behind_first()).then_some(Cut::Chain(chain))
}

/// The inside of the innermost brackets that hold all of an item but `rest` bytes, and what opens them.
fn main_brackets(text: &str, item: TextRange, rest: usize) -> Option<(TextRange, &str)> {
    let mut open: Vec<Token> = Vec::new();
    for token in lex::significant_tokens(text, item) {
        let opener = match token.text(text) {
            "(" | "[" | "{" => {
                open.push(token);
                continue;
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => continue,
        };
        let partner = open.iter().rposition(|open| open.text(text) == opener);
        let is_near = |at: &usize| opener == "{" || at + 1 == open.len();
        let Some(at) = partner.filter(is_near) else {
            continue;
        };
        open.truncate(at + 1);
        let start = open.pop()?;
        if usize::from(item.len() - (token.range.end() - start.range.start())) <= rest {
            let inside = TextRange::new(start.range.end(), token.range.start());
            return Some((inside, opener));
        }
    }
    None
}

fn block(text: &str, inside: TextRange, least: usize) -> Option<ListCut> {
    let parts = parts(text, inside, least);
    (parts.len() > 1).then_some(ListCut {
        inside,
        parts,
        is_block: true,
    })
}

/// The longest list of a text whose elements are not in brackets. Its first element stands before the first part.
fn commas(text: &str, inside: TextRange, least: usize) -> Option<ListCut> {
    let mut longest = TextRange::empty(inside.start());
    let mut start = None;
    let mut scan = Scan::default();
    for token in lex::significant_tokens(text, inside) {
        scan.ends_item(token, text);
        match token.text(text) {
            ";" if scan.is_outside() => {
                let list = TextRange::new(
                    start.take().unwrap_or(token.range.start()),
                    token.range.start(),
                );
                longest = std::cmp::max_by_key(longest, list, |list| list.len());
            }
            "," if scan.is_outside() => _ = start.get_or_insert(token.range.start()),
            _ => {}
        }
    }
    let last = TextRange::new(start.unwrap_or(inside.end()), inside.end());
    let inside = std::cmp::max_by_key(longest, last, |list| list.len());
    let mut parts = Vec::new();
    let mut start = inside.start();
    let mut scan = Scan::default();
    for token in lex::significant_tokens(text, inside) {
        scan.ends_item(token, text);
        let place = token.range.start();
        let is_long = usize::from(place - start) >= least;
        if is_long && scan.is_outside() && token.text(text) == "," {
            parts.push(TextRange::new(start, place));
            start = place;
        }
    }
    parts.push(TextRange::new(start, inside.end()));
    (parts.len() > 1).then_some(ListCut {
        inside,
        parts,
        is_block: false,
    })
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
