//! Uses of variables that a region names with qualifiers, in its text and through macros.

use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use super::uses::{Name, Use, Uses};
use crate::build::Builder;
use crate::build::names::last_component;
use crate::build::qualified::qualified_names;
use crate::region::{Call, CapturedObject, ConstructId, SharingAttribute};
use crate::symbol::{SymbolId, SymbolKind};

impl Builder<'_> {
    /// `A::b`: never a local variable.
    pub(super) fn use_qualified(
        &mut self,
        name: Name<'_>,
        whole: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let text = self.text(whole);
        let found = self.find_qualified(text, name.at);
        if let Some(member) = found.filter(|found| self.lives_on_device(*found)) {
            let of_clause = self.resolve_qualified(text, name.at);
            if !of_clause.is_some_and(|symbol| uses.is_of_clause(symbol)) {
                return self.use_global(member, uses);
            }
        }
        match self.resolve_qualified(text, name.at) {
            Some(symbol)
                if self.symbols[symbol].kind == SymbolKind::Global
                    && self.global_storage(symbol).is_some() =>
            {
                self.use_global(symbol, uses)
            }
            Some(symbol) if self.constant_fields.contains_key(&symbol) => {}
            Some(symbol) if self.symbols[symbol].kind.is_variable() => {
                uses.qualified_uses.push((whole, symbol));
                if self.is_private_inside(symbol, name.at, construct) {
                    return;
                }
                let seen = Use {
                    at: whole,
                    written: name.written,
                    explicit: false,
                    called: false,
                };
                uses.add(CapturedObject::Variable(symbol), seen);
            }
            None if self.find_field(text, name.at).is_some() => {
                self.use_qualified_member(name.at, whole, uses);
            }
            _ if name.called || self.is_pointer_to_function(name, whole) => {
                uses.calls.push(Call::of_function(name.text, name.at));
            }
            _ => {}
        }
    }

    /// Whether `&A::f` stands there, of a function of the unit.
    fn is_pointer_to_function(&self, name: Name<'_>, whole: TextRange) -> bool {
        self.is_member_pointer(whole) && !self.function_index.named(name.text).is_empty()
    }

    /// Constants and functions that a type or declaration names with qualifiers.
    pub(super) fn use_qualified_words(&mut self, words: &str, at: TextRange, uses: &mut Uses) {
        for name in qualified_names(words, lex::whole(words)) {
            let Some(found) = self.find_qualified(&words[name], at) else {
                continue;
            };
            if self.symbols[found].kind == SymbolKind::Function {
                let called = last_component(&words[name]);
                uses.calls.push(Call::of_function(called, at));
            } else if self.global_storage(found).is_some() {
                self.use_global(found, uses);
            }
        }
    }

    /// A member that a base's name qualifies. Outside of member functions, nothing evaluates it: `sizeof(C::x)`.
    fn use_qualified_member(&mut self, name: TextRange, whole: TextRange, uses: &mut Uses) {
        if !self.has_this(whole) || self.is_member_pointer(whole) {
            return;
        }
        if self.use_member_variable(name, whole, uses) {
            return;
        }
        uses.member_uses.push(whole);
        let seen = Use {
            at: whole,
            written: true,
            explicit: false,
            called: false,
        };
        uses.add(CapturedObject::This, seen);
    }

    /// Whether a qualified name stands in `&A::b`, which needs no object.
    fn is_member_pointer(&self, whole: TextRange) -> bool {
        let node = self.unit.tree.root().smallest_at(whole);
        let around = node
            .parent()
            .filter(|outer| outer.kind() == Kind::PointerExpression);
        let operator = around.and_then(|outer| outer.field(Field::Operator));
        operator.is_some_and(|operator| operator.text() == "&")
    }

    /// A macro call that names captured variables with qualifiers is written out; returns the names of these.
    pub(super) fn use_qualified_in_macro(
        &mut self,
        name: Name<'_>,
        construct: ConstructId,
        uses: &mut Uses,
    ) -> Vec<SmolStr> {
        let Some(call) = self.qualified_in_macro(name.at) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (at, symbol) in &call.names {
            if !self.is_private_inside(*symbol, name.at, construct) {
                let seen = Use {
                    at: call.range,
                    written: true,
                    explicit: false,
                    called: false,
                };
                uses.add(CapturedObject::Variable(*symbol), seen);
            }
            found.push(last_component(&call.expansion[*at]).into());
        }
        uses.qualified_calls.push(call);
        found
    }

    /// In device code, copies of variables that constructs make have names without qualifiers.
    pub(in crate::build) fn name_copies(&mut self) {
        if !self.source.contains("::") {
            return;
        }
        let ids: Vec<ConstructId> = self.constructs.iter().map(|(id, _)| id).collect();
        for id in ids {
            let construct = &self.constructs[id];
            let is_copied = |symbol: SymbolId| {
                let kind = self.symbols[symbol].kind;
                matches!(kind, SymbolKind::Global | SymbolKind::StaticField)
            };
            let sharing = construct.sharing.iter();
            let copies: Vec<SymbolId> = sharing
                .filter(|listed| listed.attribute != SharingAttribute::Shared)
                .map(|listed| listed.symbol)
                .filter(|symbol| is_copied(*symbol))
                .collect();
            let Some(statement) = construct.statement.filter(|_| !copies.is_empty()) else {
                continue;
            };
            for name in qualified_names(self.source, statement) {
                let symbol = self.resolve_qualified(self.text(name), name);
                if let Some(symbol) = symbol.filter(|symbol| copies.contains(symbol)) {
                    self.conversions
                        .push((name, self.symbols[symbol].name.clone()));
                }
            }
        }
    }
}
