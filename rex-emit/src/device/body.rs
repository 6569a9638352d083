//! Bodies of device code: the user's text with plans in place of directives.

use std::collections::BTreeSet;

use rex_ir::expr::Expr;
use rex_ir::kernel::{
    AtomicForm, AtomicPlan, BodyText, IterationSpace, LastprivateTarget, LoopPlan, Plan, Prologue,
    ReductionPlan, ReductionTarget,
};
use rex_ir::program::Program;
use rex_ir::region::{CanonicalLoop, LoopStep, ReductionOperation, Relation};
use rex_ir::ty::{Meaning, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::lex;
use smol_str::SmolStr;

use super::kernel::{STEP, declare_pointer};
use crate::common::expr::{self, Words};
use crate::common::text::reindent;

/// The struct that implements a user-declared reduction.
pub(super) fn declared_operation(name: &str) -> String {
    format!("rex_reduction_{}", rex_ir::namer::identifier(name))
}

/// Names of the locks that critical sections of a plan need.
pub(super) fn locks_of(plan: &Plan, names: &mut BTreeSet<SmolStr>) {
    match plan {
        Plan::Critical { lock, body } => {
            names.insert(lock.clone());
            locks_of(body, names);
        }
        Plan::Text(text) => text
            .replacements
            .iter()
            .for_each(|(_, plan)| locks_of(plan, names)),
        Plan::Sequence(plans) => plans.iter().for_each(|plan| locks_of(plan, names)),
        Plan::Loop(inner) => locks_of(&inner.body, names),
        Plan::Parallel { body, .. }
        | Plan::Single { body, .. }
        | Plan::UniformLoop { body, .. }
        | Plan::Leader(body) => {
            locks_of(body, names);
        }
        Plan::UniformIf {
            then, otherwise, ..
        }
        | Plan::TeamIf {
            then, otherwise, ..
        } => {
            locks_of(then, names);
            if let Some(otherwise) = otherwise {
                locks_of(otherwise, names);
            }
        }
        Plan::TeamLoop { init, body, .. } => {
            if let Some(init) = init {
                locks_of(init, names);
            }
            locks_of(body, names);
        }
        Plan::Nothing
        | Plan::Declare(_)
        | Plan::Shared { .. }
        | Plan::Barrier
        | Plan::Fence
        | Plan::Atomic(_) => {}
    }
}

/// Prints plans. Lines come without the indentation of their block.
pub(super) struct BodyPrinter<'p> {
    program: &'p Program,
    words: &'p [(TextRange, SmolStr)],
}

impl Words for BodyPrinter<'_> {
    fn source(&self, range: TextRange) -> String {
        self.words_of(range)
    }

    fn name(&self, name: &str) -> String {
        name.to_string()
    }
}

