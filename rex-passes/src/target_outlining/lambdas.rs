//! Lambdas in device code that name objects which live elsewhere than on the host.

use rex_ir::capture_lists::{self, Listing};
use rex_ir::item::DeviceStorage;
use rex_ir::kernel::Prologue;
use rex_ir::region::{CapturedObject, Construct, SharingAttribute};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::TypeKind;
use rex_syntax::TextRange;

use super::plan::Planner;
use super::{Shape, Words};

impl Planner<'_> {
    /// Notes which captured variables of the region the team has in shared memory.
    pub(super) fn note_team_objects(&mut self, prologue: &[Prologue]) {
        let Some(region) = self.region() else { return };
        let construct = &self.program.constructs[region.construct];
        for capture in &region.captures {
            let CapturedObject::Variable(symbol) = capture.object else {
                continue;
            };
            let name = self.program.name(symbol);
            let is_shared = prologue
                .iter()
                .any(|line| line.is_shared() && line.object() == Some(name));
            if is_shared || (self.shape == Shape::Team && has_result(construct, symbol)) {
                self.team_objects.insert(symbol);
            }
        }
    }

    /// What capture lists in a range become, in order.
    pub(super) fn capture_lists(&self, range: TextRange) -> Words {
        let uses = self.region().map_or(Vec::new(), |region| {
            capture_lists::uses_with_qualifiers(&region.qualified_uses, &region.qualified_calls)
        });
        let mut edits = capture_lists::edits(self.program, range, &uses, &|symbol, lambda| {
            self.listing(symbol, lambda)
        });
        edits.sort_by_key(|(at, _)| at.start());
        edits
    }

    fn listing(&self, symbol: SymbolId, lambda: TextRange) -> Option<Listing> {
        let program = self.program;
        let types = &program.types;
        let found = &program.symbols[symbol];
        if found.kind.is_variable() && !found.kind.is_automatic() {
            // The kernel's own variable, or a reference.
            let is_captured = self.region().is_some_and(|region| {
                let mut captures = region.captures.iter();
                captures.any(|capture| capture.object == CapturedObject::Variable(symbol))
            });
            let is_reference = || {
                let storage = program.device_storage(symbol);
                storage.is_some_and(DeviceStorage::needs_reference)
            };
            return (is_captured || is_reference()).then_some(Listing::NotCaptured);
        }
        let is_object = matches!(found.kind, SymbolKind::Local | SymbolKind::Parameter)
            && !types.is_variably_modified(found.ty);
        let is_of_team = || {
            self.copied_around(symbol, lambda)
                .unwrap_or_else(|| self.team_objects.contains(&symbol))
        };
        (is_object && is_of_team()).then(|| {
            let ty = types.desugar(types.object_type(found.ty));
            match types.get(ty).kind {
                TypeKind::Array { .. } => Listing::CopiedArray,
                _ => Listing::Copied,
            }
        })
    }

    /// Whether the team has the copy of a variable that the innermost construct around a lambda makes, if any inside the region does.
    fn copied_around(&self, symbol: SymbolId, lambda: TextRange) -> Option<bool> {
        let program = self.program;
        let declared = program.symbols[symbol].declared_at;
        let region = self.region().map(|region| region.construct);
        let around: Vec<&Construct> = program
            .constructs
            .iter()
            .filter(|(id, construct)| {
                let is_outside = declared.is_none_or(|at| !construct.range.contains_range(at));
                Some(*id) != region && is_outside && construct.range.contains_range(lambda)
            })
            .map(|(_, construct)| construct)
            .collect();
        let innermost = around
            .iter()
            .filter(|construct| construct.private_on(symbol).is_some())
            .max_by_key(|construct| construct.range.start())?;
        let mut outer = around
            .iter()
            .filter(|construct| construct.range.contains_range(innermost.range));
        Some(!self.iterates(innermost, symbol) && !outer.any(|construct| construct.forks()))
    }
}

/// Whether a construct combines or keeps the values of its copies of a variable.
fn has_result(construct: &Construct, symbol: SymbolId) -> bool {
    construct.sharing.iter().any(|sharing| {
        sharing.symbol == symbol
            && matches!(
                sharing.attribute,
                SharingAttribute::Reduction { .. } | SharingAttribute::Lastprivate
            )
    })
}
