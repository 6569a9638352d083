//! The user's preprocessor: whether a file needs it, and what it makes of the file.
//!
//! The expanded text tells the compiler about types and macros from headers. It costs one process
//! per file, so files that cannot have anything to offload are spared it.

mod folders;
mod prelude;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use rex_syntax::source::Language;

use crate::build::command::{Command, folder_of};
use crate::error::Error;
use crate::flags::CompilerFlags;
use crate::line_directives::LineDirectives;
use crate::toolchain::{HostCompiler, HostCompilerCache};
use folders::{as_of_project, with_system_folders};
use prelude::{Head, Key, Prelude, Preludes};

/// Where a source file's bytes came from.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// A file the preprocessor can open.
    File(&'a Path),
    /// Standard input, which messages call by this name; the preprocessor reads the bytes from its own.
    Stdin(&'a str),
}

/// What the preprocessor said.
#[derive(Debug)]
pub enum Expansion {
    /// The expanded text with line markers and macro definitions.
    Text(Vec<u8>),
    /// It failed; this is what it printed.
    Failed(String),
}

/// A file to expand.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Where the bytes came from.
    pub origin: Origin<'a>,
    /// The file's bytes.
    pub bytes: &'a [u8],
    /// The language it is read as.
    pub language: Language,
    /// The flags that matter to the preprocessor.
    pub words: &'a [OsString],
}

impl Job<'_> {
    /// The file's name in line markers.
    fn name(&self) -> Cow<'_, str> {
        match self.origin {
            Origin::File(path) => path.to_string_lossy(),
            Origin::Stdin(name) => name.into(),
        }
    }
}

/// The host compiler's preprocessor, for the files of one run.
#[derive(Debug, Default)]
pub struct Preprocessor {
    /// The compilers whose preprocessors they are.
    pub compilers: HostCompilerCache,
    preludes: Preludes,
}

impl Preprocessor {
    /// Expands a file as the user's compiler would, keeping line markers and macro definitions.
    ///
    /// # Errors
    /// [`Error::Start`] if the compiler cannot be started.
    pub fn expand(&self, job: Job<'_>, compiler: &HostCompiler) -> Result<Expansion, Error> {
        let expansion = self.expand_as_told(job, compiler)?;
        let (name, text) = (job.name(), String::from_utf8_lossy(job.bytes));
        let lines = LineDirectives::of(&text, &name);
        Ok(match expansion {
            Expansion::Text(text) if !lines.is_empty() => {
                let undone = lines.undone(&String::from_utf8_lossy(&text));
                Expansion::Text(undone.into_bytes())
            }
            other => other,
        })
    }

    /// The same with markers that say what `#line` does.
    fn expand_as_told(&self, job: Job<'_>, compiler: &HostCompiler) -> Result<Expansion, Error> {
        let name = job.name();
        let head = std::str::from_utf8(job.bytes)
            .ok()
            .and_then(|text| Head::of(text, &name))
            // Lists of dependencies name all headers.
            .filter(|_| {
                !job.words
                    .iter()
                    .any(|word| word.as_encoded_bytes().starts_with(b"-M"))
            });
        let Some(head) = head else {
            return run(job, compiler);
        };
        let key = key_of(job, compiler, &head);
        if let Some(prelude) = self.preludes.find(&key) {
            let rest = prelude.rest_of(&head);
            let of_rest = Job {
                origin: Origin::Stdin(&name),
                bytes: rest.as_bytes(),
                ..job
            };
            if let Expansion::Text(rest) = run(of_rest, compiler)?
                && let Some(text) = prelude.with_rest(&head, &rest)
            {
                return Ok(Expansion::Text(text));
            }
        }
        let expansion = run(job, compiler)?;
        if let Expansion::Text(text) = &expansion
            && let Ok(text) = std::str::from_utf8(text)
            && let Some(prelude) = Prelude::cut(key, &head, text)
        {
            self.preludes.keep(prelude);
        }
        Ok(expansion)
    }
}

