//! Outlined kernels: names, parameters, prologue and a plan for the body.
//!
//! A kernel body is the user's text with disjoint replacements. [`BodyText`] says which ranges are replaced by what; the device emitter prints it.

use la_arena::Idx;
use rex_syntax::TextRange;
use smol_str::SmolStr;

use crate::expr::Expr;
use crate::item::TemplateHead;
use crate::region::{CapturedObject, ConstructId, LoopNestId, ReductionOperation, RegionId};
use crate::ty::{RecordId, TypeId};

/// Index of a kernel.
pub type KernelId = Idx<Kernel>;

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The region it executes.
    pub region: RegionId,
    /// Its four identities.
    pub names: KernelNames,
    /// Parameters in the order of the launch's arguments.
    pub parameters: Vec<Parameter>,
    /// Where prologue and body stand.
    pub home: Home,
    /// Parameters of the kernel and arguments where it is launched, if it is a template.
    pub template: Option<TemplateHead>,
    /// The last of these parameters, by variable: types that only the compiler knows.
    pub deduced: Vec<SmolStr>,
    /// What gives the body its names back.
    pub prologue: Vec<Prologue>,
    /// The body.
    pub body: Plan,
    /// How the body uses the threads of a block.
    pub threading: Threading,
    /// Words that stand in place of others wherever a range of the body is printed (`rex_self->x` for a member `x`).
    pub words: Vec<(TextRange, SmolStr)>,
}

/// Where the prologue and the body of a kernel stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Home {
    /// In the kernel itself.
    Kernel,
    /// In a member function of the region's class, which the kernel calls: every name of the class keeps its meaning there.
    Member,
    /// In a function object that the kernel calls: classes whose friend the region's function is make that one a friend, too.
    Friend,
}

/// The names that tie a kernel, its host key, its entry and its launch together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelNames {
    /// The device symbol and entry name.
    pub kernel: SmolStr,
    /// The host object whose address is the key.
    pub key: SmolStr,
    /// The entry variable.
    pub entry: SmolStr,
    /// The device function or function object that has the body, when the kernel only calls it.
    pub body: SmolStr,
}

/// How a kernel uses the threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threading {
    /// Threads never wait for each other.
    Independent,
    /// The kernel contains barriers.
    Barriers,
}

/// A kernel parameter. Each is one 8-byte slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What it carries.
    pub object: CapturedObject,
    /// Its name.
    pub name: SmolStr,
    /// Its type.
    pub ty: ParameterType,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterType {
    /// `uint64_t`, to be unpacked.
    Slot,
    /// `void *`: the pointee has no name outside the body.
    Untyped,
    /// Declared as this type (a pointer).
    Declared(TypeId),
    /// A pointer to this type.
    PointerTo(TypeId),
}

