//! `audit`: what lowering does with the target constructs of a source tree.

use std::collections::BTreeMap;

use rex_syntax::diag::Code;
use serde::Serialize;

use super::args::{AuditArgs, AuditFormat};
use super::{Context, Stop, answer, code};
use crate::audit::{ConstructAudit, FileAudit, RoundTrip, SuiteAudit, audit};
use crate::json;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    suites: Vec<Suite<'a>>,
}

#[derive(Serialize)]
struct Suite<'a> {
    path: String,
    constructs: usize,
    lowered: usize,
    errors: BTreeMap<&'static str, usize>,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: String,
    round_trip: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_line: Option<u32>,
    /// Why rex failed, or why the file was not preprocessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    errors: BTreeMap<&'static str, usize>,
    constructs: Vec<Construct<'a>>,
}

#[derive(Serialize)]
struct Construct<'a> {
    file: &'a str,
    line: u32,
    name: &'a str,
    lowered: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<&'static str>,
}

pub(super) fn run(cx: &mut Context, args: AuditArgs) -> Result<u8, Stop> {
    cx.add_flags(args.more_flags);
    let session = cx.session("stdin.c", &args.paths, &args.database)?;
    let suites = audit(&session, &args.paths)?;
    let text = match args.format {
        AuditFormat::Json => json::line(&Report {
            schema: json::SCHEMA,
            suites: suites.iter().map(suite).collect(),
        }),
        AuditFormat::Text => as_text(&suites),
    };
    answer(text.as_bytes())?;
    let is_good = |file: &FileAudit| {
        let is_lowered = |construct: &ConstructAudit| construct.is_lowered;
        !file.round_trip.is_fault() && file.constructs.iter().all(is_lowered)
    };
    let all_good = suites.iter().all(|suite| suite.files.iter().all(is_good));
    Ok(if all_good { code::SUCCESS } else { code::INPUT })
}

fn suite(suite: &SuiteAudit) -> Suite<'_> {
    let (constructs, lowered) = suite.counts();
    Suite {
        path: suite.path.display().to_string(),
        constructs,
        lowered,
        errors: numbers(&errors(suite)),
        files: suite.files.iter().map(file).collect(),
    }
}

fn file(file: &FileAudit) -> File<'_> {
    let (round_trip, lost_line, failure) = match &file.round_trip {
        RoundTrip::Identical => ("identical", None, None),
        RoundTrip::Kept => ("kept", None, None),
        RoundTrip::Refused => ("refused", None, None),
        RoundTrip::Lost(line) => ("lost", Some(*line), None),
        RoundTrip::Failed(message) => ("failed", None, Some(message.as_str())),
    };
    File {
        path: file.path.display().to_string(),
        round_trip,
        lost_line,
        message: failure.or(file.unread.as_deref()),
        errors: numbers(&file.errors),
        constructs: file
            .constructs
            .iter()
            .map(|construct| Construct {
                file: &construct.file,
                line: construct.line,
                name: &construct.name,
                lowered: construct.is_lowered,
                codes: construct.codes.iter().map(|code| code.number()).collect(),
            })
            .collect(),
    }
}

fn numbers(errors: &BTreeMap<Code, usize>) -> BTreeMap<&'static str, usize> {
    let number = |(code, count): (&Code, &usize)| (code.number(), *count);
    errors.iter().map(number).collect()
}

fn errors(suite: &SuiteAudit) -> BTreeMap<Code, usize> {
    let mut sum = BTreeMap::new();
    for (code, count) in suite.files.iter().flat_map(|file| &file.errors) {
        *sum.entry(*code).or_default() += count;
    }
    sum
}

fn as_text(suites: &[SuiteAudit]) -> String {
    let mut text = String::new();
    for suite in suites {
        for file in &suite.files {
            text.push_str(&findings(file));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let mut sum: BTreeMap<Code, usize> = BTreeMap::new();
    for (code, count) in suites.iter().flat_map(errors) {
        *sum.entry(code).or_default() += count;
    }
    for (code, count) in &sum {
        text.push_str(&format!("{count:>6}  {} {}\n", code.number(), code.name()));
    }
    if !sum.is_empty() {
        text.push('\n');
    }
    let name = |suite: &SuiteAudit| suite.path.display().to_string();
    let width = suites.iter().map(|suite| name(suite).chars().count());
    let width = width.max().unwrap_or(0).max("suite".len());
    text.push_str(&format!(
        "{:<width$} {:>6} {:>10} {:>8} {:>8} {:>6} {:>10} {:>8}\n",
        "suite", "files", "constructs", "lowered", "%", "kept", "unreadable", "faults"
    ));
    for suite in suites {
        let (constructs, lowered) = suite.counts();
        let count =
            |holds: fn(&FileAudit) -> bool| suite.files.iter().filter(|file| holds(file)).count();
        text.push_str(&format!(
            "{:<width$} {:>6} {constructs:>10} {lowered:>8} {:>8} {:>6} {:>10} {:>8}\n",
            name(suite),
            suite.files.len(),
            percentage(lowered, constructs),
            count(|file| matches!(file.round_trip, RoundTrip::Identical | RoundTrip::Kept)),
            count(|file| file.unread.is_some()),
            count(|file| file.round_trip.is_fault()),
        ));
    }
    text
}

fn percentage(part: usize, whole: usize) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.2}", 100.0 * part as f64 / whole as f64),
    }
}

/// What is wrong with a file, one line each.
fn findings(file: &FileAudit) -> String {
    let mut text = String::new();
    let path = file.path.display();
    if let Some(reason) = &file.unread {
        let first = reason.lines().find(|line| line.contains("error"));
        let reason = first.or(reason.lines().next()).unwrap_or_default();
        text.push_str(&format!("{path}: not preprocessed: {}\n", reason.trim()));
    }
    match &file.round_trip {
        RoundTrip::Lost(line) => {
            text.push_str(&format!("{path}:{line}: this line is not kept\n"));
        }
        RoundTrip::Failed(message) => text.push_str(&format!("{path}: {message}\n")),
        RoundTrip::Identical | RoundTrip::Kept | RoundTrip::Refused => {}
    }
    let left = file
        .constructs
        .iter()
        .filter(|construct| !construct.is_lowered);
    for construct in left {
        let numbers: Vec<&str> = construct.codes.iter().map(|code| code.number()).collect();
        let why = match numbers.is_empty() {
            true => "an error elsewhere".to_owned(),
            false => numbers.join(" "),
        };
        text.push_str(&format!(
            "{}:{}: `{}` is not lowered: {why}\n",
            construct.file, construct.line, construct.name
        ));
    }
    text
}
