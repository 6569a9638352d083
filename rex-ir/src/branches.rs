//! Statements that lead out of the statement around them.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

/// The first statement by which control may leave another one other than at its end.
pub fn first_leaving(statement: Node<'_>) -> Option<Node<'_>> {
    leaving_from(statement, Inside::default()).or_else(|| jump_out(statement))
}

/// The first statement by which control may leave a loop from its body; `continue` stays in it.
pub fn first_leaving_loop(body: Node<'_>) -> Option<Node<'_>> {
    let inside = Inside {
        continues: true,
        ..Inside::default()
    };
    leaving_from(body, inside).or_else(|| jump_out(body))
}

/// Whether a `goto` outside of the statement leads to a label in it.
pub fn is_entered(statement: Node<'_>) -> bool {
    let known = labels_in(statement);
    if known.is_empty() {
        return false;
    }
    let function = statement.callables_around().next();
    let mut jumps = function.into_iter().flat_map(jumps_in);
    jumps.any(|jump| {
        !statement.range().contains_range(jump.range())
            && label_of(jump).is_some_and(|label| known.contains(&label))
    })
}

/// Whether control may reach the end of a statement, as far as its form says.
pub fn may_reach_end(statement: Node<'_>) -> bool {
    let body = |field| statement.field(field);
    match statement.kind() {
        Kind::ReturnStatement
        | Kind::GotoStatement
        | Kind::BreakStatement
        | Kind::ContinueStatement => false,
        Kind::CompoundStatement | Kind::LabeledStatement | Kind::ElseClause => {
            let statements = statement.children().filter(|it| it.kind() != Kind::Comment);
            statements.last().is_none_or(may_reach_end)
        }
        Kind::IfStatement => {
            body(Field::Consequence).is_none_or(may_reach_end)
                || body(Field::Alternative).is_none_or(may_reach_end)
        }
        Kind::ForStatement if body(Field::Condition).is_none() => has_break(statement),
        Kind::SwitchStatement => {
            let cases = body(Field::Body).into_iter().flat_map(Node::children);
            let cases: Vec<Node<'_>> = cases
                .filter(|it| it.kind() == Kind::CaseStatement)
                .collect();
            let is_default = |case: &Node<'_>| case.field(Field::Value).is_none();
            let last = cases.last().and_then(|case| case.children().last());
            !cases.iter().any(is_default) || has_break(statement) || last.is_none_or(may_reach_end)
        }
        Kind::WhileStatement | Kind::DoStatement => {
            let condition =
                body(Field::Condition).map(|it| it.text().trim_matches(['(', ')', ' ']));
            condition != Some("1") || has_break(statement)
        }
        _ => true,
    }
}

fn has_break(statement: Node<'_>) -> bool {
    let mut nodes = statement.subtree();
    nodes.any(|node| node.kind() == Kind::BreakStatement)
}

/// The label of a labeled statement, or that a `goto` leads to.
fn label_of(node: Node<'_>) -> Option<String> {
    let label = node.field(Field::Label)?;
    Some(label.text().to_owned())
}

fn labels_in(statement: Node<'_>) -> Vec<String> {
    statement
        .subtree()
        .filter(|node| node.kind() == Kind::LabeledStatement)
        .filter_map(label_of)
        .collect()
}

fn jumps_in(statement: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let all = statement.subtree();
    all.filter(|node| node.kind() == Kind::GotoStatement)
}

/// The first `goto` that leads to a label outside of the statement.
fn jump_out(statement: Node<'_>) -> Option<Node<'_>> {
    let known = labels_in(statement);
    jumps_in(statement).find(|jump| label_of(*jump).is_none_or(|label| !known.contains(&label)))
}

/// Which statements lead to something within the statement.
#[derive(Clone, Copy, Default)]
struct Inside {
    breaks: bool,
    continues: bool,
}

fn leaving_from(root: Node<'_>, inside: Inside) -> Option<Node<'_>> {
    let stays = |node: Node<'_>, holds: fn(Kind) -> bool| {
        let around = node
            .ancestors()
            .take_while(|outer| outer.index() >= root.index());
        around.map(Node::kind).any(holds)
    };
    let mut nodes = root.whole();
    while let Some(node) = nodes.next() {
        let leaves = match node.kind() {
            Kind::ReturnStatement => true,
            Kind::BreakStatement => !inside.breaks && !stays(node, is_left_by_break),
            Kind::ContinueStatement => !inside.continues && !stays(node, is_loop),
            // Functions of local classes, too.
            Kind::LambdaExpression | Kind::FunctionDefinition => {
                nodes.skip_subtree();
                false
            }
            _ => false,
        };
        if leaves {
            return Some(node);
        }
    }
    None
}

fn is_loop(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ForStatement | Kind::ForRangeLoop | Kind::WhileStatement | Kind::DoStatement
    )
}

fn is_left_by_break(kind: Kind) -> bool {
    is_loop(kind) || matches!(kind, Kind::SwitchStatement | Kind::CaseStatement)
}
