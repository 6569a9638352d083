//! Arrays that `new` makes as large as their list: `new int[]{1, 2}`. Not all compilers for devices count.

use rex_syntax::lex::{self, Partners, Token};
use rex_syntax::source::Language;
use smol_str::format_smolstr;

use super::Builder;

/// Words of types whose objects have one value each.
const SCALARS: [&str; 10] = [
    "int", "char", "bool", "float", "double", "long", "short", "unsigned", "signed", "size_t",
];

impl Builder<'_> {
    /// Writes the number of elements where device code leaves it to the compiler.
    pub(super) fn count_new_elements(&mut self) {
        if self.unit.language != Language::Cxx || !self.source.contains("new") {
            return;
        }
        let source = self.source;
        let tokens: Vec<Token> = lex::significant_tokens(source, lex::whole(source)).collect();
        let partners = Partners::of(source, &tokens);
        let text = |idx: usize| tokens.get(idx).map_or("", |token| token.text(source));
        for open in 1..tokens.len() {
            if (text(open), text(open + 1), text(open + 2)) != ("[", "]", "{") {
                continue;
            }
            let Some(end) = partners.closing(open + 2) else {
                continue;
            };
            let words = (0..open).rev().take_while(|idx| is_of_type(text(*idx)));
            let start = words.last().unwrap_or(open);
            let is_new = start > 0 && text(start - 1) == "new";
            let is_scalar =
                (start..open).any(|idx| text(idx) == "*" || SCALARS.contains(&text(idx)));
            let elements = elements(source, &tokens, &partners, open + 3, end);
            if !is_new || elements.is_empty() {
                continue;
            }
            let are_lists = elements.iter().all(|first| text(*first) == "{");
            let is_literal = text(open + 3).contains('"');
            if !is_literal && (is_scalar || are_lists) {
                let brackets = tokens[open].range.cover(tokens[open + 1].range);
                let count = format_smolstr!("[{}]", elements.len());
                self.conversions.push((brackets, count));
            }
        }
    }
}

/// Whether a word may be part of the type behind `new`.
fn is_of_type(word: &str) -> bool {
    let is_name = word.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
    word != "new" && word != "return" && (is_name || matches!(word, "::" | "*"))
}

/// The first tokens of the elements of a list.
fn elements(
    source: &str,
    tokens: &[Token],
    partners: &Partners,
    first: usize,
    end: usize,
) -> Vec<usize> {
    let mut elements = Vec::new();
    let mut at = first;
    let mut begins = true;
    while at < end {
        let is_comma = tokens[at].text(source) == ",";
        if begins && !is_comma {
            elements.push(at);
        }
        begins = is_comma;
        at = partners.closing(at).map_or(at, |close| close.max(at)) + 1;
    }
    elements
}
