//! Loops with a scan: one iteration for each thread at a time, and the sums across them.

use rex_ir::kernel::{Crew, IterationSpace, Plan, ScanKind, ScanPlan};
use rex_ir::region::CanonicalLoop;

use super::lines::{block, headed, unbraced};
use super::loops::share;
use super::reduction::operation;
use super::team::barrier;
use super::{BodyPrinter, STEP};

const VARIABLE: &str = "rex_thread_i";
const TRIPS: &str = "rex_thread_trips";

impl BodyPrinter<'_> {
    pub(super) fn scan(&self, plan: &ScanPlan, indent: &str) -> Vec<String> {
        let loops = &self.program.nests[plan.nest].loops[..plan.depth];
        let (start, stride) = share(IterationSpace::Crew(plan.crew));
        let mut lines = Vec::new();
        lines.extend(self.prologue(&plan.privates));
        for reduction in &plan.reductions {
            let name = &reduction.name;
            let outer = self.declare_reference(reduction.ty, &format!("{name}__outer"));
            let before = self.declare_mutable(reduction.ty, &format!("{name}__before"));
            lines.push(format!("{outer} = {name};"));
            lines.push(format!("{before} = {name}__outer;"));
        }
        lines.extend(self.trips(loops, TRIPS));
        let mut tile = vec![format!("const uint64_t {VARIABLE} = rex_tile + {start};")];
        for reduction in &plan.reductions {
            let declared = self.declare_mutable(reduction.ty, &reduction.name);
            let identity = self.identity(&reduction.operation);
            let operation = operation(self.program, &reduction.operation);
            let ty = self.value_type(reduction.ty);
            tile.push(format!("{declared} = {operation}::{identity}<{ty}>();"));
        }
        tile.extend(self.phase(loops, &plan.input, indent));
        for reduction in &plan.reductions {
            let name = &reduction.name;
            let kind = match plan.kind {
                ScanKind::Inclusive => "inclusive",
                ScanKind::Exclusive => "exclusive",
            };
            let threads = match plan.crew {
                Crew::Block => "",
                Crew::Part => ", rex_threads",
                Crew::Caller => ", omp_get_num_threads()",
                Crew::One => ", 1",
            };
            tile.push(format!(
                "rex_scan_{kind}<{}>({name}__before, {name}{threads});",
                operation(self.program, &reduction.operation)
            ));
        }
        tile.extend(self.phase(loops, &plan.output, indent));
        lines.extend(headed(
            &format!("for (uint64_t rex_tile = 0; rex_tile < {TRIPS}; rex_tile += {stride})"),
            block(tile),
        ));
        for reduction in &plan.reductions {
            let name = &reduction.name;
            let copy = format!("{name}__outer = {name}__before;");
            lines.push(match plan.crew {
                Crew::One => copy,
                Crew::Block | Crew::Part | Crew::Caller => format!("if ({start} == 0) {copy}"),
            });
        }
        let mut lines = block(lines);
        if plan.waits {
            lines.extend(barrier(plan.crew));
        }
        lines
    }

    /// One phase of the iteration that a thread has in this tile, if it has one.
    fn phase(&self, loops: &[CanonicalLoop], phase: &Plan, indent: &str) -> Vec<String> {
        let body = self.plan(phase, &format!("{indent}{STEP}{STEP}"));
        if body.iter().all(|line| line.trim().is_empty()) {
            return Vec::new();
        }
        let mut lines: Vec<String> = loops
            .iter()
            .enumerate()
            .map(|(idx, canonical)| {
                self.loop_variable(canonical, idx, loops.len(), VARIABLE, TRIPS)
            })
            .collect();
        lines.extend(unbraced(body));
        headed(&format!("if ({VARIABLE} < {TRIPS})"), block(lines))
    }
}
