//! The commands that make one device image from the device files.
//!
//! Each device file is compiled through `rex_nvidia.cu`, which includes it. One file becomes the image in
//! one command; several become objects that a second command links.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::command::{Command, folder_of};
use super::{BuildRequest, DeviceTarget, abi_define, string_define};
use crate::flags::{Flag, FlagKind};
use crate::toolchain::{DeviceCompiler, Family, HostCompiler};
use rex_syntax::source::Language;

/// Commands that may run beside the host's, then those that need their results.
pub(super) type ImagePlan = [Vec<Command>; 2];

/// Plans the image. `devices` pairs each original file with its device file.
pub(super) fn plan(
    request: &BuildRequest<'_>,
    devices: &[(&Path, &Path)],
    image: &Path,
) -> ImagePlan {
    let compiler = match request.device {
        DeviceTarget::Host => Compiler::Host(&request.host.cxx),
        DeviceTarget::Nvptx {
            arch,
            compiler: DeviceCompiler::Nvcc { nvcc, .. },
        } => Compiler::Nvcc { nvcc, arch },
        DeviceTarget::Nvptx {
            arch,
            compiler: DeviceCompiler::Clang { clang, ptxas, .. },
        } => Compiler::Clang { clang, ptxas, arch },
    };
    let units: Vec<DeviceUnit<'_>> = devices
        .iter()
        .map(|&(original, file)| DeviceUnit { original, file })
        .collect();
    match units.as_slice() {
        [] => [Vec::new(), Vec::new()],
        [unit] => [
            vec![compiler.image(request, unit, &[]).arg("-o").arg(image)],
            Vec::new(),
        ],
        [first, others @ ..] => compiler.linked_image(request, first, others, image),
    }
}

struct DeviceUnit<'a> {
    original: &'a Path,
    file: &'a Path,
}

impl DeviceUnit<'_> {
    fn object(&self) -> PathBuf {
        self.file.with_extension("device.o")
    }
}

enum Compiler<'a> {
    Host(&'a HostCompiler),
    Nvcc {
        nvcc: &'a Path,
        arch: &'a str,
    },
    Clang {
        clang: &'a Path,
        ptxas: &'a Path,
        arch: &'a str,
    },
}

impl Compiler<'_> {
    /// Makes an image of one file; `objects` are linked in where the compiler can do so at once.
    fn image(
        &self,
        request: &BuildRequest<'_>,
        unit: &DeviceUnit<'_>,
        objects: &[PathBuf],
    ) -> Command {
        let command = self.compile(request, unit);
        let source = packaging(request);
        match self {
            // A shared object whose globals stay its own.
            Compiler::Host(_) => command
                .args(HOST_IMAGE_FLAGS)
                .arg(source)
                .args(HOST_IMAGE_LIBRARIES),
            Compiler::Nvcc { .. } => command.arg("-cubin").arg(source),
            Compiler::Clang { ptxas, .. } => {
                let mut ptxas_path = OsString::from("--ptxas-path=");
                ptxas_path.push(ptxas);
                let link = |command: Command, object: &PathBuf| {
                    command
                        .args(["-Xclang", "-mlink-bitcode-file", "-Xclang"])
                        .arg(object)
                };
                objects
                    .iter()
                    .fold(command.arg(ptxas_path), link)
                    .arg("-c")
                    .arg(source)
            }
        }
    }

    /// Makes an object of one file.
    fn object(&self, request: &BuildRequest<'_>, unit: &DeviceUnit<'_>) -> Command {
        let command = self.compile(request, unit);
        let step: &[&str] = match self {
            Compiler::Host(_) => &["-c"],
            Compiler::Nvcc { .. } => &["-dc"],
            Compiler::Clang { .. } => &["-emit-llvm", "-c"],
        };
        command
            .args(step)
            .arg(packaging(request))
            .arg("-o")
            .arg(unit.object())
    }

    /// Makes an image of several files.
    fn linked_image(
        &self,
        request: &BuildRequest<'_>,
        first: &DeviceUnit<'_>,
        others: &[DeviceUnit<'_>],
        image: &Path,
    ) -> ImagePlan {
        let mut compile: Vec<Command> = others
            .iter()
            .map(|unit| self.object(request, unit))
            .collect();
        let mut objects: Vec<PathBuf> = others.iter().map(DeviceUnit::object).collect();
        if !matches!(self, Compiler::Clang { .. }) {
            compile.insert(0, self.object(request, first));
            objects.insert(0, first.object());
        }
        let link = match self {
            Compiler::Host(compiler) => Command::of_compiler(compiler)
                .args(HOST_IMAGE_FLAGS)
                .args(objects)
                .args(HOST_IMAGE_LIBRARIES),
            Compiler::Nvcc { nvcc, arch } => Command::new(*nvcc)
                .arg(format!("-arch={arch}"))
                .arg(host_compiler_of_nvcc(request))
                .args(["-dlink", "-cubin"])
                .args(objects),
            // clang has no linker of its own for this: bitcode of the others goes into the first.
            Compiler::Clang { .. } => self.image(request, first, &objects),
        };
        [compile, vec![link.arg("-o").arg(image)]]
    }

    /// Everything of a compilation but its step, its input and its output.
    fn compile(&self, request: &BuildRequest<'_>, unit: &DeviceUnit<'_>) -> Command {
        let flags = request.flags;
        match self {
            Compiler::Host(compiler) => {
                let for_device = |flag: &Flag| is_for_any_device(flag) || is_for_host_device(flag);
                let optimize = !flags.has(FlagKind::Optimization);
                Command::of_compiler(compiler)
                    .args(["-x", "c++"])
                    .arg(standard(request).unwrap_or("-std=gnu++17".into()))
                    .args(["-fPIC", "-DREX_DEVICE_HOST"])
                    // Unique symbols would keep the image loaded for ever.
                    .args((compiler.family == Family::Gnu).then_some("-fno-gnu-unique"))
                    .args(common(request, unit, &["-iquote"]))
                    .args(optimize.then_some("-O2"))
                    .args(flags.words_where(for_device))
            }
            Compiler::Nvcc { nvcc, arch } => Command::new(*nvcc)
                .arg(format!("-arch={arch}"))
                .arg(host_compiler_of_nvcc(request))
                .arg(standard(request).unwrap_or("-std=c++17".into()))
                .arg("-O3")
                .args(common(
                    request,
                    unit,
                    &["-Xcompiler", "-iquote", "-Xcompiler"],
                ))
                .args(nvcc_flags(request)),
            Compiler::Clang { clang, arch, .. } => Command::new(*clang)
                .args(["-x", "cuda", "--cuda-device-only"])
                .arg(format!("--cuda-gpu-arch={arch}"))
                .args(["-nocudainc", "-nocudalib"])
                .arg(standard(request).unwrap_or("-std=gnu++17".into()))
                .arg("-O3")
                .args(common(request, unit, &["-iquote"]))
                .args(flags.words_where(is_for_any_device)),
        }
    }
}

