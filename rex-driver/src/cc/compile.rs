//! From a source to an object that carries its device code.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rex_emit::{Artifact, ArtifactKind};
use rex_syntax::source::Language;

use super::auxiliary;
use super::bundle::{Record, SECTION};
use super::invocation::{Item, Source, Step};
use super::{Cx, Ended, form_of, run_all};
use crate::build::command::{Command, folder_of};
use crate::build::{
    DeviceBuild, DeviceUnit, GENERATED_FOLDER, is_for_lowered, lost_flags, openmp_flags, prefix_map,
};
use crate::compile_commands::CompileCommands;
use crate::error::Error;
use crate::flags::{Flag, FlagKind};
use crate::lines::with_lines_for_compiler;
use crate::preprocessed::Form;
use crate::render::{Color, MessageFormat, render};
use crate::session::{Lowered, Session};
use crate::write::{WorkFolder, Writer};

/// Compiles every input of the command line on its own, as `-c` and `-S` do.
pub(super) fn all(cx: &Cx, step: Step) -> Result<Ended, Error> {
    let suffix = if step == Step::Assembly { "s" } else { "o" };
    let inputs = cx.invocation.items.iter();
    let n_compiled = inputs.filter(|item| is_compiled(item)).count();
    if cx.invocation.output.is_some() && n_compiled > 1 {
        return Err(Error::Usage(
            "-o names one output, and -c and -S make one of each source".to_owned(),
        ));
    }
    for item in &cx.invocation.items {
        let (Item::Source(Source { path, .. }) | Item::Input(path) | Item::Foreign(path, _)) = item
        else {
            continue;
        };
        let default = || PathBuf::from(path.file_name().unwrap_or_default()).with_extension(suffix);
        let output = cx.invocation.output.clone().unwrap_or_else(default);
        match item {
            Item::Source(source) => {
                let ended = one(cx, source, step, &output)?;
                if ended == Ended::InputErrors {
                    return Ok(ended);
                }
            }
            Item::Foreign(_, language) => other(cx, path, Some(language), step, &output)?,
            _ if is_compiled(item) => other(cx, path, None, step, &output)?,
            _ => {}
        }
    }
    Ok(Ended::Made)
}

/// Whether an input is something to compile, and not something for the linker.
pub(super) fn is_compiled(item: &Item) -> bool {
    match item {
        Item::Source(_) | Item::Foreign(..) => true,
        Item::Flag(_) => false,
        Item::Input(path) => path.extension().is_some_and(|extension| {
            ["s", "S", "sx", "cu", "f", "F", "f90", "F90"]
                .iter()
                .any(|known| extension == *known)
        }),
    }
}

/// Lets the host compiler make what it makes of a file in another language, which `-x` may name.
pub(super) fn other(
    cx: &Cx,
    path: &Path,
    language: Option<&OsStr>,
    step: Step,
    output: &Path,
) -> Result<(), Error> {
    let compiler = cx.host()?.of(cx.driver);
    let named = language.map(|language| ["-x".into(), language.to_owned()]);
    let command = Command::of_compiler(compiler)
        .arg(step_flag(step))
        .args(host_words(cx, cx.driver, &|_| true)?)
        .args(auxiliary::words(cx, path, compiler.family))
        .args(named.into_iter().flatten())
        .arg(path)
        .arg("-o")
        .arg(output);
    run_all(cx, [command])
}

/// Compiles one source; it is lowered only if that changes it.
pub(super) fn one(cx: &Cx, source: &Source, step: Step, output: &Path) -> Result<Ended, Error> {
    if !cx.may_offload(source) {
        return plain(cx, source, step, output);
    }
    let session = Session {
        surroundings: cx.surroundings.clone(),
        flags: cx.flags.clone(),
        stdin_name: String::new(),
        preprocessor_words: dependency_words(cx, source, output),
        compile_commands: CompileCommands::default(),
        preprocessor: Arc::default(),
    };
    let lowered = session.lower(&source.path, source.language, source.form)?;
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
        return plain(cx, source, step, output);
    }
    let Some(assembly) = auxiliary::temporary(cx, source, output, "s") else {
        return with_device_code(cx, &lowered, step, output);
    };
    if let Some(expanded) = auxiliary::temporary(cx, source, output, lowered.expanded_suffix()) {
        let compiler = cx.host()?.of(source.language);
        let command = Command::of_compiler(compiler)
            .args(["-E", "-x", source.form.name(source.language)])
            .args(host_words(cx, source.language, &is_no_saving)?)
            .arg(&source.path);
        run_all(cx, [command.arg("-o").arg(expanded)])?;
    }
    if step == Step::Assembly {
        return with_device_code(cx, &lowered, step, output);
    }
    with_device_code(cx, &lowered, Step::Assembly, &assembly)?;
    other(cx, &assembly, Some("assembler".as_ref()), step, output)?;
    Ok(Ended::Made)
}

