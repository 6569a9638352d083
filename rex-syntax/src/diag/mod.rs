//! Diagnostics as data: a stable code, a headline, labelled ranges, notes and help.
//!
//! Rendering is the driver's work. Library code pushes [`Diagnostic`] values into a [`Diagnostics`] sink and goes on.

mod code;

pub use code::Code;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::source::{FileRange, SourceMap};

/// How serious a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A fact worth knowing; never changes the output.
    Note,
    /// Probably not what was meant; never changes the output.
    Warning,
    /// The construct is not lowered.
    Error,
}

/// A labelled range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The range.
    pub at: FileRange,
    /// What to say there; may be empty for a primary label.
    pub text: String,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// Stands alone and names the user's thing.
    pub headline: String,
    /// The smallest range that is wrong.
    pub primary: Label,
    /// Places that explain the primary one.
    pub secondary: Vec<Label>,
    /// Facts.
    pub notes: Vec<String>,
    /// Actions the user can take.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic with the code's own severity and no label text.
    pub fn new(code: Code, at: FileRange, headline: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity(),
            headline: headline.into(),
            primary: Label {
                at,
                text: String::new(),
            },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Another severity than the code's own.
    pub fn with_severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    /// Sets the text of the primary label.
    pub fn with_label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds a secondary label.
    pub fn with_secondary(mut self, at: FileRange, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label {
            at,
            text: text.into(),
        });
        self
    }

    /// Adds a fact.
    pub fn with_note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds an action the user can take.
    pub fn with_help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }
}

/// Collects diagnostics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// Those at each place, by their positions in the list.
    by_place: FxHashMap<FileRange, Vec<usize>>,
}

impl Diagnostics {
    /// An empty sink.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds one; an exact repetition is dropped.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let here = self.by_place.entry(diagnostic.primary.at).or_default();
        if !here.iter().any(|idx| self.list[*idx] == diagnostic) {
            here.push(self.list.len());
            self.list.push(diagnostic);
        }
    }

    /// Adds all of another sink.
    pub fn extend(&mut self, other: Diagnostics) {
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The diagnostics in the order they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The diagnostics in source order; see [`told_once`] for those of one written place.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|diagnostic| {
            (
                diagnostic.primary.at.file,
                diagnostic.primary.at.range.start(),
            )
        });
        self.list
    }
}

/// The diagnostics without those that say at one written place what another one said: of the same macro call in several
/// derived files, or of the parts of what one call becomes.
pub fn told_once(mut diagnostics: Vec<Diagnostic>, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut told = FxHashSet::default();
    diagnostics.retain(|diagnostic| {
        let place = sources.to_written(diagnostic.primary.at);
        told.insert((diagnostic.code, place, diagnostic.headline.clone()))
    });
    diagnostics
}