const HOST_IMAGE_FLAGS: &[&str] = &["-shared", "-Wl,-Bsymbolic"];
const HOST_IMAGE_LIBRARIES: &[&str] = &["-x", "none", "-lm", "-lpthread"];

/// The file that every device file is compiled through.
fn packaging(request: &BuildRequest<'_>) -> PathBuf {
    request.work.join("rex_nvidia.cu")
}

/// The device file, the ABI, and where includes are looked for before the user's folders.
fn common(request: &BuildRequest<'_>, unit: &DeviceUnit<'_>, quote: &[&str]) -> Vec<OsString> {
    let device_source = unit.file.strip_prefix(request.work).unwrap_or(unit.file);
    let mut words = vec![string_define(
        "REX_DEVICE_SOURCE",
        device_source.as_os_str(),
    )];
    words.extend(abi_define(request.runtime).map(Into::into));
    words.extend(quote.iter().map(OsString::from));
    words.extend([
        folder_of(unit.original).into(),
        "-I".into(),
        request.work.into(),
    ]);
    words
}

fn host_compiler_of_nvcc(request: &BuildRequest<'_>) -> OsString {
    let mut option = OsString::from("-ccbin=");
    option.push(&request.host.cxx.program);
    option
}

/// The C++ standard the user chose, for device files.
fn standard(request: &BuildRequest<'_>) -> Option<OsString> {
    let of_cxx = |flag: &Flag| flag.kind == FlagKind::Standard(Some(Language::Cxx));
    request.flags.words_where(of_cxx).pop()
}

fn is_for_any_device(flag: &Flag) -> bool {
    matches!(
        flag.kind,
        FlagKind::Macro | FlagKind::Include | FlagKind::FloatingPoint
    )
}

fn is_for_host_device(flag: &Flag) -> bool {
    matches!(
        flag.kind,
        FlagKind::Optimization | FlagKind::DebugInfo | FlagKind::Machine
    )
}

/// Translates flags into nvcc's spelling; what it does not know goes through to its host compiler.
fn nvcc_flags(request: &BuildRequest<'_>) -> Vec<OsString> {
    let mut words = Vec::new();
    for flag in request.flags.iter() {
        let name = flag.words[0].to_string_lossy();
        match flag.kind {
            FlagKind::Macro => words.extend(flag.words.clone()),
            FlagKind::Include => {
                let known = ["-I", "-isystem", "-include"]
                    .iter()
                    .any(|known| name.starts_with(known));
                for word in &flag.words {
                    if !known {
                        words.push("-Xcompiler".into());
                    }
                    words.push(word.clone());
                }
            }
            FlagKind::FloatingPoint if name == "-ffast-math" => {
                words.push("--use_fast_math".into());
            }
            FlagKind::FloatingPoint if name == "-ffp-contract=off" => {
                words.push("--fmad=false".into());
            }
            FlagKind::DebugInfo if name != "-g0" => words.push("-lineinfo".into()),
            _ => {}
        }
    }
    words
}
