//! Facets: the named parts of a program that passes declare to read and write.

use bitflags::bitflags;

bitflags! {
    /// A set of parts of a [`Program`](crate::program::Program).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Facet: u16 {
        /// Functions, file-scope variables, type declarations.
        const ITEMS = 1 << 0;
        /// Types and symbols.
        const TYPES = 1 << 1;
        /// Target regions, data constructs and the constructs inside them.
        const REGIONS = 1 << 2;
        /// What each region captures, and how.
        const CAPTURES = 1 << 3;
        /// Outlined kernels.
        const KERNELS = 1 << 4;
        /// Launches that replace the regions.
        const LAUNCHES = 1 << 5;
        /// Map arrays of launches and data constructs.
        const MAP_ARRAYS = 1 << 6;
        /// Code and data the device file needs besides the kernels.
        const DEVICE_CODE = 1 << 7;
        /// Offload entries.
        const ENTRY_TABLE = 1 << 8;
        /// Where the program registers its image.
        const INIT = 1 << 9;
        /// Whether the program tears down.
        const FINI = 1 << 10;
    }
}

impl Facet {
    /// Name of a single facet.
    pub fn name(self) -> &'static str {
        match self {
            Facet::ITEMS => "items",
            Facet::TYPES => "types",
            Facet::REGIONS => "regions",
            Facet::CAPTURES => "captures",
            Facet::KERNELS => "kernels",
            Facet::LAUNCHES => "launches",
            Facet::MAP_ARRAYS => "map-arrays",
            Facet::DEVICE_CODE => "device-code",
            Facet::ENTRY_TABLE => "entry-table",
            Facet::INIT => "init",
            Facet::FINI => "fini",
            _ => "several",
        }
    }

    /// The facets that exist before any pass runs.
    pub const BUILT: Facet = Facet::ITEMS
        .union(Facet::TYPES)
        .union(Facet::REGIONS)
        .union(Facet::CAPTURES);
}
