//! `run`: build a program and run it.

use std::os::unix::process::ExitStatusExt;
use std::process::Command as Process;

use super::args::RunArgs;
use super::build::{Built, build};
use super::{Context, Stop};
use crate::error::Error;
use crate::write::WorkFolder;

pub(super) fn run(cx: &Context, args: RunArgs) -> Result<u8, Stop> {
    let program_folder = WorkFolder::create(None)?;
    let program = args
        .output
        .unwrap_or_else(|| program_folder.path().join("a.out"));
    match build(cx, &args.files, &program, &args.build)? {
        Built::Program => {}
        Built::Nothing(code) => return Ok(code),
    }
    let program = std::path::absolute(&program).map_err(Error::io("find", &program))?;
    let status = Process::new(&program)
        .args(&args.program_args)
        .status()
        .map_err(|source| Error::Start {
            program: program.clone(),
            source,
        })?;
    // A program ended by a signal gets the code a shell would give it.
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code
        .and_then(|code| u8::try_from(code & 0xff).ok())
        .unwrap_or(u8::MAX))
}
