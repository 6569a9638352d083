//! Arrays and rows whose length is known at run time: CUDA has none, device code has views (`rex_view`) of their elements.
//!
//! Here are the places where a program speaks of their types: pointers to rows that device code declares, casts to such pointers, and `sizeof`.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::types::declared_name;
use crate::expr::Expr;
use crate::namer;
use crate::symbol::{SymbolId, SymbolKind};
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
        let has_types = self.symbols.values().any(|symbol| {
            symbol.kind == SymbolKind::Type && self.types.is_variably_modified(symbol.ty)
        });
        let has_arrays = self
            .symbols
            .values()
            .any(|symbol| symbol.kind.is_variable() && self.types.is_variably_modified(symbol.ty));
        let may_name = |node: Node<'u>| has_types || node.text().contains('[');
        for node in unit.tree.nodes() {
            if has_arrays && node.kind() == Kind::ArgumentList {
                for argument in node.children() {
                    self.decay(argument);
                }
            }
            match node.kind() {
                Kind::InitDeclarator if has_arrays => self.deduce_pointer(node),
                Kind::Declaration if may_name(node) => self.declare_view(node),
                Kind::CastExpression if may_name(node) => self.cast_to_view(node),
                Kind::SizeofExpression => self.write_size(node),
                Kind::TypeDefinition => self.name_extents_of_types(node),
                Kind::FieldDeclaration => self.refuse_member(node),
                _ => {}
            }
        }
    }

    /// `typedef double row[n];`: device code has only the number.
    fn name_extents_of_types(&mut self, definition: Node<'u>) {
        let names = definition.fields(Field::Declarator);
        let names = names.into_iter().filter_map(declared_name);
        let symbols: Vec<SymbolId> = names
            .filter_map(|name| {
                self.scopes
                    .resolve(&self.symbols, name.text(), name.range())
            })
            .filter(|symbol| self.types.is_variably_modified(self.symbols[*symbol].ty))
            .collect();
        if symbols.is_empty() {
            return;
        }
        if definition.fields(Field::Declarator).len() != symbols.len() {
            self.cannot_write(
                definition.range(),
                "CUDA has no types of run-time size",
                "give this type a declaration of its own",
            );
            return;
        }
        let numbers: Vec<String> = symbols
            .iter()
            .filter_map(|symbol| self.declared_extents(*symbol))
            .collect();
        let text = format_smolstr!("{};", numbers.join(" ").trim_end_matches([';', ' ']));
        self.conversions.push((definition.range(), text));
    }

    /// The numbers that are the extents of a variable or type.
    fn declared_extents(&self, symbol: SymbolId) -> Option<String> {
        let numbers = self.extents.get(&symbol)?.iter();
        let numbers =
            numbers.map(|(name, words)| format!("{}; ", namer::declared_extent(name, words)));
        Some(numbers.collect())
    }

    /// `struct { int a[n]; }`
    fn refuse_member(&mut self, member: Node<'u>) {
        let is_in_function = member
            .ancestors()
            .any(|outer| outer.kind() == Kind::CompoundStatement);
        if !is_in_function {
            return;
        }
        let base = self.base_type(member, member.range());
        for declarator in member.fields(Field::Declarator) {
            let ty = self.declarator(declarator, base, member.range()).ty;
            if self.types.is_variably_modified(ty) {
                self.cannot_write(
                    declarator.range(),
                    "C++ has no members of run-time size",
                    "make it an array of its own, or give it a size that is constant",
                );
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
        let views: Vec<Option<View>> = declarators
            .iter()
            .map(|declarator| {
                let ty = self.declarator(*declarator, base, declaration.range()).ty;
                self.view(ty)
            })
            .collect();
        if views.iter().all(Option::is_none) {
            return;
        }
        let mut end = declaration.range().start();
        for (declarator, view) in declarators.into_iter().zip(views) {
            let name = declared_name(declarator).map(|name| SmolStr::from(name.text()));
            let (Some(view), Some(name)) = (view, name) else {
                self.cannot_write(
                    declaration.range(),
                    "CUDA has no rows of run-time length",
                    "give these pointers a declaration of their own",
                );
                return;
            };
            let between = match end == declaration.range().start() {
                true => "",
                false => "; ",
            };
            let numbers = declared_name(declarator).and_then(|name| {
                let symbol = self
                    .scopes
                    .resolve(&self.symbols, name.text(), name.range());
                self.declared_extents(symbol?)
            });
            let numbers = numbers.unwrap_or_default();
            let Some(value) = declarator.field(Field::Value) else {
                let View {
                    class,
                    pointer,
                    extents,
                } = view;
                let text =
                    format_smolstr!("{between}{numbers}{class} {name}(({pointer})0, {extents})");
                let at = TextRange::new(end, declarator.range().end());
                end = at.end();
                self.conversions.push((at, text));
                continue;
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
            let before = TextRange::new(end, address.range().start());
            let after = TextRange::new(address.range().end(), value.range().end());
            end = after.end();
            let View { class, extents, .. } = view;
            self.conversions.push((
                before,
                format_smolstr!("{between}{numbers}{class} {name}({first}("),
            ));
            self.conversions
                .push((after, format_smolstr!("), {extents})")));
        }
    }

    /// An array of run-time length where the compiler deduces a type from it: a pointer to its elements.
    fn decay(&mut self, array: Node<'u>) {
        let may_be_array = matches!(array.kind(), Kind::Identifier | Kind::SubscriptExpression);
        let at = array.range();
        let ty = match may_be_array {
            true => self.expression_type(array, at, 0),
            false => None,
        };
        if ty.is_some_and(|ty| self.n_extents(ty) == 1) {
            self.conversions.push((
                TextRange::empty(at.start()),
                SmolStr::new_static("rex_decay("),
            ));
            self.conversions
                .push((TextRange::empty(at.end()), SmolStr::new_static(")")));
        }
    }

    /// `auto *row = grid[1]` and `auto *rows = grid` of arrays of run-time length.
    fn deduce_pointer(&mut self, declarator: Node<'u>) {
        let declaration = declarator.parent();
        let ty = declaration.and_then(|declaration| declaration.field(Field::Type));
        let is_deduced = ty.is_some_and(|ty| {
            matches!(ty.kind(), Kind::PlaceholderTypeSpecifier | Kind::Auto)
                || ty.text() == "__auto_type"
        });
        let parts = (
            declarator.field(Field::Declarator),
            declarator.field(Field::Value),
        );
        let (true, (Some(name), Some(value))) = (is_deduced, parts) else {
            return;
        };
        if name.kind() == Kind::ReferenceDeclarator {
            return;
        }
        self.decay(value);
        // A view is the pointer to its rows.
        if name.kind() == Kind::PointerDeclarator
            && let Some(ty) = self.expression_type(value, value.range(), 0)
            && self.n_extents(ty) > 1
        {
            let star = TextRange::at(name.range().start(), TextSize::of('*'));
            self.conversions.push((star, SmolStr::default()));
        }
    }

    /// How many dimensions an array of run-time length has.
    fn n_extents(&self, ty: TypeId) -> usize {
        let ty = self.types.object_type(ty);
        let is_array = matches!(self.types.get(ty).kind, TypeKind::Array { .. });
        match is_array && self.types.is_variably_modified(ty) {
            true => self.types.extents(ty).len(),
            false => 0,
        }
    }

    /// Whether a type is that of pointers to rows of run-time length.
    pub(super) fn points_to_rows(&self, ty: TypeId) -> bool {
        self.view(ty).is_some()
    }

    /// The declaration of a parameter as a view of what an address leads to.
    pub(super) fn declared_view(
        &self,
        symbol: SymbolId,
        name: &str,
        address: &str,
    ) -> Option<String> {
        let View {
            class,
            pointer,
            extents,
        } = self.view(self.symbols[symbol].ty)?;
        let numbers = self.declared_extents(symbol).unwrap_or_default();
        Some(format!(
            "{numbers}{class} {name}(({pointer}){address}, {extents});"
        ))
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
            (None, Some(value)) => self
                .expression_type(value, at, 0)
                .or_else(|| self.type_in_brackets(value)),
            (None, None) => None,
        };
        if self.unit.language == Language::C && ty.is_some_and(|ty| self.is_void(ty)) {
            self.conversions
                .push((at, SmolStr::new_static("sizeof(char)")));
            return;
        }
        if self.unit.language == Language::C
            && let Some(size) = node.field(Field::Value).and_then(|it| self.size_in_c(it))
        {
            self.conversions.push((at, size));
            return;
        }
        let is_of_view = |ty: &TypeId| {
            self.types.is_variably_modified(*ty)
                || node
                    .field(Field::Value)
                    .is_some_and(|it| self.is_row_of_view(it))
        };
        let Some(ty) = ty.filter(is_of_view) else {
            return;
        };
        let size = match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Array { .. } => self.spelled_extents(ty).map(|extents| {
                let element = self.types.spell(self.types.innermost_element(ty));
                format_smolstr!("(sizeof({element}) * {})", extents.join(" * "))
            }),
            TypeKind::Pointer(_) => Some(SmolStr::new_static("sizeof(void *)")),
            _ => None,
        };
        if let Some(size) = size {
            self.conversions.push((at, size));
        }
    }

    /// The size of a value that has another type in C than in C++: a truth value, a character, an array that C takes for its address.
    fn size_in_c(&mut self, value: Node<'u>) -> Option<SmolStr> {
        if self.is_int_in_c_alone(value) {
            return Some(SmolStr::new_static("sizeof(int)"));
        }
        let last = match value.kind() {
            Kind::ParenthesizedExpression => return self.size_in_c(value.only_child()?),
            Kind::CommaExpression => value.field(Field::Right)?,
            Kind::ConditionalExpression => value.field(Field::Consequence)?,
            _ => return None,
        };
        let ty = self.expression_type(last, last.range(), 0)?;
        let is_array = matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Array { .. }
        );
        is_array.then(|| SmolStr::new_static("sizeof(void *)"))
    }

    /// The type that an operand of `sizeof` names which can be read as an expression, too: `sizeof(row[2])`.
    fn type_in_brackets(&mut self, value: Node<'u>) -> Option<TypeId> {
        match value.kind() {
            Kind::ParenthesizedExpression => self.type_in_brackets(value.only_child()?),
            Kind::SubscriptExpression => {
                let element = self.type_in_brackets(value.field(Field::Argument)?)?;
                let indices = value
                    .field(Field::Indices)
                    .or_else(|| value.field(Field::Index))?;
                let size = match indices.kind() {
                    Kind::SubscriptArgumentList => indices.only_child()?,
                    _ => indices,
                };
                let extent = self.extent(size, value.range());
                Some(self.types.plain(TypeKind::Array { element, extent }))
            }
            Kind::Identifier => {
                let symbol = self
                    .scopes
                    .resolve(&self.symbols, value.text(), value.range())?;
                let symbol = &self.symbols[symbol];
                (symbol.kind == SymbolKind::Type).then_some(symbol.ty)
            }
            _ => None,
        }
    }

    /// Whether an expression is a row, or a row of rows, of such an array.
    fn is_row_of_view(&self, value: Node<'u>) -> bool {
        let array = value
            .descendants()
            .find(|node| node.kind() == Kind::Identifier);
        let symbol = array.and_then(|it| self.scopes.resolve(&self.symbols, it.text(), it.range()));
        symbol.is_some_and(|symbol| {
            let symbol = &self.symbols[symbol];
            symbol.kind.is_variable() && self.types.is_variably_modified(symbol.ty)
        })
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
