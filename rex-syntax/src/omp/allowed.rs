//! Which clauses a directive may have.

use super::clause::ClauseName;
use super::directive::Leaf;

/// Whether a directive that combines these constructs may have the clause.
///
/// # Source
/// OpenMP 5.2, the tables of sections 5 to 16; OpenMP 6.0 for what it adds. A combined directive may have the clauses of its constructs
/// (5.2, section 17.2), except `nowait` where its construct is inside a `parallel`, `copyin` on a target construct, and on `distribute parallel for` those that
/// need the order of all iterations.
pub(crate) fn is_allowed(leaves: &[Leaf], name: ClauseName) -> bool {
    leaves.iter().enumerate().any(|(idx, &leaf)| {
        let inside_parallel = leaves[..idx].contains(&Leaf::Parallel);
        let is_divided = leaves[..idx].contains(&Leaf::Distribute) && leaf == Leaf::For;
        let needs_order = matches!(name, ClauseName::Ordered | ClauseName::Linear);
        let excluded = (is_divided && needs_order)
            || (name == ClauseName::Nowait && inside_parallel)
            || (name == ClauseName::Copyin && leaves.contains(&Leaf::Target));
        !excluded && clauses(leaf).contains(&name)
    })
}

/// The constructs that may have the clause alone, for the note of a diagnostic.
pub(crate) fn constructs_with(name: ClauseName) -> Vec<Leaf> {
    let allows = |leaf: &Leaf| clauses(*leaf).contains(&name);
    Leaf::ALL.iter().copied().filter(allows).collect()
}

