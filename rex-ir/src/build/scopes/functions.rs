//! Function definitions.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::SmolStr;

use super::classes::ClassContext;
use super::templates::template_head;
use super::{Context, Visit};
use crate::build::Builder;
use crate::build::names::{function_name, last_component, namespaces_around, without_arguments};
use crate::build::types::{declared_name, function_declarator, has_storage, is_marked_virtual};
use crate::item::{Function, Membership};
use crate::symbol::{ScopeId, SymbolKind};
use crate::ty::TypeKind;

impl<'u> Builder<'u> {
    pub(super) fn visit_function(
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
            class = self.class_of_qualified(name.text(), &unqualified, node);
            qualifier = class
                .as_ref()
                .and(name.text().strip_suffix(unqualified.as_str()));
        }
        let mut heads = context.heads.clone();
        let mut class_heads = context.function_heads.clone();
        class_heads.extend(context.class_heads.iter().cloned());
        if let Some(qualifier) = qualifier {
            let record = class.as_ref().and_then(|class| class.record);
            let of_classes = match record.is_some_and(|record| self.is_full_specialization(record))
            {
                true => 0,
                false => n_heads_of_classes(node, qualifier).min(heads.len()),
            };
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
        let mut base = self.base_type(node, node.range());
        for _ in 0..stars_before(declarator, node.field(Field::Type)) {
            base = self.types.plain(TypeKind::Pointer(base));
        }
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
        let Some(body) = body.filter(|body| is_closed(*body)) else {
            return;
        };
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
            is_virtual: is_marked_virtual(node)
                || class
                    .record
                    .is_some_and(|record| self.has_virtual(record, &unqualified, node.range())),
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
        let function_heads = class_heads.iter().chain(&heads).cloned().collect();
        let function = self.functions.alloc(Function {
            name: unqualified,
            range,
            specifiers: node.range(),
            takes_references: self.source[parameters].contains('&'),
            parameters,
            declarator_end: declarator.range().end(),
            body: body.range(),
            first_statement: behind_labels(self.source, body.range()),
            in_class: context.class.is_some() || is_in_class(node),
            namespaces: namespaces_around(node),
            class: class_name,
            membership,
            heads,
            class_heads,
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
            class_heads: Vec::new(),
            function_heads,
        };
        stack.push(Visit {
            nodes: node.descendants(),
            scope: inner,
            context,
        });
    }

    /// The class that the qualified name of a function stands in.
    fn class_of_qualified(
        &mut self,
        name: &str,
        unqualified: &str,
        function: Node<'u>,
    ) -> Option<ClassContext> {
        let at = function.range();
        let qualifier = name
            .strip_suffix(unqualified)?
            .trim_end()
            .strip_suffix("::")?;
        if let Some(record) = self.specialization(qualifier, at) {
            return Some(ClassContext {
                name: last_component(qualifier).into(),
                record: Some(record),
                path: qualifier.into(),
            });
        }
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
            path: match n_heads_of_classes(function, qualifier) {
                // What it is for some arguments: `template <> void Box<int>::fill() { .. }`.
                0 => qualifier.into(),
                _ => plain.into(),
            },
        })
    }
}

/// How many of the heads in front of a function are those of class templates in its qualifier; `template <>` is none.
fn n_heads_of_classes(function: Node<'_>, qualifier: &str) -> usize {
    let mut depth = 0usize;
    let mut n_with_arguments = 0;
    for character in qualifier.chars() {
        match character {
            '<' => {
                n_with_arguments += usize::from(depth == 0);
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let around = std::iter::successors(function.parent(), |node| node.parent());
    let templates = around.take_while(|node| node.kind() == Kind::TemplateDeclaration);
    let lists: Vec<Node<'_>> = templates
        .filter_map(|template| template.field(Field::Parameters))
        .collect();
    let outer = lists.iter().rev().take(n_with_arguments);
    outer.filter(|list| template_head(**list).is_some()).count()
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

/// Whether a body has its closing brace; without one nobody knows where the function ends.
fn is_closed(body: Node<'_>) -> bool {
    let last = body.tokens_and_children().last();
    last.is_some_and(|last| last.text() == "}")
}

/// The place behind the brace of a body and what GNU C wants first in it: `__label__ done, again;`.
fn behind_labels(source: &str, body: TextRange) -> TextSize {
    let mut place = body.start() + TextSize::of('{');
    let mut in_labels = false;
    for token in lex::significant_tokens(source, TextRange::new(place, body.end())) {
        match token.text(source) {
            "__label__" => in_labels = true,
            ";" if in_labels => {
                place = token.range.end();
                in_labels = false;
            }
            _ if in_labels => {}
            _ => break,
        }
    }
    place
}

/// Whether a function stands in the body of a class, which may have no name.
fn is_in_class(function: Node<'_>) -> bool {
    let mut around = function.ancestors();
    let block = around.find(|node| {
        matches!(
            node.kind(),
            Kind::FieldDeclarationList | Kind::CompoundStatement
        )
    });
    block.is_some_and(|block| block.kind() == Kind::FieldDeclarationList)
}

/// How many `*` of the text stand before a declarator that the tree does not have: `char *f(s) char *s; {}` has none.
fn stars_before(declarator: Node<'_>, ty: Option<Node<'_>>) -> usize {
    let Some(ty) = ty.filter(|ty| ty.range().end() <= declarator.range().start()) else {
        return 0;
    };
    let between = TextRange::new(ty.range().end(), declarator.range().start());
    let between = &declarator.tree().text()[between];
    between.matches('*').count()
}
