//! Initializer lists of C with designators of members without a name, or with braces left out behind designators: as lists of C++ with all braces, by position.
//!
//! C 6.7.10: each value is for the current object, which designators choose and which else follows the one before.

use std::collections::BTreeMap;

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::designators::{MAX_ELEMENTS, Part, parts_of};
use crate::ty::{Category, Extent, Meaning, RecordId, TypeId, TypeKind};

/// What an object is made of.
enum Shape {
    Scalar,
    Array {
        element: TypeId,
        length: Option<usize>,
    },
    Members {
        members: Vec<(Option<SmolStr>, TypeId)>,
        is_union: bool,
    },
}

/// The values of an object's parts.
#[derive(Clone, Default)]
struct Values<'t> {
    value: Option<Node<'t>>,
    parts: BTreeMap<usize, Values<'t>>,
}

impl<'t> Values<'t> {
    /// The values of a part; `None` inside of what has one value, such as the characters of a string.
    fn at(&mut self, path: &[usize]) -> Option<&mut Values<'t>> {
        let mut inner = self;
        for idx in path {
            if inner.value.is_some() {
                return None;
            }
            inner = inner.parts.entry(*idx).or_default();
        }
        Some(inner)
    }
}

impl<'u> Builder<'u> {
    /// A list with all braces; `None` where what a value is for is not known.
    pub(super) fn braced(&mut self, list: Node<'u>, ty: TypeId) -> Option<String> {
        let mut values = Values::default();
        self.fill(&mut values, list, ty)?;
        self.print(&values, ty)
    }

    /// Whether a list with designators is for a class that has members without a name.
    pub(super) fn designates_unnamed(&mut self, list: Node<'u>, ty: TypeId) -> bool {
        has_designators(list)
            && match self.shape(ty) {
                Shape::Members { members, .. } => members.iter().any(|(name, _)| name.is_none()),
                Shape::Array { .. } | Shape::Scalar => false,
            }
    }

    fn fill(&mut self, values: &mut Values<'u>, list: Node<'u>, ty: TypeId) -> Option<()> {
        let mut next = vec![0];
        for part in parts_of(list) {
            let spans = match part.path.is_empty() {
                true => next.into_iter().map(|idx| (idx, idx)).collect(),
                false => self.designated(&part, ty)?,
            };
            let mut path: Vec<usize> = spans.iter().map(|(_, last)| *last).collect();
            let mut object = self.object_at(ty, &path)?;
            let is_list = part.value.kind() == Kind::InitializerList;
            while !is_list && self.is_entered(part.value, object)? {
                path.push(0);
                object = self.object_at(ty, &path)?;
            }
            let mut inner = Values::default();
            match is_list && !matches!(self.shape(object), Shape::Scalar) {
                true => self.fill(&mut inner, part.value, object)?,
                false => inner.value = Some(part.value),
            }
            let entered = path[spans.len()..].to_vec();
            for mut object in objects_of(&spans)? {
                object.extend(&entered);
                self.forget_others(values, ty, &object)?;
                *values.at(&object)? = inner.clone();
            }
            next = self.behind(ty, path);
        }
        Some(())
    }

    /// A union has one value.
    fn forget_others(&mut self, values: &mut Values<'u>, ty: TypeId, path: &[usize]) -> Option<()> {
        for depth in 0..path.len() {
            let object = self.object_at(ty, &path[..depth]);
            let shape = object.map(|object| self.shape(object));
            if matches!(shape, Some(Shape::Members { is_union: true, .. })) {
                let parts = &mut values.at(&path[..depth])?.parts;
                parts.retain(|idx, _| *idx == path[depth]);
            }
        }
        Some(())
    }

    /// The object behind one that got a value.
    fn behind(&mut self, ty: TypeId, mut path: Vec<usize>) -> Vec<usize> {
        while let Some(last) = path.pop() {
            let length = match self.object_at(ty, &path).map(|object| self.shape(object)) {
                Some(Shape::Members { is_union: true, .. }) => 0,
                Some(Shape::Members { members, .. }) => members.len(),
                Some(Shape::Array { length, .. }) => length.unwrap_or(MAX_ELEMENTS),
                _ => 0,
            };
            if last + 1 < length {
                path.push(last + 1);
                break;
            }
        }
        path
    }

    /// Whether a value is for the first part of an object rather than for the whole.
    fn is_entered(&mut self, value: Node<'u>, object: TypeId) -> Option<bool> {
        match self.shape(object) {
            Shape::Scalar => Some(false),
            Shape::Array { .. } => Some(!matches!(
                value.kind(),
                Kind::StringLiteral | Kind::ConcatenatedString
            )),
            Shape::Members { .. } => {
                let is_plain = matches!(value.kind(), Kind::NumberLiteral | Kind::CharLiteral);
                match self.expression_type(value, value.range(), 0) {
                    Some(found) => Some(self.types.category(found) != Category::Aggregate),
                    None if is_plain => Some(true),
                    None => None,
                }
            }
        }
    }

