//! `case 1 ... 4:`, an extension of gcc and clang. nvcc takes it and means `case 1:`.

use rex_syntax::kind::Kind;
use rex_syntax::{TextRange, lex};

use super::Builder;

/// The longest range that is spelled out.
const MAX_VALUES: i64 = 256;

impl Builder<'_> {
    /// Spells the values of such ranges out.
    pub(super) fn spell_case_ranges(&mut self) {
        if !self.source.contains("...") {
            return;
        }
        let unit = self.unit;
        for node in unit.tree.nodes() {
            if node.kind() != Kind::CaseStatement {
                continue;
            }
            let Some((lower, upper)) = self.case_range(node.range()) else {
                continue;
            };
            let whole = lower.cover(upper);
            let ends = self.value_of_case(lower).zip(self.value_of_case(upper));
            match ends {
                Some((first, last)) if first <= last && last - first < MAX_VALUES => {
                    let values: Vec<String> =
                        (first..=last).map(|value| value.to_string()).collect();
                    self.conversions
                        .push((whole, values.join(": case ").into()));
                }
                _ => self.cannot_write(
                    whole,
                    "nvcc takes a range of `case` for its first value; the values of this one are too many or not known",
                    "compare with `if`",
                ),
            }
        }
    }

    fn value_of_case(&self, range: TextRange) -> Option<i64> {
        match self.text(range).as_bytes() {
            [b'\'', character, b'\''] if character.is_ascii() => Some(i64::from(*character)),
            _ => self.constant_value(range),
        }
    }

    /// The two ends of the range after a `case`.
    fn case_range(&self, statement: TextRange) -> Option<(TextRange, TextRange)> {
        let mut tokens = lex::significant_tokens(self.source, statement);
        let start = tokens.next()?.range.end();
        let mut dots = None;
        for token in tokens {
            match (token.text(self.source), dots) {
                ("...", None) => dots = Some(token.range),
                (":", None) => return None,
                (":", Some(dots)) => {
                    let lower = self.trimmed(TextRange::new(start, dots.start()));
                    let upper = self.trimmed(TextRange::new(dots.end(), token.range.start()));
                    return Some((lower, upper));
                }
                _ => {}
            }
        }
        None
    }
}
