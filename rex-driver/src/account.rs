//! What lowering made of each construct of a file, and which text it may change.
//!
//! Counts what the finished program holds. It decides nothing.

use rex_ir::program::Program;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::FileRange;
use rex_syntax::unit::Unit;
use rex_syntax::{TextRange, TextSize};
use rustc_hash::FxHashSet;

/// The constructs of a file, and the text that lowering may change.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The target constructs that the preprocessor lets through, in source order.
    pub constructs: Vec<TargetConstruct>,
    /// The places that lowering may change, in the files that the user wrote.
    pub touched: Vec<FileRange>,
}

/// A construct that begins with a `target` directive.
#[derive(Clone, Debug)]
pub struct TargetConstruct {
    /// The directive's name: `target teams distribute`.
    pub name: String,
    /// The directive, in the file that the user wrote.
    pub at: FileRange,
    /// The directive and its statement, in the file that was lowered.
    pub range: FileRange,
    /// What stands in its way; empty for a construct that is lowered.
    pub obstacles: Vec<Code>,
    /// Whether the generated files hold it.
    pub is_lowered: bool,
}

impl Account {
    /// The account of a program and the messages about it.
    pub(crate) fn of(program: &Program, diagnostics: &[Diagnostic]) -> Account {
        let unit = &program.unit;
        let at = |range: TextRange| FileRange {
            file: unit.file,
            range,
        };
        let written = |range: TextRange| program.sources.to_written(at(range));
        let lowered = lowered_directives(program);
        let mut constructs: Vec<TargetConstruct> = unit
            .directives
            .iter()
            .enumerate()
            .filter(|(_, directive)| directive.first().is_some_and(Leaf::is_device))
            .map(|(idx, directive)| {
                let statement = unit.statement_of(idx);
                let range = statement.map_or(directive.range, |statement| {
                    directive.range.cover(statement.range())
                });
                TargetConstruct {
                    name: directive.name().to_string(),
                    at: written(directive.range),
                    range: at(range),
                    obstacles: Vec::new(),
                    is_lowered: lowered.contains(&idx),
                }
            })
            .collect();
        let errors = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error);
        let outer = outer_constructs(&constructs);
        for error in errors {
            let place = error.primary.at;
            let ranges = |idx: &usize| constructs[*idx].range.range;
            let n_before = constructs
                .partition_point(|construct| construct.range.range.start() <= place.range.start());
            let innermost = std::iter::successors(n_before.checked_sub(1), |idx| outer[*idx])
                .filter(|_| place.file == unit.file)
                .find(|idx| ranges(idx).contains_range(place.range));
            if let Some(idx) = innermost {
                let construct = &mut constructs[idx];
                construct.is_lowered = false;
                if !construct.obstacles.contains(&error.code) {
                    construct.obstacles.push(error.code);
                }
            }
        }
        let statements = constructs.iter().map(|construct| construct.range.range);
        let directives = unit.directives.iter().map(|directive| directive.range);
        let conditionals = split_conditionals(unit, &constructs);
        let init = program.lifecycle.init.as_ref();
        let init = init.map(|init| TextRange::empty(init.at));
        // Calls that get the name of a variant, and what is for devices only.
        let calls = unit.variant_calls.iter().map(|call| call.at);
        let devices = unit.for_devices_only.iter().copied();
        // Lambdas get something around them.
        let closures =
            program.instances.closures.iter().flat_map(|closure| {
                [closure.range.start(), closure.range.end()].map(TextRange::empty)
            });
        let aligned = program.alignments.iter().map(|(place, _)| *place);
        let touched = statements
            .chain(directives)
            .chain(conditionals)
            .chain(init)
            .chain(calls)
            .chain(devices)
            .chain(closures)
            .chain(aligned)
            .map(written)
            .chain(written_out(program))
            .collect();
        Account {
            constructs,
            touched,
        }
    }

    /// Records that nothing was emitted.
    pub(crate) fn refuse_all(&mut self) {
        for construct in &mut self.constructs {
            construct.is_lowered = false;
        }
    }

    /// Every place, for who has to move them.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut FileRange> {
        let constructs = self.constructs.iter_mut();
        let constructs = constructs.map(|construct| &mut construct.at);
        constructs.chain(&mut self.touched)
    }
}

