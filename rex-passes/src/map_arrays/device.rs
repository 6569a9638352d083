//! `use_device_ptr` and `use_device_addr`: zero-size entries whose device address comes back.

use rex_ir::abi::MapFlags;
use rex_ir::expr::Expr;
use rex_ir::map::{MapEntry, MapItem};

use super::{Builder, entry};

impl Builder<'_> {
    /// The entry of one list item.
    pub(super) fn use_device(&mut self, item: &MapItem) {
        let object = self.object(item.root);
        let address = match item.asks_through_pointer(&self.program.types) {
            true => object,
            false => self.storage_address(object, item.root_ty),
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
