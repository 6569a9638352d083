//! Plans for the bodies of regions: what each directive inside becomes.

use std::collections::BTreeSet;

use rex_ir::expr::Expr;
use rex_ir::item::FunctionId;
use rex_ir::kernel::{BodyText, Crew, Plan, ReductionPlan};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{Construct, ConstructId, Region, RegionId, SharingAttribute};
use rex_ir::symbol::SymbolId;
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::Leaf;
use smol_str::{SmolStr, format_smolstr};

use super::arrays::sized_arrays;
use super::conditional::Noted;
use super::queries::FunctionQueries;
use super::{Shape, atomic, restricted, team};
use crate::analysis::forks::Forks;

/// Who executes a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// One thread of its team; no other thread of the team is in the region.
    Alone,
    /// The team's sequential code, gone through by all threads of the block.
    Sequential,
    /// The OpenMP threads of a parallel region, each a thread of the block.
    Threads(Crew),
    /// One thread: inside a loop that is shared already, or a nested parallel.
    Thread,
}

/// What planners look up in a program, found once for all of them.
pub(crate) struct Facts {
    /// The functions that begin parallel regions.
    pub(crate) forks: Forks,
    /// Local variable length arrays with their declarations, in source order.
    pub(super) sized_arrays: Vec<(SymbolId, TextRange)>,
    /// What device functions ask.
    pub(super) queries: FunctionQueries,
    /// Whether threads may take turns at objects.
    pub(super) has_locks: bool,
}

impl Facts {
    pub(crate) fn of(program: &Program) -> Facts {
        Facts {
            forks: Forks::of(program),
            sized_arrays: sized_arrays(program),
            queries: FunctionQueries::of(program),
            has_locks: restricted::has_locks(program),
        }
    }
}

/// Makes plans for one region.
pub(super) struct Planner<'p> {
    pub(super) program: &'p Program,
    pub(super) facts: &'p Facts,
    /// The region being planned; none for a device function.
    pub(super) region: Option<RegionId>,
    pub(super) shape: Shape,
    /// The function being planned in its form for a team.
    pub(super) function: Option<FunctionId>,
    /// The iterations of a loop are being planned that the teams share.
    pub(super) in_league: bool,
    /// Bytes of dynamic shared memory that arrays of the team have.
    pub(super) shared_bytes: Option<Expr>,
    /// The names in them, as they are meant.
    pub(super) shared_names: Vec<(SmolStr, SymbolId)>,
    /// Variables that the team has in shared memory.
    pub(super) team_objects: BTreeSet<SymbolId>,
    /// How many results of calls have got names.
    pub(super) results: usize,
    /// Variables whose assignments are noted.
    pub(super) noted: Noted,
    /// The constructs that have plans.
    planned: BTreeSet<ConstructId>,
    /// What cannot be lowered; any entry refuses the region.
    pub(super) errors: Vec<Diagnostic>,
}

impl<'p> Planner<'p> {
    pub(super) fn new(
        program: &'p Program,
        facts: &'p Facts,
        region: RegionId,
        shape: Shape,
    ) -> Planner<'p> {
        Planner {
            program,
            facts,
            region: Some(region),
            shape,
            function: None,
            in_league: false,
            shared_bytes: None,
            shared_names: Vec::new(),
            team_objects: BTreeSet::new(),
            results: 0,
            noted: Noted::default(),
            planned: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// A planner for the body of a device function.
    pub(super) fn for_function(program: &'p Program, facts: &'p Facts) -> Planner<'p> {
        Planner {
            program,
            facts,
            region: None,
            shape: Shape::Serial,
            function: None,
            in_league: false,
            shared_bytes: None,
            shared_names: Vec::new(),
            team_objects: BTreeSet::new(),
            results: 0,
            noted: Noted::default(),
            planned: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// A planner for the form of a device function that all threads of a block call together.
    pub(super) fn for_team(
        program: &'p Program,
        facts: &'p Facts,
        function: FunctionId,
    ) -> Planner<'p> {
        Planner {
            function: Some(function),
            shape: Shape::Team,
            ..Planner::for_function(program, facts)
        }
    }

    /// The region being planned.
    pub(super) fn region(&self) -> Option<&'p Region> {
        self.region.map(|id| &self.program.regions[id])
    }

