//! The forms of `atomic compare`.

use rex_ir::kernel::{AtomicCapture, AtomicForm, AtomicPlan, CapturedValue};
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

use super::{assignment, only, same, same_text, statements, text, unparenthesized};

/// `if (x < e) x = e`, whatever else it does if the comparison is false.
pub(super) fn compare_and_assign(node: Node<'_>) -> Option<AtomicPlan> {
    let condition = node.condition()?;
    let then = statements(node.field(Field::Consequence)?);
    let (location, value) = assignment(only(&then)?, "=")?;
    compare_update(location, condition, value)
}

/// `x = e < x ? e : x` and its relatives.
pub(super) fn conditional_update(location: Node<'_>, right: Node<'_>) -> Option<AtomicPlan> {
    let condition = unparenthesized(right.field(Field::Condition)?);
    let then = right.field(Field::Consequence)?;
    let otherwise = right.field(Field::Alternative)?;
    if same(otherwise, location) {
        return compare_update(location, condition, then);
    }
    // `x = x < e ? x : e`: keeps x when the condition holds.
    if !same(then, location) || condition.kind() != Kind::BinaryExpression {
        return None;
    }
    let (a, b) = (
        condition.field(Field::Left)?,
        condition.field(Field::Right)?,
    );
    let less = match condition.field(Field::Operator)?.text() {
        "<" | "<=" => true,
        ">" | ">=" => false,
        _ => return None,
    };
    let keeps_smaller = if same(a, location) && same(b, otherwise) {
        less
    } else if same(b, location) && same(a, otherwise) {
        !less
    } else {
        return None;
    };
    Some(AtomicPlan {
        form: AtomicForm::MinMax {
            keeps_smaller,
            operand: text(otherwise),
        },
        location: text(location),
        captured: None,
    })
}

/// `condition ? x = value`: a minimum, a maximum, or compare and exchange.
fn compare_update(location: Node<'_>, condition: Node<'_>, value: Node<'_>) -> Option<AtomicPlan> {
    let condition = unparenthesized(condition);
    if condition.kind() != Kind::BinaryExpression {
        return None;
    }
    let (a, b) = (
        condition.field(Field::Left)?,
        condition.field(Field::Right)?,
    );
    let operator = condition.field(Field::Operator)?.text();
    let form = match operator {
        "==" if same(a, location) => AtomicForm::CompareExchange {
            expected: text(b),
            desired: text(value),
        },
        "==" if same(b, location) => AtomicForm::CompareExchange {
            expected: text(a),
            desired: text(value),
        },
        "<" | ">" => {
            // Stores `value` when value < x (minimum) or value > x (maximum).
            let value_is_less = if same(a, value) && same(b, location) {
                operator == "<"
            } else if same(b, value) && same(a, location) {
                operator == ">"
            } else {
                return None;
            };
            AtomicForm::MinMax {
                keeps_smaller: value_is_less,
                operand: text(value),
            }
        }
        _ => return None,
    };
    Some(AtomicPlan {
        form,
        location: text(location),
        captured: None,
    })
}

/// `{ r = x == e; if (r) x = d; }`, with `else v = x` or without.
pub(super) fn compare_into(first: Node<'_>, second: Node<'_>) -> Option<AtomicPlan> {
    let (success, condition) = assignment(first, "=")?;
    if second.kind() != Kind::IfStatement || !same(second.condition()?, success) {
        return None;
    }
    let then = statements(second.field(Field::Consequence)?);
    let (location, value) = assignment(only(&then)?, "=")?;
    let mut plan = compare_update(location, condition, value)?;
    if !matches!(plan.form, AtomicForm::CompareExchange { .. }) {
        return None;
    }
    let into = match second.field(Field::Alternative) {
        Some(_) => Some(captured_on_failure(second, &plan)?),
        None => None,
    };
    plan.captured = Some(AtomicCapture {
        into: into.map(text),
        value: CapturedValue::OnFailure,
        success: Some(text(success)),
    });
    Some(plan)
}

/// `v` of `else v = x`, where `x` is the plan's location.
pub(super) fn captured_on_failure<'t>(statement: Node<'t>, plan: &AtomicPlan) -> Option<Node<'t>> {
    let otherwise = statement.field(Field::Alternative)?;
    let otherwise = match otherwise.kind() {
        Kind::ElseClause => otherwise
            .children()
            .find(|child| child.kind() != Kind::Comment)?,
        _ => otherwise,
    };
    let (into, from) = assignment(only(&statements(otherwise))?, "=")?;
    same_text(&statement, plan, from).then_some(into)
}
