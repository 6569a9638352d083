//! What a directive may not have: clauses of other directives, twice, without those it needs, or beside those that they exclude.

use text_size::TextRange;

use super::{Parser, name_of};
use crate::diag::Code;
use crate::lex::slice;
use crate::omp::allowed::{constructs_with, is_allowed};
use crate::omp::clause::{Clause, ClauseName};
use crate::omp::restrictions::{Exclusion, companions, exclusions, map_types, needed_clauses};
use crate::omp::shape::is_unique;

impl Parser<'_> {
    pub(super) fn report_misplaced(&mut self, clauses: &[Clause]) {
        for clause in clauses {
            let named = clause.applies_to.as_ref().map(|named| &named.leaves);
            let leaves = named.unwrap_or(&self.leaves);
            let is_excluded = !is_allowed(&self.leaves, clause.name);
            if clause.name == ClauseName::Unknown
                || (!is_excluded && is_allowed(leaves, clause.name))
            {
                continue;
            }
            let spelling = clause.name.spelling();
            let directive = name_of(if is_excluded { &self.leaves } else { leaves });
            let others: Vec<String> = constructs_with(clause.name)
                .into_iter()
                .map(|leaf| format!("`{}`", leaf.spelling()))
                .collect();
            let diagnostic = self
                .error(
                    Code::ClauseNotAllowed,
                    clause.name_range,
                    format!("`{directive}` takes no clause `{spelling}`"),
                )
                .with_note(format!("`{spelling}` belongs to {}", others.join(", ")))
                .with_help(format!(
                    "leave `{spelling}` out, or write it on one of these directives"
                ));
            self.diagnostics.push(diagnostic);
        }
    }

    pub(super) fn report_duplicates(&mut self, clauses: &[Clause]) {
        for (idx, clause) in clauses.iter().enumerate() {
            let Some(first) = clauses[..idx]
                .iter()
                .find(|earlier| earlier.name == clause.name && self.meet(earlier, clause))
                .filter(|_| is_unique(clause.name))
            else {
                continue;
            };
            let spelling = clause.name.spelling();
            let place = match (&first.applies_to, &clause.applies_to) {
                (None, None) => "on a directive",
                _ => "for each construct",
            };
            let first = self.place(first.range);
            let diagnostic = self
                .error(
                    Code::DuplicateClause,
                    clause.range,
                    format!("clause `{spelling}` may appear once {place}"),
                )
                .with_secondary(first, "first given here")
                .with_help("keep one of the two");
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether two clauses of one name are for the same construct of the directive.
    fn meet(&self, first: &Clause, second: &Clause) -> bool {
        let mut leaves = self.leaves.iter();
        leaves.any(|leaf| first.applies_to(*leaf) && second.applies_to(*leaf))
    }

    /// Reports clauses that are missing or exclude each other, and map types that the directive does not take.
    pub(super) fn report_restrictions(&mut self, name: TextRange, clauses: &[Clause]) {
        let directive = name_of(&self.leaves);
        let Some(&leaf) = self.leaves.first() else {
            return;
        };
        let needed = needed_clauses(leaf);
        let has_needed = clauses
            .iter()
            .any(|clause| needed.contains(&clause.name) || clause.name == ClauseName::Unknown);
        if !needed.is_empty() && !has_needed {
            let choice: Vec<String> = needed
                .iter()
                .map(|name| format!("`{}`", name.spelling()))
                .collect();
            let choice = choice.join(" or ");
            self.push_error(
                Code::MissingClause,
                name,
                format!("`{directive}` needs a clause {choice}"),
                "add the clause, or remove the directive",
            );
        }
        self.report_exclusions(clauses);
        self.report_companions(clauses);
        let Some((refused, choice)) = map_types(leaf) else {
            return;
        };
        let maps = clauses
            .iter()
            .filter(|clause| clause.name == ClauseName::Map);
        for modifier in maps.flat_map(Clause::modifiers) {
            let word = slice(self.text, modifier.word);
            if refused.contains(&word) {
                let diagnostic = self
                    .error(
                        Code::ClauseNotAllowed,
                        modifier.word,
                        format!("`{directive}` takes no map type `{word}`"),
                    )
                    .with_note(format!("its map types are {choice}"))
                    .with_help("write one of these, or leave the type out where it has a default");
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// Reports clauses without the one that they need.
    fn report_companions(&mut self, clauses: &[Clause]) {
        let has = |name| clauses.iter().any(|clause| clause.name == name);
        let leaves = self.leaves.iter();
        let rules: Vec<(ClauseName, ClauseName)> = leaves
            .flat_map(|leaf| companions(*leaf))
            .copied()
            .filter(|(_, needed)| !has(*needed))
            .collect();
        for clause in clauses {
            let Some((_, needed)) = rules.iter().find(|(name, _)| *name == clause.name) else {
                continue;
            };
            let (spelling, needed) = (clause.name.spelling(), needed.spelling());
            self.push_error(
                Code::MissingClause,
                clause.name_range,
                format!("`{spelling}` needs a clause `{needed}`"),
                format!("add `{needed}`, or leave `{spelling}` out"),
            );
        }
    }

    /// Reports the second of two clauses that exclude each other.
    fn report_exclusions(&mut self, clauses: &[Clause]) {
        let rules: Vec<Exclusion> = self
            .leaves
            .iter()
            .flat_map(|leaf| exclusions(*leaf))
            .copied()
            .collect();
        for (idx, clause) in clauses.iter().enumerate() {
            let excludes = |earlier: &&Clause| {
                rules
                    .iter()
                    .any(|rule| rule.forbids(earlier.name, clause.name))
            };
            let Some(first) = clauses[..idx].iter().find(excludes) else {
                continue;
            };
            let (second, other) = (clause.name.spelling(), first.name.spelling());
            let first = self.place(first.range);
            let diagnostic = self
                .error(
                    Code::ClauseNotAllowed,
                    clause.name_range,
                    format!("`{second}` cannot stand beside `{other}`"),
                )
                .with_secondary(first, "given here")
                .with_help("keep one of the two");
            self.diagnostics.push(diagnostic);
        }
    }
}
