//! Where a long text can be cut so that its pieces parse as the whole does.

use text_size::TextRange;

use crate::lex::{self, Token, TokenKind};
use crate::source::Language;

/// Words whose parentheses do not hold parameters: what follows in braces may be the members of a class.
const SPECIFIERS: &[&str] = &[
    "__attribute",
    "__attribute__",
    "__declspec",
    "_Alignas",
    "alignas",
    "decltype",
    "typeof",
    "__typeof__",
];

/// Words behind a function's parameters in a declaration.
const ATTRIBUTES: &[&str] = &["__asm", "__asm__", "__attribute", "__attribute__", "asm"];

/// Words before the name of a class; a macro may stand in the place of the name.
const KEYS: &[&str] = &["class", "enum", "struct", "union"];

/// Words that continue a statement or a definition.
const CONTINUATIONS: &[&str] = &["catch", "else", "while"];

/// Words that begin a declaration at file scope and never one of the old parameters of `int f(a) int a; {}`.
const BEGINNINGS: &[&str] = &["extern", "inline", "static", "typedef"];

/// The pieces of a text, cut behind functions and declarations at file scope. One of less than `least` bytes stands before one that cannot
/// be cut.
pub(super) fn pieces(text: &str, least: usize, language: Language) -> Vec<TextRange> {
    let whole = lex::whole(text);
    if text.len() <= least {
        return vec![whole];
    }
    let mut pieces = Vec::new();
    let mut start = whole.start();
    let mut last = start;
    let mut scan = Scan::default();
    let mut tokens = lex::significant_tokens(text, whole).peekable();
    while let Some(token) = tokens.next() {
        if !scan.ends_item(token, text) {
            continue;
        }
        let next = tokens
            .peek()
            .filter(|next| next.kind == TokenKind::Identifier)
            .map(|next| next.text(text));
        let is_cut = next.is_some_and(|next| match token.text(text) {
            ";" if language == Language::C && scan.is_old_style => BEGINNINGS.contains(&next),
            _ => !CONTINUATIONS.contains(&next),
        });
        if !is_cut {
            continue;
        }
        scan.is_old_style = false;
        let end = token.range.end();
        for place in [last, end] {
            if start < place && usize::from(end - start) >= least {
                pieces.push(TextRange::new(start, place));
                start = place;
            }
        }
        last = end;
    }
    pieces.push(TextRange::new(start, whole.end()));
    pieces
}

/// What the tokens so far say about the brackets around the next one.
#[derive(Default)]
pub(super) struct Scan {
    /// The brackets that are open, by what opens them.
    open: Vec<u8>,
    /// Whether the outermost bracket, open or just closed, holds parameters or the body behind them.
    holds: Holds,
    before: Before,
    /// Whether declarations may be those of old parameters, whose function's body comes.
    is_old_style: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Holds {
    #[default]
    Other,
    Parameters,
    Body,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Before {
    #[default]
    Other,
    Key,
    Specifier,
    /// The end of a pair of brackets at file scope.
    Closed,
}

impl Scan {
    /// Takes the next token. Whether it may end something at file scope: the body of a function, or a declaration.
    pub(super) fn ends_item(&mut self, token: Token, text: &str) -> bool {
        let word = token.text(text);
        let before = std::mem::take(&mut self.before);
        match (token.kind, word) {
            (TokenKind::Identifier, _) if self.open.is_empty() => {
                self.is_old_style |= before == Before::Closed
                    && self.holds == Holds::Parameters
                    && !ATTRIBUTES.contains(&word);
                self.before = match word {
                    _ if KEYS.contains(&word) => Before::Key,
                    _ if before == Before::Key || SPECIFIERS.contains(&word) => Before::Specifier,
                    _ => Before::Other,
                };
            }
            (TokenKind::Punct, "(" | "[" | "{") => {
                if self.open.is_empty() {
                    self.holds = match (word, before, self.holds) {
                        ("(", Before::Specifier, _) => Holds::Other,
                        ("(", ..) => Holds::Parameters,
                        ("{", Before::Closed, Holds::Parameters) => Holds::Body,
                        _ => Holds::Other,
                    };
                }
                self.open.extend(word.bytes());
            }
            (TokenKind::Punct, ")" | "]" | "}") => {
                self.close(word);
                if self.open.is_empty() {
                    self.before = Before::Closed;
                    return word == "}" && self.holds == Holds::Body;
                }
            }
            (TokenKind::Punct, ";") => return self.open.is_empty(),
            _ => {}
        }
        false
    }

    /// Whether no bracket is open.
    pub(super) fn is_outside(&self) -> bool {
        self.open.is_empty()
    }

    /// Closes a bracket; a brace closes what was left open within it, so that damage stays where it is.
    fn close(&mut self, word: &str) {
        let opener = match word {
            ")" => b'(',
            "]" => b'[',
            _ => b'{',
        };
        let is_last = self.open.last() == Some(&opener);
        if is_last {
            self.open.pop();
        } else if opener == b'{'
            && let Some(idx) = self.open.iter().rposition(|&open| open == b'{')
        {
            self.open.truncate(idx);
        }
    }
}
