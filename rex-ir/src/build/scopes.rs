//! Scopes and symbols: one walk over the whole tree.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::types::{declared_name, has_storage, squeeze};
use crate::item::{Function, FunctionId, Membership, TemplateHead};
use crate::namer;
use crate::symbol::{ScopeId, Symbol, SymbolId, SymbolKind};
use crate::ty::{Meaning, RecordId, Type, TypeId, TypeKind};

/// A node to visit and where it stands.
#[derive(Clone)]
struct Visit<'u> {
    node: Node<'u>,
    scope: ScopeId,
    context: Context,
}

/// What surrounds a node.
#[derive(Clone, Default)]
struct Context {
    function: Option<FunctionId>,
    class: Option<ClassContext>,
    /// `a::b::` of the namespaces around.
    namespaces: SmolStr,
    /// The outermost template declaration around the next declaration.
    template: Option<TextRange>,
    /// Heads of the next declaration, outermost first.
    heads: Vec<TemplateHead>,
    /// Heads of the classes around.
    class_heads: Vec<TemplateHead>,
}

/// The class whose body surrounds a node.
#[derive(Clone)]
struct ClassContext {
    name: SmolStr,
    record: Option<RecordId>,
    /// With the classes around it.
    path: SmolStr,
}

impl<'u> Builder<'u> {
    /// Declares every name of the unit and finds its functions.
    pub(super) fn read_scopes(&mut self) {
        let unit = self.unit;
        let mut stack = vec![Visit {
            node: unit.tree.root(),
            scope: self.scopes.root(),
            context: Context::default(),
        }];
        while let Some(visit) = stack.pop() {
            self.visit(visit, &mut stack);
        }
        let mut order: Vec<FunctionId> = self.functions.iter().map(|(id, _)| id).collect();
        order.sort_by_key(|id| self.functions[*id].range.start());
    }

    fn visit(&mut self, visit: Visit<'u>, stack: &mut Vec<Visit<'u>>) {
        let Visit {
            node,
            mut scope,
            mut context,
        } = visit;
        match node.kind() {
            Kind::FunctionDefinition => return self.visit_function(node, scope, context, stack),
            Kind::LambdaExpression => {
                scope = self.scopes.open(scope, node.range());
                let function = context.function;
                context = Context {
                    function,
                    ..context
                };
            }
            // Long chains of `else if` would be as many scopes inside each other.
            Kind::IfStatement if !declares_in_condition(node) => {}
            Kind::CompoundStatement
            | Kind::ForStatement
            | Kind::ForRangeLoop
            | Kind::WhileStatement
            | Kind::IfStatement
            | Kind::SwitchStatement
            | Kind::CatchClause
            | Kind::DoStatement => scope = self.scopes.open(scope, node.range()),
            // An inner name is also reached from outside, by qualification: it stays in the enclosing scope.
            Kind::NamespaceDefinition => {
                let name = node.field(Field::Name);
                let name = name.map_or(namer::UNNAMED_NAMESPACE, |name| name.text());
                context.namespaces = format_smolstr!("{}{name}::", context.namespaces);
            }
            Kind::TemplateDeclaration => {
                let inner = self.scopes.open(scope, node.range());
                context.template.get_or_insert(node.range());
                for child in node.children() {
                    if child.kind() == Kind::TemplateParameterList {
                        self.declare_template_parameters(child, inner);
                        context.heads.extend(template_head(child));
                    } else {
                        self.declare_templated(child, scope);
                        stack.push(Visit {
                            node: child,
                            scope: inner,
                            context: context.clone(),
                        });
                    }
                }
                return;
            }
            Kind::FieldDeclaration
                if node
                    .fields(Field::Declarator)
                    .into_iter()
                    .any(declares_function) =>
            {
                self.method_declarations.push(node.range());
            }
            Kind::Declaration if context.class.is_some() && context.function.is_none() => {
                // A constructor or destructor without body.
                self.method_declarations.push(node.range());
            }
            Kind::Declaration => self.declare_variables(node, scope, &context),
            Kind::ParameterList if is_of_declaration(node) => {
                scope = self.scopes.open(scope, node.range());
            }
            Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration => {
                self.declare_parameter(node, scope);
            }
            Kind::TypeDefinition => self.declare_typedef(node, scope),
            Kind::AliasDeclaration => {
                if let (Some(name), Some(ty)) = (node.field(Field::Name), node.field(Field::Type)) {
                    let ty = self.descriptor_type(ty, node.range());
                    self.declare_type(scope, name, ty, Some(node.range()));
                }
            }
            Kind::StructSpecifier | Kind::UnionSpecifier | Kind::ClassSpecifier => {
                return self.visit_class(node, scope, context, stack);
            }
            Kind::EnumSpecifier => self.declare_enum(node, scope),
            _ => {}
        }
        let mut children: Vec<Node<'u>> = node.children().collect();
        if node.kind() == Kind::ForRangeLoop {
            self.declare_range_variable(node, scope);
            children.retain(|child| Some(*child) != node.field(Field::Declarator));
        }
        children.reverse();
        stack.extend(children.into_iter().map(|node| Visit {
            node,
            scope,
            context: context.clone(),
        }));
    }

