//! The model of a clause. Expressions stay ranges of the source; everything around them is typed.

use text_size::TextRange;

use super::directive::Leaf;
use super::shape::words;

macro_rules! clause_names {
    ($($variant:ident $spelling:literal;)*) => {
        /// The name of a clause.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ClauseName {
            $(#[doc = concat!("`", $spelling, "`.")] $variant,)*
            /// A word no specification up to 6.0 knows.
            Unknown,
        }

        impl ClauseName {
            /// Every known clause.
            pub const ALL: &[ClauseName] = &[$(ClauseName::$variant,)*];

            /// The spelling in the specification; empty for [`ClauseName::Unknown`].
            pub fn spelling(self) -> &'static str {
                match self { $(ClauseName::$variant => $spelling,)* ClauseName::Unknown => "" }
            }
        }
    };
}

impl ClauseName {
    /// Whether a word stands for something before the clause's colon, or alone in it.
    pub fn takes_word(self, word: &str) -> bool {
        words(self).contains(&word)
    }
}

clause_names! {
    Absent "absent"; AcqRel "acq_rel"; Acquire "acquire"; Adjust "adjust_args"; Affinity "affinity"; Align "align"; Aligned "aligned"; Allocate "allocate";
    Allocator "allocator"; AppendArgs "append_args"; Apply "apply"; At "at"; AtomicDefaultMemOrder "atomic_default_mem_order"; Bind "bind";
    Capture "capture"; Collapse "collapse"; Collector "collector"; Combiner "combiner"; Compare "compare"; Contains "contains"; Copyin "copyin"; Copyprivate "copyprivate";
    Default "default"; Defaultmap "defaultmap"; Depend "depend"; Destroy "destroy"; Detach "detach"; Device "device"; DeviceSafesync "device_safesync"; DeviceType "device_type";
    DistSchedule "dist_schedule"; Doacross "doacross"; DynamicAllocators "dynamic_allocators"; Enter "enter"; Exclusive "exclusive"; Fail "fail";
    Filter "filter"; Final "final"; Firstprivate "firstprivate"; From "from"; Full "full"; Grainsize "grainsize"; GraphId "graph_id"; GraphReset "graph_reset";
    HasDeviceAddr "has_device_addr"; Hint "hint"; Holds "holds"; If "if"; InReduction "in_reduction"; Inbranch "inbranch"; Inclusive "inclusive"; Induction "induction"; Inductor "inductor";
    Indirect "indirect"; Init "init"; InitComplete "init_complete"; Initializer "initializer"; Interop "interop"; IsDevicePtr "is_device_ptr"; Lastprivate "lastprivate"; Linear "linear";
    Link "link"; Local "local"; Looprange "looprange"; Map "map"; Match "match"; Memscope "memscope"; Mergeable "mergeable"; Message "message"; NoOpenmp "no_openmp"; NoOpenmpConstructs "no_openmp_constructs"; NoOpenmpRoutines "no_openmp_routines";
    NoParallelism "no_parallelism"; Nocontext "nocontext"; Nogroup "nogroup"; Nontemporal "nontemporal"; Notinbranch "notinbranch";
    Novariants "novariants"; Nowait "nowait"; NumTasks "num_tasks"; NumTeams "num_teams"; NumThreads "num_threads";
    OmpxAttribute "ompx_attribute"; OmpxBare "ompx_bare"; OmpxDynCgroupMem "ompx_dyn_cgroup_mem"; Order "order"; Ordered "ordered"; Otherwise "otherwise"; Partial "partial"; Permutation "permutation"; Counts "counts"; Priority "priority"; Private "private";
    ProcBind "proc_bind"; Read "read"; Reduction "reduction"; Relaxed "relaxed"; Release "release"; Replayable "replayable"; ReverseOffload "reverse_offload"; Safelen "safelen"; Safesync "safesync";
    Schedule "schedule"; SelfMaps "self_maps"; SeqCst "seq_cst"; Severity "severity"; Shared "shared"; Simd "simd"; Simdlen "simdlen"; Sizes "sizes"; TaskReduction "task_reduction";
    ThreadLimit "thread_limit"; Threads "threads"; Threadset "threadset"; To "to"; Transparent "transparent"; UnifiedAddress "unified_address"; UnifiedSharedMemory "unified_shared_memory";
    Uniform "uniform"; Untied "untied"; Update "update"; Use "use"; UseDeviceAddr "use_device_addr"; UseDevicePtr "use_device_ptr"; UsesAllocators "uses_allocators"; Weak "weak"; When "when"; Write "write";
}

/// One clause as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Name and arguments.
    pub range: TextRange,
    /// The name.
    pub name_range: TextRange,
    /// Which clause it is.
    pub name: ClauseName,
    /// Its arguments, without a directive's name among the modifiers.
    pub argument: Argument,
    /// The constructs of a combined directive that it is for, if it names them.
    pub applies_to: Option<AppliesTo>,
}

