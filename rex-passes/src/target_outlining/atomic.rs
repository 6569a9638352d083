//! Reads the statement of an `atomic` construct into one of the specification's forms.

mod compare;

use rex_ir::kernel::{AtomicCapture, AtomicForm, AtomicPlan, BodyText, CapturedValue, Plan};
use rex_ir::program::Program;
use rex_ir::region::ConstructId;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use self::compare::{captured_on_failure, compare_and_assign, compare_into, conditional_update};
use super::plan::Planner;

/// The plan of an atomic construct; nothing if its statement has none of the forms.
pub(super) fn plan(planner: &mut Planner<'_>, id: ConstructId) -> Option<Plan> {
    let program = planner.program;
    let construct = &program.constructs[id];
    let directive = &program.unit.directives[*construct.directives.first()?];
    let has = |name| directive.clause(name).is_some();
    let node = program.unit.statement_of(*construct.directives.first()?)?;
    let statements = statements(node);
    let plan = if has(ClauseName::Read) {
        let (into, location) = assignment(only(&statements)?, "=")?;
        if is_value(unparenthesized(location)) {
            return None;
        }
        AtomicPlan {
            form: AtomicForm::Read,
            location: text(location),
            captured: Some(AtomicCapture::of(text(into), CapturedValue::Before)),
        }
    } else if has(ClauseName::Write) {
        let (location, value) = assignment(only(&statements)?, "=")?;
        AtomicPlan {
            form: AtomicForm::Write(text(value)),
            location: text(location),
            captured: None,
        }
    } else if has(ClauseName::Capture) {
        capture(&statements)?
    } else {
        update(only(&statements)?)?
    };
    let compares = matches!(
        plan.form,
        AtomicForm::MinMax { .. } | AtomicForm::CompareExchange { .. }
    );
    // The value of `{ v = x; x = e; }` may be any expression, one that compares, too.
    let is_exchange = has(ClauseName::Capture)
        && matches!(statements[..], [_, second] if second.kind() == Kind::AssignmentExpression);
    if compares != has(ClauseName::Compare) && !(compares && is_exchange) {
        return None;
    }
    if is_bit_field(program, plan.location.range) {
        return Some(Plan::Critical {
            lock: SmolStr::new_static(BIT_FIELDS),
            body: Box::new(Plan::Text(text(node))),
        });
    }
    Some(Plan::Atomic(Box::new(plan)))
}

/// The lock for updates of bit-fields, which have no address.
const BIT_FIELDS: &str = "rex_critical_bit_fields";

/// Whether a location is a member with the name of a bit-field.
fn is_bit_field(program: &Program, location: TextRange) -> bool {
    let tokens: Vec<&str> = lex::significant_tokens(program.source(), location)
        .map(|token| token.text(program.source()))
        .collect();
    let [.., "." | "->", member] = tokens.as_slice() else {
        return false;
    };
    let mut fields = program
        .types
        .records
        .values()
        .flat_map(|record| &record.fields);
    fields.any(|field| field.is_bit_field && field.name == *member)
}

/// The operators of updates; `%` is an extension that compilers share.
const OPERATORS: [&str; 13] = [
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "bitand", "bitor", "xor",
];

/// Whether an expression has a value but no storage that could be read.
fn is_value(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        Kind::BinaryExpression
            | Kind::UnaryExpression
            | Kind::NumberLiteral
            | Kind::AssignmentExpression
            | Kind::UpdateExpression
            | Kind::CastExpression
    )
}

/// The statement that is alone.
fn only<'t>(statements: &[Node<'t>]) -> Option<Node<'t>> {
    match statements {
        [single] => Some(*single),
        _ => None,
    }
}

fn text(node: Node<'_>) -> BodyText {
    BodyText::verbatim(node.range())
}

fn same(a: Node<'_>, b: Node<'_>) -> bool {
    let words = |node| {
        unparenthesized(node)
            .text()
            .split_whitespace()
            .collect::<String>()
    };
    words(a) == words(b)
}

