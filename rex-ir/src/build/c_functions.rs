//! Functions of C that the device's C++ does not have, and what is written instead: parameters declared behind their list or not at all, ends without a value,
//! functions inside others.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::layout::indent_at;
use rex_syntax::{TextRange, TextSize};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::types::{declared_name, function_declarator};
use crate::branches::may_reach_end;
use crate::item::FunctionId;
use crate::ty::Category;

/// The list of a function that declares its parameters behind it.
struct Listed<'u> {
    list: Node<'u>,
    /// The list with the declarations in it.
    parameters: SmolStr,
    /// What the body begins with: views of parameters that point to rows of a length known at run time.
    views: String,
}

impl<'u> Builder<'u> {
    /// A function of GNU C inside another one.
    pub(super) fn refuse_inner_function(&mut self, function: Node<'u>) {
        let mut around = function.ancestors().filter(|outer| *outer != function);
        if around.any(|outer| outer.kind() == Kind::FunctionDefinition) {
            let head = function.field(Field::Declarator).unwrap_or(function);
            self.cannot_write(
                head.range(),
                "C++ has no functions inside functions",
                "move it out of the function, and pass what it uses of that one as arguments",
            );
        }
    }

    /// `int f(a) double a; {}` as `int f(double a) {}`.
    pub(super) fn declare_parameters_in_list(&mut self, function: Node<'u>) {
        let Some(Listed {
            list,
            parameters,
            views,
        }) = self.listed_parameters(function)
        else {
            return;
        };
        self.conversions.push((list.range(), parameters));
        if let Some(body) = function.field(Field::Body).filter(|_| !views.is_empty()) {
            let first = body.range().start() + TextSize::of('{');
            self.conversions
                .push((TextRange::empty(first), format_smolstr!(" {views}")));
        }
        for declaration in function.children() {
            if declaration.kind() == Kind::Declaration {
                self.conversions
                    .push((declaration.range(), SmolStr::default()));
            }
        }
    }

    /// `int f();` with the parameters that the definition says: in C the first says nothing of them.
    pub(super) fn say_parameters(&mut self, declarator: Node<'u>) {
        let is_defined = |node: &Node<'u>| node.kind() == Kind::FunctionDefinition;
        let (Some(name), Some(list)) = (
            declared_name(declarator),
            declarator.field(Field::Parameters),
        ) else {
            return;
        };
        if list.children().next().is_some() || declarator.parent().is_some_and(|it| is_defined(&it))
        {
            return;
        }
        let Some(&defined) = self.function_index.named(name.text()).first() else {
            return;
        };
        let text = self.written_parameters(defined);
        self.conversions.push((list.range(), text));
    }

    /// The list of a function with the types of its parameters.
    pub(super) fn written_parameters(&mut self, defined: FunctionId) -> SmolStr {
        let parameters = self.functions[defined].parameters;
        let definition = self.unit.tree.root().smallest_at(parameters);
        definition
            .ancestors()
            .find(|node| node.kind() == Kind::FunctionDefinition)
            .and_then(|function| self.listed_parameters(function))
            .map_or_else(|| self.text(parameters).into(), |found| found.parameters)
    }

    /// The list of a function that declares its parameters behind it, with these declarations.
    fn listed_parameters(&mut self, function: Node<'u>) -> Option<Listed<'u>> {
        let list = function
            .field(Field::Declarator)
            .and_then(function_declarator)
            .and_then(|declarator| declarator.field(Field::Parameters))?;
        let names: Vec<&str> = list
            .children()
            .filter(|child| child.kind() == Kind::Identifier)
            .map(|name| name.text())
            .collect();
        if names.is_empty() {
            return None;
        }
        let declarations: Vec<Node<'u>> = function
            .children()
            .filter(|child| child.kind() == Kind::Declaration)
            .collect();
        let declared = |name: &str| {
            declarations.iter().find_map(|declaration| {
                let declarators = declaration.fields(Field::Declarator);
                let start = declarators.first()?.range().start();
                let found = declarators.into_iter().find(|declarator| {
                    declared_name(*declarator).is_some_and(|found| found.text() == name)
                })?;
                let specifiers = TextRange::new(declaration.range().start(), start);
                Some((*declaration, specifiers, found))
            })
        };
        let mut parameters = Vec::new();
        let mut views = Vec::new();
        for name in names {
            let Some((declaration, specifiers, declarator)) = declared(name) else {
                parameters.push(format!("int {name}"));
                continue;
            };
            if let Some(rows) = self.rows(declaration, declarator) {
                parameters.push(rows.parameter);
                views.extend(rows.view);
                continue;
            }
            let specifiers = self.text(specifiers).trim();
            let specifiers = specifiers.strip_prefix("register").unwrap_or(specifiers);
            let mut text = declarator.text().to_owned();
            if let Some(dimension) = self.first_dimension(declarator) {
                let dimension = dimension - declarator.range().start();
                text.replace_range(std::ops::Range::<usize>::from(dimension), "[]");
            }
            parameters.push(format!("{} {text}", specifiers.trim()));
        }
        Some(Listed {
            list,
            parameters: format_smolstr!("({})", parameters.join(", ")),
            views: views.join(" "),
        })
    }

    /// A function whose end may be reached without a value, which in C it is enough not to use: `int f() { g(); }`.
    pub(super) fn return_at_end(&mut self, function: Node<'u>) {
        let Some(body) = function.field(Field::Body) else {
            return;
        };
        if !may_reach_end(body) || !self.returns_value(body) {
            return;
        }
        let close = body.range().end() - TextSize::of('}');
        let indent = indent_at(self.source, close);
        let is_alone = self.source[..usize::from(close)]
            .trim_end_matches([' ', '\t'])
            .ends_with('\n');
        let last = body.children().last();
        let inner = last.map_or(indent, |it| indent_at(self.source, it.range().start()));
        let text = match is_alone {
            // The blanks in front of the brace stand already.
            true => {
                let more = inner.strip_prefix(indent).unwrap_or(inner);
                format_smolstr!("{more}return {{}};\n{indent}")
            }
            false => SmolStr::new_static("return {}; "),
        };
        self.conversions.push((TextRange::empty(close), text));
    }

    /// `return;` where a value is due.
    pub(super) fn return_something(&mut self, statement: Node<'u>) {
        let has_value = statement.children().any(|it| it.kind() != Kind::Comment);
        if !has_value && self.returns_value(statement) {
            let end = TextRange::empty(statement.range().end() - TextSize::of(';'));
            self.conversions.push((end, SmolStr::new_static(" {}")));
        }
    }

    /// Whether the function around a statement has a type other than `void`.
    fn returns_value(&mut self, statement: Node<'u>) -> bool {
        let ty = self.returned_type(statement);
        ty.is_some_and(|ty| self.types.category(ty) != Category::Unknown && !self.is_void(ty))
    }
}
