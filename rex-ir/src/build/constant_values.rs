//! Values of constant integer expressions.

use rex_syntax::TextRange;
use rex_syntax::condition;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::{self, TokenKind};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::Builder;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::Meaning;

/// How deep constants may name each other.
const MAX_DEPTH: u32 = 16;

/// What is known while the value of one expression is computed: constants may name each other often.
#[derive(Default)]
struct Values {
    /// What names mean at places.
    known: FxHashMap<(SmolStr, TextRange), Option<i64>>,
    depth: u32,
}

impl Builder<'_> {
    /// The value of a constant integer expression such as the argument of `collapse`.
    pub(super) fn constant_value(&self, range: TextRange) -> Option<i64> {
        self.value_beside(self.text(range), range, &mut Values::default())
    }

    /// The value of a constant integer expression in words, as they are understood at a place.
    pub(super) fn constant_in_words(&self, words: &str, at: TextRange) -> Option<i64> {
        self.value_beside(words, at, &mut Values::default())
    }

    /// The value of the enumerator that is declared at a place of the unit.
    pub(super) fn value_of_enumerator(&self, declared_at: TextRange) -> Option<i64> {
        self.enumerator_value(declared_at, &mut Values::default())
    }

    /// Whether each instantiation of a template has its own value of a constant expression.
    pub(super) fn has_value_per_instance(&self, range: TextRange) -> bool {
        self.names_template_parameter(self.text(range), range, &mut FxHashSet::default(), 0)
    }

    fn value_beside(&self, text: &str, at: TextRange, values: &mut Values) -> Option<i64> {
        let braces = text.trim().strip_prefix('{');
        let text = braces
            .and_then(|inside| inside.strip_suffix('}'))
            .unwrap_or(text);
        let mut plain = String::new();
        let mut end = 0;
        for name in qualified_names(text) {
            let key = (SmolStr::new(&text[name]), at);
            let value = match values.known.get(&key) {
                Some(value) => *value,
                None if values.depth == MAX_DEPTH => None,
                None => {
                    values.depth += 1;
                    let value = self.named_value(&text[name], at, values);
                    values.depth -= 1;
                    values.known.insert(key, value);
                    value
                }
            }?;
            plain.push_str(&text[end..usize::from(name.start())]);
            plain.push_str(&format!("({value})"));
            end = usize::from(name.end());
        }
        plain.push_str(&text[end..]);
        condition::integer_value(&plain)
    }

    fn named_value(&self, name: &str, at: TextRange, values: &mut Values) -> Option<i64> {
        if let "true" | "false" = name {
            return Some(i64::from(name == "true"));
        }
        if let Some(definition) = self.macro_at(name, at) {
            let stands_alone = definition.parameters.is_none();
            return stands_alone
                .then(|| self.value_beside(&definition.body, at, values))
                .flatten();
        }
        let found = self.constant_named(name, at)?;
        let symbol = &self.symbols[found];
        match symbol.kind {
            SymbolKind::Enumerator => self.enumerator_value(symbol.declared_at?, values),
            SymbolKind::StaticField => {
                self.value_beside(self.constant_fields.get(&found)?, at, values)
            }
            kind if kind.is_variable() && self.is_constant(found) => {
                let initializer = symbol.initializer?;
                self.value_beside(self.text(initializer), initializer, values)
            }
            _ => None,
        }
    }

    fn constant_named(&self, name: &str, at: TextRange) -> Option<SymbolId> {
        match name.contains("::") {
            true => self.find_qualified(name, at),
            false => self.scopes.resolve(&self.symbols, name, at),
        }
    }

    /// The value of the enumerator that is declared at a place of the unit.
    fn enumerator_value(&self, declared_at: TextRange, values: &mut Values) -> Option<i64> {
        let name = self.unit.tree.root().smallest_at(declared_at);
        let mut enumerator = name;
        while enumerator.kind() != Kind::Enumerator {
            enumerator = enumerator.parent()?;
        }
        let mut next = 0;
        for other in enumerator.parent()?.children() {
            if other.kind() != Kind::Enumerator {
                continue;
            }
            let value = match other.field(Field::Value) {
                Some(value) => self.value_beside(value.text(), value.range(), values)?,
                None => next,
            };
            if other == enumerator {
                return Some(value);
            }
            next = value.checked_add(1)?;
        }
        None
    }

    /// `seen` are the constants that were followed before.
    fn names_template_parameter(
        &self,
        text: &str,
        at: TextRange,
        seen: &mut FxHashSet<SymbolId>,
        depth: u32,
    ) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let names = lex::identifiers(text, lex::whole(text)).chain(qualified_names(text));
        names.into_iter().any(|name| {
            let Some(found) = self.constant_named(&text[name], at) else {
                return false;
            };
            let symbol = &self.symbols[found];
            let value = match symbol.kind {
                SymbolKind::TemplateValue => return true,
                SymbolKind::Type => {
                    let ty = self.types.get(symbol.ty);
                    return matches!(
                        ty.kind,
                        crate::ty::TypeKind::Named {
                            meaning: Meaning::Dependent,
                            ..
                        }
                    );
                }
                SymbolKind::StaticField => self
                    .constant_fields
                    .get(&found)
                    .map(|value| (value.as_str(), at)),
                kind if kind.is_variable() && self.is_constant(found) => symbol
                    .initializer
                    .map(|initializer| (self.text(initializer), initializer)),
                _ => None,
            };
            value.is_some_and(|(text, at)| {
                seen.insert(found) && self.names_template_parameter(text, at, seen, depth + 1)
            })
        })
    }
}

/// The names of an expression, each with its qualifier: `n`, `a::b::n`.
fn qualified_names(text: &str) -> Vec<TextRange> {
    let mut names: Vec<TextRange> = Vec::new();
    let mut continues = false;
    for token in lex::significant_tokens(text, lex::whole(text)) {
        match (token.kind, names.last_mut()) {
            (TokenKind::Identifier, Some(last)) if continues => *last = last.cover(token.range),
            (TokenKind::Identifier, _) => names.push(token.range),
            _ => {}
        }
        continues = token.text(text) == "::" && !names.is_empty();
    }
    names
}