impl<'p> BodyPrinter<'p> {
    pub(super) fn new(program: &'p Program, words: &'p [(TextRange, SmolStr)]) -> BodyPrinter<'p> {
        BodyPrinter { program, words }
    }

    /// The user's text for a range, with words replaced and without what the preprocessor skips.
    fn words_of(&self, range: TextRange) -> String {
        let mut out = String::new();
        let mut copied = range.start();
        let nothing = SmolStr::default();
        let hidden = crate::common::conditionals::hidden_in(self.program, range);
        let is_hidden = |at: TextRange| hidden.iter().any(|arm| arm.contains_range(at));
        let mut replaced: Vec<(TextRange, &SmolStr)> = self
            .words
            .iter()
            .filter(|(at, _)| range.contains_range(*at) && !is_hidden(*at))
            .map(|(at, word)| (*at, word))
            .chain(hidden.iter().map(|at| (*at, &nothing)))
            .collect();
        replaced.sort_by_key(|(at, _)| at.start());
        for (at, word) in replaced {
            out.push_str(self.program.text(TextRange::new(copied, at.start())));
            out.push_str(word);
            copied = at.end();
        }
        out.push_str(self.program.text(TextRange::new(copied, range.end())));
        out
    }

    /// A text with its replacements; `indent` is that of the line it starts on.
    pub(super) fn text(&self, text: &BodyText, indent: &str) -> String {
        let mut out = String::new();
        let mut copied = text.range.start();
        for (range, plan) in &text.replacements {
            out.push_str(&self.words_of(TextRange::new(copied, range.start())));
            let line_start = out.rfind('\n').map_or(0, |at| at + 1);
            let lead: String = out[line_start..]
                .chars()
                .take_while(|c| *c == ' ' || *c == '\t')
                .collect();
            let lead = match (line_start, lead.is_empty()) {
                (0, _) => indent.to_string(),
                (_, true) => self.statement_indent(*range),
                (_, false) => lead,
            };
            if out.ends_with('\n') {
                out.push_str(&lead);
            }
            let lines = self.plan(plan, &lead);
            if lines.is_empty() {
                out.push(';');
            } else if lines.len() > 1 && !is_braced(&lines) && !self.stands_in_block(*range) {
                // One statement stands where one stood.
                out.push_str("{\n");
                for line in &lines {
                    out.push_str(&format!("{lead}{STEP}{line}\n"));
                }
                out.push_str(&format!("{lead}}}"));
            } else {
                out.push_str(&lines.join(&format!("\n{lead}")));
            }
            copied = range.end();
        }
        out.push_str(&self.words_of(TextRange::new(copied, text.range.end())));
        out
    }

    /// Lines of a prologue entry.
    pub(super) fn prologue(&self, line: &Prologue) -> Vec<String> {
        let types = &self.program.types;
        match line {
            Prologue::Declaration(range) => {
                let text = self.program.text(*range).replace("\r\n", "\n");
                let text = text.trim_end();
                let end = if text.ends_with(';') { "" } else { ";" };
                vec![format!(
                    "{}{end}",
                    reindent(text, &self.source_indent(*range), STEP)
                )]
            }
            Prologue::Untagged(record) => {
                let record = &types.records[*record];
                let Some(body) = record.body else {
                    return Vec::new();
                };
                let before = &self.program.source()[..usize::from(body.start())];
                let keyword = match before.trim_end().ends_with("union") {
                    true => "union",
                    false => "struct",
                };
                let text = self.program.text(body).replace("\r\n", "\n");
                let body = reindent(&text, &self.source_indent(body), STEP);
                vec![format!("{keyword} {} {body};", record.name)]
            }
            Prologue::Captured {
                name,
                ty,
                parameter,
                is_firstprivate,
            } => {
                let value = self.value_type(*ty);
                let how = match is_firstprivate {
                    true => "rex_firstprivate",
                    false => "rex_captured",
                };
                vec![format!(
                    "typename {how}<{value}>::type {name} = {how}<{value}>::get({parameter});"
                )]
            }
            Prologue::Unpack {
                name,
                ty,
                parameter,
            } => vec![format!(
                "{} = reinterpret_cast<{}>({parameter});",
                declare_pointer(types, *ty, name),
                declare_pointer(types, *ty, "").trim_end()
            )],
            Prologue::Literal {
                name,
                ty,
                parameter,
            } => {
                let value = self.value_type(*ty);
                vec![format!(
                    "{} = rex_literal<{value}>({parameter});",
                    types.declare(*ty, name)
                )]
            }
            Prologue::SharedLiteral {
                name,
                ty,
                parameter,
            } => {
                let value = self.value_type(*ty);
                vec![
                    format!("__shared__ {};", self.declare_mutable(*ty, name)),
                    format!("if (threadIdx.x == 0) {name} = rex_literal<{value}>({parameter});"),
                    "__syncthreads();".to_string(),
                ]
            }
            Prologue::Reference {
                name,
                ty,
                parameter,
            } => {
                vec![format!(
                    "{} = *{parameter};",
                    self.declare_reference(*ty, name)
                )]
            }
            Prologue::ArrayReference {
                name,
                ty,
                parameter,
            } => {
                let pointer = types.declare(*ty, "(*)");
                vec![format!(
                    "{} = *reinterpret_cast<{pointer}>({parameter});",
                    self.declare_reference(*ty, name)
                )]
            }
            Prologue::View {
                name,
                element,
                extents,
                parameter,
            } => {
                let extents_text: Vec<String> = extents
                    .iter()
                    .map(|extent| expr::print(self.program, self, extent))
                    .collect();
                vec![format!(
                    "rex_view<{}, {}> {name}({parameter}, {});",
                    types.spell(*element),
                    extents.len(),
                    extents_text.join(", ")
                )]
            }
            Prologue::Private { name, ty } => vec![format!("{};", self.declare_mutable(*ty, name))],
            Prologue::CopyOfOuter { name, ty } => {
                let array = matches!(types.get(types.desugar(*ty)).kind, TypeKind::Array { .. });
                if array {
                    vec![
                        format!(
                            "{} = {name};",
                            self.declare_reference(*ty, &format!("{name}__outer"))
                        ),
                        format!("{};", self.declare_mutable(*ty, name)),
                        format!("memcpy({name}, {name}__outer, sizeof({name}));"),
                    ]
                } else {
                    vec![
                        format!(
                            "{} = {name};",
                            self.declare_reference(*ty, &format!("{name}__outer"))
                        ),
                        format!("{} = {name}__outer;", self.declare_mutable(*ty, name)),
                    ]
                }
            }
            Prologue::ThreadCopy {
                name,
                ty,
                parameter,
            } => {
                let array = matches!(types.get(types.desugar(*ty)).kind, TypeKind::Array { .. });
                if array {
                    vec![
                        format!("{};", self.declare_mutable(*ty, name)),
                        format!("memcpy({name}, {parameter}, sizeof({name}));"),
                    ]
                } else {
                    vec![format!(
                        "{} = *{parameter};",
                        self.declare_mutable(*ty, name)
                    )]
                }
            }
        }
    }

    fn declare_reference(&self, ty: TypeId, name: &str) -> String {
        let types = &self.program.types;
        match types.get(ty).kind {
            TypeKind::Array { .. } => types.declare(ty, &format!("(&{name})")),
            _ => types.declare(ty, &format!("&{name}")),
        }
    }

    /// A variable that can be assigned, whatever `const` the original has.
    fn declare_mutable(&self, ty: TypeId, name: &str) -> String {
        self.program.types.declare_mutable(ty, name)
    }

    /// The type a literal is read as.
    fn value_type(&self, ty: TypeId) -> String {
        self.program.types.declare_mutable(ty, "")
    }

    /// Lines of a plan. `indent` is what the caller puts before each line.
    pub(super) fn plan(&self, plan: &Plan, indent: &str) -> Vec<String> {
        match plan {
            Plan::Nothing => Vec::new(),
            Plan::Text(text) => self.statement(text, indent),
            Plan::Sequence(plans) => {
                let inner = format!("{indent}{STEP}");
                let mut lines = vec!["{".to_string()];
                for plan in plans {
                    lines.extend(
                        self.plan(plan, &inner)
                            .into_iter()
                            .map(|line| format!("{STEP}{line}")),
                    );
                }
                lines.push("}".to_string());
                lines
            }
            Plan::Declare(prologue) => prologue
                .iter()
                .flat_map(|line| self.prologue(line))
                .collect(),
            Plan::Loop(plan) => self.shared_loop(plan, indent),
            Plan::Parallel {
                num_threads,
                privates,
                reductions,
                body,
            } => self.parallel(num_threads.as_ref(), privates, reductions, body, indent),
            Plan::Leader(body) => {
                let mut lines = self.braced("if (threadIdx.x == 0)", body, indent);
                lines.push("__syncthreads();".to_string());
                lines
            }
            Plan::UniformIf {
                condition,
                then,
                otherwise,
            } => {
                let head = format!("if ({})", self.text(condition, indent));
                self.conditional(&head, then, otherwise.as_deref(), indent)
            }
            Plan::TeamIf {
                condition,
                then,
                otherwise,
            } => {
                let head = format!(
                    "if (rex_broadcast(threadIdx.x == 0 && ({})))",
                    self.text(condition, indent)
                );
                self.conditional(&head, then, otherwise.as_deref(), indent)
            }
            Plan::UniformLoop { head, body } => {
                let head = self.text(head, indent);
                self.braced(head.trim_end(), body, indent)
            }
            Plan::TeamLoop {
                init,
                condition,
                step,
                body,
                tests_first,
            } => self.team_loop(
                init.as_deref(),
                condition.as_ref(),
                step.as_ref(),
                body,
                *tests_first,
                indent,
            ),
            Plan::Shared {
                name,
                ty,
                initializer,
            } => self.shared(name, *ty, initializer.as_ref(), indent),
            Plan::Barrier => vec!["__syncthreads();".to_string()],
            Plan::Fence => vec!["__threadfence();".to_string()],
            Plan::Atomic(atomic) => self.atomic(atomic, indent),
            Plan::Critical { lock, body } => {
                self.braced(&format!("REX_CRITICAL({lock})"), body, indent)
            }
            Plan::Single { body, waits } => {
                let mut lines = self.braced("if (threadIdx.x == 0)", body, indent);
                if *waits {
                    lines.push("__syncthreads();".to_string());
                }
                lines
            }
        }
    }

    /// A statement of the user's, re-indented to where it stands now.
    fn statement(&self, text: &BodyText, indent: &str) -> Vec<String> {
        let own = self.text(text, &self.source_indent(text.range));
        let moved = reindent(
            &own.replace("\r\n", "\n"),
            &self.source_indent(text.range),
            "",
        );
        let _ = indent;
        moved.split('\n').map(str::to_string).collect()
    }

    /// Whether a construct stands among other statements of a block, where several may stand for one.
    fn stands_in_block(&self, range: TextRange) -> bool {
        let before = &self.program.source()[..usize::from(range.start())];
        before.trim_end().ends_with([';', '{', '}'])
    }

    /// The indentation of the statement of the construct with this range.
    fn statement_indent(&self, range: TextRange) -> String {
        let construct = self
            .program
            .constructs
            .values()
            .find(|construct| construct.range == range);
        match construct.and_then(|construct| construct.statement) {
            Some(statement) => self.source_indent(statement),
            None => {
                // It stands alone: as deep as what follows.
                let rest = &self.program.source()[usize::from(range.end())..];
                let line = rest
                    .lines()
                    .skip(1)
                    .find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
                    .unwrap_or("");
                line[..line.len() - line.trim_start().len()].to_string()
            }
        }
    }

    fn source_indent(&self, range: TextRange) -> String {
        rex_syntax::layout::indent_at(self.program.source(), range.start()).to_string()
    }

    /// `head { plan }`, braces of the plan's own reused.
    fn braced(&self, head: &str, plan: &Plan, indent: &str) -> Vec<String> {
        let inner = self.plan(plan, &format!("{indent}{STEP}"));
        if is_braced(&inner) {
            let mut lines = inner;
            lines[0] = format!("{head} {}", lines[0]);
            return lines;
        }
        let mut lines = vec![format!("{head} {{")];
        lines.extend(inner.into_iter().map(|line| step_in(&line)));
        lines.push("}".to_string());
        lines
    }

    fn conditional(
        &self,
        head: &str,
        then: &Plan,
        otherwise: Option<&Plan>,
        indent: &str,
    ) -> Vec<String> {
        let mut lines = self.braced(head, then, indent);
        if let Some(otherwise) = otherwise {
            lines.extend(self.braced("else", otherwise, indent));
        }
        lines
    }

    fn parallel(
        &self,
        num_threads: Option<&Expr>,
        privates: &[Prologue],
        reductions: &[ReductionPlan],
        body: &Plan,
        indent: &str,
    ) -> Vec<String> {
        let inner = format!("{indent}{STEP}");
        let to_grid = reductions
            .iter()
            .any(|reduction| matches!(reduction.target, ReductionTarget::Grid(_)));
        let mut lines = Vec::new();
        lines.extend(self.accumulators(reductions));
        for line in privates {
            lines.extend(self.prologue(line));
        }
        match num_threads {
            Some(count) => {
                let count = expr::print_operand(self.program, self, count);
                lines.extend(self.braced(&format!("if (threadIdx.x < {count})"), body, &inner));
            }
            None => lines.extend(self.plan(body, &inner)),
        }
        lines.extend(self.combine(reductions));
        if to_grid {
            return lines;
        }
        let mut wrapped = if reductions.is_empty() && privates.is_empty() {
            lines
        } else {
            block(lines)
        };
        let outer = self.outer_references(reductions);
        if !outer.is_empty() {
            let mut with_outer = outer;
            with_outer.extend(wrapped);
            wrapped = block(with_outer);
        }
        wrapped.push("__syncthreads();".to_string());
        wrapped
    }

    /// `T &x__outer = x;` for variables whose inner copy hides them.
    fn outer_references(&self, reductions: &[ReductionPlan]) -> Vec<String> {
        reductions
            .iter()
            .filter(|reduction| reduction.target == ReductionTarget::Block)
            .map(|reduction| {
                format!(
                    "{} = {};",
                    self.declare_reference(reduction.ty, &format!("{}__outer", reduction.name)),
                    reduction.name
                )
            })
            .collect()
    }

    fn accumulators(&self, reductions: &[ReductionPlan]) -> Vec<String> {
        reductions
            .iter()
            .map(|reduction| {
                let operation = operation(&reduction.operation);
                let ty = self.value_type(reduction.ty);
                format!(
                    "{} = {operation}::identity<{ty}>();",
                    self.declare_mutable(reduction.ty, &reduction.name)
                )
            })
            .collect()
    }

    fn combine(&self, reductions: &[ReductionPlan]) -> Vec<String> {
        let mut lines = Vec::new();
        for reduction in reductions {
            let operation = operation(&reduction.operation);
            let name = &reduction.name;
            match &reduction.target {
                ReductionTarget::Grid(parameter) => {
                    lines.push(format!("rex_reduce<{operation}>({parameter}, {name});"))
                }
                ReductionTarget::Block => {
                    lines.push(format!("{name} = rex_reduce_block<{operation}>({name});"));
                    lines.push(format!(
                        "if (threadIdx.x == 0) {operation}::combine({name}__outer, {name});"
                    ));
                }
            }
        }
        lines
    }

    fn shared_loop(&self, plan: &LoopPlan, indent: &str) -> Vec<String> {
        let nest = &self.program.nests[plan.nest];
        let loops = &nest.loops[..plan.depth.min(nest.loops.len())];
        let variable = match plan.space {
            IterationSpace::Grid => "rex_i",
            IterationSpace::Teams => "rex_team_i",
            IterationSpace::Block | IterationSpace::Thread => "rex_thread_i",
        };
        let (start, stride) = match plan.space {
            IterationSpace::Grid => (
                "blockIdx.x * (uint64_t)blockDim.x + threadIdx.x",
                "(uint64_t)gridDim.x * blockDim.x",
            ),
            IterationSpace::Teams => ("blockIdx.x", "gridDim.x"),
            IterationSpace::Block => ("threadIdx.x", "blockDim.x"),
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
            let outer_copy =
                self.program.constructs[plan.construct]
                    .sharing
                    .iter()
                    .any(|sharing| {
                        *self.program.name(sharing.symbol) == lastprivate.name
                            && sharing.attribute == rex_ir::region::SharingAttribute::Firstprivate
                    });
            let target = lastprivate_target(lastprivate);
            let value = if outer_copy {
                format!(" = {target}")
            } else {
                String::new()
            };
            lines.push(format!(
                "{}{value};",
                self.declare_mutable(lastprivate.ty, &lastprivate.name)
            ));
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
            lines.push(format!(
                "{STEP}if ({variable} == {trips_name} - 1) {} = {};",
                lastprivate_target(lastprivate),
                lastprivate.name
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
        let mut outer = self.outer_references(&plan.reductions);
        for lastprivate in &plan.lastprivates {
            outer.push(format!(
                "{} = {};",
                self.declare_reference(lastprivate.ty, &format!("{}__outer", lastprivate.name)),
                lastprivate.name
            ));
        }
        let mut wrapped = block(lines);
        if !outer.is_empty() {
            outer.extend(wrapped);
            wrapped = block(outer);
        }
        if plan.waits {
            wrapped.push("__syncthreads();".to_string());
        }
        wrapped
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

    fn team_loop(
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
                "rex_broadcast(threadIdx.x == 0 && ({}))",
                self.text(condition, indent)
            )
        });
        let head = match (&test, tests_first) {
            (Some(test), true) => format!("while ({test}) {{"),
            (None, true) => "for (;;) {".to_string(),
            (_, false) => "do {".to_string(),
        };
        lines.push(head);
        lines.extend(self.plan(body, &inner).iter().map(|line| step_in(line)));
        if let Some(step) = step {
            lines.push(format!(
                "{STEP}if (threadIdx.x == 0) {{ {}; }}",
                self.text(step, indent)
            ));
            lines.push(format!("{STEP}__syncthreads();"));
        }
        lines.push(match (test, tests_first) {
            (Some(test), false) => format!("}} while ({test});"),
            (None, false) => "} while (true);".to_string(),
            (_, true) => "}".to_string(),
        });
        lines
    }

    fn shared(
        &self,
        name: &str,
        ty: TypeId,
        initializer: Option<&BodyText>,
        indent: &str,
    ) -> Vec<String> {
        let types = &self.program.types;
        let mut lines = vec![format!("__shared__ {};", self.declare_mutable(ty, name))];
        let Some(initializer) = initializer else {
            return lines;
        };
        let value = self.text(initializer, indent);
        let value = value.trim();
        let is_array = matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. });
        let store = if is_array {
            format!(
                "{} = {value}; memcpy({name}, rex_initial, sizeof({name}));",
                types.declare(ty, "rex_initial")
            )
        } else if value.starts_with('{') {
            format!("{name} = {}{value};", types.spell(ty))
        } else {
            format!("{name} = {value};")
        };
        lines.push(format!("if (threadIdx.x == 0) {{ {store} }}"));
        lines.push("__syncthreads();".to_string());
        lines
    }

    fn atomic(&self, atomic: &AtomicPlan, indent: &str) -> Vec<String> {
        let location = self.text(&atomic.location, indent);
        let address = address_of(location.trim());
        let text = |body: &BodyText| self.text(body, indent).trim().to_string();
        let into = atomic
            .captured
            .as_ref()
            .map(|capture| (text(&capture.into), capture.after));
        let assign = |call: String, new_value: Option<String>| match &into {
            None => vec![format!("{call};")],
            Some((into, false)) => vec![format!("{into} = {call};")],
            Some((into, true)) => match new_value {
                Some(value) => vec![format!("{into} = {value};")],
                None => vec![format!("{into} = {call};")],
            },
        };
        match &atomic.form {
            AtomicForm::Read => assign(format!("rex_atomic_read({address})"), None),
            AtomicForm::Write(value) => match &into {
                None => vec![format!("rex_atomic_write({address}, {});", text(value))],
                Some((into, _)) => vec![format!(
                    "{into} = rex_atomic_exchange({address}, {});",
                    text(value)
                )],
            },
            AtomicForm::Update {
                operator,
                operand: value,
                reversed,
            } => {
                let value = value.as_ref().map_or("1".to_string(), text);
                let function = (!reversed || is_commutative(operator))
                    .then(|| atomic_function(operator))
                    .flatten();
                let after = matches!(into, Some((_, true)));
                match function {
                    Some(function) if !after => {
                        assign(format!("{function}({address}, {value})"), None)
                    }
                    _ => {
                        let expression = if *reversed {
                            format!("({value}) {operator} rex_old")
                        } else {
                            format!("rex_old {operator} ({value})")
                        };
                        let call = format!(
                            "rex_atomic_apply({address}, [&](decltype({}) rex_old) {{ return {expression}; }})",
                            value_of(location.trim())
                        );
                        match &into {
                            None => vec![format!("{call};")],
                            Some((into, after)) => {
                                vec![format!(
                                    "{into} = {call}.{};",
                                    if *after { "after" } else { "before" }
                                )]
                            }
                        }
                    }
                }
            }
            AtomicForm::MinMax {
                keeps_smaller,
                operand: value,
            } => {
                let function = if *keeps_smaller {
                    "rex_atomic_min"
                } else {
                    "rex_atomic_max"
                };
                let value = text(value);
                match &into {
                    Some((into, true)) => {
                        let pick = if *keeps_smaller { "<" } else { ">" };
                        vec![format!(
                            "{into} = rex_atomic_apply({address}, [&](decltype({}) rex_old) {{ return {value} {pick} rex_old ? {value} : rex_old; }}).after;",
                            value_of(location.trim())
                        )]
                    }
                    _ => assign(format!("{function}({address}, {value})"), None),
                }
            }
            AtomicForm::CompareExchange { expected, desired } => {
                let (expected, desired) = (text(expected), text(desired));
                let call = format!(
                    "rex_atomic_apply({address}, [&](decltype({}) rex_old) {{ return rex_old == ({expected}) ? ({desired}) : rex_old; }})",
                    value_of(location.trim())
                );
                match &into {
                    None => vec![format!("{call};")],
                    Some((into, after)) => {
                        vec![format!(
                            "{into} = {call}.{};",
                            if *after { "after" } else { "before" }
                        )]
                    }
                }
            }
        }
    }
}

