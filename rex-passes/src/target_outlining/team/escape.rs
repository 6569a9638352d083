//! Statements that lead out of themselves.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

/// Whether control may leave a statement other than at its end.
pub(super) fn leaves(node: Node<'_>) -> bool {
    leaves_from(node, Inside::default()) || jumps_out(node)
}

/// Whether a `goto` leads to a label outside of the statement.
fn jumps_out(statement: Node<'_>) -> bool {
    let label = |node: Node<'_>| {
        node.field(Field::Label)
            .map(|label| label.text().to_owned())
    };
    let known: Vec<String> = statement
        .subtree()
        .filter(|node| node.kind() == Kind::LabeledStatement)
        .filter_map(label)
        .collect();
    statement
        .subtree()
        .filter(|node| node.kind() == Kind::GotoStatement)
        .any(|jump| label(jump).is_none_or(|label| !known.contains(&label)))
}

/// What is around a place, within the statement.
#[derive(Clone, Copy, Default)]
struct Inside {
    a_loop: bool,
    a_switch: bool,
}

fn leaves_from(node: Node<'_>, inside: Inside) -> bool {
    let inner = match node.kind() {
        Kind::ReturnStatement => return true,
        Kind::BreakStatement => return !inside.a_loop && !inside.a_switch,
        Kind::ContinueStatement => return !inside.a_loop,
        Kind::LambdaExpression => return false,
        Kind::ForStatement | Kind::ForRangeLoop | Kind::WhileStatement | Kind::DoStatement => {
            Inside {
                a_loop: true,
                ..inside
            }
        }
        Kind::SwitchStatement => Inside {
            a_switch: true,
            ..inside
        },
        _ => inside,
    };
    node.children().any(|child| leaves_from(child, inner))
}
