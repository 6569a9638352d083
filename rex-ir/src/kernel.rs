//! Outlined kernels: names, parameters, prologue and a plan for the body.
//!
//! A kernel body is the user's text with disjoint replacements. [`BodyText`] says which ranges are replaced by what; the device emitter prints it.

mod atomic;
mod loops;
mod plan;
mod prologue;

use la_arena::Idx;
use rex_syntax::TextRange;
use smol_str::{SmolStr, format_smolstr};

use crate::item::TemplateHead;
use crate::program::Program;
use crate::region::{CapturedObject, RegionId};
use crate::ty::TypeId;

pub use atomic::{AtomicCapture, AtomicForm, AtomicPlan, CapturedValue};
pub use loops::{
    Chunk, FinalValue, IterationSpace, KeptValue, LastprivatePlan, LastprivateTarget, LinearPlan,
    LoopPlan, ReductionExtent, ReductionPlan, ReductionTarget, ScanKind, ScanPlan,
};
pub use plan::{
    Beginning, BodyText, CasePlan, Crew, Finder, ParallelPlan, Piece, Plan, RangeElement,
    RangePlan, SectionsPlan, TeamForm,
};
pub use prologue::{ArrayOwner, Prologue};

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
    /// The names of the last of these parameters: types that only the compiler knows.
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

/// The names that tie a kernel, its host key, its entry and its launch together. All begin alike, and a file may have very many kernels: only that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelNames {
    stem: SmolStr,
}

impl KernelNames {
    /// The names that begin with a stem: [`namer`](crate::namer) makes it.
    pub(crate) fn new(stem: SmolStr) -> KernelNames {
        KernelNames { stem }
    }

    /// The device symbol and entry name.
    pub fn kernel(&self) -> SmolStr {
        self.ending_with("kernel__")
    }

    /// The host object whose address is the key.
    pub fn key(&self) -> SmolStr {
        self.ending_with("id__")
    }

    /// The entry variable.
    pub fn entry(&self) -> SmolStr {
        self.ending_with("omp_offload_entry__")
    }

    /// The device function or function object that has the body, when the kernel only calls it.
    pub fn body(&self) -> SmolStr {
        self.ending_with("body__")
    }

    fn ending_with(&self, end: &str) -> SmolStr {
        format_smolstr!("{}{end}", self.stem)
    }
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

impl Parameter {
    /// The pack of types, if it is one parameter for each of their values.
    pub fn pack<'p>(&self, program: &'p Program) -> Option<&'p SmolStr> {
        program.packs.get(&self.object.variable()?)
    }
}

impl Kernel {
    /// The pack of types that the kernel has a pack of parameters for.
    pub fn pack<'p>(&self, program: &'p Program) -> Option<&'p SmolStr> {
        self.parameters.last()?.pack(program)
    }
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
    /// The same, and `restrict`.
    Restricted(TypeId),
    /// A pointer to this type.
    PointerTo(TypeId),
}
