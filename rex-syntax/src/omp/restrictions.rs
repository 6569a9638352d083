//! Clauses that a directive needs, and map types that it does not take.

use super::clause::ClauseName;
use super::directive::Leaf;

/// The clauses of which a directive needs at least one. Empty: it needs none.
///
/// # Source
/// OpenMP 5.2, restrictions of sections 13.5 to 13.7 and 13.9.
pub(super) fn needed_clauses(leaf: Leaf) -> &'static [ClauseName] {
    use ClauseName::*;
    match leaf {
        Leaf::TargetData => &[Map, UseDevicePtr, UseDeviceAddr],
        Leaf::TargetEnterData | Leaf::TargetExitData => &[Map],
        Leaf::TargetUpdate => &[To, From],
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
