//! Loops whose iterations are shared among threads.

mod copies;
mod numbers;

use rex_ir::kernel::{
    Chunk, Crew, IterationSpace, KeptValue, LastprivatePlan, LastprivateTarget, LoopPlan, Plan,
};
use rex_ir::region::CanonicalLoop;
use rex_syntax::{TextRange, lex};

pub(super) use self::copies::{first_before_last, keep_assigned, lastprivate_target};

use super::lines::{block, is_braced, operand, step_in};
use super::team::barrier;
use super::{BodyPrinter, STEP};
use crate::common::expr;

impl BodyPrinter<'_> {
    pub(super) fn shared_loop(&self, plan: &LoopPlan, indent: &str) -> Vec<String> {
        let nest = &self.program.nests[plan.nest];
        let loops = &nest.loops[..plan.depth.min(nest.loops.len())];
        let variable = iteration_number(plan.space);
        let trips_name = variable.replace("_i", "_trips");
        let mut lines = Vec::new();
        lines.extend(self.accumulators(&plan.reductions));
        lines.extend(self.prologue(&plan.privates));
        for lastprivate in &plan.lastprivates {
            lines.extend(self.lastprivate_copy(lastprivate, plan.space));
        }
        lines.extend(first_before_last(&plan.lastprivates, plan.space));
        let of_last = |plan: &&LastprivatePlan| plan.kept == KeptValue::OfLast;
        let keeps = plan.lastprivates.iter().any(|kept| of_last(&kept)) || !plan.linears.is_empty();
        lines.extend(self.linear_starts(plan));
        lines.extend(self.final_references(plan, loops));
        lines.extend(self.trips(loops, &trips_name));
        let mut is_last = format!("= {variable} == {trips_name} - 1");
        if keeps {
            if nest.loops.len() > plan.depth {
                lines.extend(self.last_of_uneven(plan, &trips_name));
                // A thread may execute more of them, which are empty.
                is_last = format!("|= {variable} == rex_last");
            }
            lines.push("bool rex_has_last = false;".to_string());
        }
        lines.extend(self.heads(plan, variable, &trips_name));
        if keeps {
            lines.push(format!("{STEP}rex_has_last {is_last};"));
        }
        for (idx, canonical) in loops.iter().enumerate() {
            if self.is_named(plan, canonical) {
                lines.push(format!(
                    "{STEP}{}",
                    self.loop_variable(canonical, idx, loops.len(), variable, &trips_name)
                ));
            }
        }
        for linear in &plan.linears {
            lines.push(format!("{STEP}{}", self.linear_value(linear, variable)));
        }
        let body = self.plan(&plan.body, &format!("{indent}{STEP}"));
        if is_braced(&body) && !self.body_hides(plan, loops) {
            lines.extend(body[1..body.len() - 1].iter().map(|line| {
                if line.starts_with(STEP) || line.is_empty() || line.starts_with('#') {
                    line.clone()
                } else {
                    step_in(line)
                }
            }));
        } else {
            lines.extend(body.iter().map(|line| step_in(line)));
        }
        lines.push("}".to_string());
        for lastprivate in plan.lastprivates.iter().filter(of_last) {
            let leads = match plan.space {
                IterationSpace::Teams => " && threadIdx.x == 0",
                _ => "",
            };
            let copy = self.copy_of(
                lastprivate.ty,
                &lastprivate_target(lastprivate),
                &lastprivate.name,
            );
            lines.push(format!("if (rex_has_last{leads}) {copy}"));
        }
        lines.extend(keep_assigned(&plan.lastprivates, plan.space));
        for linear in &plan.linears {
            let name = &linear.name;
            let value = self.linear_at(linear, &trips_name);
            lines.push(format!("if (rex_has_last) {name}__outer = {value};"));
        }
        for kept in &plan.final_values {
            if let Some(canonical) = loops.get(kept.depth) {
                let trips = if loops.len() == 1 {
                    trips_name.clone()
                } else {
                    format!("{trips_name}_{}", kept.depth)
                };
                let value = self.iteration_value(canonical, &trips);
                let first = first_thread(plan.space);
                let target = match &kept.target {
                    LastprivateTarget::Parameter(parameter) => format!("*{parameter}"),
                    LastprivateTarget::Outer => format!("{}__outer", canonical.variable),
                };
                lines.push(match first {
                    Some(first) => format!("if ({first}) {target} = {value};"),
                    None => format!("{target} = {value};"),
                });
            }
        }
        lines.extend(self.combine(&plan.reductions));
        let has_outer = |plan: &LastprivatePlan| plan.target == LastprivateTarget::Outer;
        if plan.space == IterationSpace::Grid && !plan.lastprivates.iter().any(has_outer) {
            return lines;
        }
        let mut wrapped = block(lines);
        if let (true, IterationSpace::Crew(crew)) = (plan.waits, plan.space) {
            wrapped.extend(barrier(crew));
        }
        wrapped
    }

    /// Which iteration of the outer loops is the last one whose inner loops, that depend on it, are not empty.
    fn last_of_uneven(&self, plan: &LoopPlan, trips: &str) -> Vec<String> {
        let nest = &self.program.nests[plan.nest];
        let (outer, inner) = nest.loops.split_at(plan.depth);
        let mut lines = vec![format!(
            "const uint64_t rex_last = rex_last_of({trips}, [&](uint64_t rex_outer) {{"
        )];
        for (idx, canonical) in outer.iter().enumerate() {
            lines.push(format!(
                "{STEP}{}",
                self.loop_variable(canonical, idx, outer.len(), "rex_outer", trips)
            ));
        }
        for canonical in inner.iter().filter(|it| !it.declares_variable) {
            let types = &self.program.types;
            let declared = types.declare(canonical.ty, &canonical.variable);
            lines.push(format!("{STEP}{declared};"));
        }
        let heads: Vec<String> = inner
            .iter()
            .map(|canonical| self.words_of(self.head_of(canonical)))
            .collect();
        lines.push(format!("{STEP}{} return true;", heads.join(" ")));
        lines.push(format!("{STEP}return false;"));
        lines.push("});".to_string());
        lines
    }

    /// `for (..; ..; ..)`
    fn head_of(&self, canonical: &CanonicalLoop) -> TextRange {
        let mut depth = 0;
        let mut end = canonical.range.end();
        for token in lex::tokens(self.program.source(), canonical.range) {
            match token.text(self.program.source()) {
                "(" => depth += 1,
                ")" if depth == 1 => {
                    end = token.range.end();
                    break;
                }
                ")" => depth -= 1,
                _ => {}
            }
        }
        TextRange::new(canonical.range.start(), end)
    }

    /// The heads of the loop over the iteration numbers: one, or two for chunks.
    fn heads(&self, plan: &LoopPlan, variable: &str, trips: &str) -> Vec<String> {
        let (start, stride) = share(plan.space);
        let Some(chunk) = &plan.chunk else {
            return vec![format!(
                "for (uint64_t {variable} = {start}; {variable} < {trips}; {variable} += {stride}) {{"
            )];
        };
        if let Chunk::OfBoth(teams, threads) = chunk {
            let print = |size| expr::print(self.program, self, size);
            return vec![
                format!("const uint64_t rex_chunk = {};", print(teams)),
                format!("const uint64_t rex_thread_chunk = {};", print(threads)),
                format!(
                    "for (uint64_t rex_first = blockIdx.x * rex_chunk; rex_first < {trips}; rex_first += gridDim.x * rex_chunk)"
                ),
                "for (uint64_t rex_part = threadIdx.x * rex_thread_chunk; rex_part < rex_chunk; rex_part += blockDim.x * rex_thread_chunk)".into(),
                format!(
                    "for (uint64_t {variable} = rex_first + rex_part; {variable} < {trips} && {variable} < rex_first + rex_chunk && {variable} < rex_first + rex_part + rex_thread_chunk; ++{variable}) {{"
                ),
            ];
        }
        // The threads that share a team's chunk, if they do.
        let threads = match (plan.space, chunk) {
            (_, Chunk::OfThreads(_)) => None,
            (IterationSpace::Grid | IterationSpace::League(Crew::Block), _) => Some("blockDim.x"),
            (IterationSpace::League(Crew::Part), _) => Some("rex_threads"),
            _ => None,
        };
        let (start, stride) = match threads {
            Some(_) => ("blockIdx.x", "gridDim.x"),
            None => (start, stride),
        };
        let chunk = match chunk {
            Chunk::Given(chunk) | Chunk::OfThreads(chunk) => expr::print(self.program, self, chunk),
            Chunk::OfBoth(..) | Chunk::Even => format!("({trips} + {stride} - 1) / {stride}"),
        };
        let (inner, step) = match threads {
            Some(threads) => (
                "rex_first + threadIdx.x",
                format!("{variable} += {threads}"),
            ),
            None => ("rex_first", format!("++{variable}")),
        };
        vec![
            format!("const uint64_t rex_chunk = {chunk};"),
            format!(
                "for (uint64_t rex_first = {} * rex_chunk; rex_first < {trips}; rex_first += {stride} * rex_chunk)",
                operand(start)
            ),
            format!(
                "for (uint64_t {variable} = {inner}; {variable} < {trips} && {variable} < rex_first + rex_chunk; {step}) {{"
            ),
        ]
    }

    /// Whether the iterations name a loop's variable.
    fn is_named(&self, plan: &LoopPlan, canonical: &CanonicalLoop) -> bool {
        let program = self.program;
        let nest = &program.nests[plan.nest];
        let iteration = match nest.loops.get(plan.depth) {
            Some(inner) => inner.among.unwrap_or(inner.range),
            None => nest.body,
        };
        let name = canonical.variable.as_str();
        let expands_to_it = |word: &str, at| {
            program.macro_at(word, at).is_some()
                && program
                    .macro_names(word, at)
                    .iter()
                    .any(|inner| *inner == name)
        };
        canonical.element.is_some()
            || !canonical.declares_variable
            || lex::identifiers(program.source(), iteration).any(|at| {
                let word = program.text(at);
                word == name || expands_to_it(word, at)
            })
    }

    /// Whether the loop body declares a name at its top level that the loop variables have, or contains a `break`-free redeclaration.
    fn body_hides(&self, plan: &LoopPlan, loops: &[CanonicalLoop]) -> bool {
        let nest = &self.program.nests[plan.nest];
        let body = match &plan.body {
            Plan::Text(text) => text.range,
            _ => nest.body,
        };
        let scope = self.program.scopes.innermost(body);
        let names = &self.program.scopes.scope(scope).names;
        self.program.scopes.scope(scope).range == body
            && loops
                .iter()
                .any(|canonical| names.get(&canonical.variable).is_some())
    }
}

