//! Constants of the offload runtime's binary interface that passes and emitters share.

use bitflags::bitflags;

bitflags! {
    /// Map type bits.
    ///
    /// # Source
    /// LLVM `omptarget.h`, `enum tgt_map_type`, the same from 14 to 22.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct MapFlags: u64 {
        /// Copy to the device.
        const TO = 0x1;
        /// Copy from the device.
        const FROM = 0x2;
        /// Copy whatever the reference count.
        const ALWAYS = 0x4;
        /// Drop the reference count to zero.
        const DELETE = 0x8;
        /// The entry's base is the address of a pointer, its begin the pointee.
        const PTR_AND_OBJ = 0x10;
        /// The entry is a kernel argument.
        const TARGET_PARAM = 0x20;
        /// The device address is returned in the base array.
        const RETURN_PARAM = 0x40;
        /// A private copy.
        const PRIVATE = 0x80;
        /// The argument is the value itself.
        const LITERAL = 0x100;
        /// No clause names it.
        const IMPLICIT = 0x200;
        /// `close`.
        const CLOSE = 0x400;
        /// `present`.
        const PRESENT = 0x1000;
        /// `ompx_hold`.
        const OMPX_HOLD = 0x2000;
    }
}

bitflags! {
    /// What a program demands of its devices with `requires`.
    ///
    /// # Source
    /// LLVM `openmp/libomptarget/include` (14 to 18: `omptarget.h`, `OpenMPOffloadingRequiresDirFlags`; 19 to 22: `Shared/Requirements.h`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Requirements: u32 {
        /// `reverse_offload`.
        const REVERSE_OFFLOAD = 0x2;
        /// `unified_address`.
        const UNIFIED_ADDRESS = 0x4;
        /// `unified_shared_memory`, and `self_maps`, which needs it.
        const UNIFIED_SHARED_MEMORY = 0x8;
        /// `dynamic_allocators`.
        const DYNAMIC_ALLOCATORS = 0x10;
    }
}

/// Bytes of one kernel argument slot.
///
/// # Source
/// LLVM 19 to 22, `plugins-nextgen/cuda`: arguments are one flat array of pointers.
pub const ARGUMENT_SLOT_BYTES: u32 = 8;
