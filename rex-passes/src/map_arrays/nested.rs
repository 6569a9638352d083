//! Structs without a mapper that hold members with one: each member is mapped by itself.

use std::collections::BTreeSet;

use rex_ir::ty::{Field, RecordId, TypeId};
use rex_syntax::diag::{Code, Diagnostic};

use super::Builder;
use super::pieces::{Piece, Step, StepValue};

impl Builder<'_> {
    /// The members of a piece's type, if the mapper of one of them decides how that is mapped.
    ///
    /// # Source
    /// OpenMP 5.2, section 5.8.8: the predefined mapper of a struct maps each member by the mapper of its type. clang does so since 17.
    pub(super) fn mapped_members(&self, piece: &Piece) -> Option<Vec<Field>> {
        if self.program.mappers.is_empty() {
            return None;
        }
        let record = self.record_of(piece.ty())?;
        self.holds_mapped(record, piece, &mut BTreeSet::new())
            .then(|| self.members(record))
    }

    /// Writes out the members of a struct.
    pub(super) fn expand_members(
        &mut self,
        piece: Piece,
        members: Vec<Field>,
        inside: &mut Vec<usize>,
        out: &mut Vec<Piece>,
    ) {
        let element = self.element(piece, out);
        for field in members {
            if field.is_bit_field {
                self.report_bit_field(&element, &field);
                continue;
            }
            let mut inner = element.clone();
            inner.name = format!("{}.{}", element.name, field.name).into();
            inner.steps.push(Step {
                kind: StepValue::Member(field.name.clone()),
                ty: field.ty,
                follows_pointer: false,
            });
            if self.program.types.is_reference(field.ty) {
                // What it refers to is another object.
                out.push(inner);
                continue;
            }
            let mapper = self.default_mapper(field.ty, inner.at);
            self.expand(inner, mapper, inside, out);
        }
    }

    fn record_of(&self, ty: TypeId) -> Option<RecordId> {
        let types = &self.program.types;
        let element = types.innermost_element(ty);
        let is_union = types.spell(element).starts_with("union");
        types.record(element).filter(|_| !is_union)
    }

    /// The data members of a class and of its bases, those of bases first.
    fn members(&self, record: RecordId) -> Vec<Field> {
        let mut members = Vec::new();
        self.add_members(record, &mut BTreeSet::new(), &mut members);
        members
    }

    fn add_members(&self, record: RecordId, seen: &mut BTreeSet<RecordId>, out: &mut Vec<Field>) {
        if !seen.insert(record) {
            return;
        }
        let class = &self.program.types.records[record];
        // Of several classes with the name of a base, one is mapped.
        for base in class.bases.iter().filter_map(|it| it.classes.first()) {
            self.add_members(*base, seen, out);
        }
        let own = &class.fields;
        out.extend(own.iter().filter(|field| !field.is_static).cloned());
    }

    /// Whether a mapper decides how a part of a class is mapped. What members of reference type refer to is no part.
    fn holds_mapped(&self, record: RecordId, piece: &Piece, seen: &mut BTreeSet<RecordId>) -> bool {
        let types = &self.program.types;
        if !seen.insert(record) {
            return false;
        }
        let members = self.members(record);
        let mut parts = members.iter().filter(|it| !types.is_reference(it.ty));
        parts.any(|field| {
            let inner = self.record_of(field.ty);
            self.program.default_mapper(field.ty, piece.at) != Ok(None)
                || inner.is_some_and(|inner| self.holds_mapped(inner, piece, seen))
        })
    }

    fn report_bit_field(&mut self, element: &Piece, field: &Field) {
        let diagnostic = Diagnostic::new(
            Code::MapListItem,
            self.program.at(element.at),
            format!(
                "`{}.{}` is a bit-field, which has no address",
                element.name, field.name
            ),
        )
        .with_note("another member has a mapper, so each member is mapped by itself")
        .with_help(format!(
            "declare a mapper for `{}`",
            self.program.types.spell(element.ty())
        ));
        self.problems.push(diagnostic);
    }
}
