//! Lines of a generated function, which is printed twice: with its directives, and as the sequential program it must equal.

use std::fmt::Write;

/// Who reads a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Both,
    Offloaded,
    Sequential,
}

/// Statements and directives.
#[derive(Default)]
pub(crate) struct Code {
    lines: Vec<(Reader, usize, String)>,
    depth: usize,
}

impl Code {
    pub(crate) fn line(&mut self, text: impl Into<String>) {
        self.only(Reader::Both, text);
    }

    /// A line for one reader.
    pub(crate) fn only(&mut self, reader: Reader, text: impl Into<String>) {
        self.lines.push((reader, self.depth, text.into()));
    }

    /// A declaration at the start of the function.
    pub(crate) fn declare(&mut self, text: impl Into<String>) {
        self.lines.insert(1, (Reader::Both, 1, text.into()));
    }

    /// A directive of OpenMP without its `#pragma omp`.
    pub(crate) fn directive(&mut self, text: &str) {
        let text = format!("#pragma omp {}", text.trim());
        self.lines.push((Reader::Offloaded, 0, text));
    }

    /// Begins a block; `head` may be empty.
    pub(crate) fn open(&mut self, head: &str) {
        self.line(format!("{head} {{").trim_start());
        self.depth += 1;
    }

    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// The lines for one reader.
    pub(crate) fn print(&self, reader: Reader) -> String {
        let mut out = String::new();
        for (only, depth, text) in &self.lines {
            if *only == Reader::Both || *only == reader {
                // Writing to a string does not fail.
                let _ = writeln!(out, "{:1$}{text}", "", 2 * depth);
            }
        }
        out
    }
}
