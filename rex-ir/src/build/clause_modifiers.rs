//! What modifiers of clauses ask for: iterators that advance and have names of their own, references for `linear(ref(x))`, a `scan` for `inscan`.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::{Clause, ClauseName, Modifier};
use rex_syntax::omp::directive::{Directive, Leaf};
use rex_syntax::source::Language;

use super::Builder;
use super::clause_rules::whole_variables;
use super::constructs::split_top_level;
use super::constructs::sub_range;
use crate::map::MapIterator;
use crate::region::Construct;

impl Builder<'_> {
    /// Reports modifiers of a clause that cannot be as they are.
    pub(super) fn wrong_modifiers(
        &self,
        construct: &Construct,
        clause: &Clause,
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for modifier in clause.modifiers() {
            match (clause.name, self.text(modifier.word)) {
                (_, "iterator") => found.extend(self.wrong_iterators(modifier)),
                (ClauseName::Linear, "ref" | "uval") => {
                    found.extend(self.linear_without_reference(clause, modifier));
                }
                (ClauseName::Reduction, "inscan") => {
                    found.extend(self.missing_scan(construct, clause, modifier));
                }
                _ => {}
            }
        }
        found
    }

    fn wrong_iterators(&self, modifier: &Modifier) -> Vec<Diagnostic> {
        let Some(argument) = modifier.argument else {
            return Vec::new();
        };
        let parts = split_top_level(self.text(argument), ',').into_iter();
        let iterators = parts.filter_map(|(start, end)| {
            let whole = self.trimmed(sub_range(argument, start, end));
            Some((whole, self.read_iterator(whole)?))
        });
        let iterators: Vec<(TextRange, MapIterator)> = iterators.collect();
        let mut found = Vec::new();
        for (idx, (whole, iterator)) in iterators.iter().enumerate() {
            let step = iterator
                .step
                .filter(|it| self.constant_value(*it) == Some(0));
            if let Some(step) = step {
                let headline = format!("the iterator `{}` does not advance", iterator.name);
                found.push(
                    Diagnostic::new(Code::ClauseSyntax, self.at(step), headline)
                        .with_note("its step is 0")
                        .with_help("write another step, or leave it out: it is 1 then"),
                );
            }
            let mut earlier = iterators[..idx].iter();
            if let Some((first, _)) = earlier.find(|(_, it)| it.name == iterator.name) {
                let headline = format!("there are two iterators `{}`", iterator.name);
                found.push(
                    Diagnostic::new(Code::ClauseSyntax, self.at(*whole), headline)
                        .with_secondary(self.at(*first), "the first")
                        .with_help("give each a name of its own"),
                );
            }
        }
        found
    }

    /// `ref` and `uval` say something of references only.
    fn linear_without_reference(&self, clause: &Clause, modifier: &Modifier) -> Option<Diagnostic> {
        let word = self.text(modifier.word);
        let is_reference = |at: TextRange| {
            let symbol = self.scopes.resolve(&self.symbols, self.text(at), at);
            symbol.is_none_or(|symbol| {
                let ty = self.symbols[symbol].ty;
                self.types.is_reference(ty) || self.types.mentions_auto(ty)
            })
        };
        let can_be = self.unit.language == Language::Cxx;
        let wrong = whole_variables(clause).find(|at| !can_be || !is_reference(*at))?;
        let headline = format!("`{word}` is for references: `{}` is none", self.text(wrong));
        Some(
            Diagnostic::new(Code::ClauseSyntax, self.at(modifier.word), headline)
                .with_help(format!("leave `{word}` out, or write `val`")),
        )
    }

    fn missing_scan(
        &self,
        construct: &Construct,
        clause: &Clause,
        modifier: &Modifier,
    ) -> Vec<Diagnostic> {
        // Directives that take no `inscan` are reported as such.
        let may_scan = (construct.has(Leaf::For) || construct.has(Leaf::Simd))
            && !construct.has(Leaf::Distribute);
        if !may_scan {
            return Vec::new();
        }
        let mut inside = self.unit.directives_in(construct.range);
        let is_scan = |directive: &&Directive| directive.first() == Some(Leaf::Scan);
        let Some(scan) = inside.find(is_scan) else {
            let headline = "`inscan` needs a `scan` directive in the loop";
            let diagnostic = Diagnostic::new(Code::ReductionOperand, self.at(modifier.word), headline)
                .with_help("write `#pragma omp scan inclusive(..)` between what adds to the variable and what reads it, or leave `inscan` out");
            return vec![diagnostic];
        };
        let lists = scan
            .clauses
            .iter()
            .filter(|clause| matches!(clause.name, ClauseName::Inclusive | ClauseName::Exclusive));
        let scanned: Vec<&str> = lists
            .flat_map(whole_variables)
            .map(|at| self.text(at))
            .collect();
        let has_list = !scanned.is_empty();
        whole_variables(clause)
            .filter(|at| has_list && !scanned.contains(&self.text(*at)))
            .map(|at| {
                let name = self.text(at);
                let headline = format!("the `scan` in the loop does not name `{name}`");
                Diagnostic::new(Code::ReductionOperand, self.at(at), headline)
                    .with_secondary(self.at(scan.range), "this one")
                    .with_help(format!(
                        "add `{name}` to its list, or reduce it in a clause without `inscan`"
                    ))
            })
            .collect()
    }
}
