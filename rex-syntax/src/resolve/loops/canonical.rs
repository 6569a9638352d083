//! Canonical loops as the user wrote them.

use crate::cst::Node;
use crate::kind::{Field, Kind};
use crate::lex::{significant_tokens, whole};

/// A canonical loop of the user.
pub(in crate::resolve) struct Loop<'t> {
    /// `for (..)`
    pub(in crate::resolve) head: &'t str,
    pub(in crate::resolve) body: Node<'t>,
    pub(in crate::resolve) variable: &'t str,
    /// Its type.
    pub(in crate::resolve) ty: String,
    pub(in crate::resolve) lower: String,
    /// How many iterations there are.
    pub(in crate::resolve) count: String,
    /// What an iteration adds.
    pub(in crate::resolve) step: String,
}

impl Loop<'_> {
    /// The variable that counts its iterations.
    pub(in crate::resolve) fn number(&self) -> String {
        format!("{}_number", self.variable)
    }

    /// The number of the iteration in which the user's variable has the value that it has.
    pub(in crate::resolve) fn iteration(&self) -> String {
        let (span, size) = match self.step.strip_prefix('-') {
            None => (distance(&self.lower, self.variable, &self.ty), &*self.step),
            Some(size) => (distance(self.variable, &self.lower, &self.ty), size),
        };
        match operand(size).as_str() {
            "1" => format!("({span})"),
            size => format!("(({span}) / {size})"),
        }
    }

    /// The user's variable in the iteration with this number.
    pub(in crate::resolve) fn declaration(&self, number: &str) -> String {
        let distance = match self.step.as_str() {
            "1" => number.to_string(),
            step => format!("{number} * {}", operand(step)),
        };
        let value = match self.lower.as_str() {
            "0" => distance,
            lower => format!("{} + {distance}", operand(lower)),
        };
        // A pointer or an iterator cannot be converted, and need not.
        match is_integer(&self.ty) {
            true => format!("{} {} = ({})({value});", self.ty, self.variable, self.ty),
            false => format!("{} {} = {value};", self.ty, self.variable),
        }
    }
}

