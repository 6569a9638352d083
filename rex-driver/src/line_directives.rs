//! `#line` in a file of the user's: where its lines pretend to be, and where they are.
//!
//! Generators write them (`#line 12 "grammar.y"`). Compilers then speak of other files, and the preprocessor's line markers do, too; rex
//! speaks of the file itself.

use rex_syntax::expansion::Marker;
use rex_syntax::lex::{TokenKind, significant_tokens};
use rex_syntax::pragma::directives;

/// The directives of a file, in order.
#[derive(Debug)]
pub(crate) struct LineDirectives<'t> {
    all: Vec<LineDirective<'t>>,
    main_name: &'t str,
}

#[derive(Clone, Copy, Debug)]
struct LineDirective<'t> {
    /// The 1-based number of the line behind it.
    next_line: usize,
    /// What that line's number is said to be.
    number: usize,
    /// The name that stands there or in the last directive with one.
    name: &'t str,
}

impl<'t> LineDirectives<'t> {
    /// Those of a text that line markers call `main_name`.
    pub(crate) fn of(text: &'t str, main_name: &'t str) -> LineDirectives<'t> {
        let mut all = Vec::new();
        let (mut line, mut counted, mut name) = (1, 0, main_name);
        for directive in directives(text) {
            if !matches!(directive.name(text), "line" | "") {
                continue;
            }
            let mut words = significant_tokens(text, directive.rest);
            let number = words.next().filter(|it| it.kind == TokenKind::Number);
            let Some(number) = number.and_then(|it| it.text(text).parse().ok()) else {
                continue;
            };
            if let Some(named) = words.next() {
                name = named.text(text).trim_matches('"');
            }
            let end = usize::from(directive.range.end());
            line += text[counted..end].matches('\n').count();
            counted = end;
            all.push(LineDirective {
                next_line: line + 1,
                number,
                name,
            });
        }
        LineDirectives { all, main_name }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The name and number that a 1-based line is said to have.
    pub(crate) fn pretended(&self, line: usize) -> (&'t str, usize) {
        let before = self.all.partition_point(|it| it.next_line <= line);
        match before.checked_sub(1).map(|last| &self.all[last]) {
            Some(last) => (last.name, last.number + (line - last.next_line)),
            None => (self.main_name, line),
        }
    }

    /// An expansion of the file whose markers say where its lines are.
    pub(crate) fn undone(&self, expansion: &str) -> String {
        let mut undone = String::with_capacity(expansion.len());
        // How many headers are open, which directive was the last, and the last line that was told of.
        let (mut depth, mut last, mut line) = (0_usize, None, 0);
        for text in expansion.split_inclusive('\n') {
            let Some(marker) = Marker::parse(text.trim_end()).filter(|it| !it.is_pseudo()) else {
                if let Some(marker) = Marker::parse(text.trim_end()) {
                    depth -= usize::from(marker.leaves).min(depth);
                }
                undone.push_str(text);
                line += usize::from(depth == 0);
                continue;
            };
            depth += usize::from(marker.enters);
            depth -= usize::from(marker.leaves).min(depth);
            if depth > 0 || marker.enters {
                undone.push_str(text);
                continue;
            }
            let place = self.place(&marker, last, line);
            (last, line) = place.unwrap_or((last, line));
            let flags = text.rsplit_once('"').map_or("\n", |(_, flags)| flags);
            undone.push_str(&match place {
                Some((_, line)) => format!("# {line} \"{}\"{flags}", self.main_name),
                None => text.to_owned(),
            });
        }
        undone
    }

    /// The directive in force at a marker, and the line that it speaks of.
    fn place(
        &self,
        marker: &Marker<'_>,
        last: Option<usize>,
        line: usize,
    ) -> Option<(Option<usize>, usize)> {
        let number = usize::try_from(marker.line).ok()?;
        let (name, first, pretended) = match last.map(|last| self.all[last]) {
            Some(directive) => (directive.name, directive.next_line, directive.number),
            None => (self.main_name, 1, 1),
        };
        let from = last.map_or(0, |last| last + 1);
        let end = self.all.get(from).map_or(usize::MAX, |it| it.next_line);
        let same = (number + first).saturating_sub(pretended);
        if marker.name == name && (line..end).contains(&same) {
            return Some((last, same));
        }
        let is_said = |it: &&LineDirective<'_>| it.number == number && it.name == marker.name;
        let next = self.all[from..].iter().position(|it| is_said(&it));
        match next {
            Some(next) => Some((Some(from + next), self.all[from + next].next_line)),
            None => (marker.name == name).then_some((last, same)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "int a;\n#line 30 \"x.y\"\nint b;\n#include \"h.h\"\n\nint c;\n#line 4 \"a.c\"\nint d;\n";

    #[test]
    fn lines_are_where_the_directives_say() {
        let lines = LineDirectives::of(TEXT, "a.c");
        let places: Vec<_> = (1..9).map(|line| lines.pretended(line)).collect();
        assert_eq!(places[0], ("a.c", 1));
        assert_eq!(places[2], ("x.y", 30));
        assert_eq!(places[5], ("x.y", 33));
        assert_eq!(places[7], ("a.c", 4));
    }

    #[test]
    fn markers_lead_back_to_the_file() {
        let expansion = "# 1 \"a.c\"\nint a;\n# 30 \"x.y\"\nint b;\n# 1 \"h.h\" 1\nint h;\n# 32 \"x.y\" 2\n\nint c;\n# 4 \"a.c\"\nint d;\n";
        let undone = LineDirectives::of(TEXT, "a.c").undone(expansion);
        let expected = "# 1 \"a.c\"\nint a;\n# 3 \"a.c\"\nint b;\n# 1 \"h.h\" 1\nint h;\n# 5 \"a.c\" 2\n\nint c;\n# 8 \"a.c\"\nint d;\n";
        assert_eq!(undone, expected);
    }
}
