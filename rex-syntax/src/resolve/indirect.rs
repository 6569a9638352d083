//! `declare target indirect`: calls through pointers in device code, whose values are addresses of the host.
//!
//! Two arrays list the functions. On the host both hold the host's addresses; of those on the device, one gets them with each region (`map(always, to: ..)`), the other
//! is initialized with the device's.

use text_size::{TextRange, TextSize};

use super::context::{Context, function_name};
use super::whole_lines;
use crate::cst::Node;
use crate::edit::EditSet;
use crate::kind::{Field, Kind};
use crate::lex::{self, slice};
use crate::omp::clause::ClauseName;
use crate::omp::directive::{Directive, Leaf};
use crate::source::Language;
use crate::unit::Unit;

/// The arrays: addresses of the host, and of the device.
const HOST_FUNCTIONS: &str = "rex_host_functions";
const DEVICE_FUNCTIONS: &str = "rex_device_functions";

/// Whether a directive makes functions be called through pointers.
pub(super) fn is_indirect(text: &str, directive: &Directive) -> bool {
    matches!(
        directive.first(),
        Some(Leaf::DeclareTarget | Leaf::BeginDeclareTarget)
    ) && directive
        .clause(ClauseName::Indirect)
        .is_some_and(|clause| {
            let value = clause.expression().map(|value| slice(text, value).trim());
            !matches!(value, Some("0" | "false"))
        })
}

/// Everything at once: the arrays, the maps of regions, the calls.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    let text = unit.tree.text();
    let mut names: Vec<&str> = Vec::new();
    let mut behind = TextSize::new(0);
    for (idx, directive) in unit.directives.iter().enumerate() {
        if !is_indirect(text, directive) {
            continue;
        }
        let Some((found, end)) = functions(unit, idx) else {
            continue;
        };
        names.extend(found);
        behind = behind.max(end);
        if let Some(clause) = directive.clause(ClauseName::Indirect) {
            edits.delete(clause.range);
        }
    }
    if names.is_empty() {
        return EditSet::new();
    }
    let mut known: Vec<&str> = Vec::new();
    names.retain(|name| {
        let is_new = !known.contains(name);
        known.push(name);
        is_new
    });
    let list: Vec<String> = names.iter().map(|name| format!("(void *){name}")).collect();
    let list = list.join(", ");
    let tables = format!(
        "\n/* Functions that device code calls through pointers: the host's addresses, the device's. */\n#pragma omp declare target\nstatic void *{HOST_FUNCTIONS}[] = {{{list}}};\nstatic void *{DEVICE_FUNCTIONS}[] = {{{list}}};\n#pragma omp end declare target"
    );
    edits.insert(behind, 1, tables);
    for directive in &unit.directives {
        if directive.first() == Some(Leaf::Target) && directive.range.start() > behind {
            let map = format!(" map(always, to : {HOST_FUNCTIONS})");
            edits.insert(directive.range.end(), 0, map);
        }
    }
    for node in unit.tree.nodes() {
        if node.kind() != Kind::CallExpression || node.range().start() < behind {
            continue;
        }
        let Some(function) = node.field(Field::Function) else {
            continue;
        };
        if is_pointer(unit, function) && Context::of(unit, node).is_device {
            let called = format!(
                "rex_indirect({}, {HOST_FUNCTIONS}, {DEVICE_FUNCTIONS}, {})",
                function.text(),
                names.len()
            );
            edits.replace(function.range(), called);
        }
    }
    edits
}

/// The functions of a directive, and where they are all declared.
fn functions(unit: &Unit, idx: usize) -> Option<(Vec<&str>, TextSize)> {
    let text = unit.tree.text();
    let directive = &unit.directives[idx];
    let lists: Vec<TextRange> = directive
        .argument
        .into_iter()
        .chain(
            directive
                .clauses
                .iter()
                .filter(|clause| matches!(clause.name, ClauseName::To | ClauseName::Enter))
                .flat_map(|clause| clause.items())
                .map(|item| item.range),
        )
        .collect();
    let is_function = |node: &Node<'_>| {
        matches!(node.kind(), Kind::FunctionDefinition | Kind::Declaration)
            && node
                .descendants()
                .any(|inner| inner.kind() == Kind::FunctionDeclarator)
    };
    if !lists.is_empty() {
        let listed: Vec<&str> = lists
            .iter()
            .flat_map(|list| lex::identifiers(text, *list))
            .map(|at| slice(text, at))
            .collect();
        let declared: Vec<&str> = unit
            .tree
            .nodes()
            .filter(|node| node.range().end() <= directive.range.start() && is_function(node))
            .filter_map(|node| function_name(node).map(Node::text))
            .collect();
        let names = listed.into_iter().filter(|name| declared.contains(name));
        return Some((names.collect(), directive.range.end()));
    }
    let mut depth = 0;
    let end = unit.directives[idx..].iter().find(|directive| {
        match directive.first() {
            Some(Leaf::BeginDeclareTarget | Leaf::DeclareTarget) => depth += 1,
            Some(Leaf::EndDeclareTarget) => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let inside = TextRange::new(directive.range.end(), end.range.start());
    let names = unit
        .tree
        .nodes()
        .filter(|node| inside.contains_range(node.range()) && is_function(node))
        .filter_map(|node| function_name(node).map(Node::text))
        .collect();
    let after = whole_lines(text, end.range).end();
    Some((names, after.min(end.range.end())))
}

/// Whether what is called is a pointer: `p`, `(*p)`, `table[i]`, and in C `s.p` and `s->p`.
fn is_pointer(unit: &Unit, function: Node<'_>) -> bool {
    match function.kind() {
        Kind::ParenthesizedExpression => function
            .children()
            .any(|inner| inner.kind() == Kind::PointerExpression),
        Kind::SubscriptExpression => true,
        Kind::FieldExpression => unit.language == Language::C,
        Kind::Identifier => is_variable(function),
        _ => false,
    }
}

/// Whether the nearest declaration of a name in the blocks around it declares a variable.
fn is_variable(name: Node<'_>) -> bool {
    for outer in name.ancestors() {
        let mut declared = outer.descendants().filter(|node| {
            node.range().end() <= name.range().start()
                && matches!(
                    node.kind(),
                    Kind::Declaration | Kind::ParameterDeclaration | Kind::FunctionDefinition
                )
        });
        let found = declared.find_map(|node| {
            let mut declarators = node.fields(Field::Declarator).into_iter();
            declarators.find_map(|declarator| {
                let mut current = declarator;
                let mut is_plain_function = false;
                while let Some(inner) = current.field(Field::Declarator).or_else(|| {
                    let parenthesized = current.kind() == Kind::ParenthesizedDeclarator;
                    parenthesized.then(|| current.children().next()).flatten()
                }) {
                    is_plain_function = current.kind() == Kind::FunctionDeclarator
                        && inner.kind() == Kind::Identifier;
                    current = inner;
                }
                let is_it = current.kind() == Kind::Identifier && current.text() == name.text();
                is_it.then_some(!is_plain_function)
            })
        });
        if let Some(is_variable) = found {
            return is_variable;
        }
    }
    false
}
