//! Designated initializers of C that C++ does not take: out of order, of more than one step, of array elements.

use std::collections::BTreeMap;

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::SmolStr;

use super::Builder;
use super::braced_lists::has_designators;
use crate::ty::{Category, TypeId, TypeKind};

/// Arrays with more elements than this are left alone.
pub(super) const MAX_ELEMENTS: usize = 4096;

/// A part of an initializer list: the designators that are left to follow, and the value.
#[derive(Clone)]
pub(super) struct Part<'t> {
    pub(super) path: Vec<Node<'t>>,
    pub(super) value: Node<'t>,
}

/// A list in the words of C++, and whether they are others than the user's.
struct Ordered {
    text: String,
    is_changed: bool,
}

impl<'u> Builder<'u> {
    /// An initializer list as C++ writes it, if that differs from what C wrote.
    ///
    /// Members come in the order of their declaration; elements by position, with `{}` for those left out. Parts of one member come together.
    pub(super) fn list_in_order(&mut self, list: Node<'u>, ty: TypeId) -> Option<String> {
        let ordered = match self.designates_unnamed(list, ty) {
            true => None,
            false => self.ordered(&parts_of(list), ty),
        };
        match ordered {
            Some(ordered) => ordered.is_changed.then_some(ordered.text),
            None if has_designators(list) => self.braced(list, ty),
            None => None,
        }
    }

    fn ordered(&mut self, parts: &[Part<'u>], ty: TypeId) -> Option<Ordered> {
        match self.types.get(self.types.desugar(ty)).kind.clone() {
            TypeKind::Array { element, .. } => self.elements_in_order(parts, element),
            _ => self.members_in_order(parts, ty),
        }
    }

    fn members_in_order(&mut self, parts: &[Part<'u>], ty: TypeId) -> Option<Ordered> {
        let record = self.types.record(ty)?;
        let fields: Vec<(SmolStr, TypeId)> = self.types.records[record]
            .fields
            .iter()
            .map(|field| (field.name.clone(), field.ty))
            .collect();
        let mut slots: BTreeMap<usize, Vec<Part<'u>>> = BTreeMap::new();
        let mut next = 0;
        let mut last = None;
        let mut is_changed = false;
        for part in parts {
            let position = match part.path.first() {
                Some(designator) => {
                    let name = designator.text().trim_start_matches('.').trim();
                    fields.iter().position(|(field, _)| field == name)?
                }
                None => next,
            };
            is_changed |= last.is_some_and(|last| position <= last) || part.path.len() > 1;
            put(slots.entry(position).or_default(), part);
            last = Some(position);
            next = position + 1;
        }
        let n_designated = parts.iter().filter(|part| !part.path.is_empty()).count();
        // C++ wants designators at all members or at none.
        is_changed |= n_designated > 0 && n_designated < parts.len();
        let mut texts = Vec::new();
        for (position, slot) in slots {
            let (name, ty) = fields.get(position)?;
            let value = self.slot(&slot, *ty)?;
            is_changed |= value.is_changed;
            texts.push(match n_designated {
                0 => value.text,
                _ => format!(".{name} = {}", value.text),
            });
        }
        Some(Ordered {
            text: format!("{{{}}}", texts.join(", ")),
            is_changed,
        })
    }

    fn elements_in_order(&mut self, parts: &[Part<'u>], element: TypeId) -> Option<Ordered> {
        let mut slots: Vec<Vec<Part<'u>>> = Vec::new();
        let mut next = 0;
        let mut is_changed = false;
        for part in parts {
            let (first, last) = match part.path.first() {
                Some(designator) => {
                    is_changed = true;
                    self.designated_elements(*designator)?
                }
                None => (next, next),
            };
            if last >= MAX_ELEMENTS || last < first {
                return None;
            }
            if slots.len() <= last {
                slots.resize(last + 1, Vec::new());
            }
            for slot in &mut slots[first..=last] {
                put(slot, part);
            }
            next = last + 1;
        }
        let mut texts = Vec::new();
        for slot in slots {
            if slot.is_empty() {
                texts.push("{}".to_owned());
                continue;
            }
            let value = self.slot(&slot, element)?;
            is_changed |= value.is_changed;
            texts.push(value.text);
        }
        Some(Ordered {
            text: format!("{{{}}}", texts.join(", ")),
            is_changed,
        })
    }

    /// The first and the last element that `[2]` or `[0 ... 3]` names.
    pub(super) fn designated_elements(&mut self, designator: Node<'u>) -> Option<(usize, usize)> {
        let bounds: Vec<Node<'u>> = designator
            .children()
            .filter(|child| child.kind() != Kind::Comment)
            .collect();
        let value = |node: &Node<'u>| usize::try_from(self.constant_value(node.range())?).ok();
        match (designator.kind(), bounds.as_slice()) {
            (Kind::SubscriptDesignator, [index]) => {
                let index = value(index)?;
                Some((index, index))
            }
            (Kind::SubscriptRangeDesignator, [first, last]) => Some((value(first)?, value(last)?)),
            _ => None,
        }
    }

    /// The value of a member or element that one part gives, or several parts together.
    fn slot(&mut self, slot: &[Part<'u>], ty: TypeId) -> Option<Ordered> {
        if let [part] = slot
            && part.path.is_empty()
        {
            let is_list = part.value.kind() == Kind::InitializerList;
            let leaves_braces_out = self.types.category(ty) == Category::Aggregate
                && matches!(
                    part.value.kind(),
                    Kind::NumberLiteral | Kind::CharLiteral | Kind::BinaryExpression
                );
            if leaves_braces_out {
                return None;
            }
            let text = match is_list {
                true => self.list_in_order(part.value, ty),
                false => self.characters(part.value, ty),
            };
            if !is_list && self.needs_conversion(part.value, ty) {
                let spelled = self.spelled_conversion(part.value, ty);
                return Some(Ordered {
                    text: format!("{spelled}({})", part.value.text()),
                    is_changed: true,
                });
            }
            return Some(Ordered {
                is_changed: text.is_some(),
                text: text.unwrap_or_else(|| part.value.text().to_owned()),
            });
        }
        let mut parts = Vec::new();
        for part in slot {
            match (part.path.is_empty(), part.value.kind()) {
                (true, Kind::InitializerList) => parts.extend(parts_of(part.value)),
                (true, _) => return None,
                (false, _) => parts.push(part.clone()),
            }
        }
        let ordered = self.ordered(&parts, ty)?;
        Some(Ordered {
            text: ordered.text,
            is_changed: true,
        })
    }
}

pub(super) fn parts_of(list: Node<'_>) -> Vec<Part<'_>> {
    let parts = list
        .children()
        .filter(|part| part.is_named() && part.kind() != Kind::Comment);
    parts
        .filter_map(|part| match part.kind() {
            Kind::InitializerPair => Some(Part {
                path: part.fields(Field::Designator),
                value: part.field(Field::Value)?,
            }),
            _ => Some(Part {
                path: Vec::new(),
                value: part,
            }),
        })
        .collect()
}

/// Puts a part where its first designator leads. A whole value takes the place of what is there.
fn put<'t>(slot: &mut Vec<Part<'t>>, part: &Part<'t>) {
    let path = part.path.get(1..).unwrap_or_default().to_vec();
    if path.is_empty() {
        slot.clear();
    }
    slot.push(Part {
        path,
        value: part.value,
    });
}
