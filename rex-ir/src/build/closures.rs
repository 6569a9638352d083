//! Lambdas that device code may call: which captured pointers they hold.

use indexmap::IndexSet;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, lex};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use crate::capture_lists;
use crate::instance::Closure;
use crate::kernel::BodyText;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::Category;

/// How a capture list names what the body uses and it does not list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DefaultCapture {
    None,
    Value,
    Reference,
}

impl<'u> Builder<'u> {
    /// What is known of the lambda at a range.
    pub(super) fn closure(&mut self, range: TextRange) -> Option<Closure> {
        let node = self.unit.tree.root().smallest_at(range);
        if node.kind() != Kind::LambdaExpression {
            return None;
        }
        self.refuse_device_directives(range);
        let body = node
            .children()
            .find(|child| child.kind() == Kind::CompoundStatement)?;
        let list = node
            .children()
            .find(|child| child.kind() == Kind::LambdaCaptureSpecifier)?;
        let mut targets: Vec<SmolStr> = Vec::new();
        let mut listed: Vec<SmolStr> = Vec::new();
        let mut default = DefaultCapture::None;
        for item in items_of_list(list.text()) {
            match item.as_str() {
                "=" => default = DefaultCapture::Value,
                "&" => default = DefaultCapture::Reference,
                "*this" => {}
                item => {
                    listed.push(SmolStr::from(item.trim_start_matches('&').trim()));
                    targets.extend(self.target_of_item(item, range));
                }
            }
        }
        if default != DefaultCapture::None {
            let (symbols, uses_this) = self.used_from_outside(body, range);
            for symbol in symbols {
                let name = self.symbols[symbol].name.clone();
                if listed.contains(&name) {
                    continue;
                }
                match default {
                    DefaultCapture::Reference => targets.push(by_reference(&name)),
                    _ => targets.extend(self.by_value(symbol)),
                }
            }
            if uses_this && !listed.iter().any(|name| name == "this") {
                targets.push(by_value("this"));
            }
        }
        let mut calls = Vec::new();
        let mut globals = IndexSet::new();
        self.collect_function_uses(body, &mut calls, &mut globals);
        Some(Closure {
            range,
            around: arguments_around(node),
            targets,
            calls,
            globals: globals.into_iter().collect(),
            body: BodyText::verbatim(range),
        })
    }

    /// The device does not do what a lambda of the host asks of it.
    fn refuse_device_directives(&mut self, lambda: TextRange) {
        for directive in self.unit.directives_in(lambda) {
            if !directive.leaves.iter().any(|leaf| leaf.is_device()) {
                continue;
            }
            let diagnostic = Diagnostic::new(
                Code::UnsupportedStatement,
                self.at(directive.name_range),
                format!(
                    "a `{}` directive in a lambda that device code may call is not supported",
                    directive.name()
                ),
            )
            .with_help("move the directive out of the lambda");
            self.diagnostics.push(diagnostic);
        }
    }

    /// Where a listed capture points to: `p`, `&v`, `this`, `p = expression`, `&v = expression`.
    fn target_of_item(&self, item: &str, at: TextRange) -> Option<SmolStr> {
        let (name, initializer) = match item.split_once('=') {
            Some((name, initializer)) => (name.trim(), initializer.trim()),
            None => (item, item.trim_start_matches('&').trim()),
        };
        let is_repeatable = initializer
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.->:[]()& ".contains(c))
            && !initializer.contains("--");
        if name.starts_with('&') {
            return is_repeatable.then(|| by_reference(initializer));
        }
        if item.contains('=') {
            // A call is made twice only if it does nothing but tell an address.
            let is_quiet = !initializer.contains('(')
                || [".data()", ".get()", "->data()", "->get()"]
                    .iter()
                    .any(|call| {
                        initializer
                            .strip_suffix(call)
                            .is_some_and(|left| !left.contains('('))
                    });
            return (is_repeatable && is_quiet).then(|| by_value(initializer));
        }
        if let Some(pack) = name.strip_suffix("...") {
            return Some(format_smolstr!("rex_by_value({})...", pack.trim()));
        }
        match self.scopes.resolve(&self.symbols, name, at) {
            Some(symbol) => self.by_value(symbol),
            None => Some(by_value(name)),
        }
    }

    /// The target of a variable that a lambda copies, if it may be a pointer.
    fn by_value(&self, symbol: SymbolId) -> Option<SmolStr> {
        let found = &self.symbols[symbol];
        match self.types.category(found.ty) {
            Category::Scalar | Category::WideScalar | Category::Aggregate | Category::Function => {
                None
            }
            Category::Pointer if self.types.is_variably_modified(found.ty) => None,
            Category::Pointer | Category::Dependent | Category::Unknown => {
                Some(by_value(&found.name))
            }
        }
    }

