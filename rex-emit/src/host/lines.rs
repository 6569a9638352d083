//! The lines of code around a construct, for the indentation of what has no statement.

use rex_syntax::{TextRange, TextSize};

/// Where the lines of a text begin that have code.
pub(super) struct CodeLines {
    starts: Vec<TextSize>,
}

impl CodeLines {
    pub(super) fn of(source: &str) -> CodeLines {
        let mut starts = Vec::new();
        let mut start = TextSize::new(0);
        for line in source.split_inclusive('\n') {
            if is_code(line) {
                starts.push(start);
            }
            start += TextSize::of(line);
        }
        CodeLines { starts }
    }

    /// The indentation of the code before a place: of the line above, or below if a block opens above.
    pub(super) fn indent_around<'t>(&self, source: &'t str, range: TextRange) -> &'t str {
        let (head, tail) = (
            &source[..range.start().into()],
            &source[range.end().into()..],
        );
        let own = head.rfind('\n').map_or(0, |at| at + 1);
        let rest = tail.lines().next().unwrap_or_default();
        let line = |start: &TextSize| source[usize::from(*start)..].lines().next();
        let n_before = self
            .starts
            .partition_point(|start| usize::from(*start) < own);
        let n_up_to = self.starts.partition_point(|start| *start < range.end());
        let above = || self.starts[..n_before].last().and_then(line);
        let below = || self.starts.get(n_up_to).and_then(line);
        let before = Some(&head[own..])
            .filter(|line| is_code(line))
            .or_else(above);
        let after = Some(rest).filter(|line| is_code(line)).or_else(below);
        let lines = match before {
            Some(line) if line.trim_end().ends_with(['{', ':']) => [after, before],
            _ => [before, after],
        };
        let line = lines.into_iter().flatten().next().unwrap_or_default();
        &line[..line.len() - line.trim_start().len()]
    }
}

fn is_code(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}
