//! Reductions of one thread.
//!
//! A thread that is alone could add to the variable itself, and mostly does. Where its code does anything else than what the reduction does, as storing a value,
//! it sees that the variable is not at the identity: then it has an accumulator like the threads of a team.

use rex_ir::kernel::{Crew, ReductionPlan};
use rex_ir::program::Program;
use rex_ir::region::{Construct, ReductionOperation};
use rex_syntax::TextRange;
use rex_syntax::lex::{Token, significant_tokens};
use rex_syntax::omp::clause::ClauseName;

use super::plan::Planner;

impl Planner<'_> {
    /// The accumulators that a thread needs which executes a construct alone.
    pub(super) fn own_reductions(
        &mut self,
        construct: &Construct,
        statement: TextRange,
    ) -> Vec<ReductionPlan> {
        // Tasks share the copies of their group, and a scan goes on from the variable's value.
        if !self.has_clause(construct, ClauseName::Reduction) || self.scans(construct) {
            return Vec::new();
        }
        let mut reductions = self.crew_reductions(construct, Crew::One);
        let program = self.program;
        reductions.retain(|it| !is_only_updated(program, &it.name, &it.operation, statement));
        reductions
    }
}

/// Whether code does nothing with a variable, or the elements of an array, but what a reduction does.
fn is_only_updated(
    program: &Program,
    name: &str,
    operation: &ReductionOperation,
    statement: TextRange,
) -> bool {
    let updates = updates(operation);
    let source = program.source();
    let tokens: Vec<Token> = significant_tokens(source, statement).collect();
    let text = |idx: usize| tokens.get(idx).map_or("", |token| token.text(source));
    let is_update = |idx: usize| {
        let before = idx.checked_sub(1).map_or(";", text);
        let behind = text(behind_subscripts(&tokens, source, idx + 1));
        let starts = matches!(before, ";" | "{" | "}" | ")" | "else" | "do");
        (starts && updates.contains(&behind)) || updates.contains(&before)
    };
    tokens.iter().enumerate().all(|(idx, token)| {
        let word = token.text(source);
        match word == name {
            true => is_update(idx),
            // It may be hidden in a macro.
            false => {
                program.macro_at(word, token.range).is_none()
                    || !(program.macro_names(word, token.range).iter()).any(|inner| inner == name)
            }
        }
    })
}

/// The operators of C that do what a reduction does.
fn updates(operation: &ReductionOperation) -> &'static [&'static str] {
    match operation {
        ReductionOperation::Add => &["+=", "-=", "++", "--"],
        ReductionOperation::Multiply => &["*="],
        ReductionOperation::BitAnd => &["&="],
        ReductionOperation::BitOr => &["|="],
        ReductionOperation::BitXor => &["^="],
        ReductionOperation::Min
        | ReductionOperation::Max
        | ReductionOperation::LogicalAnd
        | ReductionOperation::LogicalOr
        | ReductionOperation::Declared(_) => &[],
    }
}

/// The first token behind `[..][..]`.
fn behind_subscripts(tokens: &[Token], source: &str, first: usize) -> usize {
    let mut depth = 0usize;
    let is_behind = |token: &Token| {
        match token.text(source) {
            "[" => depth += 1,
            "]" => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    };
    let found = tokens.iter().skip(first).position(is_behind);
    found.map_or(tokens.len(), |count| first + count)
}
