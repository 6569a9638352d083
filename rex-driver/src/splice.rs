//! Headers of the project whose text has to be lowered: written in place of their `#include` lines.
//!
//! A header with target regions, or with functions that device code calls, is lowered as a part of the file that includes it. The text keeps its include guards, so that
//! a later `#include` of the same header finds them. A header in which nothing changed is included again in the host file.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rex_syntax::diag::Diagnostic;
use rex_syntax::pragma::{DirectiveLine, directives};
use rex_syntax::source::{FileId, FileRange, Language, SourceFile, SourceMap};
use rex_syntax::{TextRange, TextSize};

use crate::account::Account;
use crate::build::command::folder_of;

/// Includes inside includes deeper than this stay as they are.
const MAX_DEPTH: usize = 64;

/// A file with the text of some of its headers in it.
#[derive(Debug, Default)]
pub(crate) struct Spliced {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// The headers whose text is in it.
    headers: Vec<(PathBuf, Vec<u8>)>,
    pieces: Vec<Piece>,
    /// What stands in place of `#include` lines of the file itself: where the text is, and the line.
    inserted: Vec<(Range<usize>, Vec<u8>)>,
}

/// A run of bytes that come from one file.
#[derive(Clone, Debug)]
struct Piece {
    range: Range<usize>,
    /// Index into the headers; `None` is the file itself.
    header: Option<usize>,
    /// Where it begins in that file.
    start: usize,
}

/// Where a piece of text comes from.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Index into the headers; `None` is the file itself.
    header: Option<usize>,
    /// The folder of the file.
    folder: &'a Path,
    /// That folder, as an `#include` in the file itself would name it.
    prefix: &'a Path,
}

/// Where headers are looked for, and which are wanted.
pub(crate) struct Search<'a> {
    /// The folders of `-I` and its relatives, in order.
    pub(crate) folders: &'a [PathBuf],
    /// The headers to write out, as the preprocessor names them.
    pub(crate) wanted: &'a BTreeSet<PathBuf>,
    /// Reads a file.
    pub(crate) read: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
}

impl Search<'_> {
    /// The file that an `#include` line names.
    fn find(&self, name: &str, is_quoted: bool, folder: &Path) -> Option<PathBuf> {
        let own = is_quoted.then(|| folder.join(name));
        own.into_iter()
            .chain(self.folders.iter().map(|folder| folder.join(name)))
            .find(|path| path.is_file())
    }

    fn is_wanted(&self, path: &Path) -> bool {
        let same = |wanted: &PathBuf| {
            wanted == path
                || matches!((wanted.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b)
        };
        self.wanted.iter().any(same)
    }

    /// Whether a header or one that it includes is wanted.
    fn leads_to_wanted(&self, path: &Path, seen: &mut BTreeSet<PathBuf>) -> bool {
        if self.is_wanted(path) {
            return true;
        }
        if seen.len() > 4096 || !seen.insert(path.to_owned()) {
            return false;
        }
        let Some(bytes) = (self.read)(path) else {
            return false;
        };
        let file = SourceFile::new("", Language::Cxx, bytes);
        directives(file.text()).iter().any(|line| {
            let included = include_of(file.text(), *line)
                .and_then(|(name, quoted)| self.find(&name, quoted, folder_of(path)));
            included.is_some_and(|included| self.leads_to_wanted(&included, seen))
        })
    }
}

impl Spliced {
    /// Writes the wanted headers into a file. `None` if no line of it includes one.
    pub(crate) fn new(bytes: &[u8], folder: &Path, search: &Search<'_>) -> Option<Spliced> {
        let mut spliced = Spliced::default();
        let file = SourceFile::new("", Language::Cxx, bytes.to_vec());
        let place = Place {
            header: None,
            folder,
            prefix: Path::new(""),
        };
        spliced.write(&file, place, search, &mut Vec::new());
        (!spliced.headers.is_empty()).then_some(spliced)
    }

    fn write(
        &mut self,
        file: &SourceFile,
        place: Place<'_>,
        search: &Search<'_>,
        open: &mut Vec<PathBuf>,
    ) {
        let Place {
            header,
            folder,
            prefix,
        } = place;
        let text = file.text();
        let mut copied = 0;
        for line in directives(text) {
            let range = usize::from(line.range.start())..usize::from(line.range.end());
            if is_pragma_once(text, line) && header.is_some() {
                self.copy(file, header, copied..range.start);
                copied = range.end;
                continue;
            }
            let Some((name, quoted)) = include_of(text, line) else {
                continue;
            };
            let Some(path) = search.find(&name, quoted, folder) else {
                continue;
            };
            let is_open = open.contains(&path) || open.len() >= MAX_DEPTH;
            if is_open || !search.leads_to_wanted(&path, &mut BTreeSet::new()) {
                // A header's own folder is not where the lowered file looks.
                if prefix != Path::new("") && quoted && folder.join(&name).is_file() {
                    self.copy(file, header, copied..range.start);
                    let name = prefix.join(&name);
                    self.bytes
                        .extend(format!("#include \"{}\"", name.display()).bytes());
                    copied = range.end;
                }
                continue;
            }
            let Some(bytes) = (search.read)(&path) else {
                continue;
            };
            self.copy(file, header, copied..range.start);
            copied = range.end;
            let known = self.headers.iter().any(|(known, _)| *known == path);
            let included = SourceFile::new("", Language::Cxx, bytes.clone());
            let has_once = directives(included.text())
                .into_iter()
                .any(|line| is_pragma_once(included.text(), line));
            if known && has_once {
                continue;
            }
            let start = self.bytes.len();
            self.headers.push((path.clone(), bytes));
            let idx = self.headers.len() - 1;
            open.push(path.clone());
            let is_own = quoted && folder.join(&name).is_file();
            let reached = match is_own {
                true => prefix.join(&name),
                false => PathBuf::from(&name),
            };
            let inner = Place {
                header: Some(idx),
                folder: folder_of(&path),
                prefix: reached.parent().unwrap_or(Path::new("")),
            };
            self.write(&included, inner, search, open);
            open.pop();
            if header.is_none() {
                let include = file.bytes()[range].to_vec();
                self.inserted.push((start..self.bytes.len(), include));
            }
        }
        self.copy(file, header, copied..text.len());
    }

