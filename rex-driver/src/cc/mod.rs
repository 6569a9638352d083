//! `rexcc` and `rexc++`: rex in the place of a C or C++ compiler.
//!
//! A file without device constructs goes to the host compiler as it is. Other files are lowered, and
//! their device code is compiled at once and travels inside the object ([`bundle`]); linking a program or
//! a shared library gathers it, makes the image and embeds it ([`link`]).
//!
//! A command line that ends at the host compiler must cost next to nothing: nothing is started before that is
//! known, not even the host compiler to ask for its version.

mod auxiliary;
pub mod bundle;
mod compile;
mod expanded;
pub mod invocation;
mod link;
pub(crate) mod response;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use rex_syntax::source::Language;

use crate::build::{Command, DeviceTarget};
use crate::compile_commands::{Compilation, record};
use crate::error::Error;
use crate::flags::CompilerFlags;
use crate::preprocess::{Origin, may_offload};
use crate::toolchain::{
    Carrier, HostCompiler, HostCompilers, OffloadRequest, OffloadRuntime, Surroundings,
    find_device_compiler, find_host_compilers, find_offload_runtime, gpu_architecture,
    has_nvidia_driver, locate_host_compiler,
};
use crate::write::{Cache, WorkFolder, Writer};
use bundle::Form;
use invocation::{Device, Invocation, Item, Source, Step};

/// What ends an invocation that did not go to the host compiler as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The outputs were made.
    Made,
    /// A source has errors, which have been shown.
    InputErrors,
    /// The host compiler did the work and ended with this code.
    AsHost(u8),
}

/// Everything the steps of one invocation share.
struct Cx {
    invocation: Invocation,
    flags: CompilerFlags,
    surroundings: Surroundings,
    host: OnceCell<HostCompilers>,
    driver: Language,
    /// Where standard input is kept, if it is a source to lower.
    stdin: Option<WorkFolder>,
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
    let words = response::expand(words);
    let invocation = Invocation::parse(words.clone(), driver);
    let flags = invocation.compiler_flags();
    let mut cx = Cx {
        invocation,
        flags,
        surroundings,
        host: OnceCell::new(),
        driver,
        stdin: None,
    };
    let step = cx.invocation.step();
    if step != Step::Other {
        cx.record(&words);
        if let Some(ended) = cx.take_stdin()? {
            return Ok(ended);
        }
    }
    let offloads = cx.sources().any(|source| cx.may_offload(source));
    match step {
        Step::Other if expanded::is_of_another_program(&cx) => expanded::program(&cx),
        Step::Other => Err(cx.hand_over()),
        Step::Assembly | Step::Object if !offloads => Err(cx.hand_over()),
        Step::Assembly | Step::Object => compile::all(&cx, step),
        Step::Link if !offloads && !link::needs_offload(&cx) => Err(cx.hand_over()),
        Step::Link => link::program(&cx),
    }
}

impl Cx {
    /// The host compilers, which are asked for their versions.
    fn host(&self) -> Result<&HostCompilers, Error> {
        if let Some(found) = self.host.get() {
            return Ok(found);
        }
        let found = find_host_compilers(&self.surroundings)?;
        Ok(self.host.get_or_init(|| found))
    }

    /// The host compiler that this command line is meant for.
    fn compiler(&self) -> Result<&HostCompiler, Error> {
        Ok(self.host()?.of(self.driver))
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.invocation.items.iter().filter_map(|item| match item {
            Item::Source(source) => Some(source),
            Item::Input(_) | Item::Foreign(..) | Item::Flag(_) => None,
        })
    }

    /// Whether constructs are lowered at all.
    fn is_offloading(&self) -> bool {
        self.invocation.openmp() && self.invocation.device != Device::Disabled
    }

    /// Whether a file must be read more closely. Unreadable files are the host compiler's to report.
    fn may_offload(&self, source: &Source) -> bool {
        let path = &source.path;
        self.is_offloading()
            && std::fs::read(path)
                .is_ok_and(|bytes| may_offload(&bytes, Origin::File(path), &self.flags))
    }

