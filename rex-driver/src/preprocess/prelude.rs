//! What the first lines of a file expand to, kept for the next file that begins alike.
//!
//! Most of the preprocessor's time goes into headers that many files of a run include first. A second file whose directives there, flags and compiler
//! are the same is preprocessed from the macros that those lines left in force; its text is put behind theirs. Where the two ways could differ the
//! whole file is preprocessed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rex_syntax::TextRange;
use rex_syntax::expansion::Marker;
use rex_syntax::lex;
use rex_syntax::pragma::directives;

/// Preludes kept at a time. One of C++ takes half a megabyte.
const MAX_KEPT: usize = 16;

/// Words with whose help a text can see more of where it stands and of what is before it than the macros in force.
const SEES_MORE: [&str; 6] = [
    "__COUNTER__",
    "__BASE_FILE__",
    "__TIMESTAMP__",
    "__has_include(\"",
    "push_macro",
    "pop_macro",
];

fn sees_more(text: &str) -> bool {
    SEES_MORE.iter().any(|word| text.contains(word))
}

/// The preludes of a run, the last used first.
#[derive(Debug, Default)]
pub(super) struct Preludes {
    kept: Mutex<VecDeque<Arc<Prelude>>>,
}

impl Preludes {
    pub(super) fn find(&self, key: &Key) -> Option<Arc<Prelude>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let idx = kept.iter().position(|prelude| prelude.key == *key)?;
        let found = kept.remove(idx)?;
        kept.push_front(Arc::clone(&found));
        Some(found)
    }

    pub(super) fn keep(&self, prelude: Prelude) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().all(|known| known.key != prelude.key) {
            kept.push_front(Arc::new(prelude));
            kept.truncate(MAX_KEPT);
        }
    }
}

/// All that the expansion of a prelude follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The compiler and its arguments.
    pub(super) command: Vec<OsString>,
    /// Where headers in quotes are looked for.
    pub(super) folder: PathBuf,
    /// The directives, one a line.
    pub(super) directives: String,
}

/// The lines of a text up to its last `#include`, if only directives and comments stand there.
#[derive(Debug)]
pub(super) struct Head<'t> {
    text: &'t str,
    name: &'t str,
    /// Where the rest begins: a line's start.
    end: usize,
    /// The first and last line of each directive, 1-based.
    lines: Vec<(u32, u32)>,
    /// The directives, one a line.
    pub(super) directives: String,
}

impl<'t> Head<'t> {
    /// Finds the head of a text that messages call `name`. `None` if the rest depends on more than the macros that it leaves.
    pub(super) fn of(text: &'t str, name: &'t str) -> Option<Head<'t>> {
        let all = directives(text);
        let mut depth = 0_usize;
        let mut includes_inside = false;
        let mut n_directives = 0;
        let mut at = 0.into();
        for (idx, line) in all.iter().enumerate() {
            let gap = TextRange::new(at, line.range.start());
            if lex::significant_tokens(text, gap).next().is_some() {
                break;
            }
            match line.name(text) {
                "include" => includes_inside = true,
                "define" | "undef" | "else" | "elif" | "elifdef" | "elifndef" => {}
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" => depth = depth.checked_sub(1)?,
                _ => break,
            }
            at = line.range.end();
            if depth == 0 && includes_inside {
                n_directives = idx + 1;
                includes_inside = false;
            }
        }
        let (head, rest) = all.split_at(n_directives);
        let end = usize::from(head.last()?.range.end());
        let end = end + text[end..].find('\n')? + 1;
        let may_include =
            |name: &str| matches!(name, "include" | "include_next" | "import" | "embed");
        let is_apart = !rest.iter().any(|line| may_include(line.name(text)))
            && !sees_more(&text[end..])
            && !text[end..].contains("__has_include")
            && !name.contains(['"', '\\', '\n']);
        is_apart.then(|| Head::with(text, name, end, head.iter().map(|line| line.range)))
    }

    fn with(
        text: &'t str,
        name: &'t str,
        end: usize,
        ranges: impl Iterator<Item = TextRange>,
    ) -> Head<'t> {
        let mut head = Head {
            text,
            name,
            end,
            lines: Vec::new(),
            directives: String::new(),
        };
        let (mut line, mut at) = (1, 0);
        for range in ranges {
            let n_lines = |from: usize, to: usize| {
                u32::try_from(text[from..to].matches('\n').count()).unwrap_or(u32::MAX)
            };
            let first = line + n_lines(at, range.start().into());
            line = first + n_lines(range.start().into(), range.end().into());
            at = range.end().into();
            head.lines.push((first, line));
            head.directives.push_str(&text[range]);
            head.directives.push('\n');
        }
        head
    }

    /// The first line behind it.
    fn next_line(&self) -> u32 {
        self.lines.last().map_or(1, |lines| lines.1 + 1)
    }

    /// The directive that a line belongs to.
    fn directive_at(&self, line: u32) -> Option<usize> {
        let idx = self.lines.partition_point(|lines| lines.1 < line);
        (self.lines.get(idx)?.0 <= line).then_some(idx)
    }

    fn marker(&self, line: u32) -> String {
        format!("# {line} \"{}\"", self.name)
    }
}

