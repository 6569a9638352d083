//! `induction` and `declare induction`, written out: every iteration begins with a variable of its own, whose value follows from the iteration's number.
//!
//! ```c
//! #pragma omp parallel for induction(step(s), + : x)
//! for (int i = 0; i < n; i++)
//!   a[i] = x;
//! ```
//!
//! becomes
//!
//! ```c
//! {
//! __typeof__(x) x__first = x;
//! #pragma omp parallel for lastprivate(x)
//! for (int i = 0; i < n; i++)
//! {
//!   __typeof__(x) x__value = x__first + ((long long)i) * s;
//!   if (((long long)i) + 1 == ((long long)n)) {
//!     __typeof__(x) x__last = x__first + ((long long)n) * s;
//!     x = x__last;
//!   }
//!   { __typeof__(x) x = x__value;
//!   a[i] = x;
//!   }
//! }
//! }
//! ```
//!
//! [`Form`] says what is otherwise where the loop is a region for a device.

mod operation;
mod refusal;

use text_size::TextRange;

pub use self::refusal::{Refusal, refused_induction};

use self::operation::Operation;
use super::loops::canonical::{Loop, nest, operand};
use super::metadirective::inside;
use super::{one_line, whole_lines};
use crate::cst::Node;
use crate::edit::EditSet;
use crate::layout::indent_at;
use crate::lex::slice;
use crate::omp::clause::{Clause, ClauseName, Locator};
use crate::omp::directive::{Directive, Leaf};
use crate::unit::Unit;

/// The clauses that can be written out; when none are left, the declarations of what they name go, which host compilers do not know.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    let mut uses = 0;
    for (idx, directive) in unit.directives.iter().enumerate() {
        if !takes_inductions(directive) {
            continue;
        }
        uses += 1;
        if let Ok(construct) = Construct::of(unit, idx) {
            construct.write(&mut edits);
        }
    }
    if uses == 0 {
        let declared = unit.directives.iter();
        for directive in declared.filter(|it| it.first() == Some(Leaf::DeclareInduction)) {
            edits.delete(whole_lines(unit.tree.text(), directive.range));
        }
    }
    edits
}

/// Whether a directive has `induction` clauses and may have them.
fn takes_inductions(directive: &Directive) -> bool {
    let takes = |leaf: &Leaf| leaf.takes(ClauseName::Induction);
    directive.clause(ClauseName::Induction).is_some() && directive.leaves.iter().any(takes)
}

/// How the value before the loop comes to the iterations, and the one after it to the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Another variable holds the one; the copy of the last iteration leaves the other.
    Held,
    /// The same in a region for a device, which knows the value before the loop: the copies begin with it.
    FirstAndLast,
    /// The loop's region only reads the variable, and a second region stores the value: teams cannot wait for each other.
    Mapped,
}

impl Form {
    fn of(unit: &Unit, idx: usize) -> Result<Form, Refusal> {
        let directive = &unit.directives[idx];
        let is_target = directive.first() == Some(Leaf::Target);
        // In a region of one team, whose threads share the loop.
        let can_wait = directive.has(Leaf::For) && !directive.has(Leaf::Distribute);
        let is_awaited = directive.clause(ClauseName::Nowait).is_none();
        match directive.first() {
            _ if is_target && can_wait => Ok(Form::FirstAndLast),
            _ if is_target && is_awaited => Ok(Form::Mapped),
            _ if is_target => Err(Refusal::Nowait),
            // Nothing may stand between `target` and `teams`.
            Some(Leaf::Teams) if is_in_target(unit, idx) => Err(Refusal::TeamsApart),
            _ => Ok(Form::Held),
        }
    }

    /// The name of the value before the loop.
    fn start(self, name: &str) -> String {
        match self {
            Form::FirstAndLast | Form::Mapped => name.to_string(),
            Form::Held => format!("{name}__first"),
        }
    }
}

fn is_in_target(unit: &Unit, idx: usize) -> bool {
    let mask = unit.mask_of(idx);
    let mut around = mask.into_iter().flat_map(Node::ancestors);
    around.any(|node| {
        unit.directive_of(node)
            .is_some_and(|outer| outer != idx && unit.directives[outer].has(Leaf::Target))
    })
}

/// A variable of an `induction` clause.
struct Induction<'t> {
    name: &'t str,
    step: String,
    operation: Operation,
}

