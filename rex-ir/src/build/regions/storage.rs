//! Where what device code uses lives: on the device, with each thread, or in what the region maps.

use rex_syntax::TextRange;

use crate::build::Builder;
use crate::item::DeviceStorage;
use crate::places::constructs_around;
use crate::region::{CapturedObject, ConstructId, SharingAttribute};
use crate::symbol::SymbolId;
use crate::ty::TypeKind;

impl Builder<'_> {
    /// Whether a construct inside the region gives each thread its own copy at this place.
    pub(super) fn is_private_inside(
        &self,
        symbol: SymbolId,
        at: TextRange,
        region: ConstructId,
    ) -> bool {
        let whole = self.constructs[region].range;
        constructs_around(&self.constructs, at).any(|(id, construct)| {
            if !whole.contains_range(construct.range) {
                return false;
            }
            let listed = id != region
                && construct.sharing.iter().any(|sharing| {
                    sharing.symbol == symbol && sharing.attribute == SharingAttribute::Private
                });
            let name = &self.symbols[symbol].name;
            let iterates = construct.nest.is_some_and(|nest| {
                self.nests[nest].loops.iter().any(|canonical| {
                    canonical.variable == *name && canonical.range.contains_range(at)
                })
            });
            listed || iterates
        })
    }

    /// Whether a static member is an object of the device without a map.
    pub(super) fn lives_on_device(&self, symbol: SymbolId) -> bool {
        self.is_static_object(symbol) && self.global_storage(symbol).is_some()
    }

    /// How a variable of file scope or a static member lives on the device without a map, if it does.
    pub(in crate::build) fn global_storage(&self, symbol: SymbolId) -> Option<DeviceStorage> {
        match self.declare_target.get(&symbol) {
            // Mapped like any other variable.
            Some(DeviceStorage::Link) => return None,
            Some(storage) => return Some(*storage),
            None => {}
        }
        let found = &self.symbols[symbol];
        if self.is_constant(symbol) || self.constant_fields.contains_key(&symbol) {
            return Some(DeviceStorage::Constant);
        }
        // A table of constants.
        let element = self.types.innermost_element(found.ty);
        let constant_table = self.types.get(element).is_const
            && matches!(
                self.types.get(self.types.desugar(found.ty)).kind,
                TypeKind::Array { .. }
            )
            && found.initializer.is_some_and(|initializer| {
                self.is_constant_text(initializer, found.declared_at.unwrap_or(initializer))
            });
        constant_table.then_some(DeviceStorage::Constant)
    }

    /// Whether it is a pointer, whose elements are other objects.
    pub(super) fn holds_pointer(&self, object: CapturedObject) -> bool {
        let CapturedObject::Variable(symbol) = object else {
            return true;
        };
        self.is_pointer(self.symbols[symbol].ty)
    }
}
