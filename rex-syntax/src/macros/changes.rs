//! What macros change: their arguments, or variables that their replacement names.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use super::{MacroDef, MacroTable};
use crate::lex::{self, TokenKind};

/// How many macros in a macro are followed: each may lead to the next one.
const MAX_MACROS: usize = 256;

impl MacroTable {
    /// Whether a macro may change one of its arguments or, if one is given, a variable that its replacement names.
    pub fn may_change(&self, name: &str, offset: TextSize, variable: &str) -> bool {
        self.lookup_at(name, offset).is_some_and(|definition| {
            self.changes(definition, offset, variable, &mut BTreeSet::new())
        })
    }

    fn changes(
        &self,
        definition: &MacroDef,
        offset: TextSize,
        variable: &str,
        seen: &mut BTreeSet<SmolStr>,
    ) -> bool {
        let body = definition.body.as_str();
        let range = TextRange::up_to(TextSize::of(body));
        let tokens: Vec<lex::Token> = lex::significant_tokens(body, range).collect();
        let word = |at: usize| tokens.get(at).map_or("", |token| token.text(body));
        let concerns = |at: usize| word(at) == variable || definition.is_parameter(word(at));
        // The object that ends in front of a place, or that begins behind one.
        let before = |at: usize| {
            let end = (0..at).rev().find(|idx| word(*idx) != ")");
            end.is_some_and(|end| {
                concerns(end) || word(end) == "]" || (end > 0 && word(end - 1) == ".")
            })
        };
        let behind = |at: usize| {
            let first = (at + 1..tokens.len()).find(|idx| !matches!(word(*idx), "(" | "*"));
            first.is_some_and(concerns)
        };
        (0..tokens.len()).any(|at| {
            if tokens[at].kind == TokenKind::Identifier {
                let inner = self.lookup_at(word(at), offset);
                return inner.is_some_and(|inner| {
                    seen.len() < MAX_MACROS
                        && seen.insert(inner.name.clone())
                        && self.changes(inner, offset, variable, seen)
                });
            }
            match word(at) {
                "++" | "--" => before(at) || behind(at),
                "<=" | ">=" | "==" | "!=" => false,
                "&" => {
                    let is_binary = at > 0
                        && (matches!(word(at - 1), ")" | "]")
                            || tokens[at - 1].kind != TokenKind::Punct);
                    !is_binary && behind(at)
                }
                operator => operator.ends_with('=') && before(at),
            }
        })
    }
}
