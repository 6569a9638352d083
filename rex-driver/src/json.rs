//! The JSON that tools read: separate types, so that core types may change freely.
//!
//! Every object carries `schema`, which is raised when a field changes its meaning or goes away.

use rex_syntax::diag::{Diagnostic, Label, Severity};
use rex_syntax::source::SourceMap;
use serde::Serialize;

/// The version of the JSON this program writes.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct DiagnosticLine<'a> {
    schema: u32,
    code: &'a str,
    name: &'a str,
    severity: &'a str,
    message: &'a str,
    primary: Place<'a>,
    secondary: Vec<Place<'a>>,
    notes: &'a [String],
    help: &'a [String],
}

/// A range in a file: byte offsets, and the 1-based line and byte column where it starts.
#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    start: u32,
    end: u32,
    line: u32,
    column: u32,
    label: &'a str,
}

/// One diagnostic as a JSON object and a newline.
pub(crate) fn diagnostic_line(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    line(&DiagnosticLine {
        schema: SCHEMA,
        code: diagnostic.code.number(),
        name: diagnostic.code.name(),
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        message: &diagnostic.headline,
        primary: place(sources, &diagnostic.primary),
        secondary: diagnostic
            .secondary
            .iter()
            .map(|label| place(sources, label))
            .collect(),
        notes: &diagnostic.notes,
        help: &diagnostic.help,
    })
}

/// Any value as one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("plain structs with string keys serialize");
    text.push('\n');
    text
}

fn place<'a>(sources: &'a SourceMap, label: &'a Label) -> Place<'a> {
    let at = sources.to_written(label.at);
    let file = sources.file(at.file);
    let start = usize::from(at.range.start());
    let before = file.text().get(..start).unwrap_or_default();
    let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        file: file.name(),
        start: at.range.start().into(),
        end: at.range.end().into(),
        line: file.line(at.range.start()),
        column: u32::try_from(column + 1).unwrap_or(u32::MAX),
        label: &label.text,
    }
}
