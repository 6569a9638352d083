//! What the host compiler's preprocessor says about one translation unit (`cc -E -dD`).
//!
//! Answers three questions that the raw text cannot: which conditional arms are active, which macros are defined where, and what the
//! headers declare. It reads text that the driver obtained; it runs nothing.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use crate::declarations::{HeaderIndex, Index};
use crate::lex;

/// Whether a line of the main file reached the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Something of the line is in the preprocessed text.
    Active,
    /// Nothing of the line is there: it is in an inactive arm, blank, a comment, or expands to nothing.
    Inactive,
    /// The preprocessed text says nothing about the main file.
    Unknown,
}

/// Which kind of file a piece of preprocessed text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderOrigin {
    /// The main file of the translation unit.
    Main,
    /// A header of the user's project, by the name in its line marker.
    User {
        /// The name in the line marker.
        file: SmolStr,
    },
    /// A header of the system or the compiler, or a definition of the compiler's own.
    System,
}

/// One preprocessed translation unit.
#[derive(Clone, Debug)]
pub struct Expansion {
    text: String,
    /// The text with everything blanked that is no declaration or statement; same length.
    code: String,
    files: Vec<SmolStr>,
    segments: Vec<Segment>,
    defines: Vec<DefineLine>,
    active: LineSet,
    declarations: OnceLock<Index>,
    /// Where lines of the text end.
    line_ends: OnceLock<Vec<TextSize>>,
}

/// A run of lines of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// In the preprocessed text.
    pub(crate) range: TextRange,
    /// 1-based line of the first of them.
    pub(crate) first_line: u32,
    pub(crate) file: u32,
    pub(crate) place: Place,
}

/// [`HeaderOrigin`] without the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Main,
    User,
    System,
}

/// One `#define` or `#undef` that the preprocessor carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefineLine {
    /// What stands after the word `define` or `undef`, in the preprocessed text.
    pub(crate) rest: TextRange,
    pub(crate) is_undef: bool,
    pub(crate) file: u32,
    pub(crate) place: Place,
    /// The line of the main file that caused it: its own line, or that of the `#include`.
    pub(crate) main_line: u32,
}