/// A line of the prologue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prologue {
    /// An allocator of the region's own.
    Allocator {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The array with its traits.
        traits: Option<SmolStr>,
    },
    /// An object with an alignment of its own.
    Aligned {
        /// The alignment.
        value: TextRange,
        /// Its declaration.
        line: Box<Prologue>,
    },
    /// A declaration copied from the enclosing function.
    Declaration(TextRange),
    /// The definition of a struct that the user gave no tag.
    Untagged(RecordId),
    /// A variable whose type the instantiation of a template decides.
    Captured {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
        /// The thread has a copy of its own even of an object.
        is_firstprivate: bool,
    },
    /// A pointer from a parameter that could not have its type: `T *name = reinterpret_cast<T *>(parameter);`
    Unpack {
        /// The pointer.
        name: SmolStr,
        /// Its type: [`ParameterType::Declared`] or [`ParameterType::PointerTo`].
        ty: ParameterType,
        /// The parameter.
        parameter: SmolStr,
    },
    /// `T name = rex_literal<T>(parameter);`
    Literal {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// `T &name = *parameter;`
    Reference {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// An array of constant extents over the parameter's storage.
    ArrayReference {
        /// The variable.
        name: SmolStr,
        /// Its array type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// A view with run-time extents.
    View {
        /// The variable.
        name: SmolStr,
        /// The innermost element type.
        element: TypeId,
        /// Extents, outermost first.
        extents: Vec<Expr>,
        /// The parameter.
        parameter: SmolStr,
    },
    /// One object for the block, in shared memory, without a value.
    SharedPrivate {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// One object for the block, in shared memory: the leader's copy of the object behind `parameter`.
    SharedCopy {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// One object for the block, in shared memory; `parameter`'s value is stored by the leader.
    SharedLiteral {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// A local array whose extents are known at run time.
    SizedArray {
        /// The variable.
        name: SmolStr,
        /// The innermost element type.
        element: TypeId,
        /// Extents, outermost first.
        extents: Vec<Expr>,
        /// Who has one.
        owner: ArrayOwner,
    },
    /// The team's copy, in shared memory, of the variable of the same name around it.
    SharedCopyOfOuter {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// A thread's copy of the variable of the same name around it.
    CopyOfOuter {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// `T name;`
    Private {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// A copy of its own for each thread of an object that the parameter points to.
    ThreadCopy {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
}

impl Prologue {
    /// The name of the object that it makes for a team or a thread.
    pub fn object(&self) -> Option<&SmolStr> {
        match self {
            Prologue::Literal { name, .. }
            | Prologue::SharedLiteral { name, .. }
            | Prologue::Private { name, .. }
            | Prologue::SharedPrivate { name, .. }
            | Prologue::SharedCopy { name, .. }
            | Prologue::SharedCopyOfOuter { name, .. }
            | Prologue::CopyOfOuter { name, .. }
            | Prologue::ThreadCopy { name, .. } => Some(name),
            Prologue::Aligned { line, .. } => line.object(),
            _ => None,
        }
    }

    /// Whether the object lies in memory that the threads of a block share.
    pub fn is_shared(&self) -> bool {
        match self {
            Prologue::Aligned { line, .. } => line.is_shared(),
            Prologue::SharedLiteral { .. }
            | Prologue::SharedPrivate { .. }
            | Prologue::SharedCopy { .. }
            | Prologue::SharedCopyOfOuter { .. } => true,
            _ => false,
        }
    }
}

/// Who has an array whose extents are known at run time, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayOwner {
    /// A thread, on the heap.
    Thread,
    /// The threads of a block together, on the heap.
    Team,
    /// The threads of a block together, in dynamic shared memory behind so many bytes of others.
    TeamShared(Expr),
}

/// A range of the user's text with replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyText {
    /// The range.
    pub range: TextRange,
    /// Disjoint replacements in source order.
    pub replacements: Vec<(TextRange, Plan)>,
}

impl BodyText {
    /// A range as it is.
    pub fn verbatim(range: TextRange) -> BodyText {
        BodyText {
            range,
            replacements: Vec::new(),
        }
    }
}

/// How a piece of a body executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is left of it.
    Nothing,
    /// The user's text.
    Text(BodyText),
    /// Several pieces, one after the other, in a block of their own.
    Sequence(Vec<Plan>),
    /// Declarations at the head of a block.
    Declare(Vec<Prologue>),
    /// A loop nest shared among threads.
    Loop(Box<LoopPlan>),
    /// A loop nest shared among threads, with a scan in each iteration.
    Scan(Box<ScanPlan>),
    /// Threads of the block execute it, as OpenMP threads. Followed by a barrier of the block.
    Parallel(Box<ParallelPlan>),
    /// A parallel region that one thread executes.
    Serialized(Box<Plan>),
    /// Accumulators around a piece, combined after it.
    Reduce {
        /// The accumulators.
        reductions: Vec<ReductionPlan>,
        /// What happens between.
        body: Box<Plan>,
    },
    /// The first thread of the block executes it.
    Leader {
        /// What it executes.
        body: Box<Plan>,
        /// The other threads wait for it.
        waits: bool,
    },
    /// A declaration that every thread makes by itself, from what nobody changes.
    Replicated(BodyText),
    /// `if` on a condition that all threads compute alike.
    UniformIf {
        /// The condition.
        condition: BodyText,
        /// When true.
        then: Box<Plan>,
        /// When false.
        otherwise: Option<Box<Plan>>,
    },
    /// A `for` loop whose head all threads execute alike.
    UniformLoop {
        /// `for (..)`
        head: BodyText,
        /// The turn.
        body: Box<Plan>,
    },
    /// `if` on a condition of the team: the leader's value decides for all threads.
    TeamIf {
        /// The condition.
        condition: BodyText,
        /// When true.
        then: Box<Plan>,
        /// When false.
        otherwise: Option<Box<Plan>>,
    },
    /// A loop that the whole team goes through together.
    TeamLoop {
        /// Executed once before, as sequential code.
        init: Option<Box<Plan>>,
        /// Tested before each turn (absent: forever), or after it for `do`.
        condition: Option<BodyText>,
        /// Executed after each turn, as sequential code.
        step: Option<BodyText>,
        /// The turn.
        body: Box<Plan>,
        /// `do` loops test after the turn.
        tests_first: bool,
    },
    /// A range-based `for` loop that all threads go through.
    TeamRange(Box<RangePlan>),
    /// `switch` on the leader's value.
    TeamSwitch {
        /// The value.
        condition: BodyText,
        /// What follows each label.
        cases: Vec<CasePlan>,
    },
    /// `return`, by all threads, of the leader's value.
    TeamReturn(BodyText),
    /// `auto declarator = value;`
    Result {
        /// The name, or `&name`.
        declarator: SmolStr,
        /// Evaluated by all threads.
        value: BodyText,
    },
    /// A `conditional` lastprivate variable that the iteration (or without a space: the section) assigns.
    Assigned {
        /// The variable.
        name: SmolStr,
        /// Whose iteration.
        space: Option<IterationSpace>,
    },
    /// Words in place of an expression.
    Words(SmolStr),
    /// A value in place of an expression.
    Value(Expr),
    /// Team-local objects in shared memory: the declaration's text after `__shared__`, without initializer.
    Shared {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// Stored by the leader.
        initializer: Option<BodyText>,
        /// The initializer names nothing.
        is_constant: bool,
        /// The other threads wait for it.
        waits: bool,
    },
    /// A reference in sequential code.
    Reference {
        /// Its name.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// What it refers to.
        initializer: BodyText,
        /// All threads find it by themselves; otherwise the leader does.
        is_alike: bool,
    },
    /// A barrier of the threads that execute the enclosing parallel.
    Barrier(Crew),
    /// An atomic update.
    Atomic(Box<AtomicPlan>),
    /// A critical section.
    Critical {
        /// The lock's identifier.
        lock: SmolStr,
        /// Its statement.
        body: Box<Plan>,
    },
    /// One thread executes it.
    Single {
        /// The threads it is one of.
        crew: Crew,
        /// Its number, if not 0.
        chosen: Option<Expr>,
        /// Its statement.
        body: Box<Plan>,
        /// Variables of its that the other threads get copies of.
        copied: Vec<SmolStr>,
        /// The other threads wait for it.
        waits: bool,
    },
    /// Threads share sections.
    Sections(Box<SectionsPlan>),
    /// A memory fence.
    Fence,
}

/// What [`Plan::visit`] comes by.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'p> {
    /// A plan.
    Plan(&'p Plan),
    /// A text of the user's.
    Text(&'p BodyText),
}

/// What the threads of a block do first in a piece of a team program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The leader writes something that depends on nothing of the team's, and the others wait for it.
    Leader,
    /// Somebody looks at what the team has. Where the leader alone does, compilers let the others read ahead with it.
    Everybody,
    /// Nobody looks at it; what follows decides.
    Nobody,
}

impl Plan {
    /// Sequential code, with a barrier behind.
    pub fn leader(body: Plan) -> Plan {
        Plan::Leader {
            body: Box::new(body),
            waits: true,
        }
    }

    /// What the threads do first.
    pub fn beginning(&self) -> Beginning {
        match self {
            Plan::Nothing | Plan::Replicated(_) => Beginning::Nobody,
            Plan::Shared {
                initializer: None, ..
            } => Beginning::Nobody,
            Plan::Shared {
                is_constant: true, ..
            } => Beginning::Leader,
            // They begin with a barrier.
            Plan::TeamSwitch { .. } | Plan::TeamReturn(_) => Beginning::Leader,
            // The threads only take the address.
            Plan::Reference { is_alike: true, .. } => Beginning::Nobody,
            Plan::Reference { .. } => Beginning::Leader,
            Plan::Sequence(plans) => plans
                .iter()
                .map(Plan::beginning)
                .find(|beginning| *beginning != Beginning::Nobody)
                .unwrap_or(Beginning::Nobody),
            _ => Beginning::Everybody,
        }
    }

    /// Calls `see` for this plan and for all plans and texts inside it, outer ones first.
    pub fn visit<'p>(&'p self, see: &mut dyn FnMut(Piece<'p>)) {
        see(Piece::Plan(self));
        match self {
            Plan::Text(text) | Plan::Replicated(text) => text.visit(see),
            Plan::Sequence(plans) => plans.iter().for_each(|plan| plan.visit(see)),
            Plan::Loop(plan) => plan.body.visit(see),
            Plan::Scan(plan) => {
                plan.input.visit(see);
                plan.output.visit(see);
            }
            Plan::Parallel(plan) => plan.body.visit(see),
            Plan::Sections(plan) => plan.sections.iter().for_each(|plan| plan.visit(see)),
            Plan::Reduce { body, .. }
            | Plan::Critical { body, .. }
            | Plan::Single { body, .. }
            | Plan::Serialized(body)
            | Plan::Leader { body, .. } => body.visit(see),
            Plan::UniformLoop { head, body } => {
                head.visit(see);
                body.visit(see);
            }
            Plan::UniformIf {
                condition,
                then,
                otherwise,
            }
            | Plan::TeamIf {
                condition,
                then,
                otherwise,
            } => {
                condition.visit(see);
                then.visit(see);
                if let Some(otherwise) = otherwise {
                    otherwise.visit(see);
                }
            }
            Plan::TeamLoop {
                init,
                condition,
                step,
                body,
                ..
            } => {
                if let Some(init) = init {
                    init.visit(see);
                }
                for text in [condition, step].into_iter().flatten() {
                    text.visit(see);
                }
                body.visit(see);
            }
            Plan::Shared { initializer, .. } => {
                if let Some(initializer) = initializer {
                    initializer.visit(see);
                }
            }
            Plan::TeamSwitch { condition, cases } => {
                condition.visit(see);
                for case in cases {
                    case.body.iter().for_each(|plan| plan.visit(see));
                }
            }
            Plan::TeamRange(plan) => {
                plan.range.visit(see);
                plan.body.visit(see);
            }
            Plan::TeamReturn(text)
            | Plan::Result { value: text, .. }
            | Plan::Reference {
                initializer: text, ..
            } => text.visit(see),
            Plan::Atomic(_)
            | Plan::Nothing
            | Plan::Declare(_)
            | Plan::Barrier(_)
            | Plan::Fence
            | Plan::Assigned { .. }
            | Plan::Words(_)
            | Plan::Value(_) => {}
        }
    }
}

impl Beginning {
    /// What holds in front of this when `next` follows it.
    pub fn before(self, next: Beginning) -> Beginning {
        match self {
            Beginning::Nobody => next,
            known => known,
        }
    }
}

impl BodyText {
    /// Calls `see` for this text and for all plans and texts that stand in place of parts of it.
    pub fn visit<'p>(&'p self, see: &mut dyn FnMut(Piece<'p>)) {
        see(Piece::Text(self));
        for (_, plan) in &self.replacements {
            plan.visit(see);
        }
    }
}

/// A range-based `for` loop of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePlan {
    /// What it goes over.
    pub range: BodyText,
    /// Finding its ends reads memory that sequential code may change.
    pub reads_memory: bool,
    /// Its variable.
    pub element: RangeElement,
    /// The turn.
    pub body: Plan,
}

/// The variable of a range-based `for` loop of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeElement {
    /// A reference: `int &x`.
    Reference(TextRange),
    /// A copy that every thread has, since nothing changes it: `int x`.
    Copy(TextRange),
    /// A copy of the team.
    Shared {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
}

/// A label of a `switch` and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CasePlan {
    /// The value; absent for `default`.
    pub value: Option<BodyText>,
    /// The statements.
    pub body: Vec<Plan>,
}

/// The OpenMP threads that execute a piece of code together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Crew {
    /// All threads of the block.
    Block,
    /// The first threads of the block: as many as the enclosing [`ParallelPlan`] says.
    Part,
    /// Those that execute the parallel region from which the function is called.
    Caller,
    /// One thread alone.
    One,
}

/// A parallel region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelPlan {
    /// Who executes it.
    pub crew: Crew,
    /// How many threads a [`Crew::Part`] has.
    pub threads: Option<Expr>,
    /// Copies each thread has of its own.
    pub privates: Vec<Prologue>,
    /// Private accumulators combined at its end.
    pub reductions: Vec<ReductionPlan>,
    /// What they execute.
    pub body: Plan,
}

/// The form of a device function that all threads of a block call together, in sequential code of the team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamForm {
    /// Its body.
    pub body: Plan,
    /// Words that stand in place of others wherever a range of the body is printed.
    pub words: Vec<(TextRange, SmolStr)>,
}

/// A loop nest shared among threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopPlan {
    /// The construct.
    pub construct: ConstructId,
    /// The loops.
    pub nest: LoopNestId,
    /// How many of them are shared: loops whose bounds depend on an outer one stay inside the body.
    pub depth: usize,
    /// Among whom.
    pub space: IterationSpace,
    /// Copies each thread has of its own for the loop, declared before it.
    pub privates: Vec<Prologue>,
    /// Private accumulators combined after the loop.
    pub reductions: Vec<ReductionPlan>,
    /// Variables whose value of the last iteration is kept.
    pub lastprivates: Vec<LastprivatePlan>,
    /// Loop variables whose value after the loop is kept.
    pub final_values: Vec<FinalValue>,
    /// Variables that grow with the iterations.
    pub linears: Vec<LinearPlan>,
    /// The innermost body.
    pub body: Plan,
    /// The threads wait for each other after the loop.
    pub waits: bool,
    /// Consecutive iterations that one of those who share them gets at a time; 1 otherwise.
    pub chunk: Option<Chunk>,
}