/// What the expansion of a file's head follows from.
fn key_of(job: Job<'_>, compiler: &HostCompiler, head: &Head<'_>) -> Key {
    let mut command = vec![compiler.program.clone().into_os_string()];
    command.extend(compiler.leading.iter().cloned());
    command.push(name_of(job.language).into());
    command.extend(job.words.iter().cloned());
    let names_headers_in_quotes = head.directives.contains('"');
    let folder = match job.origin {
        Origin::File(path) if names_headers_in_quotes => folder_of(path).to_owned(),
        Origin::File(_) | Origin::Stdin(_) => PathBuf::new(),
    };
    Key {
        command,
        folder,
        directives: head.directives.clone(),
    }
}

fn name_of(language: Language) -> &'static str {
    match language {
        Language::C => "c",
        Language::Cxx => "c++",
    }
}

fn run(job: Job<'_>, compiler: &HostCompiler) -> Result<Expansion, Error> {
    let input = match job.origin {
        Origin::File(path) => path.as_os_str(),
        Origin::Stdin(_) => "-".as_ref(),
    };
    let command = Command::of_compiler(compiler)
        .args(["-E", "-dD"])
        .args(with_system_folders(job.words))
        .args(["-w", "-x", name_of(job.language)])
        .arg(input);
    let start_error = |source| Error::Start {
        program: command.program.clone(),
        source,
    };
    let mut child = Process::new(&command.program)
        .args(&command.args)
        .stdin(match job.origin {
            Origin::Stdin(_) => Stdio::piped(),
            Origin::File(_) => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start_error)?;
    let output = std::thread::scope(|scope| {
        if let Some(mut stdin) = child.stdin.take() {
            // A preprocessor that stops reading early reports why itself.
            scope.spawn(move || drop(stdin.write_all(job.bytes)));
        }
        child.wait_with_output()
    })
    .map_err(start_error)?;
    Ok(if output.status.success() {
        let text = as_of_project(output.stdout, job.words);
        Expansion::Text(match job.origin {
            Origin::File(_) => text,
            Origin::Stdin(name) => rename_stdin(&text, name),
        })
    } else {
        Expansion::Failed(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

/// Gives standard input its name in line markers.
fn rename_stdin(text: &[u8], name: &str) -> Vec<u8> {
    let mut renamed = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let (marker, rest) = line.split_at(line.iter().position(|&byte| byte == b'"').unwrap_or(0));
        match rest.strip_prefix(b"\"<stdin>\"") {
            Some(flags) if marker.starts_with(b"# ") => {
                renamed.extend(marker);
                renamed.extend(format!("\"{name}\"").bytes());
                renamed.extend(flags);
            }
            _ => renamed.extend(line),
        }
    }
    renamed
}

/// Whether a file or a user header it includes may hold device constructs.
///
/// The answer errs on the side of yes: it looks for words, not for directives. Headers named in quotes,
/// and headers in angle brackets that lie in the user's own include folders, are followed.
pub fn may_offload(bytes: &[u8], origin: Origin<'_>, flags: &CompilerFlags) -> bool {
    let folders = include_folders(flags);
    let start = match origin {
        Origin::File(path) => folder_of(path).to_owned(),
        Origin::Stdin(_) => PathBuf::from("."),
    };
    let mut seen = BTreeSet::new();
    let mut open = vec![(start, None)];
    for path in flags.forced_includes() {
        open.push((folder_of(&path).to_owned(), Some(path)));
    }
    while let Some((folder, path)) = open.pop() {
        let read: Option<Vec<u8>> = path.map(|path: PathBuf| fs::read(path).unwrap_or_default());
        let text = read.as_deref().unwrap_or(bytes);
        if has_device_words(text) {
            return true;
        }
        for include in includes(text) {
            let Include::Named { name, quoted } = include else {
                return true;
            };
            let own = quoted.then_some(&folder);
            let found = own
                .into_iter()
                .chain(&folders)
                .map(|folder| folder.join(&name))
                .find(|path| path.is_file());
            if let Some(path) = found
                && seen.insert(path.clone())
            {
                open.push((folder_of(&path).to_owned(), Some(path)));
            }
        }
    }
    false
}

fn has_device_words(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [
        b"target",
        b"declare",
        b"dispatch",
        b"metadirective",
        b"requires",
    ];
    contains(text, b"omp") && WORDS.iter().any(|word| contains(text, word))
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

pub(crate) fn include_folders(flags: &CompilerFlags) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for flag in flags.iter() {
        let first = flag.words[0].to_string_lossy().into_owned();
        for name in ["-I", "-iquote", "-isystem", "-idirafter"] {
            match (first.strip_prefix(name), flag.words.get(1)) {
                (Some(""), Some(folder)) => folders.push(PathBuf::from(folder)),
                (Some(folder), None) if !folder.is_empty() => folders.push(PathBuf::from(folder)),
                _ => {}
            }
        }
    }
    folders
}

enum Include {
    Named { name: String, quoted: bool },
    Computed,
}

fn includes(text: &[u8]) -> impl Iterator<Item = Include> {
    text.split(|&byte| byte == b'\n').filter_map(|line| {
        let line = line
            .trim_ascii_start()
            .strip_prefix(b"#")?
            .trim_ascii_start();
        let rest = line
            .strip_prefix(b"include")?
            .strip_prefix(b"_next")
            .unwrap_or(&line[7..]);
        let rest = rest.trim_ascii_start();
        let close = match rest.first()? {
            b'"' => b'"',
            b'<' => b'>',
            _ => return Some(Include::Computed),
        };
        let end = rest[1..].iter().position(|&byte| byte == close)?;
        let name = String::from_utf8_lossy(&rest[1..=end]).into_owned();
        Some(Include::Named {
            name,
            quoted: close == b'"',
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_offload_with(files: &[(&str, &str)], flags: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let flags = flags.replace("ROOT", folder.path().to_str().unwrap());
        let (flags, _) = CompilerFlags::extract(flags.split_whitespace().map(Into::into), &[]);
        let main = folder.path().join(files[0].0);
        may_offload(files[0].1.as_bytes(), Origin::File(&main), &flags)
    }

    #[test]
    fn plain_and_host_only_files_are_spared() {
        assert!(!may_offload_with(&[("a.c", "int target;")], ""));
        assert!(!may_offload_with(
            &[("a.c", "#pragma omp parallel for\n")],
            ""
        ));
        assert!(may_offload_with(&[("a.c", "#pragma omp target\n")], ""));
    }

    #[test]
    fn user_headers_are_followed() {
        let kernel = ("sub/kernel.h", "#pragma omp target\n");
        assert!(may_offload_with(
            &[
                ("a.c", "#include \"sub/b.h\"\n"),
                ("sub/b.h", " # include \"kernel.h\"\n"),
                kernel
            ],
            ""
        ));
        assert!(may_offload_with(
            &[("a.c", "#include <kernel.h>\n"), kernel],
            "-I ROOT/sub"
        ));
        assert!(!may_offload_with(
            &[("a.c", "#include <kernel.h>\n"), kernel],
            ""
        ));
    }

    #[test]
    fn folders_of_cuda_are_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cuda_runtime.h"), "").unwrap();
        let path = folder.path().to_str().unwrap();
        let words = |text: String| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = words(format!("-I {path} -I{path} -I . -I. -DN"));
        let expected = words(format!("-isystem {path} -isystem{path} -I . -I. -DN"));
        assert_eq!(with_system_folders(&given), expected);
    }

    #[test]
    fn headers_that_include_each_other_end() {
        let files = [
            ("a.c", "#include \"b.h\"\n"),
            ("b.h", "#include \"b.h\"\n#include \"a.c\"\n"),
        ];
        assert!(!may_offload_with(&files, ""));
    }

    #[test]
    fn a_computed_include_may_be_anything() {
        assert!(may_offload_with(&[("a.c", "#include KERNEL\n")], ""));
    }
}
