//! Typedefs, enums and tags.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use smol_str::format_smolstr;

use crate::build::Builder;
use crate::build::names::last_component;
use crate::symbol::{ScopeId, Symbol, SymbolKind};
use crate::ty::{Meaning, TypeId, TypeKind};

impl<'u> Builder<'u> {
    pub(super) fn declare_typedef(&mut self, node: Node<'u>, scope: ScopeId) {
        let base = self.base_type(node, node.range());
        let untagged = node.field(Field::Type).is_some_and(|ty| {
            matches!(
                ty.kind(),
                Kind::StructSpecifier
                    | Kind::UnionSpecifier
                    | Kind::ClassSpecifier
                    | Kind::EnumSpecifier
            ) && ty.field(Field::Name).is_none()
        });
        for declarator in node.fields(Field::Declarator) {
            let declared = self.declarator(declarator, base, node.range());
            let Some(name) = declared.name else { continue };
            let ty = if untagged && declared.ty == base {
                // The typedef name is the only name the type has.
                let meaning = match &self.types.get(base).kind {
                    TypeKind::Named { meaning, .. } => meaning.clone(),
                    _ => Meaning::Unknown,
                };
                if let Meaning::Record(Some(record)) = meaning {
                    self.types.records[record].name = name.text().into();
                    self.types.records[record].is_untagged = false;
                }
                self.types.named(name.text(), meaning)
            } else {
                declared.ty
            };
            self.declare_type(scope, name, ty, Some(node.range()));
        }
    }

    pub(super) fn declare_enum(&mut self, node: Node<'u>, scope: ScopeId) {
        let Some(body) = node.field(Field::Body) else {
            return;
        };
        let ty = self.specifier_type(node, node.range());
        if let Some(name) = node.field(Field::Name) {
            self.declare_tag(scope, node, name, ty);
        }
        let declaration = self.whole_declaration(node);
        for enumerator in body.children() {
            if enumerator.kind() == Kind::Enumerator
                && let Some(name) = enumerator.field(Field::Name)
            {
                let value = enumerator.field(Field::Value).map(|value| value.range());
                self.declare(
                    scope,
                    name,
                    SymbolKind::Enumerator,
                    ty,
                    value,
                    Some(declaration),
                );
            }
        }
    }

    /// The declaration of a class or enum, with the attributes behind its members.
    fn whole_declaration(&self, specifier: Node<'u>) -> TextRange {
        let range = enclosing_declaration(specifier).range();
        if self.text(range).ends_with(';') {
            return range;
        }
        TextRange::new(range.start(), self.behind_attributes(range.end()))
    }

    pub(super) fn declare_tag(
        &mut self,
        scope: ScopeId,
        specifier: Node<'u>,
        name: Node<'u>,
        ty: TypeId,
    ) {
        let keyword = match specifier.kind() {
            Kind::UnionSpecifier => "union",
            Kind::EnumSpecifier => "enum",
            Kind::ClassSpecifier => "class",
            _ => "struct",
        };
        let declaration = self.whole_declaration(specifier);
        let symbol = self.symbols.alloc(Symbol {
            name: last_component(name.text()).into(),
            kind: SymbolKind::Type,
            ty,
            declared_at: Some(name.range()),
            initializer: None,
            declaration: Some(declaration),
            qualifier: self.type_qualifier(scope, name.range()),
            spelled: None,
        });
        self.scopes.declare(
            &self.symbols,
            scope,
            format_smolstr!("{keyword} {}", name.text()),
            symbol,
        );
        if name.text().ends_with('>') {
            self.declare_specialization(scope, name.text(), symbol);
        } else if self.unit.language == Language::Cxx {
            self.scopes.declare(
                &self.symbols,
                scope,
                last_component(name.text()).into(),
                symbol,
            );
        }
    }

    pub(super) fn declare_type(
        &mut self,
        scope: ScopeId,
        name: Node<'u>,
        ty: TypeId,
        declaration: Option<TextRange>,
    ) {
        self.declare(scope, name, SymbolKind::Type, ty, None, declaration);
    }
}

/// The declaration statement a specifier is part of; the specifier alone where the statement declares variables too.
fn enclosing_declaration(specifier: Node<'_>) -> Node<'_> {
    match specifier.parent() {
        Some(parent)
            if matches!(
                parent.kind(),
                Kind::Declaration | Kind::TypeDefinition | Kind::FieldDeclaration
            ) && (parent.kind() == Kind::TypeDefinition
                || parent.field(Field::Declarator).is_none()) =>
        {
            parent
        }
        _ => specifier,
    }
}
