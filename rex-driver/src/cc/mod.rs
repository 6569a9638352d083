//! `rexcc` and `rexc++`: rex in the place of a C or C++ compiler.
//!
//! A file without device constructs goes to the host compiler as it is. Other files are lowered, and
//! their device code is compiled at once and travels inside the object ([`bundle`]); linking a program or
//! a shared library gathers it, makes the image and embeds it ([`link`]).

pub mod bundle;
mod compile;
pub mod invocation;
mod link;
mod response;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command as Process;

use rex_syntax::source::Language;

use crate::build::{Command, DeviceTarget};
use crate::error::Error;
use crate::flags::CompilerFlags;
use crate::preprocess::{Origin, may_offload};
use crate::toolchain::{
    HostCompiler, HostCompilers, OffloadRequest, OffloadRuntime, Surroundings,
    find_device_compiler, find_host_compilers, find_offload_runtime, gpu_architecture,
    has_nvidia_driver,
};
use crate::write::Cache;
use bundle::Form;
use invocation::{Device, Invocation, Item, Step};

/// What ends an invocation that did not go to the host compiler as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The outputs were made.
    Made,
    /// A source has errors, which have been shown.
    InputErrors,
}

/// Everything the steps of one invocation share.
struct Cx {
    invocation: Invocation,
    flags: CompilerFlags,
    surroundings: Surroundings,
    host: HostCompilers,
    driver: Language,
}

/// Runs one compiler command line, without the program's name.
///
/// If there is nothing to lower, the host compiler takes over the process and this never returns.
///
/// # Errors
/// Failures of the environment, wrong usage, failures of the tools that were started.
pub fn run(
    driver: Language,
    words: impl IntoIterator<Item = OsString>,
    surroundings: Surroundings,
) -> Result<Ended, Error> {
    let invocation = Invocation::parse(response::expand(words), driver)?;
    let host = find_host_compilers(&surroundings)?;
    let flags = invocation.compiler_flags();
    let cx = Cx {
        invocation,
        flags,
        surroundings,
        host,
        driver,
    };
    let step = cx.invocation.step();
    let offloads = cx.sources().any(|(path, _)| cx.may_offload(path));
    match step {
        Step::Other => Err(cx.hand_over()),
        Step::Assembly | Step::Object if !offloads => Err(cx.hand_over()),
        Step::Assembly | Step::Object => compile::all(&cx, step),
        Step::Link if !offloads && !link::needs_offload(&cx) => Err(cx.hand_over()),
        Step::Link => link::program(&cx),
    }
}

impl Cx {
    /// The host compiler that this command line is meant for.
    fn compiler(&self) -> &HostCompiler {
        self.host.of(self.driver)
    }

    fn sources(&self) -> impl Iterator<Item = (&PathBuf, Language)> {
        self.invocation.items.iter().filter_map(|item| match item {
            Item::Source { path, language } => Some((path, *language)),
            Item::Input(_) | Item::Flag(_) => None,
        })
    }

    /// Whether a file must be read more closely. Unreadable files are the host compiler's to report.
    fn may_offload(&self, path: &PathBuf) -> bool {
        self.invocation.openmp()
            && self.invocation.device != Device::Disabled
            && std::fs::read(path)
                .is_ok_and(|bytes| may_offload(&bytes, Origin::File(path), &self.flags))
    }

    /// Replaces this process by the host compiler; returns only if that fails.
    fn hand_over(&self) -> Error {
        let command = Command::of_compiler(self.compiler()).args(&self.invocation.passed_on);
        let source = Process::new(&command.program).args(&command.args).exec();
        Error::Start {
            program: command.program,
            source,
        }
    }

    /// An option of rex: from the command line, else from the environment.
    fn option(&self, name: &str) -> Option<OsString> {
        let variable = format!("REX_{}", name.to_uppercase().replace('-', "_"));
        let given = self
            .invocation
            .option(name)
            .or_else(|| self.surroundings.var(&variable));
        given.map(ToOwned::to_owned)
    }

    fn runtime(&self) -> Result<OffloadRuntime, Error> {
        let abi = match self.option("llvm-abi") {
            None => None,
            Some(text) => Some(text.to_string_lossy().parse().map_err(|_| {
                Error::Usage(format!(
                    "the LLVM version must be a number, not {}",
                    text.display()
                ))
            })?),
        };
        let folder = self.option("libomptarget").map(PathBuf::from);
        Ok(find_offload_runtime(
            &self.surroundings,
            &OffloadRequest { folder, abi },
        )?)
    }

    /// What runs the device code: rex's own option, else what the command line names, else the machine.
    fn device(&self, runtime: &OffloadRuntime) -> Result<DeviceTarget, Error> {
        let option = self.option("device");
        let nvptx = match option
            .as_deref()
            .map(|device| device.to_string_lossy())
            .as_deref()
        {
            Some("host") => false,
            Some("nvptx") => true,
            None | Some("auto") => match self.invocation.device {
                Device::Host => false,
                Device::Nvptx => true,
                Device::Unspecified | Device::Disabled => has_nvidia_driver(&self.surroundings),
            },
            Some(other) => {
                return Err(Error::Usage(format!(
                    "there is no device {other}; host, nvptx and auto are"
                )));
            }
        };
        if !nvptx {
            return Ok(DeviceTarget::Host);
        }
        let cuda = self.option("cuda").map(PathBuf::from);
        let compiler = find_device_compiler(&self.surroundings, cuda.as_ref(), Some(runtime.abi))?;
        let arch = self
            .invocation
            .arch
            .clone()
            .or_else(|| gpu_architecture(&self.surroundings));
        let arch = arch.unwrap_or_else(|| crate::build::DEFAULT_ARCH.to_owned());
        Ok(DeviceTarget::Nvptx { arch, compiler })
    }
}

/// The form of the objects that a device's compiler makes, and their architecture.
fn form_of(device: &DeviceTarget) -> (Form, &str) {
    use crate::toolchain::DeviceCompiler;
    match device {
        DeviceTarget::Host => (Form::HostObject, ""),
        DeviceTarget::Nvptx {
            arch,
            compiler: DeviceCompiler::Nvcc { .. },
        } => (Form::NvccObject, arch),
        DeviceTarget::Nvptx {
            arch,
            compiler: DeviceCompiler::Clang { .. },
        } => (Form::Bitcode, arch),
    }
}

/// Runs commands one after the other, showing what they print.
fn run_all(cx: &Cx, commands: impl IntoIterator<Item = Command>) -> Result<(), Error> {
    let stages = commands.into_iter().map(|command| vec![command]).collect();
    let cache = Cache::of(&cx.surroundings);
    crate::build::Plan { stages }.execute(&cache, &mut std::io::stderr().lock())
}