/// The statements of a block, or the statement itself; expression statements give their expression.
fn statements(node: Node<'_>) -> Vec<Node<'_>> {
    fn inner(statement: Node<'_>) -> Node<'_> {
        match statement.kind() {
            Kind::ExpressionStatement => statement
                .children()
                .find(|child| child.kind() != Kind::Comment)
                .unwrap_or(statement),
            _ => statement,
        }
    }
    if node.kind() == Kind::CompoundStatement {
        node.children()
            .filter(|child| child.kind() != Kind::Comment)
            .map(inner)
            .collect()
    } else {
        vec![inner(node)]
    }
}

fn unparenthesized(mut node: Node<'_>) -> Node<'_> {
    while node.kind() == Kind::ParenthesizedExpression {
        match node.children().find(|child| child.kind() != Kind::Comment) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn assignment<'t>(node: Node<'t>, operator: &str) -> Option<(Node<'t>, Node<'t>)> {
    let node = unparenthesized(node);
    if node.kind() != Kind::AssignmentExpression || node.field(Field::Operator)?.text() != operator
    {
        return None;
    }
    let location = unparenthesized(node.field(Field::Left)?);
    Some((location, node.field(Field::Right)?))
}

/// `x++`, `x op= e`, `x = x op e`, `x = e op x`, `x = x < e ? x : e`, `if (x < e) x = e`. Parentheses around `x` mean nothing.
fn update(node: Node<'_>) -> Option<AtomicPlan> {
    let node = unparenthesized(node);
    match node.kind() {
        Kind::UpdateExpression => {
            let operator = match node.field(Field::Operator)?.text() {
                "++" => "+",
                _ => "-",
            };
            let location = unparenthesized(node.field(Field::Argument)?);
            Some(AtomicPlan {
                form: AtomicForm::Update {
                    operator: operator.into(),
                    operand: None,
                    reversed: false,
                },
                location: text(location),
                captured: None,
            })
        }
        Kind::AssignmentExpression => {
            let location = unparenthesized(node.field(Field::Left)?);
            let operator = node.field(Field::Operator)?.text();
            let right = node.field(Field::Right)?;
            if operator != "=" {
                let operator: SmolStr = operator.trim_end_matches('=').into();
                return Some(AtomicPlan {
                    form: AtomicForm::Update {
                        operator,
                        operand: Some(text(right)),
                        reversed: false,
                    },
                    location: text(location),
                    captured: None,
                });
            }
            let right = unparenthesized(right);
            match right.kind() {
                Kind::BinaryExpression => {
                    let (a, b) = (right.field(Field::Left)?, right.field(Field::Right)?);
                    let operator: SmolStr = right.field(Field::Operator)?.text().into();
                    if !OPERATORS.contains(&operator.as_str()) {
                        return None;
                    }
                    let (operand, reversed) = match (same(a, location), same(b, location)) {
                        (true, _) => (b, false),
                        (false, true) => (a, true),
                        (false, false) => return leftmost_update(location, right),
                    };
                    Some(AtomicPlan {
                        form: AtomicForm::Update {
                            operator,
                            operand: Some(text(operand)),
                            reversed,
                        },
                        location: text(location),
                        captured: None,
                    })
                }
                Kind::ConditionalExpression => conditional_update(location, right),
                _ => None,
            }
        }
        Kind::IfStatement if node.field(Field::Alternative).is_none() => compare_and_assign(node),
        _ => None,
    }
}

/// `x = x + a + b`: the grammar nests to the left; the operand is everything behind `x op`.
fn leftmost_update(location: Node<'_>, expression: Node<'_>) -> Option<AtomicPlan> {
    let mut current = expression;
    loop {
        let left = current.field(Field::Left)?;
        let operator = current.field(Field::Operator)?;
        if same(left, location) {
            let word = operator.text();
            let outer = expression.field(Field::Operator)?.text();
            // `x + a + b` is `x + (a + b)`; only for chains of one associative operator.
            if word != outer || !matches!(word, "+" | "*" | "&" | "|" | "^") {
                return None;
            }
            let first = current.field(Field::Right)?;
            return Some(AtomicPlan {
                form: AtomicForm::Update {
                    operator: word.into(),
                    operand: Some(BodyText::verbatim(first.range().cover(expression.range()))),
                    reversed: false,
                },
                location: text(location),
                captured: None,
            });
        }
        if left.kind() != Kind::BinaryExpression {
            return None;
        }
        current = left;
    }
}

/// `v = x++`, `v = x op= e`, `{ v = x; update }`, `{ update; v = x; }`, `{ v = x; x = e; }`, and the forms that compare.
fn capture(statements: &[Node<'_>]) -> Option<AtomicPlan> {
    match statements {
        [single] if single.kind() == Kind::IfStatement => {
            let mut plan = compare_and_assign(*single)?;
            let into = captured_on_failure(*single, &plan)?;
            plan.captured = Some(AtomicCapture::of(text(into), CapturedValue::OnFailure));
            Some(plan)
        }
        [single] => {
            let (into, right) = assignment(*single, "=")?;
            let right = unparenthesized(right);
            let mut plan = update(right)?;
            let postfix = right.kind() == Kind::UpdateExpression
                && right
                    .field(Field::Argument)
                    .is_some_and(|argument| argument.range().start() == right.range().start());
            let value = match postfix {
                true => CapturedValue::Before,
                false => CapturedValue::After,
            };
            plan.captured = Some(AtomicCapture::of(text(into), value));
            Some(plan)
        }
        [first, second] => {
            if let Some((into, location)) = assignment(*first, "=")
                && let Some(mut plan) = update_or_write(*second)
                && same_text(second, &plan, location)
            {
                plan.captured = Some(AtomicCapture::of(text(into), CapturedValue::Before));
                return Some(plan);
            }
            if let Some(plan) = compare_into(*first, *second) {
                return Some(plan);
            }
            let (into, location) = assignment(*second, "=")?;
            let mut plan = update(*first)?;
            if !same_text(second, &plan, location) {
                return None;
            }
            plan.captured = Some(AtomicCapture::of(text(into), CapturedValue::After));
            Some(plan)
        }
        _ => None,
    }
}

fn update_or_write(node: Node<'_>) -> Option<AtomicPlan> {
    update(node).or_else(|| {
        let (location, value) = assignment(node, "=")?;
        Some(AtomicPlan {
            form: AtomicForm::Write(text(value)),
            location: text(location),
            captured: None,
        })
    })
}

/// Whether the plan's location is the same object as `location`, by its words.
fn same_text(statement: &Node<'_>, plan: &AtomicPlan, location: Node<'_>) -> bool {
    let whole = statement.tree().text();
    let words = |text: &str| text.split_whitespace().collect::<String>();
    words(&whole[plan.location.range]) == words(unparenthesized(location).text())
}
