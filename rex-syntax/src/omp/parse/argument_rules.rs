//! What the arguments of a clause may not have: words that mean nothing to it, contradict each other or are repeated, a second expression, and
//! parts of variables where it takes whole ones.

use super::arguments::split_at_commas;
use super::{Parser, name_of};
use crate::diag::Code;
use crate::lex::{Token, slice};
use crate::omp::clause::{Argument, ClauseName, Locator, Modifier, Step};
use crate::omp::directive::Leaf;
use crate::omp::locator::cover;
use crate::omp::shape::{alternatives, takes_no_modifiers, takes_variables_only, words};
use crate::omp::suggest::closest;

impl Parser<'_> {
    /// Reports words outside the closed set of a clause, words that are repeated, and words that exclude each other.
    pub(super) fn check_words(&mut self, name: ClauseName, argument: &Argument) {
        let known = words(name);
        let (Argument::List { modifiers, .. } | Argument::Expression { modifiers, .. }) = argument
        else {
            return;
        };
        if known.is_empty() && !takes_no_modifiers(name) {
            return;
        }
        let sets = alternatives(name);
        for (idx, modifier) in modifiers.iter().enumerate() {
            let word = slice(self.text, modifier.word);
            if !known.contains(&word) {
                self.report_unknown_word(name, modifier);
                continue;
            }
            let excludes = |earlier: &&Modifier| {
                let other = slice(self.text, earlier.word);
                let exclude_each_other =
                    |set: &&[&str]| set.contains(&word) && set.contains(&other);
                other == word || sets.iter().any(exclude_each_other)
            };
            if let Some(first) = modifiers[..idx].iter().find(excludes) {
                self.report_second_word(modifier, first);
            }
        }
    }

    fn report_unknown_word(&mut self, name: ClauseName, modifier: &Modifier) {
        let word = slice(self.text, modifier.word);
        let spelling = name.spelling();
        let known = words(name);
        let help = match closest(word, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => "remove it, and the colon".to_owned(),
            None => {
                let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
                format!("its words are {}", known.join(", "))
            }
        };
        self.push_error(
            Code::ClauseSyntax,
            modifier.word,
            format!("`{word}` means nothing to clause `{spelling}`"),
            help,
        );
    }

    /// Reports reductions without an operation, and with modifiers that mean nothing or that the directive does not take.
    pub(super) fn check_reduction(&mut self, name: ClauseName, argument: &Argument) {
        let Argument::List { modifiers, items } = argument else {
            return;
        };
        if !matches!(
            name,
            ClauseName::Reduction | ClauseName::InReduction | ClauseName::TaskReduction
        ) {
            return;
        }
        let spelling = name.spelling();
        let Some((_, before)) = modifiers.split_last() else {
            if let Some(first) = items.first() {
                self.push_error(
                    Code::ClauseSyntax,
                    first.range,
                    format!("`{spelling}` names no operation"),
                    format!("write it in front of the list, for instance `{spelling}(+: ..)`"),
                );
            }
            return;
        };
        let known: &[&str] = match name {
            ClauseName::Reduction => &["default", "inscan", "task", "private", "original"],
            _ => &[],
        };
        for modifier in before {
            let word = slice(self.text, modifier.word);
            if !known.contains(&word) {
                self.push_error(
                    Code::ClauseSyntax,
                    modifier.word,
                    format!("`{word}` is no modifier of `{spelling}`"),
                    "write the operation last, and remove what is neither a modifier nor the operation",
                );
            } else if !self.takes_reduction_modifier(word) {
                let directive = name_of(&self.leaves);
                self.push_error(
                    Code::ClauseNotAllowed,
                    modifier.word,
                    format!("`{directive}` takes no reduction with `{word}`"),
                    "reduce without the modifier",
                );
            }
        }
    }

    /// Whether the directive takes reductions with a modifier.
    ///
    /// # Source
    /// OpenMP 5.2, the restrictions of section 5.5.8.
    fn takes_reduction_modifier(&self, word: &str) -> bool {
        let has = |leaf| self.leaves.contains(&leaf);
        match word {
            "inscan" => (has(Leaf::For) || has(Leaf::Simd)) && !has(Leaf::Distribute),
            "task" => {
                let forks = has(Leaf::Parallel) || has(Leaf::For);
                (forks || has(Leaf::Sections) || has(Leaf::Scope))
                    && !has(Leaf::Simd)
                    && !has(Leaf::Loop)
            }
            _ => true,
        }
    }

    fn report_second_word(&mut self, modifier: &Modifier, first: &Modifier) {
        let (word, other) = (
            slice(self.text, modifier.word),
            slice(self.text, first.word),
        );
        let headline = match word == other {
            true => format!("`{word}` is repeated"),
            false => format!("`{word}` cannot stand beside `{other}`"),
        };
        let diagnostic = self
            .error(Code::ClauseSyntax, modifier.word, headline)
            .with_secondary(self.place(first.word), "given here")
            .with_help("keep one of the two");
        self.diagnostics.push(diagnostic);
    }

    /// Reports a second expression where a clause takes one.
    pub(super) fn check_single(&mut self, name: ClauseName, tokens: &[Token]) {
        let has_template_arguments = tokens.iter().any(|token| token.text(self.text) == "<");
        let parts = split_at_commas(self.text, tokens);
        let [_, second, ..] = parts.as_slice() else {
            return;
        };
        let Some(second) = cover(second).filter(|_| !has_template_arguments) else {
            return;
        };
        let spelling = name.spelling();
        // A list has the numbers for the levels of nested regions.
        let (code, headline) = match name {
            ClauseName::NumThreads => (
                Code::UnsupportedClause,
                "a list of numbers in `num_threads` is not supported".to_owned(),
            ),
            _ => (
                Code::ClauseSyntax,
                format!("`{spelling}` takes one expression"),
            ),
        };
        self.push_error(code, second, headline, "remove what follows the comma");
    }

    /// Reports list items that are parts of variables where a clause takes whole ones. A member of the own object is a variable.
    pub(super) fn check_variables(&mut self, name: ClauseName, argument: &Argument) {
        let Argument::List { items, .. } = argument else {
            return;
        };
        if !takes_variables_only(name) {
            return;
        }
        for item in items {
            let Locator::Path(path) = &item.locator else {
                continue;
            };
            let is_variable = match path.steps.as_slice() {
                [] => true,
                [Step::Arrow(_)] => slice(self.text, path.root) == "this",
                _ => false,
            };
            if !is_variable {
                let (spelling, text) = (name.spelling(), slice(self.text, item.range));
                self.push_error(
                    Code::ClauseSyntax,
                    item.range,
                    format!("`{spelling}` takes whole variables: `{text}` is a part of one"),
                    "name the variable, or copy the part to a variable of its own in front of the directive",
                );
            }
        }
    }
}
