//! From objects to a program: gathers the device code that is linked, makes the image, embeds it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::bundle::{Form, Record, SECTION, has_device_code, records, section_of};
use super::invocation::{Item, Step};
use super::{Cx, Ended, compile, run_all};
use crate::build::command::Command;
use crate::build::{
    DeviceBuild, DeviceTarget, ImageSource, Registration, link_runtime, registration,
};
use crate::error::Error;
use crate::flags::{Flag, FlagKind};
use crate::toolchain::elf::read_shared_library;
use crate::toolchain::{DeviceCompiler, OffloadRuntime, find_device_compiler};
use crate::write::{WorkFolder, Writer};

/// One word or file of the link, in the order of the command line.
enum Part {
    /// An object made here or given.
    File(PathBuf),
    /// Words for the linker.
    Words(Vec<OsString>),
}

/// Why device code may not link although the host's does.
const UNLINKED: &str = "the device code cannot be linked; what it calls must be device code of the objects and \
                        static libraries of this link, because a shared library keeps its device code to itself";

/// Whether any input of the link brings device code or needs the offload runtime.
pub(super) fn needs_offload(cx: &Cx) -> bool {
    let folders = library_folders(cx);
    let inputs = cx.invocation.items.iter().filter_map(|item| match item {
        Item::Source(_) => None,
        Item::Input(path) | Item::Foreign(path, _) => Some(path.clone()),
        Item::Flag(flag) => library_of(&flag.words, &folders),
    });
    inputs.into_iter().any(|path| {
        let file = fs::read(&path).unwrap_or_default();
        has_device_code(&file) || assembly_has_device_code(&path, &file) || needs_runtime(&path)
    })
}

/// Compiles the sources of the command line and links them with everything else.
pub(super) fn program(cx: &Cx) -> Result<Ended, Error> {
    let is_static = |word: &&&str| cx.flags.contains(word);
    if let Some(word) = ["-static", "-static-pie"].iter().find(is_static) {
        return Err(Error::Usage(format!(
            "LLVM's offload runtime is a shared library; link without {word}"
        )));
    }
    let work = WorkFolder::create(cx.option("keep").map(PathBuf::from).as_deref())?;
    let mut parts = Vec::new();
    for (item_idx, item) in cx.invocation.items.iter().enumerate() {
        match item {
            Item::Source(source) => {
                let object = work.path().join(format!("{item_idx}.o"));
                if compile::one(cx, source, Step::Object, &object)? == Ended::InputErrors {
                    return Ok(Ended::InputErrors);
                }
                parts.push(Part::File(object));
            }
            Item::Input(path) if is_openmp_runtime(path) => {}
            Item::Flag(flag) if names_openmp_runtime(flag) => {}
            Item::Foreign(path, _) | Item::Input(path) if compile::is_compiled(item) => {
                let object = work.path().join(format!("{item_idx}.o"));
                let language = match item {
                    Item::Foreign(_, language) => Some(language.as_os_str()),
                    _ => None,
                };
                compile::other(cx, path, language, Step::Object, &object)?;
                parts.push(Part::File(object));
            }
            Item::Foreign(path, _) => parts.push(Part::File(path.clone())),
            Item::Input(path) => parts.push(Part::File(path.clone())),
            Item::Flag(flag) if is_for_link(flag.kind) => {
                parts.push(Part::Words(flag.words.clone()))
            }
            Item::Flag(_) => {}
        }
    }
    let output = cx
        .invocation
        .output
        .clone()
        .unwrap_or_else(|| "a.out".into());
    let mut image = ImageBuild::new(cx, cx.runtime()?, work.path())?;
    let records = match gather(cx, &parts)? {
        Gathered::All(records) => records,
        Gathered::LinkerDecides => image.trial_link(&parts)?,
    };
    let mut objects = Vec::new();
    if records.is_empty() {
        objects.push(start_of_runtime(cx, work.path())?);
    } else {
        image.make(&records)?;
        objects.push(image.registration.object.clone());
    }
    let link = link_command(cx, &parts, &objects)?;
    run_all(
        cx,
        [link_runtime(link, &image.runtime).arg("-o").arg(&output)],
    )?;
    if !records.is_empty() && output.is_file() {
        drop_section(cx, &output)?;
    }
    Ok(Ended::Made)
}

/// Starts LLVM's offload runtime in a program without an image, which asks it nonetheless: since LLVM 19 it answers only then.
const START: &str = "\
extern void __tgt_rtl_init(void) __attribute__((weak));
extern void __tgt_rtl_deinit(void) __attribute__((weak));
__attribute__((constructor)) static void start(void) { if (__tgt_rtl_init) __tgt_rtl_init(); }
__attribute__((destructor)) static void stop(void) { if (__tgt_rtl_deinit) __tgt_rtl_deinit(); }
";

