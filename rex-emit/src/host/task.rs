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
        if self.participates(construct) {
            return false;
        }
        let depends = self.clauses(construct, ClauseName::Depend).next().is_some();
        !self.depends_on_all_memory(construct) && (depends || self.is_deferrable(construct))
    }

    /// Whether a construct takes part in a reduction of the tasks around it.
    fn participates(&self, construct: ConstructId) -> bool {
        self.clauses(construct, ClauseName::InReduction)
            .next()
            .is_some()
    }

    /// The directive of the task that takes part in a reduction: in it, the variables are its own.
    pub(super) fn participating_task(&self, construct: ConstructId) -> Option<String> {
        let clauses: Vec<String> = self
            .clauses(construct, ClauseName::InReduction)
            .chain(self.clauses(construct, ClauseName::Depend))
            .map(|clause| crate::common::text::joined(self.program.text(clause.range)))
            .collect();
        let is_any = self.participates(construct);
        is_any.then(|| {
            format!(
                "#pragma omp task default(shared) if(0) {}",
                clauses.join(" ")
            )
        })
    }

    /// `nowait`, unless its argument may say no.
    fn is_deferrable(&self, construct: ConstructId) -> bool {
        self.clauses(construct, ClauseName::Nowait).any(|clause| {
            clause
                .expression()
                .is_none_or(|value| matches!(self.program.text(value).trim(), "1" | "true"))
        })
    }

    /// The directive of the task. `copies` are the variables it takes with it.
    pub(super) fn task_directive(&self, construct: ConstructId, copies: &[String]) -> String {
        let mut words = vec!["#pragma omp task default(shared)".to_string()];
        // A task that is done at once finds the block as it is. (LLVM's runtime does not copy arrays into such tasks of gcc's.)
        if !copies.is_empty() && self.is_deferrable(construct) {
            words.push(format!("firstprivate({})", copies.join(", ")));
        }
        for clause in self.clauses(construct, ClauseName::Depend) {
            words.push(self.dependence(clause));
        }
        if !self.is_deferrable(construct) {
            words.push("if(0)".into());
        }
        words.join(" ")
    }

    /// A `depend` clause for the host compiler; gcc 12 needs a macro's help with one kind.
    fn dependence(&self, clause: &Clause) -> String {
        let mut text = crate::common::text::joined(&self.renamed_text(clause.range));
        let kind = clause.modifiers().last();
        if kind.is_some_and(|kind| self.program.text(kind.word) == "inoutset") {
            text = text.replacen("inoutset", "REX_INOUTSET", 1);
        }
        text
    }

    /// `omp_all_memory`: what came before ends before the construct, and the construct before what follows. gcc before 13 lacks the word.
    pub(super) fn wait_for_all_memory(&self, code: &mut Code, construct: ConstructId) {
        if self.depends_on_all_memory(construct) {
            code.line("#pragma omp taskwait");
        }
    }

    fn depends_on_all_memory(&self, construct: ConstructId) -> bool {
        self.clauses(construct, ClauseName::Depend)
            .flat_map(Clause::items)
            .any(|item| self.program.text(item.range).trim() == "omp_all_memory")
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
            Some(device) => match self.program.text(device).trim() {
                "omp_initial_device" => "REX_DEVICE_INITIAL".to_string(),
                "omp_invalid_device" => "REX_DEVICE_INVALID".to_string(),
                _ => self.renamed_text(device),
            },
            None => super::DEFAULT_DEVICE.to_string(),
        }
    }
}