/// `n` loops, each the only statement of the one around it and none with bounds that depend on another.
pub(in crate::resolve) fn nest(statement: Node<'_>, n: usize) -> Option<Vec<Loop<'_>>> {
    let mut loops: Vec<Loop<'_>> = Vec::new();
    let mut current = statement;
    while loops.len() < n {
        while current.kind() == Kind::CompoundStatement {
            current = current.only_child()?;
        }
        let found = loop_at(current)?;
        let depends = loops.iter().any(|outer| {
            mentions(&found.lower, outer.variable) || mentions(&found.count, outer.variable)
        });
        if depends {
            return None;
        }
        current = found.body;
        loops.push(found);
    }
    Some(loops)
}

pub(in crate::resolve) fn loop_at(node: Node<'_>) -> Option<Loop<'_>> {
    if node.kind() != Kind::ForStatement {
        return None;
    }
    let body = node.field(Field::Body)?;
    let head_length = usize::from(body.range().start() - node.range().start());
    let head = node.text().get(..head_length)?.trim_end();
    let initializer = node.field(Field::Initializer)?;
    let (variable, ty, lower) = match initializer.kind() {
        Kind::Declaration => {
            let declarators = initializer.fields(Field::Declarator);
            let [declarator] = declarators.as_slice() else {
                return None;
            };
            let named = declarator.field(Field::Declarator)?;
            let value = declarator.field(Field::Value)?;
            let before = usize::from(named.range().start() - initializer.range().start());
            let ty = initializer.text().get(..before)?.trim().to_string();
            let name = named.text().trim_start_matches('*').trim();
            let stars = "*".repeat(named.text().matches('*').count());
            (name, format!("{ty} {stars}").trim().to_string(), value)
        }
        Kind::AssignmentExpression => {
            let name = initializer.field(Field::Left)?;
            let ty = declared_type(name).unwrap_or(format!("__typeof__({})", name.text()));
            (name.text(), ty, initializer.field(Field::Right)?)
        }
        _ => return None,
    };
    let condition = node.condition()?;
    let (left, right) = (
        condition.field(Field::Left)?,
        condition.field(Field::Right)?,
    );
    let operator = condition.field(Field::Operator)?.text();
    let (relation, bound) = match (left.text() == variable, right.text() == variable) {
        (true, _) => (operator, right.text()),
        (_, true) => (mirrored(operator), left.text()),
        _ => return None,
    };
    let step = step_of(node.field(Field::Update)?, variable)?;
    let lower = lower.text();
    let is_down = step.starts_with('-');
    let (from, to) = match is_down {
        false => (lower, bound),
        true => (bound, lower),
    };
    let extra = match (relation, is_down) {
        ("<=", false) | (">=", true) => " + 1",
        ("<", false) | (">", true) | ("!=", _) => "",
        _ => return None,
    };
    let span = format!("{}{extra}", distance(from, to, &ty));
    let size = operand(step.trim_start_matches('-'));
    let count = match size.as_str() {
        "1" => format!("({span})"),
        _ => format!("(({span} + {size} - 1) / {size})"),
    };
    Some(Loop {
        head,
        body,
        variable,
        ty,
        lower: lower.to_string(),
        count: match size.as_str() {
            "1" => count,
            // No iterations: the division rounds towards 0.
            _ => format!("({span} > 0 ? {count} : 0)"),
        },
        step,
    })
}

/// How far it is from one value of a variable to another.
fn distance(from: &str, to: &str, ty: &str) -> String {
    let (from, to) = (operand(from), operand(to));
    match (from.as_str(), is_integer(ty)) {
        ("0", _) => format!("(long long){to}"),
        (_, true) => format!("(long long){to} - (long long){from}"),
        (_, false) => format!("(long long)({to} - {from})"),
    }
}

/// Whether the words of a type are those of an integer.
fn is_integer(ty: &str) -> bool {
    const WORDS: [&str; 9] = [
        "char", "short", "int", "long", "signed", "unsigned", "bool", "const", "__int128",
    ];
    ty.split_whitespace()
        .all(|word| WORDS.contains(&word) || (word.ends_with("_t") && !word.contains('*')))
}

fn mirrored(operator: &str) -> &str {
    match operator {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        other => other,
    }
}

/// What an iteration adds to the variable; with `-` in front if the loop goes down.
fn step_of(update: Node<'_>, variable: &str) -> Option<String> {
    match update.kind() {
        Kind::UpdateExpression => {
            let down = update.text().contains("--");
            Some(if down { "-1" } else { "1" }.to_string())
        }
        Kind::AssignmentExpression => {
            let right = update.field(Field::Right)?;
            match update.field(Field::Operator)?.text() {
                "+=" => Some(right.text().to_string()),
                "-=" => Some(format!("-{}", operand(right.text()))),
                "=" if right.kind() == Kind::BinaryExpression => {
                    let (left, other) = (right.field(Field::Left)?, right.field(Field::Right)?);
                    match right.field(Field::Operator)?.text() {
                        "+" if left.text() == variable => Some(other.text().to_string()),
                        "+" if other.text() == variable => Some(left.text().to_string()),
                        "-" if left.text() == variable => {
                            Some(format!("-{}", operand(other.text())))
                        }
                        _ => None,
                    }
                }
                _ => None,
            }
        }
        _ => None,
    }
}

pub(in crate::resolve) fn operand(text: &str) -> String {
    match text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => text.to_string(),
        false => format!("({text})"),
    }
}

/// The type with which a block around a name declares it.
fn declared_type(name: Node<'_>) -> Option<String> {
    for outer in name.ancestors() {
        let declarations = outer.children().filter(|child| {
            child.kind() == Kind::Declaration && child.range().end() <= name.range().start()
        });
        for declaration in declarations {
            for declarator in declaration.fields(Field::Declarator) {
                let named = declarator.field(Field::Declarator).unwrap_or(declarator);
                if named.kind() == Kind::Identifier && named.text() == name.text() {
                    return Some(declaration.field(Field::Type)?.text().to_string());
                }
            }
        }
    }
    None
}

pub(in crate::resolve) fn mentions(text: &str, word: &str) -> bool {
    significant_tokens(text, whole(text)).any(|token| token.text(text) == word)
}
