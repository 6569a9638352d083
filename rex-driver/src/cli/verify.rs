//! `verify`: build programs with and without rex and compare what they say.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::args::{VerifyArgs, VerifyFormat};
use super::{Context, Stop, answer, code, say_text};
use crate::json;
use crate::verify::compare::Difference;
use crate::verify::programs::Program;
use crate::verify::{Outcome, Run, Verdict, VerifyOptions, programs, verify_all};

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    programs: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    program: String,
    verdict: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    codes: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a Difference>,
    plain: Option<RunLine<'a>>,
    lowered: Option<RunLine<'a>>,
}

#[derive(Serialize)]
struct RunLine<'a> {
    status: &'a str,
    seconds: f64,
}

pub(super) fn run(cx: &mut Context, args: VerifyArgs) -> Result<u8, Stop> {
    cx.add_flags(args.more_flags);
    let programs = programs::find(&args.paths)?;
    let options = VerifyOptions {
        device: args.device,
        arch: args.arch,
        runtime: args.tools.offload_request(),
        cuda: args.tools.cuda,
        arguments: args.args,
        stdin: args.stdin,
        time_limit: Duration::from_secs(args.time_limit),
        tolerance: args.tolerance,
        compare: args.compare,
    };
    let sources: Vec<PathBuf> = programs
        .iter()
        .flat_map(|program| program.sources.iter().cloned())
        .collect();
    let session = cx.session("stdin.c", &sources, &args.database)?;
    let progress = Progress::new(&programs, args.format);
    let outcomes = verify_all(&session, &programs, &options, &|idx, outcome| {
        progress.ended(idx, outcome);
    });
    progress.close();
    let lines: Vec<Line<'_>> = outcomes.iter().map(line).collect();
    let text = match args.format {
        VerifyFormat::Json => json::line(&Report {
            schema: json::SCHEMA,
            programs: lines,
        }),
        VerifyFormat::Text => summary(&lines),
    };
    answer(text.as_bytes())?;
    let is_good =
        |outcome: &Outcome| matches!(outcome.verdict, Verdict::Same | Verdict::NothingToOffload);
    Ok(if outcomes.iter().all(is_good) {
        code::SUCCESS
    } else {
        code::INPUT
    })
}

fn line(outcome: &Outcome) -> Line<'_> {
    let mut line = Line {
        program: outcome.name.display().to_string(),
        verdict: "",
        codes: &[],
        message: None,
        difference: None,
        plain: outcome.plain.as_ref().map(run_line),
        lowered: outcome.lowered.as_ref().map(run_line),
    };
    line.verdict = match &outcome.verdict {
        Verdict::Same => "same",
        Verdict::NothingToOffload => "nothing to offload",
        Verdict::Different(difference) => {
            line.difference = Some(difference);
            "different"
        }
        Verdict::Refused { codes, message } => {
            line.codes = codes;
            line.message = Some(message);
            "refused"
        }
        Verdict::BuildError(message) => {
            line.message = Some(message);
            "build error"
        }
        Verdict::Unusable(message) => {
            line.message = Some(message);
            "unusable"
        }
        Verdict::Unsteady => "unsteady",
        Verdict::TimeOut => "time out",
        Verdict::Failed(message) => {
            line.message = Some(message);
            "failed"
        }
    };
    line
}

fn run_line(run: &Run) -> RunLine<'_> {
    RunLine {
        status: &run.status,
        seconds: run.time.as_secs_f64(),
    }
}

/// Shows how far a long run is: the table's lines in order as soon as they are known, and on a terminal the
/// program that ended last.
struct Progress {
    /// The table's lines that wait for an earlier one, and the index of the next to show.
    waiting: Mutex<(Vec<Option<String>>, usize)>,
    n_ended: AtomicUsize,
    width: usize,
    format: VerifyFormat,
    is_terminal: bool,
}

impl Progress {
    fn new(programs: &[Program], format: VerifyFormat) -> Progress {
        let widths = programs
            .iter()
            .map(|program| program.name.display().to_string().chars().count());
        Progress {
            waiting: Mutex::new((vec![None; programs.len()], 0)),
            n_ended: AtomicUsize::new(0),
            width: widths.max().unwrap_or(0),
            format,
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    fn ended(&self, program_idx: usize, outcome: &Outcome) {
        let n_ended = self.n_ended.fetch_add(1, Ordering::Relaxed) + 1;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (lines, next) = &mut *waiting;
        self.close();
        if self.format == VerifyFormat::Text {
            lines[program_idx] = Some(table_line(&line(outcome), self.width));
            while let Some(text) = lines.get_mut(*next).and_then(Option::take) {
                // The end of the run reports a closed standard output.
                let _ = answer(text.as_bytes());
                *next += 1;
            }
        }
        if self.is_terminal {
            say_text(&format!(
                "[{n_ended}/{}] {}",
                lines.len(),
                outcome.name.display()
            ));
        }
    }

    /// Takes the line about progress off the terminal.
    fn close(&self) {
        if self.is_terminal {
            say_text("\r\x1b[K");
        }
    }
}

fn table_line(line: &Line<'_>, width: usize) -> String {
    let seconds = |run: &Option<RunLine<'_>>| match run {
        Some(run) => format!("{:.2}", run.seconds),
        None => "-".to_owned(),
    };
    let times = format!("{:>8} {:>8}", seconds(&line.plain), seconds(&line.lowered));
    let mut text = format!("{:<width$} {times}  {}", line.program, line.verdict);
    if !line.codes.is_empty() {
        text.push_str(&format!(" {}", line.codes.join(" ")));
    }
    if let Some(message) = line.message {
        text.push_str(&format!(": {message}"));
    }
    if let Some(Difference {
        line,
        expected,
        found,
    }) = line.difference
    {
        text.push_str(&format!(": line {line}: `{expected}` became `{found}`"));
    }
    text.push('\n');
    text
}

/// How many programs have each verdict.
fn summary(lines: &[Line<'_>]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for line in lines {
        match counts
            .iter_mut()
            .find(|(verdict, _)| *verdict == line.verdict)
        {
            Some((_, count)) => *count += 1,
            None => counts.push((line.verdict, 1)),
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {verdict}"))
        .collect();
    format!("{} programs: {}\n", lines.len(), counts.join(", "))
}
