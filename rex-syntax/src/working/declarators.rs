//! Macros that stand for a part of a declaration where the grammars have no room for a call or a name: a type, the head of a template, a
//! trailing type, parameters.
//!
//! ```cpp
//! template <typename T, REQUIRES(is_number<T>)>
//! ENABLE_IF(sizeof(T) > 4, T) half(T x) TRAILING { .. }
//! ```

use text_size::TextRange;

use super::Code;
use crate::expansion::HeaderOrigin;
use crate::lex::{self, TokenKind};
use crate::macros::MacroDef;
use crate::view::only_specifies;

/// What a name cannot stand for: the beginning of what follows a declarator or parameter, or of a whole head.
const NO_NAMES: [&str; 11] = [
    "=",
    "->",
    ",",
    ":",
    "(",
    "[",
    "template",
    "requires",
    "public",
    "protected",
    "private",
];

/// What may stand before a part of a declaration, besides words and strings. Behind other operators are values.
const BEFORE: [&str; 11] = [")", ">", ">>", "*", "&", "&&", ",", "<", "]", ":", "..."];

impl Code<'_> {
    /// Expands the macro at a token outside bodies and parentheses if it stands for a part of a declaration. `begins`: the declaration begins with it.
    pub(super) fn declaration_part(&self, idx: usize, begins: bool) -> Option<(TextRange, String)> {
        let token = self.lexed.tokens.get(idx)?;
        let word = token.text(self.text);
        let is_candidate = token.kind == TokenKind::Identifier
            && self.macros.is_macro_somewhere(word)
            && (begins || self.may_precede_part(idx.checked_sub(1)?));
        if !is_candidate {
            return None;
        }
        let start = token.range.start();
        let at = self.written_at(start);
        let def = self.macros.lookup_at(word, at)?;
        let is_part = match &def.parameters {
            None => begins_with_no_name(def),
            Some(_) => self.token_text(idx + 1) == "(",
        };
        if !is_part || def.origin == HeaderOrigin::System || only_specifies(def, self.macros, at) {
            return None;
        }
        let call = self.macros.part_of_call(self.text, start, at)?;
        // A call alone, or one with a body, is a declaration of its own.
        let is_whole =
            begins && (self.token_text(self.after(call.0)) == ";" || call.1.contains(['{', ';']));
        (!is_whole).then_some(call)
    }

    fn may_precede_part(&self, idx: usize) -> bool {
        let token = self.lexed.tokens.get(idx);
        token.is_some_and(|token| match token.kind {
            TokenKind::Identifier => token.text(self.text) != "operator",
            TokenKind::String => true,
            _ => BEFORE.contains(&token.text(self.text)),
        })
    }
}

fn begins_with_no_name(def: &MacroDef) -> bool {
    let body = def.body.as_str();
    let first = lex::significant_tokens(body, lex::whole(body)).next();
    first.is_some_and(|first| NO_NAMES.contains(&first.text(body)))
}