impl Expansion {
    /// Reads the output of `cc -E -dD`. `main_name` is the name by which the compiler knew the main file.
    ///
    /// It may also be the name of a header of the translation unit, to read that header as a file of its own. When no marker has that
    /// name, the first file that a marker names is the main file.
    pub fn parse(bytes: Vec<u8>, main_name: &str) -> Expansion {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => crate::source::same_length_text(error.as_bytes()),
        };
        Reader::new(text, main_name).read()
    }

    /// Whether a line of the main file (1-based) reached the compiler.
    pub fn is_active(&self, line: u32) -> Activity {
        if self.active.is_empty() {
            Activity::Unknown
        } else if self.active.contains(line) {
            Activity::Active
        } else {
            Activity::Inactive
        }
    }

    /// The preprocessed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the translation unit declares at file and namespace scope, in headers and in the main file.
    ///
    /// The first call scans the preprocessed text; further calls cost nothing.
    pub fn declarations(&self) -> HeaderIndex<'_> {
        let index = self.declarations.get_or_init(|| Index::scan(&self.code));
        HeaderIndex::new(self, index)
    }

    /// The preprocessed text without markers, directives and pragmas; same length as [`Expansion::text`].
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// The origin and the 1-based line of a place in the text.
    pub(crate) fn place_of(&self, at: TextSize) -> (HeaderOrigin, u32) {
        let idx = self
            .segments
            .partition_point(|segment| segment.range.start() <= at);
        let Some(segment) = idx.checked_sub(1).and_then(|idx| self.segments.get(idx)) else {
            return (HeaderOrigin::System, 1);
        };
        let n_lines = self.lines_before(at) - self.lines_before(segment.range.start());
        let line = segment
            .first_line
            .saturating_add(u32::try_from(n_lines).unwrap_or(u32::MAX));
        (self.origin(segment.place, segment.file), line)
    }

    fn lines_before(&self, at: TextSize) -> usize {
        let ends = self.line_ends.get_or_init(|| {
            let ends = self.text.match_indices('\n');
            ends.filter_map(|(end, _)| TextSize::try_from(end).ok())
                .collect()
        });
        ends.partition_point(|end| *end < at)
    }

    /// Directives of target constructs in headers of the project: the header's name and the 1-based line.
    pub fn target_regions_in_headers(&self) -> Vec<(SmolStr, u32)> {
        let mut found = Vec::new();
        for (at, _) in self.text.match_indices("#pragma omp ") {
            let line = self.text[at..].lines().next().unwrap_or("");
            let is_target = line.split_whitespace().nth(2) == Some("target");
            let Ok(at) = TextSize::try_from(at) else {
                continue;
            };
            if is_target && let (HeaderOrigin::User { file }, line) = self.place_of(at) {
                found.push((file, line));
            }
        }
        found
    }

    /// Headers of the project with directives that concern the device, by the names in their line markers.
    pub fn headers_with_device_directives(&self) -> Vec<SmolStr> {
        let mut found: Vec<SmolStr> = Vec::new();
        for (at, _) in self.text.match_indices("#pragma omp ") {
            let line = self.text[at..].lines().next().unwrap_or("");
            let mut words = line
                .split(|c: char| c.is_whitespace() || c == '(')
                .filter(|word| !word.is_empty())
                .skip(2);
            let concerns_device = match words.next() {
                Some("target") => true,
                Some("declare") => matches!(words.next(), Some("target" | "mapper" | "reduction")),
                Some("begin") => words.next() == Some("declare") && words.next() == Some("target"),
                _ => false,
            };
            let Ok(at) = TextSize::try_from(at) else {
                continue;
            };
            if concerns_device
                && let (HeaderOrigin::User { file }, _) = self.place_of(at)
                && !found.contains(&file)
            {
                found.push(file);
            }
        }
        found
    }

    /// The words that the `#include` in this line of the main file (1-based) brings, macros aside. Empty if it only defines macros.
    pub fn words_included_at(&self, line: u32) -> impl Iterator<Item = &str> {
        self.segments_included_at(line)
            .flat_map(|segment| lex::slice(&self.code, segment.range).split_whitespace())
    }

    /// The text that it brings from headers of the project.
    pub fn project_text_included_at(&self, line: u32) -> impl Iterator<Item = &str> {
        self.segments_included_at(line)
            .filter(|segment| segment.place == Place::User)
            .map(|segment| lex::slice(&self.code, segment.range))
    }

    /// The text that headers of the project bring, piece by piece, with the names of the headers.
    pub fn project_text(&self) -> impl Iterator<Item = (SmolStr, &str)> {
        self.segments
            .iter()
            .filter_map(|segment| match self.origin(segment.place, segment.file) {
                HeaderOrigin::User { file } => Some((file, lex::slice(&self.code, segment.range))),
                HeaderOrigin::Main | HeaderOrigin::System => None,
            })
    }

    /// The headers of the project whose text that `#include` brings.
    pub fn headers_included_at(&self, line: u32) -> impl Iterator<Item = SmolStr> {
        self.segments_included_at(line).filter_map(|segment| {
            match self.origin(segment.place, segment.file) {
                HeaderOrigin::User { file } => Some(file),
                HeaderOrigin::Main | HeaderOrigin::System => None,
            }
        })
    }

    /// Whether a header with this name, without folders, was read.
    pub fn reads_header(&self, name: &str) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.rsplit('/').next() == Some(name))
    }

    fn segments_included_at(&self, line: u32) -> impl Iterator<Item = &Segment> {
        // Back in the main file, the preprocessor goes on with the next line.
        let ends = self.segments.iter().enumerate().filter(move |(_, it)| {
            it.place == Place::Main && it.first_line == line.saturating_add(1)
        });
        ends.flat_map(|(end, _)| {
            let before = &self.segments[..end];
            let start = before.iter().rposition(|it| it.place == Place::Main);
            &before[start.map_or(0, |at| at + 1)..]
        })
    }

    pub(crate) fn defines(&self) -> &[DefineLine] {
        &self.defines
    }

    pub(crate) fn origin(&self, place: Place, file: u32) -> HeaderOrigin {
        match place {
            Place::Main => HeaderOrigin::Main,
            Place::System => HeaderOrigin::System,
            Place::User => HeaderOrigin::User {
                file: self.files.get(file as usize).cloned().unwrap_or_default(),
            },
        }
    }

    /// Whether any of these lines of the main file reached the compiler.
    pub(crate) fn any_active(&self, lines: std::ops::Range<u32>) -> bool {
        self.active.any(lines)
    }
}

/// A set of line numbers.
#[derive(Clone, Debug, Default)]
struct LineSet {
    words: Vec<u64>,
}