/// A directive's name as the modifier of a clause: `firstprivate(teams: x)`, `if(target: n > 0)`.
///
/// # Source
/// OpenMP 6.0, section 5.4 (directive-name-modifier).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliesTo {
    /// The words.
    pub range: TextRange,
    /// The constructs they name.
    pub leaves: Vec<Leaf>,
}

impl Clause {
    /// Whether it is for this construct of the directive.
    pub fn applies_to(&self, leaf: Leaf) -> bool {
        let named = self.applies_to.as_ref();
        named.is_none_or(|named| named.leaves.contains(&leaf))
    }

    /// The list items, for clauses that have a list.
    pub fn items(&self) -> &[ListItem] {
        match &self.argument {
            Argument::List { items, .. } => items,
            Argument::None | Argument::Expression { .. } | Argument::Raw(_) => &[],
        }
    }

    /// The expression, for clauses that have one.
    pub fn expression(&self) -> Option<TextRange> {
        match &self.argument {
            Argument::Expression { expression, .. } => Some(*expression),
            Argument::None | Argument::List { .. } | Argument::Raw(_) => None,
        }
    }

    /// The modifiers before the colon (or after it, for `linear` and the like).
    pub fn modifiers(&self) -> &[Modifier] {
        match &self.argument {
            Argument::Expression { modifiers, .. } | Argument::List { modifiers, .. } => modifiers,
            Argument::None | Argument::Raw(_) => &[],
        }
    }
}

/// The arguments of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// No parentheses.
    None,
    /// `modifiers: expression`: `if(target: n > 0)`, `device(ancestor: 1)`, `num_teams(4)`, `collapse(2)`, `schedule(nonmonotonic: dynamic, 4)` (the modifiers
    /// hold every word before the colon and the schedule kind; the expression is the chunk), `num_teams(2: 8)` (lower bound as a modifier expression).
    Expression {
        /// Words and calls before the expression.
        modifiers: Vec<Modifier>,
        /// The expression.
        expression: TextRange,
    },
    /// `modifiers: list`: `map(always, tofrom: a[0:n], b)`, `reduction(inscan, +: s)`, `private(a, b)`, `depend(in: x)`, `schedule(static)` and `default(none)` (modifiers only).
    List {
        /// Words and calls before the colon: map types, reduction identifiers, mappers, iterators.
        modifiers: Vec<Modifier>,
        /// The list items.
        items: Vec<ListItem>,
    },
    /// Text between the parentheses which has a grammar of its own (`match(..)`, `when(..)`, `initializer(..)`, `uses_allocators(..)`).
    Raw(TextRange),
}

/// A word before the colon, with its own arguments if any: `always`, `tofrom`, `mapper(id)`, `iterator(i=0:n)`, `present`, `+`, `conditional`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modifier {
    /// Word and arguments.
    pub range: TextRange,
    /// The word or operator alone (a scoped C++ name is one word).
    pub word: TextRange,
    /// Inside its parentheses.
    pub argument: Option<TextRange>,
}

/// One item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// The whole item.
    pub range: TextRange,
    /// What it names.
    pub locator: Locator,
}

/// What a list item names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locator {
    /// A variable and a path from it: `a`, `a[0:n]`, `s.p[0:n].q`, `p->q`, `this->x[i]`, `*p`.
    Path(Path),
    /// Any other expression, or reserved words (`omp_all_memory`).
    Expression(TextRange),
    /// A section of what any other expression points to: `f()[0:n]`.
    SectionOf(TextRange, Section),
}

impl Locator {
    /// What the item begins with: the variable of a path, or the whole of another expression.
    pub fn root(&self) -> TextRange {
        match self {
            Locator::Path(path) => path.root,
            Locator::Expression(range) | Locator::SectionOf(range, _) => *range,
        }
    }
}

/// A root name and the steps that lead from it to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The root identifier (`this` included; a scoped name such as `A::b` is one root).
    pub root: TextRange,
    /// Steps in evaluation order. `*p` is root `p` with one [`Step::Deref`].
    pub steps: Vec<Step>,
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `.name`
    Member(TextRange),
    /// `->name`
    Arrow(TextRange),
    /// `[expression]`
    Index(TextRange),
    /// `[lower : length : stride]`, each part optional.
    Section(Section),
    /// `*`
    Deref,
    /// `([n][m])p`: the pointer's target as an array with these extents.
    Shape(Vec<TextRange>),
}

/// An array section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// From `[` to `]`.
    pub range: TextRange,
    /// The lower bound; absent means 0.
    pub lower: Option<TextRange>,
    /// The length, counted in elements (in strides when there is one); absent means to the end.
    pub length: Option<TextRange>,
    /// The stride, counted in elements.
    pub stride: Option<TextRange>,
}
