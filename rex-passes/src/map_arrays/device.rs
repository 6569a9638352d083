//! `use_device_ptr` and `use_device_addr`: zero-size entries whose device address comes back.

use rex_ir::abi::MapFlags;
use rex_ir::expr::Expr;
use rex_ir::map::{MapEntry, MapItem, MapKind};
use rex_ir::ty::Category;

use super::{Builder, entry};

impl Builder<'_> {
    /// The entry of one list item.
    pub(super) fn use_device(&mut self, item: &MapItem) {
        let object = self.object(item.root);
        // What `use_device_ptr` names is a pointer, also where a template's parameter gives its type.
        let is_pointer = self.is_pointer(item.root_ty)
            || item.kind == MapKind::UseDevicePtr
                && self.program.types.category(item.root_ty) == Category::Dependent;
        let through = is_pointer
            && (item.kind == MapKind::UseDevicePtr
                || item.kind == MapKind::UseDeviceAddr && !item.steps.is_empty());
        let address = if through {
            object
        } else {
            self.storage_address(object, item.root_ty)
        };
        let words: Vec<&str> = self.program.text(item.at).split_whitespace().collect();
        let name = words.join(" ");
        self.push(MapEntry {
            at: Some(item.at),
            device_address_of: Some(item.root),
            ..entry(
                address.clone(),
                address,
                Expr::Int(0),
                MapFlags::RETURN_PARAM,
                name.into(),
            )
        });
    }
}
