//! The headers of a translation unit, as its preprocessor read them.
//!
//! Line markers tell which `#include` lines were carried out: none in an inactive arm, none of a header that a guard or `#pragma once` keeps from being read again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rex_syntax::expansion::Marker;
use rex_syntax::pragma::directives;
use rex_syntax::source::{Language, SourceFile};

use crate::build::command::folder_of;

/// What the preprocessor read, and where headers are looked for.
pub(crate) struct Headers<'a> {
    /// The folders of `-I` and its relatives, in order.
    folders: &'a [PathBuf],
    /// The first is the main file; others stand behind the one that includes them.
    inclusions: Vec<Inclusion>,
    texts: Vec<Text>,
    /// By the inclusion and the index of a line in its text.
    included: BTreeMap<(usize, usize), usize>,
}

/// One time that a file was read.
struct Inclusion {
    /// As the preprocessor names it.
    path: PathBuf,
    includer: usize,
    /// The 1-based line of that file behind the `#include`. 0 if there is none.
    next_line: u32,
    is_system: bool,
    /// Index into the texts. `None` for headers of the system.
    text: Option<usize>,
}

/// A file that was read, once or more often.
pub(super) struct Text {
    /// Without links.
    pub(super) real_path: PathBuf,
    folder: PathBuf,
    pub(super) file: SourceFile,
    pub(super) lines: Vec<Line>,
}

/// A line that brings a header, or keeps it from being brought again.
pub(super) struct Line {
    pub(super) range: Range<usize>,
    /// 1-based, as `#line` has it.
    number: u32,
    pub(super) kind: LineKind,
}

pub(super) enum LineKind {
    /// `#pragma once`.
    Once,
    /// `#include` of a name, or of what a macro says.
    Include(Option<Name>),
}

/// What stands in quotes or angle brackets.
pub(super) struct Name {
    text: String,
    /// Whether the file stands in the folder of the one that includes it, and is found there.
    is_by_folder: bool,
    /// The file, without links.
    pub(super) found: Option<PathBuf>,
}

/// Which headers have to be written out.
pub(super) struct Plan {
    needed: Vec<bool>,
    /// Those of them with `#pragma once`, without links.
    once: BTreeSet<PathBuf>,
}

impl Plan {
    pub(super) fn needs(&self, inclusion: usize) -> bool {
        self.needed[inclusion]
    }

    pub(super) fn needs_once(&self, path: &Path) -> bool {
        self.once.contains(path)
    }
}