/// A loop nest whose iterations see the sums of those before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPlan {
    /// The loops.
    pub nest: LoopNestId,
    /// How many of them are shared.
    pub depth: usize,
    /// Who shares them.
    pub crew: Crew,
    /// Copies each thread has of its own.
    pub privates: Vec<Prologue>,
    /// What is summed up.
    pub reductions: Vec<ReductionPlan>,
    /// Whether an iteration sees its own summand.
    pub kind: ScanKind,
    /// What an iteration adds.
    pub input: Plan,
    /// What it does with the sum.
    pub output: Plan,
    /// The threads wait for each other after the loop.
    pub waits: bool,
}

/// The kinds of scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// An iteration sees the sum up to its own summand.
    Inclusive,
    /// An iteration sees the sum of those before it.
    Exclusive,
}

/// How many consecutive iterations belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// As many as the program says.
    Given(Expr),
    /// The same, for each thread of the grid on its own.
    OfThreads(Expr),
    /// The first for each team; of these, the second for each of its threads.
    OfBoth(Expr, Expr),
    /// All of a thread's.
    Even,
}

/// The value that a loop variable has after the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalValue {
    /// The loop; 0 is the outermost.
    pub depth: usize,
    /// Where the value goes.
    pub target: LastprivateTarget,
}

