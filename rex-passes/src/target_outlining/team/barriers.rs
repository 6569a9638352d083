//! Barriers of sequential code: one where several pieces of the leader's follow each other.
//!
//! The leader's pieces are in order by themselves; the other threads have to wait for it only before somebody looks at what the team has.

use rex_ir::kernel::{Beginning, Plan};

/// Takes away the barriers behind which the leader goes on alone; `next` is what comes after the plan.
pub(in crate::target_outlining) fn merge(plan: &mut Plan, next: Beginning) {
    match plan {
        Plan::Leader { waits, .. } | Plan::Shared { waits, .. } => {
            *waits = next != Beginning::Leader;
        }
        Plan::Sequence(plans) => {
            let mut next = next;
            for plan in plans.iter_mut().rev() {
                merge(plan, next);
                next = plan.beginning().before(next);
            }
        }
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
        Plan::UniformLoop { body, .. } => {
            // After the last turn comes what follows the loop.
            let next = match body.beginning() == Beginning::Leader {
                true => next,
                false => Beginning::Everybody,
            };
            merge(body, next);
        }
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
        Plan::TeamSwitch { cases, .. } => {
            // The next case may follow.
            for case in cases {
                let mut next = Beginning::Everybody;
                for plan in case.body.iter_mut().rev() {
                    merge(plan, next);
                    next = plan.beginning().before(next);
                }
            }
        }
        Plan::TeamRange(plan) => merge(&mut plan.body, Beginning::Everybody),
        Plan::Loop(plan) => merge(&mut plan.body, Beginning::Everybody),
        Plan::Reduce { body, .. } => merge(body, Beginning::Everybody),
        _ => {}
    }
}