    /// Keeps standard input in a file if it is a source with device constructs; otherwise the host compiler
    /// compiles it.
    fn take_stdin(&mut self) -> Result<Option<Ended>, Error> {
        let is_stdin = |source: &Source| source.path.as_os_str() == "-";
        let Some(language) = self
            .sources()
            .find(|source| is_stdin(source))
            .map(|source| source.language)
        else {
            return Ok(None);
        };
        if !self.is_offloading() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let stdin = Path::new("-");
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(Error::io("read", stdin))?;
        let name = match language {
            Language::C => "stdin.c",
            Language::Cxx => "stdin.cpp",
        };
        if !may_offload(&bytes, Origin::Stdin(name), &self.flags) {
            return self.compile_stdin(&bytes).map(Some);
        }
        let folder = WorkFolder::create(None)?;
        let path = folder.path().join(name);
        Writer::default().write(&path, &bytes)?;
        for item in &mut self.invocation.items {
            if let Item::Source(source) = item
                && is_stdin(source)
            {
                source.path.clone_from(&path);
            }
        }
        // Quoted includes are looked for where the compiler was started.
        self.flags.push(vec!["-iquote".into(), ".".into()]);
        if self.invocation.step() == Step::Object {
            self.invocation.output.get_or_insert_with(|| "-.o".into());
        }
        self.stdin = Some(folder);
        Ok(None)
    }

    /// Lets the host compiler read bytes that were read from standard input.
    fn compile_stdin(&self, bytes: &[u8]) -> Result<Ended, Error> {
        let (program, leading) = locate_host_compiler(&self.surroundings, self.driver)?;
        let start_error = |source| Error::Start {
            program: program.clone(),
            source,
        };
        let mut child = Process::new(&program)
            .args(&leading)
            .args(&self.invocation.passed_on)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(start_error)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A compiler that stops reading early reports why itself.
            let _ = stdin.write_all(bytes);
        }
        let status = child.wait().map_err(start_error)?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(Ended::AsHost(code.unwrap_or(1)))
    }

    /// Records the sources in a compilation database, if one is named. That it fails stops no build.
    fn record(&self, words: &[OsString]) {
        let Some(place) = self.option("compile-commands") else {
            return;
        };
        let compiler = match self.driver {
            Language::C => "rexcc",
            Language::Cxx => "rexc++",
        };
        let is_own =
            |word: &&OsString| word.to_string_lossy().starts_with("--rex-compile-commands");
        let arguments: Vec<OsString> = std::iter::once(OsString::from(compiler))
            .chain(words.iter().filter(|word| !is_own(word)).cloned())
            .collect();
        let compilations: Vec<Compilation<'_>> = self
            .sources()
            .filter(|source| source.path.as_os_str() != "-")
            .map(|source| Compilation {
                file: &source.path,
                output: self.invocation.output.as_deref(),
                arguments: &arguments,
            })
            .collect();
        if compilations.is_empty() {
            return;
        }
        if let Err(error) = record(Path::new(&place), &compilations) {
            let _ = writeln!(std::io::stderr(), "rex: warning: {error}");
        }
    }

    /// Replaces this process by the host compiler; returns only if that fails.
    fn hand_over(&self) -> Error {
        let (program, leading) = match locate_host_compiler(&self.surroundings, self.driver) {
            Ok(found) => found,
            Err(missing) => return missing.into(),
        };
        let source = Process::new(&program)
            .args(leading)
            .args(&self.invocation.passed_on)
            .exec();
        Error::Start { program, source }
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
        let carrier = match self.option("runtime") {
            None => Carrier::default(),
            Some(name) => Carrier::parse(&name.to_string_lossy()).ok_or_else(|| {
                Error::Usage(format!(
                    "there is no runtime {}; libomptarget and liboffload are",
                    name.display()
                ))
            })?,
        };
        Ok(find_offload_runtime(
            &self.surroundings,
            &OffloadRequest {
                folder,
                abi,
                carrier,
            },
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
            None | Some("auto") if self.invocation.unsupported.is_some() => {
                let target = self.invocation.unsupported.as_deref().unwrap_or_default();
                return Err(Error::Usage(format!(
                    "offloading to {target} is not supported; nvptx64 and the host are"
                )));
            }
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
            .option("arch")
            .map(|arch| arch.to_string_lossy().into_owned())
            .or_else(|| self.invocation.arch.clone())
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
