//! Names of C that are operators in C++, as `xor` and `not` are: no macro can give them another meaning.

use rex_ir::keywords;
use rex_ir::program::Program;
use rex_syntax::lex::{self, TokenKind};

/// The device file with other names for them.
pub(super) fn without_operators(program: &Program, text: String) -> String {
    let mut out = String::new();
    let mut copied = 0;
    // What stands in brackets there is no name.
    let (mut is_include, mut before) = (false, "");
    for token in lex::tokens(&text, lex::whole(&text)) {
        let word = token.text(&text);
        match token.kind {
            TokenKind::Newline => is_include = false,
            TokenKind::Identifier if word == "include" => is_include |= before == "#",
            TokenKind::Identifier
                if !is_include && keywords::is_operator_in_cxx(&program.unit, word) =>
            {
                out.push_str(&text[copied..usize::from(token.range.start())]);
                out.push_str(&keywords::device_name(word));
                copied = usize::from(token.range.end());
            }
            _ => {}
        }
        before = word;
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    out
}
