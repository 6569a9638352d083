//! Plans of `sections` and `scope`.

use rex_ir::kernel::{Crew, Plan, SectionsPlan};
use rex_ir::region::Construct;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::Kind;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;

use super::plan::{Context, Planner, reduced};

impl Planner<'_> {
    /// Sections that the threads of a parallel region share; it may be the region's own construct.
    pub(super) fn sections(
        &mut self,
        construct: &Construct,
        statement: TextRange,
        crew: Crew,
        is_region: bool,
    ) -> Plan {
        if self.refuse_unnoticed(construct) {
            return Plan::Nothing;
        }
        let ranges = self.section_ranges(statement);
        let sections = self.noting(construct, None, |planner| {
            ranges
                .into_iter()
                .map(|range| planner.text(range, Context::Thread))
                .collect()
        });
        let waits =
            !construct.has(Leaf::Parallel) && !self.has_clause(construct, ClauseName::Nowait);
        let privates = match is_region {
            true => Vec::new(),
            false => self.privates(construct),
        };
        Plan::Sections(Box::new(SectionsPlan {
            crew,
            privates,
            reductions: self.crew_reductions(construct, crew),
            lastprivates: self.outer_lastprivates(construct),
            sections,
            waits,
        }))
    }

    /// What the threads of a parallel region execute: the statement, or one of them does (`parallel masked`).
    pub(super) fn team_body(
        &mut self,
        construct: &Construct,
        statement: TextRange,
        crew: Crew,
    ) -> Plan {
        if !construct.has(Leaf::Masked) && !construct.has(Leaf::Master) {
            return self.text(statement, Context::Threads(crew));
        }
        Plan::Single {
            crew,
            chosen: self.filter(construct),
            body: Box::new(self.text(statement, Context::Thread)),
            copied: Vec::new(),
            waits: false,
        }
    }

    /// The text of each section: from its directive to the next one. Statements in front of the first `section` are one, too.
    fn section_ranges(&self, statement: TextRange) -> Vec<TextRange> {
        let unit = &self.program.unit;
        let block = unit.tree.root().smallest_at(statement);
        let begun_by = |node: Node<'_>| {
            let idx = unit.directive_of(node)?;
            let begins = unit.directives[idx].first() == Some(Leaf::Section);
            begins.then(|| unit.statement_of(idx)).flatten()
        };
        let mut ranges: Vec<TextRange> = Vec::new();
        let statements = block.children();
        for node in statements.filter(|it| it.kind() != Kind::Comment) {
            match (begun_by(node), ranges.last_mut()) {
                (Some(first), _) => ranges.push(first.range()),
                (None, Some(section)) => *section = section.cover(node.range()),
                (None, None) => ranges.push(node.range()),
            }
        }
        ranges
    }

    /// A statement of all threads with private copies of its own.
    pub(super) fn scope(
        &mut self,
        construct: &Construct,
        statement: TextRange,
        crew: Crew,
    ) -> Plan {
        let privates = self.privates(construct);
        let reductions = self.crew_reductions(construct, crew);
        let body = reduced(reductions, self.text(statement, Context::Threads(crew)));
        let mut plans = vec![Plan::Sequence(vec![Plan::Declare(privates), body])];
        if !self.has_clause(construct, ClauseName::Nowait) {
            plans.push(Plan::Barrier(crew));
        }
        Plan::Sequence(plans)
    }
}
