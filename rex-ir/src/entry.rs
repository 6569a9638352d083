//! The offload entry table.

use smol_str::SmolStr;

use crate::kernel::KernelId;
use crate::symbol::SymbolId;

/// One offload entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The entry variable.
    pub name: SmolStr,
    /// What it stands for.
    pub kind: EntryKind,
}

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A kernel.
    Kernel(KernelId),
    /// A variable with a copy of its own on the device.
    Variable {
        /// The variable.
        symbol: SymbolId,
        /// The device symbol.
        device_name: SmolStr,
    },
}
