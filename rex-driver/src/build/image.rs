//! The commands that make one device image from the device files.
//!
//! Each device file is compiled through `rex_nvidia.cu`, which includes it. One file becomes the image of a GPU in
//! one command; several, and those for the host, become objects that a second command links.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::command::{Command, Messages, folder_of};
use super::{DeviceTarget, GENERATED_FOLDER, abi_define, nvcc, prefix_map, string_define};
use crate::flags::{CompilerFlags, Flag, FlagKind};
use crate::toolchain::{DeviceCompiler, Family, HostCompiler};
use rex_syntax::source::Language;

/// What every command for device code depends on.
#[derive(Clone, Copy, Debug)]
pub struct DeviceBuild<'a> {
    /// What runs the device code.
    pub target: &'a DeviceTarget,
    /// The host's C++ compiler.
    pub cxx: &'a HostCompiler,
    /// The offload runtime's ABI.
    pub abi: u32,
    /// The folder with the helper files.
    pub helpers: &'a Path,
}

/// One device file and the file it was lowered from.
#[derive(Clone, Copy, Debug)]
pub struct DeviceUnit<'a> {
    /// The file the user wrote; its folder is where quoted includes are looked for.
    pub original: &'a Path,
    /// The device file.
    pub file: &'a Path,
    /// The compiler flags of the file the user wrote.
    pub flags: &'a CompilerFlags,
}

/// What kernels do not use is left out: host functions of headers and the host code that instantiates kernels
/// name functions that the image has not.
const HOST_IMAGE_FLAGS: &[&str] = &[
    "-shared",
    "-Wl,-Bsymbolic",
    "-Wl,--gc-sections",
    "-Wl,-z,defs",
];
/// The symbols that the runtime looks up in an image for the host: kernels and variables. Other names of C++ are functions, which
/// only code of the image itself calls: those outside namespaces and classes have a mangled name, where variables have a plain one;
/// the others end as a list of parameters does when they are written out. What no kernel reaches can then be left out.
const HOST_IMAGE_SYMBOLS: &str = "{ global: *; *__kernel__*; _ZZN*10rex_object; _Z*B5cxx11; *__image_entry; local: _Z[!N]*; extern \"C++\" { *[$-*]; *[$-*]?const; *[$-*]?volatile; }; };";
const HOST_IMAGE_LIBRARIES: &[&str] = &["-lm", "-lpthread"];
/// What loading an image must not do: construct the variables of the host that headers declare. Variables of the device are constructed by kernels.
const NO_CONSTRUCTORS: &str =
    "SECTIONS { /DISCARD/ : { *(.init_array .init_array.* .ctors .ctors.*) } }";

