//! Complex numbers of C, which are a class in device code.

use std::collections::BTreeSet;

use rex_ir::program::Program;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex};

/// What makes the device library define the class.
pub(super) const DEFINITION: &str = "#define REX_COMPLEX_OF_C";

/// The words that make a type complex; `complex` is a macro of `<complex.h>`.
const WORDS: [&str; 4] = ["complex", "_Complex", "__complex__", "__complex"];

/// The words that say what its parts are; integers are so in GNU C.
const OF_PARTS: [&str; 8] = [
    "float", "double", "long", "int", "short", "char", "signed", "unsigned",
];

/// Macros of `<complex.h>`, and what they are in device code.
const MACROS: [(&str, &str, &str); 4] = [
    ("I", "", "rex_complex<float>(0, 1)"),
    ("_Complex_I", "", "rex_complex<float>(0, 1)"),
    ("CMPLX", "(re, im)", "rex_complex<double>(re, im)"),
    ("CMPLXF", "(re, im)", "rex_complex<float>(re, im)"),
];

/// Definitions of those among the macros that a program has by the header and names.
pub(super) fn macros(program: &Program, names_in_headers: &BTreeSet<&str>) -> Vec<String> {
    let source = program.source();
    let end = TextRange::empty(TextSize::of(source));
    let named: BTreeSet<&str> = lex::tokens(source, lex::whole(source))
        .map(|token| token.text(source))
        .collect();
    MACROS
        .into_iter()
        .filter(|(name, ..)| named.contains(name) || names_in_headers.contains(name))
        .filter(|(name, ..)| program.macro_at(name, end).is_some())
        .map(|(name, parameters, meaning)| format!("#define {name}{parameters} {meaning}"))
        .collect()
}

/// Whether a C program has complex numbers.
pub(super) fn are_used(program: &Program) -> bool {
    let source = program.source();
    let has_header = || {
        let expansion = program.unit.expansion.as_ref();
        expansion.is_some_and(|it| it.reads_header("complex.h"))
    };
    program.language() == Language::C
        && lex::tokens(source, lex::whole(source)).any(|token| match token.text(source) {
            "complex" | "I" => has_header(),
            word => WORDS.contains(&word),
        })
}

/// Whether an `#include` line names `<complex.h>`.
pub(super) fn is_header(program: &Program, include: TextRange) -> bool {
    program.language() == Language::C && program.text(include).contains("<complex.h>")
}

/// Generated code with the class in place of `double _Complex` and its like.
pub(super) fn as_class(text: &str) -> String {
    let tokens: Vec<lex::Token> = lex::significant_tokens(text, lex::whole(text)).collect();
    let is_part = |word: &str| WORDS.contains(&word) || OF_PARTS.contains(&word);
    let mut out = String::new();
    let mut copied = 0;
    for types in tokens.chunk_by(|a, b| is_part(a.text(text)) && is_part(b.text(text))) {
        let words: Vec<&str> = types.iter().map(|token| token.text(text)).collect();
        let start = usize::from(types[0].range.start());
        let line = &text[text[..start].rfind('\n').map_or(0, |at| at + 1)..];
        let names_files_or_macros = ["#include", "#undef"]
            .iter()
            .any(|directive| line.trim_start().starts_with(directive));
        if names_files_or_macros || !words.iter().any(|word| WORDS.contains(word)) {
            continue;
        }
        let of_parts: Vec<&str> = words
            .into_iter()
            .filter(|word| !WORDS.contains(word))
            .collect();
        let real = match of_parts.is_empty() {
            true => "double".to_owned(),
            false => of_parts.join(" "),
        };
        out.push_str(&text[copied..start]);
        out.push_str(&format!("rex_complex<{real}>"));
        copied = usize::from(types[types.len() - 1].range.end());
    }
    out.push_str(&text[copied..]);
    out
}
