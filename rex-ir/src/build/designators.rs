//! Designated initializers of C that C++ does not take: out of order, and of array elements.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::SmolStr;

use super::Builder;
use crate::ty::{TypeId, TypeKind};

/// Arrays with more elements than this are left alone.
const MAX_ELEMENTS: usize = 4096;

impl<'u> Builder<'u> {
    /// An initializer list as C++ writes it, if that differs from what C wrote.
    ///
    /// Members come in the order of their declaration; elements by position, with `{}` for those left out. Designators of more than one step stay.
    pub(super) fn list_in_order(&mut self, list: Node<'u>, ty: TypeId) -> Option<String> {
        let parts: Vec<Node<'u>> = list
            .children()
            .filter(|part| part.is_named() && part.kind() != Kind::Comment)
            .collect();
        match self.types.get(self.types.desugar(ty)).kind.clone() {
            TypeKind::Array { element, .. } => self.elements_in_order(&parts, element),
            _ => self.members_in_order(&parts, ty),
        }
    }

    fn members_in_order(&mut self, parts: &[Node<'u>], ty: TypeId) -> Option<String> {
        let record = self.types.record(ty)?;
        let fields: Vec<(SmolStr, TypeId)> = self.types.records[record]
            .fields
            .iter()
            .map(|field| (field.name.clone(), field.ty))
            .collect();
        let mut members: Vec<(usize, String)> = Vec::new();
        let mut is_changed = false;
        for (idx, part) in parts.iter().enumerate() {
            let (position, value) = match part.kind() {
                Kind::InitializerPair => {
                    let designator = only_designator(*part)?;
                    let name = designator.text().trim_start_matches('.').trim();
                    let position = fields.iter().position(|(field, _)| field == name)?;
                    (position, part.field(Field::Value)?)
                }
                _ => (idx, *part),
            };
            let ty = fields.get(position)?.1;
            let text = match self.value_in_order(value, ty) {
                Some(text) if part.kind() == Kind::InitializerPair => {
                    format!(".{} = {text}", fields[position].0)
                }
                Some(text) => text,
                None => {
                    members.push((position, part.text().to_owned()));
                    continue;
                }
            };
            is_changed = true;
            members.push((position, text));
        }
        let positions = || members.iter().map(|(position, _)| *position);
        if !positions().is_sorted() {
            let mixes = parts
                .iter()
                .any(|part| part.kind() != Kind::InitializerPair);
            if mixes {
                return None;
            }
            members.sort_by_key(|(position, _)| *position);
            is_changed = true;
        }
        let texts: Vec<String> = members.into_iter().map(|(_, text)| text).collect();
        is_changed.then(|| format!("{{{}}}", texts.join(", ")))
    }

    fn elements_in_order(&mut self, parts: &[Node<'u>], element: TypeId) -> Option<String> {
        let mut elements: Vec<Option<String>> = Vec::new();
        let mut next = 0;
        let mut is_changed = false;
        for part in parts {
            let value = match part.kind() {
                Kind::InitializerPair => {
                    let designator = only_designator(*part)?;
                    let index = designator.children().find(|child| child.is_named())?;
                    next = usize::try_from(self.constant_value(index.range(), 0)?).ok()?;
                    is_changed = true;
                    part.field(Field::Value)?
                }
                _ => *part,
            };
            if next >= MAX_ELEMENTS {
                return None;
            }
            if elements.len() <= next {
                elements.resize(next + 1, None);
            }
            let rewritten = self.value_in_order(value, element);
            is_changed |= rewritten.is_some();
            elements[next] = Some(rewritten.unwrap_or_else(|| value.text().to_owned()));
            next += 1;
        }
        let texts: Vec<String> = elements
            .into_iter()
            .map(|text| text.unwrap_or_else(|| "{}".to_owned()))
            .collect();
        is_changed.then(|| format!("{{{}}}", texts.join(", ")))
    }

    fn value_in_order(&mut self, value: Node<'u>, ty: TypeId) -> Option<String> {
        match value.kind() {
            Kind::InitializerList => self.list_in_order(value, ty),
            _ => None,
        }
    }
}

/// The designator of a pair that has only one.
fn only_designator<'t>(pair: Node<'t>) -> Option<Node<'t>> {
    let mut designators = pair.fields(Field::Designator).into_iter();
    let first = designators.next()?;
    let is_known = matches!(
        first.kind(),
        Kind::FieldDesignator | Kind::SubscriptDesignator
    );
    (is_known && designators.next().is_none()).then_some(first)
}
