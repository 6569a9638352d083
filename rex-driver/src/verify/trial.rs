//! The two sides of a comparison: builds a program without and with rex, and runs it.
//!
//! Both sides run under one name in one place, so that programs that print these say the same.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::execute::{End, Execution, ExecutionOptions, execute};
use super::programs::{OwnBuild, Program};
use super::scratch::mirror;
use super::{Verdict, VerifyOptions, first_error, refused};
use crate::build::{Command, ImagePlacement};
use crate::error::Error;
use crate::program::{
    DeviceChoice, Planned, ProgramOptions, WorkPlace, plan_program, plan_program_as_is,
};
use crate::session::{Lowered, Session};
use crate::toolchain::{HostCompiler, find_host_compilers};
use crate::write::{WorkFolder, Writer};

/// A build may take longer than a run.
const MIN_BUILD_LIMIT: Duration = Duration::from_secs(600);

/// One side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The program as it is.
    Plain,
    /// The program that rex lowered.
    Lowered,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Plain => "plain",
            Side::Lowered => "lowered",
        }
    }
}

/// Both sides of one program.
pub(super) struct Trials<'a> {
    session: &'a Session,
    program: &'a Program,
    options: &'a VerifyOptions,
    work: WorkFolder,
}

impl<'a> Trials<'a> {
    /// Builds both sides of a program of sources; programs with builds of their own are built when they run.
    ///
    /// The inner error is the verdict if there is nothing to run.
    pub(super) fn prepare(
        session: &'a Session,
        program: &'a Program,
        options: &'a VerifyOptions,
    ) -> Result<Result<Trials<'a>, Verdict>, Error> {
        let trials = Trials {
            session,
            program,
            options,
            work: WorkFolder::create(None)?,
        };
        if program.settings.build.is_none()
            && let Some(verdict) = trials.build()?
        {
            return Ok(Err(verdict));
        }
        Ok(Ok(trials))
    }

    /// Builds both sides from sources; the verdict if that is all.
    fn build(&self) -> Result<Option<Verdict>, Error> {
        let mut session = self.session.clone();
        for flag in &self.program.settings.flags {
            session.flags.push(flag.words.clone());
        }
        let sources = &self.program.sources;
        let lowered = match plan_program(&session, sources, &self.program_options(Side::Lowered))? {
            Planned::Program(lowered) => lowered,
            Planned::Refused(lowered) => return Ok(Some(refused(&lowered))),
        };
        if !lowered.lowered.iter().any(Lowered::is_changed) {
            return Ok(Some(Verdict::NothingToOffload));
        }
        if let Some(message) = failure(|messages| lowered.carry_out(messages))? {
            return Ok(Some(Verdict::BuildError(message)));
        }
        let plain = plan_program_as_is(&session, sources, &self.program_options(Side::Plain))?;
        let failed = failure(|messages| plain.carry_out(messages))?;
        Ok(failed.map(Verdict::Unusable))
    }

    fn program_options(&self, side: Side) -> ProgramOptions {
        ProgramOptions {
            output: self.work.path().join(side.name()),
            device: self.options.device,
            arch: self.options.arch.clone(),
            runtime: self.options.runtime.clone(),
            cuda: self.options.cuda.clone(),
            placement: ImagePlacement::Embedded,
            work: WorkPlace::Temporary,
            line_directives: true,
        }
    }

    /// Runs one side in a copy of the program's folder.
    ///
    /// The inner error is what the tools say if it does not build.
    pub(super) fn run(&self, side: Side) -> Result<Result<Execution, String>, Error> {
        let root = self.work.path().join("root");
        let folder = mirror(&root, &self.program.folder)?;
        let program = match &self.program.settings.build {
            None => {
                let program = self.work.path().join("program");
                Writer::default().link(&program, Path::new(side.name()))?;
                program
            }
            Some(build) => match self.build_in(&folder, build, side)? {
                Ok(program) => program,
                Err(messages) => {
                    remove(&root)?;
                    return Ok(Err(messages));
                }
            },
        };
        let mandatory = ("OMP_TARGET_OFFLOAD".to_owned(), "MANDATORY".into());
        let variables = match side {
            Side::Plain => Vec::new(),
            Side::Lowered => vec![mandatory],
        };
        let execution = execute(
            &program,
            &folder,
            &ExecutionOptions {
                arguments: self.options.arguments.clone(),
                stdin: self.options.stdin.clone(),
                time_limit: self.options.time_limit,
                variables,
            },
        )?;
        remove(&root)?;
        Ok(Ok(execution))
    }

    /// Builds a program with its own command; the inner error is what that says if it fails.
    fn build_in(
        &self,
        folder: &Path,
        build: &OwnBuild,
        side: Side,
    ) -> Result<Result<PathBuf, String>, Error> {
        let execution = execute(
            Path::new("/bin/sh"),
            folder,
            &ExecutionOptions {
                arguments: vec!["-c".into(), (&build.command).into()],
                stdin: None,
                time_limit: self.options.time_limit.max(MIN_BUILD_LIMIT),
                variables: self.build_variables(side)?,
            },
        )?;
        let program = folder.join(&build.program);
        Ok(match execution.end {
            End::Exited(status) if status.success() && program.is_file() => Ok(program),
            End::Exited(status) if status.success() => {
                Err(format!("the build makes no {}", build.program.display()))
            }
            End::Exited(_) => Err(execution.errors + &execution.output),
            End::OutOfTime | End::OutOfSpace => Err("the build does not end".to_owned()),
        })
    }

    /// The compilers of one side, and what rex has to know.
    fn build_variables(&self, side: Side) -> Result<Vec<(String, OsString)>, Error> {
        let host = find_host_compilers(&self.session.surroundings)?;
        let command =
            |compiler: &HostCompiler| OsString::from(Command::of_compiler(compiler).to_string());
        let (c, cxx) = (command(&host.c), command(&host.cxx));
        if side == Side::Plain {
            return Ok(vec![("CC".into(), c), ("CXX".into(), cxx)]);
        }
        let rex = std::env::current_exe().map_err(Error::io("find", Path::new("rex-driver")))?;
        let mut variables = vec![("REX_CC".to_owned(), c), ("REX_CXX".to_owned(), cxx)];
        for (variable, name) in [("CC", "rexcc"), ("CXX", "rexc++")] {
            let compiler = self.work.path().join(name);
            Writer::default().link(&compiler, &rex)?;
            variables.push((variable.to_owned(), compiler.into()));
        }
        let device = match self.options.device {
            DeviceChoice::Host => "host",
            DeviceChoice::Nvptx => "nvptx",
            DeviceChoice::Auto => "auto",
        };
        variables.push(("REX_DEVICE".to_owned(), device.into()));
        let abi = self.options.runtime.abi.map(|abi| abi.to_string().into());
        let optional = [
            ("REX_ARCH", self.options.arch.clone().map(OsString::from)),
            ("REX_LLVM_ABI", abi),
            ("REX_LIBOMPTARGET", absolute(&self.options.runtime.folder)),
            ("REX_CUDA", absolute(&self.options.cuda)),
        ];
        let given = optional
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        variables.extend(given);
        Ok(variables)
    }
}

fn absolute(folder: &Option<PathBuf>) -> Option<OsString> {
    let folder = std::path::absolute(folder.as_ref()?).ok()?;
    Some(folder.into_os_string())
}

fn remove(folder: &Path) -> Result<(), Error> {
    fs::remove_dir_all(folder).map_err(Error::io("remove", folder))
}

/// Carries a build out; the first error line if a tool fails.
fn failure(
    carry_out: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<Option<String>, Error> {
    let mut messages = Vec::new();
    match carry_out(&mut messages) {
        Ok(()) => Ok(None),
        Err(error @ Error::Command { .. }) => {
            let text = String::from_utf8_lossy(&messages);
            Ok(Some(match text.trim().is_empty() {
                true => error.to_string(),
                false => first_error(&text),
            }))
        }
        Err(error) => Err(error),
    }
}