impl Induction<'_> {
    /// Statements that declare `result` with the value after `number` iterations.
    fn value(&self, result: &str, start: &str, number: &str) -> Vec<String> {
        self.operation
            .applied(self.name, result, start, &self.step, number)
    }
}

/// A construct whose `induction` clauses are written out.
struct Construct<'u> {
    unit: &'u Unit,
    directive: &'u Directive,
    statement: Node<'u>,
    form: Form,
    clauses: Vec<(&'u Clause, Vec<Induction<'u>>)>,
    loops: Vec<Loop<'u>>,
}

impl<'u> Construct<'u> {
    fn of(unit: &'u Unit, idx: usize) -> Result<Construct<'u>, Refusal> {
        let directive = &unit.directives[idx];
        let mut clauses = Vec::new();
        for clause in directive.clauses_named(ClauseName::Induction) {
            clauses.push((clause, inductions(unit, directive, clause)?));
        }
        let form = Form::of(unit, idx)?;
        let depth = match directive.clause(ClauseName::Collapse) {
            None => Some(1),
            Some(collapse) => inside(unit.tree.text(), collapse).trim().parse().ok(),
        };
        let statement = unit.statement_of(idx).ok_or(Refusal::Loops)?;
        let loops = depth.and_then(|depth| nest(statement, depth));
        Ok(Construct {
            unit,
            directive,
            statement,
            form,
            clauses,
            loops: loops
                .filter(|loops| !loops.is_empty())
                .ok_or(Refusal::Loops)?,
        })
    }

    fn write(&self, edits: &mut EditSet) {
        let indent = indent_at(self.unit.tree.text(), self.directive.range.start());
        for (clause, inductions) in &self.clauses {
            edits.replace(clause.range, self.other_clauses(inductions));
        }
        if let Some(innermost) = self.loops.last() {
            let body = innermost.body.range();
            edits.insert(body.start(), 0, self.before_body(indent));
            let blocks = 1 + self.inductions().count();
            let ends = format!("\n{indent}}}").repeat(blocks);
            edits.insert(body.end(), 0, ends);
        }
        if self.form == Form::FirstAndLast {
            return;
        }
        let mut before = format!("{indent}{{\n");
        if self.form == Form::Held {
            for it in self.inductions() {
                let (name, start) = (it.name, self.form.start(it.name));
                before += &format!("{indent}__typeof__({name}) {start} = {name};\n");
            }
        }
        let first = whole_lines(self.unit.tree.text(), self.directive.range).start();
        edits.insert(first, 0, before);
        let stored = match self.form {
            Form::Mapped => self.second_region(indent),
            Form::Held | Form::FirstAndLast => String::new(),
        };
        let end = self.statement.range().end();
        edits.insert(end, 1, format!("{stored}\n{indent}}}"));
    }

    fn inductions(&self) -> impl Iterator<Item = &Induction<'u>> {
        self.clauses.iter().flat_map(|(_, inductions)| inductions)
    }

    /// The clauses that stand for an `induction` clause.
    fn other_clauses(&self, inductions: &[Induction<'u>]) -> String {
        let list = |names: &[&str]| names.join(", ");
        let names: Vec<&str> = inductions.iter().map(|it| it.name).collect();
        match self.form {
            Form::FirstAndLast => {
                format!("firstprivate({0}) lastprivate({0})", list(&names))
            }
            Form::Held => {
                let mut words = vec![format!("lastprivate({})", list(&names))];
                // All threads read the variable before one of them stores the last value.
                if self.directive.first() == Some(Leaf::For) {
                    words.push(format!("firstprivate({})", list(&names)));
                }
                if self.directive.clause(ClauseName::Default).is_some() {
                    let starts: Vec<String> =
                        names.iter().map(|name| self.form.start(name)).collect();
                    words.push(format!("firstprivate({})", starts.join(", ")));
                }
                words.join(" ")
            }
            Form::Mapped => {
                let unmapped: Vec<&str> = names
                    .iter()
                    .copied()
                    .filter(|name| !self.maps(name))
                    .collect();
                let mut words = Vec::new();
                if !unmapped.is_empty() {
                    words.push(format!("map(tofrom : {})", list(&unmapped)));
                }
                if self.directive.clause(ClauseName::Default).is_some() {
                    words.push(format!("shared({})", list(&names)));
                }
                words.join(" ")
            }
        }
    }

    fn maps(&self, name: &str) -> bool {
        let source = self.unit.tree.text();
        self.directive
            .clauses_named(ClauseName::Map)
            .flat_map(Clause::items)
            .any(|item| slice(source, item.range) == name)
    }

    /// What stands before the body of the innermost loop: as many blocks begin as there are variables, and one around them.
    fn before_body(&self, indent: &str) -> String {
        let number = self.number();
        let mut lines = vec!["{".to_string()];
        for it in self.inductions() {
            let (name, start) = (it.name, self.form.start(it.name));
            let indented = |lines: Vec<String>, by: &'static str| {
                lines.into_iter().map(move |line| format!("{by}{line}"))
            };
            lines.extend(indented(
                it.value(&format!("{name}__value"), &start, &number),
                "  ",
            ));
            if self.form != Form::Mapped {
                let (last, count) = (format!("{name}__last"), self.count());
                lines.push(format!("  if ({number} + 1 == {count}) {{"));
                lines.extend(indented(it.value(&last, &start, &count), "    "));
                lines.push(format!("    {name} = {last};"));
                lines.push("  }".to_string());
            }
        }
        for it in self.inductions() {
            let name = it.name;
            lines.push(format!("  {{ __typeof__({name}) {name} = {name}__value;"));
        }
        lines.join(&format!("\n{indent}")) + "\n" + indent + "  "
    }