    /// The plan of the whole region.
    pub(super) fn body(&mut self) -> Plan {
        let Some(id) = self.region().map(|region| region.construct) else {
            return Plan::Nothing;
        };
        let construct = &self.program.constructs[id];
        let Some(statement) = construct.statement else {
            return Plan::Nothing;
        };
        match (self.shape, construct.nest) {
            (Shape::Loop, Some(_)) => self.grid_loop(id),
            (Shape::Team, Some(_)) => self.team_loop(id),
            (Shape::Parallel, Some(_)) => self.crew_loop(id, Crew::Block),
            (Shape::Parallel, None) if construct.has(Leaf::Sections) => {
                self.sections(construct, statement, Crew::Block, true)
            }
            (Shape::Parallel, None) => {
                let body = self.team_body(construct, statement, Crew::Block);
                let reductions = self.region_reductions(construct);
                reduced(reductions, body)
            }
            (Shape::Team, None) => {
                let body = team::sequential(self, statement);
                let reductions = self.team_reductions(construct);
                reduced(reductions, body)
            }
            (Shape::Serial, Some(_)) if !self.linears(construct).is_empty() => {
                self.crew_loop(id, Crew::One)
            }
            // One thread combines into the variables themselves, as `scan` wants it.
            (Shape::Serial, Some(_)) => self.text(statement, Context::Alone),
            (Shape::Serial | Shape::Loop, None) => {
                let body = self.text(statement, Context::Alone);
                let reductions = self.region_reductions(construct);
                reduced(reductions, body)
            }
        }
    }

    /// User text with the directives inside it replaced.
    pub(super) fn text(&mut self, range: TextRange, context: Context) -> Plan {
        Plan::Text(self.body_text(range, context))
    }

    pub(super) fn body_text(&mut self, range: TextRange, context: Context) -> BodyText {
        let mut replacements = Vec::new();
        let mut end = range.start();
        let inside: Vec<(ConstructId, TextRange)> = self
            .program
            .constructs_in(range)
            .map(|(id, construct)| (id, construct.range))
            .collect();
        for (id, place) in inside {
            if place.start() < end {
                continue;
            }
            end = place.end();
            let context = match context {
                Context::Alone => Context::Alone,
                _ if self.program.is_called(place, range) => Context::Threads(Crew::Caller),
                other => other,
            };
            replacements.push((place, self.construct(id, context)));
        }
        self.replace_sized_arrays(range, &mut replacements);
        self.note_assignments(range, &mut replacements);
        BodyText {
            range,
            replacements,
        }
    }

    /// Refuses the constructs in a range that no plan has: they stand in expressions that go into device code as they are.
    pub(super) fn refuse_unplanned(&mut self, range: TextRange) {
        let own = self.region().map(|region| region.construct);
        let mut end = range.start();
        let program = self.program;
        for (id, construct) in program.constructs_in(range) {
            let is_part = matches!(construct.leaves.first(), Some(Leaf::Section | Leaf::Scan));
            let is_known = Some(id) == own || is_part || self.planned.contains(&id);
            if is_known || construct.range.start() < end {
                continue;
            }
            end = construct.range.end();
            self.unsupported(
                construct,
                "it stands in an expression: compute the value in front of it, in statements of its own",
            );
        }
    }

    /// The plan of one construct inside a region.
    pub(super) fn construct(&mut self, id: ConstructId, context: Context) -> Plan {
        self.planned.insert(id);
        let plan = self.construct_alone(id, context);
        match self.hides_its_head(id) {
            true => Plan::Sequence(vec![plan]),
            false => plan,
        }
    }

    /// Whether a construct is what a `for` or `if` with a declaration in its head controls, and has variables of its own: they may have
    /// the name of the declared one, which C++ allows in an inner block only.
    fn hides_its_head(&self, id: ConstructId) -> bool {
        let construct = &self.program.constructs[id];
        let Some(statement) = construct.statement else {
            return false;
        };
        let has_own = construct.sharing.iter().any(|sharing| {
            !matches!(
                sharing.attribute,
                SharingAttribute::Shared | SharingAttribute::Copyprivate
            )
        });
        has_own && {
            let root = self.program.unit.tree.root();
            let mut around = root
                .smallest_at(construct.range.cover(statement))
                .ancestors();
            let parent =
                around.find(|node| node.range() != construct.range && node.range() != statement);
            parent.is_some_and(|parent| {
                parent.kind() == Kind::ForRangeLoop
                    || parent
                        .field(Field::Initializer)
                        .is_some_and(|head| head.kind() == Kind::Declaration)
                    || parent
                        .condition()
                        .is_some_and(|head| head.kind() == Kind::Declaration)
            })
        }
    }

