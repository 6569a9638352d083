//! Digraphs and trigraphs, written as the tokens that they stand for: `<%` as `{`, `%:pragma` as `#pragma`, `??(` as `[`.
//!
//! The grammars know neither. Everything downstream reads a file without them.

use text_size::{TextRange, TextSize};

use super::derive;
use crate::edit::EditSet;
use crate::lex::{self, Lexer, Token, TokenKind};
use crate::source::{FileId, SourceMap};

const DIGRAPHS: [(&str, &str); 6] = [
    ("<%", "{"),
    ("%>", "}"),
    ("<:", "["),
    (":>", "]"),
    ("%:", "#"),
    ("%:%:", "##"),
];

/// The third character of a trigraph, and what the three stand for.
const TRIGRAPHS: [(u8, &str); 9] = [
    (b'=', "#"),
    (b'/', "\\"),
    (b'\'', "^"),
    (b'(', "["),
    (b')', "]"),
    (b'!', "|"),
    (b'<', "{"),
    (b'>', "}"),
    (b'-', "~"),
];

/// The file with the usual spellings of such tokens, if it may have OpenMP; else the file itself.
pub(crate) fn with_usual_tokens(sources: &mut SourceMap, file: FileId) -> FileId {
    let text = sources.file(file).text();
    if !text.contains("omp") {
        return file;
    }
    let edits = trigraph_edits(text);
    let file = derive(sources, file, &edits);
    let edits = digraph_edits(sources.file(file).text());
    derive(sources, file, &edits)
}

fn digraph_edits(text: &str) -> EditSet {
    let mut edits = EditSet::new();
    if !["<%", "<:", "%:"].iter().any(|it| text.contains(it)) {
        return edits;
    }
    for token in Lexer::new(text, lex::whole(text)) {
        let word = token.text(text);
        let found = DIGRAPHS.iter().find(|(digraph, _)| *digraph == word);
        if let Some((_, usual)) = found.filter(|_| token.kind == TokenKind::Punct) {
            edits.replace(token.range, *usual);
        }
    }
    edits
}

/// None where no trigraph stands outside comments and strings: without the compiler's option they mean nothing.
fn trigraph_edits(text: &str) -> EditSet {
    let mut edits = EditSet::new();
    if !text.contains("??") {
        return edits;
    }
    let found: Vec<(TextRange, &str)> = trigraphs(text).collect();
    let is_question = |token: &Token| token.text(text) == "?";
    let tokens: Vec<Token> = Lexer::new(text, lex::whole(text))
        .filter(is_question)
        .collect();
    let is_code = |at: TextSize| {
        tokens
            .binary_search_by_key(&at, |token| token.range.start())
            .is_ok()
    };
    if found.iter().any(|(range, _)| is_code(range.start())) {
        for (range, usual) in found {
            edits.replace(range, usual);
        }
    }
    edits
}

fn trigraphs(text: &str) -> impl Iterator<Item = (TextRange, &'static str)> {
    let bytes = text.as_bytes();
    text.match_indices("??").filter_map(move |(at, _)| {
        // Of `???=` the last three are one.
        let at = at + usize::from(bytes.get(at + 2) == Some(&b'?'));
        let last = bytes.get(at + 2)?;
        let (_, usual) = TRIGRAPHS.iter().find(|(third, _)| third == last)?;
        Some((lex::range(at, at + 3), *usual))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Language, SourceFile};

    fn check(text: &str, expected: &str) {
        let mut sources = SourceMap::new();
        let written = SourceFile::new("a.cpp", Language::Cxx, text.as_bytes());
        let file = sources.add(written);
        let usual = with_usual_tokens(&mut sources, file);
        assert_eq!(sources.file(usual).text(), expected);
    }

    #[test]
    fn digraphs_become_brackets() {
        check(
            "%:pragma omp target map(a<:0:n:>)\n<% a<:i:> = \"<%\"; %>",
            "#pragma omp target map(a[0:n])\n{ a[i] = \"<%\"; }",
        );
        check("omp<::size_t> %:%: <::> x", "omp<::size_t> ## [] x");
    }

    #[test]
    fn trigraphs_of_code_are_read() {
        check(
            "??=pragma omp target ??/\n map(a)\n??< a = \"what??!\"; ??>",
            "#pragma omp target \\\n map(a)\n{ a = \"what|\"; }",
        );
        let only_in_text = "// omp??/\nint x; f(\"what??!\"); a ? b : c;";
        check(only_in_text, only_in_text);
    }

    #[test]
    fn files_without_openmp_stay() {
        check("int a<:2:>;", "int a<:2:>;");
    }
}