impl DeviceBuild<'_> {
    /// Makes an image of one device file.
    pub fn image_of_one(&self, unit: DeviceUnit<'_>, image: &Path) -> Vec<Command> {
        match self.target {
            DeviceTarget::Host => {
                let object = unit.file.with_extension("device.o");
                let mut commands = vec![self.object(unit, &object)];
                commands.extend(self.link(&[object], image));
                commands
            }
            DeviceTarget::Nvptx {
                compiler: DeviceCompiler::Nvcc { .. },
                ..
            } => {
                vec![
                    self.compile(unit)
                        .arg("-cubin")
                        .arg(self.packaging())
                        .arg("-o")
                        .arg(image),
                ]
            }
            DeviceTarget::Nvptx {
                arch,
                compiler: DeviceCompiler::Clang { ptxas, .. },
            } => {
                let ptx = image.with_extension("ptx");
                let compile = self
                    .compile(unit)
                    .arg("-S")
                    .arg(self.packaging())
                    .arg("-o")
                    .arg(&ptx);
                vec![compile, assemble(ptxas, arch, &ptx, image)]
            }
        }
    }

    /// Makes an object of one device file: relocatable code, or bitcode.
    pub fn object(&self, unit: DeviceUnit<'_>, object: &Path) -> Command {
        let step: &[&str] = match self.target {
            DeviceTarget::Host => return self.object_for_host(unit, object),
            DeviceTarget::Nvptx {
                compiler: DeviceCompiler::Nvcc { .. },
                ..
                // Without the part for the host, for which code of the device may not compile.
            } => &["-rdc=true", "-cubin"],
            DeviceTarget::Nvptx {
                compiler: DeviceCompiler::Clang { .. },
                ..
            } => &["-emit-llvm", "-c"],
        };
        self.compile(unit)
            .args(step)
            .arg(self.packaging())
            .arg("-o")
            .arg(object)
    }

    fn object_for_host(&self, unit: DeviceUnit<'_>, object: &Path) -> Command {
        let sections = self.helpers.join("image_sections.ld");
        let mut script = OsString::from("-Wl,-T,");
        script.push(&sections);
        self.compile(unit)
            .args(["-r", "-nostdlib"])
            .arg(script)
            .arg(self.packaging())
            .arg("-o")
            .arg(object)
            .write_input(sections, NO_CONSTRUCTORS)
    }

    /// Links objects to an image; the commands run one after the other.
    pub fn link(&self, objects: &[PathBuf], image: &Path) -> Vec<Command> {
        match self.target {
            DeviceTarget::Host => {
                vec![self.link_for_host(objects, image)]
            }
            DeviceTarget::Nvptx {
                arch,
                compiler: DeviceCompiler::Nvcc { nvcc, .. },
            } => vec![
                Command::new(nvcc)
                    .arg(format!("-arch={arch}"))
                    .arg(self.host_compiler_of_nvcc())
                    .args(["-dlink", "-cubin"])
                    .args(objects)
                    .arg("-o")
                    .arg(image),
            ],
            DeviceTarget::Nvptx {
                arch,
                compiler: DeviceCompiler::Clang { clang, ptxas, .. },
            } => {
                let ptx = image.with_extension("ptx");
                let link = Command::new(clang)
                    .arg("--target=nvptx64-nvidia-cuda")
                    .arg(format!("-march={arch}"))
                    .args(["-O3", "-x", "ir"])
                    .args(objects.first());
                // clang has no linker for this; it can add modules to the one it compiles.
                let link = objects.iter().skip(1).fold(link, |command, object| {
                    command
                        .args(["-Xclang", "-mlink-bitcode-file", "-Xclang"])
                        .arg(object)
                });
                vec![
                    link.arg("-S").arg("-o").arg(&ptx),
                    assemble(ptxas, arch, &ptx, image),
                ]
            }
        }
    }

    /// A shared object whose globals stay its own.
    fn link_for_host(&self, objects: &[PathBuf], image: &Path) -> Command {
        let symbols = self.helpers.join("image_symbols.map");
        let mut version_script = OsString::from("-Wl,--version-script=");
        version_script.push(&symbols);
        Command::of_compiler(self.cxx)
            .args(objects)
            .args(HOST_IMAGE_FLAGS)
            .arg(version_script)
            .args(HOST_IMAGE_LIBRARIES)
            .arg("-o")
            .arg(image)
            .write_input(symbols, HOST_IMAGE_SYMBOLS)
    }

    /// Everything of a compilation but its step, its input and its output.
    fn compile(&self, unit: DeviceUnit<'_>) -> Command {
        match self.target {
            DeviceTarget::Host => {
                let for_device = |flag: &Flag| is_for_any_device(flag) || is_for_host_device(flag);
                let optimize = !unit.flags.has(FlagKind::Optimization);
                Command::of_compiler(self.cxx)
                    .args(["-x", "c++"])
                    .arg(self.standard(unit).unwrap_or("-std=gnu++17".into()))
                    .args(["-fPIC", "-ffunction-sections", "-fdata-sections"])
                    .arg("-DREX_DEVICE_HOST")
                    // Lists of C convert their values, and nvcc takes them.
                    .arg("-Wno-narrowing")
                    // Unique symbols would keep the image loaded for ever.
                    .args((self.cxx.family == Family::Gnu).then_some("-fno-gnu-unique"))
                    .args(self.common(unit, &["-iquote"]))
                    .arg(prefix_map(self.helpers, GENERATED_FOLDER.as_ref()))
                    .args(optimize.then_some("-O2"))
                    .args(unit.flags.words_where(for_device))
            }
            DeviceTarget::Nvptx {
                arch,
                compiler: DeviceCompiler::Nvcc { nvcc, .. },
            } => {
                Command::new(nvcc)
                    .arg(format!("-arch={arch}"))
                    .arg(self.host_compiler_of_nvcc())
                    .arg(self.standard(unit).unwrap_or("-std=c++17".into()))
                    // std::max and the like are constexpr, and not for the device by their declaration.
                    .args(["-O3", "--expt-relaxed-constexpr"])
                    .arg(format!("-diag-suppress={}", NEEDLESS_WARNINGS.join(",")))
                    // In front of cuda_runtime.h, which -include is not: builtins of the library that nvcc has for the host only.
                    .args(["-Xcompiler", "-include", "-Xcompiler"])
                    .arg(self.helpers.join("rex_nvidia.h"))
                    .args(self.common(unit, &["-Xcompiler", "-iquote", "-Xcompiler"]))
                    .args(nvcc::words(unit.flags))
                    .with_messages(Messages::OfNvcc)
            }
            DeviceTarget::Nvptx {
                arch,
                compiler: DeviceCompiler::Clang { clang, .. },
            } => Command::new(clang)
                .args(["-x", "cuda", "--cuda-device-only"])
                .arg(format!("--cuda-gpu-arch={arch}"))
                .args(["-nocudainc", "-nocudalib"])
                .arg(self.standard(unit).unwrap_or("-std=gnu++17".into()))
                .arg("-O3")
                .args(self.common(unit, &["-iquote"]))
                .arg(prefix_map(self.helpers, GENERATED_FOLDER.as_ref()))
                .args(unit.flags.words_where(is_for_any_device))
                .args(clang_words_of_host(unit.flags)),
        }
    }

    /// The file that every device file is compiled through.
    fn packaging(&self) -> PathBuf {
        self.helpers.join("rex_nvidia.cu")
    }

    /// The device file, the ABI, and where includes are looked for before the user's folders.
    fn common(&self, unit: DeviceUnit<'_>, quote: &[&str]) -> Vec<OsString> {
        let device_source = unit.file.strip_prefix(self.helpers).unwrap_or(unit.file);
        let mut words = vec![string_define(
            "REX_DEVICE_SOURCE",
            device_source.as_os_str(),
        )];
        words.push(abi_define(self.abi).into());
        words.extend(quote.iter().map(OsString::from));
        words.extend([
            folder_of(unit.original).into(),
            "-I".into(),
            self.helpers.into(),
        ]);
        words
    }

    fn host_compiler_of_nvcc(&self) -> OsString {
        let mut option = OsString::from("-ccbin=");
        option.push(&self.cxx.program);
        option
    }

    /// The C++ standard the user chose, for device files: none older than the helper files need.
    fn standard(&self, unit: DeviceUnit<'_>) -> Option<OsString> {
        let of_cxx = |flag: &Flag| flag.kind == FlagKind::Standard(Some(Language::Cxx));
        let chosen = unit.flags.words_where(of_cxx).pop()?;
        let is_old = |(old, _): &&(&str, &str)| chosen == *old;
        let newer = OLD_STANDARDS.iter().find(is_old);
        Some(newer.map_or(chosen.clone(), |(_, newer)| newer.into()))
    }
}

