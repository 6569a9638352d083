//! Whether evaluating the user's expression once more could be noticed.

use std::collections::BTreeSet;

use rex_syntax::TextRange;
use rex_syntax::lex::{self, Token, TokenKind, significant_tokens};
use smol_str::SmolStr;

use crate::program::Program;

/// How many macros are followed for one expression: each may lead to the next one.
const MAX_MACROS: usize = 256;

/// Whether an expression calls, assigns, increments or allocates, also through macros. A cast in the style of a call counts as a call.
pub fn has_effects(program: &Program, range: TextRange) -> bool {
    text_has_effects(
        program,
        program.source(),
        range,
        range,
        &mut BTreeSet::new(),
    )
}

fn text_has_effects(
    program: &Program,
    text: &str,
    range: TextRange,
    place: TextRange,
    seen: &mut BTreeSet<SmolStr>,
) -> bool {
    let tokens: Vec<Token> = significant_tokens(text, range).collect();
    tokens.iter().enumerate().any(|(idx, token)| {
        let word = token.text(text);
        let opens = tokens
            .get(idx + 1)
            .is_some_and(|next| next.text(text) == "(");
        match token.kind {
            TokenKind::Identifier => name_has_effects(program, word, opens, place, seen),
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
    seen: &mut BTreeSet<SmolStr>,
) -> bool {
    if matches!(word, "sizeof" | "_Alignof" | "alignof" | "__alignof__") {
        return false;
    }
    if matches!(word, "new" | "delete" | "throw" | "co_await") {
        return true;
    }
    match program.unit.macros.lookup_at(word, place.start()) {
        Some(_) if seen.len() == MAX_MACROS => true,
        // What a macro that was followed before does is known.
        Some(definition) => {
            seen.insert(word.into())
                && text_has_effects(
                    program,
                    &definition.body,
                    lex::whole(&definition.body),
                    place,
                    seen,
                )
        }
        None => opens,
    }
}
