//! The tokens of an expansion and what the preprocessor does with them: pasting, stringizing, joining.

use smol_str::SmolStr;
use text_size::TextRange;

use crate::lex::{self, TokenKind, significant_tokens};

/// A token of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: SmolStr,
    pub(super) kind: TokenKind,
    /// Whether a blank stands before it.
    pub(super) spaced: bool,
    /// Whether it names a macro that may not be expanded again.
    pub(super) hidden: bool,
}

pub(super) fn pieces(text: &str, range: TextRange) -> Vec<Piece> {
    let mut last_end = range.start();
    significant_tokens(text, range)
        .map(|token| {
            let spaced = token.range.start() > last_end;
            last_end = token.range.end();
            Piece {
                text: token.spelling(text).into(),
                kind: token.kind,
                spaced,
                hidden: false,
            }
        })
        .collect()
}

/// Adds a piece, glued to the one before if `pasted`.
pub(super) fn push(out: &mut Vec<Piece>, piece: Piece, pasted: bool) {
    match out.last_mut().filter(|_| pasted) {
        // The comma before `## __VA_ARGS__` is no operand.
        Some(last) if last.text != "," => {
            let glued = format!("{}{}", last.text, piece.text);
            last.kind = significant_tokens(&glued, lex::whole(&glued))
                .next()
                .map_or(piece.kind, |token| token.kind);
            last.text = glued.into();
            last.hidden = false;
        }
        _ => out.push(piece),
    }
}

pub(super) fn push_all(out: &mut Vec<Piece>, pieces: Vec<Piece>, spaced: bool, pasted: bool) {
    for (idx, mut piece) in pieces.into_iter().enumerate() {
        if idx == 0 {
            piece.spaced = spaced;
        }
        push(out, piece, pasted && idx == 0);
    }
}

pub(super) fn stringize(pieces: &[Piece], spaced: bool) -> Piece {
    let mut text = String::from("\"");
    for (idx, piece) in pieces.iter().enumerate() {
        if piece.spaced && idx > 0 {
            text.push(' ');
        }
        let is_literal = matches!(piece.kind, TokenKind::String | TokenKind::Char);
        for c in piece.text.chars() {
            if is_literal && matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text.push('"');
    Piece {
        text: text.into(),
        kind: TokenKind::String,
        spaced,
        hidden: false,
    }
}

pub(super) fn matching(pieces: &[Piece], open: usize) -> usize {
    let mut depth = 0usize;
    for (idx, piece) in pieces.iter().enumerate().skip(open) {
        match piece.text.as_str() {
            "(" => depth += 1,
            ")" => {
                depth -= 1;
                if depth == 0 {
                    return idx;
                }
            }
            _ => {}
        }
    }
    pieces.len()
}

pub(super) fn join(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        if piece.spaced && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&piece.text);
    }
    out
}
