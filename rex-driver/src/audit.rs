//! What rex would do with a tree of sources: which target constructs it lowers, and that it keeps the rest.
//!
//! Lowers every file in memory and writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rex_emit::ArtifactKind;
use rex_syntax::diag::{Code, Severity};
use rex_syntax::source::{FileId, Language};

use crate::account::first_lost_line;
use crate::error::{Error, with_causes};
use crate::session::{Lowered, Session};

/// The audit of one path.
#[derive(Clone, Debug)]
pub struct SuiteAudit {
    /// The file or folder.
    pub path: PathBuf,
    /// Its sources, sorted.
    pub files: Vec<FileAudit>,
}

/// The audit of one file.
#[derive(Clone, Debug)]
pub struct FileAudit {
    /// The file.
    pub path: PathBuf,
    /// Its target constructs, those in headers that are lowered with it included.
    pub constructs: Vec<ConstructAudit>,
    /// How many errors have each code.
    pub errors: BTreeMap<Code, usize>,
    /// What keeps the file from being read as the compiler would.
    pub unread: Option<String>,
    /// Whether the output keeps what it should.
    pub round_trip: RoundTrip,
}

/// One target construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstructAudit {
    /// The file it stands in.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The directive's name.
    pub name: String,
    /// Whether the generated files hold it.
    pub is_lowered: bool,
    /// The codes of the errors in it.
    pub codes: Vec<Code>,
}

/// How a file compares with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundTrip {
    /// It has nothing to lower and comes out byte for byte.
    Identical,
    /// Every line outside constructs and directives comes out, in order.
    Kept,
    /// An error stops the output, so there is nothing to compare.
    Refused,
    /// This line, counted from 1, does not come out.
    Lost(u32),
    /// rex itself failed.
    Failed(String),
}

impl RoundTrip {
    /// Whether it shows a fault of rex.
    pub fn is_fault(&self) -> bool {
        matches!(self, RoundTrip::Lost(_) | RoundTrip::Failed(_))
    }
}

impl SuiteAudit {
    /// All target constructs.
    pub fn constructs(&self) -> impl Iterator<Item = &ConstructAudit> {
        self.files.iter().flat_map(|file| &file.constructs)
    }

    /// How many constructs there are, and how many of them are lowered.
    pub fn counts(&self) -> (usize, usize) {
        let lowered = |construct: &&ConstructAudit| construct.is_lowered;
        (
            self.constructs().count(),
            self.constructs().filter(lowered).count(),
        )
    }
}

/// Audits the C and C++ sources of files and folders.
///
/// # Errors
/// [`Error::Io`] for a path that cannot be read.
pub fn audit(session: &Session, paths: &[PathBuf]) -> Result<Vec<SuiteAudit>, Error> {
    paths
        .iter()
        .map(|path| {
            let sources = sources(path)?;
            let files = sources
                .par_iter()
                .map(|source| audit_file(session, source))
                .collect();
            Ok(SuiteAudit {
                path: path.clone(),
                files,
            })
        })
        .collect()
}

/// The sources below a path, sorted; those in hidden folders are left out.
fn sources(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let meta = fs::metadata(&path).map_err(Error::io("read", &path))?;
        if meta.is_file() {
            found.push(path);
            continue;
        }
        let entries = fs::read_dir(&path).map_err(Error::io("read", &path))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link may lead back to where it stands.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_source = || entry.path().is_file() && Language::from_file_name(&name).is_some();
            if !name.starts_with('.') && (is_folder || is_source()) {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn audit_file(session: &Session, path: &Path) -> FileAudit {
    let mut audit = FileAudit {
        path: path.to_owned(),
        constructs: Vec::new(),
        errors: BTreeMap::new(),
        unread: None,
        round_trip: RoundTrip::Refused,
    };
    let lowered = match session.lower_by_name(path) {
        Ok(lowered) => lowered,
        Err(error) => {
            audit.round_trip = RoundTrip::Failed(with_causes(&error));
            return audit;
        }
    };
    let compilation = &lowered.compilation;
    for diagnostic in &compilation.diagnostics {
        if diagnostic.severity == Severity::Error {
            *audit.errors.entry(diagnostic.code).or_default() += 1;
        }
        if diagnostic.code == Code::NoPreprocessor {
            audit.unread = Some(diagnostic.notes.join("\n"));
        }
    }
    for construct in &compilation.account.constructs {
        let file = compilation.sources.file(construct.at.file);
        audit.constructs.push(ConstructAudit {
            file: file.name().to_owned(),
            line: file.line(construct.at.range.start()),
            name: construct.name.clone(),
            is_lowered: construct.is_lowered,
            codes: construct.obstacles.clone(),
        });
    }
    audit.round_trip = round_trip(&lowered);
    audit
}

fn round_trip(lowered: &Lowered) -> RoundTrip {
    let compilation = &lowered.compilation;
    let artifacts = compilation.artifacts.as_ref();
    let host = artifacts.and_then(|artifacts| {
        artifacts
            .iter()
            .find(|artifact| artifact.kind == ArtifactKind::Host)
    });
    let Some(host) = host else {
        return RoundTrip::Refused;
    };
    if host.bytes == lowered.bytes {
        return RoundTrip::Identical;
    }
    // The user's file is the first, or the last if headers were written into the first.
    let is_own = |id: FileId| compilation.sources.file(id).bytes() == lowered.bytes;
    let touched: Vec<_> = compilation
        .account
        .touched
        .iter()
        .filter(|touched| is_own(touched.file))
        .map(|touched| touched.range)
        .collect();
    match first_lost_line(&lowered.bytes, &host.bytes, &touched) {
        None => RoundTrip::Kept,
        Some(line) => RoundTrip::Lost(line),
    }
}
