//! `default(none)` of constructs inside target regions: each variable that they use must have a clause.
//!
//! The host compiler never sees these constructs.

use indexmap::IndexMap;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::lex;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;

use super::Builder;
use super::qualified::qualified_around;
use crate::places::constructs_around;
use crate::region::{Construct, ConstructId, SharingAttribute};
use crate::symbol::{SymbolId, SymbolKind};

impl Builder<'_> {
    /// Reports variables that constructs with `default(none)` inside target regions use without a clause.
    pub(super) fn check_undetermined(&mut self) {
        let mut found = Vec::new();
        for (id, construct) in self.constructs.iter() {
            let is_inside = !construct.has(Leaf::Target) && construct.unread.is_empty();
            let Some(clause) = self.default_none(construct).filter(|_| is_inside) else {
                continue;
            };
            if self.enclosing_target(construct.range) {
                let names = self.undetermined_in(id);
                found.extend(names.into_iter().map(|(symbol, at)| {
                    self.undetermined(symbol, at, clause, "construct")
                        .with_help(help_of_default(&self.symbols[symbol].name))
                }));
            }
        }
        for diagnostic in found {
            self.diagnostics.push(diagnostic);
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

    fn default_none(&self, construct: &Construct) -> Option<TextRange> {
        let directives = construct.directives.iter();
        let mut clauses =
            directives.filter_map(|idx| self.unit.directives[*idx].clause(ClauseName::Default));
        let clause = clauses.next()?;
        let word = clause.modifiers().first()?.word;
        (self.text(word) == "none").then_some(clause.range)
    }

    /// The variables from outside that a construct uses and that none of its clauses names, where it does so first.
    fn undetermined_in(&self, id: ConstructId) -> IndexMap<SymbolId, TextRange> {
        let construct = &self.constructs[id];
        let mut found = IndexMap::new();
        let Some(statement) = construct.statement else {
            return found;
        };
        let root = self.unit.tree.root().smallest_at(statement);
        let names = root.descendants().filter(|node| {
            node.kind() == Kind::Identifier
                && statement.contains_range(node.range())
                && qualified_around(*node).is_none()
        });
        for node in names {
            let at = node.range();
            let symbol = self.scopes.resolve(&self.symbols, node.text(), at);
            if let Some(symbol) = symbol
                && !found.contains_key(&symbol)
                && self.needs_clause(symbol, construct)
                && is_evaluated(node, statement)
                && !self.is_copy_inside(symbol, at, id)
            {
                found.insert(symbol, at);
            }
        }
        found
    }

    /// Whether nothing but a clause says what a variable is in a construct.
    fn needs_clause(&self, symbol: SymbolId, construct: &Construct) -> bool {
        let found = &self.symbols[symbol];
        let is_shared_always = found.kind == SymbolKind::StaticField;
        let is_inside = found
            .declared_at
            .is_some_and(|declared| construct.range.contains_range(declared));
        let mut sharing = construct.sharing.iter();
        let is_listed = sharing.any(|sharing| sharing.symbol == symbol);
        // In C++ its value is used, not the variable, for most that one does with it.
        let element = self.types.get(self.types.innermost_element(found.ty));
        let is_value = self.unit.language == Language::Cxx && element.is_const;
        found.kind.is_variable()
            && !is_shared_always
            && !is_inside
            && !is_listed
            && !is_value
            && !self.is_private_storage(&found.name)
            && !self.is_event_of(&found.name, construct)
    }

    /// Whether each thread or each team has a variable of this name: `threadprivate`, `groupprivate`.
    fn is_private_storage(&self, name: &str) -> bool {
        let lists = self.unit.directives.iter().filter(|directive| {
            let first = directive.first();
            matches!(first, Some(Leaf::Threadprivate | Leaf::Groupprivate))
        });
        let mut arguments = lists.filter_map(|directive| directive.argument);
        arguments.any(|list| lex::identifiers(self.source, list).any(|at| self.text(at) == name))
    }

    /// Whether it is the event of a task with `detach`, which the task has a copy of.
    fn is_event_of(&self, name: &str, construct: &Construct) -> bool {
        let directives = construct.directives.iter();
        let mut events = directives
            .filter_map(|idx| self.unit.directives[*idx].clause(ClauseName::Detach))
            .filter_map(|clause| clause.expression());
        events.any(|event| self.text(event).trim() == name)
    }

    /// Whether a name is of a copy that a construct further in makes, without the value of the original.
    fn is_copy_inside(&self, symbol: SymbolId, at: TextRange, construct: ConstructId) -> bool {
        constructs_around(&self.constructs, at)
            .take_while(|(id, _)| *id != construct)
            .flat_map(|(_, inner)| &inner.sharing)
            .any(|sharing| {
                let is_shared = matches!(
                    sharing.attribute,
                    SharingAttribute::Shared | SharingAttribute::Firstprivate
                );
                sharing.symbol == symbol && !is_shared
            })
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
