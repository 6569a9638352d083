//! The model of a directive: which constructs it combines, its clauses, and where each part stands.

use smol_str::SmolStr;
use text_size::TextRange;

use super::allowed::is_allowed;
use super::clause::{Clause, ClauseName};

macro_rules! leaves {
    ($($variant:ident $spelling:literal;)*) => {
        /// One construct of a (possibly combined) directive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Leaf {
            $(#[doc = concat!("`", $spelling, "`.")] $variant,)*
        }

        impl Leaf {
            /// Whether it is a region for a device, or moves data to and from one.
            pub fn is_device(self) -> bool {
                matches!(
                    self,
                    Leaf::Target
                        | Leaf::TargetData
                        | Leaf::TargetEnterData
                        | Leaf::TargetExitData
                        | Leaf::TargetUpdate
                )
            }

            /// Whether its statement is a loop, or several.
            pub fn takes_loops(self) -> bool {
                matches!(
                    self,
                    Leaf::Distribute | Leaf::For | Leaf::Simd | Leaf::Loop | Leaf::Taskloop
                )
            }

            /// Every leaf.
            pub const ALL: &[Leaf] = &[$(Leaf::$variant,)*];

            /// The spelling in OpenMP 5.2 (words separated by one space).
            pub fn spelling(self) -> &'static str {
                match self { $(Leaf::$variant => $spelling,)* }
            }
        }
    };
}

leaves! {
    Target "target";
    TargetData "target data";
    TargetEnterData "target enter data";
    TargetExitData "target exit data";
    TargetUpdate "target update";
    Teams "teams";
    Distribute "distribute";
    Parallel "parallel";
    For "for";
    Simd "simd";
    Loop "loop";
    Sections "sections";
    Section "section";
    Single "single";
    Scope "scope";
    Master "master";
    Masked "masked";
    Critical "critical";
    Atomic "atomic";
    Barrier "barrier";
    Flush "flush";
    Ordered "ordered";
    Task "task";
    Taskloop "taskloop";
    TaskIteration "task_iteration";
    Taskwait "taskwait";
    Taskgroup "taskgroup";
    Taskyield "taskyield";
    Depobj "depobj";
    Cancel "cancel";
    CancellationPoint "cancellation point";
    Scan "scan";
    Tile "tile";
    Unroll "unroll";
    Interchange "interchange";
    Reverse "reverse";
    Fuse "fuse";
    Stripe "stripe";
    Split "split";
    Interop "interop";
    Dispatch "dispatch";
    Error "error";
    Nothing "nothing";
    Assume "assume";
    Assumes "assumes";
    BeginAssumes "begin assumes";
    EndAssumes "end assumes";
    Allocate "allocate";
    Allocators "allocators";
    Threadprivate "threadprivate";
    Groupprivate "groupprivate";
    Requires "requires";
    DeclareTarget "declare target";
    BeginDeclareTarget "begin declare target";
    EndDeclareTarget "end declare target";
    DeclareVariant "declare variant";
    BeginDeclareVariant "begin declare variant";
    EndDeclareVariant "end declare variant";
    DeclareMapper "declare mapper";
    DeclareReduction "declare reduction";
    DeclareInduction "declare induction";
    DeclareSimd "declare simd";
    Metadirective "metadirective";
    BeginMetadirective "begin metadirective";
    EndMetadirective "end metadirective";
    Workshare "workshare";
    Taskgraph "taskgraph";
}

impl Leaf {
    /// Whether the construct may have the clause.
    pub fn takes(self, clause: ClauseName) -> bool {
        is_allowed(&[self], clause)
    }
}

/// How a directive relates to the text after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Association {
    /// Applies to the next statement or loop nest.
    Statement,
    /// Stands alone where a statement may stand.
    Standalone,
    /// Declares something; is no statement.
    Declarative,
}

/// One directive as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// From `#` (or `[[`, `_Pragma`) to the end of its last line, without the newline.
    pub range: TextRange,
    /// The words that name the directive.
    pub name_range: TextRange,
    /// The constructs it combines, outermost first. `target parallel for` is `[Target, Parallel, For]`. Empty when the name is unknown.
    pub leaves: Vec<Leaf>,
    /// The directive's own argument in parentheses, if it has one: `critical(name)`, `declare target(list)`, `threadprivate(list)`,
    /// `declare mapper(..)`, `declare reduction(..)`, `flush(list)`, `cancel` construct kind, ... The range inside the parentheses.
    pub argument: Option<TextRange>,
    /// The clauses in source order.
    pub clauses: Vec<Clause>,
}

impl Directive {
    /// Whether the directive combines this construct.
    pub fn has(&self, leaf: Leaf) -> bool {
        self.leaves.contains(&leaf)
    }

    /// The outermost construct.
    pub fn first(&self) -> Option<Leaf> {
        self.leaves.first().copied()
    }

    /// The directive's name in the spelling of the specification.
    pub fn name(&self) -> SmolStr {
        let words: Vec<&str> = self.leaves.iter().map(|leaf| leaf.spelling()).collect();
        words.join(" ").into()
    }

    /// How it relates to the text after it.
    ///
    /// `ordered` with `depend` or `doacross` stands alone; `target data` and every construct with a body is associated; an unknown directive is declarative, so that
    /// it never captures a statement.
    pub fn association(&self) -> Association {
        use Leaf::*;
        let Some(first) = self.first() else {
            return Association::Declarative;
        };
        match first {
            TargetEnterData | TargetExitData | TargetUpdate | Barrier | Flush | Taskwait
            | Taskyield | TaskIteration | Depobj | Cancel | CancellationPoint | Interop | Error
            | Nothing | Scan => Association::Standalone,
            Ordered
                if self.clauses.iter().any(|clause| {
                    matches!(clause.name, ClauseName::Depend | ClauseName::Doacross)
                }) =>
            {
                Association::Standalone
            }
            Assumes | BeginAssumes | EndAssumes | Allocate | Threadprivate | Groupprivate
            | Requires | DeclareTarget | BeginDeclareTarget | EndDeclareTarget | DeclareVariant
            | BeginDeclareVariant | EndDeclareVariant | DeclareMapper | DeclareReduction
            | DeclareInduction | DeclareSimd | EndMetadirective => Association::Declarative,
            Target | TargetData | Teams | Distribute | Parallel | For | Simd | Loop | Sections
            | Section | Single | Scope | Master | Masked | Critical | Atomic | Ordered | Task
            | Taskloop | Taskgroup | Tile | Unroll | Interchange | Reverse | Fuse | Stripe
            | Split | Dispatch | Assume | Allocators | Metadirective | BeginMetadirective
            | Workshare | Taskgraph => Association::Statement,
        }
    }

    /// Whether it declares something of the whole file that only devices need: host compilers do not see it.
    pub fn declares_for_devices(&self) -> bool {
        matches!(
            self.first(),
            Some(
                Leaf::DeclareTarget
                    | Leaf::BeginDeclareTarget
                    | Leaf::EndDeclareTarget
                    | Leaf::DeclareMapper
                    | Leaf::DeclareVariant
            )
        )
    }

    /// The first clause with this name.
    pub fn clause(&self, name: ClauseName) -> Option<&Clause> {
        self.clauses.iter().find(|clause| clause.name == name)
    }

    /// All clauses with this name.
    pub fn clauses_named(&self, name: ClauseName) -> impl Iterator<Item = &Clause> {
        self.clauses
            .iter()
            .filter(move |clause| clause.name == name)
    }
}
