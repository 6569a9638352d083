//! Plans of `sections` and `scope`.

use rex_ir::kernel::{Crew, Plan, SectionsPlan};
use rex_ir::region::Construct;
use rex_syntax::TextRange;
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
        let ranges = self.section_ranges(construct, statement);
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

    /// The text of each section. Statements in front of the first `section` are one, too.
    fn section_ranges(&self, construct: &Construct, statement: TextRange) -> Vec<TextRange> {
        let program = self.program;
        let node = program.unit.tree.root().smallest_at(statement);
        let marked = |range: TextRange| {
            program
                .constructs_in(range)
                .map(|(_, inner)| inner)
                .find(|inner| inner.range == range && inner.leaves.first() == Some(&Leaf::Section))
                .and_then(|inner| inner.statement)
        };
        let own: Vec<TextRange> = program
            .constructs_in(statement)
            .map(|(_, inner)| inner)
            .filter(|inner| {
                inner.range != construct.range && inner.leaves.first() == Some(&Leaf::Section)
            })
            .map(|inner| inner.range)
            .collect();
        let mut ranges: Vec<TextRange> = Vec::new();
        let before = node
            .children()
            .filter(|child| child.kind() != Kind::Comment)
            .map(|child| child.range())
            .take_while(|range| {
                !own.iter()
                    .any(|section| section.intersect(*range).is_some())
            })
            .reduce(TextRange::cover);
        ranges.extend(before);
        ranges.extend(own.iter().filter_map(|range| marked(*range)));
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
