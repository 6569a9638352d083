//! Loops shared among threads, and the copies of variables that come and go with them.

use smol_str::SmolStr;

use super::{Crew, Plan, Prologue};
use crate::expr::Expr;
use crate::region::{ConstructId, LoopNestId, ReductionOperation};
use crate::ty::TypeId;

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