    /// What designators name: on each level, the first and the last element or member.
    fn designated(&mut self, part: &Part<'u>, ty: TypeId) -> Option<Vec<(usize, usize)>> {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for designator in &part.path {
            let path: Vec<usize> = spans.iter().map(|(first, _)| *first).collect();
            let object = self.object_at(ty, &path)?;
            match self.shape(object) {
                Shape::Array { .. } => {
                    let (first, last) = self.designated_elements(*designator)?;
                    if last >= MAX_ELEMENTS || last < first {
                        return None;
                    }
                    spans.push((first, last));
                }
                Shape::Members { .. } => {
                    let name = designator.text().trim_start_matches('.').trim();
                    let path = self.path_of_member(object, name)?;
                    spans.extend(path.into_iter().map(|idx| (idx, idx)));
                }
                Shape::Scalar => return None,
            }
        }
        Some(spans)
    }

    fn path_of_member(&mut self, ty: TypeId, name: &str) -> Option<Vec<usize>> {
        let Shape::Members { members, .. } = self.shape(ty) else {
            return None;
        };
        let is_named = |(found, _): &(Option<SmolStr>, TypeId)| found.as_deref() == Some(name);
        if let Some(idx) = members.iter().position(is_named) {
            return Some(vec![idx]);
        }
        members.into_iter().enumerate().find_map(|(idx, member)| {
            let (None, ty) = member else { return None };
            let mut path = vec![idx];
            path.extend(self.path_of_member(ty, name)?);
            Some(path)
        })
    }

    fn object_at(&mut self, ty: TypeId, path: &[usize]) -> Option<TypeId> {
        let mut object = ty;
        for idx in path {
            object = match self.shape(object) {
                Shape::Array { element, .. } => element,
                Shape::Members { members, .. } => members.get(*idx)?.1,
                Shape::Scalar => return None,
            };
        }
        Some(object)
    }

    fn shape(&mut self, ty: TypeId) -> Shape {
        match self.types.get(self.types.desugar(ty)).kind.clone() {
            TypeKind::Array { element, extent } => Shape::Array {
                element,
                length: match extent {
                    Extent::Constant(words) => self
                        .constant_in_words(&words, rex_syntax::TextRange::default())
                        .and_then(|length| usize::try_from(length).ok()),
                    Extent::Runtime(_) | Extent::Unknown => None,
                },
            },
            TypeKind::Named {
                meaning: Meaning::Record(Some(record)),
                ..
            } => Shape::Members {
                members: self.members_of(record),
                is_union: self.types.records[record].is_union,
            },
            _ => Shape::Scalar,
        }
    }

    /// The members of a class, those without a name as one each.
    fn members_of(&mut self, record: RecordId) -> Vec<(Option<SmolStr>, TypeId)> {
        let found = &self.types.records[record];
        let (fields, unnamed) = (found.fields.clone(), found.unnamed.clone());
        let mut members = Vec::new();
        let mut idx = 0;
        while let Some(field) = fields.get(idx) {
            let inner = unnamed.iter().find(|(first, _)| *first == idx);
            let inner = inner.filter(|(_, inner)| !self.types.records[*inner].fields.is_empty());
            if let Some((_, inner)) = inner {
                let ty = self.types.named("", Meaning::Record(Some(*inner)));
                members.push((None, ty));
                idx += self.types.records[*inner].fields.len();
            } else {
                members.push((Some(field.name.clone()), field.ty));
                idx += 1;
            }
        }
        members
    }

    fn print(&mut self, values: &Values<'u>, ty: TypeId) -> Option<String> {
        if let Some(value) = values.value {
            let value = match value.kind() {
                Kind::InitializerList => value.children().find(|it| it.kind() != Kind::Comment)?,
                _ => value,
            };
            if let Some(list) = self.characters(value, ty) {
                return Some(list);
            }
            return Some(match self.needs_conversion(value, ty) {
                true => format!("{}({})", self.spelled_conversion(value, ty), value.text()),
                false => value.text().to_owned(),
            });
        }
        let shape = self.shape(ty);
        let mut texts = Vec::new();
        let mut prefix = SmolStr::default();
        let end = values.parts.keys().next_back().map_or(0, |last| last + 1);
        for idx in 0..end {
            let (name, inner) = match &shape {
                Shape::Array { element, .. } => (None, *element),
                Shape::Members { members, .. } => members.get(idx)?.clone(),
                Shape::Scalar => return None,
            };
            let is_union = matches!(shape, Shape::Members { is_union: true, .. });
            match values.parts.get(&idx) {
                Some(part) => {
                    if is_union && idx > 0 {
                        prefix = format_smolstr!(".{} = ", name?);
                    }
                    texts.push(self.print(part, inner)?);
                }
                None if is_union => {}
                None => texts.push("{}".to_owned()),
            }
        }
        Some(format!("{{{prefix}{}}}", texts.join(", ")))
    }
}

/// The paths of the objects that designators name: `[0 ... 1].m[2]` names two.
fn objects_of(spans: &[(usize, usize)]) -> Option<Vec<Vec<usize>>> {
    let mut paths: Vec<Vec<usize>> = vec![Vec::new()];
    for (first, last) in spans {
        if paths.len() * (last - first + 1) > MAX_ELEMENTS {
            return None;
        }
        let extended = paths.iter().flat_map(|path| {
            (*first..=*last).map(move |idx| path.iter().copied().chain([idx]).collect())
        });
        paths = extended.collect();
    }
    Some(paths)
}

/// Whether a list has designators, or a list in it has.
pub(super) fn has_designators(list: Node<'_>) -> bool {
    let mut inside = list.descendants();
    inside.any(|node| node.kind() == Kind::InitializerPair && node.field(Field::Value).is_some())
}
