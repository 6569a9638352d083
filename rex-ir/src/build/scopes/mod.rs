//! Scopes and symbols: one walk over the whole tree.

mod classes;
mod functions;
mod templates;
mod type_names;
mod variables;

use rex_syntax::TextRange;
use rex_syntax::cst::{Descendants, Node};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use crate::build::names::{last_component, squeeze, without_arguments};
use crate::build::types::{AliasTemplate, declares_function};
use crate::item::{FunctionId, TemplateHead};
use crate::namer;
use crate::symbol::{Qualifier, ScopeId, Symbol, SymbolId, SymbolKind, Using};
use crate::ty::TypeId;
use classes::ClassContext;
use templates::template_head;
pub(super) use templates::{parameter_name, with_default};

/// Nodes to visit and where they stand.
struct Visit<'u> {
    nodes: Descendants<'u>,
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
    /// Heads of the function around, for those of its classes.
    function_heads: Vec<TemplateHead>,
}

impl<'u> Builder<'u> {
    /// Declares every name of the unit and finds its functions.
    pub(in crate::build) fn read_scopes(&mut self) {
        let unit = self.unit;
        let mut stack = vec![Visit {
            nodes: unit.tree.root().whole(),
            scope: self.scopes.root(),
            context: Context::default(),
        }];
        while let Some(visit) = stack.last_mut() {
            let Some(node) = visit.nodes.next() else {
                stack.pop();
                continue;
            };
            if is_transparent(node) {
                continue;
            }
            visit.nodes.skip_subtree();
            let (scope, context) = (visit.scope, visit.context.clone());
            self.visit(node, scope, context, &mut stack);
        }
    }

    fn visit(
        &mut self,
        node: Node<'u>,
        mut scope: ScopeId,
        mut context: Context,
        stack: &mut Vec<Visit<'u>>,
    ) {
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
                let qualifier = context.namespaces.clone();
                self.scopes.add_namespace(node.range(), qualifier);
            }
            Kind::UsingDeclaration => self.read_using(node),
            Kind::TemplateDeclaration => {
                let inner = self.scopes.open(scope, node.range());
                context.template.get_or_insert(node.range());
                let list = node.field(Field::Parameters);
                for child in node.children() {
                    if child.kind() == Kind::AliasDeclaration {
                        let alias = list.and_then(|list| AliasTemplate::of(list, child));
                        self.alias_templates.extend(alias);
                    }
                    if child.kind() == Kind::TemplateParameterList {
                        self.declare_template_parameters(child, inner);
                        context.heads.extend(template_head(child));
                    } else {
                        self.declare_templated(child, scope);
                        stack.push(Visit {
                            nodes: child.whole(),
                            scope: inner,
                            context: context.clone(),
                        });
                    }
                }
                return;
            }
            Kind::FieldDeclaration
                if self.unit.language == Language::Cxx
                    && node
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
            Kind::VariadicParameterDeclaration => self.declare_pack(node, scope),
            Kind::TypeDefinition => self.declare_typedef(node, scope),
            Kind::AliasDeclaration => {
                if let (Some(name), Some(ty)) = (node.field(Field::Name), node.field(Field::Type)) {
                    let ty = self.descriptor_type(ty, node.range());
                    let ty = self.attributed(ty, node);
                    self.declare_type(scope, name, ty, Some(node.range()));
                }
            }
            Kind::StructSpecifier | Kind::UnionSpecifier | Kind::ClassSpecifier => {
                return self.visit_class(node, scope, context, stack);
            }
            Kind::EnumSpecifier => self.declare_enum(node, scope),
            _ => {}
        }
        if node.kind() == Kind::ForRangeLoop {
            self.declare_range_variable(node, scope);
        }
        if declares_range_variable(node) {
            return;
        }
        stack.push(Visit {
            nodes: node.descendants(),
            scope,
            context,
        });
    }

    fn read_using(&mut self, node: Node<'u>) {
        let (Some(name), Some(block)) = (node.children().last(), node.parent()) else {
            return;
        };
        let mut tokens = node.tokens_and_children();
        let is_directive = tokens.any(|token| token.token() == "namespace");
        let whole = without_arguments(name.text());
        let whole = whole.trim_start_matches("::");
        let (qualifier, name) = match whole.rsplit_once("::") {
            _ if is_directive => (format_smolstr!("{whole}::"), None),
            Some((qualifier, name)) => (format_smolstr!("{qualifier}::"), Some(name.into())),
            None => return,
        };
        let range = TextRange::new(node.range().start(), block.range().end());
        self.scopes.add_using(Using {
            range,
            qualifier,
            name,
        });
    }

    /// The namespaces around a type of the file, `a::b::`.
    fn type_qualifier(&self, scope: ScopeId, at: TextRange) -> Qualifier {
        match scope == self.scopes.root() {
            true => SmolStr::from(self.scopes.namespace_at(at)).into(),
            false => Qualifier::default(),
        }
    }

    pub(in crate::build) fn declare(
        &mut self,
        scope: ScopeId,
        name: Node<'u>,
        kind: SymbolKind,
        ty: TypeId,
        initializer: Option<TextRange>,
        declaration: Option<TextRange>,
    ) -> SymbolId {
        let unqualified: SmolStr = squeeze(last_component(name.text()));
        let qualifier = match kind {
            SymbolKind::Type => self.type_qualifier(scope, name.range()),
            _ => Qualifier::default(),
        };
        let symbol = self.symbols.alloc(Symbol {
            name: unqualified.clone(),
            kind,
            ty,
            declared_at: Some(name.range()),
            initializer,
            declaration,
            qualifier,
            spelled: None,
        });
        self.scopes
            .declare(&self.symbols, scope, unqualified, symbol);
        symbol
    }
}

/// Whether a node neither declares anything nor changes what surrounds the nodes below it. Expressions may be very deep.
fn is_transparent(node: Node<'_>) -> bool {
    let kind = node.kind();
    let is_neutral = match kind {
        Kind::LambdaExpression => false,
        Kind::ArgumentList | Kind::ExpressionStatement | Kind::InitializerList => true,
        _ => kind.is_expression(),
    };
    is_neutral && !declares_range_variable(node)
}

/// Whether the loop around it declares what this node names.
fn declares_range_variable(node: Node<'_>) -> bool {
    node.role() == Some(Field::Declarator)
        && node
            .parent()
            .is_some_and(|parent| parent.kind() == Kind::ForRangeLoop)
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
