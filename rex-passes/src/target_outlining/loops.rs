//! Plans of loops: over the grid, over the teams, over the threads of a parallel region, or for one thread.

use rex_ir::expr::Expr;
use rex_ir::kernel::{Crew, IterationSpace, LoopPlan, ParallelPlan, Plan};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{Construct, ConstructId, RegionId, SharingAttribute};
use rex_syntax::TextRange;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;

use super::plan::{Context, Planner};
use super::{geometry, team};

impl Planner<'_> {
    /// How many loops of a nest form a rectangle, and the text of one iteration of it.
    fn rectangle(&self, nest: rex_ir::region::LoopNestId) -> (usize, TextRange) {
        let nest = &self.program.nests[nest];
        let depends = |idx: usize| {
            let canonical = &nest.loops[idx];
            let step = match canonical.step {
                rex_ir::region::LoopStep::Add(range)
                | rex_ir::region::LoopStep::Subtract(range) => Some(range),
                rex_ir::region::LoopStep::Increment | rex_ir::region::LoopStep::Decrement => None,
            };
            [Some(canonical.lower), Some(canonical.bound), step]
                .into_iter()
                .flatten()
                .any(|range| {
                    rex_syntax::lex::identifiers(self.program.source(), range).any(|name| {
                        nest.loops[..idx]
                            .iter()
                            .any(|outer| outer.variable == self.program.text(name))
                    })
                })
        };
        match (1..nest.loops.len()).find(|idx| depends(*idx)) {
            Some(depth) => (depth, nest.loops[depth].range),
            None => (nest.loops.len(), nest.body),
        }
    }

    /// The region's own loop nest over the grid.
    pub(super) fn grid_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let (depth, iteration) = self.rectangle(nest);
        let body = self.text(iteration, Context::Thread);
        let lastprivates = self.region_lastprivates(construct);
        // A loop variable that the data environment holds gets its value after the loop.
        let captures = self.region().map_or(&[][..], |region| &region.captures);
        let final_values = self.program.nests[nest].loops[..depth]
            .iter()
            .enumerate()
            .filter(|(_, canonical)| !canonical.declares_variable)
            .filter(|(_, canonical)| {
                construct.sharing.iter().any(|sharing| {
                    sharing.attribute == SharingAttribute::Lastprivate
                        && *self.program.name(sharing.symbol) == canonical.variable
                })
            })
            .filter_map(|(idx, canonical)| {
                captures.iter().find(|capture| {
                    matches!(capture.object, rex_ir::region::CapturedObject::Variable(symbol) if *self.program.name(symbol) == canonical.variable)
                        && capture.transport == rex_ir::region::Transport::Storage
                })?;
                Some((idx, namer::argument(&canonical.variable)))
            })
            .collect();
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Grid,
            privates: Vec::new(),
            reductions: self.region_reductions(construct),
            lastprivates,
            final_values,
            body,
            waits: false,
            chunk: None,
        }))
    }

    /// `distribute` around parallel regions: teams share the iterations, each is sequential code of its team.
    pub(super) fn team_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let is_region = self.region().is_some_and(|region| region.construct == id);
        let (depth, iteration) = self.rectangle(nest);
        let body = team::sequential(self, iteration);
        let privates = if is_region {
            Vec::new()
        } else {
            self.team_privates(construct)
        };
        let reductions = match is_region {
            true => self.team_reductions(construct),
            // The accumulator of the team is the variable itself.
            false => Vec::new(),
        };
        let lastprivates = self.team_lastprivates(construct, is_region);
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Teams,
            privates,
            reductions,
            lastprivates,
            final_values: Vec::new(),
            body,
            waits: false,
            chunk: None,
        }))
    }

    /// A loop whose iterations the threads of a parallel region share.
    pub(super) fn crew_loop(&mut self, id: ConstructId, crew: Crew) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let (depth, iteration) = self.rectangle(nest);
        let body = self.text(iteration, Context::Thread);
        // The end of a parallel region is a barrier anyway.
        let waits =
            !construct.has(Leaf::Parallel) && !self.has_clause(construct, ClauseName::Nowait);
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Crew(crew),
            privates: self.privates(construct),
            reductions: self.crew_reductions(construct, crew),
            lastprivates: self.outer_lastprivates(construct),
            final_values: Vec::new(),
            body,
            waits,
            chunk: None,
        }))
    }

    /// A loop that one thread goes through: the user's loop as it is.
    pub(super) fn thread_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        match construct.statement {
            Some(statement) => self.private_copies(construct, statement, Context::Thread),
            None => Plan::Nothing,
        }
    }

    /// A parallel region in sequential code of the team.
    pub(super) fn parallel(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(statement) = construct.statement else {
            return Plan::Nothing;
        };
        let (crew, threads) = crew(self.program, self.region, construct);
        let (privates, reductions, body) = match construct.nest {
            Some(_) => (Vec::new(), Vec::new(), self.crew_loop(id, crew)),
            None => {
                let body = self.text(statement, Context::Threads(crew));
                (
                    self.privates(construct),
                    self.crew_reductions(construct, crew),
                    body,
                )
            }
        };
        Plan::Parallel(Box::new(ParallelPlan {
            crew,
            threads,
            privates,
            reductions,
            body,
        }))
    }
}

/// Which threads of the block execute a parallel region, and how many if not all.
pub(super) fn crew(
    program: &Program,
    region: Option<RegionId>,
    construct: &Construct,
) -> (Crew, Option<Expr>) {
    let asked = geometry::num_threads(program, construct);
    let condition = geometry::if_clause(program, construct, "parallel");
    let is_block = |asked| region.is_some_and(|region| geometry::is_block(program, region, asked));
    let all = || Expr::Name("blockDim.x".into());
    match (condition, asked) {
        (None, None) => (Crew::Block, None),
        (None, Some(asked)) if is_block(asked) => (Crew::Block, None),
        (None, Some(asked)) => (Crew::Part, Some(Expr::Source(asked))),
        (Some(condition), asked) => {
            let threads = Expr::Conditional(
                Box::new(Expr::Source(condition)),
                Box::new(asked.map_or_else(all, Expr::Source)),
                Box::new(Expr::Int(1)),
            );
            (Crew::Part, Some(threads))
        }
    }
}
