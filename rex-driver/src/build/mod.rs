//! From lowered files to a program: the plan of commands, as data.
//!
//! Planning starts nothing and looks at no file, so a plan can be printed, tested and compared.
//! What the tools are is [`crate::toolchain`]'s business.

pub mod command;
mod image;
mod lost_flags;
mod nvcc;
mod refusals;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use command::{Command, Plan};
pub use image::{DeviceBuild, DeviceUnit};
pub use lost_flags::{lost_flags, refused_flags};

use crate::flags::{CompilerFlags, Flag, FlagKind};
use crate::preprocessed::Form;
use crate::toolchain::{DeviceCompiler, Family, HostCompiler, HostCompilers, OffloadRuntime};
use command::folder_of;
use rex_syntax::source::Language;

/// A source file of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The file the user wrote.
    pub source: PathBuf,
    /// The language it is compiled as.
    pub language: Language,
    /// The compiler flags it is compiled with.
    pub flags: CompilerFlags,
    /// What lowering made of it; `None` if it has nothing to offload and is compiled as it is.
    pub lowered: Option<LoweredUnit>,
}

/// The files that lowering wrote for a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoweredUnit {
    /// The host file, `rose_<name>`.
    pub host: PathBuf,
    /// The device file, `rex_lib_<name>.cu`, if the unit has device code.
    pub device: Option<PathBuf>,
}

/// What runs the device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceTarget {
    /// The host's processors, through the same offload runtime.
    Host,
    /// An NVIDIA GPU.
    Nvptx {
        /// The architecture, for instance `sm_90`.
        arch: String,
        /// What compiles for it.
        compiler: DeviceCompiler,
    },
}

/// Where the device image goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagePlacement {
    /// Into the program.
    Embedded,
    /// Into a file beside the program.
    Beside,
}

/// Everything a plan depends on.
#[derive(Clone, Debug)]
pub struct BuildRequest<'a> {
    /// The source files.
    pub units: &'a [Unit],
    /// Objects and libraries given by path.
    pub link_inputs: &'a [PathBuf],
    /// The compiler flags of the program as a whole.
    pub flags: &'a CompilerFlags,
    /// The host compilers.
    pub host: &'a HostCompilers,
    /// The offload runtime; needed when any unit is lowered.
    pub runtime: Option<&'a OffloadRuntime>,
    /// What runs the device code.
    pub device: &'a DeviceTarget,
    /// Where the device image goes.
    pub placement: ImagePlacement,
    /// The folder with the lowered and helper files, where intermediate files go too.
    pub work: &'a Path,
    /// The program to make.
    pub output: &'a Path,
}

/// The architecture built for when there is no GPU to ask and none was named.
pub const DEFAULT_ARCH: &str = "sm_90";

/// Plans the build of a program.
pub fn plan(request: &BuildRequest<'_>) -> Plan {
    let objects: Vec<PathBuf> = (0..request.units.len())
        .map(|unit_idx| object_path(request, unit_idx))
        .collect();
    let compile = request.units.iter().zip(&objects);
    let mut stages = vec![
        compile
            .map(|(unit, object)| compile_unit(request, unit, object))
            .collect::<Vec<_>>(),
    ];
    let mut link_objects = objects;
    if let Some(runtime) = request.runtime {
        let image = image_path(request);
        let device = DeviceBuild {
            target: request.device,
            cxx: &request.host.cxx,
            abi: runtime.abi,
            helpers: request.work,
        };
        let device_stages = plan_image(&device, request.units, &image);
        let has_device_code = !device_stages.is_empty();
        for (stage_idx, commands) in device_stages.into_iter().enumerate() {
            match stages.get_mut(stage_idx) {
                Some(stage) => stage.extend(commands),
                None => stages.push(commands),
            }
        }
        let name = image_name(request);
        let source = match request.placement {
            ImagePlacement::Embedded => ImageSource::Embedded(&image),
            ImagePlacement::Beside => ImageSource::Searched(&name),
        };
        let source = has_device_code.then_some(source);
        let cxx = &request.host.cxx;
        let register = registration(cxx, request.flags, runtime, request.work, source);
        stages[0].push(register.compile);
        stages.push(vec![register.assemble]);
        link_objects.push(register.object);
    }
    stages.push(vec![link(request, &link_objects)]);
    stages.retain(|stage| !stage.is_empty());
    Plan { stages }
}

/// Plans the device image in stages that may run beside the host's.
///
/// One device file becomes the image at once, which optimizes best; several become objects first.
fn plan_image(device: &DeviceBuild<'_>, units: &[Unit], image: &Path) -> Vec<Vec<Command>> {
    let files: Vec<DeviceUnit<'_>> = units.iter().filter_map(device_unit).collect();
    let in_sequence = |commands: Vec<Command>| commands.into_iter().map(|command| vec![command]);
    match files.as_slice() {
        [] => Vec::new(),
        [file] => in_sequence(device.image_of_one(*file, image)).collect(),
        files => {
            let objects: Vec<PathBuf> = files
                .iter()
                .map(|unit| unit.file.with_extension("device.o"))
                .collect();
            let compile = files.iter().zip(&objects);
            let compile = compile
                .map(|(unit, object)| device.object(*unit, object))
                .collect();
            std::iter::once(compile)
                .chain(in_sequence(device.link(&objects, image)))
                .collect()
        }
    }
}

