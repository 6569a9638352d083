//! OpenMP directives in C++ attribute syntax: `[[omp::directive(..)]]`, `[[omp::sequence(..)]]`.
//!
//! They are written out as `#pragma omp` lines, so that nothing later needs to know two spellings.

use text_size::TextRange;

use crate::layout::{Layout, indent_at};
use crate::lex::{self, Token, TokenKind, significant_tokens, slice};
use crate::omp::locator::{closing, cover};

/// OpenMP directives in the attribute list that these tokens are, `[[` to `]]`: its range, and the same as pragma lines.
///
/// Other attributes of the list are kept after the lines.
pub(crate) fn write_out(text: &str, tokens: &[Token]) -> Option<(TextRange, String)> {
    let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(text));
    let close = tokens.len().checked_sub(1).filter(|close| *close > 3)?;
    let mut inner = tokens.get(2..close - 1)?;
    let uses_omp = word(2) == "using" && word(3) == "omp" && word(4) == ":";
    if uses_omp {
        inner = inner.get(3..)?;
    }
    let mut directives = Vec::new();
    let mut others = Vec::new();
    for part in split_at_commas(text, inner) {
        if !collect(text, part, uses_omp, &mut directives) {
            others.extend(cover(part).map(|range| slice(text, range)));
        }
    }
    if directives.is_empty() {
        return None;
    }
    let range = tokens[0].range.cover(tokens[close].range);
    Some((range, lines(text, range, &directives, &others)))
}

/// Adds the directives of one attribute; returns whether it is one of OpenMP's.
fn collect(text: &str, part: &[Token], uses_omp: bool, directives: &mut Vec<String>) -> bool {
    let word = |idx: usize| part.get(idx).map_or("", |token| token.text(text));
    let name = match (word(0), word(1)) {
        ("omp", "::") => 2,
        _ if uses_omp => 0,
        _ => return false,
    };
    let close = closing(text, part, name + 1);
    let Some(inner) = part.get(name + 2..close) else {
        return false;
    };
    match word(name) {
        "directive" => {
            directives.push(one_line(text, inner));
            true
        }
        // `decl(declare_target)` means the entity declared around it, which a pragma cannot say.
        "decl" if names_its_entities(text, inner) => {
            directives.push(one_line(text, inner));
            true
        }
        "sequence" => {
            for part in split_at_commas(text, inner) {
                collect(text, part, true, directives);
            }
            true
        }
        _ => false,
    }
}

/// Whether a declarative directive says by itself what it declares.
fn names_its_entities(text: &str, tokens: &[Token]) -> bool {
    let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(text));
    matches!(
        (word(0), word(1)),
        (
            "declare",
            "simd" | "variant" | "reduction" | "mapper" | "induction"
        ) | (
            "declare_simd" | "declare_variant" | "declare_reduction" | "declare_mapper",
            _
        ) | ("threadprivate" | "groupprivate" | "allocate", "(")
    )
}

/// The OpenMP attributes that were not written out.
pub(crate) fn left_over(text: &str) -> Vec<TextRange> {
    if !text.contains("omp") || !text.contains("[[") {
        return Vec::new();
    }
    let tokens: Vec<Token> = significant_tokens(text, lex::whole(text)).collect();
    let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(text));
    (0..tokens.len())
        .filter(|&idx| word(idx) == "[" && word(idx + 1) == "[")
        .filter(|&idx| match word(idx + 2) {
            "omp" => word(idx + 3) == "::",
            "using" => word(idx + 3) == "omp",
            _ => false,
        })
        .filter_map(|idx| cover(tokens.get(idx..=closing(text, &tokens, idx))?))
        .collect()
}

fn lines(text: &str, range: TextRange, directives: &[String], others: &[&str]) -> String {
    let newline = Layout::detect(text).newline;
    let indent = indent_at(text, range.start());
    let before = text.get(..usize::from(range.start())).unwrap_or("");
    let after = text.get(usize::from(range.end())..).unwrap_or("");
    let begins_line = before
        .rsplit('\n')
        .next()
        .is_none_or(|line| line.trim().is_empty());
    let ends_line = after
        .split('\n')
        .next()
        .is_none_or(|line| line.trim().is_empty());
    let mut out = String::new();
    for (idx, directive) in directives.iter().enumerate() {
        if idx > 0 || !begins_line {
            out.push_str(newline);
            out.push_str(indent);
        }
        out.push_str("#pragma omp ");
        out.push_str(directive);
    }
    if !ends_line || !others.is_empty() {
        out.push_str(newline);
        out.push_str(indent);
    }
    if !others.is_empty() {
        out.push_str("[[");
        out.push_str(&others.join(", "));
        out.push_str("]]");
    }
    out
}

fn one_line(text: &str, tokens: &[Token]) -> String {
    let mut out = String::new();
    let mut last_end = None;
    for token in tokens {
        if last_end.is_some_and(|end| end < token.range.start()) {
            out.push(' ');
        }
        out.push_str(token.text(text));
        last_end = Some(token.range.end());
    }
    out
}

fn split_at_commas<'t>(text: &str, tokens: &'t [Token]) -> Vec<&'t [Token]> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut idx = 0;
    while let Some(token) = tokens.get(idx) {
        match token.text(text) {
            "(" | "[" | "{" if token.kind == TokenKind::Punct => {
                idx = closing(text, tokens, idx);
            }
            "," => {
                parts.push(&tokens[start..idx]);
                start = idx + 1;
            }
            _ => {}
        }
        idx += 1;
    }
    parts.push(tokens.get(start..).unwrap_or_default());
    parts
}
