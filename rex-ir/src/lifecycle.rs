//! When the program registers its device image, and whether it tears down.

use rex_syntax::TextSize;

/// Registration and teardown of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// Where `rex_offload_init()` goes; absent in a unit without `main` or without device constructs.
    pub init: Option<InitSite>,
    /// Teardown.
    pub fini: FiniPolicy,
}

/// Where the program registers its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitSite {
    /// Just after the opening brace of `main`.
    pub at: TextSize,
}

/// Whether the program tears down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FiniPolicy {
    /// No pass has decided.
    #[default]
    Undecided,
    /// Only where the user calls `rex_offload_fini` himself.
    ExplicitOnly,
}