    fn copy(&mut self, file: &SourceFile, header: Option<usize>, range: Range<usize>) {
        let start = self.bytes.len();
        self.bytes.extend(&file.bytes()[range.clone()]);
        self.pieces.push(Piece {
            range: start..self.bytes.len(),
            header,
            start: range.start,
        });
    }

    /// Where the text of headers is.
    pub(crate) fn header_ranges(&self) -> Vec<TextRange> {
        let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
        let ranges = self.inserted.iter();
        ranges
            .map(|(range, _)| TextRange::new(offset(range.start), offset(range.end)))
            .collect()
    }

    /// Includes the headers again in which lowering changed nothing.
    pub(crate) fn restore(&self, host: &[u8]) -> Vec<u8> {
        let mut host = host.to_vec();
        for (range, include) in &self.inserted {
            let text = &self.bytes[range.clone()];
            let mut places = find_all(&host, text);
            if let (Some(at), None) = (places.next(), places.next()) {
                drop(places);
                host.splice(at..at + text.len(), include.iter().copied());
            }
        }
        host
    }

    /// Lets diagnostics and accounts point into the files that the user wrote.
    pub(crate) fn place(
        &self,
        original: SourceFile,
        sources: &mut SourceMap,
        diagnostics: &mut [Diagnostic],
        account: &mut Account,
    ) {
        let touched = account.touched.iter();
        account.touched = touched
            .flat_map(|place| self.split(sources.to_written(*place)))
            .collect();
        let language = original.language();
        let included = include_lines(&original);
        let file = sources.add(original);
        let mut headers: Vec<Option<FileId>> = vec![None; self.headers.len()];
        let labels = diagnostics.iter_mut().flat_map(|diagnostic| {
            std::iter::once(&mut diagnostic.primary).chain(&mut diagnostic.secondary)
        });
        let places = labels
            .map(|label| &mut label.at)
            .chain(account.places_mut());
        for place in places {
            let at = sources.to_written(*place);
            let start = usize::from(at.range.start());
            let mut pieces = self.pieces.iter();
            let piece = pieces
                .clone()
                .find(|piece| piece.range.contains(&start))
                .or_else(|| pieces.find(|piece| piece.range.end == start));
            let Some(piece) = piece else { continue };
            let target = match piece.header {
                None => file,
                Some(idx) => *headers[idx].get_or_insert_with(|| {
                    let (path, bytes) = &self.headers[idx];
                    sources.add(SourceFile::new(
                        path.display().to_string(),
                        language,
                        bytes.clone(),
                    ))
                }),
            };
            let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
            let first = start - piece.range.start + piece.start;
            let length = usize::from(at.range.len()).min(piece.range.end - start);
            *place = FileRange {
                file: target,
                range: TextRange::new(offset(first), offset(first + length)),
            };
        }
        let included = included.into_iter().map(|range| FileRange { file, range });
        account.touched.extend(included);
    }

    /// The parts of a place that come from one file each.
    fn split(&self, place: FileRange) -> Vec<FileRange> {
        let (start, end) = (
            usize::from(place.range.start()),
            usize::from(place.range.end()),
        );
        let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
        let ends = self.pieces.iter().map(|piece| piece.range.end);
        let mut cuts: Vec<usize> = ends.filter(|cut| start < *cut && *cut < end).collect();
        cuts.insert(0, start);
        cuts.push(end);
        cuts.windows(2)
            .map(|cut| FileRange {
                file: place.file,
                range: TextRange::new(offset(cut[0]), offset(cut[1])),
            })
            .collect()
    }
}

/// The `#include` lines of a file.
fn include_lines(file: &SourceFile) -> Vec<TextRange> {
    directives(file.text())
        .into_iter()
        .filter(|line| line.name(file.text()) == "include")
        .map(|line| line.range)
        .collect()
}

/// The name in an `#include` line, and whether it stands in quotes.
fn include_of(text: &str, line: DirectiveLine) -> Option<(String, bool)> {
    if line.name(text) != "include" {
        return None;
    }
    let rest = text
        .get(usize::from(line.rest.start())..usize::from(line.rest.end()))?
        .trim();
    let quoted = rest.starts_with('"');
    let close = if quoted { '"' } else { '>' };
    let name = rest.strip_prefix(['"', '<'])?.split(close).next()?;
    Some((name.to_owned(), quoted))
}

fn is_pragma_once(text: &str, line: DirectiveLine) -> bool {
    let rest = text.get(usize::from(line.rest.start())..usize::from(line.rest.end()));
    line.name(text) == "pragma" && rest.is_some_and(|rest| rest.trim() == "once")
}

fn find_all<'a>(host: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let windows = if text.is_empty() { 1 } else { text.len() };
    host.windows(windows)
        .enumerate()
        .filter(move |(_, window)| *window == text)
        .map(|(at, _)| at)
}
