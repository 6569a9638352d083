//! Variables that mean something else inside a construct.

use rex_ir::map::{MapItem, MapKind};
use rex_ir::region::{CapturedObject, DataConstructKind};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{Category, TypeKind};

use super::{Host, Rename};

impl Host<'_> {
    /// Scalars and structs cannot be rebound in C: their uses inside become `(*name__device)`.
    pub(super) fn collect_renames(&mut self) {
        let mut renames = Vec::new();
        for (_, data) in self.program.data_constructs.iter() {
            if data.kind != DataConstructKind::Data {
                continue;
            }
            let Some(statement) = self.program.constructs[data.construct].statement else {
                continue;
            };
            for item in &data.maps {
                let CapturedObject::Variable(symbol) = item.root else {
                    continue;
                };
                let is_object = self.is_bound_as_object(item, symbol);
                if !matches!(item.kind, MapKind::UseDevicePtr | MapKind::UseDeviceAddr) {
                    continue;
                }
                let name = self.program.name(symbol).to_string();
                let variable = match is_object {
                    true => format!("(*{name}__device)"),
                    false => name.clone(),
                };
                let outside = self.program.symbols[symbol].qualified_name();
                if outside != name {
                    renames.push(Rename {
                        inside: statement,
                        name: outside.to_string(),
                        becomes: variable.clone(),
                    });
                }
                let named = data.qualified_uses.iter();
                for (at, _) in named.filter(|(_, named)| *named == symbol) {
                    self.renamed_places.push((*at, variable.clone()));
                }
                if is_object {
                    renames.push(Rename {
                        inside: statement,
                        becomes: format!("(*{name}__device)"),
                        name,
                    });
                }
            }
        }
        self.renames = renames;
        self.renamed_places.sort_by_key(|(at, _)| at.start());
    }

    /// Whether an item about device addresses is about an object, whose uses become those of the device's: a pointer variable is one where its
    /// own storage is asked for.
    pub(super) fn is_bound_as_object(&self, item: &MapItem, symbol: SymbolId) -> bool {
        let types = &self.program.types;
        let ty = types.object_type(self.program.symbols[symbol].ty);
        match types.get(ty).kind {
            TypeKind::Array { .. } => false,
            _ if types.category(ty) == Category::Dependent => item.kind != MapKind::UseDevicePtr,
            TypeKind::Pointer(_) => item.kind == MapKind::UseDeviceAddr && item.steps.is_empty(),
            _ => true,
        }
    }
}
