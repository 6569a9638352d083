//! The passes of rex and the manager that schedules them.
//!
//! A pass reads and writes named [`Facet`](rex_ir::facet::Facet)s of a [`Program`](rex_ir::program::Program) and declares which. The [`schedule`] follows from the declarations alone; the
//! [`manager`] runs it, verifies the program after each pass, and can check that a pass touched nothing else. Passes never write C text and never read files.
//!
//! To add a pass: a file with its `INFO`, a line in [`registry`], and tests on the IR dump.

mod allocator_traits;
pub mod analysis;
pub mod device_closure;
pub mod device_directives;
pub mod init_insertion;
pub mod manager;
pub mod map_arrays;
pub mod no_auto_fini;
pub mod offload_entries;
pub mod pass;
mod private_storage;
pub mod schedule;
pub mod target_outlining;
#[cfg(feature = "testing")]
pub mod testing;

pub use manager::PassManager;
pub use pass::{Outcome, Pass, PassCx, PassInfo};

/// Every built-in pass, in registration order.
pub fn registry() -> Vec<Box<dyn Pass>> {
    vec![
        Box::new(device_closure::DeviceClosure),
        Box::new(device_directives::DeviceDirectives),
        Box::new(target_outlining::TargetOutlining),
        Box::new(map_arrays::BuildMapArrays),
        Box::new(offload_entries::OffloadEntries),
        Box::new(init_insertion::InitInsertion),
        Box::new(no_auto_fini::NoAutoFini),
    ]
}