    fn visit_function(
        &mut self,
        node: Node<'u>,
        scope: ScopeId,
        context: Context,
        stack: &mut Vec<Visit<'u>>,
    ) {
        let Some(declarator) = node.field(Field::Declarator) else {
            return;
        };
        let Some(name) = declared_name(declarator) else {
            return;
        };
        let unqualified = function_name(name.text());
        let mut class = context.class.clone();
        let mut qualifier = None;
        if class.is_none() {
            class = self.class_of_qualified(name.text(), &unqualified, node.range());
            qualifier = class
                .as_ref()
                .and(name.text().strip_suffix(unqualified.as_str()));
        }
        let mut heads = context.heads.clone();
        let mut class_heads = context.class_heads.clone();
        if let Some(qualifier) = qualifier {
            let of_classes = qualifier.matches("<").count().min(heads.len());
            class_heads.extend(heads.drain(..of_classes));
        }
        let inner = self.scopes.open(scope, node.range());
        if let Some(record) = class.as_ref().and_then(|class| class.record)
            && qualifier.is_some()
            && let Some(members) = self.class_scope(record, node.range())
        {
            self.scopes.add_class(inner, members);
        }
        // The type needs the class scope only for its parameters; those are declared below.
        let base = self.base_type(node, node.range());
        let declared = self.declarator(declarator, base, node.range());
        let returns = match self.types.get(declared.ty).kind {
            TypeKind::Function { returns, .. } => returns,
            _ => declared.ty,
        };
        let body = node.field(Field::Body).and_then(function_body);
        if qualifier.is_none() {
            self.declare(
                scope,
                name,
                SymbolKind::Function,
                returns,
                None,
                Some(node.range()),
            );
        }
        let Some(body) = body else { return };
        let is_main = unqualified == "main" && class.is_none() && context.function.is_none();
        let membership = class.as_ref().map(|class| Membership {
            record: class
                .record
                .filter(|record| self.types.records[*record].body.is_some()),
            class_path: class.path.clone(),
            is_static: has_storage(node, "static")
                || class.record.is_some_and(|record| {
                    self.types.records[record]
                        .method(&unqualified)
                        .is_some_and(|method| method.is_static)
                }),
            is_const: function_declarator(declarator).is_some_and(|declarator| {
                declarator
                    .children()
                    .any(|child| child.kind() == Kind::TypeQualifier && child.text() == "const")
            }),
            qualifier: qualifier.map(SmolStr::from),
        });
        let class_name = class.as_ref().map(|class| class.name.clone());
        let range = context
            .template
            .map_or(node.range(), |template| template.cover(node.range()));
        let parameters = function_declarator(declarator)
            .and_then(|declarator| declarator.field(Field::Parameters))
            .map_or(TextRange::empty(declarator.range().end()), |list| {
                list.range()
            });
        let function = self.functions.alloc(Function {
            name: unqualified,
            range,
            specifiers: node.range(),
            takes_references: self.source[parameters].contains('&'),
            parameters,
            declarator_end: declarator.range().end(),
            body: body.range(),
            in_class: context.class.is_some(),
            namespaces: namespaces_around(node),
            class: class_name,
            membership,
            heads,
            class_heads: class_heads.clone(),
            is_main,
            calls: Vec::new(),
            globals: Vec::new(),
            statics: Vec::new(),
        });
        let context = Context {
            function: Some(function),
            class,
            namespaces: context.namespaces,
            template: None,
            heads: Vec::new(),
            class_heads,
        };
        let mut children: Vec<Node<'u>> = node.children().collect();
        children.reverse();
        stack.extend(children.into_iter().map(|node| Visit {
            node,
            scope: inner,
            context: context.clone(),
        }));
    }

