//! Static data members: their declarations, definitions and uses.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::Builder;
use super::qualified::qualified_around;
use super::types::{declared_name, default_value, has_storage};
use crate::static_member::{Specialization, StaticMember};
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Category, Extent, RecordId, TypeId, TypeKind};

/// Where the value of a member has to be known when the program is compiled.
const CONSTANT_PLACES: &[Kind] = &[
    Kind::TemplateArgumentList,
    Kind::ArrayDeclarator,
    Kind::AbstractArrayDeclarator,
    Kind::StaticAssertDeclaration,
    Kind::BitfieldClause,
    Kind::Enumerator,
];

impl<'u> Builder<'u> {
    /// The static members of a class whose data members are declared; `class` is its specifier.
    pub(super) fn read_static_members(
        &mut self,
        class: Node<'u>,
        record: RecordId,
        class_path: &SmolStr,
        is_of_template: bool,
    ) {
        let Some(body) = class.field(Field::Body) else {
            return;
        };
        for member in body.children() {
            if member.kind() != Kind::FieldDeclaration || !has_storage(member, "static") {
                continue;
            }
            let is_inline = member
                .tokens_and_children()
                .any(|word| matches!(word.token(), "inline" | "constexpr"))
                || member.text().contains("inline ");
            for declarator in member.fields(Field::Declarator) {
                let Some(name) = declared_name(declarator) else {
                    continue;
                };
                let key = (record, SmolStr::from(name.text()));
                let Some(symbol) = self.static_fields.get(&key).copied() else {
                    continue;
                };
                let value = default_value(member, declarator);
                let found = &mut self.symbols[symbol];
                found.initializer = value.map(|value| value.range());
                if is_of_template {
                    // Without arguments, only the class itself and those that inherit from it name it.
                    found.spelled = Some(Box::new(found.name.clone()));
                }
                self.note_member_of_specialization(record, symbol, is_of_template);
                self.static_members.insert(
                    symbol,
                    StaticMember {
                        record,
                        class_path: class_path.clone(),
                        in_class: Some(member.range()),
                        is_inline: is_inline || value.is_some(),
                        is_constant: self.constant_fields.contains_key(&symbol),
                        is_public: is_public(member),
                        is_of_template,
                        definition: None,
                        specializations: Vec::new(),
                    },
                );
            }
        }
    }

    /// The member that `int Counter::count = 3;` defines: from now on its symbol is that of the definition.
    pub(super) fn define_static_member(
        &mut self,
        declaration: Node<'u>,
        name: Node<'u>,
        initializer: Option<Node<'u>>,
    ) -> Option<SymbolId> {
        if name.kind() != Kind::QualifiedIdentifier {
            return None;
        }
        let symbol = self.find_qualified(name.text(), name.range())?;
        let member = self.static_members.get_mut(&symbol)?;
        // `template <> int Box<char>::value = 9;` is one of many.
        let is_specialization = declaration
            .parent()
            .filter(|around| around.kind() == Kind::TemplateDeclaration)
            .and_then(|around| {
                let mut inner = around.children();
                inner.find(|inner| inner.kind() == Kind::TemplateParameterList)
            })
            .is_some_and(|parameters| parameters.children().next().is_none());
        let initializer = initializer.map(|value| value.range());
        if is_specialization {
            member.specializations.push(Specialization {
                definition: declaration.range(),
                name: name.range(),
                initializer,
            });
            return Some(symbol);
        }
        if member.definition.is_some() {
            return Some(symbol);
        }
        member.definition = Some(declaration.range());
        let found = &mut self.symbols[symbol];
        found.declared_at = Some(name.range());
        found.declaration = Some(declaration.range());
        found.initializer = initializer.or(found.initializer);
        Some(symbol)
    }

    /// The class may leave open how many elements an array has.
    pub(super) fn complete_static_member(&mut self, symbol: SymbolId, defined: TypeId) {
        let is_open = matches!(
            self.types.get(self.symbols[symbol].ty).kind,
            TypeKind::Array {
                extent: Extent::Unknown,
                ..
            }
        );
        if is_open {
            self.symbols[symbol].ty = defined;
        }
    }

    /// Whether device code needs an object for a static member: a constant of its class is one only where its value is not enough.
    pub(super) fn is_static_object(&self, symbol: SymbolId) -> bool {
        let Some(member) = self.static_members.get(&symbol) else {
            return false;
        };
        let is_constexpr = || {
            member.in_class.is_some_and(|at| {
                lex::identifiers(self.source, at).any(|at| &self.source[at] == "constexpr")
            })
        };
        // Constant expressions may name it, and cannot name an object of the device instead.
        let is_text = |value: &SmolStr| value.starts_with('"') && is_constexpr();
        match (
            self.constant_fields.get(&symbol),
            self.types.category(self.symbols[symbol].ty),
        ) {
            (None, _) => true,
            (Some(_), Category::Scalar) => false,
            (Some(value), Category::Pointer) => !is_text(value),
            (Some(_), _) => true,
        }
    }

