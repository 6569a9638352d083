//! From source files to a program: lowers them, finds the tools, plans the build, carries it out.
//!
//! Shared by the commands that build programs. Nothing is printed here.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use rex_emit::ArtifactKind;

use crate::build::{
    BuildRequest, Command, DEFAULT_ARCH, DeviceTarget, ImagePlacement, LoweredUnit, Plan, Unit,
    lost_flags, plan,
};
use crate::error::Error;
use crate::flags::{CompilerFlags, FlagKind};
use crate::lines::with_lines_for_compiler;
use crate::session::{Lowered, Session};
use crate::toolchain::{
    OffloadRequest, OffloadRuntime, Surroundings, find_device_compiler, find_host_compilers,
    find_offload_runtime, gpu_architecture, has_nvidia_driver,
};
use crate::write::{Cache, WorkFolder, Writer};

/// What runs the device code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DeviceChoice {
    /// This machine's processors.
    Host,
    /// An NVIDIA GPU.
    Nvptx,
    /// nvptx where an NVIDIA driver is, else host.
    #[default]
    Auto,
}

/// Where intermediate files go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkPlace {
    /// Into a folder that is removed afterwards.
    #[default]
    Temporary,
    /// Into this folder, which is created.
    Kept(PathBuf),
    /// Into this folder if the plan is ever carried out; nothing is created.
    Named(PathBuf),
}

/// How to build a program.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// The program to make.
    pub output: PathBuf,
    /// What runs the device code.
    pub device: DeviceChoice,
    /// The GPU architecture; `None` asks this machine's GPU.
    pub arch: Option<String>,
    /// Which offload runtime to use.
    pub runtime: OffloadRequest,
    /// A CUDA installation, or a folder with pip's CUDA packages.
    pub cuda: Option<PathBuf>,
    /// Where the device image goes.
    pub placement: ImagePlacement,
    /// Where intermediate files go.
    pub work: WorkPlace,
    /// Lowered files get line markers.
    pub line_directives: bool,
}

/// What planning gave.
#[derive(Debug)]
pub enum Planned {
    /// A build that can be carried out.
    Program(Box<ProgramBuild>),
    /// The sources have errors.
    Refused(Vec<Lowered>),
}

/// A build that can be carried out or printed.
#[derive(Debug)]
pub struct ProgramBuild {
    /// The sources with what lowering made of them.
    pub lowered: Vec<Lowered>,
    /// Things the user should know about the choice of tools.
    pub notices: Vec<String>,
    /// The commands.
    pub plan: Plan,
    units: Vec<Unit>,
    work: WorkFolder,
    cache: Cache,
    line_directives: bool,
}

/// Lowers the sources among `files` and plans the program.
///
/// # Errors
/// Unreadable files, wrong usage, missing tools.
pub fn plan_program(
    session: &Session,
    files: &[PathBuf],
    options: &ProgramOptions,
) -> Result<Planned, Error> {
    refuse_other_steps(&session.flags)?;
    let (link_inputs, sources): (Vec<PathBuf>, Vec<PathBuf>) =
        files.iter().cloned().partition(|path| is_link_input(path));
    let lowered = session.lower_all(&sources)?;
    if lowered
        .iter()
        .any(|lowered| lowered.compilation.has_errors())
    {
        return Ok(Planned::Refused(lowered));
    }
    plan_lowered(session, lowered, &link_inputs, options)
        .map(|build| Planned::Program(Box::new(build)))
}

/// Plans the program from its sources as they are, without rex.
///
/// # Errors
/// Unreadable files, wrong usage, missing tools.
pub fn plan_program_as_is(
    session: &Session,
    files: &[PathBuf],
    options: &ProgramOptions,
) -> Result<ProgramBuild, Error> {
    let (link_inputs, sources): (Vec<PathBuf>, Vec<PathBuf>) =
        files.iter().cloned().partition(|path| is_link_input(path));
    let read = |path: &PathBuf| session.read(path, session.language_of(path)?);
    let sources = sources
        .iter()
        .map(read)
        .collect::<Result<Vec<_>, Error>>()?;
    plan_lowered(session, sources, &link_inputs, options)
}

fn plan_lowered(
    session: &Session,
    lowered: Vec<Lowered>,
    link_inputs: &[PathBuf],
    options: &ProgramOptions,
) -> Result<ProgramBuild, Error> {
    let machine = &session.surroundings;
    let host = find_host_compilers(machine)?;
    let mut notices = Vec::new();
    let (mut runtime, mut device) = (None, DeviceTarget::Host);
    if lowered.iter().any(Lowered::is_changed) {
        let found = find_offload_runtime(machine, &options.runtime)?;
        device = device_target(machine, options, &found, &mut notices)?;
        runtime = Some(found);
        let changed = lowered.iter().filter(|lowered| lowered.is_changed());
        let lost: BTreeSet<String> = changed
            .map(|lowered| lost_flags(&lowered.flags, &device))
            .collect();
        notices.extend(lost.iter().map(|text| text.trim_end().to_owned()));
        notices.retain(|notice| !notice.is_empty());
    }
    let work = match &options.work {
        WorkPlace::Temporary => WorkFolder::create(None)?,
        WorkPlace::Kept(folder) => WorkFolder::create(Some(folder))?,
        WorkPlace::Named(folder) => WorkFolder::Kept(folder.clone()),
    };
    let units = units(&lowered, work.path());
    let flags = program_flags(&session.flags, &lowered);
    let plan = plan(&BuildRequest {
        units: &units,
        link_inputs,
        flags: &flags,
        host: &host,
        runtime: runtime.as_ref(),
        device: &device,
        placement: options.placement,
        work: work.path(),
        output: &options.output,
    });
    Ok(ProgramBuild {
        lowered,
        notices,
        plan,
        units,
        work,
        line_directives: options.line_directives,
        cache: Cache::of(machine),
    })
}

