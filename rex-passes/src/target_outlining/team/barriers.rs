//! Barriers of sequential code: one where several pieces of the leader's follow each other.
//!
//! The leader's pieces are in order by themselves; the other threads have to wait for it only before somebody looks at what the team has.

use rex_ir::kernel::{Beginning, Plan};

/// Takes away the barriers behind which the leader goes on alone; `next` is what comes after the plan.
pub(in crate::target_outlining) fn merge(plan: &mut Plan, next: Beginning) {
    match plan {
        Plan::Leader { waits, .. } | Plan::Shared { waits, .. } => *waits = !next.is_free(),
        Plan::Sequence(plans) => merge_all(plans, next),
        Plan::UniformIf {
            then, otherwise, ..
        }
        | Plan::TeamIf {
            then, otherwise, ..
        } => {
            merge(then, next);
            if let Some(otherwise) = otherwise {
                merge(otherwise, next);
            }
        }
        Plan::UniformLoop { body, .. } => merge_turn(body, next),
        Plan::TeamLoop {
            init,
            condition,
            step,
            body,
            tests_first,
        } => {
            // The leader looks at what the team has for the condition and the step.
            let first = body.beginning().before(Beginning::Everybody);
            let turn = match condition.is_some() || step.is_some() {
                true => Beginning::Everybody,
                false => first,
            };
            if let Some(init) = init {
                merge(
                    init,
                    match *tests_first && condition.is_some() {
                        true => Beginning::Everybody,
                        false => first,
                    },
                );
            }
            merge(body, turn);
        }
        // The next case may follow.
        Plan::TeamSwitch { cases, .. } => {
            for case in cases {
                merge_all(&mut case.body, Beginning::Everybody);
            }
        }
        Plan::TeamRange(plan) => merge(&mut plan.body, Beginning::Everybody),
        Plan::Loop(plan) => {
            let keeps = !plan.reductions.is_empty()
                || !plan.lastprivates.is_empty()
                || !plan.final_values.is_empty()
                || !plan.linears.is_empty();
            let next = match keeps {
                true => Beginning::Everybody,
                false => next,
            };
            merge_turn(&mut plan.body, next);
        }
        Plan::Reduce { body, .. } => merge(body, Beginning::Everybody),
        _ => {}
    }
}

/// The same for plans that follow each other.
fn merge_all(plans: &mut [Plan], next: Beginning) {
    for idx in (0..plans.len()).rev() {
        let next = Beginning::of(&plans[idx + 1..]).before(next);
        merge(&mut plans[idx], next);
    }
}

/// The same for the body of a loop: behind it comes the next turn, or what follows the loop.
fn merge_turn(body: &mut Plan, next: Beginning) {
    let next = match body.beginning() == Beginning::Leader && next.is_free() {
        true => Beginning::Leader,
        false => Beginning::Everybody,
    };
    merge(body, next);
}
