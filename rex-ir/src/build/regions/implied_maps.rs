//! Map items that other clauses and uses of members stand for.

use indexmap::IndexMap;
use rex_syntax::TextRange;
use rex_syntax::lex;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;
use smol_str::SmolStr;

use super::members::member_of_this;
use super::uses::Uses;
use crate::build::Builder;
use crate::map::{MapItem, MapKind, MapModifiers, PathStep, StepKind};
use crate::region::{CapturedObject, ConstructId};

impl Builder<'_> {
    /// Members that a region uses are mapped along with those that its clauses map.
    pub(super) fn add_used_members(
        &mut self,
        statement: TextRange,
        uses: &Uses,
        maps: &mut Vec<MapItem>,
    ) {
        let member = |step: Option<&PathStep>| match &step?.kind {
            StepKind::Member(name) => Some(name.clone()),
            _ => None,
        };
        // A member of the object, and the member of that one, if only that is mapped.
        let of_this: Vec<(Option<SmolStr>, Option<SmolStr>)> = maps
            .iter()
            .filter(|item| item.root == CapturedObject::This && !item.steps.is_empty())
            .map(|item| (member(item.steps.get(1)), member(item.steps.get(2))))
            .collect();
        let maps_object = of_this.iter().any(|(member, _)| member.is_none());
        if of_this.is_empty() || maps_object {
            return;
        }
        let Some(root_ty) = maps
            .iter()
            .find(|item| item.root == CapturedObject::This)
            .map(|item| item.root_ty)
        else {
            return;
        };
        let Some(class) = self.types.element(root_ty) else {
            return;
        };
        let mut used: IndexMap<SmolStr, TextRange> = IndexMap::new();
        let mut whole = None;
        let mut members: Vec<TextRange> = uses.member_uses.clone();
        for at in uses.this_uses.iter().copied() {
            match member_of_this(self.source, at) {
                Some(member) => members.push(member),
                None => whole = Some(at),
            }
        }
        for at in members {
            let name = SmolStr::from(self.text(at));
            let inner = inner_member(self.source, at).map(|inner| self.text(inner));
            let is_mapped = of_this.iter().any(|(member, part)| {
                member.as_ref() == Some(&name)
                    && part
                        .as_ref()
                        .is_none_or(|part| Some(part.as_str()) == inner)
            });
            if !is_mapped && statement.contains_range(at) {
                used.entry(name).or_insert(at);
            }
        }
        let object = PathStep {
            kind: StepKind::Deref,
            ty: class,
            follows_pointer: true,
        };
        let item = |at: TextRange, steps: Vec<PathStep>| MapItem {
            at,
            kind: MapKind::Tofrom,
            modifiers: MapModifiers::empty(),
            mapper: None,
            iterators: Vec::new(),
            root: CapturedObject::This,
            root_ty,
            steps,
        };
        for (name, at) in used {
            let is_static = self
                .types
                .field(class, &name)
                .is_some_and(|field| field.is_static);
            match self.member_type(class, &name) {
                Some(_) if is_static => {}
                Some(ty) => {
                    let member = PathStep {
                        kind: StepKind::Member(name),
                        ty,
                        follows_pointer: false,
                    };
                    maps.push(item(at, vec![object.clone(), member]));
                }
                // A member function may use every member.
                None => whole = Some(at),
            }
        }
        if let Some(at) = whole {
            maps.push(item(at, vec![object]));
        }
    }

    /// A reduction over a section maps that section.
    pub(super) fn add_reduction_sections(
        &mut self,
        construct: ConstructId,
        maps: &mut Vec<MapItem>,
    ) {
        let unit = self.unit;
        for idx in self.constructs[construct].directives.clone() {
            if !unit.directives[idx].has(Leaf::Target) {
                continue;
            }
            let reductions = unit.directives[idx].clauses.iter().filter(|clause| {
                matches!(clause.name, ClauseName::Reduction | ClauseName::InReduction)
            });
            for clause in reductions {
                for item in clause.items() {
                    let Some((root, root_ty, steps)) =
                        self.read_item_path(&item.locator, item.range)
                    else {
                        continue;
                    };
                    if !steps.is_empty() && !maps.iter().any(|map| map.root == root) {
                        maps.push(MapItem {
                            at: item.range,
                            kind: MapKind::Tofrom,
                            modifiers: MapModifiers::empty(),
                            mapper: None,
                            iterators: Vec::new(),
                            root,
                            root_ty,
                            steps,
                        });
                    }
                }
            }
        }
    }
}

/// `n` of `s.n`, given `s`.
fn inner_member(source: &str, outer: TextRange) -> Option<TextRange> {
    let rest = TextRange::new(outer.end(), rex_syntax::TextSize::of(source));
    let mut tokens = lex::significant_tokens(source, rest);
    (tokens.next()?.text(source) == ".").then_some(tokens.next()?.range)
}