/// Standards that have no helper files, and those that have all that the old ones have.
const OLD_STANDARDS: [(&str, &str); 4] = [
    ("-std=c++98", "-std=c++14"),
    ("-std=c++03", "-std=c++14"),
    ("-std=gnu++98", "-std=gnu++14"),
    ("-std=gnu++03", "-std=gnu++14"),
];

/// Warnings of nvcc for local types as arguments of kernels, as it does not launch these itself; for functions of both sides that read variables of the device, as the host executes none of them; for functions of both sides that call such of the host, and
/// for `= default` that is said to be of both sides: the standard library's, of which `rex_nvidia.h` makes functions of both sides. Such calls do nothing on the device; what the library calls
/// of GCC's builtins, that file defines.
const NEEDLESS_WARNINGS: [&str; 4] = ["20012", "20014", "20091", "20257"];

fn assemble(ptxas: &Path, arch: &str, ptx: &Path, image: &Path) -> Command {
    Command::new(ptxas)
        .arg(format!("-arch={arch}"))
        .arg("-O3")
        .arg(ptx)
        .arg("-o")
        .arg(image)
}

fn is_for_any_device(flag: &Flag) -> bool {
    matches!(
        flag.kind,
        FlagKind::Macro
            | FlagKind::Include
            | FlagKind::FloatingPoint
            | FlagKind::Layout
            | FlagKind::Defined
            | FlagKind::Dialect
    )
}

/// The flags for the host's processor, whose macros the types of headers may ask for.
fn clang_words_of_host(flags: &CompilerFlags) -> Vec<OsString> {
    let for_host = flags
        .iter()
        .filter(|flag| names_host_processor(flag))
        .flat_map(|flag| ["-Xarch_host".into(), flag.words[0].clone()]);
    let words: Vec<OsString> = for_host.collect();
    let quiet = (!words.is_empty()).then_some("-Wno-unused-command-line-argument".into());
    words.into_iter().chain(quiet).collect()
}

/// Whether a flag says what the host's processor is or has; not how wide its addresses are, which all devices share.
pub(super) fn names_host_processor(flag: &Flag) -> bool {
    flag.kind == FlagKind::Machine
        && flag.words.len() == 1
        && !["-m32", "-m64", "-mx32"]
            .iter()
            .any(|width| flag.words[0] == *width)
}

fn is_for_host_device(flag: &Flag) -> bool {
    matches!(
        flag.kind,
        FlagKind::Optimization | FlagKind::DebugInfo | FlagKind::Machine
    )
}
