//! Numbers that host and device keep in different formats.

use rustc_hash::FxHashSet;

use crate::program::Program;
use crate::region::{Capture, RegionId, Transport};
use crate::ty::{Meaning, RecordId, TypeId, TypeKind, TypeTable};

/// A format of numbers that device compilers do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `long double`: GPUs compute with `double` in its place.
    LongDouble,
    /// The scalars of a class with `scalar_storage_order`, which C++ compilers ignore.
    OtherByteOrder,
}

impl TypeTable {
    /// Whether objects of a type, or what they point to, hold numbers in a format.
    pub fn holds(&self, ty: TypeId, format: Format) -> bool {
        self.holds_beyond(ty, format, &mut FxHashSet::default())
    }

    /// Classes `seen` before are not looked at again.
    fn holds_beyond(&self, ty: TypeId, format: Format, seen: &mut FxHashSet<RecordId>) -> bool {
        let desugared = self.desugar(ty);
        match &self.get(desugared).kind {
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.holds_beyond(*to, format, seen),
            TypeKind::Array { element, .. } => self.holds_beyond(*element, format, seen),
            TypeKind::Named {
                meaning: Meaning::WideArithmetic,
                ..
            } => {
                let spelled = self.spell(desugared);
                let words = || spelled.split_whitespace();
                format == Format::LongDouble
                    && words().any(|word| word == "long")
                    && words().any(|word| word == "double")
            }
            TypeKind::Named {
                meaning: Meaning::Record(Some(record)),
                ..
            } => {
                let found = &self.records[*record];
                let is_reversed = found.is_reversed && format == Format::OtherByteOrder;
                let mut own = found.fields.iter().filter(|field| !field.is_static);
                is_reversed
                    || (seen.insert(*record)
                        && own.any(|field| self.holds_beyond(field.ty, format, seen)))
            }
            TypeKind::Named { .. } | TypeKind::Function { .. } => false,
        }
    }
}

impl Program {
    /// What a region shares with the host in a format that devices would misread.
    pub fn shared_in(&self, region: RegionId, format: Format) -> impl Iterator<Item = &Capture> {
        self.regions[region].captures.iter().filter(move |capture| {
            capture.transport != Transport::Private && self.types.holds(capture.ty, format)
        })
    }
}
