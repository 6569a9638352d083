//! Conditional compilation inside text that is copied elsewhere.
//!
//! A copied piece of text must not carry half of an `#if`. Skipped arms and the lines that begin and end arms are left out of copies; the lines a replaced range leaves without their partners
//! are removed from the host file too.

use rex_ir::program::Program;
use rex_syntax::TextRange;

/// Skipped arms and conditional lines inside a range, in order and disjoint.
pub(crate) fn hidden_in(program: &Program, range: TextRange) -> Vec<TextRange> {
    let unit = &program.unit;
    let mut hidden: Vec<TextRange> = unit.inactive_in(range).collect();
    let lines = unit.conditionals.lines_in(range);
    hidden.extend(lines.filter(|line| !unit.is_inactive(*line)));
    hidden.sort_by_key(|arm| arm.start());
    hidden
}

/// The lines of conditionals that a range holds only a part of, and their skipped arms: everything outside the range.
pub(crate) fn partners_outside(program: &Program, range: TextRange) -> Vec<TextRange> {
    let is_outside =
        |place: &TextRange| place.end() <= range.start() || place.start() >= range.end();
    parts_of_split(program, range).filter(is_outside).collect()
}

/// The lines of conditionals that a range holds only a part of, and their skipped arms: everything inside the range.
pub(crate) fn parts_inside(program: &Program, range: TextRange) -> Vec<TextRange> {
    let is_inside = |place: &TextRange| range.contains_range(*place);
    parts_of_split(program, range).filter(is_inside).collect()
}

/// The text of a range without the conditionals of which it holds only a part.
pub(crate) fn whole_text(program: &Program, range: TextRange) -> String {
    let mut parts = parts_inside(program, range);
    parts.sort_by_key(|part| part.start());
    let (mut text, mut end) = (String::new(), range.start());
    for part in parts {
        if part.start() < end {
            continue;
        }
        text.push_str(program.text(TextRange::new(end, part.start())));
        end = part.end();
    }
    text.push_str(program.text(TextRange::new(end, range.end())));
    text.replace("\r\n", "\n")
}

fn parts_of_split(program: &Program, range: TextRange) -> impl Iterator<Item = TextRange> {
    let unit = &program.unit;
    let groups = unit.conditionals.split_by(range);
    groups.flat_map(|group| {
        // An arm that is skipped begins where its line ends.
        let arms = group.iter().filter_map(|line| {
            let arms = &unit.inactive;
            let first = arms.partition_point(|arm| arm.start() < line.end());
            arms.get(first).filter(|arm| arm.start() == line.end())
        });
        group.iter().chain(arms).copied()
    })
}