/// A `linear` variable: the value around the loop, plus the step for each iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearPlan {
    /// The variable.
    pub name: SmolStr,
    /// Its type.
    pub ty: TypeId,
    /// The step, if not 1.
    pub step: Option<Expr>,
}

/// A `sections` construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionsPlan {
    /// Who shares the sections.
    pub crew: Crew,
    /// Copies each thread has of its own.
    pub privates: Vec<Prologue>,
    /// Private accumulators combined at the end.
    pub reductions: Vec<ReductionPlan>,
    /// Variables whose value of the last section is kept.
    pub lastprivates: Vec<LastprivatePlan>,
    /// The sections.
    pub sections: Vec<Plan>,
    /// The threads wait for each other at the end.
    pub waits: bool,
}

/// Who shares the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IterationSpace {
    /// All threads of the grid.
    Grid,
    /// The teams (blocks).
    Teams,
    /// The threads of a parallel region.
    Crew(Crew),
    /// The threads of the parallel regions that all teams execute.
    League(Crew),
}

/// A reduction's private accumulator and where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReductionPlan {
    /// The variable as the user names it: the accumulator inside.
    pub name: SmolStr,
    /// Its type.
    pub ty: TypeId,
    /// What of it is accumulated.
    pub extent: ReductionExtent,
    /// The operation.
    pub operation: ReductionOperation,
    /// The accumulators begin with something of the variable around them: `omp_orig`.
    pub reads_original: bool,
    /// Where the result is combined into.
    pub target: ReductionTarget,
}

