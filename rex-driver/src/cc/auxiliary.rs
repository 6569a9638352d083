//! Files that a compiler makes beside its output: coverage notes, split debug information, `-save-temps`.
//!
//! A compiler names them after its output. The objects of a command that links lie in a folder that is removed,
//! so there the names are given, as the compiler would choose them for the whole command.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::Cx;
use super::invocation::{Source, Step};
use crate::flags::Flag;
use crate::toolchain::Family;

/// Whether a flag keeps what is made between a source and its object.
pub(super) fn saves_temporaries(flag: &Flag) -> bool {
    let first = flag.words[0].to_string_lossy();
    first.starts_with("-save-temps") || first.starts_with("--save-temps")
}

/// The words that name the files beside the object of a source.
pub(super) fn words(cx: &Cx, source: &Path, family: Family) -> Vec<OsString> {
    let is_named = |flag: &Flag| flag.words[0].to_string_lossy().starts_with("-dump");
    if cx.invocation.step() != Step::Link || cx.invocation.flags().any(is_named) {
        return Vec::new();
    }
    let mut words: Vec<OsString> = vec!["-dumpdir".into(), prefix_of_program(cx)];
    if family == Family::Gnu {
        words.extend(["-dumpbase".into(), file_name(source)]);
        if let Some(extension) = source.extension() {
            let mut dotted = OsString::from(".");
            dotted.push(extension);
            words.extend(["-dumpbase-ext".into(), dotted]);
        }
    }
    words
}

/// Where `-save-temps` puts the file of a source with this extension, if the option is given.
pub(super) fn temporary(
    cx: &Cx,
    source: &Source,
    output: &Path,
    extension: &str,
) -> Option<PathBuf> {
    let flag = cx
        .invocation
        .flags()
        .filter(|flag| saves_temporaries(flag))
        .last()?;
    let mut path = match cx.invocation.step() {
        Step::Link => {
            let mut path = prefix_of_program(cx);
            path.push(source.path.file_stem().unwrap_or_default());
            path.push(".");
            path.push(extension);
            PathBuf::from(path)
        }
        Step::Other | Step::Assembly | Step::Object => output.with_extension(extension),
    };
    if !flag.words[0].to_string_lossy().ends_with("=obj") {
        path = PathBuf::from(file_name(&path));
    }
    Some(path)
}

/// What the names of all files beside a program begin with.
fn prefix_of_program(cx: &Cx) -> OsString {
    let mut prefix = match &cx.invocation.output {
        Some(program) if program.extension() == Some(OsStr::new("out")) => {
            program.with_extension("").into_os_string()
        }
        Some(program) => program.clone().into_os_string(),
        None => "a".into(),
    };
    prefix.push("-");
    prefix
}

fn file_name(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}
