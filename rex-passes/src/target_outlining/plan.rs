//! Plans for the bodies of regions: what each directive inside becomes.

use rex_ir::expr::Expr;
use rex_ir::kernel::{
    BodyText, IterationSpace, LastprivatePlan, LastprivateTarget, LoopPlan, Plan, Prologue,
    ReductionPlan, ReductionTarget,
};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{Construct, ConstructId, Region, RegionId, SharingAttribute};
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;
use smol_str::{SmolStr, format_smolstr};

use super::{Shape, atomic, team};

/// Who executes a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// One thread of its team; no other thread of the team is in the region.
    Alone,
    /// The team's sequential code, gone through by all threads of the block.
    Sequential,
    /// The OpenMP threads of a parallel region, each a thread of the block.
    Threads,
    /// One thread: inside a loop that is shared already, or a nested parallel.
    Thread,
    /// One thread inside a device function: who else calls it is not known.
    Function,
}

/// Makes plans for one region.
pub(super) struct Planner<'p> {
    pub(super) program: &'p Program,
    /// The region being planned; none for a device function.
    region: Option<RegionId>,
    shape: Shape,
    /// What cannot be lowered; any entry refuses the region.
    pub(super) errors: Vec<Diagnostic>,
}

impl<'p> Planner<'p> {
    pub(super) fn new(program: &'p Program, region: RegionId, shape: Shape) -> Planner<'p> {
        Planner {
            program,
            region: Some(region),
            shape,
            errors: Vec::new(),
        }
    }

    /// A planner for the body of a device function.
    pub(super) fn for_function(program: &'p Program) -> Planner<'p> {
        Planner {
            program,
            region: None,
            shape: Shape::Serial,
            errors: Vec::new(),
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
        self.check_clauses(construct);
        let Some(statement) = construct.statement else {
            return Plan::Nothing;
        };
        match (self.shape, construct.nest) {
            (Shape::Loop, Some(_)) => self.grid_loop(id),
            (Shape::Team, Some(_)) => self.team_loop(id),
            (Shape::Parallel, _) => {
                let body = self.text(statement, Context::Threads);
                let privates = Vec::new();
                let reductions = self.region_reductions(construct);
                Plan::Parallel {
                    num_threads: None,
                    privates,
                    reductions,
                    body: Box::new(body),
                }
            }
            (Shape::Team, None) => team::sequential(self, statement),
            (Shape::Serial, _) | (Shape::Loop, None) => self.text(statement, Context::Alone),
        }
    }

    fn check_clauses(&mut self, construct: &Construct) {
        let uses_reduction = |sharing: &rex_ir::region::DataSharing| {
            matches!(
                sharing.attribute,
                SharingAttribute::Reduction {
                    is_section: true,
                    ..
                }
            )
        };
        if let Some(section) = construct
            .sharing
            .iter()
            .find(|sharing| uses_reduction(sharing))
        {
            let diagnostic = Diagnostic::new(
                Code::UnsupportedClause,
                self.program.at(section.at),
                "a reduction over an array section is not supported yet",
            )
            .with_help("reduce into scalars, or use `atomic` updates of the elements");
            self.errors.push(diagnostic);
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
            .constructs
            .iter()
            .filter(|(_, construct)| range.contains_range(construct.range))
            .map(|(id, construct)| (id, construct.range))
            .collect();
        for (id, place) in inside {
            if place.start() < end {
                continue;
            }
            end = place.end();
            replacements.push((place, self.construct(id, context)));
        }
        BodyText {
            range,
            replacements,
        }
    }

    /// The plan of one construct inside a region.
    pub(super) fn construct(&mut self, id: ConstructId, context: Context) -> Plan {
        let construct = &self.program.constructs[id];
        let statement = construct.statement;
        let Some(first) = construct.leaves.first().copied() else {
            return Plan::Nothing;
        };
        let inner = match context {
            Context::Threads | Context::Sequential => Context::Thread,
            other => other,
        };
        match first {
            Leaf::Parallel if construct.nest.is_some() => match context {
                Context::Sequential => self.block_loop(id),
                Context::Alone | Context::Threads | Context::Thread | Context::Function => self.thread_loop(id),
            },
            Leaf::Parallel => {
                let Some(statement) = statement else { return Plan::Nothing };
                match context {
                    Context::Sequential => self.parallel(id, statement),
                    _ => self.private_copies(construct, statement, Context::Thread),
                }
            }
            Leaf::For | Leaf::Sections | Leaf::Single | Leaf::Barrier | Leaf::Master | Leaf::Masked
                if context == Context::Function =>
            {
                self.unsupported(construct, "put it into the target region itself: in a function it binds to the caller's parallel region")
            }
            // Directly inside `teams` it binds to the teams, which share its iterations.
            Leaf::Loop if construct.nest.is_some() && context == Context::Sequential => {
                if self.binds_to_thread(construct) {
                    Plan::Leader(Box::new(self.thread_loop(id)))
                } else {
                    self.team_loop(id)
                }
            }
            Leaf::For | Leaf::Loop if construct.nest.is_some() => match context {
                Context::Threads => self.block_loop(id),
                _ => self.thread_loop(id),
            },
            Leaf::Distribute if construct.nest.is_some() => match context {
                Context::Sequential => self.team_loop(id),
                _ => self.unsupported(construct, "`distribute` binds to the teams of the region; put it directly inside `teams`"),
            },
            Leaf::Simd if construct.nest.is_some() => self.thread_loop(id),
            Leaf::Tile | Leaf::Unroll | Leaf::Task | Leaf::Taskgroup | Leaf::Scope | Leaf::Ordered | Leaf::Section | Leaf::Assume => {
                let Some(statement) = statement else { return Plan::Nothing };
                self.private_copies(construct, statement, context)
            }
            Leaf::Taskloop if construct.nest.is_some() => self.thread_loop(id),
            Leaf::Barrier => match context {
                Context::Threads => Plan::Barrier,
                Context::Alone | Context::Thread | Context::Sequential | Context::Function => Plan::Nothing,
            },
            Leaf::Taskwait | Leaf::Taskyield | Leaf::Nothing | Leaf::CancellationPoint => Plan::Nothing,
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
            Leaf::Single | Leaf::Master | Leaf::Masked | Leaf::Sections => {
                let Some(statement) = statement else { return Plan::Nothing };
                let nowait = self.has_clause(construct, ClauseName::Nowait);
                if let Some(clause) = self.clause_range(construct, &[ClauseName::Copyprivate, ClauseName::Filter, ClauseName::Reduction]) {
                    return self.unsupported_at(clause, "this clause is not supported in device code yet");
                }
                match context {
                    Context::Threads => {
                        let waits = matches!(first, Leaf::Single | Leaf::Sections) && !nowait;
                        let body = self.private_copies(construct, statement, Context::Thread);
                        Plan::Single { body: Box::new(body), waits }
                    }
                    _ => self.private_copies(construct, statement, context),
                }
            }
            _ => self.unsupported(construct, "move it out of the target region"),
        }
    }

    fn binds_to_thread(&self, construct: &Construct) -> bool {
        construct.directives.iter().any(|idx| {
            self.program.unit.directives[*idx]
                .clause(ClauseName::Bind)
                .is_some_and(|clause| {
                    self.program
                        .text(clause.range)
                        .split(['(', ')'])
                        .any(|word| word.trim() == "thread")
                })
        })
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

    fn has_clause(&self, construct: &Construct, name: ClauseName) -> bool {
        construct
            .directives
            .iter()
            .any(|idx| self.program.unit.directives[*idx].clause(name).is_some())
    }

    fn clause_range(&self, construct: &Construct, names: &[ClauseName]) -> Option<TextRange> {
        construct.directives.iter().find_map(|idx| {
            self.program.unit.directives[*idx]
                .clauses
                .iter()
                .find(|clause| names.contains(&clause.name))
                .map(|clause| clause.range)
        })
    }

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
    fn grid_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let (depth, iteration) = self.rectangle(nest);
        let body = self.text(iteration, Context::Thread);
        let lastprivates = construct
            .sharing
            .iter()
            .filter(|sharing| sharing.attribute == SharingAttribute::Lastprivate)
            .filter(|sharing| !self.iterates(construct, sharing.symbol))
            .map(|sharing| LastprivatePlan {
                name: self.program.name(sharing.symbol).clone(),
                ty: self.value_type(sharing.symbol),
                target: LastprivateTarget::Parameter(namer::argument(
                    self.program.name(sharing.symbol),
                )),
            })
            .collect();
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
    fn team_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let is_region = self.region().is_some_and(|region| region.construct == id);
        if is_region && !self.region_reductions(construct).is_empty() {
            return self.unsupported(construct, "put the `reduction` on the inner `parallel for` as well and use `atomic` on the outer result");
        }
        let (depth, iteration) = self.rectangle(nest);
        let body = team::sequential(self, iteration);
        let privates = if is_region {
            Vec::new()
        } else {
            self.privates(construct)
        };
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Teams,
            privates,
            reductions: Vec::new(),
            lastprivates: Vec::new(),
            final_values: Vec::new(),
            body,
            waits: false,
            chunk: None,
        }))
    }

    /// A loop whose iterations the threads of the block share.
    pub(super) fn block_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(nest) = construct.nest else {
            return Plan::Nothing;
        };
        let (depth, iteration) = self.rectangle(nest);
        let body = self.text(iteration, Context::Thread);
        let forks = construct.has(Leaf::Parallel);
        let nowait = self.has_clause(construct, ClauseName::Nowait);
        Plan::Loop(Box::new(LoopPlan {
            construct: id,
            nest,
            depth,
            space: IterationSpace::Block,
            privates: self.privates(construct),
            reductions: self.block_reductions(construct),
            lastprivates: self.outer_lastprivates(construct),
            final_values: Vec::new(),
            body,
            waits: forks || !nowait,
            chunk: None,
        }))
    }