    /// The class that the qualified name of a function stands in.
    fn class_of_qualified(
        &mut self,
        name: &str,
        unqualified: &str,
        at: TextRange,
    ) -> Option<ClassContext> {
        let qualifier = name
            .strip_suffix(unqualified)?
            .trim_end()
            .strip_suffix("::")?;
        let plain = without_arguments(qualifier);
        let class = last_component(&plain);
        let ty = self.named_type(class, at);
        let record = self.types.record(ty);
        // What has template arguments is a class, even one of a header that is not read.
        let is_class = record.is_some() || qualifier.ends_with('>');
        let name = SmolStr::from(class);
        is_class.then(|| ClassContext {
            name,
            record,
            path: plain.into(),
        })
    }

    fn visit_class(
        &mut self,
        node: Node<'u>,
        scope: ScopeId,
        context: Context,
        stack: &mut Vec<Visit<'u>>,
    ) {
        let Some(body) = node.field(Field::Body) else {
            return;
        };
        let ty = self.record_type(node, node.range());
        let name = node.field(Field::Name);
        if let Some(name) = name {
            self.declare_tag(scope, node, name, ty);
        }
        let inner = self.scopes.open(scope, body.range());
        let class_name = name.map(|name| SmolStr::from(last_component(name.text())));
        let path = class_name.as_ref().map(|class| match &context.class {
            Some(outer) => format_smolstr!("{}::{class}", outer.path),
            None => class.clone(),
        });
        let record = self.types.record(ty);
        if let Some(record) = record {
            let qualifier = match &path {
                Some(path) => format_smolstr!("{}{path}::", context.namespaces),
                None => SmolStr::default(),
            };
            self.class_scopes.insert(record, inner);
            self.declare_members(record, inner, &qualifier, node.range());
        }
        let class = class_name
            .zip(path)
            .map(|(name, path)| ClassContext { name, record, path });
        let mut class_heads = context.class_heads;
        class_heads.extend(context.heads);
        let context = Context {
            class,
            template: None,
            heads: Vec::new(),
            class_heads,
            function: context.function,
            namespaces: context.namespaces,
        };
        let mut children: Vec<Node<'u>> = body.children().collect();
        children.reverse();
        stack.extend(children.into_iter().map(|node| Visit {
            node,
            scope: inner,
            context: context.clone(),
        }));
    }

