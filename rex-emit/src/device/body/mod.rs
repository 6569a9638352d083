//! Bodies of device code: the user's text with plans in place of directives.

mod atomic;
mod leader;
mod lines;
mod loops;
mod prologue;
mod reduction;
mod scan;
mod sized;
mod team;

use std::collections::BTreeSet;

use rex_ir::kernel::{BodyText, Piece, Plan};
use rex_ir::program::Program;
use rex_syntax::TextRange;
use smol_str::SmolStr;

use super::kernel::STEP;
use super::{reductions, static_locals};
use crate::common::expr::{self, Words};
use crate::common::text::reindent;
use lines::{headed, is_braced};
pub(super) use reduction::{declared_operation, operation};

/// Where all threads of a block wait for each other.
pub(super) const BLOCK_BARRIER: &str = "__syncthreads();";

/// Names of the locks that critical sections of a plan need.
pub(super) fn locks_of(plan: &Plan, names: &mut BTreeSet<SmolStr>) {
    plan.visit(&mut |piece| {
        if let Piece::Plan(Plan::Critical { lock, .. }) = piece {
            names.insert(lock.clone());
        }
    });
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
        let operations: Vec<(TextRange, SmolStr)> =
            reductions::in_place(self.program, range).collect();
        let statics = static_locals::words(self.program, range);
        let mut replaced: Vec<(TextRange, &SmolStr)> = self
            .words
            .iter()
            .filter(|(at, _)| range.contains_range(*at) && !is_hidden(*at))
            .map(|(at, word)| (*at, word))
            .chain(hidden.iter().map(|at| (*at, &nothing)))
            .chain(operations.iter().map(|(at, lines)| (*at, lines)))
            .chain(statics.iter().map(|(at, lines)| (*at, lines)))
            .chain(self.conversions_in(range).filter(|(at, _)| !is_hidden(*at)))
            .collect();
        replaced.sort_by_key(|(at, _)| (at.start(), at.len()));
        for (at, word) in replaced {
            // Inside something that is replaced as a whole.
            if at.start() < copied {
                continue;
            }
            out.push_str(self.program.text(TextRange::new(copied, at.start())));
            out.push_str(word);
            copied = at.end();
        }
        out.push_str(self.program.text(TextRange::new(copied, range.end())));
        out
    }

    /// What a range has in place of what only C takes, and of names that are the file's own.
    fn conversions_in(&self, range: TextRange) -> impl Iterator<Item = (TextRange, &'p SmolStr)> {
        let inside = move |all: &'p [(TextRange, SmolStr)]| {
            let from = all.partition_point(|(at, _)| at.start() < range.start());
            let to = all.partition_point(|(at, _)| at.start() < range.end());
            let words = all[from..to].iter();
            words
                .filter(move |(at, _)| at.end() <= range.end())
                .map(|(at, word)| (*at, word))
        };
        inside(&self.program.conversions).chain(inside(&self.program.device_code.own_names))
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

    /// Lines of a plan. `indent` is what the caller puts before each line.
    pub(super) fn plan(&self, plan: &Plan, indent: &str) -> Vec<String> {
        match plan {
            Plan::Nothing => Vec::new(),
            Plan::Text(text) | Plan::Replicated(text) => self.statement(text, indent),
            Plan::Sequence(plans) => {
                let lines = self.plans(plans, &format!("{indent}{STEP}"));
                let mut lines: Vec<String> =
                    lines.iter().map(|line| format!("{STEP}{line}")).collect();
                lines.insert(0, "{".to_string());
                lines.push("}".to_string());
                lines
            }
            Plan::Declare(prologue) => self.prologue(prologue),
            Plan::Loop(plan) => self.shared_loop(plan, indent),
            Plan::Scan(plan) => self.scan(plan, indent),
            Plan::Parallel(plan) => self.parallel(plan, indent),
            Plan::Serialized(body) => self.serialized(body, indent),
            Plan::Reduce { reductions, body } => self.reduce(reductions, body, indent),
            Plan::Leader { .. } | Plan::Shared { .. } => {
                self.plans(std::slice::from_ref(plan), indent)
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
                    "if (__syncthreads_or(threadIdx.x == 0 && ({})))",
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
            Plan::TeamRange(plan) => self.team_range(plan, indent),
            Plan::TeamSwitch { condition, cases } => self.team_switch(condition, cases, indent),
            Plan::TeamReturn(value) => vec![format!(
                "return rex_leader([&] {{ return {}; }});",
                self.text(value, indent)
            )],
            Plan::Result { declarator, value } => {
                vec![format!("auto {declarator} = {};", self.text(value, indent))]
            }
            Plan::Assigned { name, space } => {
                let number = space.map_or("rex_section", loops::iteration_number);
                vec![format!("({name}__at = {number} + 1, {name})")]
            }
            Plan::Words(words) => vec![words.to_string()],
            Plan::Value(value) => {
                vec![format!("({})", expr::print(self.program, self, value))]
            }
            Plan::Reference {
                name,
                ty,
                initializer,
                finder,
            } => {
                let initializer = self.text(initializer, indent);
                self.reference(name, *ty, initializer.trim(), *finder)
            }
            Plan::Barrier(crew) => team::barrier(*crew).into_iter().collect(),
            Plan::Fence => vec!["__threadfence();".to_string()],
            Plan::Atomic(atomic) => self.atomic(atomic, indent),
            Plan::Critical { lock, body } => {
                self.braced(&format!("REX_CRITICAL({lock})"), body, indent)
            }
            Plan::Single {
                crew,
                chosen,
                body,
                copied,
                waits,
            } => self.single(*crew, chosen.as_ref(), body, copied, *waits, indent),
            Plan::Sections(plan) => self.sections(plan, indent),
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
            .constructs_in(range)
            .map(|(_, construct)| construct)
            .find(|construct| construct.range == range);
        match construct.and_then(|construct| construct.statement) {
            Some(statement) => self.source_indent(statement),
            // It stands alone: as deep as what follows.
            None => {
                rex_syntax::layout::indent_after(self.program.source(), range.end()).to_string()
            }
        }
    }

    fn source_indent(&self, range: TextRange) -> String {
        rex_syntax::layout::indent_at(self.program.source(), range.start()).to_string()
    }

    /// `head { plan }`, braces of the plan's own reused.
    fn braced(&self, head: &str, plan: &Plan, indent: &str) -> Vec<String> {
        headed(head, self.plan(plan, &format!("{indent}{STEP}")))
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
}
