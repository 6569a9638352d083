//! Structs without a mapper that hold members with one: each member is mapped by itself.

use rex_ir::ty::{Field, RecordId, TypeId};
use rex_syntax::diag::{Code, Diagnostic};

use super::Builder;
use super::pieces::{Piece, Step, StepValue};

/// Deeper structs hold no mapped members.
const MAX_DEPTH: u32 = 32;

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
        self.holds_mapped(record, piece, 0)
            .then(|| self.members(record, 0))
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

    /// The data members of a class and of its bases.
    fn members(&self, record: RecordId, depth: u32) -> Vec<Field> {
        let mut members = Vec::new();
        if depth > MAX_DEPTH {
            return members;
        }
        for base in self.bases(record) {
            members.extend(self.members(base, depth + 1));
        }
        let own = &self.program.types.records[record].fields;
        members.extend(own.iter().filter(|field| !field.is_static).cloned());
        members
    }

    fn bases(&self, record: RecordId) -> Vec<RecordId> {
        let records = &self.program.types.records;
        let named = |name: &str| {
            let mut all = records.iter();
            all.find(|(_, known)| known.name == name).map(|(id, _)| id)
        };
        let bases = records[record].bases.iter();
        bases
            .filter_map(|base| named(base.rsplit("::").next().unwrap_or(base)))
            .collect()
    }

    fn holds_mapped(&self, record: RecordId, piece: &Piece, depth: u32) -> bool {
        let is_mapped = |field: &Field| {
            let has_mapper = self.program.default_mapper(field.ty, piece.at) != Ok(None);
            let holds = |inner| depth < MAX_DEPTH && self.holds_mapped(inner, piece, depth + 1);
            has_mapper || self.record_of(field.ty).is_some_and(holds)
        };
        self.members(record, 0).iter().any(is_mapped)
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