fn device_unit(unit: &Unit) -> Option<DeviceUnit<'_>> {
    let file = unit.lowered.as_ref()?.device.as_deref()?;
    Some(DeviceUnit {
        original: &unit.source,
        file,
        flags: &unit.flags,
    })
}

/// The file that holds the device image: temporary if it is embedded, else beside the program.
pub fn image_path(request: &BuildRequest<'_>) -> PathBuf {
    match request.placement {
        ImagePlacement::Embedded => request.work.join(image_name(request)),
        ImagePlacement::Beside => folder_of(request.output).join(image_name(request)),
    }
}

fn image_name(request: &BuildRequest<'_>) -> OsString {
    let mut name = match request.placement {
        ImagePlacement::Embedded => OsString::from("rex_lib_nvidia"),
        ImagePlacement::Beside => request.output.file_name().unwrap_or_default().to_owned(),
    };
    name.push(match request.device {
        DeviceTarget::Host => ".image.so",
        DeviceTarget::Nvptx { .. } => ".cubin",
    });
    name
}

/// Where a unit's object goes; units of the same name in different folders stay apart.
fn object_path(request: &BuildRequest<'_>, unit_idx: usize) -> PathBuf {
    let stem_of = |unit: &Unit| unit.source.file_stem().unwrap_or_default().to_owned();
    let mut name = stem_of(&request.units[unit_idx]);
    let earlier = &request.units[..unit_idx];
    let n_earlier = earlier.iter().filter(|unit| stem_of(unit) == name).count();
    if n_earlier > 0 {
        name.push(format!("-{n_earlier}"));
    }
    name.push(".o");
    request.work.join(name)
}

fn compile_unit(request: &BuildRequest<'_>, unit: &Unit, object: &Path) -> Command {
    let compiler = request.host.of(unit.language);
    let mut command = Command::of_compiler(compiler);
    let source = match &unit.lowered {
        None => &unit.source,
        Some(lowered) => {
            // Quoted includes are looked for where the original file is, before the user's folders.
            command = command
                .args(request.runtime.map(|runtime| abi_define(runtime.abi)))
                .arg("-iquote")
                .arg(folder_of(&unit.source))
                .arg("-I")
                .arg(request.work)
                .arg(prefix_map(request.work, GENERATED_FOLDER.as_ref()))
                .arg(prefix_map(&lowered.host, &unit.source));
            &lowered.host
        }
    };
    let chosen = |flag: &Flag| unit.lowered.is_none() || is_for_lowered(flag);
    command = command
        .args(unit.flags.for_host_compile_where(unit.language, &chosen))
        .args(openmp_flags(&unit.flags, compiler.family));
    let file_name = unit.source.to_string_lossy();
    if Language::from_file_name(&file_name) != Some(unit.language) {
        let form = match unit.lowered {
            Some(_) => Form::Written,
            None => Form::of_name(&file_name),
        };
        command = command.args(["-x", form.name(unit.language)]);
    }
    command.arg("-c").arg(source).arg("-o").arg(object)
}

/// Whether a flag has a meaning for a lowered file, whatever that of the original is.
pub fn is_for_lowered(flag: &Flag) -> bool {
    !matches!(flag.kind, FlagKind::InputForm | FlagKind::ForcedInclude)
}

/// What debug information calls the folder of the generated files, so that it does not depend on where that is.
pub const GENERATED_FOLDER: &str = "rex";

/// Lets the compiler give a file or folder another name in `__FILE__` and in debug information.
pub fn prefix_map(from: &Path, to: &Path) -> OsString {
    let mut option = OsString::from("-ffile-prefix-map=");
    option.push(from);
    option.push("=");
    option.push(to);
    option
}

/// Turns on host OpenMP without the compiler's own offloading.
pub fn openmp_flags(flags: &CompilerFlags, family: Family) -> &'static [&'static str] {
    match (flags.openmp(), family) {
        (false, _) => &[],
        (true, Family::Gnu) => &["-fopenmp", "-foffload=disable"],
        (true, Family::Clang) => &["-fopenmp"],
    }
}

/// Where the registration code finds the image.
#[derive(Clone, Copy, Debug)]
pub enum ImageSource<'a> {
    /// In this file, whose bytes become part of the program.
    Embedded(&'a Path),
    /// In a file of this name, which is searched when the program runs.
    Searched(&'a OsStr),
}

/// The code that registers the image of a program or shared library, made in two steps: the image is
/// needed only by the second, which is quick.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Compiles it to assembly.
    pub compile: Command,
    /// Makes the object, with the image in it if it is embedded.
    pub assemble: Command,
    /// The object.
    pub object: PathBuf,
}