/// The clauses that a construct takes.
pub(super) fn clauses(leaf: Leaf) -> &'static [ClauseName] {
    use ClauseName::*;
    match leaf {
        Leaf::Target => &[
            Allocate,
            Default,
            Defaultmap,
            Depend,
            Device,
            DeviceType,
            Firstprivate,
            HasDeviceAddr,
            If,
            InReduction,
            IsDevicePtr,
            Map,
            Nowait,
            OmpxAttribute,
            OmpxBare,
            OmpxDynCgroupMem,
            Priority,
            Private,
            Replayable,
            ThreadLimit,
            UsesAllocators,
        ],
        Leaf::TargetData => &[
            Affinity,
            Allocate,
            Default,
            Depend,
            Detach,
            Device,
            Firstprivate,
            If,
            InReduction,
            Map,
            Mergeable,
            Nogroup,
            Nowait,
            Priority,
            Private,
            Replayable,
            Shared,
            Threadset,
            Transparent,
            UseDeviceAddr,
            UseDevicePtr,
        ],
        Leaf::TargetEnterData | Leaf::TargetExitData => {
            &[Depend, Device, If, Map, Nowait, Priority, Replayable]
        }
        Leaf::TargetUpdate => &[Depend, Device, From, If, Nowait, Priority, Replayable, To],
        Leaf::Teams => &[
            Allocate,
            Default,
            Firstprivate,
            If,
            NumTeams,
            OmpxAttribute,
            Private,
            Reduction,
            Shared,
            ThreadLimit,
        ],
        Leaf::Distribute => &[
            Allocate,
            Collapse,
            DistSchedule,
            Firstprivate,
            Induction,
            Lastprivate,
            Order,
            Private,
        ],
        Leaf::Parallel => &[
            Allocate,
            Copyin,
            Default,
            Firstprivate,
            If,
            Message,
            NumThreads,
            OmpxAttribute,
            Private,
            ProcBind,
            Reduction,
            Safesync,
            Severity,
            Shared,
        ],
        Leaf::For => &[
            Allocate,
            Collapse,
            Firstprivate,
            Induction,
            Lastprivate,
            Linear,
            Nowait,
            Order,
            Ordered,
            Private,
            Reduction,
            Schedule,
        ],
        Leaf::Simd => &[
            Aligned,
            Collapse,
            If,
            Induction,
            Lastprivate,
            Linear,
            Nontemporal,
            Order,
            Private,
            Reduction,
            Safelen,
            Simdlen,
        ],
        Leaf::Loop => &[Bind, Collapse, Lastprivate, Order, Private, Reduction],
        Leaf::Sections => &[
            Allocate,
            Firstprivate,
            Lastprivate,
            Nowait,
            Private,
            Reduction,
        ],
        Leaf::Single => &[Allocate, Copyprivate, Firstprivate, Nowait, Private],
        Leaf::Scope => &[Allocate, Firstprivate, Nowait, Private, Reduction],
        Leaf::Masked => &[Filter],
        Leaf::Critical => &[Hint],
        Leaf::Atomic => &[
            AcqRel, Acquire, Capture, Compare, Fail, Hint, Memscope, Read, Relaxed, Release,
            SeqCst, Update, Weak, Write,
        ],
        Leaf::Flush => &[AcqRel, Acquire, Memscope, Relaxed, Release, SeqCst],
        Leaf::Ordered => &[Depend, Doacross, Simd, Threads],
        Leaf::Task => &[
            Affinity,
            Allocate,
            Default,
            Depend,
            Detach,
            Final,
            Firstprivate,
            If,
            InReduction,
            Mergeable,
            Priority,
            Private,
            Replayable,
            Shared,
            Threadset,
            Transparent,
            Untied,
        ],
        Leaf::Taskloop => &[
            Allocate,
            Collapse,
            Default,
            Final,
            Firstprivate,
            Grainsize,
            If,
            InReduction,
            Induction,
            Lastprivate,
            Mergeable,
            Nogroup,
            NumTasks,
            Priority,
            Private,
            Reduction,
            Replayable,
            Shared,
            Threadset,
            Transparent,
            Untied,
        ],
        Leaf::TaskIteration => &[Affinity, Depend, If],
        Leaf::Taskwait => &[Depend, Nowait, Replayable],
        Leaf::Taskgroup => &[Allocate, TaskReduction],
        Leaf::Depobj => &[Depend, Destroy, Init, Update],
        Leaf::Cancel => &[If],
        Leaf::Scan => &[Exclusive, Inclusive, InitComplete],
        Leaf::Tile | Leaf::Stripe => &[Apply, Sizes],
        Leaf::Unroll => &[Apply, Full, Partial],
        Leaf::Interchange => &[Apply, Permutation],
        Leaf::Reverse | Leaf::Nothing => &[Apply],
        Leaf::Fuse => &[Apply, Looprange],
        Leaf::Split => &[Apply, Counts],
        Leaf::Interop => &[Depend, Destroy, Device, Init, Nowait, Use],
        Leaf::Dispatch => &[
            Depend,
            Device,
            HasDeviceAddr,
            Interop,
            IsDevicePtr,
            Nocontext,
            Novariants,
            Nowait,
        ],
        Leaf::Error => &[At, Message, Severity],
        Leaf::Assume | Leaf::Assumes | Leaf::BeginAssumes => &[
            Absent,
            Contains,
            Holds,
            NoOpenmp,
            NoOpenmpConstructs,
            NoOpenmpRoutines,
            NoParallelism,
        ],
        Leaf::Allocate => &[Align, Allocator],
        Leaf::Allocators => &[Allocate],
        Leaf::Groupprivate => &[DeviceType],
        Leaf::Requires => &[
            AtomicDefaultMemOrder,
            DeviceSafesync,
            DynamicAllocators,
            ReverseOffload,
            SelfMaps,
            UnifiedAddress,
            UnifiedSharedMemory,
        ],
        Leaf::DeclareTarget => &[DeviceType, Enter, Indirect, Link, Local, To],
        Leaf::BeginDeclareTarget => &[DeviceType, Indirect],
        Leaf::DeclareVariant => &[Adjust, AppendArgs, Match],
        Leaf::BeginDeclareVariant => &[Match],
        Leaf::DeclareMapper => &[Map],
        Leaf::DeclareReduction => &[Combiner, Initializer],
        Leaf::DeclareInduction => &[Collector, Inductor],
        Leaf::DeclareSimd => &[Aligned, Inbranch, Linear, Notinbranch, Simdlen, Uniform],
        Leaf::Metadirective | Leaf::BeginMetadirective => &[Default, Otherwise, When],
        Leaf::Workshare => &[Nowait],
        Leaf::Taskgraph => &[GraphId, GraphReset, If, Nogroup],
        Leaf::Section
        | Leaf::Master
        | Leaf::Barrier
        | Leaf::Taskyield
        | Leaf::CancellationPoint
        | Leaf::EndAssumes
        | Leaf::Threadprivate
        | Leaf::EndDeclareTarget
        | Leaf::EndDeclareVariant
        | Leaf::EndMetadirective => &[],
    }
}
