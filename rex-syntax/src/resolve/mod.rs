//! Directives that stand for other text, written out: metadirectives, variants of functions, `dispatch`, loop transformations,
//! the clause `induction`; and functions that are templates by their parameters.
//!
//! One round writes out what stands innermost of one kind; the text is read again after each. What cannot be written out stays, and is reported where device
//! code has it.

mod abbreviated;
mod context;
mod dispatch;
mod indirect;
mod induction;
mod loops;
mod metadirective;
mod variant;

use text_size::TextRange;

use crate::edit::EditSet;
use crate::omp::clause::ClauseName;
use crate::omp::directive::Leaf;
use crate::unit::Unit;

pub use induction::{Refusal, refused_induction};
pub use variant::{VARIANT_SUFFIX, VariantCall, variants_of_nothing};
pub(crate) use variant::{calls, device_bodies, for_devices_only};

/// The edits of one round; none when everything is written out.
pub(crate) fn edits(unit: &Unit) -> EditSet {
    let any = unit
        .directives
        .iter()
        .filter_map(|directive| directive.first())
        .any(stands_for_text)
        || unit.directives.iter().any(|directive| {
            indirect::is_indirect(unit.tree.text(), directive)
                || directive.clause(ClauseName::Induction).is_some()
        });
    if !any {
        return abbreviated::edits(unit);
    }
    let rounds = [
        metadirective::edits,
        variant::edits,
        dispatch::edits,
        loops::edits,
        induction::edits,
        indirect::edits,
        abbreviated::edits,
    ];
    rounds
        .iter()
        .map(|round| round(unit))
        .find(|edits| !edits.is_empty())
        .unwrap_or_default()
}

/// Whether a directive is written out: another text takes its place.
pub(crate) fn stands_for_text(leaf: Leaf) -> bool {
    matches!(
        leaf,
        Leaf::Metadirective
            | Leaf::BeginMetadirective
            | Leaf::BeginDeclareVariant
            | Leaf::Dispatch
            | Leaf::Tile
            | Leaf::Stripe
            | Leaf::Split
            | Leaf::Unroll
            | Leaf::Interchange
            | Leaf::Reverse
            | Leaf::Fuse
            | Leaf::DeclareInduction
    )
}

/// Ranges of the parts of a text between separators outside brackets and strings.
pub(crate) fn split(text: &str, separator: char) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut depth, mut start, mut idx) = (0i32, 0, 0);
    while idx < bytes.len() {
        match bytes[idx] {
            b'"' => {
                idx += 1;
                while idx < bytes.len() && bytes[idx] != b'"' {
                    idx += 1 + usize::from(bytes[idx] == b'\\');
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b':' if separator == ':' && bytes.get(idx + 1) == Some(&b':') => idx += 1,
            byte if depth == 0 && char::from(byte) == separator => {
                parts.push(&text[start..idx]);
                start = idx + 1;
            }
            _ => {}
        }
        idx += 1;
    }
    parts.push(text.get(start..).unwrap_or(""));
    parts
}

/// `word(inside)` as its word and what is inside.
pub(crate) fn word_and_inside(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    match (text.find('('), text.rfind(')')) {
        (Some(open), Some(close)) if open < close => {
            (text[..open].trim(), Some(&text[open + 1..close]))
        }
        _ => (text, None),
    }
}

/// A text on one line, without the backslashes that continue lines.
pub(crate) fn one_line(text: &str) -> String {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line of a range, if nothing else stands on it: to be deleted as a whole.
pub(crate) fn whole_lines(text: &str, range: TextRange) -> TextRange {
    let (start, end) = (usize::from(range.start()), usize::from(range.end()));
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[end..];
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    let is_alone = text[line_start..start].trim().is_empty() && rest[blanks..].starts_with('\n');
    if !is_alone {
        return range;
    }
    let size = |at: usize| text_size::TextSize::try_from(at).unwrap_or_default();
    TextRange::new(size(line_start), size(end + blanks + 1))
}