/// The variable that counts the iterations.
pub(super) fn iteration_number(space: IterationSpace) -> &'static str {
    match space {
        IterationSpace::Grid => "rex_i",
        IterationSpace::Teams => "rex_team_i",
        IterationSpace::Crew(_) | IterationSpace::League(_) => "rex_thread_i",
    }
}

/// The first iteration of one of those who share them, and how far it is to the next.
pub(super) fn share(space: IterationSpace) -> (&'static str, &'static str) {
    match space {
        IterationSpace::Grid | IterationSpace::League(Crew::Block) => (
            "blockIdx.x * (uint64_t)blockDim.x + threadIdx.x",
            "(uint64_t)gridDim.x * blockDim.x",
        ),
        IterationSpace::League(Crew::Part) => (
            "blockIdx.x * (uint64_t)rex_threads + threadIdx.x",
            "(uint64_t)gridDim.x * rex_threads",
        ),
        IterationSpace::League(Crew::Caller | Crew::One) => ("blockIdx.x", "gridDim.x"),
        IterationSpace::Teams => ("blockIdx.x", "gridDim.x"),
        IterationSpace::Crew(Crew::Block) => ("threadIdx.x", "blockDim.x"),
        IterationSpace::Crew(Crew::Part) => ("threadIdx.x", "rex_threads"),
        IterationSpace::Crew(Crew::Caller) => ("omp_get_thread_num()", "omp_get_num_threads()"),
        IterationSpace::Crew(Crew::One) => ("0", "1"),
    }
}

/// The condition that holds for one of those who share a loop.
fn first_thread(space: IterationSpace) -> Option<&'static str> {
    match space {
        IterationSpace::Grid | IterationSpace::League(_) => {
            Some("blockIdx.x == 0 && threadIdx.x == 0")
        }
        IterationSpace::Crew(Crew::Caller) => Some("omp_get_thread_num() == 0"),
        IterationSpace::Crew(Crew::One) => None,
        IterationSpace::Teams | IterationSpace::Crew(_) => Some("threadIdx.x == 0"),
    }
}
