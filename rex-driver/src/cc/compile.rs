//! From a source to an object that carries its device code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rex_emit::ArtifactKind;
use rex_syntax::source::Language;

use super::bundle::{Record, SECTION};
use super::invocation::Step;
use super::{Cx, Ended, form_of, run_all};
use crate::build::command::{Command, folder_of};
use crate::build::{DeviceBuild, DeviceUnit, openmp_flags, original_name};
use crate::error::Error;
use crate::flags::{Flag, FlagKind};
use crate::lines::with_line_markers;
use crate::render::{Color, MessageFormat, render};
use crate::session::{Lowered, Session};
use crate::write::{WorkFolder, Writer};

/// Compiles every source of the command line on its own, as `-c` and `-S` do.
pub(super) fn all(cx: &Cx, step: Step) -> Result<Ended, Error> {
    let suffix = if step == Step::Assembly { "s" } else { "o" };
    for (path, language) in cx.sources() {
        let default = || PathBuf::from(path.file_name().unwrap_or_default()).with_extension(suffix);
        let output = cx.invocation.output.clone().unwrap_or_else(default);
        if one(cx, path, language, step, &output)? == Ended::InputErrors {
            return Ok(Ended::InputErrors);
        }
    }
    Ok(Ended::Made)
}

/// Compiles one source; it is lowered only if that changes it.
pub(super) fn one(
    cx: &Cx,
    path: &Path,
    language: Language,
    step: Step,
    output: &Path,
) -> Result<Ended, Error> {
    if !cx.may_offload(&path.to_owned()) {
        return plain(cx, path, language, step, output);
    }
    let session = Session {
        surroundings: cx.surroundings.clone(),
        flags: cx.flags.clone(),
        stdin_name: String::new(),
        preprocessor_words: dependency_words(cx, output),
    };
    let lowered = session.lower(path, language)?;
    let compilation = &lowered.compilation;
    let messages = render(
        &compilation.sources,
        &compilation.diagnostics,
        MessageFormat::Human,
        color(cx),
    );
    let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), messages.as_bytes());
    if compilation.has_errors() {
        return Ok(Ended::InputErrors);
    }
    if !lowered.is_changed() {
        return plain(cx, path, language, step, output);
    }
    with_device_code(cx, &lowered, step, output)
}

/// Compiles a source as it is.
fn plain(
    cx: &Cx,
    path: &Path,
    language: Language,
    step: Step,
    output: &Path,
) -> Result<Ended, Error> {
    let dependencies = cx
        .flags
        .words_where(|flag| flag.kind == FlagKind::Dependency);
    let flags = host_words(cx, language, &|_| true)
        .into_iter()
        .chain(dependencies);
    run_all(
        cx,
        [host_command(cx, language, step)
            .args(flags)
            .arg(path)
            .arg("-o")
            .arg(output)],
    )?;
    Ok(Ended::Made)
}

