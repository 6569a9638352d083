//! Trust by comparison: the same program built with and without rex must say the same.

pub mod compare;
mod execute;
pub mod programs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rayon::prelude::*;
use rex_syntax::diag::Severity;

use crate::build::ImagePlacement;
use crate::build::command::folder_of;
use crate::error::Error;
use crate::program::{
    DeviceChoice, Planned, ProgramOptions, WorkPlace, plan_program, plan_program_as_is,
};
use crate::session::{Lowered, Session};
use crate::toolchain::OffloadRequest;
use crate::write::WorkFolder;
use compare::{Difference, first_difference};
use execute::{Execution, ExecutionOptions, execute};
use programs::ProgramFiles;

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
    /// When a program is stopped.
    pub time_limit: Duration,
    /// How much floating-point numbers may differ, relative to their size.
    pub tolerance: f64,
    /// What is compared.
    pub compare: Compare,
}

/// What is compared of two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
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
        let ended = execution.status.map(|status| status.to_string());
        Run {
            status: ended.unwrap_or_else(|| "out of time".to_owned()),
            time: execution.time,
        }
    }
}

/// Verifies programs side by side; `done` hears of each, with its index, as it ends.
///
/// The result keeps their order.
pub fn verify_all(
    session: &Session,
    programs: &[ProgramFiles],
    options: &VerifyOptions,
    done: &(dyn Fn(usize, &Outcome) + Sync),
) -> Vec<Outcome> {
    let verify = |(program_idx, program): (usize, &ProgramFiles)| {
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
    program: &ProgramFiles,
    options: &VerifyOptions,
    outcome: &mut Outcome,
) -> Result<Verdict, Error> {
    let work = WorkFolder::create(None)?;
    let (plain, lowered) = (work.path().join("plain"), work.path().join("lowered"));
    let planned = plan_program(
        session,
        &program.sources,
        &program_options(options, &lowered),
    )?;
    let build = match planned {
        Planned::Program(build) => build,
        Planned::Refused(lowered) => return Ok(refused(&lowered)),
    };
    if !build.lowered.iter().any(Lowered::is_changed) {
        return Ok(Verdict::NothingToOffload);
    }
    if let Some(message) = build_failure(|messages| build.carry_out(messages))? {
        return Ok(Verdict::BuildError(message));
    }
    let folder = match program.name.is_dir() {
        true => program.name.as_path(),
        false => folder_of(&program.name),
    };
    let run = |program: &Path, variables: &[(&str, &str)]| {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let execution = ExecutionOptions {
            arguments: options.arguments.clone(),
            time_limit: options.time_limit,
            variables: variables.iter().map(owned).collect(),
        };
        execute(program, folder, &execution)
    };
    let found = run(&lowered, &[("OMP_TARGET_OFFLOAD", "MANDATORY")])?;
    outcome.lowered = Some(Run::of(&found));
    let as_is = plan_program_as_is(session, &program.sources, &program_options(options, &plain))?;
    if let Some(message) = build_failure(|messages| as_is.carry_out(messages))? {
        return Ok(Verdict::Unusable(message));
    }
    let expected = run(&plain, &[])?;
    outcome.plain = Some(Run::of(&expected));
    Ok(compared(&expected, &found, options))
}

fn compared(expected: &Execution, found: &Execution, options: &VerifyOptions) -> Verdict {
    if expected.status.is_none() {
        return Verdict::Unusable("it runs out of time without rex".to_owned());
    }
    if found.status.is_none() {
        return Verdict::TimeOut;
    }
    let in_output = match options.compare {
        Compare::Output => first_difference(&expected.output, &found.output, options.tolerance),
        Compare::ExitCode => None,
    };
    if expected.status == found.status {
        return in_output.map_or(Verdict::Same, Verdict::Different);
    }
    let last_words = found.errors.lines().next_back().unwrap_or_default();
    Verdict::Different(Difference {
        line: in_output.map_or(0, |difference| difference.line),
        expected: Run::of(expected).status,
        found: [Run::of(found).status.as_str(), last_words].join("; "),
    })
}

/// Carries a build out; the first error line if a tool fails.
fn build_failure(
    carry_out: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<Option<String>, Error> {
    let mut messages = Vec::new();
    match carry_out(&mut messages) {
        Ok(()) => Ok(None),
        Err(error @ Error::Command { .. }) => {
            let text = String::from_utf8_lossy(&messages);
            let is_error = |line: &&str| line.contains("error") || line.contains("undefined");
            let line = text
                .lines()
                .find(is_error)
                .map_or_else(|| error.to_string(), str::to_owned);
            Ok(Some(line))
        }
        Err(error) => Err(error),
    }
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

fn program_options(options: &VerifyOptions, output: &Path) -> ProgramOptions {
    ProgramOptions {
        output: output.to_owned(),
        device: options.device,
        arch: options.arch.clone(),
        runtime: options.runtime.clone(),
        cuda: options.cuda.clone(),
        placement: ImagePlacement::Embedded,
        work: WorkPlace::Temporary,
    }
}