    /// Declares the data members of a class in its scope, and makes those of its bases visible there.
    fn declare_members(
        &mut self,
        record: RecordId,
        scope: ScopeId,
        qualifier: &SmolStr,
        at: TextRange,
    ) {
        for field in self.types.records[record].fields.clone() {
            let kind = if field.is_static {
                SymbolKind::StaticField
            } else {
                SymbolKind::Field
            };
            let symbol = self.symbols.alloc(Symbol {
                name: field.name.clone(),
                kind,
                ty: field.ty,
                declared_at: None,
                initializer: None,
                declaration: None,
                qualifier: qualifier.clone(),
                spelled: None,
            });
            if field.is_constant {
                self.constant_fields.insert(symbol);
            }
            if field.is_static {
                self.static_fields
                    .insert((record, field.name.clone()), symbol);
            }
            self.scopes.declare(scope, field.name, symbol);
        }
        for base in self.types.records[record].bases.clone() {
            let name = without_arguments(&base);
            let ty = self.named_type(&name, at);
            if let Some(class) = self
                .types
                .record(ty)
                .and_then(|base| self.class_scope(base, at))
            {
                self.scopes.add_class(scope, class);
            }
        }
    }

    /// The scope of a class; made for a class of a header.
    pub(super) fn class_scope(&mut self, record: RecordId, at: TextRange) -> Option<ScopeId> {
        if let Some(scope) = self.class_scopes.get(&record) {
            return Some(*scope);
        }
        if self.types.records[record].body.is_some() {
            // A class of the unit that is still being read.
            return None;
        }
        let scope = self.scopes.open_outside();
        self.class_scopes.insert(record, scope);
        let qualifier = format_smolstr!("{}::", self.types.records[record].name);
        self.declare_members(record, scope, &qualifier, at);
        Some(scope)
    }

    fn declare_variables(&mut self, node: Node<'u>, scope: ScopeId, context: &Context) {
        let mut base = self.base_type(node, node.range());
        if let Some(specifier) = node.field(Field::Type)
            && self.lacks_template_arguments(specifier, node.range())
        {
            base = self.types.named(specifier.text(), Meaning::Auto);
        }
        let is_static = has_storage(node, "static") || has_storage(node, "thread_local");
        for declarator in node.fields(Field::Declarator) {
            if declarator.kind() == Kind::StructuredBindingDeclarator
                || declarator
                    .field(Field::Declarator)
                    .is_some_and(|inner| inner.kind() == Kind::StructuredBindingDeclarator)
            {
                self.declare_bindings(declarator, scope, node.range());
                continue;
            }
            let declared = self.declarator(declarator, base, node.range());
            let Some(name) = declared.name else { continue };
            // In a condition, the value stands beside the declarator.
            let initializer = declarator
                .field(Field::Value)
                .or_else(|| node.field(Field::Value));
            let is_function = declared.parameters.is_some()
                && matches!(self.types.get(declared.ty).kind, TypeKind::Function { .. });
            let kind = match (is_function, context.function) {
                (true, Some(_))
                    if self.looks_like_constructor_call(declared.parameters, node.range()) =>
                {
                    SymbolKind::Local
                }
                (true, _) => SymbolKind::Function,
                (false, None) => SymbolKind::Global,
                (false, Some(_)) if is_static => SymbolKind::StaticLocal,
                (false, Some(_)) if has_storage(node, "extern") => SymbolKind::Global,
                (false, Some(_)) => SymbolKind::Local,
            };
            let ty = match (kind, self.types.get(declared.ty).kind.clone()) {
                (SymbolKind::Function | SymbolKind::Local, TypeKind::Function { returns, .. }) => {
                    returns
                }
                _ => self.deduced(declared.ty, initializer, node.range()),
            };
            let ty = self.completed_by_initializer(ty, initializer);
            let ty = match kind == SymbolKind::Global && !context.namespaces.is_empty() {
                true => self.seen_from_outside(ty, node.range()),
                false => ty,
            };
            let symbol = self.declare(
                scope,
                name,
                kind,
                ty,
                initializer.map(|value| value.range()),
                Some(node.range()),
            );
            if kind == SymbolKind::Global {
                self.symbols[symbol].qualifier = context.namespaces.clone();
            }
            if kind == SymbolKind::StaticLocal
                && let Some(function) = context.function
            {
                self.functions[function].statics.push(symbol);
            }
        }
    }

