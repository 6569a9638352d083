//! Loops whose iterations are shared among threads.

use rex_ir::kernel::{Crew, IterationSpace, LastprivatePlan, LastprivateTarget, LoopPlan, Plan};
use rex_ir::region::{CanonicalLoop, LoopStep, Relation};
use rex_ir::ty::{Meaning, TypeId, TypeKind};

use super::lines::{block, is_braced, operand, step_in};
use super::team::barrier;
use super::{BodyPrinter, STEP};

impl BodyPrinter<'_> {
    pub(super) fn shared_loop(&self, plan: &LoopPlan, indent: &str) -> Vec<String> {
        let nest = &self.program.nests[plan.nest];
        let loops = &nest.loops[..plan.depth.min(nest.loops.len())];
        let variable = match plan.space {
            IterationSpace::Grid => "rex_i",
            IterationSpace::Teams => "rex_team_i",
            IterationSpace::Crew(_) | IterationSpace::Thread => "rex_thread_i",
        };
        let (start, stride) = match plan.space {
            IterationSpace::Grid => (
                "blockIdx.x * (uint64_t)blockDim.x + threadIdx.x",
                "(uint64_t)gridDim.x * blockDim.x",
            ),
            IterationSpace::Teams => ("blockIdx.x", "gridDim.x"),
            IterationSpace::Crew(Crew::Block) => ("threadIdx.x", "blockDim.x"),
            IterationSpace::Crew(Crew::Part) => ("threadIdx.x", "rex_threads"),
            IterationSpace::Crew(Crew::Caller) => ("omp_get_thread_num()", "omp_get_num_threads()"),
            IterationSpace::Thread => ("0", "1"),
        };
        let trips_name = variable.replace("_i", "_trips");
        let mut lines = Vec::new();
        let mut privates = Vec::new();
        for line in &plan.privates {
            privates.extend(self.prologue(line));
        }
        lines.extend(self.accumulators(&plan.reductions));
        lines.extend(privates);
        for lastprivate in &plan.lastprivates {
            lines.extend(self.lastprivate_copy(lastprivate, plan.space));
        }
        if let [only] = loops {
            lines.push(format!(
                "const uint64_t {trips_name} = {};",
                self.trip_count(only)
            ));
        } else {
            let mut product = Vec::new();
            for (idx, canonical) in loops.iter().enumerate() {
                lines.push(format!(
                    "const uint64_t {trips_name}_{idx} = {};",
                    self.trip_count(canonical)
                ));
                product.push(format!("{trips_name}_{idx}"));
            }
            lines.push(format!(
                "const uint64_t {trips_name} = {};",
                product.join(" * ")
            ));
        }
        lines.push(format!(
            "for (uint64_t {variable} = {start}; {variable} < {trips_name}; {variable} += {stride}) {{"
        ));
        for (idx, canonical) in loops.iter().enumerate() {
            lines.push(format!(
                "{STEP}{}",
                self.loop_variable(canonical, idx, loops.len(), variable, &trips_name)
            ));
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
        for lastprivate in &plan.lastprivates {
            let leads = match plan.space {
                IterationSpace::Teams => " && threadIdx.x == 0",
                _ => "",
            };
            lines.push(format!(
                "{STEP}if ({variable} == {trips_name} - 1{leads}) {}",
                self.copy_of(
                    lastprivate.ty,
                    &lastprivate_target(lastprivate),
                    &lastprivate.name
                )
            ));
        }
        lines.push("}".to_string());
        for (idx, target) in &plan.final_values {
            if let Some(canonical) = loops.get(*idx) {
                let trips = if loops.len() == 1 {
                    trips_name.clone()
                } else {
                    format!("{trips_name}_{idx}")
                };
                let value = self.iteration_value(canonical, &trips);
                let first = if plan.space == IterationSpace::Grid {
                    "blockIdx.x == 0 && threadIdx.x == 0"
                } else {
                    "threadIdx.x == 0"
                };
                lines.push(format!("if ({first}) *{target} = {value};"));
            }
        }
        lines.extend(self.combine(&plan.reductions));
        if plan.space == IterationSpace::Grid {
            return lines;
        }
        let mut wrapped = block(lines);
        if let (true, IterationSpace::Crew(crew)) = (plan.waits, plan.space) {
            wrapped.push(barrier(crew));
        }
        wrapped
    }

    /// The declaration of the copy of a lastprivate variable.
    fn lastprivate_copy(&self, plan: &LastprivatePlan, space: IterationSpace) -> Vec<String> {
        let mut lines = Vec::new();
        if plan.target == LastprivateTarget::Outer {
            let outer = self.declare_reference(plan.ty, &format!("{}__outer", plan.name));
            lines.push(format!("{outer} = {};", plan.name));
        }
        let declared = self.declare_mutable(plan.ty, &plan.name);
        let is_team = space == IterationSpace::Teams;
        lines.push(match is_team {
            true => format!("__shared__ {declared};"),
            false => format!("{declared};"),
        });
        if plan.is_firstprivate {
            let copy = self.copy_of(plan.ty, &plan.name, &lastprivate_target(plan));
            lines.push(match is_team {
                true => format!("if (threadIdx.x == 0) {copy}"),
                false => copy,
            });
            lines.extend(is_team.then(|| "__syncthreads();".to_string()));
        }
        lines
    }

    /// The statement that copies an object.
    fn copy_of(&self, ty: TypeId, to: &str, from: &str) -> String {
        let types = &self.program.types;
        let address = |object: &str| match object.strip_prefix('*') {
            Some(pointer) => pointer.to_string(),
            None => object.to_string(),
        };
        match types.get(types.desugar(ty)).kind {
            TypeKind::Array { .. } => format!(
                "memcpy({}, {}, sizeof({}));",
                address(to),
                address(from),
                types.spell(ty)
            ),
            _ => format!("{to} = {from};"),
        }
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
                .any(|canonical| names.contains_key(&canonical.variable))
    }

    fn loop_variable(
        &self,
        canonical: &CanonicalLoop,
        idx: usize,
        depth: usize,
        variable: &str,
        trips: &str,
    ) -> String {
        let mut index = variable.to_string();
        if idx + 1 < depth {
            let inner: Vec<String> = (idx + 1..depth)
                .map(|inner| format!("{trips}_{inner}"))
                .collect();
            index = format!("rex_quotient({index}, {})", inner.join(" * "));
        }
        if idx > 0 {
            index = format!("rex_remainder({index}, {trips}_{idx})");
        }
        let declared = self
            .program
            .types
            .declare(canonical.ty, &canonical.variable);
        format!("{declared} = {};", self.iteration_value(canonical, &index))
    }

    /// The loop variable's value in the iteration with this number.
    fn iteration_value(&self, canonical: &CanonicalLoop, index: &str) -> String {
        let types = &self.program.types;
        let lower = self.words_of(canonical.lower);
        let lower = lower.trim();
        let (sign, step) = match canonical.step {
            LoopStep::Increment => ("+", None),
            LoopStep::Decrement => ("-", None),
            LoopStep::Add(step) => ("+", Some(step)),
            LoopStep::Subtract(step) => ("-", Some(step)),
        };
        let distance = match step {
            None => index.to_string(),
            Some(step) => format!("{index} * {}", operand(self.words_of(step).trim())),
        };
        let value = if lower == "0" && sign == "+" {
            distance
        } else {
            format!("{} {sign} {distance}", operand(lower))
        };
        if matches!(
            types.get(types.desugar(canonical.ty)).kind,
            TypeKind::Pointer(_)
        ) {
            return value;
        }
        let ty = types.spell(canonical.ty);
        match types.get(types.desugar(canonical.ty)).kind {
            TypeKind::Named {
                meaning: Meaning::Integer { .. } | Meaning::Enum,
                ..
            } => format!("({ty}){}", operand(&value)),
            _ => format!("static_cast<{ty}>({value})"),
        }
    }

    fn trip_count(&self, canonical: &CanonicalLoop) -> String {
        let lower = self.words_of(canonical.lower);
        let bound = self.words_of(canonical.bound);
        let (lower, bound) = (lower.trim(), bound.trim());
        let (negative, step) = match canonical.step {
            LoopStep::Increment => (false, "1".to_string()),
            LoopStep::Decrement => (true, "1".to_string()),
            LoopStep::Add(step) => (false, self.words_of(step).trim().to_string()),
            LoopStep::Subtract(step) => (true, self.words_of(step).trim().to_string()),
        };
        let negated = || format!("-{}", operand(&step));
        let (function, step) = match canonical.relation {
            Relation::Less => ("rex_trips_lt", if negative { negated() } else { step }),
            Relation::LessEqual => ("rex_trips_le", if negative { negated() } else { step }),
            Relation::Greater => ("rex_trips_gt", if negative { step } else { negated() }),
            Relation::GreaterEqual => ("rex_trips_ge", if negative { step } else { negated() }),
            Relation::NotEqual => ("rex_trips_ne", if negative { negated() } else { step }),
        };
        // The comparison is between the variable, not its first value, and the bound.
        let types = &self.program.types;
        let ty = types.spell(canonical.ty);
        let is_int =
            ty == "int" && lower.bytes().all(|byte| byte.is_ascii_digit()) && lower.len() < 10;
        if is_int {
            return format!("{function}({lower}, {bound}, {step})");
        }
        format!("{function}(({ty}){}, {bound}, {step})", operand(lower))
    }
}

fn lastprivate_target(plan: &LastprivatePlan) -> String {
    match &plan.target {
        LastprivateTarget::Parameter(parameter) => format!("*{parameter}"),
        LastprivateTarget::Outer => format!("{}__outer", plan.name),
    }
}