/// The value type of an lvalue expression, for a lambda's parameter.
fn value_of(location: &str) -> String {
    format!("rex_value_of({location})")
}

fn lastprivate_target(plan: &rex_ir::kernel::LastprivatePlan) -> String {
    match &plan.target {
        LastprivateTarget::Parameter(parameter) => format!("*{parameter}"),
        LastprivateTarget::Outer => format!("{}__outer", plan.name),
    }
}

fn operation(operation: &ReductionOperation) -> String {
    match operation {
        ReductionOperation::Add => "rex_add".into(),
        ReductionOperation::Multiply => "rex_mul".into(),
        ReductionOperation::Min => "rex_min".into(),
        ReductionOperation::Max => "rex_max".into(),
        ReductionOperation::BitAnd => "rex_and".into(),
        ReductionOperation::BitOr => "rex_or".into(),
        ReductionOperation::BitXor => "rex_xor".into(),
        ReductionOperation::LogicalAnd => "rex_land".into(),
        ReductionOperation::LogicalOr => "rex_lor".into(),
        ReductionOperation::Declared(name) => declared_operation(name),
    }
}

fn atomic_function(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "+" => "rex_atomic_add",
        "-" => "rex_atomic_sub",
        "*" => "rex_atomic_mul",
        "/" => "rex_atomic_div",
        "&" => "rex_atomic_and",
        "|" => "rex_atomic_or",
        "^" => "rex_atomic_xor",
        "<<" => "rex_atomic_shl",
        ">>" => "rex_atomic_shr",
        "&&" => "rex_atomic_land",
        "||" => "rex_atomic_lor",
        _ => return None,
    })
}