    /// A loop that one thread goes through: the user's loop as it is.
    fn thread_loop(&mut self, id: ConstructId) -> Plan {
        let construct = &self.program.constructs[id];
        match construct.statement {
            Some(statement) => self.private_copies(construct, statement, Context::Thread),
            None => Plan::Nothing,
        }
    }

    fn parallel(&mut self, id: ConstructId, statement: TextRange) -> Plan {
        let construct = &self.program.constructs[id];
        let body = self.text(statement, Context::Threads);
        Plan::Parallel {
            num_threads: self.num_threads(construct),
            privates: self.privates(construct),
            reductions: self.block_reductions(construct),
            body: Box::new(body),
        }
    }

    pub(super) fn num_threads(&self, construct: &Construct) -> Option<Expr> {
        let clause = construct
            .directives
            .iter()
            .find_map(|idx| self.program.unit.directives[*idx].clause(ClauseName::NumThreads))?;
        clause.expression().map(Expr::Source)
    }

    /// A statement with the private copies its construct asks for.
    fn private_copies(
        &mut self,
        construct: &Construct,
        statement: TextRange,
        context: Context,
    ) -> Plan {
        let body = self.text(statement, context);
        let privates = self.privates(construct);
        if privates.is_empty() {
            body
        } else {
            Plan::Sequence(vec![Plan::Declare(privates), body])
        }
    }

