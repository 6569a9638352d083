//! Tasks of device code: what they have copies of without a clause.

use rex_syntax::TextRange;
use rex_syntax::kind::Kind;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;

use super::Builder;
use crate::region::{Construct, ConstructId, DataSharing, SharingAttribute};
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::TypeKind;

impl Builder<'_> {
    /// Adds the implicit copies that tasks may change. Tasks are done at once, so that nobody sees the others.
    pub(super) fn share_in_tasks(&mut self) {
        let tasks: Vec<ConstructId> = self
            .constructs
            .iter()
            .filter(|(_, construct)| {
                matches!(construct.leaves.first(), Some(Leaf::Task | Leaf::Taskloop))
            })
            .map(|(id, _)| id)
            .collect();
        for task in tasks {
            let added = self.implicit_copies(task);
            self.constructs[task].sharing.extend(added);
        }
    }

    fn implicit_copies(&self, task: ConstructId) -> Vec<DataSharing> {
        let construct = &self.constructs[task];
        let Some(statement) = construct.statement else {
            return Vec::new();
        };
        let default = self.default_clause(construct).map(|(word, _)| word);
        let mut copies: Vec<DataSharing> = Vec::new();
        if matches!(default, Some("shared" | "none")) {
            return copies;
        }
        let root = self.unit.tree.root().smallest_at(statement);
        for node in root.descendants() {
            if node.kind() != Kind::Identifier || !statement.contains_range(node.range()) {
                continue;
            }
            let Some(symbol) = self
                .scopes
                .resolve(&self.symbols, node.text(), node.range())
            else {
                continue;
            };
            let is_known = |sharing: &DataSharing| sharing.symbol == symbol;
            let is_array = matches!(
                self.types
                    .get(self.types.desugar(self.symbols[symbol].ty))
                    .kind,
                TypeKind::Array { .. }
            );
            let is_passed = is_array
                && node
                    .parent()
                    .is_some_and(|parent| parent.kind() == Kind::ArgumentList);
            if !self.is_automatic(symbol)
                || self.is_declared_in(symbol, construct.range)
                || construct.sharing.iter().any(is_known)
                || copies.iter().any(is_known)
                || !(self.is_written(node) || is_passed)
                || self.types.is_variably_modified(self.symbols[symbol].ty)
            {
                continue;
            }
            let attribute = match default {
                Some("private") => SharingAttribute::Private,
                Some("firstprivate") => SharingAttribute::Firstprivate,
                _ if self.is_private_around(symbol, task) => SharingAttribute::Firstprivate,
                _ => continue,
            };
            copies.push(DataSharing {
                symbol,
                attribute,
                on: Leaf::Task,
                is_on_target: false,
                at: node.range(),
            });
        }
        copies
    }

    /// The word of the `default` clause of a construct, and the clause.
    pub(super) fn default_clause(&self, construct: &Construct) -> Option<(&str, TextRange)> {
        let mut directives = construct.directives.iter();
        let clause =
            directives.find_map(|idx| self.unit.directives[*idx].clause(ClauseName::Default))?;
        let word = clause.modifiers().first()?.word;
        Some((self.text(word), clause.range))
    }

    fn is_automatic(&self, symbol: SymbolId) -> bool {
        matches!(
            self.symbols[symbol].kind,
            SymbolKind::Local | SymbolKind::Parameter
        )
    }

    fn is_declared_in(&self, symbol: SymbolId, range: TextRange) -> bool {
        let declared = self.symbols[symbol].declared_at;
        declared.is_some_and(|declared| range.contains_range(declared))
    }

    /// Whether each thread around a construct has a variable of its own.
    fn is_private_around(&self, symbol: SymbolId, construct: ConstructId) -> bool {
        let mut around = self.constructs[construct].parent;
        while let Some(id) = around {
            let outer = &self.constructs[id];
            if self.is_declared_in(symbol, outer.range) {
                return true;
            }
            let listed = outer
                .sharing
                .iter()
                .rfind(|sharing| sharing.symbol == symbol);
            match listed.map(|sharing| &sharing.attribute) {
                Some(SharingAttribute::Shared) => return false,
                Some(_) => return true,
                None => {}
            }
            if outer.has(Leaf::Parallel) || outer.has(Leaf::Teams) {
                let default = self.default_clause(outer).map(|(word, _)| word);
                return matches!(default, Some("private" | "firstprivate"));
            }
            if outer.has(Leaf::Target) {
                return true;
            }
            around = outer.parent;
        }
        // A device function's own variables.
        true
    }
}
