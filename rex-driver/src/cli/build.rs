//! `build`: lower, compile and link a program.

use std::path::{Path, PathBuf};

use rex_emit::ArtifactKind;

use super::args::{BuildArgs, CommonBuildArgs, DeviceChoice};
use super::{Context, Stop, answer, code, is_link_input};
use crate::build::{
    BuildRequest, DEFAULT_ARCH, DeviceTarget, ImagePlacement, LoweredUnit, Plan, Unit, plan,
};
use crate::error::Error;
use crate::flags::CompilerFlags;
use crate::session::Lowered;
use crate::toolchain::{
    OffloadRequest, OffloadRuntime, find_device_compiler, find_host_compilers,
    find_offload_runtime, gpu_architecture, has_nvidia_driver,
};
use crate::write::{WorkFolder, Writer};

/// The folder that a dry run names instead of a temporary one.
const DRY_RUN_FOLDER: &str = "rex-work";

pub(super) fn run(cx: &Context, mut args: BuildArgs) -> Result<u8, Stop> {
    let mut cx = Context {
        global: cx.global.clone(),
        flags: cx.flags.clone(),
        surroundings: cx.surroundings.clone(),
    };
    let (more, rest) = CompilerFlags::extract(std::mem::take(&mut args.more_flags), &[]);
    for flag in more.iter() {
        cx.flags.push(flag.words.clone());
    }
    args.files.extend(rest.into_iter().map(PathBuf::from));
    match build(&cx, &args.files, &args.output, &args.build)? {
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
    refuse_other_steps(&cx.flags)?;
    let (link_inputs, sources): (Vec<PathBuf>, Vec<PathBuf>) =
        files.iter().cloned().partition(|path| is_link_input(path));
    let lowered = cx.session("stdin.c").lower_all(&sources)?;
    if cx.show_diagnostics(&lowered) {
        return Ok(Built::Nothing(code::INPUT));
    }
    let host = find_host_compilers(&cx.surroundings)?;
    let runtime = if lowered.iter().any(Lowered::is_changed) {
        Some(offload_runtime(cx, args)?)
    } else {
        None
    };
    let device = match &runtime {
        Some(runtime) => device_target(cx, args, runtime)?,
        None => DeviceTarget::Host,
    };
    let work = if args.dry_run {
        let folder = args.keep.clone().unwrap_or_else(|| DRY_RUN_FOLDER.into());
        WorkFolder::Kept(folder)
    } else {
        WorkFolder::create(args.keep.as_deref())?
    };
    let units = units(&lowered, work.path());
    let placement = if args.no_embed_image {
        ImagePlacement::Beside
    } else {
        ImagePlacement::Embedded
    };
    let plan = plan(&BuildRequest {
        units: &units,
        link_inputs: &link_inputs,
        flags: &cx.flags,
        host: &host,
        runtime: runtime.as_ref(),
        device: &device,
        placement,
        work: work.path(),
        output,
    });
    if args.dry_run {
        print_plan(&plan, &lowered, &units, work.path())?;
        return Ok(Built::Nothing(code::SUCCESS));
    }
    write_artifacts(&lowered, &units, work.path())?;
    if cx.global.verbose {
        for command in plan.commands() {
            cx.say(&command.to_string());
        }
    }
    plan.execute(&mut std::io::stderr().lock())?;
    Ok(Built::Program)
}

/// `build` makes programs; flags that ask for another result belong to a compiler.
fn refuse_other_steps(flags: &CompilerFlags) -> Result<(), Error> {
    let other = ["-c", "-S", "-E", "-M", "-MM"]
        .into_iter()
        .find(|step| flags.contains(step));
    match other {
        Some(step) => Err(Error::Usage(format!(
            "build makes a program; {step} does not fit it"
        ))),
        None => Ok(()),
    }
}

fn offload_runtime(cx: &Context, args: &CommonBuildArgs) -> Result<OffloadRuntime, Error> {
    let request = OffloadRequest {
        folder: args.tools.libomptarget.clone(),
        abi: args.tools.llvm_abi,
    };
    Ok(find_offload_runtime(&cx.surroundings, &request)?)
}

fn device_target(
    cx: &Context,
    args: &CommonBuildArgs,
    runtime: &OffloadRuntime,
) -> Result<DeviceTarget, Error> {
    let nvptx = match args.device {
        DeviceChoice::Host => false,
        DeviceChoice::Nvptx => true,
        DeviceChoice::Auto => has_nvidia_driver(&cx.surroundings),
    };
    if !nvptx {
        return Ok(DeviceTarget::Host);
    }
    let abi = Some(runtime.abi);
    let compiler = find_device_compiler(&cx.surroundings, args.tools.cuda.as_ref(), abi)?;
    if let Some(conflict) = compiler.conflict_with_abi(runtime.abi) {
        cx.say(&format!("warning: {conflict}"));
    }
    let arch = match args
        .arch
        .clone()
        .or_else(|| gpu_architecture(&cx.surroundings))
    {
        Some(arch) => arch,
        None => {
            cx.say(&format!(
                "note: no GPU here to ask; building for {DEFAULT_ARCH} (choose with --arch)"
            ));
            DEFAULT_ARCH.to_owned()
        }
    };
    Ok(DeviceTarget::Nvptx { arch, compiler })
}

/// Decides where each unit's lowered files go; units of the same name get folders of their own.
fn units(lowered: &[Lowered], work: &Path) -> Vec<Unit> {
    let mut taken = std::collections::BTreeSet::new();
    lowered
        .iter()
        .enumerate()
        .map(|(unit_idx, lowered)| {
            let name = |kind: ArtifactKind| {
                let artifacts = lowered.compilation.artifacts.as_ref()?;
                let artifact = artifacts.iter().find(|artifact| artifact.kind == kind)?;
                Some(artifact.file_name.clone())
            };
            let host = name(ArtifactKind::Host).filter(|_| lowered.is_changed());
            let lowered_unit = host.map(|host| {
                let folder = if taken.insert(host.clone()) {
                    work.to_owned()
                } else {
                    work.join(unit_idx.to_string())
                };
                let device = name(ArtifactKind::Device).map(|device| folder.join(device));
                LoweredUnit {
                    host: folder.join(host),
                    device,
                }
            });
            Unit {
                source: lowered.path.clone(),
                language: lowered.language,
                lowered: lowered_unit,
            }
        })
        .collect()
}

fn write_artifacts(lowered: &[Lowered], units: &[Unit], work: &Path) -> Result<(), Error> {
    let writer = Writer::new(lowered.iter().map(|lowered| lowered.path.as_path()));
    for (lowered, unit) in lowered.iter().zip(units) {
        let (Some(artifacts), Some(unit)) = (&lowered.compilation.artifacts, &unit.lowered) else {
            continue;
        };
        for artifact in artifacts.iter() {
            let path = match artifact.kind {
                ArtifactKind::Host => unit.host.clone(),
                ArtifactKind::Device => unit.device.clone().unwrap_or_default(),
                _ => work.join(&artifact.file_name),
            };
            writer.write(&path, &artifact.bytes)?;
        }
    }
    Ok(())
}

/// Prints a shell script that does what the build would.
fn print_plan(plan: &Plan, lowered: &[Lowered], units: &[Unit], work: &Path) -> Result<(), Stop> {
    let mut script = String::new();
    for (lowered, unit) in lowered.iter().zip(units) {
        if let Some(unit) = &unit.lowered {
            let folder = unit.host.parent().unwrap_or(work);
            let command = crate::build::Command::new("rex-driver")
                .arg("lower")
                .arg(&lowered.path)
                .arg("-o")
                .arg(folder);
            script.push_str(&format!("{command}\n"));
        }
    }
    for command in plan.commands() {
        script.push_str(&format!("{command}\n"));
    }
    answer(script.as_bytes())
}
