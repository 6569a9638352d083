//! `default(none)` of constructs inside target regions: each variable that they use must have a clause.
//!
//! The host compiler never sees these constructs.

use indexmap::IndexMap;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::lex;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Builder;
use super::qualified::qualified_around;
use crate::places::constructs_around;
use crate::region::{Construct, ConstructId, SharingAttribute};
use crate::symbol::{SymbolId, SymbolKind};

impl Builder<'_> {
    /// Reports variables that constructs with `default(none)` inside target regions use without a clause.
    pub(super) fn check_undetermined(&mut self) {
        let asking: FxHashMap<ConstructId, TextRange> = self
            .constructs
            .iter()
            .filter(|(_, it)| !it.has(Leaf::Target) && it.unread.is_empty())
            .filter_map(|(id, construct)| {
                let (word, clause) = self.default_clause(construct)?;
                (word == "none").then_some((id, clause))
            })
            .filter(|(id, _)| self.enclosing_target(self.constructs[*id].range))
            .collect();
        if asking.is_empty() {
            return;
        }
        let private = self.private_storage();
        let mut found: IndexMap<(ConstructId, SymbolId), TextRange> = IndexMap::new();
        let mut end = TextSize::default();
        for (id, construct) in self.constructs.iter() {
            let Some(statement) = construct.statement.filter(|_| asking.contains_key(&id)) else {
                continue;
            };
            // What an outer one holds has been read with it.
            if statement.start() < end {
                continue;
            }
            end = statement.end();
            for (symbol, at) in self.evaluated_variables(statement, &private) {
                for id in self.constructs_without(symbol, at) {
                    if asking.contains_key(&id) {
                        found.entry((id, symbol)).or_insert(at);
                    }
                }
            }
        }
        for ((id, symbol), at) in found {
            let help = help_of_default(&self.symbols[symbol].name);
            let diagnostic = self.undetermined(symbol, at, asking[&id], "construct");
            self.diagnostics.push(diagnostic.with_help(help));
        }
    }

    /// A variable that no clause determines, though one asks for that.
    pub(super) fn undetermined(
        &self,
        symbol: SymbolId,
        at: TextRange,
        clause: TextRange,
        place: &str,
    ) -> Diagnostic {
        let name = &self.symbols[symbol].name;
        let headline = format!("no clause says what `{name}` is in this {place}");
        let asking = self.text(clause).trim();
        Diagnostic::new(Code::UndeterminedVariable, self.at(at), headline)
            .with_secondary(self.at(clause), format!("`{asking}` asks for one"))
    }

    /// Where a statement names variables whose attribute a clause must say, as nothing else does.
    fn evaluated_variables(
        &self,
        statement: TextRange,
        private: &FxHashSet<&str>,
    ) -> Vec<(SymbolId, TextRange)> {
        let root = self.unit.tree.root().smallest_at(statement);
        let names = root.descendants().filter(|node| {
            node.kind() == Kind::Identifier
                && statement.contains_range(node.range())
                && qualified_around(*node).is_none()
        });
        names
            .filter_map(|node| {
                let at = node.range();
                let symbol = self.scopes.resolve(&self.symbols, node.text(), at)?;
                let found = &self.symbols[symbol];
                let element = self.types.get(self.types.innermost_element(found.ty));
                // In C++ its value is used, not the variable, for most that one does with it.
                let is_value = self.unit.language == Language::Cxx && element.is_const;
                let needs_clause = found.kind.is_variable()
                    && found.kind != SymbolKind::StaticField
                    && !is_value
                    && !private.contains(found.name.as_str());
                (needs_clause && is_evaluated(node, statement)).then_some((symbol, at))
            })
            .collect()
    }

    /// The constructs around a name that no clause of theirs names the variable in, up to the one that makes a copy of it, or that it is declared in.
    fn constructs_without(&self, symbol: SymbolId, at: TextRange) -> Vec<ConstructId> {
        let found = &self.symbols[symbol];
        let is_inside = |construct: &Construct| {
            let declared = found.declared_at;
            declared.is_some_and(|declared| construct.range.contains_range(declared))
        };
        let mut without = Vec::new();
        for (id, construct) in constructs_around(&self.constructs, at) {
            if construct.has(Leaf::Target) || is_inside(construct) {
                break;
            }
            let mut sharing = construct.sharing.iter();
            let listed = sharing.find(|sharing| sharing.symbol == symbol);
            match listed.map(|sharing| &sharing.attribute) {
                None if self.is_event_of(&found.name, construct) => break,
                None => without.push(id),
                Some(SharingAttribute::Shared | SharingAttribute::Firstprivate) => {}
                Some(_) => break,
            }
        }
        without
    }

    /// The variables that each thread or each team has: `threadprivate`, `groupprivate`.
    fn private_storage(&self) -> FxHashSet<&str> {
        let lists = self.unit.directives.iter().filter(|directive| {
            let first = directive.first();
            matches!(first, Some(Leaf::Threadprivate | Leaf::Groupprivate))
        });
        let lists = lists.filter_map(|directive| directive.argument);
        lists
            .flat_map(|list| lex::identifiers(self.source, list))
            .map(|at| self.text(at))
            .collect()
    }

    /// Whether it is the event of a task with `detach`, which the task has a copy of.
    fn is_event_of(&self, name: &str, construct: &Construct) -> bool {
        let directives = construct.directives.iter();
        let mut events = directives
            .filter_map(|idx| self.unit.directives[*idx].clause(ClauseName::Detach))
            .filter_map(|clause| clause.expression());
        events.any(|event| self.text(event).trim() == name)
    }
}

/// What to write for a variable that `default(none)` asks for.
pub(super) fn help_of_default(name: &str) -> String {
    format!("add `shared({name})`, `firstprivate({name})` or `private({name})`")
}

/// Whether an expression in a range is evaluated: it is no operand of `sizeof` and its like.
pub(super) fn is_evaluated(node: Node<'_>, within: TextRange) -> bool {
    let mut around = node
        .ancestors()
        .take_while(|outer| within.contains_range(outer.range()));
    !around.any(|outer| {
        matches!(
            outer.kind(),
            Kind::SizeofExpression | Kind::AlignofExpression | Kind::Decltype | Kind::Noexcept
        )
    })
}
