//! Headers of the project whose text has to be lowered: written in place of their `#include` lines.
//!
//! A header with target regions, or with functions that device code calls, is lowered as a part of the file that includes it. It is written where the preprocessor read
//! it, and nowhere else. The text keeps its include guards, so that a later `#include` of the same header finds them. A header in which nothing changed is included again in the host file.

mod headers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rex_syntax::diag::Diagnostic;
use rex_syntax::pragma::directives;
use rex_syntax::source::{FileId, FileRange, SourceFile, SourceMap};
use rex_syntax::{TextRange, TextSize};

use crate::account::Account;
pub(crate) use headers::Headers;
use headers::{LineKind, Plan, Text};

/// A file with the text of some of its headers in it.
#[derive(Debug, Default)]
pub(crate) struct Spliced {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// The headers whose text is in it.
    headers: Vec<(PathBuf, Vec<u8>)>,
    pieces: Vec<Piece>,
    /// What stands in place of `#include` lines of the file itself.
    inserted: Vec<Inserted>,
    /// Where the text of each header begins that is read once.
    once: BTreeMap<PathBuf, usize>,
}

/// The text of a header and of those that it includes.
#[derive(Debug)]
struct Inserted {
    range: Range<usize>,
    /// The line that it stands for.
    include: Vec<u8>,
    /// Whether a header is not in it because its text stands before, where it no longer says that it is to be read once.
    lacks_earlier: bool,
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

/// Where text is written from.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Which time that a file was read.
    inclusion: usize,
    /// Index into the headers written; `None` is the file itself.
    header: Option<usize>,
    /// The folder of the file, as an `#include` in the file itself would name it.
    prefix: &'a Path,
}

/// What is written in place of a line.
enum Instead {
    Nothing,
    Text(String),
    /// A header, by the time that it was read.
    Header(usize),
}

impl Spliced {
    /// Writes the wanted headers into a file. `None` if no line of it includes one.
    pub(crate) fn new(headers: &Headers<'_>, wanted: &BTreeSet<PathBuf>) -> Option<Spliced> {
        let mut spliced = Spliced::default();
        let place = Place {
            inclusion: 0,
            header: None,
            prefix: Path::new(""),
        };
        spliced.write(headers, &headers.plan(wanted), place);
        (!spliced.headers.is_empty()).then_some(spliced)
    }

    fn write(&mut self, headers: &Headers<'_>, plan: &Plan, place: Place<'_>) {
        let Place {
            inclusion,
            header,
            prefix,
        } = place;
        let Some(Text { file, lines, .. }) = headers.text(inclusion) else {
            return;
        };
        let mut copied = 0;
        for (idx, line) in lines.iter().enumerate() {
            let Some(instead) = self.instead_of(headers, plan, place, idx) else {
                continue;
            };
            self.copy(file, header, copied..line.range.start);
            copied = line.range.end;
            match instead {
                Instead::Nothing => {}
                Instead::Text(text) => self.bytes.extend(text.bytes()),
                Instead::Header(inner) => {
                    let start = self.bytes.len();
                    if header.is_none() {
                        self.inserted.push(Inserted {
                            range: start..start,
                            include: file.bytes()[line.range.clone()].to_vec(),
                            lacks_earlier: false,
                        });
                    }
                    let name = match headers.name_by_folder(inclusion, idx) {
                        Some(name) => prefix.join(name),
                        None => headers.name_from_afar(inner),
                    };
                    let prefix = name.parent().unwrap_or(Path::new(""));
                    self.write_header(headers, plan, inner, prefix);
                    if header.is_none()
                        && let Some(inserted) = self.inserted.last_mut()
                    {
                        inserted.range.end = self.bytes.len();
                    }
                }
            }
        }
        self.copy(file, header, copied..file.text().len());
    }

    fn write_header(
        &mut self,
        headers: &Headers<'_>,
        plan: &Plan,
        inclusion: usize,
        prefix: &Path,
    ) {
        let Some(text) = headers.text(inclusion) else {
            return;
        };
        let bytes = text.file.bytes().to_vec();
        self.headers
            .push((headers.path(inclusion).to_owned(), bytes));
        if plan.needs_once(&text.real_path) {
            let start = self.bytes.len();
            self.once.insert(text.real_path.clone(), start);
        }
        let place = Place {
            inclusion,
            header: Some(self.headers.len() - 1),
            prefix,
        };
        self.write(headers, plan, place);
    }

    /// What to write in place of a line that brings a header. `None` if the line stays.
    fn instead_of(
        &mut self,
        headers: &Headers<'_>,
        plan: &Plan,
        place: Place<'_>,
        idx: usize,
    ) -> Option<Instead> {
        let name = match &headers.text(place.inclusion)?.lines.get(idx)?.kind {
            LineKind::Once => return place.header.map(|_| Instead::Nothing),
            LineKind::Include(name) => name,
        };
        let included = headers.included_at(place.inclusion, idx);
        if let Some(inner) = included.filter(|inner| plan.needs(*inner)) {
            return Some(Instead::Header(inner));
        }
        let found = name.as_ref().and_then(|name| name.found.as_ref());
        if let Some(start) = found.and_then(|found| self.once.get(found)) {
            if let (Some(_), Some(inserted)) = (place.header, self.inserted.last_mut()) {
                inserted.lacks_earlier |= *start < inserted.range.start;
            }
            return Some(Instead::Nothing);
        }
        // The lowered file looks for headers in other folders than this header does.
        let name = headers.name_by_folder(place.inclusion, idx)?;
        let is_elsewhere = place.header.is_some() && place.prefix != Path::new("");
        is_elsewhere.then(|| {
            let name = place.prefix.join(name);
            Instead::Text(format!("#include \"{}\"", name.display()))
        })
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
            .map(|Inserted { range, .. }| TextRange::new(offset(range.start), offset(range.end)))
            .collect()
    }

    /// Includes the headers again in which lowering changed nothing.
    pub(crate) fn restore(&self, host: &[u8]) -> Vec<u8> {
        let mut host = host.to_vec();
        for Inserted { range, include, .. } in self
            .inserted
            .iter()
            .filter(|inserted| !inserted.lacks_earlier)
        {
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

fn find_all<'a>(host: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let windows = if text.is_empty() { 1 } else { text.len() };
    host.windows(windows)
        .enumerate()
        .filter(move |(_, window)| *window == text)
        .map(|(at, _)| at)
}
