//! Trust by comparison: the same program built with and without rex must say the same.

pub mod compare;
mod execute;
pub mod list;
pub mod programs;
mod scratch;
mod table;
mod trial;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use rayon::prelude::*;
use rex_syntax::diag::{Code, Severity};

use crate::error::Error;
use crate::program::DeviceChoice;
use crate::session::{Lowered, Session};
use crate::toolchain::OffloadRequest;
use compare::{Difference, first_difference};
use execute::{End, Execution};
use programs::{Program, Settings};
use trial::{Side, Trials};

/// How programs are built, run and compared.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// What runs the device code.
    pub device: DeviceChoice,
    /// The GPU architecture; `None` asks this machine's GPU.
    pub arch: Option<String>,
    /// Which offload runtime to use.
    pub runtime: OffloadRequest,
    /// A CUDA installation, or a folder with pip's CUDA packages.
    pub cuda: Option<PathBuf>,
    /// The programs' arguments.
    pub arguments: Vec<OsString>,
    /// The file that the programs read as standard input; `None` is an empty one.
    pub stdin: Option<PathBuf>,
    /// When a program is stopped.
    pub time_limit: Duration,
    /// How much floating-point numbers may differ, relative to their size.
    pub tolerance: f64,
    /// What is compared.
    pub compare: Compare,
}

impl VerifyOptions {
    /// The options for one program: what a list says about it comes first.
    fn with_settings(&self, settings: &Settings) -> VerifyOptions {
        let own = settings.clone();
        VerifyOptions {
            arguments: own.args.unwrap_or_else(|| self.arguments.clone()),
            stdin: own.stdin.or_else(|| self.stdin.clone()),
            time_limit: own.time_limit.unwrap_or(self.time_limit),
            tolerance: own.tolerance.unwrap_or(self.tolerance),
            compare: own.compare.unwrap_or(self.compare),
            ..self.clone()
        }
    }
}

/// What is compared of two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// The exit code and the standard output.
    #[default]
    Output,
    /// The exit code only, for programs that check themselves and say where they ran.
    ExitCode,
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Both builds end alike and say the same.
    Same,
    /// It has nothing to offload, so there is nothing to compare.
    NothingToOffload,
    /// The builds end differently or say different things.
    Different(Difference),
    /// They differ, but so do two runs of the plain program: nothing can be said.
    Unsteady,
    /// rex reports errors with these codes; the first one's text.
    Refused {
        /// The codes, each once.
        codes: Vec<&'static str>,
        /// The first error's headline.
        message: String,
    },
    /// The lowered program does not build; what the tools say first.
    BuildError(String),
    /// The program does not build or run without rex either.
    Unusable(String),
    /// The lowered program ran out of time.
    TimeOut,
    /// rex itself failed.
    Failed(String),
}

/// A program with its verdict.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The folder or file that stands for the program.
    pub name: PathBuf,
    /// What became of it.
    pub verdict: Verdict,
    /// The run of the plain program, if there was one.
    pub plain: Option<Run>,
    /// The run of the lowered program, if there was one.
    pub lowered: Option<Run>,
}

/// How a program ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// How it ended, for instance `exit status: 0`.
    pub status: String,
    /// How long it ran.
    pub time: Duration,
}

impl Run {
    fn of(execution: &Execution) -> Run {
        let status = match execution.end {
            End::Exited(status) => status.to_string(),
            End::OutOfTime => "out of time".to_owned(),
            End::OutOfSpace => "stopped: it says too much".to_owned(),
        };
        Run {
            status,
            time: execution.time,
        }
    }
}

