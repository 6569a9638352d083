//! `-E` with options after which its output would be another program.
//!
//! Without the markers that `-P` leaves out, nobody can tell the text of the system's headers from the program's, and the
//! former must not reach device code: sources with constructs keep those that say so. With `-fdirectives-only`, gcc leaves out
//! the pragmas of OpenMP if that is on.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;

use super::invocation::Source;
use super::{Cx, Ended};
use crate::build::Command;
use crate::error::Error;
use crate::preprocessed::without_markers;
use crate::toolchain::Family;
use crate::write::WorkFolder;

/// Whether the command line asks for such text of a source that holds constructs.
pub(super) fn is_of_another_program(cx: &Cx) -> bool {
    // With -M options, -o names another file than the text.
    has(cx, &["-E"])
        && has(cx, &["-P", "-fdirectives-only"])
        && !has(cx, &["-M", "-MM", "-MD", "-MMD", "-dM", "-###"])
        && cx.sources().count() == 1
        && cx.sources().any(|source| cx.may_offload(source))
}

fn has(cx: &Cx, names: &[&str]) -> bool {
    let mut flags = cx.invocation.flags();
    flags.any(|flag| names.iter().any(|name| flag.words[0] == *name))
}

/// Lets the host compiler preprocess with other options, and makes of its output what was asked for.
pub(super) fn program(cx: &Cx) -> Result<Ended, Error> {
    let work = WorkFolder::create(None)?;
    let text = work.path().join("text");
    let compiler = cx.compiler()?;
    let drops_pragmas = has(cx, &["-fdirectives-only"]) && compiler.family == Family::Gnu;
    let defined = match (drops_pragmas, cx.sources().next()) {
        (true, Some(source)) => openmp_macro(cx, source, work.path())?,
        _ => None,
    };
    let mut words: Vec<OsString> = Vec::new();
    words.extend(
        defined
            .iter()
            .map(|version| format!("-D{VERSION}={version}").into()),
    );
    let mut passed_on = cx.invocation.passed_on.iter();
    while let Some(word) = passed_on.next() {
        match word.to_str() {
            Some("-P") => {}
            Some("-fopenmp") if defined.is_some() => {}
            Some("-o") => {
                passed_on.next();
            }
            _ => words.push(word.clone()),
        }
    }
    let command = Command::of_compiler(compiler).args(words);
    super::run_all(cx, [command.arg("-o").arg(&text)])?;
    let mut text = fs::read(&text).map_err(Error::io("read", &text))?;
    if defined.is_some() {
        text = without_definition(&text);
    }
    if has(cx, &["-P"]) {
        text = without_markers(&text);
    }
    let output = cx.invocation.output.as_deref();
    match output.filter(|output| output.as_os_str() != "-") {
        Some(output) => fs::write(output, text).map_err(Error::io("write", output))?,
        None => {
            let mut stdout = std::io::stdout().lock();
            let written = stdout.write_all(&text).and_then(|()| stdout.flush());
            written.map_err(Error::io("write", Path::new("-")))?;
        }
    }
    Ok(Ended::Made)
}

/// The macro that `-fopenmp` defines.
const VERSION: &str = "_OPENMP";

/// The value of that macro.
fn openmp_macro(cx: &Cx, source: &Source, folder: &Path) -> Result<Option<String>, Error> {
    let macros = folder.join("macros");
    let ask = Command::of_compiler(cx.compiler()?)
        .args([
            "-fopenmp",
            "-dM",
            "-E",
            "-x",
            source.form.name(source.language),
        ])
        .arg("/dev/null");
    super::run_all(cx, [ask.arg("-o").arg(&macros)])?;
    let text = fs::read(&macros).map_err(Error::io("read", &macros))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let value = text.lines().find_map(value_of_definition);
    Ok(value.map(ToOwned::to_owned))
}

fn value_of_definition(line: &str) -> Option<&str> {
    let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
    (name == VERSION).then_some(value)
}

/// The text without the definition that comes from the command line.
fn without_definition(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| {
        let line = String::from_utf8_lossy(line);
        value_of_definition(line.trim_end()).is_none()
    });
    kept.flatten().copied().collect()
}