    fn construct_alone(&mut self, id: ConstructId, context: Context) -> Plan {
        let construct = &self.program.constructs[id];
        let statement = construct.statement;
        let Some(first) = construct.leaves.first().copied() else {
            return Plan::Nothing;
        };
        if !construct.unread.is_empty() {
            self.errors.extend(construct.unread.iter().map(|at| {
                let text = self.program.text(*at);
                let headline = format!("`{text}` names nothing that device code knows");
                Diagnostic::new(Code::UnsupportedClause, self.program.at(*at), headline)
                    .with_help("declare it in front of the function, or correct the name")
            }));
            return super::NOTHING;
        }
        if let Some((clause, help)) = self.refused_clause(construct) {
            let diagnostic = Diagnostic::new(
                Code::UnsupportedClause,
                self.program.at(clause),
                "this clause is not supported in device code",
            )
            .with_help(help);
            self.errors.push(diagnostic);
            return super::NOTHING;
        }
        let inner = match context {
            Context::Threads(_) | Context::Sequential => Context::Thread,
            other => other,
        };
        match first {
            Leaf::Target
            | Leaf::TargetData
            | Leaf::TargetEnterData
            | Leaf::TargetExitData
            | Leaf::TargetUpdate
                if self.region().is_none() => self.in_place(id, first, context),
            Leaf::Parallel if construct.nest.is_some() => match context {
                Context::Sequential => self.parallel(id),
                _ => Plan::Serialized(Box::new(self.thread_loop(id))),
            },
            Leaf::Parallel => {
                let Some(statement) = statement else { return Plan::Nothing };
                match context {
                    Context::Sequential => self.parallel(id),
                    _ => {
                        let body = self.private_copies(construct, statement, Context::Thread);
                        Plan::Serialized(Box::new(body))
                    }
                }
            }
            // Directly inside `teams` it binds to the teams, which share its iterations.
            Leaf::Loop if construct.nest.is_some() && context == Context::Sequential => {
                match self.binding(construct) {
                    Some("thread") => Plan::leader(self.thread_loop(id)),
                    Some("parallel") => self.parallel(id),
                    _ if self.in_league => self.parallel(id),
                    _ => self.team_loop(id),
                }
            }
            Leaf::For | Leaf::Loop if construct.nest.is_some() => match context {
                Context::Threads(crew) if self.binding(construct) != Some("thread") => self.crew_loop(id, crew),
                _ => self.thread_loop(id),
            },
            Leaf::Distribute if construct.nest.is_some() => match context {
                Context::Sequential if !self.in_league && construct.has(Leaf::Parallel) => {
                    self.league_loop(id)
                }
                Context::Sequential if !self.in_league => self.team_loop(id),
                // A function that is called in sequential code of the teams.
                _ if self.region().is_none() => self.caller_loop(id),
                _ => self.unsupported(construct, "`distribute` binds to the teams of the region; put it directly inside `teams`"),
            },
            Leaf::Simd if construct.nest.is_some() => self.thread_loop(id),
            Leaf::Unroll | Leaf::Task | Leaf::Taskgroup | Leaf::Ordered | Leaf::Section | Leaf::Assume => {
                let Some(statement) = statement else { return Plan::Nothing };
                self.private_copies(construct, statement, context)
            }
            Leaf::Taskloop if construct.nest.is_some() => self.thread_loop(id),
            Leaf::Barrier => match context {
                Context::Threads(crew) => Plan::Barrier(crew),
                Context::Alone | Context::Thread | Context::Sequential => Plan::Nothing,
            },
            // Cancellation is off, as omp_get_cancellation says.
            Leaf::Cancel | Leaf::CancellationPoint => Plan::Nothing,
            Leaf::Taskwait | Leaf::Taskyield | Leaf::Nothing | Leaf::Scan => Plan::Nothing,
            Leaf::Flush => Plan::Fence,
            Leaf::Atomic => match atomic::plan(self, id) {
                Some(plan) => plan,
                None => self.unsupported(construct, "write it in one of the forms of the specification: `x = x op e`, `x op= e`, `x++`, `v = x`"),
            },
            Leaf::Critical => {
                let Some(statement) = statement else { return Plan::Nothing };
                let body = self.text(statement, inner);
                Plan::Critical { lock: self.lock_name(construct), body: Box::new(body) }
            }
            Leaf::Sections => {
                let Some(statement) = statement else { return Plan::Nothing };
                match context {
                    Context::Threads(crew) => self.sections(construct, statement, crew, false),
                    _ => self.private_copies(construct, statement, context),
                }
            }
            Leaf::Scope => {
                let Some(statement) = statement else { return Plan::Nothing };
                match context {
                    Context::Threads(crew) => self.scope(construct, statement, crew),
                    _ => self.private_copies(construct, statement, context),
                }
            }
            Leaf::Single | Leaf::Master | Leaf::Masked => {
                let Some(statement) = statement else { return Plan::Nothing };
                let chosen = self.filter(construct);
                let crew = match (context, &chosen) {
                    (Context::Threads(crew), _) => crew,
                    (_, None) => return self.private_copies(construct, statement, context),
                    (_, Some(_)) => Crew::One,
                };
                let waits = first == Leaf::Single && !self.has_clause(construct, ClauseName::Nowait);
                Plan::Single {
                    crew,
                    chosen,
                    body: Box::new(self.private_copies(construct, statement, Context::Thread)),
                    copied: self.copied(construct),
                    waits: waits && crew != Crew::One,
                }
            }
            Leaf::Tile | Leaf::Stripe | Leaf::Split | Leaf::Interchange | Leaf::Reverse | Leaf::Fuse => self.unsupported(
                construct,
                "put it in front of `for` loops in canonical form, each the only statement of the one around it and with bounds that depend on none, without `apply`",
            ),
            _ => self.unsupported(construct, "move it out of the target region"),
        }
    }

