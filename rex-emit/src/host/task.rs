//! Host tasks: what `nowait` and `depend` make of a construct.
//!
//! The block that replaces the construct runs in a task of the host compiler's OpenMP, so that its dependences order it against every other task. Without OpenMP the directive is ignored, and
//! the construct is done at once. What the task needs of the block around it is computed before and copied into it.

use rex_ir::region::ConstructId;
use rex_syntax::TextRange;
use rex_syntax::omp::clause::{Clause, ClauseName};

use super::Host;
use super::code::Code;

/// Values a construct computes once, before its task if it has one.
pub(super) struct Settled {
    /// Every value gets a variable of its own: they are used in a task.
    pub(super) in_task: bool,
    /// The variables made.
    pub(super) variables: Vec<String>,
}

impl Settled {
    /// The value, or the variable that holds it.
    pub(super) fn settle(
        &mut self,
        code: &mut Code,
        ty: &str,
        name: &str,
        value: String,
    ) -> String {
        let is_constant = value
            .trim_start_matches('-')
            .chars()
            .all(|c| c.is_ascii_digit());
        if !self.in_task || is_constant || value == super::DEFAULT_DEVICE {
            return value;
        }
        self.always(code, ty, name, &value)
    }

    /// The variable that holds a value.
    pub(super) fn always(&mut self, code: &mut Code, ty: &str, name: &str, value: &str) -> String {
        code.line(format!("const {ty} {name} = {value};"));
        self.variables.push(name.to_string());
        name.to_string()
    }
}

impl Host<'_> {
    /// Whether a construct runs in a task.
    pub(super) fn is_task(&self, construct: ConstructId) -> bool {
        self.clauses(construct, ClauseName::Depend).next().is_some()
            || self.is_deferrable(construct)
    }

    /// `nowait`, unless its argument says no.
    fn is_deferrable(&self, construct: ConstructId) -> bool {
        self.clauses(construct, ClauseName::Nowait).any(|clause| {
            clause
                .expression()
                .is_none_or(|value| !matches!(self.program.text(value).trim(), "0" | "false"))
        })
    }

    /// The directive of the task. `copies` are the variables it takes with it.
    pub(super) fn task_directive(&self, construct: ConstructId, copies: &[String]) -> String {
        let mut words = vec!["#pragma omp task default(shared)".to_string()];
        if !copies.is_empty() {
            words.push(format!("firstprivate({})", copies.join(", ")));
        }
        for clause in self.clauses(construct, ClauseName::Depend) {
            words.push(crate::common::text::joined(
                &self.renamed_text(clause.range),
            ));
        }
        let deferrable = self
            .clauses(construct, ClauseName::Nowait)
            .find_map(|clause| clause.expression());
        match deferrable {
            Some(condition) => words.push(format!("if({})", self.renamed_text(condition))),
            None if !self.is_deferrable(construct) => words.push("if(0)".into()),
            None => {}
        }
        words.join(" ")
    }

    /// The clauses of one name on the directives of a construct.
    pub(super) fn clauses(
        &self,
        construct: ConstructId,
        name: ClauseName,
    ) -> impl Iterator<Item = &Clause> {
        self.program.constructs[construct]
            .directives
            .iter()
            .flat_map(move |idx| self.program.unit.directives[*idx].clauses_named(name))
    }

    /// The device number of a construct.
    pub(super) fn device(&self, device: Option<TextRange>) -> String {
        match device {
            Some(device) => self.renamed_text(device),
            None => super::DEFAULT_DEVICE.to_string(),
        }
    }
}