fn start_of_runtime(cx: &Cx, folder: &Path) -> Result<PathBuf, Error> {
    let source = folder.join("start.c");
    let object = folder.join("start.o");
    Writer::new([]).write(&source, START.as_bytes())?;
    let compile = Command::of_compiler(&cx.host()?.c).args(["-fPIC", "-c"]);
    run_all(cx, [compile.arg(&source).arg("-o").arg(&object)])?;
    Ok(object)
}

/// Whether a library is a host OpenMP runtime: build systems name gcc's, and the program has LLVM's.
fn is_openmp_runtime(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    name.contains('.') && matches!(stem, "libgomp" | "libomp" | "libiomp5" | "libomptarget")
}

fn names_openmp_runtime(flag: &Flag) -> bool {
    let words: Vec<_> = flag
        .words
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let name = words.concat();
    matches!(
        name.as_str(),
        "-lgomp" | "-lomp" | "-liomp5" | "-lomptarget"
    )
}

fn is_assembly(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "s" || extension == "S")
}

fn assembly_has_device_code(path: &Path, text: &[u8]) -> bool {
    is_assembly(path) && String::from_utf8_lossy(text).contains(SECTION)
}

fn is_for_link(kind: FlagKind) -> bool {
    !matches!(
        kind,
        FlagKind::OpenMp
            | FlagKind::NoOpenMp
            | FlagKind::Step
            | FlagKind::Dependency
            | FlagKind::InputForm
    )
}

fn link_command(cx: &Cx, parts: &[Part], objects: &[PathBuf]) -> Result<Command, Error> {
    // The registration code is C++.
    let compiler = if objects.is_empty() {
        cx.compiler()?
    } else {
        &cx.host()?.cxx
    };
    let command = parts
        .iter()
        .fold(Command::of_compiler(compiler), |command, part| match part {
            Part::File(path) => command.arg(path),
            Part::Words(words) => command.args(words),
        });
    // A `-Wl,-Bstatic` of the user's is not for the runtimes behind.
    Ok(command.args(objects).arg("-Wl,-Bdynamic"))
}

/// The device code of what is linked, as far as the inputs tell.
enum Gathered {
    /// All of it.
    All(Vec<Record>),
    /// An archive has device code, and only the linker knows which of its members are linked.
    LinkerDecides,
}

fn gather(cx: &Cx, parts: &[Part]) -> Result<Gathered, Error> {
    let folders = library_folders(cx);
    let mut section = Vec::new();
    for part in parts {
        let path = match part {
            Part::File(path) => Some(path.clone()),
            Part::Words(words) => library_of(words, &folders),
        };
        let Some(Ok(file)) = path.map(fs::read) else {
            continue;
        };
        match section_of(&file) {
            _ if is_shared_library(&file) => {}
            Some(records) => section.extend(records),
            None if has_device_code(&file) => return Ok(Gathered::LinkerDecides),
            None => {}
        }
    }
    Ok(Gathered::All(read_records(&section)?))
}

fn read_records(section: &[u8]) -> Result<Vec<Record>, Error> {
    records(section).map_err(|damaged| Error::Usage(damaged.to_string()))
}

/// Makes the image and the object that embeds and registers it.
struct ImageBuild<'a> {
    cx: &'a Cx,
    runtime: OffloadRuntime,
    work: &'a Path,
    image: PathBuf,
    registration: Registration,
    is_compiled: bool,
}

impl<'a> ImageBuild<'a> {
    fn new(cx: &'a Cx, runtime: OffloadRuntime, work: &'a Path) -> Result<ImageBuild<'a>, Error> {
        let image = work.join("image");
        let source = Some(ImageSource::Embedded(&image));
        let registration = registration(&cx.host()?.cxx, &cx.flags, &runtime, work, source);
        Ok(ImageBuild {
            cx,
            runtime,
            work,
            image,
            registration,
            is_compiled: false,
        })
    }

    /// Links once with an empty image, to see which records the linker takes.
    fn trial_link(&mut self, parts: &[Part]) -> Result<Vec<Record>, Error> {
        Writer::default().write(&self.image, b"")?;
        self.register()?;
        let trial = self.work.join("trial");
        let objects = std::slice::from_ref(&self.registration.object);
        let link = link_runtime(link_command(self.cx, parts, objects)?, &self.runtime);
        run_all(self.cx, [link.arg("-o").arg(&trial)])?;
        let file = fs::read(&trial).map_err(Error::io("read", &trial))?;
        read_records(section_of(&file).unwrap_or_default())
    }

    fn make(&mut self, records: &[Record]) -> Result<(), Error> {
        let abi = self.runtime.abi;
        let target = target_of(self.cx, records, abi)?;
        let objects: Vec<PathBuf> = (0..records.len())
            .map(|record_idx| self.work.join(format!("{record_idx}.device.o")))
            .collect();
        for (record, object) in records.iter().zip(&objects) {
            Writer::default().write(object, &record.code)?;
        }
        let build = DeviceBuild {
            target: &target,
            cxx: &self.cx.host()?.cxx,
            abi,
            helpers: self.work,
        };
        run_all(self.cx, build.link(&objects, &self.image)).map_err(|error| match error {
            Error::Command { .. } => Error::Usage(UNLINKED.to_owned()),
            other => other,
        })?;
        self.register()
    }

    fn register(&mut self) -> Result<(), Error> {
        if !self.is_compiled {
            for (name, text) in rex_emit::helper_files() {
                Writer::default().write(&self.work.join(name), text.as_bytes())?;
            }
            run_all(self.cx, [self.registration.compile.clone()])?;
            self.is_compiled = true;
        }
        run_all(self.cx, [self.registration.assemble.clone()])
    }
}

