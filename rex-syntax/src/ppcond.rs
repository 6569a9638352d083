//! Conditional compilation: which ranges of a text the preprocessor skips.
//!
//! Evidence from a preprocessed text decides first. Where there is none, conditions are evaluated with the macros that are known; a
//! condition that cannot be known takes its first arm.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use crate::condition::{Lookup, evaluate};
use crate::expansion::{Activity, Expansion, HeaderOrigin};
use crate::lex::{self, significant_tokens, slice};
use crate::macros::MacroDef;
use crate::places;
use crate::pragma::{self, DirectiveLine};
use crate::source::Language;

/// The ranges of a text that the preprocessor skips, in order and disjoint.
///
/// A range runs from after the line that begins the arm to before the line that ends it. `line_of` gives the 1-based line, in the main
/// file of the expansion, of an offset of the text.
pub fn inactive_ranges(
    text: &str,
    language: Language,
    expansion: Option<&Expansion>,
    line_of: impl Fn(TextSize) -> u32,
) -> Vec<TextRange> {
    let lines = pragma::directives(text);
    let groups = group_arms(text, &lines);
    if groups.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut walk = Walk {
        text,
        expansion,
        line_of: &line_of,
        known: Known::new(language, expansion),
        inactive: Vec::new(),
    };
    for (idx, line) in lines.iter().enumerate() {
        if walk.is_inactive(line.range) {
            continue;
        }
        match &groups[idx] {
            Some(arms) => walk.decide(arms),
            None => walk.known.see(text, *line),
        }
    }
    walk.inactive
}

/// The lines of a text that begin, continue and end conditionals.
#[derive(Clone, Debug, Default)]
pub struct Conditionals {
    /// In source order, each with its group.
    lines: Vec<(TextRange, Option<usize>)>,
    /// The lines of each conditional that ends, first to last.
    groups: Vec<Vec<TextRange>>,
}

impl Conditionals {
    /// Finds them.
    pub fn of(text: &str) -> Conditionals {
        let mut found = Conditionals::default();
        let mut open: Vec<Vec<usize>> = Vec::new();
        for line in pragma::directives(text) {
            let name = line.name(text);
            if !is_conditional(name) {
                continue;
            }
            let idx = found.lines.len();
            found.lines.push((line.range, None));
            if begins_conditional(name) {
                open.push(Vec::new());
            }
            let Some(group) = open.last_mut() else {
                continue;
            };
            group.push(idx);
            if name == "endif" {
                let members = open.pop().unwrap_or_default();
                let group = found.groups.len();
                let ranges = members.into_iter().map(|idx| {
                    found.lines[idx].1 = Some(group);
                    found.lines[idx].0
                });
                let ranges = ranges.collect();
                found.groups.push(ranges);
            }
        }
        found
    }

    /// The lines that are whole in a range, in source order.
    pub fn lines_in(&self, range: TextRange) -> impl Iterator<Item = TextRange> + '_ {
        self.inside(range).map(|(line, _)| *line)
    }

    /// The lines of each conditional that a range holds a part of, in the order of their ends.
    pub fn split_by(&self, range: TextRange) -> impl Iterator<Item = &[TextRange]> {
        let mut n_inside: BTreeMap<usize, usize> = BTreeMap::new();
        for group in self.inside(range).filter_map(|(_, group)| *group) {
            *n_inside.entry(group).or_default() += 1;
        }
        let groups = n_inside.into_iter();
        groups
            .map(|(group, n_inside)| (self.groups[group].as_slice(), n_inside))
            .filter(|(lines, n_inside)| *n_inside < lines.len())
            .map(|(lines, _)| lines)
    }

    fn inside(&self, range: TextRange) -> impl Iterator<Item = &(TextRange, Option<usize>)> {
        places::inside(&self.lines, range, |(line, _)| *line)
    }
}

fn begins_conditional(name: &str) -> bool {
    matches!(name, "if" | "ifdef" | "ifndef")
}

fn is_conditional(name: &str) -> bool {
    begins_conditional(name) || matches!(name, "elif" | "elifdef" | "elifndef" | "else" | "endif")
}

/// One arm of a conditional.
#[derive(Clone, Copy, Debug)]
struct Arm {
    line: DirectiveLine,
    body: TextRange,
}

