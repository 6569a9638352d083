//! How a captured object reaches the kernel.

use rex_syntax::TextRange;

use crate::build::Builder;
use crate::build::implicit::ImplicitRules;
use crate::map::{MapItem, MapKind, StepKind};
use crate::region::{CapturedObject, ConstructId, SharingAttribute, Transport};
use crate::symbol::SymbolId;
use crate::ty::{Category, Meaning, TypeId, TypeKind};

impl Builder<'_> {
    pub(super) fn transport(
        &mut self,
        object: CapturedObject,
        ty: TypeId,
        construct: ConstructId,
        maps: &[MapItem],
        rules: &ImplicitRules,
        at: TextRange,
    ) -> Option<Transport> {
        let category = match self.types.category(ty) {
            Category::Unknown if self.is_nameable(ty) => Category::Dependent,
            category => category,
        };
        let mine: Vec<&MapItem> = maps.iter().filter(|item| item.root == object).collect();
        let category = match object {
            CapturedObject::Variable(symbol) if self.is_deduced(symbol) => {
                self.deduced_category(symbol, &mine)
            }
            _ => category,
        };
        if mine.iter().any(|item| item.kind == MapKind::IsDevicePtr) {
            let is_array = matches!(
                self.types.get(self.types.object_type(ty)).kind,
                TypeKind::Array { .. }
            );
            return Some(if is_array {
                Transport::DeviceAddress
            } else {
                Transport::DevicePointer
            });
        }
        if let Some(item) = mine.iter().find(|item| item.kind == MapKind::HasDeviceAddr) {
            // What a section of a pointer has an address of is the pointer's target.
            let through = item.steps.first().is_some_and(|step| step.follows_pointer);
            return Some(match through {
                true => Transport::DevicePointer,
                false => Transport::DeviceAddress,
            });
        }
        if object == CapturedObject::This {
            return Some(Transport::Pointee);
        }
        if !mine.is_empty() {
            let whole = mine.iter().any(|item| item.steps.is_empty());
            return match category {
                Category::Pointer if whole => Some(Transport::Storage),
                Category::Pointer => Some(Transport::Pointee),
                Category::Unknown if whole => Some(Transport::Storage),
                Category::Unknown | Category::Function => None,
                _ => Some(Transport::Storage),
            };
        }
        let CapturedObject::Variable(symbol) = object else {
            return None;
        };
        if let Some(transport) = self.listed_transport(symbol, category, construct) {
            return Some(transport);
        }
        self.implicit_transport(object, category, construct, rules, at)
    }

    /// What is known of a variable whose type only the compiler knows: `auto *p` is a pointer, and so is `auto p` whose elements are mapped.
    fn deduced_category(&self, symbol: SymbolId, maps: &[&MapItem]) -> Category {
        let ty = self.symbols[symbol].ty;
        let is_reference = matches!(self.types.get(ty).kind, TypeKind::Reference(_));
        let has_elements = maps.iter().any(|item| {
            let first = item.steps.first().map(|step| &step.kind);
            matches!(
                first,
                Some(StepKind::Section(_) | StepKind::Index(_) | StepKind::Deref)
            )
        });
        match self.types.category(ty) {
            Category::Unknown if has_elements && !is_reference => Category::Pointer,
            Category::Unknown => Category::Dependent,
            category => category,
        }
    }

    /// Whether the compiler can tell what rex does not know of a type: its name can be used in C++.
    fn is_nameable(&self, ty: TypeId) -> bool {
        self.unit.language == rex_syntax::source::Language::Cxx
            && matches!(
                self.types.get(self.types.object_type(ty)).kind,
                TypeKind::Named {
                    meaning: Meaning::Unknown | Meaning::Auto,
                    ..
                }
            )
    }

    /// What the data-sharing clauses of the region's own construct say.
    fn listed_transport(
        &self,
        symbol: SymbolId,
        category: Category,
        construct: ConstructId,
    ) -> Option<Transport> {
        let construct = &self.constructs[construct];
        let mut result = None;
        for sharing in construct
            .sharing
            .iter()
            .filter(|sharing| sharing.symbol == symbol)
        {
            let found = match (&sharing.attribute, sharing.is_on_target) {
                (SharingAttribute::Private, true) => Transport::Private,
                (SharingAttribute::Firstprivate, true) => match category {
                    Category::Scalar | Category::Pointer => Transport::Literal,
                    Category::Dependent => Transport::CopyByCategory,
                    _ => Transport::Copy,
                },
                (SharingAttribute::Reduction { .. }, true) if category == Category::Pointer => {
                    Transport::Pointee
                }
                (
                    SharingAttribute::Reduction { .. }
                    | SharingAttribute::Lastprivate
                    | SharingAttribute::Linear(_),
                    true,
                ) => Transport::Storage,
                (SharingAttribute::Private, false) => Transport::Private,
                (SharingAttribute::Shared | SharingAttribute::Copyprivate, _) | (_, false) => {
                    continue;
                }
            };
            // `firstprivate` and `lastprivate` together: the storage is needed.
            if result != Some(Transport::Storage) {
                result = Some(found);
            }
        }
        result
    }
}
