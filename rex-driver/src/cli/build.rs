//! `build`: lower, compile and link a program.

use std::path::{Path, PathBuf};

use super::args::{BuildArgs, CommonBuildArgs};
use super::{Context, Stop, answer, code};
use crate::build::ImagePlacement;
use crate::flags::CompilerFlags;
use crate::program::{Planned, ProgramOptions, WorkPlace, plan_program};

/// The folder that a dry run names instead of a temporary one.
const DRY_RUN_FOLDER: &str = "rex-work";

pub(super) fn run(cx: &mut Context, args: BuildArgs) -> Result<u8, Stop> {
    let (more, files) = CompilerFlags::extract(args.more_flags, &[]);
    for flag in more.iter() {
        cx.flags.push(flag.words.clone());
    }
    let files: Vec<PathBuf> = args
        .files
        .into_iter()
        .chain(files.into_iter().map(PathBuf::from))
        .collect();
    match build(cx, &files, &args.output, &args.build)? {
        Built::Program => Ok(code::SUCCESS),
        Built::Nothing(code) => Ok(code),
    }
}

/// Whether there is a program.
pub(super) enum Built {
    /// There is.
    Program,
    /// There is not: the input has errors, or it was a dry run. This is the exit code.
    Nothing(u8),
}

/// Builds a program from sources, objects and libraries.
pub(super) fn build(
    cx: &Context,
    files: &[PathBuf],
    output: &Path,
    args: &CommonBuildArgs,
) -> Result<Built, Stop> {
    let options = program_options(output, args);
    let session = cx.session("stdin.c", files, &args.database)?;
    let program = match plan_program(&session, files, &options)? {
        Planned::Program(program) => program,
        Planned::Refused(lowered) => {
            cx.show_diagnostics(&lowered);
            return Ok(Built::Nothing(code::INPUT));
        }
    };
    cx.show_diagnostics(&program.lowered);
    for notice in &program.notices {
        cx.say(notice);
    }
    if args.dry_run {
        answer(program.script().as_bytes())?;
        return Ok(Built::Nothing(code::SUCCESS));
    }
    if cx.global.verbose {
        for command in program.plan.commands() {
            cx.say(&command.to_string());
        }
    }
    program.carry_out(&mut std::io::stderr().lock())?;
    Ok(Built::Program)
}

fn program_options(output: &Path, args: &CommonBuildArgs) -> ProgramOptions {
    let placement = if args.no_embed_image {
        ImagePlacement::Beside
    } else {
        ImagePlacement::Embedded
    };
    let work = match (&args.keep, args.dry_run) {
        (None, false) => WorkPlace::Temporary,
        (Some(folder), false) => WorkPlace::Kept(folder.clone()),
        (folder, true) => WorkPlace::Named(folder.clone().unwrap_or_else(|| DRY_RUN_FOLDER.into())),
    };
    ProgramOptions {
        output: output.to_owned(),
        device: args.device,
        arch: args.arch.clone(),
        runtime: args.tools.offload_request(),
        cuda: args.tools.cuda.clone(),
        placement,
        work,
        line_directives: !args.no_line_directives,
    }
}
