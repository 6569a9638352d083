//! OpenMP directives in C++ attribute syntax: `[[omp::directive(..)]]`, `[[omp::sequence(..)]]`, `[[omp::decl(..)]]`.
//!
//! They are written out as `#pragma omp` lines, so that nothing later needs to know two spellings.

mod decl;

use text_size::TextRange;

use decl::{Declaration, Written};

use crate::layout::{Layout, indent_at};
use crate::lex::{self, Token, TokenKind, significant_tokens, slice};
use crate::omp::locator::{closing, cover};

/// OpenMP directives in the attribute list from token `open` to token `close`, `[[` to `]]`, as pragma lines: what is to be
/// written, and where. The list itself comes first.
///
/// Other attributes of the list are kept after the lines.
pub(crate) fn write_out(
    text: &str,
    tokens: &[Token],
    open: usize,
    close: usize,
) -> Option<Vec<(TextRange, String)>> {
    let list = tokens.get(open..=close).filter(|list| list.len() > 4)?;
    let word = |idx: usize| list.get(idx).map_or("", |token| token.text(text));
    let mut inner = list.get(2..list.len() - 2)?;
    let uses_omp = word(2) == "using" && word(3) == "omp" && word(4) == ":";
    if uses_omp {
        inner = inner.get(3..)?;
    }
    let mut found = Found::default();
    let mut others = Vec::new();
    for part in split_at_commas(text, inner) {
        if !collect(text, part, uses_omp, &mut found) {
            others.extend(cover(part).map(|range| slice(text, range)));
        }
    }
    let range = cover(list)?;
    let mut directives = found.directives;
    if found.declarative.is_empty() {
        let is_any = !directives.is_empty();
        return is_any.then(|| vec![(range, lines(text, range, &directives, &others))]);
    }
    let declaration = Declaration::around(text, tokens, open, close)?;
    let mut written = Written::default();
    for directive in &found.declarative {
        if !declaration.write(directive, &mut written) {
            return None;
        }
    }
    let kept = match declaration.is_leading {
        true => {
            directives.extend(written.front.iter().cloned());
            lines(text, range, &directives, &others)
        }
        false if others.is_empty() => String::new(),
        false => format!("[[{}]]", others.join(", ")),
    };
    let mut edits = vec![(range, kept)];
    edits.extend(written.around(text, &declaration));
    Some(edits)
}

/// The directives of an attribute list.
#[derive(Default)]
struct Found {
    directives: Vec<String>,
    /// Those of `decl`.
    declarative: Vec<String>,
}

/// Adds the directives of one attribute; returns whether it is one of OpenMP's.
fn collect(text: &str, part: &[Token], uses_omp: bool, found: &mut Found) -> bool {
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
        "directive" => found.directives.push(one_line(text, inner)),
        "decl" => found.declarative.push(one_line(text, inner)),
        "sequence" => {
            for part in split_at_commas(text, inner) {
                collect(text, part, true, found);
            }
        }
        _ => return false,
    }
    true
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
