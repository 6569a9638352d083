//! Variables of which threads have copies that come from the loop's beginning or go with its end: `lastprivate`, `linear`.

use rex_ir::kernel::{
    Crew, IterationSpace, KeptValue, LastprivatePlan, LastprivateTarget, LinearPlan, LoopPlan,
    Prologue,
};
use rex_ir::region::CanonicalLoop;
use rex_ir::ty::{TypeId, TypeKind};

use crate::common::{classes, expr};
use crate::device::body::sized::sized_outer;
use crate::device::body::team::barrier;
use crate::device::body::{BLOCK_BARRIER, BodyPrinter};

impl BodyPrinter<'_> {
    /// The values of linear variables before the loop, read before anybody stores the last one.
    pub(super) fn linear_starts(&self, plan: &LoopPlan) -> Vec<String> {
        let mut lines = Vec::new();
        for linear in &plan.linears {
            let name = &linear.name;
            lines.push(format!(
                "{} = {name};",
                self.declare_reference(linear.ty, &format!("{name}__outer"))
            ));
            lines.push(format!(
                "{} = {name};",
                self.declare_mutable(linear.ty, &format!("{name}__start"))
            ));
        }
        if let (false, IterationSpace::Crew(crew)) = (lines.is_empty(), plan.space) {
            lines.extend(barrier(crew));
        }
        lines
    }

    pub(super) fn linear_value(&self, linear: &LinearPlan, index: &str) -> String {
        let declared = self.declare_mutable(linear.ty, &linear.name);
        format!("{declared} = {};", self.linear_at(linear, index))
    }

    /// The value of a linear variable in the iteration with this number.
    pub(super) fn linear_at(&self, linear: &LinearPlan, index: &str) -> String {
        let distance = match &linear.step {
            None => index.to_string(),
            Some(step) => format!(
                "{index} * {}",
                expr::print_operand(self.program, self, step)
            ),
        };
        format!("{}__start + (int64_t)({distance})", linear.name)
    }

    /// References to loop variables that keep their value after the loop.
    pub(super) fn final_references(&self, plan: &LoopPlan, loops: &[CanonicalLoop]) -> Vec<String> {
        plan.final_values
            .iter()
            .filter(|kept| kept.target == LastprivateTarget::Outer)
            .filter_map(|kept| loops.get(kept.depth))
            .map(|canonical| {
                let name = &canonical.variable;
                format!(
                    "{} = {name};",
                    self.declare_reference(canonical.ty, &format!("{name}__outer"))
                )
            })
            .collect()
    }

    /// The declaration of the copy of a lastprivate variable.
    pub(in crate::device::body) fn lastprivate_copy(
        &self,
        plan: &LastprivatePlan,
        space: IterationSpace,
    ) -> Vec<String> {
        let is_team = space == IterationSpace::Teams;
        let is_sized = self.program.types.is_variably_modified(plan.ty);
        let (name, ty) = (plan.name.clone(), plan.ty);
        let mut lines = Vec::new();
        let prologue = match (&plan.target, plan.is_firstprivate) {
            (LastprivateTarget::Outer, true) => match is_team {
                true => Prologue::SharedCopyOfOuter { name, ty },
                false => Prologue::CopyOfOuter { name, ty },
            },
            (LastprivateTarget::Parameter(parameter), true) if !is_sized => {
                Prologue::copy_behind(name, ty, parameter.clone(), is_team)
            }
            (target, _) => {
                if *target == LastprivateTarget::Outer {
                    let outer = format!("{name}__outer");
                    lines.push(match is_sized {
                        true => sized_outer(&name),
                        false => format!("{} = {name};", self.declare_reference(ty, &outer)),
                    });
                }
                match is_team {
                    true => Prologue::SharedPrivate { name, ty },
                    false => Prologue::Private { name, ty },
                }
            }
        };
        lines.extend(self.prologue(&[prologue]));
        if plan.is_firstprivate && is_sized && plan.target != LastprivateTarget::Outer {
            let copy = self.copy_of(plan.ty, &plan.name, &lastprivate_target(plan));
            lines.push(match is_team {
                true => format!("if (threadIdx.x == 0) {copy}"),
                false => copy,
            });
            lines.extend(is_team.then(|| BLOCK_BARRIER.to_string()));
        }
        if plan.kept == KeptValue::LastAssigned {
            lines.push(format!("uint64_t {}__at = 0;", plan.name));
        }
        lines
    }

    /// The statement that copies an object.
    pub(in crate::device::body) fn copy_of(&self, ty: TypeId, to: &str, from: &str) -> String {
        let types = &self.program.types;
        let address = |object: &str| match object.strip_prefix('*') {
            Some(pointer) => pointer.to_string(),
            None => object.to_string(),
        };
        match types.get(types.desugar(ty)).kind {
            _ if types.is_variably_modified(ty) => self.sized_assignment(ty, to, from),
            TypeKind::Array { .. } if classes::has_class_elements(self.program, ty) => format!(
                "rex_assign_elements<{}>({}, {});",
                self.value_type(ty),
                address(to),
                address(from)
            ),
            TypeKind::Array { .. } => format!(
                "memcpy({}, {}, sizeof({}));",
                address(to),
                address(from),
                types.spell(ty)
            ),
            _ => format!("{to} = {from};"),
        }
    }
}

pub(in crate::device::body) fn lastprivate_target(plan: &LastprivatePlan) -> String {
    match &plan.target {
        LastprivateTarget::Parameter(parameter) => format!("*{parameter}"),
        LastprivateTarget::Outer => format!("{}__outer", plan.name),
    }
}

/// What stores the values that were assigned last.
pub(in crate::device::body) fn keep_assigned(
    plans: &[LastprivatePlan],
    space: IterationSpace,
) -> Vec<String> {
    let threads = match space {
        IterationSpace::Grid | IterationSpace::Teams => "",
        IterationSpace::Crew(crew) | IterationSpace::League(crew) => match crew {
            Crew::Block => "",
            Crew::Part => ", rex_threads",
            Crew::Caller => ", omp_get_num_threads()",
            Crew::One => ", 1",
        },
    };
    plans
        .iter()
        .filter(|plan| plan.kept == KeptValue::LastAssigned)
        .map(|plan| {
            let name = &plan.name;
            let target = lastprivate_target(plan);
            format!("rex_keep_assigned({target}, {name}, {name}__at{threads});")
        })
        .collect()
}

/// All copies of a variable that has a first and a last value are made before anybody stores the last one.
pub(in crate::device::body) fn first_before_last(
    plans: &[LastprivatePlan],
    space: IterationSpace,
) -> Option<String> {
    if !plans.iter().any(|plan| plan.is_firstprivate) {
        return None;
    }
    match space {
        // The region has one team.
        IterationSpace::Grid => Some(BLOCK_BARRIER.to_string()),
        IterationSpace::Crew(crew) | IterationSpace::League(crew) => barrier(crew),
        // The leader copies and stores.
        IterationSpace::Teams => None,
    }
}
