//! Whether evaluating the user's expression once more could be noticed.

use rex_syntax::TextRange;
use rex_syntax::lex::{Token, TokenKind, significant_tokens};

use crate::program::Program;

/// How deep macros are followed.
const MAX_DEPTH: usize = 16;

/// Whether an expression calls, assigns, increments or allocates, also through macros. A cast in the style of a call counts as a call.
pub fn has_effects(program: &Program, range: TextRange) -> bool {
    text_has_effects(program, program.source(), range, range, 0)
}

fn text_has_effects(
    program: &Program,
    text: &str,
    range: TextRange,
    place: TextRange,
    depth: usize,
) -> bool {
    let tokens: Vec<Token> = significant_tokens(text, range).collect();
    tokens.iter().enumerate().any(|(idx, token)| {
        let word = token.text(text);
        let opens = tokens
            .get(idx + 1)
            .is_some_and(|next| next.text(text) == "(");
        match token.kind {
            TokenKind::Identifier => name_has_effects(program, word, opens, place, depth),
            TokenKind::Punct => match word {
                // `(f)(x)` looks like a cast; a cast computed twice is only less pretty than once.
                ")" => opens,
                "++" | "--" | "{" | ";" => true,
                "<=" | ">=" | "==" | "!=" => false,
                _ => word.ends_with('='),
            },
            _ => false,
        }
    })
}

fn name_has_effects(
    program: &Program,
    word: &str,
    opens: bool,
    place: TextRange,
    depth: usize,
) -> bool {
    if matches!(word, "sizeof" | "_Alignof" | "alignof" | "__alignof__") {
        return false;
    }
    if matches!(word, "new" | "delete" | "throw" | "co_await") {
        return true;
    }
    match program.unit.macros.lookup_at(word, place.start()) {
        Some(definition) if depth < MAX_DEPTH => {
            let whole = TextRange::up_to(rex_syntax::TextSize::of(definition.body.as_str()));
            text_has_effects(program, &definition.body, whole, place, depth + 1)
        }
        Some(_) => true,
        None => opens,
    }
}