/// Plans the code that registers the image.
pub fn registration(
    cxx: &HostCompiler,
    flags: &CompilerFlags,
    runtime: &OffloadRuntime,
    helpers: &Path,
    image: Option<ImageSource<'_>>,
) -> Registration {
    let is_for_both = |flag: &Flag| matches!(flag.kind, FlagKind::Everywhere | FlagKind::Machine);
    let mut words: Vec<OsString> =
        vec!["-O1".into(), "-fPIC".into(), abi_define(runtime.abi).into()];
    words.extend(flags.words_where(is_for_both));
    words.retain(|word| word != "-shared" && word != "-static");
    if let Some(library) = &runtime.liboffload {
        words.push(string_define("REX_RUNTIME", OsStr::new("liboffload")));
        words.push(string_define("REX_LIBOFFLOAD", library.as_os_str()));
    }
    let mut image_folder = Path::new(".");
    match image {
        None => {}
        Some(ImageSource::Searched(name)) => words.push(string_define("REX_IMAGE_NAME", name)),
        Some(ImageSource::Embedded(file)) => {
            // Only the name, so that the assembly is the same for every program.
            image_folder = folder_of(file);
            let name = file.file_name().unwrap_or_default();
            words.push(string_define("REX_EMBED_IMAGE", name));
        }
    }
    let assembly = helpers.join("register_cubin.s");
    let object = helpers.join("register_cubin.o");
    let key = registration_key(cxx, &words);
    // clang's own assembler looks for the image even when it only writes assembly.
    let writes_only = (cxx.family == Family::Clang).then_some("-fno-integrated-as");
    let compile = Command::of_compiler(cxx)
        .args(words)
        .args(writes_only)
        .arg("-S")
        .arg(helpers.join("register_cubin.cpp"))
        .arg("-o")
        .arg(&assembly)
        .keep_output(&assembly, key);
    let assemble = Command::of_compiler(cxx)
        .args(["-Xassembler", "-I", "-Xassembler"])
        .arg(image_folder)
        .arg("-c")
        .arg(&assembly)
        .arg("-o")
        .arg(&object);
    Registration {
        compile,
        assemble,
        object,
    }
}

/// Everything the assembly of the registration code depends on: the compiler, its words, the sources.
fn registration_key(cxx: &HostCompiler, words: &[OsString]) -> String {
    let compiler = Command::of_compiler(cxx).args(words);
    let mut key = format!("{}\n{compiler}\n", cxx.version);
    for (name, text) in rex_emit::helper_files() {
        if matches!(*name, "register_cubin.cpp" | "rex_kmp.h") {
            key.push_str(text);
        }
    }
    key
}

fn link(request: &BuildRequest<'_>, objects: &[PathBuf]) -> Command {
    let is_cxx = |unit: &Unit| unit.language == Language::Cxx;
    let needs_cxx = request.runtime.is_some() || request.units.iter().any(is_cxx);
    let compiler = if needs_cxx {
        &request.host.cxx
    } else {
        &request.host.c
    };
    let command = Command::of_compiler(compiler)
        .args(objects)
        .args(request.link_inputs)
        .args(request.flags.for_link());
    let command = match request.runtime {
        None if request.flags.openmp() => command.args(["-fopenmp", "-lm"]),
        None => command.arg("-lm"),
        Some(runtime) => link_runtime(command, runtime),
    };
    command.arg("-o").arg(request.output)
}

/// Adds LLVM's runtimes to a link, instead of the compiler's own OpenMP library.
///
/// # Source
/// Measured: `libomp` serves what gcc's `-fopenmp` code calls (`GOMP_*`), so both kinds of code share one runtime.
pub fn link_runtime(command: Command, runtime: &OffloadRuntime) -> Command {
    let rpaths = runtime.folders().into_iter().map(|folder| {
        let mut rpath = OsString::from("-Wl,-rpath,");
        rpath.push(folder);
        rpath
    });
    let is_elsewhere = !runtime.absent.is_empty();
    command
        .args(rpaths)
        .args(is_elsewhere.then_some("-Wl,--allow-shlib-undefined"))
        .arg("-Wl,--no-as-needed")
        .arg(&runtime.libomptarget)
        .arg(&runtime.libomp)
        .args(["-lm", "-lpthread", "-ldl"])
}

fn abi_define(abi: u32) -> String {
    format!("-DREX_LLVM_ABI={abi}")
}

fn string_define(name: &str, value: &OsStr) -> OsString {
    let value = value
        .to_string_lossy()
        .replace('\\', r"\\")
        .replace('"', "\\\"");
    format!("-D{name}=\"{value}\"").into()
}

#[cfg(test)]
mod tests;
