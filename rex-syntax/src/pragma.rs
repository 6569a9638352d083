//! Finds `#pragma omp` lines in raw text.
//!
//! Knows logical lines, comments and strings, so a pragma inside any of those is not found. It does not read what the pragma says
//! ([`crate::omp::parse`] does) and does not know which conditional arm is active (`ppcond` does).

use text_size::{TextRange, TextSize};

use crate::lex::{Lexer, Token, TokenKind, slice, whole};

/// One `#pragma omp` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PragmaLine {
    /// From `#` to the end of the last physical line, without the newline.
    pub range: TextRange,
    /// What stands after the word `omp`, to the same end.
    pub body: TextRange,
}

/// Every `#pragma omp` line of a text, in order.
///
/// # Example
/// ```
/// let text = "int a;\n# pragma omp parallel \\\n  for\nfor(;;);";
/// let lines = rex_syntax::pragma::scan(text);
/// assert_eq!(&text[lines[0].body], " parallel \\\n  for");
/// ```
pub fn scan(text: &str) -> Vec<PragmaLine> {
    directives(text)
        .into_iter()
        .filter_map(|line| line.omp_pragma(text))
        .collect()
}

/// One preprocessor directive line of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectiveLine {
    /// From `#` to the end of the last physical line, without the newline.
    pub range: TextRange,
    /// The directive's word, if there is one.
    pub word: Option<TextRange>,
    /// What stands after the word.
    pub rest: TextRange,
}

impl DirectiveLine {
    /// The word, or `""`.
    pub fn name(self, text: &str) -> &str {
        self.word.map_or("", |word| slice(text, word))
    }

    /// The `#pragma omp` that it is, if it is one.
    pub(crate) fn omp_pragma(self, text: &str) -> Option<PragmaLine> {
        if self.name(text) != "pragma" {
            return None;
        }
        let omp = crate::lex::significant_tokens(text, self.rest).next()?;
        (omp.text(text) == "omp").then(|| PragmaLine {
            range: self.range,
            body: TextRange::new(omp.range.end(), self.range.end()),
        })
    }
}

/// Every preprocessor directive line of a text, in order.
pub fn directives(text: &str) -> Vec<DirectiveLine> {
    let mut lines = Vec::new();
    let mut lexer = Lexer::new(text, whole(text));
    let mut at_line_start = true;
    while let Some(token) = lexer.next() {
        match token.kind {
            TokenKind::Newline => at_line_start = true,
            TokenKind::Comment => {}
            TokenKind::Punct if at_line_start && matches!(token.text(text), "#" | "%:") => {
                lines.push(directive_line(text, token, &mut lexer));
            }
            _ => at_line_start = false,
        }
    }
    lines
}

/// Reads one directive line to its end, newline included; `hash` is its `#`.
fn directive_line(text: &str, hash: Token, lexer: &mut Lexer<'_>) -> DirectiveLine {
    let mut end = TextSize::of(text);
    let mut first = None;
    for token in lexer {
        match token.kind {
            TokenKind::Newline => {
                end = token.range.start();
                break;
            }
            TokenKind::Comment => {}
            _ => first = first.or(Some(token)),
        }
    }
    let start = hash.range.start();
    if slice(text, TextRange::new(start, end)).ends_with('\r') {
        end -= TextSize::new(1);
    }
    let word = first
        .filter(|token| token.kind == TokenKind::Identifier)
        .map(|token| token.range);
    DirectiveLine {
        range: TextRange::new(start, end),
        word,
        rest: TextRange::new(word.map_or(hash.range.end(), TextRange::end), end),
    }
}

/// The text of a string literal as `_Pragma` reads it: without prefix and quotes, `\\"` and `\\\\` undone.
pub(crate) fn destringize(literal: &str) -> String {
    let Some(open) = literal.find('"') else {
        return String::new();
    };
    let inner = &literal[open + 1..];
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if literal[..open].ends_with('R') {
        let text = inner.split_once('(').map_or(inner, |(_, rest)| rest);
        return text
            .rsplit_once(')')
            .map_or(text, |(text, _)| text)
            .to_owned();
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match (c, chars.peek()) {
            ('\\', Some('"' | '\\')) => chars.next(),
            _ => None,
        };
        out.push(escaped.unwrap_or(c));
    }
    out
}

/// Whether the text of a pragma is an omp directive.
pub(crate) fn is_omp_string(pragma: &str) -> bool {
    let rest = pragma.trim_start().strip_prefix("omp");
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = scan(text)
            .iter()
            .map(|line| slice(text, line.range))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn spacing_and_comments_before_the_hash() {
        check(
            "/* c */ #  pragma\tomp barrier\nx",
            &["#  pragma\tomp barrier"],
        );
        check("%:pragma omp barrier", &["%:pragma omp barrier"]);
        check(
            "#/* c */pragma omp barrier",
            &["#/* c */pragma omp barrier"],
        );
    }

    #[test]
    fn continuations_and_block_comments_extend_the_line() {
        check("#pragma omp a \\\n b\nc", &["#pragma omp a \\\n b"]);
        check(
            "#pragma omp a \\\r\n b\r\nc\r\n",
            &["#pragma omp a \\\r\n b"],
        );
        check(
            "#pragma omp a /* x\n y */ b\nc",
            &["#pragma omp a /* x\n y */ b"],
        );
        check(
            "#pragma omp a // see a/b/\nfor",
            &["#pragma omp a // see a/b/"],
        );
    }

    #[test]
    fn comments_strings_and_other_pragmas_are_skipped() {
        check("// #pragma omp a\n/*\n#pragma omp b\n*/", &[]);
        check("s = \"\\\n#pragma omp a\\\n\";", &[]);
        check("R\"(\n#pragma omp a\n)\"", &[]);
        check("x #pragma omp a\n#pragma once\n#define P pragma omp\n", &[]);
        check("#error don't\n#pragma omp a", &["#pragma omp a"]);
    }
}
