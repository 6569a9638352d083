//! Plans of loops: over the grid, over the teams, over the threads of a parallel region, or for one thread.

use std::sync::Arc;

use rex_ir::expr::Expr;
use rex_ir::kernel::{Chunk, Crew, IterationSpace, LoopPlan, ParallelPlan, Plan, Prologue};
use rex_ir::program::Program;
use rex_ir::region::{Construct, ConstructId, LoopNestId, RegionId, SharingAttribute, Transport};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;

use super::plan::{Context, Planner};
use super::{Facts, geometry, queries, team};

impl Planner<'_> {
    /// How many loops of a nest form a rectangle, and the text of one iteration of it. Refuses clauses that the other loops are in the way of.
    pub(super) fn rectangle(
        &mut self,
        construct: &Construct,
        nest: LoopNestId,
    ) -> (usize, TextRange) {
        self.check_uneven(construct);
        let depth = rectangle_depth(self.program, nest);
        let nest = &self.program.nests[nest];
        let iteration = nest
            .loops
            .get(depth)
            .map(|canonical| canonical.among.unwrap_or(canonical.range));
        (depth, iteration.unwrap_or(nest.body))
    }

    /// Copies of the variables of loops that are not part of the rectangle.
    fn inner_variables(
        &self,
        construct: &Construct,
        nest: LoopNestId,
        depth: usize,
    ) -> Vec<Prologue> {
        let nest = &self.program.nests[nest];
        let is_listed = |variable: &str| {
            construct
                .sharing
                .iter()
                .any(|sharing| self.program.name(sharing.symbol) == variable)
        };
        nest.loops[depth..]
            .iter()
            .filter(|canonical| !canonical.declares_variable && !is_listed(&canonical.variable))
            .map(|canonical| Prologue::Private {
                name: canonical.variable.clone(),
                ty: canonical.ty,
            })
            .collect()
    }

    /// The region's own loop nest over the grid.
    pub(super) fn grid_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        if self.refuse_unnoticed(construct) {
            return Plan::Nothing;
        }
        let (depth, iteration) = self.rectangle(construct, nest);
        let body = self.noting(construct, Some(IterationSpace::Grid), |planner| {
            planner.text(iteration, Context::Thread)
        });
        let lastprivates = self.region_lastprivates(construct);
        let final_values = self.region_final_values(construct, depth);
        if let Some(linear) = self.linears(construct).first() {
            let name = linear.name.clone();
            return self.unsupported_linear(construct, &name);
        }
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Grid,
            privates: self.inner_variables(construct, nest, depth),
            reductions: self.region_reductions(construct),
            lastprivates,
            final_values,
            body,
            waits: false,
            linears: Vec::new(),
            chunk: match (
                self.chunk(construct, ClauseName::DistSchedule, false),
                self.chunk_of_threads(construct),
            ) {
                (Some(Chunk::Given(teams)), Some(Chunk::OfThreads(threads))) => {
                    Some(Chunk::OfBoth(teams, threads))
                }
                (of_teams, of_threads) => of_teams.or(of_threads),
            },
        }))
    }

    /// The chunk of `schedule`, if a thread's iterations leave something behind for those after them or ask who executes them.
    fn chunk_of_threads(&self, construct: &Construct) -> Option<Chunk> {
        let leaves_something = self.region().is_some_and(|region| {
            region.captures.iter().any(|capture| {
                capture.may_be_written
                    && !capture.is_implicit
                    && matches!(
                        capture.transport,
                        Transport::Private | Transport::Literal | Transport::Copy
                    )
            })
        });
        let asks = || {
            let statement = construct.statement;
            statement.is_some_and(|statement| queries::asks_for_thread(self.program, statement))
        };
        match self.chunk(construct, ClauseName::Schedule, false)? {
            Chunk::Given(chunk) if leaves_something || asks() => Some(Chunk::OfThreads(chunk)),
            _ => None,
        }
    }

    /// `distribute` around parallel regions: teams share the iterations, each is sequential code of its team.
    pub(super) fn team_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let is_region = self.region().is_some_and(|region| region.construct == id);
        let (depth, iteration) = self.rectangle(construct, nest);
        let around = std::mem::replace(&mut self.in_league, true);
        let body = team::sequential(self, iteration);
        self.in_league = around;
        let mut privates = if is_region {
            Vec::new()
        } else {
            self.team_privates(construct)
        };
        privates.extend(self.inner_variables(construct, nest, depth));
        let reductions = match is_region {
            true => self.team_reductions(construct),
            // The accumulator of the team is the variable itself.
            false => Vec::new(),
        };
        let lastprivates = self.team_lastprivates(construct, is_region);
        let final_values = match is_region {
            true => self.region_final_values(construct, depth),
            false => self.outer_final_values(construct, depth),
        };
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Teams,
            privates,
            reductions,
            lastprivates,
            final_values,
            body,
            waits: false,
            linears: Vec::new(),
            chunk: match is_region {
                true => self.chunk(construct, ClauseName::DistSchedule, false),
                false => self.league_chunk(construct),
            },
        }))
    }

    /// `distribute` in a function: one thread of each team calls it, and the teams share the iterations.
    pub(super) fn caller_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let (depth, iteration) = self.rectangle(construct, nest);
        let body = self.text(iteration, Context::Thread);
        let mut privates = self.privates(construct);
        privates.extend(self.inner_variables(construct, nest, depth));
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Teams,
            privates,
            reductions: Vec::new(),
            lastprivates: self.outer_lastprivates(construct),
            final_values: self.outer_final_values(construct, depth),
            body,
            waits: false,
            linears: Vec::new(),
            chunk: self.league_chunk(construct),
        }))
    }

    /// `distribute parallel for` among other code of the teams: the threads of all teams share the iterations.
    pub(super) fn league_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let (crew, threads) = crew(self.program, self.facts, self.region, construct);
        let space = IterationSpace::League(crew);
        let Plan::Loop(mut body) = self.shared_loop(id, space) else {
            return self.unsupported(
                construct,
                "take `ordered` and `scan` out of loops that teams share",
            );
        };
        body.chunk = self.league_chunk(construct);
        Plan::Parallel(Box::new(ParallelPlan {
            crew,
            threads,
            privates: Vec::new(),
            reductions: Vec::new(),
            body: Plan::Loop(body),
        }))
    }

    /// Several loops that the teams share: each team gets the same iterations of all that are alike.
    fn league_chunk(&self, construct: &Construct) -> Option<Chunk> {
        self.chunk(construct, ClauseName::DistSchedule, false)
            .or(Some(Chunk::Even))
    }

    /// A loop whose iterations the threads of a parallel region share.
    pub(super) fn crew_loop(&mut self, id: ConstructId, crew: Crew) -> Plan {
        self.shared_loop(id, IterationSpace::Crew(crew))
    }

    /// A loop whose iterations are shared by the threads of a parallel region, or of all teams.
    fn shared_loop(&mut self, id: ConstructId, space: IterationSpace) -> Plan {
        let crew = match space {
            IterationSpace::Crew(crew) | IterationSpace::League(crew) => crew,
            IterationSpace::Grid | IterationSpace::Teams => Crew::Block,
        };
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let is_region = self.region().is_some_and(|region| region.construct == id);
        let waits =
            !construct.has(Leaf::Parallel) && !self.has_clause(construct, ClauseName::Nowait);
        if let Some(plan) = self.scan_loop(construct, crew, waits) {
            return plan;
        }
        if self.is_ordered(construct) && crew != Crew::One {
            // One thread goes through all iterations, in order.
            let body = match (is_region, construct.statement) {
                (true, Some(statement)) => self.text(statement, Context::Thread),
                _ => self.thread_loop(id),
            };
            return Plan::Single {
                crew,
                chosen: None,
                body: Box::new(body),
                copied: Vec::new(),
                waits,
            };
        }
        let (depth, iteration) = self.rectangle(construct, nest);
        let body = self.noting(construct, Some(space), |planner| {
            planner.text(iteration, Context::Thread)
        });
        let asks = construct
            .statement
            .is_some_and(|statement| queries::asks_for_thread(self.program, statement));
        let final_values = self.outer_final_values(construct, depth);
        // The prologue of the kernel has the copies of the region's own construct.
        let mut privates = match is_region {
            true => Vec::new(),
            false => self.privates(construct),
        };
        privates.extend(self.inner_variables(construct, nest, depth));
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space,
            privates,
            reductions: self.crew_reductions(construct, crew),
            lastprivates: self.outer_lastprivates(construct),
            final_values,
            body,
            waits,
            linears: self.linears(construct),
            chunk: self.chunk(construct, ClauseName::Schedule, asks),
        }))
    }

    /// A loop that one thread goes through: the user's loop as it is.
    pub(super) fn thread_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let counts_for_others = self.shares_loop_variable(construct);
        if construct.nest.is_some() && (counts_for_others || !self.linears(construct).is_empty()) {
            return self.crew_loop(id, Crew::One);
        }
        if let Some(plan) = self.scan_loop(construct, Crew::One, false) {
            return plan;
        }
        let Some(statement) = construct.statement else {
            return Plan::Nothing;
        };
        let loop_variables = self.loop_variables(construct);
        let plan = self.private_copies(construct, statement, Context::Thread);
        match loop_variables.is_empty() {
            true => plan,
            false => Plan::Sequence(vec![Plan::Declare(loop_variables), plan]),
        }
    }

    /// Whether the iterations of a loop must be executed in order.
    pub(super) fn is_ordered(&self, construct: &Construct) -> bool {
        self.scans(construct) || self.is_ordered_beside_scans(construct)
    }

    /// The same, but for a scan.
    pub(super) fn is_ordered_beside_scans(&self, construct: &Construct) -> bool {
        self.has_clause(construct, ClauseName::Ordered)
            || self.changes_unnoticed(construct).is_some()
            || (self.has_code_among(construct)
                && construct.sharing.iter().any(|sharing| {
                    sharing.attribute == SharingAttribute::Lastprivate
                        && !self.iterates(construct, sharing.symbol)
                }))
    }

    /// Whether loops of a nest depend on those around them: only by counting them is the number of an iteration known.
    fn is_uneven(&self, construct: &Construct) -> bool {
        construct.nest.is_some_and(|nest| {
            rectangle_depth(self.program, nest) < self.program.nests[nest].loops.len()
        })
    }

    /// Whether there is code between the loops of a nest, so that they cannot be searched for the last iteration.
    fn has_code_among(&self, construct: &Construct) -> bool {
        construct.nest.is_some_and(|nest| {
            let loops = &self.program.nests[nest].loops;
            loops.iter().any(|canonical| canonical.among.is_some())
        })
    }

    /// Refuses clauses that need the number of an iteration of such loops.
    fn check_uneven(&mut self, construct: &Construct) {
        let is_uneven = self.is_uneven(construct);
        let has_code = self.has_code_among(construct);
        let is_shared_by_teams = construct.has(Leaf::Distribute) || construct.has(Leaf::Teams);
        for sharing in &construct.sharing {
            let (clause, help) = match sharing.attribute {
                _ if self.iterates(construct, sharing.symbol) => continue,
                SharingAttribute::Linear(_) if is_uneven => (
                    "linear",
                    "write the variable's value from the loop variables",
                ),
                SharingAttribute::Lastprivate if has_code && is_shared_by_teams => (
                    "lastprivate",
                    "store the value where it is known to be the last one",
                ),
                _ => continue,
            };
            let diagnostic = Diagnostic::new(
                Code::UnsupportedClause,
                self.program.at(sharing.at),
                format!("`{clause}` is not supported here on loops that form no rectangle"),
            )
            .with_help(help);
            self.errors.push(diagnostic);
        }
    }

    /// Whether a loop's schedule decides what its iterations see.
    pub(super) fn has_chunks_to_show(&self, construct: &Construct) -> bool {
        let asks = construct
            .statement
            .is_some_and(|statement| queries::asks_for_thread(self.program, statement));
        asks && self.chunk(construct, ClauseName::Schedule, asks).is_some()
    }

    /// The chunk of a static schedule; `asks` if the iterations ask who executes them.
    fn chunk(&self, construct: &Construct, clause: ClauseName, asks: bool) -> Option<Chunk> {
        let clause = construct
            .directives
            .iter()
            .find_map(|idx| self.program.unit.directives[*idx].clause(clause))?;
        let is_static = clause
            .modifiers()
            .iter()
            .any(|modifier| self.program.text(modifier.word) == "static");
        match clause.expression() {
            _ if !is_static => None,
            Some(chunk) if self.program.text(chunk).trim() == "1" => None,
            Some(chunk) => Some(Chunk::Given(Expr::Source(chunk))),
            None => asks.then_some(Chunk::Even),
        }
    }

    /// A parallel region in sequential code of the team.
    pub(super) fn parallel(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(statement) = construct.statement else {
            return Plan::Nothing;
        };
        let (crew, threads) = crew(self.program, self.facts, self.region, construct);
        let (privates, reductions, body) = match construct.nest {
            Some(_) => (Vec::new(), Vec::new(), self.crew_loop(id, crew)),
            None if construct.has(Leaf::Sections) => {
                let body = self.sections(construct, statement, crew, false);
                (Vec::new(), Vec::new(), body)
            }
            None => {
                let body = self.team_body(construct, statement, crew);
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

/// How many loops of a nest form a rectangle, with nothing between them.
pub(super) fn rectangle_depth(program: &Program, nest: LoopNestId) -> usize {
    let nest = &program.nests[nest];
    let depends = |idx: usize| {
        nest.loops[idx].among.is_some() || nest.depends_on_outer(program.source(), idx)
    };
    (1..nest.loops.len())
        .find(|idx| depends(*idx))
        .unwrap_or(nest.loops.len())
}

/// Which threads of the block execute a parallel region, and how many if not all.
pub(super) fn crew(
    program: &Program,
    facts: &Facts,
    region: Option<RegionId>,
    construct: &Construct,
) -> (Crew, Option<Expr>) {
    let asked = geometry::num_threads(program, construct);
    let condition = geometry::if_clause(program, construct, Leaf::Parallel);
    let is_block =
        |asked| region.is_some_and(|region| geometry::is_block(program, facts, region, asked));
    let all = || Expr::Name("blockDim.x".into());
    match (condition, asked) {
        (None, None) => (Crew::Block, None),
        (None, Some(asked)) if is_block(asked) => (Crew::Block, None),
        (None, Some(asked)) => (Crew::Part, Some(Expr::Source(asked))),
        (Some(condition), asked) => {
            let threads = Expr::Conditional(
                Arc::new(Expr::Source(condition)),
                Arc::new(asked.map_or_else(all, Expr::Source)),
                Arc::new(Expr::Int(1)),
            );
            (Crew::Part, Some(threads))
        }
    }
}
