//! Types of simple expressions, for `auto` and for paths whose declaration does not say.

mod calls;
mod operators;

use std::collections::BTreeSet;

use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize};

use super::Builder;
use super::names::without_arguments;
use super::types::is_typeof;
use crate::symbol::SymbolKind;
use crate::ty::{Meaning, RecordId, Type, TypeId, TypeKind};

impl<'u> Builder<'u> {
    /// The declared type with `auto` replaced by what the initializer decides, where it does.
    pub(super) fn deduced(
        &mut self,
        ty: TypeId,
        initializer: Option<Node<'u>>,
        at: TextRange,
    ) -> TypeId {
        let Some(initializer) = initializer else {
            return ty;
        };
        if !self.types.mentions_auto(ty) || !self.is_decided_by_initializer(ty) {
            return ty;
        }
        match self.expression_type(initializer, at, 0) {
            Some(found) => self.replace_auto(ty, found),
            None => ty,
        }
    }

    /// The declared type of a variable that goes through a range, with `auto` replaced by what the range decides.
    pub(super) fn deduced_in_range(
        &mut self,
        ty: TypeId,
        range: Node<'_>,
        at: TextRange,
    ) -> TypeId {
        if !self.types.mentions_auto(ty) || !self.is_decided_by_initializer(ty) {
            return ty;
        }
        let range = self.expression_type(range, at, 0);
        match range.and_then(|range| self.range_element(range, at)) {
            Some(element) => self.replace_auto(ty, element),
            None => ty,
        }
    }

    /// Whether the type is `auto` and not, for instance, a class template without arguments or `decltype(x)`.
    fn is_decided_by_initializer(&self, ty: TypeId) -> bool {
        match &self.types.get(ty).kind {
            TypeKind::Named { spelling, .. } => {
                matches!(spelling.as_str(), "auto" | "decltype(auto)" | "__auto_type")
            }
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.is_decided_by_initializer(*to),
            TypeKind::Array { .. } | TypeKind::Function { .. } => false,
        }
    }

    fn replace_auto(&mut self, pattern: TypeId, found: TypeId) -> TypeId {
        let Type {
            is_const,
            is_volatile,
            kind,
        } = self.types.get(pattern).clone();
        match kind {
            TypeKind::Pointer(to) => {
                let pointee = self.types.element(found).unwrap_or(found);
                let inner = self.replace_target(to, pointee);
                self.types.intern(Type {
                    is_const,
                    is_volatile,
                    kind: TypeKind::Pointer(inner),
                })
            }
            TypeKind::Reference(to) => {
                let found = self.types.object_type(found);
                let inner = self.replace_target(to, found);
                self.types.plain(TypeKind::Reference(inner))
            }
            _ => {
                // By value: arrays decay, references and top-level qualifiers are dropped.
                let found = match self.types.get(found).kind {
                    TypeKind::Reference(to) => to,
                    _ => found,
                };
                let found = match self.types.get(self.types.desugar(found)).kind {
                    TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
                    _ => self.types.unqualified(found),
                };
                let mut ty = self.types.get(found).clone();
                ty.is_const |= is_const;
                ty.is_volatile |= is_volatile;
                self.types.intern(ty)
            }
        }
    }

    /// What a pointer or reference points to. An array stays one: only values decay.
    fn replace_target(&mut self, pattern: TypeId, found: TypeId) -> TypeId {
        match self.types.get(self.types.desugar(found)).kind {
            TypeKind::Array { .. } => found,
            _ => self.replace_auto(pattern, found),
        }
    }

