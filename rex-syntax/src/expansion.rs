//! What the host compiler's preprocessor says about one translation unit (`cc -E -dD`).
//!
//! Answers three questions that the raw text cannot: which conditional arms are active, which macros are defined where, and what the
//! headers declare. It reads text that the driver obtained; it runs nothing.

mod marker;
mod read;

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use crate::declarations::{HeaderIndex, Index};
use crate::lex;

pub use marker::Marker;

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
    /// The segments of the main file by their first lines.
    main_segments: OnceLock<FxHashMap<u32, Vec<usize>>>,
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
        let mut text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => crate::source::text_with_escapes(error.as_bytes()),
        };
        text.shrink_to_fit();
        read::Reader::new(text, main_name).read()
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
        self.directives_in_headers()
            .filter(|(_, directive)| directive.split_whitespace().nth(2) == Some("target"))
            .filter_map(|(at, _)| match self.place_of(at) {
                (HeaderOrigin::User { file }, line) => Some((file, line)),
                (HeaderOrigin::Main | HeaderOrigin::System, _) => None,
            })
            .collect()
    }

    /// Headers of the project with directives that concern the device, by the names in their line markers.
    pub fn headers_with_device_directives(&self) -> Vec<SmolStr> {
        let concerns_device = |directive: &str| {
            let mut words = directive
                .split(|c: char| c.is_whitespace() || c == '(')
                .filter(|word| !word.is_empty())
                .skip(2);
            match words.next() {
                // Those that stand for other text are not known to every host compiler.
                Some("target" | "metadirective" | "dispatch") => true,
                Some("declare") => matches!(
                    words.next(),
                    Some("target" | "mapper" | "reduction" | "variant")
                ),
                Some("begin") => {
                    words.next() == Some("declare")
                        && matches!(words.next(), Some("target" | "variant"))
                }
                _ => false,
            }
        };
        let mut found: Vec<SmolStr> = Vec::new();
        for (at, directive) in self.directives_in_headers() {
            if concerns_device(directive)
                && let (HeaderOrigin::User { file }, _) = self.place_of(at)
                && !found.contains(&file)
            {
                found.push(file);
            }
        }
        found
    }

    /// The directives in headers of the project: where each begins, and its line.
    fn directives_in_headers(&self) -> impl Iterator<Item = (TextSize, &str)> {
        let user = |segment: &&Segment| segment.place == Place::User;
        self.segments.iter().filter(user).flat_map(|segment| {
            let text = lex::slice(&self.text, segment.range);
            text.match_indices("#pragma omp ").map(move |(at, _)| {
                let line = text[at..].lines().next().unwrap_or("");
                let at = TextSize::try_from(at).unwrap_or_default();
                (segment.range.start() + at, line)
            })
        })
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
        let main_segments = self.main_segments.get_or_init(|| {
            let mut by_line: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
            for (idx, segment) in self.segments.iter().enumerate() {
                if segment.place == Place::Main {
                    by_line.entry(segment.first_line).or_default().push(idx);
                }
            }
            by_line
        });
        // Back in the main file, the preprocessor goes on with the next line.
        let ends = main_segments.get(&line.saturating_add(1));
        ends.into_iter().flatten().flat_map(|end| {
            let before = &self.segments[..*end];
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

#[cfg(test)]
mod tests;
