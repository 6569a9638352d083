//! Variables and parameters.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use smol_str::{SmolStr, format_smolstr};

use super::Context;
use crate::build::Builder;
use crate::build::types::has_storage;
use crate::symbol::{ScopeId, SymbolKind};
use crate::ty::{Category, Meaning, Type, TypeId, TypeKind};

impl<'u> Builder<'u> {
    pub(super) fn declare_variables(&mut self, node: Node<'u>, scope: ScopeId, context: &Context) {
        let mut base = self.base_type(node, node.range());
        if let Some(specifier) = node.field(Field::Type)
            && self.lacks_template_arguments(specifier, node.range())
        {
            base = self.types.named(specifier.text(), Meaning::Auto);
        }
        let is_static = has_storage(node, "static") || has_storage(node, "thread_local");
        let is_extern = has_storage(node, "extern");
        // In a condition, the value stands beside the declarator.
        let value = node.field(Field::Value);
        // `int f(a) int a[3]; {}`
        let is_parameter = node
            .parent()
            .is_some_and(|around| around.kind() == Kind::FunctionDefinition);
        for declarator in node.fields(Field::Declarator) {
            if let Some(declarator) = bindings_of(declarator) {
                let is_local = is_static && context.function.is_some();
                let kind = match is_local {
                    true => SymbolKind::StaticLocal,
                    false => SymbolKind::Local,
                };
                self.declare_bindings(declarator, scope, kind, node.range());
                continue;
            }
            let declared = self.declarator(declarator, base, node.range());
            let Some(name) = declared.name else { continue };
            if is_parameter {
                let ty = self.type_of_parameter(declared.ty);
                let range = Some(node.range());
                self.declare(scope, name, SymbolKind::Parameter, ty, None, range);
                continue;
            }
            let initializer = declarator.field(Field::Value).or(value);
            if context.function.is_none()
                && let Some(member) = self.define_static_member(node, name, initializer)
            {
                let whole = self.completed_by_initializer(declared.ty, initializer);
                self.complete_static_member(member, whole);
                continue;
            }
            let is_function = declared.parameters.is_some()
                && matches!(self.types.get(declared.ty).kind, TypeKind::Function { .. });
            // A lambda may begin a variable of the file.
            let is_in_body = context.function.is_some()
                || node
                    .ancestors()
                    .any(|around| around.kind() == Kind::LambdaExpression);
            let is_constructed = is_function
                && is_in_body
                && self.looks_like_constructor_call(declared.parameters, node.range());
            let initializer = match is_constructed && is_static {
                true => declared.parameters,
                false => initializer,
            };
            let kind = match (is_function, is_in_body) {
                (true, true) if is_constructed && is_static => SymbolKind::StaticLocal,
                (true, true) if is_constructed => SymbolKind::Local,
                (true, _) => SymbolKind::Function,
                (false, false) => SymbolKind::Global,
                (false, true) if is_static => SymbolKind::StaticLocal,
                (false, true) if is_extern => SymbolKind::Global,
                (false, true) => SymbolKind::Local,
            };
            let ty = match (kind, self.types.get(declared.ty).kind.clone()) {
                (
                    SymbolKind::Function | SymbolKind::Local | SymbolKind::StaticLocal,
                    TypeKind::Function { returns, .. },
                ) => returns,
                _ => self.deduced(declared.ty, initializer, node.range()),
            };
            let ty = self.completed_by_initializer(ty, initializer);
            let is_named_by_namespace = match kind {
                SymbolKind::Global => !context.namespaces.is_empty(),
                // Kernels stand outside of the block that says what its names mean.
                SymbolKind::Local | SymbolKind::StaticLocal => self.is_below_local_using(node),
                _ => false,
            };
            let ty = match is_named_by_namespace {
                true => self.seen_from_outside(ty, node.range()),
                false => ty,
            };
            let qualifier = self.qualifier_of_variable(name, &context.namespaces);
            let symbol = self.declare(
                scope,
                name,
                kind,
                ty,
                initializer.map(|value| value.range()),
                Some(with_linkage(node).range()),
            );
            if kind == SymbolKind::Global {
                self.symbols[symbol].qualifier = qualifier.into();
            }
            if kind == SymbolKind::StaticLocal
                && let Some(function) = context.function
            {
                self.functions[function].statics.push(symbol);
            }
        }
    }

    /// The namespace of a variable that a declaration names, perhaps from outside: `int config::level = 3;`.
    fn qualifier_of_variable(&self, name: Node<'u>, around: &SmolStr) -> SmolStr {
        let text = name.text();
        let Some((qualifier, _)) = text.rsplit_once("::") else {
            return around.clone();
        };
        let declared = self.find_qualified(text, name.range());
        let declared = declared.filter(|it| self.symbols[*it].kind == SymbolKind::Global);
        match (declared, qualifier.strip_prefix("::")) {
            (Some(declared), _) => SmolStr::from(&*self.symbols[declared].qualifier),
            (None, Some(whole)) => format_smolstr!("{whole}::"),
            (None, None) => format_smolstr!("{around}{qualifier}::"),
        }
    }

