//! Diagnostics as text for people and as JSON for tools.
//!
//! Positions are mapped back to what the user wrote first. Nothing here writes to a stream.

use codespan_reporting::diagnostic::{Diagnostic as Shown, Label as ShownLabel, Severity as Level};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term::termcolor::{Ansi, NoColor, WriteColor};
use codespan_reporting::term::{
    Config, DisplayStyle, Styles, StylesWriter, emit_to_write_style as emit,
};
use rex_syntax::diag::{Diagnostic, Severity};
use rex_syntax::source::{FileRange, SourceMap};

use crate::json;

/// How diagnostics are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MessageFormat {
    /// Source lines with the places marked.
    #[default]
    Human,
    /// One line each: place, severity, code, headline.
    Short,
    /// One JSON object a line.
    Json,
}

/// Whether text for people has colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// With terminal colors.
    On,
    /// Plain.
    Off,
}

/// The longest line, in bytes, that is shown. Of generated or damaged text, messages tell the place only: each would show the whole line.
const MAX_LINE: usize = 4096;

/// Renders diagnostics in the order given.
pub fn render(
    sources: &SourceMap,
    diagnostics: &[Diagnostic],
    format: MessageFormat,
    color: Color,
) -> String {
    match format {
        MessageFormat::Json => diagnostics
            .iter()
            .map(|diagnostic| json::diagnostic_line(sources, diagnostic))
            .collect(),
        MessageFormat::Human => for_people(sources, diagnostics, DisplayStyle::Rich, color),
        MessageFormat::Short => for_people(sources, diagnostics, DisplayStyle::Short, color),
    }
}