/// Verifies programs side by side; `done` hears of each, with its index, as it ends.
///
/// The result keeps their order.
pub fn verify_all(
    session: &Session,
    programs: &[Program],
    options: &VerifyOptions,
    done: &(dyn Fn(usize, &Outcome) + Sync),
) -> Vec<Outcome> {
    let verify = |(program_idx, program): (usize, &Program)| {
        let mut outcome = Outcome {
            name: program.name.clone(),
            verdict: Verdict::Same,
            plain: None,
            lowered: None,
        };
        outcome.verdict = match verify(session, program, options, &mut outcome) {
            Ok(verdict) => verdict,
            Err(error) => Verdict::Failed(error.to_string()),
        };
        done(program_idx, &outcome);
        outcome
    };
    programs.par_iter().enumerate().map(verify).collect()
}

fn verify(
    session: &Session,
    program: &Program,
    options: &VerifyOptions,
    outcome: &mut Outcome,
) -> Result<Verdict, Error> {
    let options = &options.with_settings(&program.settings);
    let trials = match Trials::prepare(session, program, options)? {
        Ok(trials) => trials,
        Err(verdict) => return Ok(verdict),
    };
    let expected = match trials.run(Side::Plain)? {
        Ok(expected) => expected,
        Err(messages) => return Ok(Verdict::Unusable(first_error(&messages))),
    };
    outcome.plain = Some(Run::of(&expected));
    match expected.end {
        End::Exited(_) => {}
        End::OutOfTime => {
            return Ok(Verdict::Unusable(
                "it runs out of time without rex".to_owned(),
            ));
        }
        End::OutOfSpace => return Ok(Verdict::Unusable("it says too much".to_owned())),
    }
    let found = match trials.run(Side::Lowered)? {
        Ok(found) => found,
        Err(messages) => return Ok(build_verdict(&messages)),
    };
    outcome.lowered = Some(Run::of(&found));
    let verdict = compared(&expected, &found, options);
    if let Verdict::Different(_) = verdict
        && let Ok(again) = trials.run(Side::Plain)?
        && compared(&expected, &again, options) != Verdict::Same
    {
        return Ok(Verdict::Unsteady);
    }
    Ok(verdict)
}

fn compared(expected: &Execution, found: &Execution, options: &VerifyOptions) -> Verdict {
    if found.end == End::OutOfTime {
        return Verdict::TimeOut;
    }
    let in_output = match options.compare {
        Compare::Output => first_difference(&expected.output, &found.output, options.tolerance),
        Compare::ExitCode => None,
    };
    if expected.end == found.end {
        return in_output.map_or(Verdict::Same, Verdict::Different);
    }
    let last_words = found.errors.lines().next_back().unwrap_or_default();
    Verdict::Different(Difference {
        line: in_output.map_or(0, |difference| difference.line),
        expected: Run::of(expected).status,
        found: [Run::of(found).status.as_str(), last_words].join("; "),
    })
}

/// What a failed build of the lowered program means: rex says so, or a tool behind it.
fn build_verdict(messages: &str) -> Verdict {
    let is_code = |code: &&'static str| messages.contains(&format!("error[{code}]"));
    let codes: Vec<&'static str> = Code::ALL
        .iter()
        .map(|code| code.number())
        .filter(is_code)
        .collect();
    let line = first_error(messages);
    match codes.is_empty() {
        true => Verdict::BuildError(line),
        false => Verdict::Refused {
            codes,
            message: line,
        },
    }
}

/// The first line of the tools' messages that tells of an error.
fn first_error(messages: &str) -> String {
    let is_error = |line: &&str| line.contains("error") || line.contains("undefined");
    let line = messages.lines().find(is_error);
    let line = line.or_else(|| messages.lines().next_back());
    line.unwrap_or_default().to_owned()
}

fn refused(lowered: &[Lowered]) -> Verdict {
    let errors: Vec<_> = lowered
        .iter()
        .flat_map(|lowered| &lowered.compilation.diagnostics)
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .collect();
    let mut codes: Vec<&'static str> = errors.iter().map(|error| error.code.number()).collect();
    codes.sort_unstable();
    codes.dedup();
    let message = errors
        .first()
        .map(|error| error.headline.clone())
        .unwrap_or_default();
    Verdict::Refused { codes, message }
}
