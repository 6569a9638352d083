//! Where a long chain of operators can be cut: `a + b - c * d`, of which each operator but the first has all before it as its first operand.

use std::ops::Range;

use text_size::{TextRange, TextSize};

use super::pieces::Scan;
use crate::lex::{self, Token, TokenKind};
use crate::source::Language;

/// Operators that are applied to all that stands before them, and their operands.
pub(super) struct Chain {
    /// The first operand.
    pub(super) first: TextRange,
    /// Where the operators stand.
    pub(super) operators: Vec<TextSize>,
    /// One behind the other from the first operand on, each with the numbers of its operators.
    parts: Vec<(TextRange, Range<usize>)>,
}

/// Some of the operators with their second operands.
pub(super) struct Links<'c> {
    pub(super) range: TextRange,
    pub(super) operators: &'c [TextSize],
}

impl Chain {
    /// All but the first operand.
    pub(super) fn behind_first(&self) -> TextRange {
        let end = self
            .parts
            .last()
            .map_or(self.first.end(), |(part, _)| part.end());
        TextRange::new(self.first.end(), end)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Links<'_>> {
        self.parts.iter().map(|(range, operators)| Links {
            range: *range,
            operators: &self.operators[operators.clone()],
        })
    }
}

/// Punctuators and words before and behind which an expression ends.
const DELIMITERS: &[&str] = &[
    ",", ";", ":", "?", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
    "return", "else", "do", "throw", "case",
];

/// The longest chain of a text outside brackets, in parts of at least `least / 4` bytes: the parser keeps more of operators than of most else.
pub(super) fn chain(
    text: &str,
    inside: TextRange,
    least: usize,
    language: Language,
) -> Option<Chain> {
    let mut longest = TextRange::empty(inside.start());
    let mut start = None;
    for token in outside(text, inside) {
        if DELIMITERS.contains(&token.text(text)) {
            start = None;
            continue;
        }
        let start = *start.get_or_insert(token.range.start());
        let range = TextRange::new(start, token.range.end());
        longest = std::cmp::max_by_key(longest, range, |range| range.len());
    }
    let is_bracket = |angle: &str| outside(text, longest).any(|token| token.text(text) == angle);
    let angles =
        match language == Language::Cxx && is_bracket("<") && (is_bracket(">") || is_bracket(">>"))
        {
            true => Angles::Brackets,
            false => Angles::Operators,
        };
    let loosest = loop {
        let loosest = operators(text, longest, angles)
            .map(|(level, ..)| level)
            .min()?;
        let operand = longest_operand(text, longest, angles, loosest);
        if usize::from(operand.len()) < least {
            break loosest;
        }
        longest = operand;
    };
    let mut chain = Chain {
        first: longest,
        operators: Vec::new(),
        parts: Vec::new(),
    };
    let mut start = None;
    let mut n_before = 0;
    let of_level = operators(text, longest, angles).filter(|(level, ..)| *level == loosest);
    for (_, end, operator) in of_level {
        let from = *start.get_or_insert_with(|| {
            chain.first = TextRange::new(longest.start(), end);
            end
        });
        if usize::from(end - from) >= least / 4 && chain.operators.len() > n_before {
            chain
                .parts
                .push((TextRange::new(from, end), n_before..chain.operators.len()));
            n_before = chain.operators.len();
            start = Some(end);
        }
        chain.operators.push(operator);
    }
    chain.parts.push((
        TextRange::new(start?, longest.end()),
        n_before..chain.operators.len(),
    ));
    (chain.parts.len() > 1).then_some(chain)
}

/// The tokens outside brackets, brackets included.
fn outside(text: &str, range: TextRange) -> impl Iterator<Item = Token> {
    let mut scan = Scan::default();
    let tokens = lex::significant_tokens(text, range);
    tokens.filter(move |token| {
        let was_outside = scan.is_outside();
        scan.ends_item(*token, text);
        was_outside || scan.is_outside()
    })
}

/// The operators outside brackets: how tightly each binds, where the operand before it ends, and where it stands.
fn operators(
    text: &str,
    range: TextRange,
    angles: Angles,
) -> impl Iterator<Item = (u8, TextSize, TextSize)> {
    let mut before: Option<Token> = None;
    outside(text, range).filter_map(move |token| {
        let operand = before.replace(token)?;
        let ends_operand =
            operand.kind != TokenKind::Punct || matches!(operand.text(text), ")" | "]" | "}");
        let level = level(token.text(text), angles).filter(|_| ends_operand)?;
        Some((level, operand.range.end(), token.range.start()))
    })
}

/// The longest stretch between operators of a level.
fn longest_operand(text: &str, range: TextRange, angles: Angles, loosest: u8) -> TextRange {
    let mut longest = TextRange::empty(range.start());
    let mut start = range.start();
    for (level, end, operator) in operators(text, range, angles) {
        if level == loosest {
            let operand = TextRange::new(start, end);
            longest = std::cmp::max_by_key(longest, operand, |range| range.len());
            let tokens = lex::significant_tokens(text, TextRange::new(operator, range.end()));
            start = tokens
                .map(|token| token.range.start())
                .nth(1)
                .unwrap_or(operator);
        }
    }
    let last = TextRange::new(start, range.end());
    std::cmp::max_by_key(longest, last, |range| range.len())
}

/// What angle brackets are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Angles {
    Operators,
    /// Some of them may enclose arguments of templates.
    Brackets,
}

/// How tightly an operator binds.
fn level(operator: &str, angles: Angles) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" if angles == Angles::Brackets => return None,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}
