//! Numbers that host and device keep in different formats.

use crate::program::Program;
use crate::region::{Capture, RegionId, Transport};
use crate::ty::{Meaning, TypeId, TypeKind, TypeTable};

impl TypeTable {
    /// Whether objects of a type, or what they point to, hold a `long double`: GPUs compute with `double` in its place.
    pub fn holds_long_double(&self, ty: TypeId) -> bool {
        self.holds_long_double_within(ty, 0)
    }

    fn holds_long_double_within(&self, ty: TypeId, depth: usize) -> bool {
        if depth == MAX_DEPTH {
            return false;
        }
        let inner = |ty| self.holds_long_double_within(ty, depth + 1);
        let desugared = self.desugar(ty);
        match &self.get(desugared).kind {
            TypeKind::Pointer(to) | TypeKind::Reference(to) => inner(*to),
            TypeKind::Array { element, .. } => inner(*element),
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
                own.any(|field| inner(field.ty))
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

/// How deep members and pointers are followed.
const MAX_DEPTH: usize = 12;
