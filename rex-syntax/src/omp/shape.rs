//! What stands between the parentheses of each clause.

use super::clause::ClauseName;

/// The grammar of a clause's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No arguments; a logical expression in parentheses is allowed.
    Flag,
    /// An expression, after modifiers and a colon if there are any.
    Expression,
    /// As [`Shape::Expression`], or no parentheses at all.
    OptionalExpression,
    /// `modifiers: kind, chunk`.
    Schedule,
    /// Words only.
    Words,
    /// As [`Shape::Words`], or no parentheses at all.
    OptionalWords,
    /// `modifiers: list`.
    List,
    /// As [`Shape::List`], or no parentheses at all.
    OptionalList,
    /// `list: modifiers`.
    ListThenModifiers,
    /// Words without a colon, or `word: list`.
    Dependence,
    /// Kept as text.
    Raw,
}

/// The grammar of this clause's arguments.
pub(crate) fn shape(name: ClauseName) -> Shape {
    use ClauseName::*;
    match name {
        AcqRel | Acquire | Capture | Compare | DeviceSafesync | DynamicAllocators | Full
        | GraphReset | Inbranch | InitComplete | Mergeable | NoOpenmp | NoOpenmpConstructs
        | NoOpenmpRoutines | NoParallelism | Nogroup | Notinbranch | Nowait | OmpxBare | Read
        | Relaxed | Release | Replayable | ReverseOffload | SelfMaps | SeqCst | Simd | Threads
        | Transparent | UnifiedAddress | UnifiedSharedMemory | Untied | Weak | Write => Shape::Flag,
        Align | Allocator | Collapse | Detach | Device | Filter | Final | Grainsize | GraphId
        | Hint | Holds | If | Message | Nocontext | Novariants | NumTasks | NumTeams
        | NumThreads | OmpxDynCgroupMem | Priority | Safelen | Safesync | Simdlen | ThreadLimit => {
            Shape::Expression
        }
        Indirect | Ordered | Partial => Shape::OptionalExpression,
        DistSchedule | Schedule => Shape::Schedule,
        At
        | AtomicDefaultMemOrder
        | Bind
        | Default
        | Defaultmap
        | DeviceType
        | Fail
        | Memscope
        | Order
        | ProcBind
        | Severity
        | Threadset => Shape::Words,
        Update => Shape::OptionalWords,
        Affinity | Allocate | Copyin | Copyprivate | Counts | Enter | Exclusive | Firstprivate
        | From | HasDeviceAddr | InReduction | Inclusive | Induction | Init | Interop
        | IsDevicePtr | Lastprivate | Link | Local | Looprange | Map | Nontemporal
        | Permutation | Private | Reduction | Shared | Sizes | TaskReduction | To | Uniform
        | Use | UseDeviceAddr | UseDevicePtr => Shape::List,
        Destroy => Shape::OptionalList,
        Aligned | Linear => Shape::ListThenModifiers,
        Depend | Doacross => Shape::Dependence,
        Absent | Adjust | AppendArgs | Apply | Collector | Combiner | Contains | Inductor
        | Initializer | Match | OmpxAttribute | Otherwise | UsesAllocators | When | Unknown => {
            Shape::Raw
        }
    }
}

/// Whether the list items of a clause are variables: no elements, sections or members.
///
/// # Source
/// OpenMP 5.2, section 5.4 and the restrictions of these clauses.
pub(crate) fn takes_variables_only(name: ClauseName) -> bool {
    use ClauseName::*;
    matches!(
        name,
        Aligned
            | Copyin
            | Copyprivate
            | Firstprivate
            | IsDevicePtr
            | Lastprivate
            | Linear
            | Nontemporal
            | Private
            | Shared
            | UseDevicePtr
    )
}

/// Whether nothing may stand before the list of a clause but the name of a construct.
///
/// # Source
/// OpenMP 6.0, the syntax of these clauses.
pub(crate) fn takes_no_modifiers(name: ClauseName) -> bool {
    use ClauseName::*;
    matches!(
        name,
        Copyin
            | Copyprivate
            | HasDeviceAddr
            | IsDevicePtr
            | Nontemporal
            | Private
            | Shared
            | UseDeviceAddr
            | UseDevicePtr
    )
}

/// Whether a directive may hold this clause at most once.
///
/// Those for different constructs of a combined directive are different clauses: `if(target: a) if(parallel: b)`. `defaultmap` may be repeated for
/// different categories and is not in the list.
pub(crate) fn is_unique(name: ClauseName) -> bool {
    use ClauseName::*;
    matches!(
        name,
        AcqRel
            | Acquire
            | Align
            | Allocator
            | At
            | AtomicDefaultMemOrder
            | Bind
            | Capture
            | Collapse
            | Compare
            | Default
            | Detach
            | Device
            | DeviceSafesync
            | DeviceType
            | DistSchedule
            | DynamicAllocators
            | Fail
            | Filter
            | Final
            | Full
            | Grainsize
            | GraphId
            | GraphReset
            | Hint
            | If
            | Inbranch
            | Match
            | Mergeable
            | Message
            | Nocontext
            | Nogroup
            | Notinbranch
            | Novariants
            | Nowait
            | NumTasks
            | NumTeams
            | NumThreads
            | Order
            | Ordered
            | Partial
            | Priority
            | ProcBind
            | Read
            | Relaxed
            | Release
            | ReverseOffload
            | Safelen
            | Schedule
            | SelfMaps
            | SeqCst
            | Severity
            | Simd
            | Simdlen
            | Sizes
            | ThreadLimit
            | Threads
            | UnifiedAddress
            | UnifiedSharedMemory
            | Untied
            | Update
            | Weak
            | Write
    )
}