impl ProgramBuild {
    /// Writes the lowered files and runs the commands; what the tools print goes to `messages`.
    ///
    /// # Errors
    /// Files that cannot be written, tools that cannot be started or report failure.
    pub fn carry_out(&self, messages: &mut dyn Write) -> Result<(), Error> {
        let writer = Writer::new(self.lowered.iter().map(|lowered| lowered.path.as_path()));
        for (lowered, unit) in self.lowered.iter().zip(&self.units) {
            let (Some(artifacts), Some(unit)) = (&lowered.compilation.artifacts, &unit.lowered)
            else {
                continue;
            };
            for artifact in artifacts.iter() {
                let helper = self.work.path().join(&artifact.file_name);
                let path = match artifact.kind {
                    ArtifactKind::Host => &unit.host,
                    ArtifactKind::Device => unit.device.as_ref().unwrap_or(&unit.host),
                    _ => &helper,
                };
                if self.line_directives {
                    writer.write(path, &with_lines_for_compiler(lowered, artifact, path))?;
                } else {
                    writer.write(path, &artifact.bytes)?;
                }
            }
        }
        self.plan.execute(&self.cache, messages)
    }

    /// A shell script that does the same.
    pub fn script(&self) -> String {
        let lower = self
            .lowered
            .iter()
            .zip(&self.units)
            .filter_map(|(lowered, unit)| {
                let folder = unit.lowered.as_ref()?.host.parent()?;
                let words = [
                    "lower".as_ref(),
                    lowered.path.as_os_str(),
                    "-o".as_ref(),
                    folder.as_os_str(),
                ];
                let flags = lowered.flags.for_preprocessing(lowered.language);
                let lines = self.line_directives.then_some("--line-directives");
                Some(
                    Command::new("rex-driver")
                        .args(words)
                        .args(lines)
                        .args(flags),
                )
            });
        let commands = lower.collect::<Vec<_>>();
        commands
            .iter()
            .chain(self.plan.commands())
            .map(|command| format!("{command}\n"))
            .collect()
    }
}

/// Programs are made here; flags that ask for another result belong to a compiler.
fn refuse_other_steps(flags: &CompilerFlags) -> Result<(), Error> {
    let other = ["-c", "-S", "-E", "-M", "-MM"]
        .into_iter()
        .find(|step| flags.contains(step));
    match other {
        Some(step) => Err(Error::Usage(format!(
            "{step} does not fit here, where a program is made; rex-driver cc takes it"
        ))),
        None => Ok(()),
    }
}

/// The flags that link the program: the user's, and what its sources were compiled with for every step.
fn program_flags(user: &CompilerFlags, lowered: &[Lowered]) -> CompilerFlags {
    let mut flags = user.clone();
    for flag in lowered.iter().flat_map(|lowered| lowered.flags.iter()) {
        if flag.kind == FlagKind::Everywhere && !flags.iter().any(|known| known == flag) {
            flags.push(flag.words.clone());
        }
    }
    flags
}

/// Whether a path is for the linker, rather than a source file.
fn is_link_input(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let endings = [".o", ".a", ".so", ".obj", ".lo"];
    name.contains(".so.") || endings.into_iter().any(|ending| name.ends_with(ending))
}

fn device_target(
    machine: &Surroundings,
    options: &ProgramOptions,
    runtime: &OffloadRuntime,
    notices: &mut Vec<String>,
) -> Result<DeviceTarget, Error> {
    let nvptx = match options.device {
        DeviceChoice::Host => false,
        DeviceChoice::Nvptx => true,
        DeviceChoice::Auto => has_nvidia_driver(machine),
    };
    if !nvptx {
        return Ok(DeviceTarget::Host);
    }
    let compiler = find_device_compiler(machine, options.cuda.as_ref(), Some(runtime.abi))?;
    let conflict = compiler.conflict_with_abi(runtime.abi);
    notices.extend(conflict.map(|conflict| format!("warning: {conflict}")));
    let arch = options
        .arch
        .clone()
        .or_else(|| gpu_architecture(machine))
        .unwrap_or_else(|| {
            notices.push(format!(
                "note: no GPU here to ask; building for {DEFAULT_ARCH} (choose with --arch)"
            ));
            DEFAULT_ARCH.to_owned()
        });
    Ok(DeviceTarget::Nvptx { arch, compiler })
}

/// Decides where each unit's lowered files go; units of the same name get folders of their own.
fn units(lowered: &[Lowered], work: &Path) -> Vec<Unit> {
    let mut taken = BTreeSet::new();
    let unit = |(unit_idx, lowered): (usize, &Lowered)| {
        let name = |kind: ArtifactKind| {
            let artifact = lowered.compilation.artifacts.as_ref()?.of_kind(kind)?;
            Some(artifact.file_name.clone())
        };
        let host = name(ArtifactKind::Host).filter(|_| lowered.is_changed());
        let lowered_unit = host.map(|host| {
            let own_folder = work.join(unit_idx.to_string());
            let is_first = taken.insert(host.clone());
            let folder = if is_first { work } else { &own_folder };
            let device = name(ArtifactKind::Device).map(|device| folder.join(device));
            LoweredUnit {
                host: folder.join(host),
                device,
            }
        });
        Unit {
            source: lowered.path.clone(),
            language: lowered.language,
            flags: lowered.flags.clone(),
            lowered: lowered_unit,
        }
    };
    lowered.iter().enumerate().map(unit).collect()
}