fn is_commutative(operator: &str) -> bool {
    matches!(operator, "+" | "*" | "&" | "|" | "^" | "&&" | "||")
}

fn block(lines: Vec<String>) -> Vec<String> {
    let mut wrapped = vec!["{".to_string()];
    wrapped.extend(lines.iter().map(|line| step_in(line)));
    wrapped.push("}".to_string());
    wrapped
}

fn step_in(line: &str) -> String {
    if line.is_empty() || line.starts_with('#') {
        line.to_string()
    } else {
        format!("{STEP}{line}")
    }
}

/// Whether lines are one block from the first brace to the last.
fn is_braced(lines: &[String]) -> bool {
    if lines.len() < 2
        || lines.first().is_none_or(|line| line != "{")
        || lines.last().is_none_or(|line| line != "}")
    {
        return false;
    }
    let text = lines.join("\n");
    let range = TextRange::up_to(rex_syntax::TextSize::of(text.as_str()));
    let mut depth = 0i32;
    let mut closed_at = None;
    for token in lex::tokens(&text, range) {
        match &text[token.range] {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 && closed_at.is_none() {
                    closed_at = Some(token.range.end());
                }
            }
            _ => {}
        }
    }
    closed_at == Some(range.end())
}

/// The address of an lvalue.
fn address_of(location: &str) -> String {
    let inner = if is_wrapped(location) {
        location[1..location.len() - 1].trim()
    } else {
        location
    };
    if let Some(pointer) = inner.strip_prefix('*')
        && pointer
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return pointer.to_string();
    }
    if is_postfix(location) {
        format!("&{location}")
    } else {
        format!("&{}", operand(location))
    }
}

/// A name followed by subscripts, members and calls.
fn is_postfix(text: &str) -> bool {
    let mut depth = 0i32;
    let starts_with_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_with_name
        && text.replace("->", ".").chars().all(|c| {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth -= 1,
                _ => return depth > 0 || c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'),
            }
            depth >= 0
        })
}

/// Text that stands next to an operator.
fn operand(text: &str) -> String {
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'));
    if plain || is_wrapped(text) {
        text.to_string()
    } else {
        format!("({text})")
    }
}

fn is_wrapped(text: &str) -> bool {
    if !text.starts_with('(') {
        return false;
    }
    let mut depth = 0;
    for (idx, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return idx == text.len() - 1;
                }
            }
            _ => {}
        }
    }
    false
}