/// The device that all records are for.
fn target_of(cx: &Cx, records: &[Record], abi: u32) -> Result<DeviceTarget, Error> {
    let mut kinds: BTreeMap<(Form, &str, u32), usize> = BTreeMap::new();
    for record in records {
        *kinds
            .entry((record.form, &record.arch, record.abi))
            .or_default() += 1;
    }
    let describe = |(form, arch, abi): &(Form, &str, u32)| {
        let device = if *form == Form::HostObject {
            "the host"
        } else {
            arch
        };
        format!("{device} with LLVM {abi}'s runtime")
    };
    if kinds.len() > 1 {
        let list: Vec<String> = kinds.keys().map(describe).collect();
        return Err(Error::Usage(format!(
            "the objects are compiled for different devices: {}; compile all of them alike",
            list.join(", ")
        )));
    }
    let (form, arch, compiled_abi) =
        kinds
            .keys()
            .next()
            .copied()
            .unwrap_or((Form::HostObject, "", abi));
    if compiled_abi != abi {
        return Err(Error::Usage(format!(
            "the objects are compiled for LLVM {compiled_abi}'s runtime, and LLVM {abi}'s is what \
             is linked; compile them again or name the other with --rex-libomptarget"
        )));
    }
    let arch = arch.to_owned();
    let cuda = cx.option("cuda").map(PathBuf::from);
    match form {
        Form::HostObject => Ok(DeviceTarget::Host),
        Form::NvccObject | Form::Bitcode => {
            let compiler = find_device_compiler(&cx.surroundings, cuda.as_ref(), Some(abi))?;
            let fits =
                matches!(compiler, DeviceCompiler::Nvcc { .. }) == (form == Form::NvccObject);
            if !fits {
                return Err(Error::Usage(
                    "the objects were compiled by another device compiler than the one found now"
                        .to_owned(),
                ));
            }
            Ok(DeviceTarget::Nvptx { arch, compiler })
        }
    }
}

/// Takes the gathered records out of the program, where a tool for that is installed.
fn drop_section(cx: &Cx, output: &Path) -> Result<(), Error> {
    let objcopy = cx.surroundings.program("objcopy".as_ref());
    let objcopy = objcopy.or_else(|| cx.surroundings.program("llvm-objcopy".as_ref()));
    match objcopy {
        None => Ok(()),
        Some(objcopy) => run_all(
            cx,
            [Command::new(objcopy)
                .arg(format!("--remove-section={}", SECTION))
                .arg(output)],
        ),
    }
}

/// The user's `-L` folders, then those where people install their own libraries.
fn library_folders(cx: &Cx) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for flag in cx.invocation.flags() {
        let first = flag.words[0].to_string_lossy();
        match (first.strip_prefix("-L"), flag.words.get(1)) {
            (Some(""), Some(folder)) => folders.push(PathBuf::from(folder)),
            (Some(folder), None) => folders.push(PathBuf::from(folder)),
            _ => {}
        }
    }
    folders.extend(cx.surroundings.folders_of("LIBRARY_PATH"));
    folders.extend(
        ["/usr/local/lib", "/usr/local/lib64"].map(|folder| cx.surroundings.system(folder)),
    );
    folders
}

/// The file that `-lname` finds in the user's folders; the system's have no device code.
fn library_of(words: &[OsString], folders: &[PathBuf]) -> Option<PathBuf> {
    let first = words.first()?.to_string_lossy();
    let name = match first.strip_prefix("-l")? {
        "" => words.get(1)?.to_string_lossy().into_owned(),
        name => name.to_owned(),
    };
    let names = match name.strip_prefix(':') {
        Some(exact) => vec![exact.to_owned()],
        None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
    };
    let candidates = folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

fn is_shared_library(file: &[u8]) -> bool {
    use object::elf::{ET_DYN, FileHeader64};
    use object::read::elf::FileHeader;
    FileHeader64::<object::Endianness>::parse(file)
        .ok()
        .and_then(|header| Some(header.e_type(header.endian().ok()?) == ET_DYN))
        .unwrap_or(false)
}

/// Whether a shared library was linked with the offload runtime, so that its users share libomp with it.
fn needs_runtime(path: &Path) -> bool {
    read_shared_library(path).is_some_and(|library| {
        library
            .needed
            .iter()
            .any(|name| name.starts_with("libomptarget."))
    })
}