fn with_device_code(cx: &Cx, lowered: &Lowered, step: Step, output: &Path) -> Result<Ended, Error> {
    let keep = cx.option("keep").map(PathBuf::from);
    let work = WorkFolder::create(keep.as_deref())?;
    let runtime = cx.runtime()?;
    let target = cx.device(&runtime)?;
    let artifacts = lowered
        .compilation
        .artifacts
        .iter()
        .flat_map(|artifacts| artifacts.iter());
    let writer = Writer::new([lowered.path.as_path()]);
    let mut host = None;
    let mut device = None;
    for artifact in artifacts {
        let path = work.path().join(&artifact.file_name);
        match artifact.kind {
            ArtifactKind::Host => {
                let bytes = &artifact.bytes;
                let marked = with_line_markers(&lowered.bytes, &lowered.path, bytes, &path);
                host = Some((path, marked));
            }
            ArtifactKind::Device => {
                writer.write(&path, &artifact.bytes)?;
                device = Some(path);
            }
            _ => {
                writer.write(&path, &artifact.bytes)?;
            }
        }
    }
    let Some((host, mut text)) = host else {
        return Ok(Ended::Made);
    };
    if let Some(file) = device {
        let build = DeviceBuild {
            target: &target,
            cxx: &cx.host.cxx,
            flags: &cx.flags,
            abi: runtime.abi,
            helpers: work.path(),
        };
        let object = file.with_extension("device.o");
        let unit = DeviceUnit {
            original: &lowered.path,
            file: &file,
        };
        run_all(cx, [build.object(unit, &object)])?;
        let code = std::fs::read(&object).map_err(Error::io("read", &object))?;
        let (form, arch) = form_of(&target);
        let record = Record {
            form,
            abi: runtime.abi,
            arch: arch.to_owned(),
            code,
        };
        text.extend(section(&record, step, &file.with_extension("record"), &writer)?.bytes());
    }
    writer.write(&host, &text)?;
    let no_lto = |flag: &Flag| flag.kind != FlagKind::LinkTimeOptimization;
    let command = host_command(cx, lowered.language, step)
        .arg(format!("-DREX_LLVM_ABI={}", runtime.abi))
        .arg("-iquote")
        .arg(folder_of(&lowered.path))
        .arg("-I")
        .arg(work.path())
        .arg(original_name(&host, &lowered.path))
        .args(host_words(cx, lowered.language, &no_lto))
        .arg(&host)
        .arg("-o")
        .arg(output);
    run_all(cx, [command])?;
    Ok(Ended::Made)
}

/// The text that puts a record into the object.
fn section(record: &Record, step: Step, file: &Path, writer: &Writer) -> Result<String, Error> {
    let bytes = record.to_bytes();
    let content = match step {
        // Assembly must stand alone: the file is gone when it is assembled.
        Step::Assembly => bytes
            .chunks(32)
            .map(|chunk| {
                let numbers: Vec<String> = chunk.iter().map(u8::to_string).collect();
                format!("  \".byte {}\\n\"\n", numbers.join(","))
            })
            .collect(),
        Step::Other | Step::Object | Step::Link => {
            writer.write(file, &bytes)?;
            let name = file
                .to_string_lossy()
                .replace('\\', "\\\\\\\\")
                .replace('"', "\\\\\\\"");
            format!("  \".incbin \\\"{name}\\\"\\n\"\n")
        }
    };
    Ok(format!(
        "\n__asm__(\".pushsection {SECTION},\\\"\\\",@progbits\\n\"\n{content}  \".popsection\\n\");\n"
    ))
}

fn host_command(cx: &Cx, language: Language, step: Step) -> Command {
    let compiler = cx.host.of(language);
    let language_name = match language {
        Language::C => "c",
        Language::Cxx => "c++",
    };
    let step = if step == Step::Assembly { "-S" } else { "-c" };
    Command::of_compiler(compiler).args([step, "-x", language_name])
}

/// The user's flags for a host file, with OpenMP in the host compiler's spelling.
fn host_words(cx: &Cx, language: Language, choose: &dyn Fn(&Flag) -> bool) -> Vec<OsString> {
    let mut words = cx.flags.for_host_compile_where(language, choose);
    if cx.invocation.openmp() {
        let openmp = openmp_flags(&cx.flags, cx.host.of(language).family);
        words.extend(openmp.iter().map(OsString::from));
    }
    words
}

/// The `-M` flags, completed by what the compiler would derive from an output that it does not see.
fn dependency_words(cx: &Cx, output: &Path) -> Vec<OsString> {
    let mut words = cx
        .flags
        .words_where(|flag| flag.kind == FlagKind::Dependency);
    let has = |names: &[&str]| {
        cx.flags.iter().any(|flag| {
            names
                .iter()
                .any(|name| flag.words[0].to_string_lossy().starts_with(name))
        })
    };
    if has(&["-MD", "-MMD"]) {
        if !has(&["-MF"]) {
            words.extend(["-MF".into(), output.with_extension("d").into()]);
        }
        if !has(&["-MT", "-MQ"]) {
            words.extend(["-MQ".into(), output.into()]);
        }
    }
    words
}

fn color(cx: &Cx) -> Color {
    use std::io::IsTerminal;
    let on = std::io::stderr().is_terminal() && cx.surroundings.var("NO_COLOR").is_none();
    if on { Color::On } else { Color::Off }
}