/// The types of dependences, and other words of a clause.
macro_rules! dependence_types {
    [$($other:literal),*] => {
        &["in", "out", "inout", "mutexinoutset", "inoutset", "depobj", $($other),*]
    };
}

/// The words a clause accepts before its colon (or alone), where the set is closed. Empty: anything is accepted.
///
/// The categories of variables stand behind what is said of them.
pub(crate) fn words(name: ClauseName) -> &'static [&'static str] {
    use ClauseName::*;
    match name {
        Map => &[
            "always",
            "close",
            "present",
            "self",
            "mapper",
            "iterator",
            "to",
            "from",
            "tofrom",
            "alloc",
            "storage",
            "release",
            "delete",
            "ref",
            "ref_ptr",
            "ref_ptee",
            "ref_ptr_ptee",
            "attach",
            "ompx_hold",
            "ompx_attach",
        ],
        Depend => dependence_types!["sink", "source", "iterator"],
        Doacross => &["sink", "source"],
        Init => dependence_types!["target", "targetsync", "prefer_type"],
        Update => dependence_types!["sink", "source"],
        ProcBind => &["primary", "master", "close", "spread"],
        Schedule => &[
            "monotonic",
            "nonmonotonic",
            "simd",
            "static",
            "dynamic",
            "guided",
            "auto",
            "runtime",
        ],
        DistSchedule => &["static"],
        Order => &["concurrent", "reproducible", "unconstrained"],
        Bind => &["teams", "parallel", "thread"],
        DeviceType => &["host", "nohost", "any"],
        AtomicDefaultMemOrder => &["seq_cst", "acq_rel", "acquire", "release", "relaxed"],
        Fail => &["seq_cst", "acquire", "relaxed"],
        At => &["compilation", "execution"],
        Severity => &["fatal", "warning"],
        Default => &[
            "none",
            "shared",
            "private",
            "firstprivate",
            "scalar",
            "aggregate",
            "pointer",
            "allocatable",
            "all",
        ],
        Defaultmap => &[
            "alloc",
            "storage",
            "to",
            "from",
            "tofrom",
            "firstprivate",
            "private",
            "none",
            "default",
            "present",
            "self",
            "scalar",
            "aggregate",
            "pointer",
            "allocatable",
            "all",
        ],
        To | From => &["present", "mapper", "iterator"],
        Firstprivate => &["saved"],
        Lastprivate => &["conditional"],
        Absent | AcqRel | Acquire | Adjust | Affinity | Align | Aligned | Allocate | Allocator
        | AppendArgs | Apply | Capture | Collapse | Collector | Combiner | Compare | Contains
        | Copyin | Copyprivate | Destroy | Detach | Device | DeviceSafesync | DynamicAllocators
        | Enter | Exclusive | Filter | Final | Full | Grainsize | GraphId | GraphReset
        | HasDeviceAddr | Hint | Holds | If | InReduction | Inbranch | Inclusive | Induction
        | Inductor | Indirect | InitComplete | Initializer | Interop | IsDevicePtr | Linear
        | Link | Local | Looprange | Match | Memscope | Mergeable | Message | NoOpenmp
        | NoOpenmpConstructs | NoOpenmpRoutines | NoParallelism | Nocontext | Nogroup
        | Nontemporal | Notinbranch | Novariants | Nowait | NumTasks | NumTeams | NumThreads
        | OmpxAttribute | OmpxBare | OmpxDynCgroupMem | Ordered | Otherwise | Partial
        | Permutation | Counts | Priority | Private | Read | Reduction | Relaxed | Release
        | Replayable | ReverseOffload | Safelen | Safesync | SelfMaps | SeqCst | Shared | Simd
        | Simdlen | Sizes | TaskReduction | ThreadLimit | Threads | Threadset | Transparent
        | UnifiedAddress | UnifiedSharedMemory | Uniform | Untied | Use | UseDeviceAddr
        | UseDevicePtr | UsesAllocators | Weak | When | Write | Unknown => &[],
    }
}

/// Words of a clause that exclude each other: of each set, one may be there.
///
/// # Source
/// OpenMP 5.2 and 6.0, the syntax of these clauses. `delete` is a map type up to 5.2, and a modifier beside one since 6.0.
pub(crate) fn alternatives(name: ClauseName) -> Vec<&'static [&'static str]> {
    use ClauseName::*;
    match name {
        Map => vec![
            &["to", "from", "tofrom", "alloc", "storage", "release"],
            &["ref_ptr", "ref_ptee", "ref_ptr_ptee"],
        ],
        Schedule => vec![
            &["static", "dynamic", "guided", "auto", "runtime"],
            &["monotonic", "nonmonotonic"],
        ],
        Depend => vec![dependence_types!["sink", "source"]],
        Order => vec![&["reproducible", "unconstrained"]],
        Default | Defaultmap => {
            let all = words(name);
            let is_first_category = |word: &&str| *word == "scalar";
            let values = all.iter().position(is_first_category);
            let (values, categories) = all.split_at(values.unwrap_or(all.len()));
            vec![values, categories]
        }
        AtomicDefaultMemOrder
        | At
        | Bind
        | DeviceType
        | Doacross
        | Fail
        | ProcBind
        | Severity
        | Update => vec![words(name)],
        _ => Vec::new(),
    }
}