/// What of a variable a reduction accumulates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionExtent {
    /// The whole variable, in a local one of the same type.
    Whole,
    /// Elements of an array or behind a pointer, in memory of their own.
    Elements {
        /// The innermost element type.
        element: TypeId,
        /// Elements before the first that is accumulated.
        offset: Expr,
        /// How many are accumulated.
        count: Expr,
        /// Extents of the dimensions, outermost first, if not all are constant.
        view: Option<Vec<Expr>>,
    },
}

/// Where a reduction ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionTarget {
    /// Device memory behind this parameter, combined by all threads of the grid.
    Grid(SmolStr),
    /// Device memory behind this parameter; a team has one accumulator, in shared memory.
    Team(SmolStr),
    /// The enclosing variable of the same name, combined by all threads of the crew.
    Crew(Crew),
}

/// A lastprivate variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastprivatePlan {
    /// The variable.
    pub name: SmolStr,
    /// Its type.
    pub ty: TypeId,
    /// Where the last value goes.
    pub target: LastprivateTarget,
    /// The copies start with the value of the original.
    pub is_firstprivate: bool,
    /// Which value it is.
    pub kept: KeptValue,
}

/// The value that a lastprivate variable keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeptValue {
    /// The one after the last iteration or section.
    OfLast,
    /// The one of the last iteration or section that assigns it ([`Plan::Assigned`]), if any does.
    LastAssigned,
}