    /// The number of an iteration of all loops together.
    fn number(&self) -> String {
        let mut number = String::new();
        for only in &self.loops {
            let iteration = only.iteration();
            number = match number.as_str() {
                "" => iteration,
                outer => format!("({outer} * {} + {iteration})", only.count),
            };
        }
        number
    }

    /// How many iterations there are.
    fn count(&self) -> String {
        let counts: Vec<&str> = self.loops.iter().map(|only| only.count.as_str()).collect();
        match counts.as_slice() {
            [only] => (*only).to_string(),
            counts => format!("({})", counts.join(" * ")),
        }
    }

    /// The region that stores the values after the loop, on the same device and under the same condition.
    fn second_region(&self, indent: &str) -> String {
        let source = self.unit.tree.text();
        let names: Vec<&str> = self.inductions().map(|it| it.name).collect();
        let mut words = vec![format!(
            "#pragma omp target map(tofrom : {})",
            names.join(", ")
        )];
        let where_it_runs = self.directive.clauses.iter().filter(|clause| {
            matches!(clause.name, ClauseName::Device | ClauseName::If)
                && clause.applies_to(Leaf::Target)
        });
        words.extend(where_it_runs.map(|clause| one_line(slice(source, clause.range))));
        let mut lines = vec![String::new(), words.join(" "), "{".to_string()];
        for it in self.inductions() {
            let last = format!("{}__last", it.name);
            let value = it.value(&last, it.name, &self.count());
            lines.extend(value.into_iter().map(|line| format!("  {line}")));
            lines.push(format!("  {} = {last};", it.name));
        }
        lines.push("}".to_string());
        lines.join(&format!("\n{indent}"))
    }
}

/// The variables of a clause.
fn inductions<'u>(
    unit: &'u Unit,
    directive: &Directive,
    clause: &'u Clause,
) -> Result<Vec<Induction<'u>>, Refusal> {
    let source = unit.tree.text();
    let mut step = None;
    let mut identifier = None;
    for modifier in clause.modifiers() {
        match (slice(source, modifier.word), modifier.argument) {
            ("step", Some(argument)) => step = Some(one_line(slice(source, argument))),
            // When a variable has its value makes no difference here: always.
            ("relaxed" | "strict", None) => {}
            (word, _) => identifier = Some(word),
        }
    }
    let step = operand(&step.ok_or(Refusal::NoStep)?);
    let identifier = identifier.ok_or(Refusal::NoIdentifier)?;
    let operation = Operation::of(unit, directive.range, identifier)?;
    let variable = |range: TextRange, locator: &Locator| match locator {
        Locator::Path(path) if path.steps.is_empty() => Ok(slice(source, range)),
        _ => Err(Refusal::Item(slice(source, range).to_string())),
    };
    clause
        .items()
        .iter()
        .map(|item| {
            Ok(Induction {
                name: variable(item.range, &item.locator)?,
                step: step.clone(),
                operation: operation.clone(),
            })
        })
        .collect()
}