    /// The type of an expression, for the forms that need no overload resolution.
    pub(super) fn expression_type(
        &mut self,
        node: Node<'_>,
        at: TextRange,
        depth: u32,
    ) -> Option<TypeId> {
        if depth > 32 {
            return None;
        }
        let next = depth + 1;
        match node.kind() {
            Kind::NumberLiteral => Some(self.number_type(node.text())),
            Kind::True | Kind::False => Some(self.types.named("bool", Meaning::Bool)),
            Kind::CharLiteral if node.text().starts_with('\'') => Some(self.character_type()),
            Kind::StringLiteral if node.text().starts_with('"') => {
                let char = self.char_type();
                let mut constant = self.types.get(char).clone();
                constant.is_const = self.unit.language == Language::Cxx;
                let constant = self.types.intern(constant);
                Some(self.types.plain(TypeKind::Pointer(constant)))
            }
            Kind::Identifier => {
                let symbol = self.scopes.resolve(&self.symbols, node.text(), at)?;
                let symbol = &self.symbols[symbol];
                (symbol.kind.is_variable()
                    || symbol.kind == SymbolKind::Field
                    || symbol.kind == SymbolKind::TemplateValue)
                    .then_some(symbol.ty)
            }
            Kind::ParenthesizedExpression => {
                let inner = node
                    .children()
                    .find(|child| child.kind() != Kind::Comment)?;
                self.expression_type(inner, at, next)
            }
            Kind::SubscriptExpression => {
                let base = self.expression_type(node.field(Field::Argument)?, at, next)?;
                self.types
                    .element(base)
                    .or_else(|| self.result_of_member(base, "operator[]", at))
            }
            Kind::FieldExpression => {
                let base = self.expression_type(node.field(Field::Argument)?, at, next)?;
                let base = self.object_of_member(node, base, at);
                let name = node.field(Field::Field)?.text();
                let found = self.member_type(base, name)?;
                match self.types.record(base) {
                    Some(class) => self.seen_from(found, base, class, at),
                    None => Some(found),
                }
            }
            Kind::PointerExpression => {
                let operand = self.expression_type(node.field(Field::Argument)?, at, next)?;
                match node.field(Field::Operator)?.text() {
                    "*" => self
                        .types
                        .element(operand)
                        .or_else(|| self.result_of_member(operand, "operator*", at)),
                    _ => {
                        let object = self.types.object_type(operand);
                        Some(self.types.plain(TypeKind::Pointer(object)))
                    }
                }
            }
            Kind::CastExpression => {
                let ty = node.field(Field::Type)?;
                Some(self.descriptor_type(ty, at))
            }
            Kind::NewExpression => {
                let ty = node.field(Field::Type)?;
                if self.lacks_template_arguments(ty, at) {
                    return None;
                }
                let ty = self.specifier_type(ty, at);
                Some(self.types.plain(TypeKind::Pointer(ty)))
            }
            Kind::SizeofExpression => Some(self.types.named(
                "size_t",
                Meaning::Integer {
                    bits: 64,
                    signed: false,
                },
            )),
            Kind::CompoundLiteralExpression => {
                let ty = node.field(Field::Type)?;
                if self.lacks_template_arguments(ty, at) {
                    return None;
                }
                match ty.kind() {
                    Kind::TypeDescriptor => Some(self.descriptor_type(ty, at)),
                    _ => Some(self.specifier_type(ty, at)),
                }
            }
            Kind::CallExpression => self.call_type(node, at),
            Kind::GenericExpression => {
                let chosen = self.selected(node, at)?;
                self.expression_type(chosen, at, next)
            }
            Kind::AssignmentExpression => self.expression_type(node.field(Field::Left)?, at, next),
            Kind::UpdateExpression => self.expression_type(node.field(Field::Argument)?, at, next),
            Kind::UnaryExpression => {
                let operand = self.expression_type(node.field(Field::Argument)?, at, next)?;
                match node.field(Field::Operator)?.text() {
                    "!" if self.has_builtin_operators(operand) => Some(self.truth_type()),
                    "-" | "+" | "~" => self.promoted(operand),
                    _ => None,
                }
            }
            Kind::ConditionalExpression => {
                let chosen = self.expression_type(node.field(Field::Consequence)?, at, next)?;
                let other = self.expression_type(node.field(Field::Alternative)?, at, next);
                self.chosen_type(chosen, other)
            }
            Kind::BinaryExpression => {
                let left = self.expression_type(node.field(Field::Left)?, at, next)?;
                let right = self.expression_type(node.field(Field::Right)?, at, next)?;
                self.binary_type(node.field(Field::Operator)?.text(), left, right)
            }
            _ => None,
        }
    }

    /// The type that a piece of text names, `const double *` for instance.
    pub(super) fn type_of_text(&mut self, text: &str, at: TextRange) -> TypeId {
        match is_typeof(text) && text.ends_with(')') {
            true => self.type_of_operand(text, at),
            false => self.type_declared_by(&format!("{text} rex_object"), at),
        }
    }

    /// The type of the variable in a declaration, `const double *p` for instance.
    pub(super) fn type_declared_by(&mut self, text: &str, at: TextRange) -> TypeId {
        let tree = parse_fragment(&format!("{text};"), self.unit.language);
        self.fragment_depth += 1;
        let declaration = tree
            .root()
            .descendants()
            .find(|node| node.kind() == Kind::Declaration);
        let ty = match declaration {
            Some(declaration) => {
                let base = self.base_type(declaration, at);
                match declaration.field(Field::Declarator) {
                    Some(declarator) => self.declarator(declarator, base, at).ty,
                    None => base,
                }
            }
            None => self.types.named(text, Meaning::Unknown),
        };
        self.fragment_depth -= 1;
        ty
    }

    /// The object that `x.member` or `x->member` is of: what `x` points to, if it is a pointer or acts as one.
    fn object_of_member(&mut self, member: Node<'_>, ty: TypeId, at: TextRange) -> TypeId {
        let is_arrow = member
            .field(Field::Operator)
            .is_some_and(|operator| operator.text() == "->");
        let pointer = match is_arrow && !self.is_pointer(ty) {
            true => self.result_of_member(ty, "operator->", at),
            false => Some(ty),
        };
        let pointer = pointer.filter(|pointer| self.is_pointer(*pointer));
        pointer
            .and_then(|pointer| self.types.element(pointer))
            .unwrap_or(ty)
    }

    pub(super) fn is_pointer(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.object_type(ty)).kind,
            TypeKind::Pointer(_)
        )
    }

    /// The type of a member, bases included, as the class sees it.
    pub(super) fn member_type(&mut self, class: TypeId, name: &str) -> Option<TypeId> {
        self.member_behind(class, name, &mut BTreeSet::new())
    }

    /// The same; `seen` are the classes on the way, as damaged ones may be bases of themselves.
    fn member_behind(
        &mut self,
        class: TypeId,
        name: &str,
        seen: &mut BTreeSet<RecordId>,
    ) -> Option<TypeId> {
        const MAX_BASES: usize = 256;
        if let Some(field) = self.types.field(class, name) {
            return Some(field.ty);
        }
        let record = self.types.record(class)?;
        if !seen.insert(record) || seen.len() > MAX_BASES {
            return None;
        }
        let end = match self.types.records[record].body {
            Some(body) => body.end() - TextSize::of('}'),
            None => TextSize::of(self.source),
        };
        let inside = TextRange::empty(end);
        for base in self.types.records[record].bases.clone() {
            let base = base.name;
            let of_name = self.named_type(&without_arguments(&base), inside);
            let Some(of_base) = self.types.record(of_name) else {
                continue;
            };
            let base = self.types.named(base, Meaning::Record(Some(of_base)));
            if let Some(found) = self.member_behind(base, name, seen) {
                return self.seen_from(found, base, of_base, inside);
            }
        }
        None
    }
}