/// Where the value of a lastprivate variable goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastprivateTarget {
    /// Device memory behind this parameter.
    Parameter(SmolStr),
    /// The enclosing variable of the same name.
    Outer,
}

/// An atomic operation in the terms of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicPlan {
    /// The form.
    pub form: AtomicForm,
    /// The storage location, as written.
    pub location: BodyText,
    /// Receives the old or new value.
    pub captured: Option<AtomicCapture>,
}

/// What an atomic capture stores, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicCapture {
    /// The left-hand side for the value.
    pub into: Option<BodyText>,
    /// Which value.
    pub value: CapturedValue,
    /// The left-hand side for whether a comparison was true.
    pub success: Option<BodyText>,
}

impl AtomicCapture {
    /// A capture of the value alone.
    pub fn of(into: BodyText, value: CapturedValue) -> AtomicCapture {
        AtomicCapture {
            into: Some(into),
            value,
            success: None,
        }
    }
}

/// Which value an atomic capture stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapturedValue {
    /// The one before the update.
    Before,
    /// The one after it.
    After,
    /// The one before, if the comparison is false.
    OnFailure,
}

/// The forms of `atomic`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomicForm {
    /// `v = x`
    Read,
    /// `x = expression`
    Write(BodyText),
    /// `x op= expression`, `x = x op expression`, `x++`
    Update {
        /// The binary operator without `=`.
        operator: SmolStr,
        /// The operand; absent for `++` and `--`.
        operand: Option<BodyText>,
        /// `x = expression op x`
        reversed: bool,
    },
    /// `if (expression op x) x = expression` and its relatives
    MinMax {
        /// Keeps the smaller value.
        keeps_smaller: bool,
        /// The other value.
        operand: BodyText,
    },
    /// `if (x == expected) x = desired`
    CompareExchange {
        /// Compared with.
        expected: BodyText,
        /// Stored.
        desired: BodyText,
    },
}