impl LineSet {
    fn insert(&mut self, line: u32) {
        let word = line as usize / 64;
        // A marker may claim any line; memory follows the lines that exist.
        if word > 1 << 20 {
            return;
        }
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (line % 64);
    }

    fn contains(&self, line: u32) -> bool {
        self.words
            .get(line as usize / 64)
            .is_some_and(|word| word >> (line % 64) & 1 != 0)
    }

    fn any(&self, lines: std::ops::Range<u32>) -> bool {
        let end = lines
            .end
            .min(u32::try_from(self.words.len() * 64).unwrap_or(u32::MAX));
        (lines.start..end).any(|line| self.contains(line))
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

struct Reader {
    expansion: Expansion,
    code: Vec<u8>,
    file_indices: FxHashMap<SmolStr, u32>,
    main: Option<u32>,
    main_name: SmolStr,
    /// The file, place and next line being read.
    file: u32,
    place: Place,
    line: u32,
    /// The last line of the main file that was seen.
    main_line: u32,
    /// The first entry of `defines` that came from the `#include` being read.
    include_start: usize,
    segment_start: usize,
    segment_line: u32,
}

impl Reader {
    fn new(text: String, main_name: &str) -> Reader {
        let quoted = format!("\"{main_name}\"");
        let is_marker = |line: &str| line.starts_with("# ") && line.contains(&quoted);
        let is_named = text.lines().any(is_marker);
        Reader {
            code: text.as_bytes().to_vec(),
            expansion: Expansion {
                text,
                code: String::new(),
                files: Vec::new(),
                segments: Vec::new(),
                defines: Vec::new(),
                active: LineSet::default(),
                declarations: OnceLock::new(),
                line_ends: OnceLock::new(),
            },
            file_indices: FxHashMap::default(),
            main: None,
            main_name: if is_named {
                main_name.into()
            } else {
                SmolStr::default()
            },
            file: 0,
            place: Place::System,
            line: 1,
            main_line: 0,
            include_start: 0,
            segment_start: 0,
            segment_line: 1,
        }
    }

    fn read(mut self) -> Expansion {
        let text = std::mem::take(&mut self.expansion.text);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']);
            if content.starts_with('#') {
                self.code[at..at + content.len()].fill(b' ');
            }
            match content.strip_prefix("# ").and_then(parse_marker) {
                Some(marker) => {
                    self.end_segment(at);
                    self.enter(&marker);
                    self.segment_start = at + line.len();
                    self.segment_line = self.line;
                }
                None => self.content_line(at, content),
            }
            at += line.len();
        }
        self.end_segment(at);
        self.expansion.text = text;
        // Whole lines of blanks between whole lines of text: still UTF-8.
        self.expansion.code = String::from_utf8(self.code).unwrap_or_default();
        self.expansion
    }

    /// Empty ones of the main file say where an `#include` ended: the next text may stand many lines below.
    fn end_segment(&mut self, end: usize) {
        if end > self.segment_start || self.place == Place::Main {
            self.expansion.segments.push(Segment {
                range: lex::range(self.segment_start, end),
                first_line: self.segment_line,
                file: self.file,
                place: self.place,
            });
        }
    }

    fn enter(&mut self, marker: &Marker<'_>) {
        let was_main = self.place == Place::Main;
        let file = self.file_index(marker.name);
        let is_pseudo = marker.name.starts_with('<');
        if self.main.is_none() && !is_pseudo {
            let is_main = self.main_name.is_empty() || marker.name == self.main_name;
            self.main = is_main.then_some(file);
        }
        self.file = file;
        self.line = marker.line;
        self.place = if self.main == Some(file) {
            Place::Main
        } else if marker.is_system || is_pseudo {
            Place::System
        } else {
            Place::User
        };
        match (was_main, self.place == Place::Main) {
            (true, false) => self.include_start = self.expansion.defines.len(),
            (false, true) if marker.is_return && marker.line > 1 => self.return_to_main(marker),
            _ => {}
        }
    }

    /// The line before the one returned to is the `#include`.
    fn return_to_main(&mut self, marker: &Marker<'_>) {
        self.main_line = marker.line - 1;
        self.expansion.active.insert(self.main_line);
        for define in &mut self.expansion.defines[self.include_start..] {
            define.main_line = self.main_line;
        }
    }

    fn file_index(&mut self, name: &str) -> u32 {
        if let Some(&idx) = self.file_indices.get(name) {
            return idx;
        }
        let files = &mut self.expansion.files;
        let idx = u32::try_from(files.len()).unwrap_or(u32::MAX);
        files.push(name.into());
        self.file_indices.insert(name.into(), idx);
        idx
    }

    fn content_line(&mut self, at: usize, content: &str) {
        let in_main = self.place == Place::Main;
        if in_main && !content.trim_start().is_empty() {
            self.main_line = self.line;
            self.expansion.active.insert(self.line);
        }
        let define = content.strip_prefix("#define ").map(|rest| (rest, false));
        let undef = || content.strip_prefix("#undef ").map(|rest| (rest, true));
        if let Some((rest, is_undef)) = define.or_else(undef) {
            let end = at + content.len();
            self.expansion.defines.push(DefineLine {
                rest: lex::range(end - rest.len(), end),
                is_undef,
                file: self.file,
                place: self.place,
                main_line: self.main_line,
            });
        }
        self.line = self.line.saturating_add(1);
    }
}

/// A line marker: `# 12 "name" 1 3`.
struct Marker<'t> {
    line: u32,
    name: &'t str,
    is_return: bool,
    is_system: bool,
}

