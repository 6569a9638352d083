//! Sections behind several pointers: `x[0:n][0:m]` of `double **x` is not one piece of memory.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::omp::clause::{Clause, ClauseName, Section};

use super::Builder;
use crate::map::{PathStep, StepKind};

/// How many elements a section has, as far as the text says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Several,
    Unknown,
}

impl Builder<'_> {
    /// Speaks of a section whose elements are pointers to what the list item goes on with. Only one of these pointers can be attached.
    pub(super) fn check_contiguous(
        &mut self,
        clause: &Clause,
        item: TextRange,
        steps: &[PathStep],
    ) {
        let rows = steps
            .iter()
            .zip(steps.iter().skip(1))
            .find_map(|(step, next)| {
                let StepKind::Section(section) = &step.kind else {
                    return None;
                };
                let count = self.count(section);
                (next.follows_pointer && count != Count::One).then(|| (section.clone(), count))
            });
        let Some((section, count)) = rows else {
            return;
        };
        let text = self.text(item);
        let pointers = self.text(TextRange::new(item.start(), section.range.end()));
        let base = self.text(TextRange::new(item.start(), section.range.start()));
        let row = self.text(TextRange::new(section.range.end(), item.end()));
        let of = |part: Option<TextRange>, default: &str| {
            part.map_or_else(
                || default.to_string(),
                |part| self.text(part).trim().to_string(),
            )
        };
        let (lower, length) = (of(section.lower, "0"), of(section.length, "n"));
        let end = match lower.as_str() {
            "0" => length,
            _ => format!("{lower} + {length}"),
        };
        let iterator = format!("iterator(i = {lower} : {end})");
        let help = match clause.name {
            ClauseName::Map => {
                let words = self.map_words(clause);
                format!(
                    "map the pointers, and each row with them: `map(to : {pointers}) map({iterator}, {words} : {base}[i]{row})`; or \
                     go through the rows with `target enter data map(to : {base}[i]{row})`"
                )
            }
            name => format!(
                "update each row: `{}({iterator} : {base}[i]{row})`",
                name.spelling()
            ),
        };
        let diagnostic = Diagnostic::new(
            Code::MapListItem,
            self.at(item),
            format!("`{text}` is not contiguous: `{pointers}` are pointers to rows of their own"),
        )
        .with_severity(match count {
            Count::Several => Severity::Error,
            Count::One | Count::Unknown => Severity::Warning,
        })
        .with_note(
            "OpenMP takes contiguous sections only: the device gets no more than the first row",
        )
        .with_help(help);
        self.diagnostics.push(diagnostic);
    }

    fn count(&self, section: &Section) -> Count {
        match section.length.map(|length| self.constant_value(length)) {
            Some(Some(1)) => Count::One,
            Some(Some(_)) => Count::Several,
            Some(None) | None => Count::Unknown,
        }
    }

    /// The modifiers and the type of a `map` clause.
    fn map_words(&self, clause: &Clause) -> String {
        let words: Vec<&str> = clause
            .modifiers()
            .iter()
            .map(|modifier| self.text(modifier.range))
            .collect();
        match words.is_empty() {
            true => "tofrom".to_string(),
            false => words.join(", "),
        }
    }
}