    /// The place of every name in the unit that means a static member which is an object.
    pub(super) fn read_static_member_uses(&mut self) {
        let unit = self.unit;
        let members: Vec<SymbolId> = self.static_members.keys().copied().collect();
        let names: FxHashSet<SmolStr> = members
            .into_iter()
            .filter(|symbol| self.is_static_object(*symbol))
            .map(|symbol| self.symbols[symbol].name.clone())
            .collect();
        if names.is_empty() {
            return;
        }
        let mut uses = Vec::new();
        for node in unit.tree.root().descendants() {
            if !matches!(node.kind(), Kind::Identifier | Kind::FieldIdentifier)
                || !names.contains(node.text())
            {
                continue;
            }
            let symbol = self.static_member_at(node);
            if let Some(symbol) = symbol
                && self.is_static_object(symbol)
                && !self.is_name_of_definition(symbol, node.range())
                && !(self.constant_fields.contains_key(&symbol) && is_constant_place(node))
            {
                uses.push((node.range(), symbol));
            }
        }
        uses.sort_by_key(|(at, _)| at.start());
        self.static_member_uses = uses;
    }

    fn is_name_of_definition(&self, symbol: SymbolId, at: TextRange) -> bool {
        let of_others = self.static_members[&symbol].specializations.iter();
        let mut names = of_others
            .map(|other| other.name)
            .chain(self.symbols[symbol].declared_at);
        names.any(|name| name.contains_range(at))
    }

    fn static_member_at(&mut self, node: Node<'u>) -> Option<SymbolId> {
        let at = node.range();
        let symbol = match node.kind() {
            Kind::Identifier => match qualified_around(node) {
                Some(whole) => self.find_qualified(whole.text(), at),
                None => self.scopes.resolve(&self.symbols, node.text(), at),
            },
            _ => {
                let object = node
                    .parent()
                    .filter(|parent| parent.kind() == Kind::FieldExpression)?
                    .field(Field::Argument)?;
                let class = match object.kind() {
                    Kind::This => self.this_type(at)?,
                    _ => {
                        let ty = self.expression_type(object, at, 0)?;
                        self.types.element(ty).unwrap_or(ty)
                    }
                };
                let class = self.types.record(class)?;
                self.static_field(class, node.text(), at, 0)
            }
        };
        symbol.filter(|symbol| self.symbols[*symbol].kind == SymbolKind::StaticField)
    }

    /// A static member of a class or of its bases.
    pub(super) fn static_field(
        &self,
        class: RecordId,
        name: &str,
        at: TextRange,
        depth: u32,
    ) -> Option<SymbolId> {
        if let Some(found) = self.static_fields.get(&(class, name.into())) {
            return Some(*found);
        }
        if depth > 32 {
            return None;
        }
        self.types.records[class].bases.iter().find_map(|base| {
            let base = self.class_with_arguments(&base.name, at)?;
            self.static_field(base, name, at, depth + 1)
        })
    }
}

/// Whether code outside the classes around a member can name it.
fn is_public(member: Node<'_>) -> bool {
    let mut current = member;
    while let Some(body) = current.parent() {
        let Some(class) = body.parent().filter(|class| {
            matches!(
                class.kind(),
                Kind::StructSpecifier | Kind::UnionSpecifier | Kind::ClassSpecifier
            )
        }) else {
            return true;
        };
        let said = body
            .children()
            .take_while(|child| child.range().start() < current.range().start())
            .filter(|child| child.kind() == Kind::AccessSpecifier)
            .last();
        let is_open = match said {
            Some(access) => access.text().starts_with("public"),
            None => class.kind() != Kind::ClassSpecifier,
        };
        if !is_open {
            return false;
        }
        current = match class.parent() {
            Some(around) if around.kind() == Kind::FieldDeclaration => around,
            Some(around)
                if around.kind() == Kind::TemplateDeclaration
                    && around
                        .parent()
                        .is_some_and(|it| it.kind() == Kind::FieldDeclarationList) =>
            {
                around
            }
            _ => class,
        };
    }
    true
}

fn is_constant_place(node: Node<'_>) -> bool {
    node.ancestors()
        .take_while(|outer| outer.kind() != Kind::CompoundStatement)
        .any(|outer| {
            let is_constexpr = || outer.children().any(|word| word.text() == "constexpr");
            let is_condition = || {
                let condition = outer.condition();
                condition.is_some_and(|it| it.range().contains_range(node.range()))
            };
            CONSTANT_PLACES.contains(&outer.kind())
                || outer.kind() == Kind::Declaration && is_constexpr()
                || outer.kind() == Kind::IfStatement
                    && outer
                        .text()
                        .trim_start_matches("if")
                        .trim_start()
                        .starts_with("constexpr")
                    && is_condition()
        })
}
