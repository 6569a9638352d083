//! Arrays and rows whose length is known at run time: CUDA has none, device code has views (`rex_view`) of their elements.
//!
//! Here are the places where a program speaks of their types: pointers to rows that device code declares, casts to such pointers, and `sizeof`.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::types::declared_name;
use crate::expr::Expr;
use crate::ty::{TypeId, TypeKind};

/// A pointer to rows of run-time length, as device code has it.
struct View {
    /// `rex_view<double, 2>`
    class: String,
    /// `double *`
    pointer: String,
    /// `0, m`: nobody asks for the first.
    extents: String,
}

impl<'u> Builder<'u> {
    /// Writes down what device code has instead of what speaks of such types.
    pub(super) fn view_rows(&mut self) {
        let unit = self.unit;
        for node in unit.tree.nodes() {
            match node.kind() {
                Kind::Declaration if node.text().contains('[') => self.declare_view(node),
                Kind::CastExpression if node.text().contains('[') => self.cast_to_view(node),
                Kind::SizeofExpression => self.write_size(node),
                _ => {}
            }
        }
    }

    /// `double (*a)[m] = p;`
    fn declare_view(&mut self, declaration: Node<'u>) {
        if declaration
            .ancestors()
            .all(|outer| outer.kind() != Kind::CompoundStatement)
        {
            return;
        }
        let base = self.base_type(declaration, declaration.range());
        let declarators = declaration.fields(Field::Declarator);
        for declarator in &declarators {
            let ty = self.declarator(*declarator, base, declaration.range()).ty;
            let Some(view) = self.view(ty) else { continue };
            let value = declarator
                .field(Field::Value)
                .filter(|_| declarators.len() == 1);
            let name = declared_name(*declarator).map(|name| SmolStr::from(name.text()));
            let (Some(value), Some(name)) = (value, name) else {
                self.cannot_write(
                    declaration.range(),
                    "CUDA has no rows of run-time length",
                    "give this pointer a declaration of its own, with its value",
                );
                return;
            };
            let address = match self.cast_operand(value) {
                Some(operand) => operand,
                None => value,
            };
            let ty = self.expression_type(address, address.range(), 0);
            let is_view = ty.is_some_and(|ty| self.types.is_variably_modified(ty));
            let first = match is_view {
                true => "rex_first".to_string(),
                false => format!("({})", view.pointer),
            };
            let before = TextRange::new(declaration.range().start(), address.range().start());
            let after = TextRange::new(address.range().end(), value.range().end());
            let View { class, extents, .. } = view;
            self.conversions
                .push((before, format_smolstr!("{class} {name}({first}(")));
            self.conversions
                .push((after, format_smolstr!("), {extents})")));
        }
    }

    /// `(double (*)[m])p`
    fn cast_to_view(&mut self, cast: Node<'u>) {
        let is_initializer = |outer: Node<'u>| {
            outer.kind() == Kind::InitDeclarator && outer.field(Field::Value) == Some(cast)
        };
        let (Some(ty), Some(operand)) = (cast.field(Field::Type), cast.field(Field::Value)) else {
            return;
        };
        let ty = self.descriptor_type(ty, cast.range());
        let Some(view) = self.view(ty) else { return };
        if cast.parent().is_some_and(is_initializer) {
            return;
        }
        let View {
            class,
            pointer,
            extents,
        } = view;
        let before = TextRange::new(cast.range().start(), operand.range().start());
        let after = TextRange::empty(cast.range().end());
        self.conversions
            .push((before, format_smolstr!("{class}(({pointer})(")));
        self.conversions
            .push((after, format_smolstr!("), {extents})")));
    }

    /// What a cast to such a pointer casts.
    fn cast_operand(&mut self, value: Node<'u>) -> Option<Node<'u>> {
        let ty = (value.kind() == Kind::CastExpression).then(|| value.field(Field::Type))??;
        let ty = self.descriptor_type(ty, value.range());
        self.view(ty)?;
        value.field(Field::Value)
    }

    fn view(&self, ty: TypeId) -> Option<View> {
        let TypeKind::Pointer(row) = self.types.get(self.types.desugar(ty)).kind else {
            return None;
        };
        if !self.types.is_variably_modified(row) {
            return None;
        }
        let extents = self.spelled_extents(row)?;
        let element = self.types.innermost_element(row);
        Some(View {
            class: format!(
                "rex_view<{}, {}>",
                self.types.spell(element),
                extents.len() + 1
            ),
            pointer: self.types.declare(element, "*"),
            extents: format!("0, {}", extents.join(", ")),
        })
    }

    /// `sizeof` of a type of run-time size, or of what has one.
    fn write_size(&mut self, node: Node<'u>) {
        let at = node.range();
        let ty = match (node.field(Field::Type), node.field(Field::Value)) {
            (Some(ty), _) => Some(self.descriptor_type(ty, at)),
            (None, Some(value)) => self.expression_type(value, at, 0),
            (None, None) => None,
        };
        let Some(ty) = ty.filter(|ty| self.types.is_variably_modified(*ty)) else {
            return;
        };
        let size = match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Array { .. } => self.spelled_extents(ty).map(|extents| {
                let element = self.types.spell(self.types.innermost_element(ty));
                format_smolstr!("(sizeof({element}) * {})", extents.join(" * "))
            }),
            _ => Some(SmolStr::new_static("sizeof(void *)")),
        };
        if let Some(size) = size {
            self.conversions.push((at, size));
        }
    }

    /// The extents of an array as operands.
    fn spelled_extents(&self, ty: TypeId) -> Option<Vec<String>> {
        let operand = |extent: Expr| match extent {
            Expr::Words(text) => {
                let is_simple = text.chars().all(|c| c.is_alphanumeric() || c == '_');
                Some(match is_simple {
                    true => text.to_string(),
                    false => format!("({text})"),
                })
            }
            _ => None,
        };
        self.types.extents(ty).into_iter().map(operand).collect()
    }
}
