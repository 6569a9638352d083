//! Data sharing of constructs inside regions: private copies, lastprivate values, reductions.

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::kernel::{
    Crew, LastprivatePlan, LastprivateTarget, LinearPlan, Plan, Prologue, ReductionExtent,
    ReductionPlan, ReductionTarget,
};
use rex_ir::map::{PathStep, StepKind};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{
    CapturedObject, Construct, DataSharing, ReductionOperation, SharingAttribute, Transport,
};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{Category, Extent, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use smol_str::SmolStr;

use super::plan::{Context, Planner, reduced};
use super::{conditional, loops, team};

/// The same object, one for the team.
fn of_team(line: Prologue) -> Prologue {
    match line {
        Prologue::Private { name, ty } => Prologue::SharedPrivate { name, ty },
        Prologue::CopyOfOuter { name, ty } => Prologue::SharedCopyOfOuter { name, ty },
        Prologue::Aligned { value, line } => Prologue::Aligned {
            value,
            line: Box::new(of_team(*line)),
        },
        other => other,
    }
}

/// Objects with the alignments that the `allocate` clauses of their construct or the declarations of `variables` ask for.
pub(super) fn aligned(
    program: &Program,
    construct: &Construct,
    variables: &[SymbolId],
    lines: Vec<Prologue>,
) -> Vec<Prologue> {
    let alignment = |line: &Prologue| {
        let name = line.object()?;
        let mut asked = construct.alignments.iter();
        let asked = asked.find(|asked| program.name(asked.symbol) == name);
        asked.map(|asked| asked.value).or_else(|| {
            let mut named = variables.iter();
            let variable = named.find(|variable| program.name(**variable) == name)?;
            program.own_alignment(*variable)
        })
    };
    lines
        .into_iter()
        .map(|line| match alignment(&line) {
            Some(value) => Prologue::Aligned {
                value,
                line: Box::new(line),
            },
            None => line,
        })
        .collect()
}

impl Planner<'_> {
    /// A statement with the private copies its construct asks for.
    pub(super) fn private_copies(
        &mut self,
        construct: &Construct,
        statement: TextRange,
        context: Context,
    ) -> Plan {
        let (body, privates) = match context {
            Context::Sequential => (
                team::sequential(self, statement),
                self.team_privates(construct),
            ),
            _ => {
                let body = self.text(statement, context);
                let body = reduced(self.own_reductions(construct, statement), body);
                (body, self.privates(construct))
            }
        };
        let is_reduced = matches!(body, Plan::Reduce { .. });
        match privates.is_empty() && !is_reduced {
            true => body,
            false => Plan::Sequence(vec![Plan::Declare(privates), body]),
        }
    }

    pub(super) fn iterates(&self, construct: &Construct, symbol: rex_ir::symbol::SymbolId) -> bool {
        construct.nest.is_some_and(|nest| {
            let depth = loops::rectangle_depth(self.program, nest);
            self.program.nests[nest].loops[..depth]
                .iter()
                .any(|canonical| canonical.variable == *self.program.name(symbol))
        })
    }

    /// `private` and `firstprivate` copies of a construct inside the region.
    pub(super) fn privates(&mut self, construct: &Construct) -> Vec<Prologue> {
        let mut lines = Vec::new();
        for sharing in &construct.sharing {
            if self.iterates(construct, sharing.symbol) {
                continue;
            }
            // The copies that keep a last value begin with the first one, too; a single thread needs none.
            let keeps_last = construct.sharing.iter().any(|other| {
                other.symbol == sharing.symbol && other.attribute == SharingAttribute::Lastprivate
            });
            let name = self.program.name(sharing.symbol).clone();
            let ty = self.value_type(sharing.symbol);
            match sharing.attribute {
                SharingAttribute::Firstprivate if keeps_last => {}
                SharingAttribute::Private => lines.push(Prologue::Private { name, ty }),
                SharingAttribute::Firstprivate => lines.push(Prologue::CopyOfOuter { name, ty }),
                SharingAttribute::Shared
                | SharingAttribute::Lastprivate
                | SharingAttribute::Linear(_)
                | SharingAttribute::Copyprivate
                | SharingAttribute::Reduction { .. } => {}
            }
        }
        let listed = construct.sharing.iter().map(|sharing| sharing.symbol);
        let listed: Vec<SymbolId> = listed.collect();
        aligned(self.program, construct, &listed, lines)
    }

    /// `linear` variables of a construct that its loops do not count.
    pub(super) fn linears(&self, construct: &Construct) -> Vec<LinearPlan> {
        construct
            .sharing
            .iter()
            .filter(|sharing| !self.iterates(construct, sharing.symbol))
            .filter_map(|sharing| match sharing.attribute {
                SharingAttribute::Linear(step) => Some(LinearPlan {
                    name: self.program.name(sharing.symbol).clone(),
                    ty: self.value_type(sharing.symbol),
                    step: step.map(Expr::Source),
                }),
                _ => None,
            })
            .collect()
    }

    /// Variables that `copyprivate` lists.
    pub(super) fn copied(&self, construct: &Construct) -> Vec<SmolStr> {
        construct
            .sharing
            .iter()
            .filter(|sharing| sharing.attribute == SharingAttribute::Copyprivate)
            .map(|sharing| self.program.name(sharing.symbol).clone())
            .collect()
    }

    /// Copies in sequential code: one for the team, in shared memory.
    pub(super) fn team_privates(&mut self, construct: &Construct) -> Vec<Prologue> {
        let privates = self.privates(construct);
        privates.into_iter().map(of_team).collect()
    }

    fn lastprivates(
        &self,
        construct: &Construct,
        target: impl Fn(&SmolStr) -> LastprivateTarget,
    ) -> Vec<LastprivatePlan> {
        construct
            .sharing
            .iter()
            .filter(|sharing| sharing.attribute == SharingAttribute::Lastprivate)
            .filter(|sharing| !self.iterates(construct, sharing.symbol))
            .map(|sharing| {
                let name = self.program.name(sharing.symbol).clone();
                let is_copy = construct.sharing.iter().any(|other| {
                    other.symbol == sharing.symbol
                        && other.attribute == SharingAttribute::Firstprivate
                });
                LastprivatePlan {
                    target: target(&name),
                    name,
                    ty: self.value_type(sharing.symbol),
                    is_firstprivate: is_copy,
                    kept: conditional::kept(self.program, construct, sharing),
                }
            })
            .collect()
    }

    /// Last values of the region's own loop: into device memory, or into what `target` has a copy of, whose loop is that of a directive
    /// behind it.
    pub(super) fn region_lastprivates(&self, construct: &Construct) -> Vec<LastprivatePlan> {
        self.lastprivates(construct, |name| match self.is_stored(name) {
            true => LastprivateTarget::Parameter(namer::argument(name)),
            false => LastprivateTarget::Outer,
        })
    }

    /// Last values of a loop that teams share.
    pub(super) fn team_lastprivates(
        &self,
        construct: &Construct,
        is_region: bool,
    ) -> Vec<LastprivatePlan> {
        match is_region {
            true => self.region_lastprivates(construct),
            false => self.outer_lastprivates(construct),
        }
    }

    /// Last values, into variables around the construct.
    pub(super) fn outer_lastprivates(&self, construct: &Construct) -> Vec<LastprivatePlan> {
        self.lastprivates(construct, |_| LastprivateTarget::Outer)
    }

    pub(super) fn value_type(&self, symbol: rex_ir::symbol::SymbolId) -> TypeId {
        let declared = self.program.symbols[symbol].ty;
        let types = &self.program.types;
        let ty = match types.category(declared) {
            // A type that only the compiler knows is a parameter of the kernel.
            Category::Unknown => self.captured_type(symbol).unwrap_or(declared),
            _ => declared,
        };
        match types.get(ty).kind {
            TypeKind::Reference(to) => to,
            _ => ty,
        }
    }

    fn captured_type(&self, symbol: rex_ir::symbol::SymbolId) -> Option<TypeId> {
        let captures = &self.program.regions[self.region?].captures;
        let found = captures
            .iter()
            .find(|capture| capture.object == CapturedObject::Variable(symbol))?;
        Some(found.ty)
    }

    fn reductions(
        &mut self,
        construct: &Construct,
        target: impl Fn(&SmolStr) -> ReductionTarget,
    ) -> Vec<ReductionPlan> {
        let mut plans = Vec::new();
        for sharing in &construct.sharing {
            let SharingAttribute::Reduction { operation, section } = &sharing.attribute else {
                continue;
            };
            let name = self.program.name(sharing.symbol).clone();
            let ty = self.value_type(sharing.symbol);
            match self.reduction_extent(sharing, (operation, section.as_deref()), ty) {
                Ok(extent) => plans.push(ReductionPlan {
                    target: target(&name),
                    name,
                    ty,
                    extent,
                    operation: operation.clone(),
                    reads_original: self.program.reads_original(operation),
                }),
                Err(diagnostic) => self.errors.push(*diagnostic),
            }
        }
        plans
    }

    /// What of a listed variable is accumulated; `section` leads from it to the elements.
    fn reduction_extent(
        &self,
        sharing: &DataSharing,
        (operation, section): (&ReductionOperation, Option<&[PathStep]>),
        ty: TypeId,
    ) -> Result<ReductionExtent, Box<Diagnostic>> {
        let types = &self.program.types;
        let item = self.program.text(sharing.at);
        let refuse =
            |code, headline: String| Diagnostic::new(code, self.program.at(sharing.at), headline);
        let Some(steps) = section else {
            return Err(Box::new(
                refuse(
                    Code::ReductionOperand,
                    format!("`{item}` is no array section that could be reduced"),
                )
                .with_help("name a variable, or a section of one: `a[0:n]`"),
            ));
        };
        let is_array = matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. });
        if steps.is_empty() {
            let is_ordered = matches!(operation, ReductionOperation::Min | ReductionOperation::Max);
            let is_declared = self.is_declared_for(operation, ty);
            if types.category(ty) == Category::Pointer && !is_ordered && !is_declared {
                return Err(Box::new(
                    refuse(
                        Code::ReductionOperand,
                        format!("the pointer `{item}` cannot be reduced"),
                    )
                    .with_note(format!("its type is `{}`", types.spell(ty)))
                    .with_help(format!("name the elements: `{item}[0:n]`")),
                ));
            }
            if !super::is_assignable(self.program, types.innermost_element(ty)) {
                return Err(Box::new(
                    refuse(
                        Code::ReductionOperand,
                        format!("`{item}` cannot be reduced"),
                    )
                    .with_note(format!("its type is `{}`", types.spell(ty)))
                    .with_help("reduce a number, or declare a reduction for the type with `declare reduction`"),
                ));
            }
            if !is_array || self.is_small(ty) {
                return Ok(ReductionExtent::Whole);
            }
            return Ok(self.elements(ty, Expr::Int(0), self.elements_in(ty)));
        }
        let mut offset = Expr::Int(0);
        // (n0 - 1) * elements of e0 + (n1 - 1) * elements of e1 + ... + elements of the last.
        let mut count = Expr::Int(0);
        let mut container = ty;
        for (idx, step) in steps.iter().enumerate() {
            let inner = self.elements_in(step.ty);
            let (lower, length) = match &step.kind {
                StepKind::Index(at) => (Some(*at), Some(Expr::Int(1))),
                StepKind::Section(section) if section.stride.is_none() => (
                    section.lower,
                    section
                        .length
                        .map(Expr::Source)
                        .or_else(|| self.rest_of(container, section.lower)),
                ),
                _ => (None, None),
            };
            let Some(length) = length.filter(|_| idx == 0 || !step.follows_pointer) else {
                return Err(Box::new(
                    refuse(
                        Code::UnsupportedClause,
                        format!("a reduction over `{item}` is not supported"),
                    )
                    .with_help(
                        "reduce a section of one array or pointer variable, without a stride",
                    ),
                ));
            };
            if let Some(lower) = lower {
                offset = offset.binary(
                    BinaryOp::Add,
                    Expr::Source(lower).binary(BinaryOp::Mul, inner.clone()),
                );
            }
            count = match idx + 1 == steps.len() {
                true => count.binary(BinaryOp::Add, length.binary(BinaryOp::Mul, inner)),
                false if length == Expr::Int(1) => count,
                false => count.binary(
                    BinaryOp::Add,
                    length
                        .binary(BinaryOp::Sub, Expr::Int(1))
                        .binary(BinaryOp::Mul, inner),
                ),
            };
            container = step.ty;
        }
        Ok(self.elements(ty, offset, count))
    }

    /// Elements of a variable of this type, in memory of their own.
    fn elements(&self, ty: TypeId, offset: Expr, count: Expr) -> ReductionExtent {
        let types = &self.program.types;
        let desugared = types.desugar(ty);
        let (dimensions, is_pointer) = match types.get(desugared).kind {
            TypeKind::Pointer(to) => (to, true),
            _ => (desugared, false),
        };
        let view = types.is_variably_modified(ty).then(|| {
            let mut extents = Vec::new();
            if is_pointer {
                extents.push(Expr::Int(0));
            }
            extents.extend(types.extents(dimensions));
            extents
        });
        ReductionExtent::Elements {
            element: types.innermost_element(dimensions),
            offset,
            count,
            view,
        }
    }

    /// Whether the program declares a reduction for a type itself.
    fn is_declared_for(&self, operation: &ReductionOperation, ty: TypeId) -> bool {
        let types = &self.program.types;
        let spell = |ty: TypeId| types.declare_mutable(types.object_type(ty), "");
        let declared = self.program.declared_reduction(operation);
        declared.is_some_and(|declared| {
            let mut of = declared.types.iter();
            of.any(|known| spell(*known) == spell(ty))
        })
    }

    /// How many innermost elements an object of this type has.
    fn elements_in(&self, ty: TypeId) -> Expr {
        self.program
            .types
            .extents(ty)
            .into_iter()
            .fold(Expr::Int(1), |product, extent| {
                product.binary(BinaryOp::Mul, extent)
            })
    }

    /// The elements of an array from `lower` on.
    fn rest_of(&self, array: TypeId, lower: Option<TextRange>) -> Option<Expr> {
        let extent = self.program.types.extents(array).into_iter().next()?;
        Some(match lower {
            Some(lower) => extent.binary(BinaryOp::Sub, Expr::Source(lower)),
            None => extent,
        })
    }

    /// Whether each thread can have a copy of an array among its local variables.
    fn is_small(&self, ty: TypeId) -> bool {
        let types = &self.program.types;
        let mut elements = 1u64;
        let mut current = ty;
        while let TypeKind::Array { element, extent } = &types.get(types.object_type(current)).kind
        {
            let Extent::Constant(text) = extent else {
                return false;
            };
            let Some(extent) = self.constant(text, 0) else {
                return false;
            };
            elements = elements.saturating_mul(extent);
            current = *element;
        }
        elements <= LOCAL_ELEMENTS
    }

    /// The value of a number, or of a macro or enumerator that stands for one.
    fn constant(&self, text: &str, depth: u32) -> Option<u64> {
        let program = self.program;
        let text = text.trim();
        if depth > 8 {
            return None;
        }
        if let Ok(number) = text.trim_end_matches(['u', 'U', 'l', 'L']).parse() {
            return Some(number);
        }
        let construct = self.region().map(|region| region.construct)?;
        let at = program.constructs[construct].range;
        if let Some(definition) = program.macro_at(text, at) {
            let body = definition
                .body
                .as_str()
                .trim_start_matches('(')
                .trim_end_matches(')');
            return self.constant(body, depth + 1);
        }
        let symbol = program.scopes.resolve(&program.symbols, text, at)?;
        let initializer = program.symbols[symbol].initializer?;
        self.constant(program.text(initializer), depth + 1)
    }

    /// Reductions of the region's own construct into device memory, by all threads of the grid.
    pub(super) fn region_reductions(&mut self, construct: &Construct) -> Vec<ReductionPlan> {
        let mut plans = self.reductions(construct, |name| {
            ReductionTarget::Grid(namer::argument(name))
        });
        plans.retain(|plan| !self.is_value_only(&plan.name));
        plans
    }

    /// Whether the region has only the value of a variable, not its storage: nothing outside sees what becomes of it.
    fn is_value_only(&self, name: &str) -> bool {
        self.captured(name)
            .is_some_and(|capture| capture.transport == Transport::Literal)
    }

    /// Reductions of the region's own construct into device memory, with one accumulator for each team.
    pub(super) fn team_reductions(&mut self, construct: &Construct) -> Vec<ReductionPlan> {
        let mut plans = self.reductions(construct, |name| {
            ReductionTarget::Team(namer::argument(name))
        });
        plans.retain(|plan| !self.is_value_only(&plan.name));
        plans
    }

    /// Reductions into variables around the construct.
    pub(super) fn crew_reductions(
        &mut self,
        construct: &Construct,
        crew: Crew,
    ) -> Vec<ReductionPlan> {
        self.reductions(construct, |_| ReductionTarget::Crew(crew))
    }
}

/// Arrays up to this size are reduced in local variables of the threads.
const LOCAL_ELEMENTS: u64 = 64;