    /// `T x(a, b);` inside a function declares an object when its "parameters" are variables.
    fn looks_like_constructor_call(&self, parameters: Option<Node<'u>>, at: TextRange) -> bool {
        parameters.is_some_and(|parameters| {
            let children: Vec<Node<'u>> = parameters.children().collect();
            !children.is_empty()
                && children.iter().all(|parameter| {
                    parameter.field(Field::Type).is_some_and(|ty| {
                        self.scopes
                            .resolve(&self.symbols, ty.text(), at)
                            .is_some_and(|id| self.symbols[id].kind.is_variable())
                    })
                })
        })
    }

    fn declare_bindings(&mut self, declarator: Node<'u>, scope: ScopeId, declaration: TextRange) {
        let unknown = self.types.named("auto", Meaning::Auto);
        let names: Vec<Node<'u>> = declarator
            .descendants()
            .filter(|inner| inner.kind() == Kind::Identifier)
            .collect();
        for name in names {
            self.declare(
                scope,
                name,
                SymbolKind::Local,
                unknown,
                None,
                Some(declaration),
            );
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

    fn declare_parameter(&mut self, node: Node<'u>, scope: ScopeId) {
        let base = self.base_type(node, node.range());
        let Some(declarator) = node.field(Field::Declarator) else {
            return;
        };
        let declared = self.declarator(declarator, base, node.range());
        let Some(name) = declared.name else { return };
        let ty = match self.types.get(declared.ty).kind.clone() {
            TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
            TypeKind::Function { .. } => self.types.plain(TypeKind::Pointer(declared.ty)),
            _ => declared.ty,
        };
        self.declare(
            scope,
            name,
            SymbolKind::Parameter,
            ty,
            None,
            Some(node.range()),
        );
    }

    fn declare_range_variable(&mut self, node: Node<'u>, scope: ScopeId) {
        let base = self.base_type(node, node.range());
        let Some(declarator) = node.field(Field::Declarator) else {
            return;
        };
        let declared = self.declarator(declarator, base, node.range());
        if let Some(name) = declared.name {
            self.declare(
                scope,
                name,
                SymbolKind::Local,
                declared.ty,
                None,
                Some(node.range()),
            );
        }
    }

    fn declare_typedef(&mut self, node: Node<'u>, scope: ScopeId) {
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

    fn declare_enum(&mut self, node: Node<'u>, scope: ScopeId) {
        let Some(body) = node.field(Field::Body) else {
            return;
        };
        let ty = self.specifier_type(node, node.range());
        if let Some(name) = node.field(Field::Name) {
            self.declare_tag(scope, node, name, ty);
        }
        let declaration = enclosing_declaration(node).range();
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

    fn declare_template_parameters(&mut self, list: Node<'u>, scope: ScopeId) {
        for parameter in list.children() {
            match parameter.kind() {
                Kind::TypeParameterDeclaration
                | Kind::OptionalTypeParameterDeclaration
                | Kind::VariadicTypeParameterDeclaration
                | Kind::TemplateTemplateParameterDeclaration => {
                    let name = parameter.field(Field::Name).or_else(|| {
                        parameter
                            .children()
                            .find(|child| child.kind() == Kind::TypeIdentifier)
                    });
                    if let Some(name) = name {
                        let ty = self.types.named(name.text(), Meaning::Dependent);
                        self.declare_type(scope, name, ty, None);
                    }
                }
                _ => {
                    let base = self.base_type(parameter, parameter.range());
                    if let Some(declarator) = parameter.field(Field::Declarator)
                        && let Some(name) = declared_name(declarator)
                    {
                        self.declare(scope, name, SymbolKind::TemplateValue, base, None, None);
                    }
                }
            }
        }
    }

    /// A templated class or function is also visible outside its template head.
    fn declare_templated(&mut self, node: Node<'u>, scope: ScopeId) {
        let specifier = match node.kind() {
            Kind::ClassSpecifier | Kind::StructSpecifier | Kind::UnionSpecifier => Some(node),
            _ => None,
        };
        if let Some(specifier) = specifier
            && let Some(name) = specifier.field(Field::Name)
        {
            let ty = self.record_type(specifier, specifier.range());
            self.declare_tag(scope, specifier, name, ty);
            self.class_templates.extend(self.types.record(ty));
        }
        if node.kind() == Kind::FunctionDefinition
            && let Some(name) = node.field(Field::Declarator).and_then(declared_name)
        {
            let dependent = self.types.named("auto", Meaning::Auto);
            self.declare(
                scope,
                name,
                SymbolKind::Function,
                dependent,
                None,
                Some(node.range()),
            );
        }
    }

    fn declare_tag(&mut self, scope: ScopeId, specifier: Node<'u>, name: Node<'u>, ty: TypeId) {
        let keyword = match specifier.kind() {
            Kind::UnionSpecifier => "union",
            Kind::EnumSpecifier => "enum",
            Kind::ClassSpecifier => "class",
            _ => "struct",
        };
        let declaration = enclosing_declaration(specifier).range();
        let symbol = self.symbols.alloc(Symbol {
            name: last_component(name.text()).into(),
            kind: SymbolKind::Type,
            ty,
            declared_at: Some(name.range()),
            initializer: None,
            declaration: Some(declaration),
            qualifier: SmolStr::default(),
            spelled: None,
        });
        self.scopes
            .declare(scope, format_smolstr!("{keyword} {}", name.text()), symbol);
        if self.unit.language == rex_syntax::source::Language::Cxx {
            self.scopes
                .declare(scope, last_component(name.text()).into(), symbol);
        }
    }

    fn declare_type(
        &mut self,
        scope: ScopeId,
        name: Node<'u>,
        ty: TypeId,
        declaration: Option<TextRange>,
    ) {
        self.declare(scope, name, SymbolKind::Type, ty, None, declaration);
    }

    fn declare(
        &mut self,
        scope: ScopeId,
        name: Node<'u>,
        kind: SymbolKind,
        ty: TypeId,
        initializer: Option<TextRange>,
        declaration: Option<TextRange>,
    ) -> SymbolId {
        let unqualified: SmolStr = squeeze(last_component(name.text()));
        let symbol = self.symbols.alloc(Symbol {
            name: unqualified.clone(),
            kind,
            ty,
            declared_at: Some(name.range()),
            initializer,
            declaration,
            qualifier: SmolStr::default(),
            spelled: None,
        });
        self.scopes.declare(scope, unqualified, symbol);
        symbol
    }
}

/// Names of the namespaces around a node, outermost first.
pub(super) fn namespaces_around(node: Node<'_>) -> Vec<SmolStr> {
    let mut names: Vec<SmolStr> = node
        .ancestors()
        .filter(|outer| outer.kind() == Kind::NamespaceDefinition)
        .filter_map(|outer| outer.field(Field::Name))
        .map(|name| squeeze(name.text()))
        .collect();
    names.reverse();
    names
}

/// The parameters of a template head; none for `template <>`.
fn template_head(list: Node<'_>) -> Option<TemplateHead> {
    let mut parameters = Vec::new();
    let mut arguments = Vec::new();
    for parameter in list.children() {
        let is_pack = matches!(
            parameter.kind(),
            Kind::VariadicTypeParameterDeclaration | Kind::VariadicParameterDeclaration
        );
        let name = parameter
            .field(Field::Declarator)
            .and_then(declared_name_of_pack)
            .or_else(|| parameter.field(Field::Name))
            .or_else(|| {
                parameter
                    .descendants()
                    .find(|inner| inner.kind() == Kind::TypeIdentifier)
                    .filter(|_| {
                        parameter.field(Field::Declarator).is_none()
                            && parameter.field(Field::Type).is_none()
                    })
            });
        // Nothing can depend on a parameter without a name.
        let Some(name) = name else { continue };
        let end = match parameter.kind() {
            Kind::OptionalTypeParameterDeclaration | Kind::OptionalParameterDeclaration => {
                parameter.text().find('=').unwrap_or(parameter.text().len())
            }
            _ => parameter.text().len(),
        };
        parameters.push(squeeze(parameter.text()[..end].trim()));
        arguments.push(if is_pack {
            format_smolstr!("{}...", name.text())
        } else {
            name.text().into()
        });
    }
    (!parameters.is_empty()).then(|| TemplateHead {
        parameters: parameters.join(", ").into(),
        arguments: arguments.join(", ").into(),
    })
}

fn declared_name_of_pack(declarator: Node<'_>) -> Option<Node<'_>> {
    declared_name(declarator).or_else(|| {
        declarator
            .descendants()
            .find(|inner| inner.kind() == Kind::Identifier)
    })
}

/// The part of a declarator that has the parameter list.
pub(super) fn function_declarator(declarator: Node<'_>) -> Option<Node<'_>> {
    declarator
        .subtree()
        .find(|inner| inner.kind() == Kind::FunctionDeclarator)
}

/// Whether a declarator declares a function rather than a pointer to one.
fn declares_function(declarator: Node<'_>) -> bool {
    function_declarator(declarator)
        .and_then(|function| function.field(Field::Declarator))
        .is_some_and(|name| name.kind() != Kind::ParenthesizedDeclarator)
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

/// `c` of `a::b::c`.
pub(super) fn last_component(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name).trim()
}

/// The plain name of a function: `size` of `Box<T>::size`, `convert` of the specialization `convert<std::string>`.
pub(super) fn function_name(name: &str) -> SmolStr {
    if name.contains("operator") {
        return last_component(name).into();
    }
    last_component(&without_arguments(name)).into()
}

/// `Box::Inner` of `Box<T>::Inner`.
pub(super) fn without_arguments(name: &str) -> String {
    let mut depth = 0usize;
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 && !c.is_whitespace() => plain.push(c),
            _ => {}
        }
    }
    plain
}

/// Whether the head of an `if` declares variables: `if (int n = f())`.
fn declares_in_condition(node: Node<'_>) -> bool {
    node.field(Field::Condition).is_some_and(|condition| {
        condition.children().any(|child| {
            matches!(
                child.kind(),
                Kind::Declaration | Kind::InitStatement | Kind::StructuredBindingDeclarator
            )
        })
    })
}

/// The block of a function, that of its `try` if it is one.
fn function_body(body: Node<'_>) -> Option<Node<'_>> {
    match body.kind() {
        Kind::CompoundStatement => Some(body),
        Kind::TryStatement => body
            .field(Field::Body)
            .filter(|block| block.kind() == Kind::CompoundStatement),
        _ => None,
    }
}

/// Whether parameters are those of a function that is only declared: nothing else sees their names.
fn is_of_declaration(parameters: Node<'_>) -> bool {
    let outer = parameters.ancestors().find(|outer| {
        !matches!(
            outer.kind(),
            Kind::FunctionDeclarator
                | Kind::PointerDeclarator
                | Kind::ReferenceDeclarator
                | Kind::ParenthesizedDeclarator
                | Kind::ArrayDeclarator
                | Kind::InitDeclarator
        )
    });
    outer.is_some_and(|outer| {
        matches!(
            outer.kind(),
            Kind::Declaration
                | Kind::FieldDeclaration
                | Kind::TypeDefinition
                | Kind::ParameterDeclaration
                | Kind::OptionalParameterDeclaration
                | Kind::TypeDescriptor
        )
    })
}