/// What a head expands to, for any file that has it.
#[derive(Debug)]
pub(super) struct Prelude {
    key: Key,
    pieces: Vec<Piece>,
    /// The lines that bring the macros in force at its end.
    definitions: String,
}

#[derive(Debug)]
enum Piece {
    /// Lines that do not belong to the file: of headers, and of the compiler.
    Elsewhere(String),
    /// The file begins, with this line number and whatever else the marker says.
    Begin(u32, String),
    /// The file goes on behind one of its directives.
    Behind(usize),
    /// A macro definition in the file, by one of its directives.
    Definition(usize, String),
}

impl Prelude {
    /// Cuts the prelude out of the expansion of a whole file.
    pub(super) fn cut(key: Key, head: &Head<'_>, expansion: &str) -> Option<Prelude> {
        let mut cutter = Cutter {
            head,
            quoted_name: format!("\"{}\"", head.name),
            pieces: Vec::new(),
            definitions: String::new(),
            place: Place::Compiler,
            line: 0,
        };
        for line in expansion.split_inclusive('\n') {
            if cutter.place == Place::Main && cutter.line >= head.next_line() {
                return Some(Prelude {
                    key,
                    pieces: cutter.pieces,
                    definitions: cutter.definitions,
                });
            }
            cutter.read(line)?;
        }
        None
    }

    /// The text to preprocess for the rest of a file.
    pub(super) fn rest_of(&self, head: &Head<'_>) -> String {
        let marker = head.marker(head.next_line());
        format!("{}{marker}\n{}", self.definitions, &head.text[head.end..])
    }

    /// The expansion of a whole file, from that of [`Prelude::rest_of`].
    pub(super) fn with_rest(&self, head: &Head<'_>, rest: &[u8]) -> Option<Vec<u8>> {
        let marker = head.marker(head.next_line());
        let starts = |line: &[u8]| line.trim_ascii_end() == marker.as_bytes();
        let mut at = 0;
        for line in rest.split_inclusive(|&byte| byte == b'\n') {
            if starts(line) {
                let mut text = self.render(head).into_bytes();
                text.extend(&rest[at..]);
                return Some(text);
            }
            at += line.len();
        }
        None
    }

    fn render(&self, head: &Head<'_>) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Elsewhere(text) => out.push_str(text),
                Piece::Begin(line, rest) => {
                    out.push_str(&format!("{}{rest}\n", head.marker(*line)));
                }
                Piece::Behind(idx) => {
                    out.push_str(&format!("{} 2\n", head.marker(head.lines[*idx].1 + 1)));
                }
                Piece::Definition(idx, text) => {
                    out.push_str(&format!("{}\n{text}\n", head.marker(head.lines[*idx].0)));
                }
            }
        }
        out
    }
}

/// Whose lines are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Compiler,
    Header,
    Main,
}

struct Cutter<'h> {
    head: &'h Head<'h>,
    quoted_name: String,
    pieces: Vec<Piece>,
    definitions: String,
    place: Place,
    /// In the main file, the number of the next line.
    line: u32,
}

impl Cutter<'_> {
    /// Reads one line. `None` if it says something about the file that another one with this head may not share.
    fn read(&mut self, line: &str) -> Option<()> {
        let content = line.trim_end_matches(['\n', '\r']);
        if let Some(marker) = Marker::parse(content) {
            self.place = match () {
                () if marker.is_pseudo() => Place::Compiler,
                () if marker.name == self.head.name => Place::Main,
                () => Place::Header,
            };
            if self.place == Place::Main {
                self.line = marker.line;
                return self.main_marker(&marker, content);
            }
        } else {
            let is_definition = content.starts_with("#define ") || content.starts_with("#undef ");
            if is_definition && self.place != Place::Compiler {
                self.definitions.push_str(content);
                self.definitions.push('\n');
            }
            if self.place == Place::Main {
                let at = self.line;
                self.line += 1;
                return match content.trim().is_empty() {
                    true => Some(()),
                    false if is_definition => self.definition(at, content),
                    false => None,
                };
            }
            let is_directive = content.starts_with('#');
            if (is_directive && sees_more(content)) || content.contains(&self.quoted_name) {
                return None;
            }
        }
        match self.pieces.last_mut() {
            Some(Piece::Elsewhere(text)) => text.push_str(line),
            _ => self.pieces.push(Piece::Elsewhere(line.to_owned())),
        }
        Some(())
    }

    fn main_marker(&mut self, marker: &Marker<'_>, content: &str) -> Option<()> {
        if marker.line <= 1 {
            let flags = content.rsplit_once('"')?.1.to_owned();
            self.pieces.push(Piece::Begin(marker.line, flags));
        } else if marker.leaves {
            let idx = self.head.directive_at(marker.line - 1)?;
            let ends = self.head.lines[idx].1 + 1 == marker.line;
            ends.then(|| self.pieces.push(Piece::Behind(idx)))?;
        }
        Some(())
    }

    fn definition(&mut self, line: u32, content: &str) -> Option<()> {
        let idx = self.head.directive_at(line)?;
        self.pieces.push(Piece::Definition(idx, content.to_owned()));
        Some(())
    }
}

#[cfg(test)]
mod tests;
