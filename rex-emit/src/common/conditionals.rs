//! Conditional compilation inside text that is copied elsewhere.
//!
//! A copied piece of text must not carry half of an `#if`. Skipped arms and the lines that begin and end arms are left out of copies; the lines a replaced range leaves without their partners
//! are removed from the host file too.

use rex_ir::program::Program;
use rex_syntax::{TextRange, pragma};

/// Skipped arms and conditional lines inside a range, in order and disjoint.
pub(crate) fn hidden_in(program: &Program, range: TextRange) -> Vec<TextRange> {
    if !holds_conditional(program.text(range)) {
        return Vec::new();
    }
    let mut hidden: Vec<TextRange> = program
        .unit
        .inactive
        .iter()
        .filter_map(|arm| arm.intersect(range))
        .filter(|arm| !arm.is_empty())
        .collect();
    let source = program.source();
    for line in conditional_lines(source) {
        if range.contains_range(line) && !hidden.iter().any(|arm| arm.contains_range(line)) {
            hidden.push(line);
        }
    }
    hidden.sort_by_key(|arm| arm.start());
    hidden
}

/// The lines of conditionals that a range holds only a part of, and their skipped arms: everything outside the range.
pub(crate) fn partners_outside(program: &Program, range: TextRange) -> Vec<TextRange> {
    let source = program.source();
    if !holds_conditional(program.text(range)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let groups = groups(source);
    // Of conditionals inside each other, the innermost has an arm.
    let has_arm = |group: &[TextRange], arm: TextRange| {
        let whole = |group: &[TextRange]| Some(group.first()?.cover(*group.last()?));
        let own = whole(group);
        own.is_some_and(|own| {
            own.contains_range(arm)
                && !groups.iter().filter_map(|other| whole(other)).any(|other| {
                    other != own && own.contains_range(other) && other.contains_range(arm)
                })
        })
    };
    for group in &groups {
        let inside = group
            .iter()
            .filter(|line| range.contains_range(**line))
            .count();
        if inside == 0 || inside == group.len() {
            continue;
        }
        found.extend(
            group
                .iter()
                .filter(|line| !range.contains_range(**line))
                .copied(),
        );
        for arm in program
            .unit
            .inactive
            .iter()
            .filter(|arm| has_arm(group, **arm))
        {
            if arm.end() <= range.start() || arm.start() >= range.end() {
                found.push(*arm);
            }
        }
    }
    found
}

/// Whether any line begins, continues or ends a conditional: a cheap look before the whole file is read.
fn holds_conditional(text: &str) -> bool {
    text.contains('#')
        && text.lines().any(|line| {
            line.trim_start().strip_prefix('#').is_some_and(|rest| {
                let word: String = rest
                    .trim_start()
                    .chars()
                    .take_while(char::is_ascii_alphabetic)
                    .collect();
                is_conditional(&word)
            })
        })
}

fn is_conditional(name: &str) -> bool {
    matches!(
        name,
        "if" | "ifdef" | "ifndef" | "elif" | "elifdef" | "elifndef" | "else" | "endif"
    )
}

fn conditional_lines(source: &str) -> impl Iterator<Item = TextRange> + '_ {
    pragma::directives(source)
        .into_iter()
        .filter(|line| is_conditional(line.name(source)))
        .map(|line| line.range)
}

/// The lines of each conditional, first to last.
fn groups(source: &str) -> Vec<Vec<TextRange>> {
    let mut open: Vec<Vec<TextRange>> = Vec::new();
    let mut done = Vec::new();
    for line in pragma::directives(source) {
        match line.name(source) {
            "if" | "ifdef" | "ifndef" => open.push(vec![line.range]),
            "endif" => {
                if let Some(mut group) = open.pop() {
                    group.push(line.range);
                    done.push(group);
                }
            }
            name if is_conditional(name) => {
                if let Some(group) = open.last_mut() {
                    group.push(line.range);
                }
            }
            _ => {}
        }
    }
    done
}
