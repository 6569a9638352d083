//! Closures in regions that use variables of static storage duration. The host's lambdas name those without capturing them; in a kernel they
//! are its own variables, so that a lambda must list them.

use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, Region};
use rex_ir::symbol::SymbolId;
use rex_syntax::cst::Node;
use rex_syntax::kind::Kind;
use rex_syntax::lex;
use rex_syntax::{TextRange, TextSize};
use smol_str::SmolStr;

/// The ends of capture lists, and what they become.
pub(super) fn capture_lists(program: &Program, region: &Region) -> Vec<(TextRange, SmolStr)> {
    let Some(statement) = program.constructs[region.construct].statement else {
        return Vec::new();
    };
    let names: Vec<SmolStr> = region
        .captures
        .iter()
        .filter_map(|capture| match capture.object {
            CapturedObject::Variable(symbol) if is_static(program, symbol) => {
                Some(program.name(symbol).clone())
            }
            _ => None,
        })
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let root = program.unit.tree.root();
    root.smallest_at(statement)
        .descendants()
        .filter(|node| node.kind() == Kind::LambdaExpression)
        .filter_map(|lambda| capture_list(program, lambda, &names))
        .collect()
}

fn is_static(program: &Program, symbol: SymbolId) -> bool {
    let kind = program.symbols[symbol].kind;
    kind.is_variable() && !kind.is_automatic()
}

fn capture_list(
    program: &Program,
    lambda: Node<'_>,
    names: &[SmolStr],
) -> Option<(TextRange, SmolStr)> {
    let list = lambda
        .children()
        .find(|child| child.kind() == Kind::LambdaCaptureSpecifier)?;
    let source = program.source();
    let inside = source[list.range()]
        .trim_start_matches('[')
        .trim_end_matches(']')
        .trim();
    let captures_all_by_reference = inside
        .strip_prefix('&')
        .is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with(','));
    if captures_all_by_reference {
        return None;
    }
    let body = TextRange::new(list.range().end(), lambda.range().end());
    let mut used: Vec<&str> = Vec::new();
    for at in lex::identifiers(source, body) {
        let name = program.text(at);
        let is_meant = || {
            program
                .scopes
                .resolve(&program.symbols, name, at)
                .is_some_and(|symbol| is_static(program, symbol))
        };
        if names.iter().any(|it| it == name) && !used.contains(&name) && is_meant() {
            used.push(name);
        }
    }
    if used.is_empty() {
        return None;
    }
    let mut end = String::new();
    for name in used {
        if !inside.is_empty() || !end.is_empty() {
            end.push_str(", ");
        }
        end.push('&');
        end.push_str(name);
    }
    end.push(']');
    let close = TextRange::new(list.range().end() - TextSize::from(1), list.range().end());
    Some((close, end.into()))
}
