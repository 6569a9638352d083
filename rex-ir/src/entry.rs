//! The offload entry table.

use smol_str::SmolStr;

use crate::abi::Requirements;
use crate::item::DeviceStorage;
use crate::kernel::{KernelId, KernelNames};
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
        /// How it lives there: the entry is of the variable, or of the pointer to it.
        storage: DeviceStorage,
    },
    /// The kernel that constructs the variables of the unit on each device.
    Constructors(KernelNames),
    /// What the program demands of its devices.
    Requirements(Requirements),
}
