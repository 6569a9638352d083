//! Headers of C programs that give C and C++ different macros.
//!
//! The device file is C++, so a header that it includes takes the arms of C++. Device code of a C program means the macros of C:
//! such headers are written out, as C reads them.

use std::path::Path;

use rex_syntax::expansion::Expansion;
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::pragma::{DirectiveLine, directives};
use rex_syntax::source::{Language, SourceFile};

/// What a header asks to know its language.
const MACRO_OF_CXX: &str = "__cplusplus";

/// The headers of the project that define or undefine macros for one of the two languages, by the names that the preprocessor has for them.
pub(crate) fn headers(
    expansion: &Expansion,
    read: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in expansion.project_text() {
        if !names.iter().any(|known| *known == *name) {
            names.push(name.to_string());
        }
    }
    names.retain(|name| {
        read(Path::new(name)).is_some_and(|bytes| {
            let header = SourceFile::new("", Language::C, bytes);
            has_macros_of_one_language(header.text())
        })
    });
    names
}

fn has_macros_of_one_language(text: &str) -> bool {
    // Whether each open conditional asks for the language.
    let mut open: Vec<bool> = Vec::new();
    for line in directives(text) {
        match line.name(text) {
            "if" | "ifdef" | "ifndef" => open.push(asks_language(text, line)),
            "elif" | "elifdef" | "elifndef" => {
                if let Some(asked) = open.last_mut() {
                    *asked |= asks_language(text, line);
                }
            }
            "endif" => {
                open.pop();
            }
            "define" | "undef" if open.contains(&true) => return true,
            _ => {}
        }
    }
    false
}

fn asks_language(text: &str, line: DirectiveLine) -> bool {
    lex::significant_tokens(text, line.range)
        .any(|token| token.kind == TokenKind::Identifier && token.text(text) == MACRO_OF_CXX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macros_count() {
        let linkage = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n#define N 1\n#ifdef __cplusplus\n}\n#endif\n";
        assert!(!has_macros_of_one_language(linkage));
        assert!(has_macros_of_one_language(
            "#ifndef __cplusplus\n#define min(a, b) ((a) < (b) ? (a) : (b))\n#endif\n"
        ));
        assert!(has_macros_of_one_language(
            "#if defined(X) && !defined(__cplusplus)\n#ifdef Y\n#undef min\n#endif\n#endif\n"
        ));
        assert!(!has_macros_of_one_language(
            "#ifdef __cplusplus\n#endif\n#ifndef GUARD\n#define GUARD\n#endif\n"
        ));
    }
}