fn for_people(
    sources: &SourceMap,
    diagnostics: &[Diagnostic],
    display_style: DisplayStyle,
    color: Color,
) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let mut files = SimpleFiles::new();
    for (_, file) in sources.iter() {
        files.add(file.name(), file.text());
    }
    let styles = Styles::default();
    let mut bytes = Vec::new();
    for diagnostic in diagnostics {
        let shown = shown(sources, diagnostic);
        let is_too_long =
            matches!(display_style, DisplayStyle::Rich) && is_on_long_line(sources, &shown);
        let config = Config {
            display_style: match is_too_long {
                true => DisplayStyle::Medium,
                false => display_style.clone(),
            },
            ..Config::default()
        };
        let write = |writer: &mut dyn WriteColor| {
            emit(
                &mut StylesWriter::new(writer, &styles),
                &config,
                &files,
                &shown,
            )
        };
        let written = match color {
            Color::On => write(&mut Ansi::new(&mut bytes)),
            Color::Off => write(&mut NoColor::new(&mut bytes)),
        };
        if written.is_err() {
            // A range outside its file is our mistake; the message must still reach the user.
            bytes.extend(format!("{}\n", diagnostic.headline).bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a label begins or ends on a line that is too long to be shown.
fn is_on_long_line(sources: &SourceMap, shown: &Shown<usize>) -> bool {
    shown.labels.iter().any(|label| {
        let file = sources.iter().nth(label.file_id);
        let text = file.map_or("", |(_, file)| file.text());
        [label.range.start, label.range.end].into_iter().any(|at| {
            let (before, behind) = text.split_at_checked(at).unwrap_or_default();
            let start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let rest = behind.find('\n').unwrap_or(behind.len());
            before.len() - start + rest > MAX_LINE
        })
    })
}

fn shown(sources: &SourceMap, diagnostic: &Diagnostic) -> Shown<usize> {
    let label = |at: FileRange, text: &str, primary: bool| {
        let at = sources.to_written(at);
        let make = if primary {
            ShownLabel::primary
        } else {
            ShownLabel::secondary
        };
        make(at.file.0 as usize, std::ops::Range::<usize>::from(at.range)).with_message(text)
    };
    let mut labels = vec![label(diagnostic.primary.at, &diagnostic.primary.text, true)];
    labels.extend(
        diagnostic
            .secondary
            .iter()
            .map(|other| label(other.at, &other.text, false)),
    );
    let notes = diagnostic.notes.iter().map(|note| format!("note: {note}"));
    let help = diagnostic.help.iter().map(|help| format!("help: {help}"));
    let level = match diagnostic.severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Note,
    };
    Shown::new(level)
        .with_code(diagnostic.code.number())
        .with_message(&diagnostic.headline)
        .with_labels(labels)
        .with_notes(notes.chain(help).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use rex_syntax::diag::Code;
    use rex_syntax::source::{Language, SourceFile};
    use rex_syntax::{TextRange, TextSize};

    fn check_render(format: MessageFormat, color: Color, expected: Expect) {
        let text = "void f(double *x) {\r\n\t#pragma omp target map(x)\r\n\t;\r\n}\r\n";
        let mut sources = SourceMap::new();
        let file = sources.add(SourceFile::new("dir/a.c", Language::C, text));
        let find = |what: &str| {
            let start = TextSize::try_from(text.find(what).unwrap()).unwrap();
            FileRange {
                file,
                range: TextRange::at(start, TextSize::of(what)),
            }
        };
        let mut map = find("map(x)");
        map.range = TextRange::new(
            map.range.start() + TextSize::of("map("),
            map.range.end() - TextSize::of(")"),
        );
        let diagnostic = Diagnostic::new(
            Code::PointerNeedsLength,
            map,
            "map of pointer `x` needs a length",
        )
        .with_label("a pointer")
        .with_secondary(find("*x"), "declared here")
        .with_note("a pointer has no size of its own")
        .with_help("write `map(x[0:n])`");
        expected.assert_eq(&render(&sources, &[diagnostic], format, color));
    }

    #[test]
    fn people_see_the_source() {
        check_render(
            MessageFormat::Human,
            Color::Off,
            expect![[r#"
            error[REX0203]: map of pointer `x` needs a length
              ┌─ dir/a.c:2:25
              │
            1 │ void f(double *x) {
              │               -- declared here
            2 │     #pragma omp target map(x)
              │                            ^ a pointer
              │
              = note: a pointer has no size of its own
              = help: write `map(x[0:n])`

        "#]],
        );
    }

    #[test]
    fn long_lines_are_not_shown() {
        let text = format!("int a;{}int b;\n", " ".repeat(MAX_LINE));
        let mut sources = SourceMap::new();
        let file = sources.add(SourceFile::new("a.c", Language::C, text.as_str()));
        let range = TextRange::at(TextSize::of("int "), TextSize::of("a"));
        let diagnostic = Diagnostic::new(Code::UnknownType, FileRange { file, range }, "unknown")
            .with_help("write it out");
        expect![[r#"
            a.c:1:5: error[REX0202]: unknown
             = help: write it out
        "#]]
        .assert_eq(&render(
            &sources,
            &[diagnostic],
            MessageFormat::Human,
            Color::Off,
        ));
    }

    #[test]
    fn short_is_one_line() {
        check_render(
            MessageFormat::Short,
            Color::Off,
            expect![[r#"
            dir/a.c:2:25: error[REX0203]: map of pointer `x` needs a length
        "#]],
        );
    }

    #[test]
    fn json_is_one_object() {
        check_render(
            MessageFormat::Json,
            Color::Off,
            expect![[r#"
            {"schema":1,"code":"REX0203","name":"pointer-needs-length","severity":"error","message":"map of pointer `x` needs a length","primary":{"file":"dir/a.c","start":45,"end":46,"line":2,"column":25,"label":"a pointer"},"secondary":[{"file":"dir/a.c","start":14,"end":16,"line":1,"column":15,"label":"declared here"}],"notes":["a pointer has no size of its own"],"help":["write `map(x[0:n])`"]}
        "#]],
        );
    }

    #[test]
    fn colors_are_terminal_sequences() {
        let text = render(&SourceMap::new(), &[], MessageFormat::Human, Color::On);
        assert_eq!(text, "");
    }
}
