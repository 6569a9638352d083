//! What replaces a region on the host.

use la_arena::Idx;
use rex_syntax::TextRange;

use crate::expr::Expr;
use crate::kernel::KernelId;
use crate::region::RegionId;

/// Index of a launch.
pub type LaunchId = Idx<Launch>;

/// The launch of one kernel in place of its region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The region.
    pub region: RegionId,
    /// The kernel.
    pub kernel: KernelId,
    /// The device number; absent means the default device.
    pub device: Option<TextRange>,
    /// Offload only if this holds.
    pub condition: Option<TextRange>,
    /// Number of teams; absent means the runtime's choice.
    pub teams: Option<Expr>,
    /// Threads per team; absent means the runtime's choice.
    pub threads: Option<Expr>,
    /// Number of iterations, a hint for the geometry.
    pub trips: Option<Expr>,
    /// Bytes of dynamic shared memory for the arrays of a team whose sizes the host can compute.
    pub shared_bytes: Option<Expr>,
}
