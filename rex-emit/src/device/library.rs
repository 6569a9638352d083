//! Functions of the C library in macros, which the device file has as the user wrote them.

use rex_ir::headers;
use rex_ir::library;
use rex_ir::program::Program;
use rex_syntax::lex;

/// A macro with calls of the device library's functions in place of the host's.
pub(super) fn in_macro(program: &Program, text: &str) -> String {
    let tokens: Vec<lex::Token> = lex::significant_tokens(text, lex::whole(text)).collect();
    let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(text));
    let mut out = String::new();
    let mut copied = 0;
    for (idx, token) in tokens.iter().enumerate().skip(2) {
        let name = word(idx);
        let device = match word(idx + 1) {
            "(" => library::device_name(name),
            _ => library::device_stream(name),
        };
        let Some(device) = device else { continue };
        let (before, first) = match (word(idx - 2), word(idx - 1)) {
            ("std", "::") => ("", &tokens[idx - 2]),
            (_, before) => (before, token),
        };
        // A member, another namespace's, the name of the macro itself, or the program's own.
        let is_other = matches!(before, "." | "->" | "::" | "define");
        let is_own = program.functions_named(name).next().is_some()
            || headers::project_declares_function(&program.unit, name);
        if is_other || is_own {
            continue;
        }
        out.push_str(&text[copied..usize::from(first.range.start())]);
        out.push_str(&device);
        copied = usize::from(token.range.end());
    }
    out.push_str(&text[copied..]);
    out
}
