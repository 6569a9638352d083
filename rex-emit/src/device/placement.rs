//! Functions that the program defines in place of those of `<new>`, a header that the device file has.

use rex_ir::program::Program;
use rex_syntax::{TextRange, lex};

/// Whether a definition or declaration says what that header says: `void *operator new(size_t, void *p) { return p; }`.
///
/// One that does more stays, and the compiler says that there are two.
pub(super) fn is_of_header(program: &Program, range: TextRange) -> bool {
    let source = program.source();
    let tokens = lex::significant_tokens(source, range);
    let mut words: Vec<&str> = tokens.map(|token| token.text(source)).collect();
    words.pop_if(|last| *last == ";");
    let position = |words: &[&str], word: &str| words.iter().position(|it| *it == word);
    let Some(operator) = position(&words, "operator") else {
        return false;
    };
    let rest = match &words[operator + 1..] {
        ["new" | "delete", "[", "]", "(", rest @ ..] | ["new" | "delete", "(", rest @ ..] => rest,
        _ => return false,
    };
    let mut depth = 0usize;
    let mut is_outer = |word: &str, looked_for: &str| {
        let is_found = depth == 0 && word == looked_for;
        match word {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_found
    };
    let Some(close) = rest.iter().position(|word| is_outer(word, ")")) else {
        return false;
    };
    let parameters: Vec<&[&str]> = rest[..close].split(|word| is_outer(word, ",")).collect();
    let place = match parameters[..] {
        [_, ["void", "*"]] => "",
        [_, ["void", "*", name]] => name,
        _ => return false,
    };
    let body = position(rest, "{").map_or(&[][..], |open| &rest[open..]);
    let does_nothing = match body {
        [] | ["{", "}"] => true,
        ["{", "return", value, ";", "}"] => *value == place,
        _ => false,
    };
    does_nothing && !words[..operator].contains(&"::")
}
