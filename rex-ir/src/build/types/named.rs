//! What the name of a type means.

use rex_syntax::TextRange;
use rex_syntax::kind::Kind;
use rex_syntax::source::Language;

use super::arithmetic::WELL_KNOWN;
use crate::build::Builder;
use crate::build::names::{last_component, split_qualifier};
use crate::symbol::SymbolKind;
use crate::ty::{Meaning, TypeId, TypeKind};

impl Builder<'_> {
    /// The type a name means; its spelling stays the name.
    pub(in crate::build) fn named_type(&mut self, name: &str, at: TextRange) -> TypeId {
        if let Some(ty) = self.outside_type(name) {
            return ty;
        }
        if let Some(class) = self.specialization(name, at) {
            return self.types.named(name, Meaning::Record(Some(class)));
        }
        if let Some(symbol) = self.scopes.resolve_type(&self.symbols, name, at) {
            return self.alias(name, self.symbols[symbol].ty);
        }
        let unqualified = last_component(name);
        if let Some((_, meaning)) = WELL_KNOWN.iter().find(|(known, _)| *known == unqualified) {
            return self.types.named(name, meaning.clone());
        }
        if let Some(symbol) = self.member_type_name(name, at) {
            return self.alias(name, self.symbols[symbol].ty);
        }
        if unqualified != name {
            let found = self.find_qualified(name, at);
            let found = found.filter(|found| self.symbols[*found].kind == SymbolKind::Type);
            let found = found.or_else(|| self.scopes.resolve_type(&self.symbols, unqualified, at));
            if let Some(symbol) = found {
                return self.alias(name, self.symbols[symbol].ty);
            }
        }
        if unqualified.ends_with('>')
            && let Some(ty) = self.type_of_alias_template(name, at)
        {
            return ty;
        }
        if let Some(text) = self.macro_type(name, at) {
            let ty = self.named_or_builtin_type(&text, at);
            return self.alias(name, ty);
        }
        match self.header_type(name, at) {
            Some(ty) => self.alias(name, ty),
            None if self.is_in_template(at) => self.types.named(name, Meaning::Dependent),
            None => self.types.named(name, Meaning::Unknown),
        }
    }

    /// Whether a place of the unit is in a template: a type that is not known there may come from a base class that depends on the parameters.
    fn is_in_template(&self, at: TextRange) -> bool {
        let root = self.unit.tree.root();
        self.fragment_depth == 0
            && self.unit.language == Language::Cxx
            && !at.is_empty()
            && root
                .smallest_at(at)
                .ancestors()
                .any(|outer| outer.kind() == Kind::TemplateDeclaration)
    }

    /// What a macro writes where a type is named: `double`, for `#define REAL double`.
    fn macro_type(&self, name: &str, at: TextRange) -> Option<String> {
        const MAX_DEPTH: u32 = 16;
        // A macro may name itself.
        if self.fragment_depth > MAX_DEPTH {
            return None;
        }
        let definition = self.macro_at(name, at)?;
        let body = definition.body.trim();
        (definition.parameters.is_none() && !body.is_empty() && body != name)
            .then(|| body.to_owned())
    }

    /// The type that a class declares: `Table::value_type`.
    fn member_type_name(&self, name: &str, at: TextRange) -> Option<crate::symbol::SymbolId> {
        let (qualifier, member) = split_qualifier(name)?;
        let record = self.class_with_arguments(qualifier, at)?;
        let scope = self.scopes.scope(*self.class_scopes.get(&record)?);
        let found = scope.names.get(member.trim())?.last().copied()?;
        (self.symbols[found].kind == SymbolKind::Type).then_some(found)
    }

    /// A name for a type: records and enums keep their meaning, everything else becomes an alias.
    pub(super) fn alias(&mut self, name: &str, ty: TypeId) -> TypeId {
        let target = self.types.get(ty).clone();
        match target.kind {
            TypeKind::Named { spelling, .. } if spelling == name => ty,
            TypeKind::Named {
                meaning: meaning @ (Meaning::Record(_) | Meaning::Enum | Meaning::Dependent),
                ..
            } if !target.is_const && !target.is_volatile => self.types.named(name, meaning),
            _ => self.types.named(name, Meaning::Alias(ty)),
        }
    }
}
