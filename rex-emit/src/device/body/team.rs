//! Team programs: parallel regions, loops of the team, objects in shared memory.

use rex_ir::effects::has_effects;
use rex_ir::expr::Expr;
use rex_ir::kernel::{
    BodyText, CasePlan, Crew, Finder, IterationSpace, KeptValue, ParallelPlan, Plan, RangeElement,
    RangePlan, ReductionPlan, SectionsPlan,
};
use rex_ir::ty::{Category, TypeId, TypeKind};
use rex_syntax::TextRange;

use super::leader::leader_block;
use super::lines::{block, headed, step_in, unbraced};
use super::loops::{first_before_last, keep_assigned, lastprivate_target, share};
use super::{BLOCK_BARRIER, BodyPrinter, STEP};
use crate::common::{classes, expr};
use crate::device::references;
use smol_str::SmolStr;

impl BodyPrinter<'_> {
    pub(super) fn parallel(&self, plan: &ParallelPlan, indent: &str) -> Vec<String> {
        let inner = format!("{indent}{STEP}");
        let mut lines = self.accumulators(&plan.reductions);
        lines.extend(self.prologue(&plan.privates));
        let declares = !lines.is_empty();
        lines.extend(self.plan(&plan.body, &inner));
        lines.extend(self.combine(&plan.reductions));
        if declares {
            lines = block(lines);
        }
        let threads = match &plan.threads {
            Some(threads) => self.computed_once(threads),
            None => "blockDim.x".to_string(),
        };
        let tracks = self.program.device_code.tracks_threads;
        let begin = if tracks { "rex_fork" } else { "rex_crew" };
        if plan.crew == Crew::Part {
            let mut part = vec![format!("const unsigned rex_threads = {begin}({threads});")];
            part.extend(headed("if (threadIdx.x < rex_threads)", lines));
            lines = block(part);
        } else if tracks {
            lines.insert(0, format!("{begin}({threads});"));
        }
        lines.push(match tracks {
            true => "rex_join();".to_string(),
            false => BLOCK_BARRIER.to_string(),
        });
        lines
    }

    /// A value that all threads use, computed by the leader if computing it can be noticed.
    fn computed_once(&self, value: &Expr) -> String {
        let mut sources = Vec::new();
        value.sources(&mut sources);
        let text = expr::print(self.program, self, value);
        let is_noticed = |range: &TextRange| has_effects(self.program, *range);
        match sources.iter().any(is_noticed) {
            true => format!("rex_leader([&] {{ return {text}; }})"),
            false => text,
        }
    }

    /// A parallel region of one thread.
    pub(super) fn serialized(&self, body: &Plan, indent: &str) -> Vec<String> {
        if !self.program.device_code.tracks_threads {
            return self.plan(body, indent);
        }
        let inner = self.plan(body, &format!("{indent}{STEP}"));
        let mut lines = vec!["rex_nested rex_alone;".to_string()];
        lines.extend(inner);
        block(lines)
    }

    /// Accumulators around a piece.
    pub(super) fn reduce(
        &self,
        reductions: &[ReductionPlan],
        body: &Plan,
        indent: &str,
    ) -> Vec<String> {
        let mut lines = self.accumulators(reductions);
        lines.extend(self.plan(body, indent));
        lines.extend(self.combine(reductions));
        lines
    }

    /// `single` and what is like it.
    pub(super) fn single(
        &self,
        crew: Crew,
        chosen: Option<&Expr>,
        body: &Plan,
        copied: &[SmolStr],
        waits: bool,
        indent: &str,
    ) -> Vec<String> {
        let number = match crew {
            Crew::Block | Crew::Part => "threadIdx.x",
            Crew::Caller => "omp_get_thread_num()",
            Crew::One => "0",
        };
        let chosen = match chosen {
            Some(chosen) => format!(
                "(unsigned){}",
                expr::print_operand(self.program, self, chosen)
            ),
            None => "0".to_string(),
        };
        let mut lines = self.braced(&format!("if ({number} == {chosen})"), body, indent);
        let threads = match crew {
            Crew::Block | Crew::One => "",
            Crew::Part => ", rex_threads",
            Crew::Caller => ", omp_get_num_threads()",
        };
        for name in copied {
            lines.push(format!("rex_copyprivate({name}{threads});"));
        }
        if waits && copied.is_empty() {
            lines.extend(barrier(crew));
        }
        lines
    }

    /// Sections that threads share.
    pub(super) fn sections(&self, plan: &SectionsPlan, indent: &str) -> Vec<String> {
        let inner = format!("{indent}{STEP}{STEP}{STEP}");
        let space = IterationSpace::Crew(plan.crew);
        let mut lines = self.accumulators(&plan.reductions);
        lines.extend(self.prologue(&plan.privates));
        for lastprivate in &plan.lastprivates {
            lines.extend(self.lastprivate_copy(lastprivate, space));
        }
        lines.extend(first_before_last(&plan.lastprivates, space));
        let (start, stride) = share(space);
        let count = plan.sections.len();
        lines.push(format!(
            "for (unsigned rex_section = {start}; rex_section < {count}; rex_section += {stride}) {{"
        ));
        lines.push(format!("{STEP}switch (rex_section) {{"));
        for (number, section) in plan.sections.iter().enumerate() {
            lines.push(format!("{STEP}case {number}: {{"));
            lines.extend(
                self.plan(section, &inner)
                    .iter()
                    .map(|line| step_in(&step_in(line))),
            );
            if number + 1 == count {
                let kept = plan.lastprivates.iter();
                let of_last = kept.filter(|plan| plan.kept == KeptValue::OfLast);
                lines.extend(of_last.map(|kept| {
                    let copy = self.copy_of(kept.ty, &lastprivate_target(kept), &kept.name);
                    format!("{STEP}{STEP}{copy}")
                }));
            }
            lines.push(format!("{STEP}{STEP}break;"));
            lines.push(format!("{STEP}}}"));
        }
        lines.push(format!("{STEP}}}"));
        lines.push("}".to_string());
        lines.extend(keep_assigned(&plan.lastprivates, space));
        lines.extend(self.combine(&plan.reductions));
        let mut lines = block(lines);
        if plan.waits {
            lines.extend(barrier(plan.crew));
        }
        lines
    }

    /// `switch` on the leader's value.
    pub(super) fn team_switch(
        &self,
        condition: &BodyText,
        cases: &[CasePlan],
        indent: &str,
    ) -> Vec<String> {
        let inner = format!("{indent}{STEP}{STEP}");
        let condition = self.text(condition, indent);
        let mut lines = vec![format!(
            "switch (rex_leader([&] {{ return {condition}; }})) {{"
        )];
        for case in cases {
            lines.push(match &case.value {
                Some(value) => format!("case {}: {{", self.text(value, indent)),
                None => "default: {".to_string(),
            });
            lines.extend(
                self.plans(&case.body, &inner)
                    .iter()
                    .map(|line| step_in(line)),
            );
            lines.push("}".to_string());
        }
        lines.push("}".to_string());
        lines
    }

    pub(super) fn team_loop(
        &self,
        init: Option<&Plan>,
        condition: Option<&BodyText>,
        step: Option<&BodyText>,
        body: &Plan,
        tests_first: bool,
        indent: &str,
    ) -> Vec<String> {
        let inner = format!("{indent}{STEP}");
        let mut lines = Vec::new();
        if let Some(init) = init {
            let mut first = self.plan(init, indent);
            for line in &mut first {
                if !line.ends_with([';', '{', '}']) {
                    line.push(';');
                }
            }
            lines.extend(first);
        }
        let test = condition.map(|condition| {
            format!(
                "__syncthreads_or(threadIdx.x == 0 && ({}))",
                self.text(condition, indent)
            )
        });
        if !tests_first {
            let mut turn = headed("do", self.plan(body, &inner));
            let test = test.unwrap_or_else(|| "true".to_string());
            if let Some(last) = turn.last_mut() {
                last.push_str(&format!(" while ({test});"));
            }
            lines.extend(turn);
            return lines;
        }
        let step = step.map(|step| {
            let step = self.text(step, indent);
            format!("rex_sequential([&] {{ {step}; }})")
        });
        let head = match (test, step) {
            (Some(test), None) => format!("while ({test})"),
            (None, None) => "for (;;)".to_string(),
            (test, Some(step)) => format!("for (; {}; {step})", test.unwrap_or_default()),
        };
        lines.extend(headed(&head, self.plan(body, &inner)));
        lines
    }

    /// A range-based loop: every thread has the iterator.
    pub(super) fn team_range(&self, plan: &RangePlan, indent: &str) -> Vec<String> {
        let range = self.text(&plan.range, indent);
        let range = range.trim();
        let iterator = format!("auto rex_item = rex_range_begin({range})");
        let end = format!("rex_end = rex_item + rex_range_size({range})");
        let element = match &plan.element {
            RangeElement::Reference(declaration) => {
                vec![format!("{} = *rex_item;", self.words_of(*declaration))]
            }
            RangeElement::Copy(declaration) => vec![
                format!("{} = *rex_item;", self.words_of(*declaration)),
                BLOCK_BARRIER.to_string(),
            ],
            RangeElement::Shared { name, ty } => {
                let mut lines = self.shared_object(*ty, name);
                let copy = self.shared_copy(*ty, name, "*rex_item", "*rex_item");
                lines.extend(leader_block(&mut vec![copy]));
                lines
            }
        };
        let inner = format!("{indent}{STEP}");
        let turn = |head: &str| {
            let mut lines = element.clone();
            lines.extend(unbraced(self.plan(&plan.body, &inner)));
            headed(head, block(lines))
        };
        if !plan.reads_memory {
            return turn(&format!(
                "for ({iterator}, {end}; rex_item != rex_end; ++rex_item)"
            ));
        }
        let mut lines = vec![format!("{iterator}, {end};"), BLOCK_BARRIER.to_string()];
        lines.extend(turn("for (; rex_item != rex_end; ++rex_item)"));
        block(lines)
    }

    /// A reference of sequential code.
    pub(super) fn reference(
        &self,
        name: &str,
        ty: TypeId,
        value: &str,
        finder: Finder,
    ) -> Vec<String> {
        let types = &self.program.types;
        let declared = types.declare(ty, name);
        match finder {
            Finder::Everybody => vec![format!("{declared} = {value};")],
            Finder::Leader => {
                vec![format!(
                    "{declared} = *rex_leader([&] {{ return &({value}); }});"
                )]
            }
            Finder::LeaderOrTemporary => {
                let to = types.object_type(ty);
                let target = match types.mentions_auto(to) {
                    true => format!("const rex_referred<decltype(({value}))>"),
                    false => types.spell(to),
                };
                let binding = format!("{target}, decltype(({value}))");
                let temporary = format!("rex_temporary<{binding}>");
                let storage = format!("{name}__storage");
                let given = references::value_of(value);
                let mut lines = vec![
                    format!("__shared__ rex_storage<{temporary}> {storage};"),
                    format!(
                        "{declared} = *rex_leader([&] {{ return rex_bind_at<{binding}>({storage}.bytes, {given}); }});"
                    ),
                ];
                if classes::has_destructor(self.program, to) {
                    lines.push(format!(
                        "rex_destructor<{temporary}> {name}__end({storage}.rex_object());"
                    ));
                }
                lines
            }
        }
    }

    /// What the leader stores first in an object of the team.
    pub(super) fn stored_first(
        &self,
        name: &str,
        ty: TypeId,
        initializer: Option<&BodyText>,
        indent: &str,
    ) -> Option<String> {
        let types = &self.program.types;
        let has_constructor = classes::has_constructor(self.program, ty);
        let Some(initializer) = initializer else {
            return has_constructor.then(|| format!("rex_construct({name});"));
        };
        let value = self.text(initializer, indent);
        let value = value.trim();
        // The arguments of `T x(a, b)`, and no value.
        let before = &self.program.source()[..usize::from(initializer.range.start())];
        let is_direct = value.starts_with('(') && !before.trim_end().ends_with('=');
        let is_array = matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. });
        let place = self.place_of(ty, name);
        Some(if is_array && has_constructor && value.starts_with('{') {
            format!(
                "::new ({place}) rex_elements_of<{}>{{{value}}};",
                self.value_type(ty)
            )
        } else if is_array {
            format!(
                "{} = {value}; memcpy({name}, rex_initial, sizeof({name}));",
                types.declare(ty, "rex_initial")
            )
        } else if has_constructor {
            let arguments = match value.starts_with('{') || is_direct {
                true => value.to_string(),
                false => format!("({value})"),
            };
            let spelled = self.value_type(ty);
            classes::new_object(&place, &spelled, &arguments)
        } else if (value.starts_with('{') || is_direct)
            && types.record(ty).is_none()
            && !matches!(types.category(ty), Category::Scalar | Category::Pointer)
        {
            // It may be a class or an array.
            format!(
                "{}{value}; rex_assign({name}, rex_initial);",
                self.declare_mutable(ty, "rex_initial")
            )
        } else if value.starts_with('{') {
            let spelled = self.value_type(ty);
            match spelled.trim().contains(' ') {
                // `struct S{1, 2}` is no expression, and `Row<int, 3>` may be an array.
                true => format!(
                    "{} = {value}; rex_assign({name}, rex_initial);",
                    self.declare_mutable(ty, "rex_initial")
                ),
                false => format!("{name} = {}{value};", types.spell(ty)),
            }
        } else {
            format!("{name} = {value};")
        })
    }
}

/// The barrier of the threads that execute a parallel region.
pub(super) fn barrier(crew: Crew) -> Option<String> {
    match crew {
        Crew::Block => Some(BLOCK_BARRIER.to_string()),
        Crew::Part => Some("rex_barrier(rex_threads);".to_string()),
        Crew::Caller => Some("rex_team_barrier();".to_string()),
        Crew::One => None,
    }
}
