//! Clauses that a directive needs, clauses that exclude each other, and map types that it does not take.

use super::allowed;
use super::clause::ClauseName;
use super::directive::Leaf;

/// The clauses of which a directive needs at least one. Empty: it needs none.
///
/// # Source
/// OpenMP 5.2, the restrictions of these directives; OpenMP 6.0 for `stripe` and `split`.
pub(super) fn needed_clauses(leaf: Leaf) -> &'static [ClauseName] {
    use ClauseName::*;
    match leaf {
        Leaf::TargetData => &[Map, UseDevicePtr, UseDeviceAddr],
        Leaf::TargetEnterData | Leaf::TargetExitData => &[Map],
        Leaf::TargetUpdate => &[To, From],
        Leaf::Tile | Leaf::Stripe => &[Sizes],
        Leaf::Split => &[Counts],
        Leaf::Scan => &[Inclusive, Exclusive, InitComplete],
        Leaf::Interop => &[Init, Use, Destroy, Nowait],
        Leaf::Depobj => &[Depend, Init, Update, Destroy],
        Leaf::DeclareMapper => &[Map],
        Leaf::DeclareVariant | Leaf::BeginDeclareVariant => &[Match],
        // Any that they take.
        Leaf::Allocators | Leaf::Requires => allowed::clauses(leaf),
        _ => &[],
    }
}

/// Clauses of a construct that exclude each other.
#[derive(Clone, Copy)]
pub(super) enum Exclusion {
    /// One of these may be there.
    OneOf(&'static [ClauseName]),
    /// None of the first may stand beside one of the second.
    Beside(&'static [ClauseName], &'static [ClauseName]),
}

impl Exclusion {
    /// Whether these two cannot be on one directive.
    pub(super) fn forbids(self, first: ClauseName, second: ClauseName) -> bool {
        match self {
            Exclusion::OneOf(names) => {
                first != second && names.contains(&first) && names.contains(&second)
            }
            Exclusion::Beside(names, others) => {
                let is_pair = |a, b| names.contains(&a) && others.contains(&b);
                is_pair(first, second) || is_pair(second, first)
            }
        }
    }
}

/// What excludes each other on a construct.
///
/// # Source
/// OpenMP 5.2, the restrictions of these directives and clauses; 6.0 still lets no `copyprivate` stand beside `nowait`.
pub(super) fn exclusions(leaf: Leaf) -> &'static [Exclusion] {
    use ClauseName::*;
    use Exclusion::{Beside, OneOf};
    const ORDERS: Exclusion = OneOf(&[AcqRel, Acquire, Relaxed, Release, SeqCst]);
    match leaf {
        Leaf::Taskloop => &[
            OneOf(&[Grainsize, NumTasks]),
            Beside(&[Nogroup], &[Reduction]),
        ],
        Leaf::Task => &[OneOf(&[Detach, Mergeable])],
        Leaf::Unroll => &[OneOf(&[Full, Partial])],
        Leaf::DeclareSimd => &[OneOf(&[Inbranch, Notinbranch])],
        Leaf::Scan => &[OneOf(&[Inclusive, Exclusive, InitComplete])],
        Leaf::Single => &[OneOf(&[Copyprivate, Nowait])],
        Leaf::Flush => &[ORDERS],
        Leaf::Atomic => &[
            ORDERS,
            OneOf(&[Read, Write, Update]),
            Beside(&[Read, Write], &[Capture, Compare]),
            Beside(&[Read], &[AcqRel, Release]),
            Beside(&[Write], &[AcqRel, Acquire]),
        ],
        _ => &[],
    }
}

/// Clauses of a construct that say something of what another clause asks for: the clause, and the one that it needs.
///
/// # Source
/// OpenMP 5.2, the restrictions of section 15.8.4.
pub(super) fn companions(leaf: Leaf) -> &'static [(ClauseName, ClauseName)] {
    match leaf {
        Leaf::Atomic => &[
            (ClauseName::Fail, ClauseName::Compare),
            (ClauseName::Weak, ClauseName::Compare),
        ],
        _ => &[],
    }
}

/// The map types that mean nothing on a directive, and those to choose from.
///
/// # Source
/// OpenMP 5.2, restrictions of sections 13.5 to 13.8.
pub(super) fn map_types(leaf: Leaf) -> Option<(&'static [&'static str], &'static str)> {
    match leaf {
        Leaf::TargetEnterData => Some((
            &["from", "release", "delete", "ompx_hold"],
            "`to` and `alloc`",
        )),
        Leaf::TargetExitData => Some((
            &["to", "alloc", "ompx_hold"],
            "`from`, `release` and `delete`",
        )),
        Leaf::TargetData | Leaf::Target => {
            Some((&["release", "delete"], "`to`, `from`, `tofrom` and `alloc`"))
        }
        _ => None,
    }
}
