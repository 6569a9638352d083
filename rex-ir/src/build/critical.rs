//! Hints of `critical` constructs: they need a name, and are the same for all of one name.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::{Directive, Leaf};
use rustc_hash::FxHashMap;

use super::Builder;

impl Builder<'_> {
    /// `hint` on a `critical` without a name, which other hints than the one that says nothing need.
    pub(super) fn hint_without_name(&self, directive: &Directive) -> Option<Diagnostic> {
        let clause = directive.clause(ClauseName::Hint)?;
        let is_unnamed = directive.has(Leaf::Critical) && directive.argument.is_none();
        let hint = clause.expression().filter(|_| is_unnamed)?;
        let word = self.text(hint);
        let is_known_word =
            word.starts_with("omp_sync_hint_") || word.starts_with("omp_lock_hint_");
        let says_nothing = word.ends_with("_none");
        let says_something = match self.constant_value(hint) {
            Some(value) => value != 0,
            None => is_known_word && !says_nothing,
        };
        says_something.then(|| {
            let headline = "a `critical` with a hint needs a name";
            Diagnostic::new(Code::ClauseSyntax, self.at(clause.range), headline)
                .with_help("write `critical(name)`, or leave the hint out")
        })
    }

    /// Hints of constructs for devices that differ from those of an earlier one with the same name.
    pub(super) fn different_hints(&self) -> Vec<Diagnostic> {
        let mut first_of: FxHashMap<&str, &Directive> = FxHashMap::default();
        let mut found = Vec::new();
        for construct in self.constructs.values() {
            let directives = construct.directives.iter();
            let directive = directives
                .map(|idx| &self.unit.directives[*idx])
                .find(|directive| directive.has(Leaf::Critical));
            let named = directive.and_then(|directive| Some((directive, directive.argument?)));
            let Some((directive, name)) = named else {
                continue;
            };
            let first = *first_of.entry(self.text(name)).or_insert(directive);
            if first.range == directive.range || !self.is_on_device(construct) {
                continue;
            }
            let hints = self.hint_of(first).zip(self.hint_of(directive));
            if hints.is_some_and(|(first, second)| first != second) {
                let at = directive
                    .clause(ClauseName::Hint)
                    .map_or(name, |hint| hint.range);
                let headline =
                    format!("`critical({})` has another hint elsewhere", self.text(name));
                found.push(
                    Diagnostic::new(Code::ClauseSyntax, self.at(at), headline)
                        .with_secondary(self.at(first.range), "here")
                        .with_help("give all `critical` constructs of one name the same hint"),
                );
            }
        }
        found
    }

    /// The hint of a construct, in comparable words; `None` if it is not known.
    fn hint_of(&self, directive: &Directive) -> Option<String> {
        let Some(clause) = directive.clause(ClauseName::Hint) else {
            return Some("0".to_owned());
        };
        let hint: TextRange = clause.expression()?;
        if let Some(value) = self.constant_value(hint) {
            return Some(value.to_string());
        }
        let word = self.text(hint).trim();
        let word = word
            .strip_prefix("omp_sync_hint_")
            .or_else(|| word.strip_prefix("omp_lock_hint_"))?;
        let is_word = word.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        match word {
            "none" => Some("0".to_owned()),
            word => is_word.then(|| word.to_owned()),
        }
    }
}
