//! Functions that are templates by their parameters, with the head that they have no more than implied: a kernel takes its parameters from heads.
//!
//! ```cpp
//! auto scaled(std::floating_point auto x) { .. }
//! ```
//!
//! becomes
//!
//! ```cpp
//! template <std::floating_point x__auto> auto scaled(x__auto x) { .. }
//! ```

use text_size::{TextRange, TextSize};

use crate::cst::Node;
use crate::edit::EditSet;
use crate::kind::{Field, Kind};
use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::omp::directive::Leaf;
use crate::pragma;
use crate::source::Language;
use crate::unit::Unit;

/// The definitions of such functions, in files with regions.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    let has_regions = unit.directives.iter().any(|it| it.has(Leaf::Target));
    if unit.language != Language::Cxx || !has_regions {
        return edits;
    }
    let is_definition = |node: &Node<'_>| node.kind() == Kind::FunctionDefinition;
    for function in unit.tree.nodes().filter(is_definition) {
        write_head(unit.tree.text(), function, &mut edits);
    }
    edits
}

fn write_head(text: &str, function: Node<'_>, edits: &mut EditSet) {
    let Some(list) = parameter_list(function) else {
        return;
    };
    let types: Vec<Node<'_>> = list
        .children()
        .filter_map(|parameter| parameter.field(Field::Type))
        .filter(|ty| ty.kind() == Kind::PlaceholderTypeSpecifier && ty.text().ends_with("auto"))
        .collect();
    if types.is_empty() {
        return;
    }
    let mut parameters = Vec::new();
    for (idx, ty) in types.iter().enumerate() {
        let parameter = ty.parent();
        let name = match parameter.and_then(last_name) {
            Some(name) => format!("{name}__auto"),
            None => format!("parameter{idx}__auto"),
        };
        let is_pack = parameter.is_some_and(|it| it.kind() == Kind::VariadicParameterDeclaration);
        let dots = if is_pack { "..." } else { "" };
        let constraint = ty.text().trim_end_matches("auto").trim();
        let constraint = if constraint.is_empty() {
            "typename"
        } else {
            constraint
        };
        parameters.push(format!("{constraint}{dots} {name}"));
        edits.replace(ty.range(), name);
    }
    let parameters = parameters.join(", ");
    let head = function
        .parent()
        .filter(|outer| outer.kind() == Kind::TemplateDeclaration)
        .and_then(|outer| outer.field(Field::Parameters));
    match head {
        Some(head) => {
            let end = head.range().end() - TextSize::of('>');
            edits.insert(end, 0, format!(", {parameters}"));
        }
        None => edits.insert(
            start_of(text, function),
            0,
            format!("template <{parameters}> "),
        ),
    }
}

/// The parameters of the function itself.
fn parameter_list(function: Node<'_>) -> Option<Node<'_>> {
    let mut declarator = function.field(Field::Declarator)?;
    while declarator.kind() != Kind::FunctionDeclarator {
        declarator = declarator
            .field(Field::Declarator)
            .or_else(|| declarator.children().last())?;
    }
    declarator.field(Field::Parameters)
}

/// The name that a parameter declares: its last word.
fn last_name(parameter: Node<'_>) -> Option<&str> {
    let declarator = parameter.field(Field::Declarator)?.text();
    significant_tokens(declarator, lex::whole(declarator))
        .filter(|token| token.kind == TokenKind::Identifier)
        .last()
        .map(|name| name.text(declarator))
}

/// Where a function begins, with the attributes and the `friend` that the tree does not have in it.
fn start_of(text: &str, function: Node<'_>) -> TextSize {
    let outer = function
        .parent()
        .filter(|outer| outer.kind() == Kind::FriendDeclaration);
    let first = outer.unwrap_or(function);
    let start = first.range().start();
    let before = first.parent().and_then(|outer| {
        let mut siblings = outer.tokens_and_children();
        let end = |node: Node<'_>| node.range().end();
        siblings
            .by_ref()
            .map(end)
            .take_while(|end| *end <= start)
            .last()
    });
    let mut gap = TextRange::new(before.unwrap_or_default().min(start), start);
    let between = lex::slice(text, gap);
    if let Some(line) = pragma::directives(between).last() {
        gap = TextRange::new(gap.start() + line.range.end(), start);
    }
    let first: Option<Token> = significant_tokens(text, gap).next();
    first.map_or(start, |token| token.range.start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::source::{SourceFile, SourceMap};
    use crate::unit::read_unit;

    fn check(text: &str, expected: &str) {
        let mut sources = SourceMap::new();
        let region = "\nvoid g() {\n#pragma omp target\n{} }";
        let whole = format!("{text}{region}");
        let file = sources.add(SourceFile::new("a.cpp", Language::Cxx, whole.as_bytes()));
        let unit = read_unit(&mut sources, file, None, &mut Diagnostics::new());
        let read = sources.file(unit.file).text();
        assert_eq!(read.strip_suffix(region), Some(expected));
    }

    #[test]
    fn placeholders_become_parameters_of_a_head() {
        check(
            "auto f(auto x, const C<int> auto &y, int n) { }",
            "template <typename x__auto, C<int> y__auto> auto f(x__auto x, const y__auto &y, int n) { }",
        );
        check(
            "template <class T> int f(T t, auto... xs) { }",
            "template <class T, typename... xs__auto> int f(T t, xs__auto... xs) { }",
        );
    }

    #[test]
    fn heads_stand_before_attributes() {
        check(
            "int a;\n[[nodiscard]] static int f(auto) { }",
            "int a;\ntemplate <typename parameter0__auto> [[nodiscard]] static int f(parameter0__auto) { }",
        );
        check(
            "struct S { friend int f(auto x) { } };",
            "struct S { template <typename x__auto> friend int f(x__auto x) { } };",
        );
    }

    #[test]
    fn lambdas_and_deduced_results_stay() {
        let text = "auto f(int n) { auto g = [](auto x) { return x; }; return g(n); }";
        check(text, text);
    }
}