    /// Whether iterations of a `simd` loop may need those that are `safelen` or more before them.
    pub(super) fn has_distance(&self, construct: &Construct) -> bool {
        construct.leaves.as_slice() == [Leaf::Target, Leaf::Simd]
            && self.has_clause(construct, ClauseName::Safelen)
    }

    /// The thread that `masked` chooses.
    pub(super) fn filter(&self, construct: &Construct) -> Option<Expr> {
        construct
            .directives
            .iter()
            .find_map(|idx| self.program.unit.directives[*idx].clause(ClauseName::Filter))
            .and_then(Clause::expression)
            .map(Expr::Source)
    }

    /// What a `loop` construct is bound to.
    fn binding(&self, construct: &Construct) -> Option<&'p str> {
        let program = self.program;
        construct
            .directives
            .iter()
            .find_map(|idx| program.unit.directives[*idx].clause(ClauseName::Bind))
            .and_then(|clause| program.text(clause.range).split(['(', ')']).nth(1))
            .map(str::trim)
    }

    fn lock_name(&self, construct: &Construct) -> SmolStr {
        let name = construct
            .directives
            .first()
            .and_then(|idx| self.program.unit.directives[*idx].argument);
        match name {
            Some(range) => format_smolstr!(
                "rex_critical_{}",
                namer::identifier(self.program.text(range).trim())
            ),
            None => SmolStr::new_static("rex_critical_unnamed"),
        }
    }

    pub(super) fn has_clause(&self, construct: &Construct, name: ClauseName) -> bool {
        construct
            .directives
            .iter()
            .any(|idx| self.program.unit.directives[*idx].clause(name).is_some())
    }

    /// A clause inside a region that nothing acts on.
    fn refused_clause(&self, construct: &Construct) -> Option<(TextRange, &'static str)> {
        construct.directives.iter().find_map(|idx| {
            self.program.unit.directives[*idx]
                .clauses
                .iter()
                .find_map(|clause| match clause.name {
                    ClauseName::Copyin => Some((clause.range, "use `firstprivate`")),
                    ClauseName::Detach => Some((clause.range, "use `taskwait`")),
                    _ => None,
                })
        })
    }

    /// `linear` over the grid: all teams would have to wait for each other before the last one stores the value.
    pub(super) fn unsupported_linear(&mut self, construct: &Construct, name: &str) -> Plan {
        let at = construct
            .sharing
            .iter()
            .find(|sharing| self.program.name(sharing.symbol) == name)
            .map(|sharing| sharing.at);
        if let Some(at) = at {
            let diagnostic = Diagnostic::new(
                Code::UnsupportedClause,
                self.program.at(at),
                format!("`linear` of `{name}`, which the loop does not count, is not supported on this construct"),
            )
            .with_help("write the variable's value from the iteration number");
            self.errors.push(diagnostic);
        }
        super::NOTHING
    }

    pub(super) fn unsupported(&mut self, construct: &Construct, help: &str) -> Plan {
        let directive = construct
            .directives
            .first()
            .map(|idx| &self.program.unit.directives[*idx]);
        if let Some(directive) = directive {
            let diagnostic = Diagnostic::new(
                Code::UnsupportedDirective,
                self.program.at(directive.range),
                format!(
                    "`{}` is not supported here in device code",
                    directive.name()
                ),
            )
            .with_help(help);
            self.errors.push(diagnostic);
        }
        super::NOTHING
    }
}

/// A piece with accumulators around it, if there are any.
pub(super) fn reduced(reductions: Vec<ReductionPlan>, body: Plan) -> Plan {
    match reductions.is_empty() {
        true => body,
        false => Plan::Reduce {
            reductions,
            body: Box::new(body),
        },
    }
}
