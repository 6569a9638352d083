//! The commands that make one device image from the device files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::command::{Command, folder_of};
use super::{BuildRequest, DeviceTarget, abi_define};
use crate::flags::{Flag, FlagKind};
use crate::toolchain::DeviceCompiler;
use rex_syntax::source::Language;

/// Plans the image: commands that may run beside the host's, then those that need their results.
///
/// `devices` pairs each original file with its device file.
pub(super) fn plan(
    request: &BuildRequest<'_>,
    devices: &[(&Path, &Path)],
    image: &Path,
) -> [Vec<Command>; 2] {
    let packaging = request.work.join("rex_nvidia.cu");
    let units = devices
        .iter()
        .copied()
        .chain([(packaging.as_path(), packaging.as_path())]);
    let units: Vec<DeviceUnit<'_>> = units
        .map(|(original, file)| DeviceUnit {
            original,
            file,
            object: file.with_extension("device.o"),
        })
        .collect();
    match request.device {
        DeviceTarget::Host => host_image(request, &units, image),
        DeviceTarget::Nvptx {
            arch,
            compiler: DeviceCompiler::Nvcc { nvcc, .. },
        } => nvcc_image(request, nvcc, arch, &units, image),
        DeviceTarget::Nvptx {
            arch,
            compiler: DeviceCompiler::Clang { clang, ptxas, .. },
        } => clang_image(request, clang, ptxas, arch, &units, image),
    }
}

struct DeviceUnit<'a> {
    original: &'a Path,
    file: &'a Path,
    object: PathBuf,
}

/// A shared object for this machine; `-Bsymbolic` keeps its globals its own.
fn host_image(
    request: &BuildRequest<'_>,
    units: &[DeviceUnit<'_>],
    image: &Path,
) -> [Vec<Command>; 2] {
    let compiler = &request.host.cxx;
    let optimization = if request.flags.has(FlagKind::Optimization) {
        None
    } else {
        Some("-O2")
    };
    let compile = |unit: &DeviceUnit<'_>| {
        Command::of_compiler(compiler)
            .args(["-x", "c++"])
            .args(standard(request).unwrap_or("-std=gnu++17".into()).to_str())
            .args(["-fPIC", "-DREX_DEVICE_HOST"])
            .args(places(request, unit))
            .args(optimization)
            .args(
                request
                    .flags
                    .words_where(|flag| is_for_any_device(flag) || is_for_host_device(flag)),
            )
            .arg("-c")
            .arg(unit.file)
            .arg("-o")
            .arg(&unit.object)
    };
    let link = Command::of_compiler(compiler)
        .args(["-shared", "-Wl,-Bsymbolic"])
        .args(units.iter().map(|unit| &unit.object))
        .args(["-lm", "-lpthread", "-o"])
        .arg(image);
    [units.iter().map(compile).collect(), vec![link]]
}

/// A cubin by nvcc: relocatable objects, then a device link.
fn nvcc_image(
    request: &BuildRequest<'_>,
    nvcc: &Path,
    arch: &str,
    units: &[DeviceUnit<'_>],
    image: &Path,
) -> [Vec<Command>; 2] {
    let arch = format!("-arch={arch}");
    let host = {
        let mut option = OsString::from("-ccbin=");
        option.push(&request.host.cxx.program);
        option
    };
    let compile = |unit: &DeviceUnit<'_>| {
        Command::new(nvcc)
            .args([&arch, "-dc", "-O3"])
            .arg(&host)
            .arg(standard(request).unwrap_or("-std=c++17".into()))
            .args(abi_define(request.runtime))
            .args(["-Xcompiler", "-iquote", "-Xcompiler"])
            .arg(folder_of(unit.original))
            .arg("-I")
            .arg(request.work)
            .args(nvcc_flags(request))
            .arg(unit.file)
            .arg("-o")
            .arg(&unit.object)
    };
    let link = Command::new(nvcc)
        .args([&arch, "-dlink", "-cubin"])
        .arg(&host)
        .args(units.iter().map(|unit| &unit.object))
        .arg("-o")
        .arg(image);
    [units.iter().map(compile).collect(), vec![link]]
}

/// A cubin by clang: bitcode for each file, linked into the last one, which `ptxas` assembles.
fn clang_image(
    request: &BuildRequest<'_>,
    clang: &Path,
    ptxas: &Path,
    arch: &str,
    units: &[DeviceUnit<'_>],
    image: &Path,
) -> [Vec<Command>; 2] {
    let cuda = |file: &DeviceUnit<'_>| {
        Command::new(clang)
            .args(["-x", "cuda", "--cuda-device-only"])
            .arg(format!("--cuda-gpu-arch={arch}"))
            .args(["-nocudainc", "-nocudalib", "-O3"])
            .arg(standard(request).unwrap_or("-std=gnu++17".into()))
            .args(places(request, file))
            .args(request.flags.words_where(is_for_any_device))
    };
    let bitcode = |unit: &DeviceUnit<'_>| unit.object.with_extension("bc");
    let Some((last, others)) = units.split_last() else {
        return [Vec::new(), Vec::new()];
    };
    let compile = others
        .iter()
        .map(|unit| {
            cuda(unit)
                .args(["-emit-llvm", "-c"])
                .arg(unit.file)
                .arg("-o")
                .arg(bitcode(unit))
        })
        .collect();
    let mut ptxas_path = OsString::from("--ptxas-path=");
    ptxas_path.push(ptxas);
    let link = others
        .iter()
        .fold(cuda(last).arg(ptxas_path), |command, unit| {
            command
                .args(["-Xclang", "-mlink-bitcode-file", "-Xclang"])
                .arg(bitcode(unit))
        })
        .arg("-c")
        .arg(last.file)
        .arg("-o")
        .arg(image);
    [compile, vec![link]]
}

/// The ABI, and where includes are looked for before the user's folders.
fn places(request: &BuildRequest<'_>, unit: &DeviceUnit<'_>) -> Vec<OsString> {
    let mut words: Vec<OsString> = abi_define(request.runtime)
        .map(Into::into)
        .into_iter()
        .collect();
    words.extend(["-iquote".into(), folder_of(unit.original).into()]);
    words.extend(["-I".into(), request.work.into()]);
    words
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
                words.push("--use_fast_math".into())
            }
            FlagKind::FloatingPoint if name == "-ffp-contract=off" => {
                words.push("--fmad=false".into())
            }
            FlagKind::DebugInfo if name != "-g0" => words.push("-lineinfo".into()),
            _ => {}
        }
    }
    words
}