impl<'a> Headers<'a> {
    /// The main file of a translation unit and its headers. `expansion` is its preprocessed text, where the main file has the name `main`.
    pub(crate) fn new(
        main: (&str, &[u8], &Path),
        expansion: &str,
        folders: &'a [PathBuf],
        read: &dyn Fn(&Path) -> Option<Vec<u8>>,
    ) -> Headers<'a> {
        let (name, bytes, folder) = main;
        let mut headers = Headers {
            folders,
            inclusions: inclusions(name, expansion),
            texts: Vec::new(),
            included: BTreeMap::new(),
        };
        headers.inclusions[0].text = Some(headers.add(PathBuf::new(), folder, bytes.to_vec()));
        let mut known = BTreeMap::new();
        for idx in 1..headers.inclusions.len() {
            let inclusion = &headers.inclusions[idx];
            if !inclusion.is_system {
                let path = inclusion.path.clone();
                let text = *known.entry(path.clone()).or_insert_with(|| {
                    let bytes = read(&path)?;
                    Some(headers.add(real_path(&path), folder_of(&path), bytes))
                });
                headers.inclusions[idx].text = text;
            }
            headers.find_line_of(idx);
        }
        headers
    }

    fn add(&mut self, real_path: PathBuf, folder: &Path, bytes: Vec<u8>) -> usize {
        let file = SourceFile::new("", Language::Cxx, bytes);
        let lines = self.lines(file.text(), folder);
        self.texts.push(Text {
            real_path,
            folder: folder.to_owned(),
            file,
            lines,
        });
        self.texts.len() - 1
    }

    fn lines(&self, text: &str, folder: &Path) -> Vec<Line> {
        let (mut number, mut at) = (1u32, 0);
        let mut lines = Vec::new();
        for line in directives(text) {
            let range = usize::from(line.range.start())..usize::from(line.range.end());
            let n_lines = text[at..range.start].matches('\n').count();
            number = number.saturating_add(u32::try_from(n_lines).unwrap_or(u32::MAX));
            at = range.start;
            let rest = &text[usize::from(line.rest.start())..usize::from(line.rest.end())];
            let kind = match line.name(text) {
                "pragma" if rest.trim() == "once" => LineKind::Once,
                "include" => LineKind::Include(self.name(rest.trim(), folder)),
                "line" => {
                    // The line behind this one has that number.
                    let given = rest.split_whitespace().next();
                    let given = given.and_then(|given| given.parse::<u32>().ok());
                    let own = text[range].matches('\n').count() + 1;
                    let own = u32::try_from(own).unwrap_or(u32::MAX);
                    number = given.map_or(number, |given| given.saturating_sub(own));
                    continue;
                }
                _ => continue,
            };
            lines.push(Line {
                range,
                number,
                kind,
            });
        }
        lines
    }

    /// The name behind `#include` in a file of this folder.
    fn name(&self, rest: &str, folder: &Path) -> Option<Name> {
        let is_quoted = rest.starts_with('"');
        let close = if is_quoted { '"' } else { '>' };
        let text = rest.strip_prefix(['"', '<'])?.split(close).next()?;
        let own = folder.join(text);
        let is_by_folder = is_quoted && own.is_file();
        let found = match is_by_folder {
            true => Some(own),
            false => {
                let mut paths = self.folders.iter().map(|folder| folder.join(text));
                paths.find(|path| path.is_file())
            }
        };
        Some(Name {
            text: text.to_owned(),
            is_by_folder,
            found: found.map(|found| real_path(&found)),
        })
    }

    /// Remembers the line that brings an inclusion: the last `#include` before the line where the preprocessor goes on.
    fn find_line_of(&mut self, idx: usize) {
        let Inclusion {
            includer,
            next_line,
            ..
        } = self.inclusions[idx];
        let Some(text) = self.text(includer) else {
            return;
        };
        let is_before =
            |line: &Line| line.number < next_line && matches!(line.kind, LineKind::Include(_));
        if let Some(line) = text.lines.iter().rposition(is_before) {
            self.included.insert((includer, line), idx);
        }
    }

    pub(super) fn text(&self, inclusion: usize) -> Option<&Text> {
        self.texts.get(self.inclusions[inclusion].text?)
    }

    pub(super) fn path(&self, inclusion: usize) -> &Path {
        &self.inclusions[inclusion].path
    }

    /// What a line of a file brings.
    pub(super) fn included_at(&self, inclusion: usize, line: usize) -> Option<usize> {
        self.included.get(&(inclusion, line)).copied()
    }

    /// The name in a line of a file, where it depends on the folder that the file is in.
    pub(super) fn name_by_folder(&self, inclusion: usize, line: usize) -> Option<PathBuf> {
        let Text { folder, lines, .. } = self.text(inclusion)?;
        match &lines.get(line)?.kind {
            LineKind::Include(Some(name)) => name.is_by_folder.then(|| name.text.clone().into()),
            // A macro; the preprocessor knows what it says.
            LineKind::Include(None) => {
                let path = self.path(self.included_at(inclusion, line)?);
                path.strip_prefix(folder).ok().map(Path::to_owned)
            }
            LineKind::Once => None,
        }
    }

    /// A header's path, as an `#include` anywhere would name it.
    pub(super) fn name_from_afar(&self, inclusion: usize) -> PathBuf {
        let path = self.path(inclusion);
        let folders = self.folders.iter();
        let names = folders.filter_map(|folder| path.strip_prefix(folder).ok());
        let shortest = names.min_by_key(|name| name.as_os_str().len());
        shortest.unwrap_or(path).to_owned()
    }

    /// Which headers to write out so that the text of the `wanted` ones is there: them, those that lead to them, and those that name one that can no longer say that
    /// it is to be read once.
    pub(super) fn plan(&self, wanted: &BTreeSet<PathBuf>) -> Plan {
        let wanted: BTreeSet<PathBuf> = wanted.iter().map(|path| real_path(path)).collect();
        let mut once = BTreeSet::new();
        loop {
            let needed = self.needed(&wanted, &once);
            let texts = (0..self.inclusions.len())
                .filter(|idx| needed[*idx])
                .filter_map(|idx| self.text(idx));
            let is_once = |text: &&Text| {
                text.lines
                    .iter()
                    .any(|line| matches!(line.kind, LineKind::Once))
            };
            let all: BTreeSet<PathBuf> = texts
                .filter(is_once)
                .map(|text| text.real_path.clone())
                .collect();
            if all.len() == once.len() {
                return Plan { needed, once };
            }
            once = all;
        }
    }

    fn needed(&self, wanted: &BTreeSet<PathBuf>, once: &BTreeSet<PathBuf>) -> Vec<bool> {
        let mut needed = vec![false; self.inclusions.len()];
        for idx in (1..self.inclusions.len()).rev() {
            let Some(text) = self.text(idx) else { continue };
            let mut lines = text.lines.iter();
            needed[idx] |= wanted.contains(&text.real_path)
                || lines.any(|line| match &line.kind {
                    LineKind::Include(Some(name)) => name
                        .found
                        .as_ref()
                        .is_some_and(|found| once.contains(found)),
                    LineKind::Once | LineKind::Include(None) => false,
                });
            let includer = self.inclusions[idx].includer;
            needed[includer] |= needed[idx] && self.text(includer).is_some();
        }
        needed
    }
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What line markers say.
fn inclusions(main: &str, expansion: &str) -> Vec<Inclusion> {
    let read_by = |includer, path: &str, is_system| Inclusion {
        path: path.into(),
        includer,
        next_line: 0,
        is_system,
        text: None,
    };
    let mut all = vec![read_by(0, main, false)];
    let mut open = Vec::new();
    for marker in expansion.lines().filter_map(Marker::parse) {
        if marker.enters {
            let includer = open.last().copied().unwrap_or(0);
            all.push(read_by(
                includer,
                marker.name,
                marker.is_system || marker.is_pseudo(),
            ));
            open.push(all.len() - 1);
        } else if marker.leaves
            && let Some(idx) = open.pop()
            && !marker.is_pseudo()
        {
            all[idx].next_line = marker.line;
        }
    }
    all
}