/// The construct that each one is in, of all in source order.
fn outer_constructs(constructs: &[TargetConstruct]) -> Vec<Option<usize>> {
    let range = |idx: usize| constructs[idx].range.range;
    let mut outer: Vec<Option<usize>> = Vec::with_capacity(constructs.len());
    for idx in 0..constructs.len() {
        let mut around = idx.checked_sub(1);
        while let Some(at) = around.filter(|at| !range(*at).contains_range(range(idx))) {
            around = outer[at];
        }
        outer.push(around);
    }
    outer
}

/// What was replaced before the program was read: macros that hide directives, attributes, metadirectives, loops.
fn written_out(program: &Program) -> Vec<FileRange> {
    let mut replaced = Vec::new();
    let mut file = program.unit.file;
    while let Some(derivation) = program.sources.file(file).derivation() {
        file = derivation.from;
        let places = derivation.map.replaced();
        replaced.extend(places.map(|range| program.sources.to_written(FileRange { file, range })));
    }
    replaced
}

/// The conditionals of the preprocessor that constructs hold a part of, from `#if` to `#endif`: what is lowered has none of their lines.
fn split_conditionals(unit: &Unit, constructs: &[TargetConstruct]) -> Vec<TextRange> {
    let ranges = constructs.iter().map(|construct| construct.range.range);
    let mut split: Vec<TextRange> = ranges
        .flat_map(|range| unit.conditionals.split_by(range))
        .filter_map(|lines| Some(lines.first()?.cover(*lines.last()?)))
        .collect();
    split.sort_by_key(|conditional| (conditional.end(), conditional.start()));
    split.dedup();
    split
}

/// The directives that have their launches or their data calls.
fn lowered_directives(program: &Program) -> FxHashSet<usize> {
    let launches = program.launches.values();
    let launched = launches.map(|launch| program.regions[launch.region].construct);
    let data = program.data_constructs.values();
    launched
        .chain(data.map(|data| data.construct))
        .filter_map(|construct| program.constructs[construct].directives.first().copied())
        .collect()
}

/// The lines of a text that no range touches, with their numbers.
fn kept_lines<'t>(text: &'t [u8], touched: &[TextRange]) -> impl Iterator<Item = (u32, &'t [u8])> {
    let mut touched = touched.to_vec();
    touched.sort_by_key(|range| range.start());
    let mut start = 0;
    let mut first = 0;
    let mut reach = TextSize::new(0);
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    (1u32..).zip(lines).filter(move |(_, line)| {
        let from = TextSize::try_from(start).unwrap_or_default();
        start += line.len();
        let to = TextSize::try_from(start).unwrap_or_default();
        while first < touched.len() && touched[first].start() < to {
            reach = reach.max(
                touched[first]
                    .end()
                    .max(touched[first].start() + TextSize::new(1)),
            );
            first += 1;
        }
        reach <= from
    })
}

/// The first line outside the touched ranges that a changed text does not hold in its place.
///
/// Lines must follow each other in the changed text as in the original; what stands between them is free.
pub(crate) fn first_lost_line(
    original: &[u8],
    changed: &[u8],
    touched: &[TextRange],
) -> Option<u32> {
    let mut rest = changed.split_inclusive(|&byte| byte == b'\n');
    let end = |line: &[u8]| line.len() - usize::from(line.ends_with(b"\n"));
    kept_lines(original, touched)
        .find(|(_, line)| !rest.any(|found| found[..end(found)] == line[..end(line)]))
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_lost(original: &str, changed: &str, touched: &[(u32, u32)], expected: Option<u32>) {
        let touched: Vec<TextRange> = touched
            .iter()
            .map(|(start, end)| TextRange::new((*start).into(), (*end).into()))
            .collect();
        let lost = first_lost_line(original.as_bytes(), changed.as_bytes(), &touched);
        assert_eq!(lost, expected);
    }

    #[test]
    fn lines_may_be_added_anywhere() {
        check_lost("a\nb\n", "x\na\ny\nb\nz", &[], None);
    }

    #[test]
    fn a_line_may_not_change_or_move() {
        check_lost("a\nb\n", "a\nB\n", &[], Some(2));
        check_lost("a\nb\n", "b\na\n", &[], Some(2));
        check_lost("a\r\n", "a\n", &[], Some(1));
    }

    #[test]
    fn touched_lines_may() {
        check_lost("a\nbcd\ne", "a\nx\ne", &[(3, 4)], None);
        check_lost("a\nbcd\nefg\nh", "a\nx\nh\n", &[(3, 8)], None);
        check_lost("a\nbcd\ne", "a\nx\ne", &[(2, 2)], None);
        check_lost("a\nbcd\ne", "a\nx\nf", &[(2, 2)], Some(3));
    }
}
