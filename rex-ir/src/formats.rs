//! Numbers that host and device keep in different formats.

use rustc_hash::FxHashSet;

use crate::program::Program;
use crate::region::{Capture, RegionId, Transport};
use crate::ty::{Meaning, RecordId, TypeId, TypeKind, TypeTable};

impl TypeTable {
    /// Whether objects of a type, or what they point to, hold a `long double`: GPUs compute with `double` in its place.
    pub fn holds_long_double(&self, ty: TypeId) -> bool {
        self.holds_long_double_beyond(ty, &mut FxHashSet::default())
    }

    /// Classes `seen` before are not looked at again.
    fn holds_long_double_beyond(&self, ty: TypeId, seen: &mut FxHashSet<RecordId>) -> bool {
        let desugared = self.desugar(ty);
        match &self.get(desugared).kind {
            TypeKind::Pointer(to) | TypeKind::Reference(to) => {
                self.holds_long_double_beyond(*to, seen)
            }
            TypeKind::Array { element, .. } => self.holds_long_double_beyond(*element, seen),
            TypeKind::Named {
                meaning: Meaning::WideArithmetic,
                ..
            } => {
                let spelled = self.spell(desugared);
                let words = || spelled.split_whitespace();
                words().any(|word| word == "long") && words().any(|word| word == "double")
            }
            TypeKind::Named {
                meaning: Meaning::Record(Some(record)),
                ..
            } => {
                let fields = self.records[*record].fields.iter();
                let mut own = fields.filter(|field| !field.is_static);
                seen.insert(*record)
                    && own.any(|field| self.holds_long_double_beyond(field.ty, seen))
            }
            TypeKind::Named { .. } | TypeKind::Function { .. } => false,
        }
    }
}

impl Program {
    /// What a region shares with the host and GPUs would misread.
    pub fn long_doubles(&self, region: RegionId) -> impl Iterator<Item = &Capture> {
        self.regions[region].captures.iter().filter(|capture| {
            capture.transport != Transport::Private && self.types.holds_long_double(capture.ty)
        })
    }
}