    fn iterates(&self, construct: &Construct, symbol: rex_ir::symbol::SymbolId) -> bool {
        construct.nest.is_some_and(|nest| {
            self.program.nests[nest]
                .loops
                .iter()
                .any(|canonical| canonical.variable == *self.program.name(symbol))
        })
    }

    /// `private` and `firstprivate` copies of a construct inside the region.
    fn privates(&mut self, construct: &Construct) -> Vec<Prologue> {
        let mut lines = Vec::new();
        for sharing in &construct.sharing {
            if self.iterates(construct, sharing.symbol) {
                continue;
            }
            let name = self.program.name(sharing.symbol).clone();
            let ty = self.value_type(sharing.symbol);
            match sharing.attribute {
                SharingAttribute::Private => lines.push(Prologue::Private { name, ty }),
                SharingAttribute::Firstprivate => lines.push(Prologue::CopyOfOuter { name, ty }),
                SharingAttribute::Shared
                | SharingAttribute::Lastprivate
                | SharingAttribute::Linear(_)
                | SharingAttribute::Reduction { .. } => {}
            }
        }
        lines
    }

    fn outer_lastprivates(&mut self, construct: &Construct) -> Vec<LastprivatePlan> {
        construct
            .sharing
            .iter()
            .filter(|sharing| sharing.attribute == SharingAttribute::Lastprivate)
            .filter(|sharing| !self.iterates(construct, sharing.symbol))
            .map(|sharing| LastprivatePlan {
                name: self.program.name(sharing.symbol).clone(),
                ty: self.value_type(sharing.symbol),
                target: LastprivateTarget::Outer,
            })
            .collect()
    }