/// For each directive line that begins a conditional, its arms.
fn group_arms(text: &str, lines: &[DirectiveLine]) -> Vec<Option<Vec<Arm>>> {
    let mut groups: Vec<Option<Vec<Arm>>> = vec![None; lines.len()];
    let mut open: Vec<usize> = Vec::new();
    for (idx, line) in lines.iter().enumerate() {
        let arm = Arm {
            line: *line,
            body: TextRange::new(line.range.end(), TextSize::of(text)),
        };
        let name = line.name(text);
        if begins_conditional(name) {
            open.push(idx);
            groups[idx] = Some(vec![arm]);
            continue;
        }
        let Some(arms) = open.last().and_then(|&first| groups[first].as_mut()) else {
            continue;
        };
        let ends_arm = is_conditional(name);
        if let Some(last) = arms.last_mut().filter(|_| ends_arm) {
            last.body = TextRange::new(last.body.start(), line.range.start());
        }
        match name {
            "endif" => {
                open.pop();
            }
            _ if ends_arm => arms.push(arm),
            _ => {}
        }
    }
    groups
}

struct Walk<'t> {
    text: &'t str,
    expansion: Option<&'t Expansion>,
    line_of: &'t dyn Fn(TextSize) -> u32,
    known: Known<'t>,
    /// Sorted, disjoint.
    inactive: Vec<TextRange>,
}

impl Walk<'_> {
    fn is_inactive(&self, range: TextRange) -> bool {
        let idx = self
            .inactive
            .partition_point(|skipped| skipped.end() <= range.start());
        self.inactive
            .get(idx)
            .is_some_and(|skipped| skipped.contains_range(range))
    }

    fn decide(&mut self, arms: &[Arm]) {
        let proven = arms
            .iter()
            .position(|arm| self.evidence(arm) == Activity::Active);
        let taken = proven.or_else(|| self.evaluated(arms));
        for (idx, arm) in arms.iter().enumerate() {
            if Some(idx) != taken {
                let start = arm.body.start();
                let idx = self
                    .inactive
                    .partition_point(|skipped| skipped.start() < start);
                self.inactive.insert(idx, arm.body);
            }
        }
    }

    /// What the preprocessed text shows of an arm.
    fn evidence(&self, arm: &Arm) -> Activity {
        let Some(expansion) = self.expansion else {
            return Activity::Unknown;
        };
        let first = (self.line_of)(arm.body.start()) + 1;
        let end = (self.line_of)(arm.body.end());
        if expansion.any_active(first..end) {
            Activity::Active
        } else if significant_tokens(self.text, arm.body).next().is_none() {
            Activity::Unknown
        } else {
            expansion.is_active(first)
        }
    }

    /// The arm that the conditions choose, as far as they can be known.
    fn evaluated(&self, arms: &[Arm]) -> Option<usize> {
        arms.iter().position(|arm| {
            let line = (self.line_of)(arm.line.range.start());
            let lookup = |name: &str| self.known.lookup(name, line);
            let condition = slice(self.text, arm.line.rest);
            let is_defined = || match significant_tokens(condition, lex::whole(condition)).next() {
                Some(name) => lookup(name.text(condition)).is_defined(),
                None => None,
            };
            let value = match arm.line.name(self.text) {
                "ifdef" | "elifdef" => is_defined(),
                "ifndef" | "elifndef" => is_defined().map(|defined| !defined),
                "else" => Some(true),
                _ => evaluate(condition, &lookup).map(|value| value != 0),
            };
            // Text that left no trace was skipped, whatever its condition means.
            value.unwrap_or_else(|| self.evidence(arm) != Activity::Inactive)
        })
    }
}

/// The macros that conditions may ask about.
struct Known<'t> {
    language: Language,
    /// Definitions and ends of definitions of headers and main file, by the line of the main file that caused them.
    expansion: Option<&'t Expansion>,
    from_expansion: FxHashMap<&'t str, Vec<usize>>,
    /// Definitions of the text, where there is no expansion.
    from_text: FxHashMap<SmolStr, Option<MacroDef>>,
}

