//! What the clauses of a device construct may say once: variables in lists, categories of `defaultmap`; and what two clauses must say together.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::{Directive, Leaf};
use rustc_hash::FxHashMap;

use super::Builder;
use crate::symbol::SymbolId;

/// Clauses in which a variable stands once.
const ONCE: [ClauseName; 6] = [
    ClauseName::Aligned,
    ClauseName::HasDeviceAddr,
    ClauseName::IsDevicePtr,
    ClauseName::Nontemporal,
    ClauseName::UseDeviceAddr,
    ClauseName::UseDevicePtr,
];

/// Clauses that make copies of variables.
const COPYING: [ClauseName; 7] = [
    ClauseName::Private,
    ClauseName::Firstprivate,
    ClauseName::Lastprivate,
    ClauseName::Linear,
    ClauseName::Reduction,
    ClauseName::InReduction,
    ClauseName::TaskReduction,
];

/// The categories of `defaultmap`, and what stands for them all.
const CATEGORIES: [&str; 4] = ["scalar", "aggregate", "pointer", "allocatable"];
const ALL: &str = "all";

impl Builder<'_> {
    /// Variables of a directive that its clauses list more often than they may.
    pub(super) fn listed_twice(&self, directive: &Directive) -> Vec<Diagnostic> {
        use ClauseName::{Firstprivate, InReduction, Lastprivate, Reduction, Shared};
        let distributes = directive.has(Leaf::Distribute) && !directive.has(Leaf::Parallel);
        let shares = |it: &Clause| {
            (COPYING.contains(&it.name) || it.name == Shared) && it.applies_to.is_none()
        };
        let reduces = |name| matches!(name, Reduction | InReduction);
        let mut found = self.listed_again(directive, shares, |first, second| {
            reduces(first)
                || reduces(second)
                || distributes
                    && [(Firstprivate, Lastprivate), (Lastprivate, Firstprivate)]
                        .contains(&(first, second))
        });
        for name in ONCE {
            found.extend(self.listed_again(directive, |it| it.name == name, |_, _| true));
        }
        if directive.has(Leaf::TargetUpdate) {
            found.extend(self.updated_twice(directive));
        }
        found
    }

    /// Variables that clauses of a kind list again, where the first clause and the next clash.
    fn listed_again(
        &self,
        directive: &Directive,
        is_of_kind: impl Fn(&Clause) -> bool,
        clash: impl Fn(ClauseName, ClauseName) -> bool,
    ) -> Vec<Diagnostic> {
        let mut listed: FxHashMap<SymbolId, (TextRange, ClauseName)> = FxHashMap::default();
        let mut found = Vec::new();
        for clause in directive.clauses.iter().filter(|it| is_of_kind(it)) {
            for (root, symbol) in self.variables_of(clause) {
                let (first, name) = *listed.entry(symbol).or_insert((root, clause.name));
                if first != root && clash(name, clause.name) {
                    found.push(self.second_listing(root, first, symbol));
                }
            }
        }
        found
    }

    fn second_listing(&self, at: TextRange, first: TextRange, symbol: SymbolId) -> Diagnostic {
        let name = &self.symbols[symbol].name;
        let headline = format!("`{name}` is listed twice");
        Diagnostic::new(Code::SharingConflict, self.at(at), headline)
            .with_secondary(self.at(first), "listed here")
            .with_help(format!("name `{name}` in one of the clauses, once"))
    }

    /// Items of `target update` that are copied in both directions, or twice.
    fn updated_twice(&self, directive: &Directive) -> Vec<Diagnostic> {
        let mut listed: FxHashMap<String, TextRange> = FxHashMap::default();
        let mut found = Vec::new();
        let clauses = directive.clauses.iter();
        let motions = clauses.filter(|it| matches!(it.name, ClauseName::To | ClauseName::From));
        for item in motions.flat_map(Clause::items) {
            let text = self.text(item.range);
            let words: String = text.split_whitespace().collect();
            match listed.get(&words) {
                Some(first) => {
                    let headline = format!("`{text}` is updated twice");
                    let diagnostic =
                        Diagnostic::new(Code::MapListItem, self.at(item.range), headline);
                    let diagnostic = diagnostic.with_secondary(self.at(*first), "listed here");
                    found.push(diagnostic.with_help(
                        "copy it in one direction; another `target update` can copy it back",
                    ));
                }
                None => {
                    listed.insert(words, item.range);
                }
            }
        }
        found
    }

    /// `defaultmap` clauses that say again what happens to a category of variables.
    pub(super) fn category_twice(&self, directive: &Directive) -> Vec<Diagnostic> {
        let mut read: Vec<(TextRange, &str)> = Vec::new();
        let mut found = Vec::new();
        for clause in directive.clauses_named(ClauseName::Defaultmap) {
            let mut words = clause.modifiers().iter().map(|it| self.text(it.word));
            let category = words.find(|it| CATEGORIES.contains(it)).unwrap_or(ALL);
            let is_same = |(_, first): &&(TextRange, &str)| {
                *first == category || [*first, category].contains(&ALL)
            };
            if let Some((first, _)) = read.iter().find(is_same) {
                let headline = "another `defaultmap` says what happens to these variables";
                found.push(
                    Diagnostic::new(Code::DuplicateClause, self.at(clause.range), headline)
                        .with_secondary(self.at(*first), "this one")
                        .with_help("write one for each category, or one without a category"),
                );
            }
            read.push((clause.range, category));
        }
        found
    }

    /// Variables that `allocate` names, and no other clause makes copies of.
    pub(super) fn allocated_without_copy(&self, directive: &Directive) -> Vec<Diagnostic> {
        if directive.has(Leaf::Allocators) {
            return Vec::new();
        }
        let copying = directive.clauses.iter();
        let copying = copying.filter(|it| COPYING.contains(&it.name));
        let copied: Vec<SymbolId> = copying.flat_map(|clause| self.roots_of(clause)).collect();
        let allocated = directive.clauses_named(ClauseName::Allocate);
        allocated
            .flat_map(|clause| self.variables_of(clause))
            .filter(|(_, symbol)| !copied.contains(symbol))
            .map(|(at, symbol)| {
                let name = &self.symbols[symbol].name;
                let headline = format!("`allocate` is for copies: no clause makes one of `{name}`");
                Diagnostic::new(Code::SharingConflict, self.at(at), headline).with_help(format!(
                    "name `{name}` in `private`, `firstprivate` or `reduction`, too, or leave it out"
                ))
            })
            .collect()
    }

    /// The variables that the list items of a clause are, or are parts of.
    fn roots_of(&self, clause: &Clause) -> impl Iterator<Item = SymbolId> {
        clause.items().iter().filter_map(|item| {
            let root = rex_syntax::lex::identifiers(self.source, item.range).next()?;
            self.scopes.resolve(&self.symbols, self.text(root), root)
        })
    }
}
