//! Which uses of a variable may change it.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::macros::MacroTable;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};

use crate::function_index::FunctionIndex;
use crate::program::Program;
use crate::symbol::SymbolId;
use crate::ty::TypeKind;

/// What matters of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// It is a pointer: what it points to is another object.
    pub is_pointer: bool,
    /// Lambdas can have copies of it.
    pub is_automatic: bool,
}

/// Whether a use of a name may change the variable: it is assigned, incremented, or its address or a reference to it is passed on.
///
/// `functions` are those whose parameters are known, `macros` what looks like a call and is none.
pub fn may_change(
    node: Node<'_>,
    variable: &dyn Fn() -> Variable,
    functions: &FunctionIndex,
    macros: &MacroTable,
    language: Language,
) -> bool {
    is_changed(node, variable, functions, macros, language)
        && !(is_of_copy(node) && variable().is_automatic)
}

/// Whether any use of a variable inside a range may change it.
pub fn changes_in(program: &Program, symbol: SymbolId, range: TextRange) -> bool {
    let found = &program.symbols[symbol];
    let name = found.name.as_str();
    let types = &program.types;
    let variable = Variable {
        is_pointer: matches!(
            types.get(types.desugar(found.ty)).kind,
            TypeKind::Pointer(_)
        ),
        is_automatic: found.kind.is_automatic(),
    };
    let is_meant =
        |at: TextRange| program.scopes.resolve(&program.symbols, name, at) == Some(symbol);
    let is_hidden = |at: TextRange| {
        let word = program.text(at);
        program.macro_at(word, at).is_some()
            && program
                .macro_names(word, at)
                .iter()
                .any(|inner| inner == name)
            && program.unit.macros.may_change(word, at.start(), name)
            && is_meant(at)
    };
    let root = program.unit.tree.root().smallest_at(range);
    lex::identifiers(program.source(), range).any(is_hidden)
        || root.subtree().any(|node| {
            node.kind() == Kind::Identifier
                && node.text() == name
                && range.contains_range(node.range())
                && found.declared_at != Some(node.range())
                && may_change(
                    node,
                    &|| variable,
                    &program.function_index,
                    &program.unit.macros,
                    program.language(),
                )
                && is_meant(node.range())
        })
}

fn is_changed(
    node: Node<'_>,
    variable: &dyn Fn() -> Variable,
    functions: &FunctionIndex,
    macros: &MacroTable,
    language: Language,
) -> bool {
    let is_cxx = language == Language::Cxx;
    let has_operator = |parent: Node<'_>, words: &[&str]| {
        parent
            .field(Field::Operator)
            .is_some_and(|operator| words.contains(&operator.text()))
    };
    let mut current = node;
    while let Some(parent) = current.parent() {
        match parent.kind() {
            Kind::ParenthesizedExpression => {}
            // Of an object that something points to.
            Kind::FieldExpression if has_operator(parent, &["->"]) => return false,
            Kind::FieldExpression if parent.field(Field::Argument) == Some(current) => {}
            Kind::SubscriptExpression if parent.field(Field::Argument) == Some(current) => {
                if current == node && variable().is_pointer {
                    return false;
                }
            }
            Kind::AssignmentExpression => return parent.field(Field::Left) == Some(current),
            Kind::UpdateExpression => return true,
            Kind::PointerExpression => return has_operator(parent, &["&"]),
            // One of two objects.
            Kind::ConditionalExpression
                if is_cxx && parent.field(Field::Condition) != Some(current) => {}
            // C passes values, but to macros.
            Kind::ArgumentList => {
                let callee = parent.parent().and_then(|call| call.field(Field::Function));
                if !is_cxx {
                    return callee.is_some_and(|callee| {
                        macros.may_change(callee.text(), callee.range().start(), node.text())
                    });
                }
                return !callee.is_some_and(|callee| functions.take_values(callee.text()));
            }
            Kind::InitializerList => return is_cxx,
            Kind::LambdaCaptureInitializer => {
                return parent.text().trim_start().starts_with('&');
            }
            Kind::InitDeclarator | Kind::ForRangeLoop => {
                return parent.field(Field::Declarator) != Some(current)
                    && parent
                        .field(Field::Declarator)
                        .is_some_and(|declarator| declarator.kind() == Kind::ReferenceDeclarator);
            }
            // A member function.
            Kind::CallExpression => {
                return parent.field(Field::Function) == Some(current) && current != node;
            }
            _ => return false,
        }
        current = parent;
    }
    false
}

/// Whether a name in a lambda means the lambda's copy of the variable.
fn is_of_copy(node: Node<'_>) -> bool {
    node.ancestors()
        .filter(|around| around.kind() == Kind::LambdaExpression)
        .filter_map(|lambda| lambda.field(Field::Captures))
        .filter(|captures| !captures.range().contains_range(node.range()))
        .any(|captures| copies(captures.text(), node.text()))
}

/// Whether a list of captures copies the variable.
fn copies(captures: &str, name: &str) -> bool {
    let mut copies_all = false;
    for capture in captures.trim_matches(['[', ']']).split(',') {
        let capture = capture.trim();
        match capture {
            "=" => copies_all = true,
            _ if capture == name => return true,
            _ if capture.trim_start_matches('&').trim() == name => return false,
            _ => {}
        }
    }
    copies_all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rex_syntax::cst::parse_fragment;

    fn check(statement: &str, expected: bool) {
        let text = format!("void f() {{ {statement} }}");
        let tree = parse_fragment(&text, Language::Cxx);
        let uses = tree
            .root()
            .descendants()
            .filter(|node| node.kind() == Kind::Identifier && node.text() == "x");
        let functions = FunctionIndex::default();
        let macros = MacroTable::default();
        let automatic = Variable {
            is_pointer: false,
            is_automatic: true,
        };
        let changes = uses
            .into_iter()
            .any(|node| may_change(node, &|| automatic, &functions, &macros, Language::Cxx));
        assert_eq!(changes, expected, "{statement}");
    }

    #[test]
    fn uses_that_change_a_variable() {
        for statement in [
            "x = 1;",
            "x.y[2] += 1;",
            "++(x);",
            "g(x);",
            "p = &x;",
            "int &r = x;",
            "int &r = c ? x : y;",
            "(c ? x : y) = 3;",
            "x.f();",
            "for (int &v : x) v = 0;",
            "auto l = [&r = x] { r = 1; };",
            "auto l = [&] { x = 1; };",
            "auto l = [=, &x] { x = 1; };",
        ] {
            check(statement, true);
        }
    }

    #[test]
    fn uses_that_leave_a_variable_alone() {
        for statement in [
            "y = x;",
            "y = x + 1;",
            "x->y = 1;",
            "int r = x;",
            "for (int v : x) y = v;",
            "auto l = [r = x] { y = r; };",
            "auto l = [=]() mutable { x = 1; };",
            "auto l = [x]() mutable { x = 1; };",
            "auto l = [&, x]() mutable { x = 1; };",
        ] {
            check(statement, false);
        }
    }
}
