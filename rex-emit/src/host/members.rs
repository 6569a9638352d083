//! Static data members of class templates that live on the device: where a directive names one, the runtime gets to know its instantiation.

use std::collections::BTreeSet;

use rex_ir::item::DeviceStorage;
use rex_ir::map::MapItem;
use rex_ir::region::CapturedObject;
use rex_ir::symbol::SymbolId;

use super::Host;

impl Host<'_> {
    /// A word for the name of each such member.
    pub(super) fn names_of_members(&self) -> Vec<String> {
        let regions = self.program.regions.values();
        let constructs = self.program.data_constructs.values();
        let maps = regions
            .flat_map(|region| &region.maps)
            .chain(constructs.flat_map(|construct| &construct.maps));
        let names: BTreeSet<&str> = maps
            .filter_map(|item| self.member_of_template(item))
            .map(|member| self.program.name(member).as_str())
            .collect();
        names
            .into_iter()
            .map(|name| format!("REX_MEMBER_NAME({name});"))
            .collect()
    }

    /// Statements that make the instantiations known which map items name.
    pub(super) fn members_on_device(&self, maps: &[MapItem]) -> Vec<String> {
        let mut lines = Vec::new();
        for item in maps {
            let (Some(member), CapturedObject::Variable(symbol)) =
                (self.member_of_template(item), item.root)
            else {
                continue;
            };
            let is_instance = symbol != member;
            let class = match &self.program.symbols[symbol].spelled {
                Some(spelled) if is_instance => {
                    spelled.rsplit_once("::").map_or("", |(class, _)| class)
                }
                // Inside its class, the template's name is that of the instantiation.
                _ => {
                    let path = &self.program.static_members[&member].class_path;
                    path.rsplit("::").next().unwrap_or(path)
                }
            };
            let name = self.program.name(member);
            let line = format!("REX_MEMBER_ON_DEVICE({name}, {class});");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// The member of a class template that a map item is or begins with, if it lives on the device.
    fn member_of_template(&self, item: &MapItem) -> Option<SymbolId> {
        let CapturedObject::Variable(symbol) = item.root else {
            return None;
        };
        let member = self.program.static_member_of(symbol);
        let known = self.program.static_members.get(&member)?;
        let storage = self.program.device_storage(member)?;
        let has_entry = known.has_arguments()
            && !storage.is_behind_pointer()
            && storage != DeviceStorage::Constant;
        has_entry.then_some(member)
    }
}