/// Whether a flag has no part in `-save-temps`, which would keep what was made of the lowered text.
fn is_no_saving(flag: &Flag) -> bool {
    !auxiliary::saves_temporaries(flag)
}

/// Compiles a source as it is.
fn plain(cx: &Cx, source: &Source, step: Step, output: &Path) -> Result<Ended, Error> {
    let family = cx.host()?.of(source.language).family;
    let flags = host_words(cx, source.language, &|_| true)?
        .into_iter()
        .chain(auxiliary::words(cx, &source.path, family))
        .chain(dependency_words(cx, source, output));
    run_all(
        cx,
        [host_command(cx, source.language, source.form, step)?
            .args(flags)
            .arg(&source.path)
            .arg("-o")
            .arg(output)],
    )?;
    Ok(Ended::Made)
}

fn with_device_code(cx: &Cx, lowered: &Lowered, step: Step, output: &Path) -> Result<Ended, Error> {
    let keep = cx.option("keep").map(PathBuf::from);
    let has_lines = cx
        .option("line-directives")
        .is_none_or(|value| value != "0" && value != "off");
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
    let text_at = |artifact: &Artifact, path: &Path| match has_lines {
        true => with_lines_for_compiler(lowered, artifact, path),
        false => artifact.bytes.clone(),
    };
    for artifact in artifacts {
        let path = work.path().join(&artifact.file_name);
        match artifact.kind {
            ArtifactKind::Host => {
                let text = text_at(artifact, &path);
                host = Some((path, text));
            }
            ArtifactKind::Device => {
                writer.write(&path, &text_at(artifact, &path))?;
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
        let lost = lost_flags(&cx.flags, &target);
        let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), lost.as_bytes());
        let build = DeviceBuild {
            target: &target,
            cxx: &cx.host()?.cxx,
            abi: runtime.abi,
            helpers: work.path(),
        };
        let object = file.with_extension("device.o");
        let unit = DeviceUnit {
            original: &lowered.path,
            file: &file,
            flags: &cx.flags,
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
    let choose = |flag: &Flag| {
        flag.kind != FlagKind::LinkTimeOptimization && is_for_lowered(flag) && is_no_saving(flag)
    };
    let family = cx.host()?.of(lowered.language).family;
    let command = host_command(cx, lowered.language, Form::Written, step)?
        .arg(format!("-DREX_LLVM_ABI={}", runtime.abi))
        .arg("-iquote")
        .arg(folder_of(&lowered.path))
        .arg("-I")
        .arg(work.path())
        .arg(prefix_map(work.path(), GENERATED_FOLDER.as_ref()))
        .arg(prefix_map(&host, &lowered.path))
        .args(host_words(cx, lowered.language, &choose)?)
        .args(auxiliary::words(cx, &lowered.path, family))
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

fn step_flag(step: Step) -> &'static str {
    if step == Step::Assembly { "-S" } else { "-c" }
}

fn host_command(cx: &Cx, language: Language, form: Form, step: Step) -> Result<Command, Error> {
    let compiler = cx.host()?.of(language);
    let words = [step_flag(step), "-x", form.name(language)];
    Ok(Command::of_compiler(compiler).args(words))
}

/// The user's flags for a host file, with OpenMP in the host compiler's spelling.
fn host_words(
    cx: &Cx,
    language: Language,
    choose: &dyn Fn(&Flag) -> bool,
) -> Result<Vec<OsString>, Error> {
    let mut words = cx.flags.for_host_compile_where(language, choose);
    if cx.invocation.openmp() {
        let openmp = openmp_flags(&cx.flags, cx.host()?.of(language).family);
        words.extend(openmp.iter().map(OsString::from));
    }
    Ok(words)
}

/// The `-M` flags, completed by what the compiler would derive from an output that it does not see.
fn dependency_words(cx: &Cx, source: &Source, output: &Path) -> Vec<OsString> {
    // A program depends on its sources, not on the objects that are made on the way.
    let linked = (cx.invocation.step() == Step::Link).then(|| {
        let program = cx.invocation.output.clone();
        program.unwrap_or_else(|| "a.out".into())
    });
    let file = match &linked {
        None => output.with_extension("d"),
        Some(program) if cx.sources().count() == 1 && cx.invocation.output.is_some() => {
            program.with_extension("d")
        }
        Some(program) => {
            let stem = |path: &Path| path.file_stem().unwrap_or_default().to_owned();
            let mut name = stem(program);
            name.push("-");
            name.push(stem(&source.path));
            name.push(".d");
            program.with_file_name(name)
        }
    };
    let target = linked.as_deref().unwrap_or(output);
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
            words.extend(["-MF".into(), file.into()]);
        }
        if !has(&["-MT", "-MQ"]) {
            words.extend(["-MQ".into(), target.into()]);
        }
    }
    words
}

fn color(cx: &Cx) -> Color {
    use std::io::IsTerminal;
    let on = std::io::stderr().is_terminal() && cx.surroundings.var("NO_COLOR").is_none();
    if on { Color::On } else { Color::Off }
}
