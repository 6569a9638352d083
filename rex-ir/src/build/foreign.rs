//! Variables and functions that headers declare, by name.

use rex_syntax::TextRange;
use rex_syntax::cst::parse_fragment;
use rex_syntax::kind::{Field, Kind};

use super::Builder;
use crate::headers;
use crate::symbol::{Qualifier, Symbol, SymbolId, SymbolKind};
use crate::ty::{Category, TypeId, TypeKind};

/// A declarator found in a header's declaration.
struct Found {
    ty: TypeId,
    has_initializer: bool,
}

impl Builder<'_> {
    /// A variable that a header declares, with its type.
    pub(super) fn header_variable(&mut self, name: &str) -> Option<SymbolId> {
        if let Some(known) = self.header_variables.get(name) {
            return *known;
        }
        self.header_variables.insert(name.into(), None);
        let declaration = headers::variable_declaration(self.unit, name)?;
        let found = self.fragment_declarator(&declaration.text, name)?;
        // A guide for the deduction of template arguments reads like one.
        if matches!(self.types.get(found.ty).kind, TypeKind::Function { .. }) {
            return None;
        }
        let symbol = self.symbols.alloc(Symbol {
            name: name.into(),
            kind: SymbolKind::Global,
            ty: found.ty,
            declared_at: None,
            initializer: None,
            declaration: None,
            qualifier: Qualifier::default(),
            spelled: None,
        });
        let is_scalar = self.types.category(found.ty) == Category::Scalar;
        let is_constant = match is_scalar {
            true => self.types.get(found.ty).is_const && found.has_initializer,
            false => declaration.is_of_system && declaration.is_constexpr(),
        };
        if is_constant {
            self.header_constants.insert(symbol);
        }
        self.header_variables.insert(name.into(), Some(symbol));
        Some(symbol)
    }

    /// Whether a variable is a constant that every file which includes its header has, the device file too.
    pub(super) fn is_header_constant(&self, symbol: SymbolId) -> bool {
        self.header_constants.contains(&symbol)
    }

    /// What a function that a header declares returns.
    ///
    /// None if it is a template, or one of several that return different types.
    pub(super) fn header_function_type(&mut self, name: &str) -> Option<TypeId> {
        let mut result = None;
        for text in headers::function_declarations(self.unit, name) {
            if text.starts_with("template") {
                return None;
            }
            let found = self.fragment_declarator(&text, name)?;
            let TypeKind::Function { returns, .. } = self.types.get(found.ty).kind else {
                return None;
            };
            let is_other = |known: TypeId| !self.types.is_same_object(known, returns);
            if self.types.category(returns) == Category::Unknown || result.is_some_and(is_other) {
                return None;
            }
            result = Some(returns);
        }
        result
    }

    fn fragment_declarator(&mut self, text: &str, name: &str) -> Option<Found> {
        let tree = parse_fragment(text, self.unit.language);
        let nowhere = TextRange::empty(0.into());
        self.fragment_depth += 1;
        let mut found = None;
        for node in tree
            .root()
            .descendants()
            .filter(|node| matches!(node.kind(), Kind::Declaration | Kind::FunctionDefinition))
        {
            let declarators = node.fields(Field::Declarator);
            let named = declarators.into_iter().find(|declarator| {
                super::types::declared_name(*declarator)
                    .is_some_and(|declared| declared.text() == name)
            });
            if let Some(declarator) = named {
                let base = self.base_type(node, nowhere);
                found = Some(Found {
                    ty: self.declarator(declarator, base, nowhere).ty,
                    has_initializer: declarator.field(Field::Value).is_some(),
                });
                break;
            }
        }
        self.fragment_depth -= 1;
        found
    }
}