    /// `T x(a, b);` inside a function declares an object when its "parameters" are variables: names that are no types, as members
    /// of the class around are.
    fn looks_like_constructor_call(&mut self, parameters: Option<Node<'u>>, at: TextRange) -> bool {
        let Some(parameters) = parameters else {
            return false;
        };
        let children: Vec<Node<'u>> = parameters.children().collect();
        !children.is_empty()
            && children.into_iter().all(|parameter| {
                parameter
                    .field(Field::Type)
                    .is_some_and(|ty| self.names_value(ty, at))
            })
    }

    fn names_value(&mut self, specifier: Node<'u>, at: TextRange) -> bool {
        let name = specifier.text();
        if let Some(symbol) = self.scopes.resolve(&self.symbols, name, at) {
            let kind = self.symbols[symbol].kind;
            return kind.is_variable()
                || matches!(
                    kind,
                    SymbolKind::Field | SymbolKind::Enumerator | SymbolKind::TemplateValue
                );
        }
        let is_name = matches!(specifier.kind(), Kind::TypeIdentifier | Kind::Identifier);
        is_name && self.unit.language == Language::Cxx && self.is_unknown_type(name, at)
    }

    fn is_unknown_type(&mut self, name: &str, at: TextRange) -> bool {
        let ty = self.named_type(name, at);
        matches!(
            self.types.category(ty),
            // In a template, it would be a parameter, which scopes know.
            Category::Unknown | Category::Dependent
        )
    }

    fn declare_bindings(
        &mut self,
        declarator: Node<'u>,
        scope: ScopeId,
        kind: SymbolKind,
        declaration: TextRange,
    ) {
        let unknown = self.types.named("auto", Meaning::Auto);
        let names: Vec<Node<'u>> = declarator
            .descendants()
            .filter(|inner| inner.kind() == Kind::Identifier)
            .collect();
        for name in names {
            self.declare(scope, name, kind, unknown, None, Some(declaration));
        }
    }

    /// `int a[] = {1, 2}` and `char s[] = "ab"` get their extent from the initializer.
    fn completed_by_initializer(&mut self, ty: TypeId, initializer: Option<Node<'u>>) -> TypeId {
        let Type {
            kind:
                TypeKind::Array {
                    element,
                    extent: crate::ty::Extent::Unknown,
                },
            ..
        } = *self.types.get(ty)
        else {
            return ty;
        };
        let Some(initializer) = initializer else {
            return ty;
        };
        let extent = match initializer.kind() {
            Kind::InitializerList => {
                let designated = initializer
                    .children()
                    .any(|item| item.kind() == Kind::InitializerPair);
                let count = initializer
                    .children()
                    .filter(|item| item.kind() != Kind::Comment)
                    .count();
                if designated { return ty } else { count }
            }
            Kind::StringLiteral if !initializer.text().contains('\\') => {
                initializer.text().len() - 1
            }
            _ => return ty,
        };
        self.types.plain(TypeKind::Array {
            element,
            extent: crate::ty::Extent::Constant(format_smolstr!("{extent}")),
        })
    }

    pub(super) fn declare_parameter(&mut self, node: Node<'u>, scope: ScopeId) {
        let base = self.base_type(node, node.range());
        let Some(declarator) = node.field(Field::Declarator) else {
            return;
        };
        let declared = self.declarator(declarator, base, node.range());
        let Some(name) = declared.name else { return };
        let ty = self.type_of_parameter(declared.ty);
        self.declare(
            scope,
            name,
            SymbolKind::Parameter,
            ty,
            None,
            Some(node.range()),
        );
    }

    /// Arrays and functions are pointers as parameters.
    fn type_of_parameter(&mut self, declared: TypeId) -> TypeId {
        match self.types.get(declared).kind.clone() {
            TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
            TypeKind::Function { .. } => self.types.plain(TypeKind::Pointer(declared)),
            _ => declared,
        }
    }

    pub(super) fn declare_range_variable(&mut self, node: Node<'u>, scope: ScopeId) {
        let base = self.base_type(node, node.range());
        let Some(declarator) = node.field(Field::Declarator) else {
            return;
        };
        if let Some(bindings) = bindings_of(declarator) {
            return self.declare_bindings(bindings, scope, SymbolKind::Local, node.range());
        }
        let declared = self.declarator(declarator, base, node.range());
        let Some(name) = declared.name else {
            return;
        };
        let ty = match node.field(Field::Right) {
            Some(range) => self.deduced_in_range(declared.ty, range, node.range()),
            None => declared.ty,
        };
        let range = Some(node.range());
        self.declare(scope, name, SymbolKind::Local, ty, None, range);
    }
}

/// A declaration with `extern "C"` in front, which only declares variables then.
fn with_linkage(declaration: Node<'_>) -> Node<'_> {
    let around = declaration.parent();
    around
        .filter(|around| around.kind() == Kind::LinkageSpecification)
        .unwrap_or(declaration)
}

/// `[a, b]` of `[a, b] = pair` and `&[a, b] = pair`.
fn bindings_of(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut current = declarator;
    loop {
        current = match current.kind() {
            Kind::StructuredBindingDeclarator => return Some(current),
            Kind::InitDeclarator => current.field(Field::Declarator)?,
            Kind::ReferenceDeclarator => current.children().last()?,
            _ => return None,
        };
    }
}
