//! Loops with `inscan` reductions: all threads add up what their iterations add, tile by tile.

use rex_ir::kernel::{BodyText, Crew, Plan, ReductionExtent, ScanKind, ScanPlan};
use rex_ir::region::Construct;
use rex_ir::ty::TypeKind;
use rex_syntax::cst::Node;
use rex_syntax::kind::Kind;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use super::plan::{Context, Planner};

impl Planner<'_> {
    /// Whether a loop has an `inscan` reduction.
    pub(super) fn scans(&self, construct: &Construct) -> bool {
        construct.directives.iter().any(|idx| {
            self.program.unit.directives[*idx]
                .clauses_named(ClauseName::Reduction)
                .flat_map(|clause| clause.modifiers())
                .any(|modifier| self.program.text(modifier.word) == "inscan")
        })
    }

    /// The plan of a loop with a scan, if its threads can share it; `privates` are its copies.
    pub(super) fn scan_loop(
        &mut self,
        construct: &Construct,
        crew: Crew,
        waits: bool,
    ) -> Option<Plan> {
        if !self.scans(construct)
            || self.is_ordered_beside_scans(construct)
            || !self.linears(construct).is_empty()
            || !self.outer_lastprivates(construct).is_empty()
        {
            return None;
        }
        let nest = construct.nest?;
        let (depth, iteration) = self.rectangle(construct, nest);
        if self.program.nests[nest].loops.len() != depth
            || self.kept_variables(construct, depth).next().is_some()
        {
            return None;
        }
        let (kind, [first, second]) = self.phases(iteration)?;
        let (input, output) = match kind {
            ScanKind::Inclusive => (first, second),
            ScanKind::Exclusive => (second, first),
        };
        let is_region = self
            .region()
            .is_some_and(|region| self.program.constructs[region.construct] == *construct);
        let reductions = self.crew_reductions(construct, crew);
        let types = &self.program.types;
        let are_values = reductions.iter().all(|reduction| {
            reduction.extent == ReductionExtent::Whole
                && !reduction.reads_original
                && !matches!(
                    types.get(types.desugar(reduction.ty)).kind,
                    TypeKind::Array { .. }
                )
        });
        if !are_values {
            return None;
        }
        let input = self.phase(input);
        let output = self.phase(output);
        let privates = match is_region {
            true => Vec::new(),
            false => self.privates(construct),
        };
        Some(Plan::Scan(Box::new(ScanPlan {
            nest,
            depth,
            crew,
            privates,
            reductions,
            kind,
            input,
            output,
            waits,
        })))
    }

    fn phase(&mut self, range: Option<TextRange>) -> Plan {
        match range {
            Some(range) => self.text(range, Context::Thread),
            None => Plan::Text(BodyText::verbatim(TextRange::empty(0.into()))),
        }
    }

    /// What stands before and behind the `scan` directive of an iteration, if neither needs what the other declares.
    fn phases(&self, iteration: TextRange) -> Option<(ScanKind, [Option<TextRange>; 2])> {
        let program = self.program;
        let body = program.unit.tree.root().smallest_at(iteration);
        if body.kind() != Kind::CompoundStatement || body.range() != iteration {
            return None;
        }
        let inside = program.constructs_in(iteration);
        let mut scans = inside
            .map(|(_, construct)| construct)
            .filter(|construct| construct.leaves.first() == Some(&Leaf::Scan));
        let (scan, None) = (scans.next()?, scans.next()) else {
            return None;
        };
        let directive = &program.unit.directives[*scan.directives.first()?];
        let kind = match directive.clause(ClauseName::Exclusive) {
            Some(_) => ScanKind::Exclusive,
            None => ScanKind::Inclusive,
        };
        let at = directive.range;
        let is_inside =
            |node: &Node<'_>| node.range().contains_range(at) && node.range().start() < at.start();
        if body.children().any(|child| is_inside(&child)) {
            return None;
        }
        let cover = |nodes: &mut dyn Iterator<Item = Node<'_>>| {
            nodes
                .map(|node| node.range())
                .reduce(|all, next| all.cover(next))
        };
        let first = cover(
            &mut body
                .children()
                .filter(|child| child.range().end() <= at.start()),
        );
        let second = cover(
            &mut body
                .children()
                .filter(|child| child.range().start() >= at.end()),
        );
        let shares = |[declares, uses]: [Option<TextRange>; 2]| {
            let (Some(declares), Some(uses)) = (declares, uses) else {
                return false;
            };
            lex::identifiers(program.source(), uses).any(|name| {
                program
                    .scopes
                    .resolve(&program.symbols, program.text(name), name)
                    .and_then(|symbol| program.symbols[symbol].declared_at)
                    .is_some_and(|declared| declares.contains_range(declared))
            })
        };
        (!shares([first, second])).then_some((kind, [first, second]))
    }
}