    fn value_type(&self, symbol: rex_ir::symbol::SymbolId) -> TypeId {
        let ty = self.program.symbols[symbol].ty;
        match self.program.types.get(ty).kind {
            TypeKind::Reference(to) => to,
            _ => ty,
        }
    }

    fn reductions(
        &mut self,
        construct: &Construct,
        target: impl Fn(&SmolStr) -> ReductionTarget,
    ) -> Vec<ReductionPlan> {
        let mut plans = Vec::new();
        for sharing in &construct.sharing {
            let SharingAttribute::Reduction {
                operation,
                is_section,
            } = &sharing.attribute
            else {
                continue;
            };
            let name = self.program.name(sharing.symbol).clone();
            let ty = self.value_type(sharing.symbol);
            let is_array = !matches!(
                self.program.types.get(self.program.types.desugar(ty)).kind,
                TypeKind::Named { .. }
            );
            if !*is_section && self.program.types.category(ty) == rex_ir::ty::Category::Pointer {
                let diagnostic = Diagnostic::new(
                    Code::ReductionOperand,
                    self.program.at(sharing.at),
                    format!("the pointer `{name}` cannot be reduced"),
                )
                .with_note(format!("its type is `{}`", self.program.types.spell(ty)))
                .with_help(format!("name the elements: `{name}[0:n]`"));
                self.errors.push(diagnostic);
                continue;
            }
            if *is_section || is_array || !super::is_assignable(self.program, ty) {
                let diagnostic = Diagnostic::new(
                    Code::UnsupportedClause,
                    self.program.at(sharing.at),
                    format!("a reduction over the array `{name}` is not supported yet"),
                )
                .with_help("reduce into scalars, or use `atomic` updates of the elements");
                self.errors.push(diagnostic);
                continue;
            }
            plans.push(ReductionPlan {
                target: target(&name),
                name,
                ty,
                operation: operation.clone(),
            });
        }
        plans
    }

    fn region_reductions(&mut self, construct: &Construct) -> Vec<ReductionPlan> {
        self.reductions(construct, |name| {
            ReductionTarget::Grid(namer::argument(name))
        })
    }

    fn block_reductions(&mut self, construct: &Construct) -> Vec<ReductionPlan> {
        self.reductions(construct, |_| ReductionTarget::Block)
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

    pub(super) fn unsupported_at(&mut self, range: TextRange, message: &str) -> Plan {
        self.errors.push(Diagnostic::new(
            Code::UnsupportedClause,
            self.program.at(range),
            message,
        ));
        super::NOTHING
    }
}