impl<'t> Known<'t> {
    fn new(language: Language, expansion: Option<&'t Expansion>) -> Known<'t> {
        let mut from_expansion: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        if let Some(expansion) = expansion {
            for (idx, define) in expansion.defines().iter().enumerate() {
                if let Some(name) = define.name(expansion.text()) {
                    from_expansion.entry(name).or_default().push(idx);
                }
            }
        }
        Known {
            language,
            expansion,
            from_expansion,
            from_text: FxHashMap::default(),
        }
    }

    /// Takes notice of an active directive line.
    fn see(&mut self, text: &str, line: DirectiveLine) {
        let is_define = match line.name(text) {
            "define" => true,
            "undef" => false,
            _ => return,
        };
        if let Some(def) = MacroDef::parse(slice(text, line.rest), HeaderOrigin::Main) {
            let name = def.name.clone();
            self.from_text.insert(name, is_define.then_some(def));
        }
    }

    fn lookup(&self, name: &str, line: u32) -> Lookup {
        if let Some(expansion) = self.expansion {
            let events = self.from_expansion.get(name).map_or(&[][..], Vec::as_slice);
            let last = events
                .iter()
                .map(|&idx| &expansion.defines()[idx])
                .rfind(|define| define.main_line < line);
            return match last {
                Some(define) if !define.is_undef => {
                    let rest = slice(expansion.text(), define.rest);
                    MacroDef::parse(rest, HeaderOrigin::Main).map_or(Lookup::Unknown, Lookup::of)
                }
                _ => Lookup::Undefined,
            };
        }
        match self.from_text.get(name) {
            Some(Some(def)) => Lookup::of(def.clone()),
            Some(None) => Lookup::Undefined,
            None => match (name, self.language) {
                ("_OPENMP", _) => Lookup::Object("202111".to_owned()),
                ("__cplusplus", Language::Cxx) => Lookup::Object("201703L".to_owned()),
                ("__cplusplus", Language::C) => Lookup::Undefined,
                ("__CUDACC__" | "__CUDA_ARCH__" | "__HIPCC__" | "_MSC_VER", _) => Lookup::Undefined,
                _ => Lookup::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active_text(text: &str, expansion: Option<&str>) -> String {
        let expansion = expansion.map(|text| Expansion::parse(text.into(), "m.c"));
        let line_of = |offset: TextSize| {
            let before = &text[..usize::from(offset)];
            u32::try_from(before.matches('\n').count() + 1).expect("small")
        };
        let inactive = inactive_ranges(text, Language::C, expansion.as_ref(), line_of);
        let mut out = String::new();
        for (at, c) in text.char_indices() {
            let at = TextSize::try_from(at).expect("small");
            if !inactive.iter().any(|range| range.contains(at)) {
                out.push(c);
            }
        }
        out.lines()
            .filter(|line| !line.starts_with('#'))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn known_conditions_are_evaluated() {
        let text = "#if 0\na\n#elif 1\nb\n#else\nc\n#endif\n#define X 3\n#if defined(X) && X > 2\nd\n#else\ne\n#endif";
        assert_eq!(active_text(text, None), "b d");
        assert_eq!(
            active_text("#ifdef _OPENMP\na\n#else\nb\n#endif", None),
            "a"
        );
        assert_eq!(active_text("#ifdef __cplusplus\na\n#endif\nb", None), "b");
    }

    #[test]
    fn unknown_conditions_take_the_first_arm() {
        assert_eq!(active_text("#ifdef FAST\na\n#else\nb\n#endif", None), "a");
        assert_eq!(
            active_text("#ifndef GUARD_H\n#define GUARD_H\na\n#endif", None),
            "a"
        );
    }

    #[test]
    fn nested_conditionals_of_skipped_arms_are_not_read() {
        let text = "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif\nd";
        assert_eq!(active_text(text, None), "c d");
    }

    #[test]
    fn evidence_decides() {
        let text = "#ifdef FAST\na\n#else\nb\n#endif\n#if HAVE(2)\nc\n#endif\n";
        assert_eq!(active_text(text, Some("# 1 \"m.c\"\n\n\n\nb\n")), "b");
        assert_eq!(
            active_text(text, Some("# 1 \"m.c\"\n\na\n\n\n\n\nc\n")),
            "a c"
        );
    }

    #[test]
    fn macros_of_headers_count_from_their_include() {
        let expansion = "# 1 \"m.c\"\n# 1 \"h.h\" 1\n#define FAST 1\n# 2 \"m.c\" 2\nx\n";
        let text = "#include \"h.h\"\nx\n#ifdef FAST\n/* a */\n#else\n/* b */\n#endif";
        assert_eq!(active_text(text, Some(expansion)), "x /* a */");
    }

    #[test]
    fn unbalanced_conditionals_end_somewhere() {
        assert_eq!(active_text("#endif\n#else\na\n#if 0\nb", None), "a");
    }
}