    /// Variables of functions that a body uses and that are declared outside the lambda, in order; and whether it uses the object.
    fn used_from_outside(
        &mut self,
        body: Node<'u>,
        lambda: TextRange,
    ) -> (IndexSet<SymbolId>, bool) {
        let mut found = IndexSet::new();
        let mut uses_this = false;
        for node in body.descendants() {
            match node.kind() {
                Kind::This => uses_this = true,
                Kind::Identifier => {
                    let at = node.range();
                    let mut names = vec![SmolStr::from(node.text())];
                    if self.macro_at(node.text(), at).is_some() {
                        names = self.macro_names(node.text(), at);
                    }
                    for name in names {
                        let Some(symbol) = self.scopes.resolve(&self.symbols, &name, at) else {
                            continue;
                        };
                        let declared = &self.symbols[symbol];
                        let is_inside = declared
                            .declared_at
                            .is_some_and(|declared| lambda.contains_range(declared));
                        match declared.kind {
                            SymbolKind::Local | SymbolKind::Parameter if !is_inside => {
                                found.insert(symbol);
                            }
                            SymbolKind::Field => uses_this = true,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        (found, uses_this)
    }
}

fn by_value(expression: &str) -> SmolStr {
    format_smolstr!("rex_by_value({expression})")
}

fn by_reference(expression: &str) -> SmolStr {
    format_smolstr!("REX_BY_REFERENCE({expression})")
}

/// The arguments of the templates and generic lambdas around a node, as types, outermost first.
fn arguments_around(node: Node<'_>) -> Vec<SmolStr> {
    let mut heads: Vec<Vec<SmolStr>> = Vec::new();
    for outer in node.ancestors() {
        match outer.kind() {
            Kind::TemplateDeclaration | Kind::LambdaExpression | Kind::FunctionDefinition => {}
            _ => continue,
        }
        let lists = outer
            .children()
            .filter(|child| child.kind() == Kind::TemplateParameterList);
        let mut head: Vec<SmolStr> = lists
            .flat_map(|list| list.children())
            .filter_map(argument_of)
            .collect();
        let declarator = outer.field(Field::Declarator);
        let parameters = declarator
            .into_iter()
            .flat_map(|declarator| declarator.subtree())
            .find(|inner| inner.kind() == Kind::ParameterList);
        let parameters = parameters.into_iter().flat_map(|list| list.children());
        head.extend(parameters.filter_map(type_of_generic));
        heads.push(head);
    }
    heads.into_iter().rev().flatten().collect()
}

/// The argument of a parameter of a template.
fn argument_of(parameter: Node<'_>) -> Option<SmolStr> {
    match parameter.kind() {
        Kind::TypeParameterDeclaration | Kind::OptionalTypeParameterDeclaration => {
            let name = parameter
                .field(Field::Name)
                .or_else(|| name_in(parameter))?;
            Some(name.text().into())
        }
        Kind::VariadicTypeParameterDeclaration => {
            Some(format_smolstr!("{}...", name_in(parameter)?.text()))
        }
        Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration => {
            let name = name_in(parameter.field(Field::Declarator)?)?.text();
            Some(format_smolstr!(
                "rex_argument_value<decltype({name}), {name}>"
            ))
        }
        Kind::VariadicParameterDeclaration => {
            let name = name_in(parameter.field(Field::Declarator)?)?.text();
            Some(format_smolstr!(
                "rex_argument_value<decltype({name}), {name}>..."
            ))
        }
        _ => None,
    }
}

fn name_in(node: Node<'_>) -> Option<Node<'_>> {
    node.subtree()
        .find(|inner| matches!(inner.kind(), Kind::Identifier | Kind::TypeIdentifier))
}

/// The type of a parameter that is declared with `auto`.
fn type_of_generic(parameter: Node<'_>) -> Option<SmolStr> {
    let is_auto = parameter
        .field(Field::Type)?
        .subtree()
        .any(|inner| inner.kind() == Kind::PlaceholderTypeSpecifier || inner.text() == "auto");
    let declarator = parameter.field(Field::Declarator).filter(|_| is_auto)?;
    let name = declarator
        .subtree()
        .find(|inner| inner.kind() == Kind::Identifier)?
        .text();
    Some(match parameter.kind() {
        Kind::VariadicParameterDeclaration => format_smolstr!("decltype({name})..."),
        _ => format_smolstr!("decltype({name})"),
    })
}

/// The items between the brackets of a capture list.
fn items_of_list(text: &str) -> Vec<String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let items = capture_lists::items(inner, lex::whole(inner)).into_iter();
    items
        .map(|item| item.iter().map(|token| token.text(inner)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_lists_are_split_at_their_own_commas() {
        assert_eq!(
            items_of_list("[=, &k, p = f(a, b), this]"),
            ["=", "&k", "p=f(a,b)", "this"]
        );
        assert!(items_of_list("[]").is_empty());
    }
}