fn parse_marker(rest: &str) -> Option<Marker<'_>> {
    let (line, rest) = rest.split_once(" \"")?;
    let (name, flags) = rest.rsplit_once('"')?;
    let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
    Some(Marker {
        line: line.parse().ok()?,
        name,
        is_return: has("2"),
        is_system: has("3"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# 0 "m.c"
# 0 "<built-in>"
#define __x86_64__ 1
# 0 "<command-line>"
# 1 "m.c"
#define FIRST 1
# 1 "/usr/include/stdio.h" 1 3 4
#define EOF (-1)
int printf(const char *, ...);
# 13 "m.c" 2
# 1 "own.h" 1
#undef FIRST
int own;
# 15 "m.c" 2

int main() {
# 30 "m.c"
}
"#;

    #[test]
    fn an_include_brings_words_or_only_macros() {
        let text = "# 1 \"a.c\"\nvoid f() {\n# 1 \"m.h\" 1\n#define X 1\n# 3 \"a.c\" 2\n# 1 \"k.h\" 1\nx = 1;\n# 4 \"a.c\" 2\n}\n";
        let expansion = Expansion::parse(text.into(), "a.c");
        assert_eq!(expansion.words_included_at(2).count(), 0);
        assert_eq!(
            expansion.words_included_at(3).collect::<Vec<_>>(),
            ["x", "=", "1;"]
        );
    }

    #[test]
    fn an_include_may_have_blank_lines_behind_it() {
        let text = "# 1 \"a.c\"\n# 1 \"k.h\" 1\nx = 1;\n# 2 \"a.c\" 2\n# 15 \"a.c\"\nint y;\n";
        let expansion = Expansion::parse(text.into(), "a.c");
        assert_eq!(
            expansion.words_included_at(1).collect::<Vec<_>>(),
            ["x", "=", "1;"]
        );
    }

    #[test]
    fn lines_of_the_main_file_are_evidence() {
        let expansion = Expansion::parse(TEXT.into(), "m.c");
        let active: Vec<u32> = (0..40)
            .filter(|&line| expansion.is_active(line) == Activity::Active)
            .collect();
        assert_eq!(active, [1, 12, 14, 16, 30]);
    }

    #[test]
    fn defines_know_the_include_that_brought_them() {
        let expansion = Expansion::parse(TEXT.into(), "other-name.c");
        let found: Vec<_> = expansion
            .defines()
            .iter()
            .map(|define| {
                (
                    lex::slice(TEXT, define.rest),
                    define.place,
                    define.main_line,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("__x86_64__ 1", Place::System, 0),
                ("FIRST 1", Place::Main, 1),
                ("EOF (-1)", Place::System, 12),
                ("FIRST", Place::User, 14),
            ]
        );
    }

    #[test]
    fn a_header_can_be_the_main_file() {
        let text = "# 1 \"m.c\"\n#define A 1\n# 1 \"own.h\" 1\n#define B A\nint own;\n# 3 \"m.c\" 2\nint x;\n";
        let expansion = Expansion::parse(text.into(), "own.h");
        assert_eq!(expansion.is_active(2), Activity::Active);
        assert_eq!(expansion.is_active(3), Activity::Inactive);
        let lines: Vec<u32> = expansion
            .defines()
            .iter()
            .map(|define| define.main_line)
            .collect();
        assert_eq!(lines, [0, 1]);
    }
}
