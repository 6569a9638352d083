//! `compile_commands.json`: how a build system compiles each file.
//!
//! Read, it gives a source the flags that the build gives it. Written, it records what `rexcc` compiles.
//!
//! # Source
//! The JSON compilation database of clang's tools: entries with `directory`, `file`, and `arguments` or `command`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use rex_syntax::source::Language;
use serde::Deserialize;
use serde_json::Value;

use crate::build::command::folder_of;
use crate::cc::invocation::{Invocation, Item};
use crate::cc::response;
use crate::error::Error;
use crate::flags::{CompilerFlags, FlagKind};
use crate::write::Writer;

/// What build systems call the file.
pub const FILE_NAME: &str = "compile_commands.json";

/// The databases that a command looks into.
#[derive(Clone, Debug, Default)]
pub struct CompileCommands {
    entries: Vec<Entry>,
}

/// How one file is compiled.
#[derive(Clone, Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    command: String,
}

/// What an entry says about its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFlags {
    /// The compiler flags, with include folders that do not depend on the folder of the build.
    pub flags: CompilerFlags,
    /// The language, if the command names one or its compiler is a C++ compiler.
    pub language: Option<Language>,
}

impl CompileCommands {
    /// Reads the database of a folder, or a database itself.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Usage`] if it is no database.
    pub fn read(place: &Path) -> Result<CompileCommands, Error> {
        let path = match place.is_dir() {
            true => place.join(FILE_NAME),
            false => place.to_owned(),
        };
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        let entries = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, &error))?;
        Ok(CompileCommands { entries })
    }

    /// Reads the databases beside or above files, where clang's tools look for them: in each folder from the
    /// file's up, and in `build` below it. A file that is no database is passed over.
    pub fn near(files: &[PathBuf]) -> CompileCommands {
        let mut seen = BTreeSet::new();
        let mut all = CompileCommands::default();
        for file in files {
            let Ok(file) = std::path::absolute(file) else {
                continue;
            };
            let start = if file.is_dir() {
                &file
            } else {
                folder_of(&file)
            };
            let places = start
                .ancestors()
                .flat_map(|folder| [folder.join(FILE_NAME), folder.join("build").join(FILE_NAME)]);
            if let Some(place) = places.into_iter().find(|place| place.is_file())
                && seen.insert(place.clone())
                && let Ok(found) = CompileCommands::read(&place)
            {
                all.entries.extend(found.entries);
            }
        }
        all
    }

    /// How a file is compiled, if the databases know it. The first of several entries counts.
    pub fn of_file(&self, file: &Path) -> Option<FileFlags> {
        let wanted = normalized(&std::path::absolute(file).ok()?);
        let same = |entry: &&Entry| {
            let own = normalized(&entry.directory.join(&entry.file));
            own == wanted
                || own.file_name() == wanted.file_name()
                    && matches!((own.canonicalize(), wanted.canonicalize()), (Ok(a), Ok(b)) if a == b)
        };
        self.entries.iter().find(same).map(Entry::flags)
    }
}

impl Entry {
    fn flags(&self) -> FileFlags {
        let words: Vec<OsString> = match self.arguments.is_empty() {
            true => response::split(self.command.as_bytes()),
            false => self.arguments.iter().map(OsString::from).collect(),
        };
        // The compiler, behind launchers.
        let n_leading = words
            .iter()
            .take_while(|word| !word.to_string_lossy().starts_with('-'))
            .count();
        let is_cxx = words[..n_leading.min(3)]
            .iter()
            .filter(|word| Path::new(word) != self.file)
            .any(|word| {
                let name = Path::new(word)
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy();
                name.contains("++") || name.contains("cxx")
            });
        let driver = if is_cxx { Language::Cxx } else { Language::C };
        let words = words.into_iter().skip(1).collect();
        let invocation = Invocation::parse(words, driver);
        let mut flags = CompilerFlags::default();
        for flag in invocation.flags() {
            if !matches!(flag.kind, FlagKind::Step | FlagKind::Dependency) {
                flags.push(flag.resolved_in(&self.directory).words);
            }
        }
        let language = invocation.items.iter().find_map(|item| match item {
            Item::Source(source) if source.path == self.file => Some(source.language),
            _ => None,
        });
        FileFlags { flags, language }
    }
}

/// One compilation to record.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    /// The source as the command names it.
    pub file: &'a Path,
    /// What is made of it, if the command names that.
    pub output: Option<&'a Path>,
    /// The whole command.
    pub arguments: &'a [OsString],
}

/// Records compilations of this process's folder in a database, which is a whole one at every moment.
///
/// Several compilers may record at once.
///
/// # Errors
/// [`Error::Io`] if it cannot be written, [`Error::Usage`] if the file is no database.
pub fn record(place: &Path, compilations: &[Compilation<'_>]) -> Result<(), Error> {
    let place = match place.is_dir() {
        true => place.join(FILE_NAME),
        false => place.to_owned(),
    };
    let folder = folder_of(&place);
    crate::write::create_folder(folder)?;
    let directory = std::env::current_dir().map_err(Error::io("find", Path::new(".")))?;
    // The file itself is replaced, so its folder is what a lock can be held on.
    let lock = File::open(folder).map_err(Error::io("open", folder))?;
    lock.lock().map_err(Error::io("lock", folder))?;
    let mut entries: Vec<Value> = match fs::read(&place) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(&place, &error))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io("read", &place)(error)),
    };
    for compilation in compilations {
        let entry = entry_of(&directory, compilation);
        let key =
            |entry: &Value| ["directory", "file", "output"].map(|key| entry.get(key).cloned());
        match entries.iter_mut().find(|known| key(known) == key(&entry)) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
    }
    let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    Writer::default().write(&place, text.as_bytes()).map(drop)
}

fn entry_of(directory: &Path, compilation: &Compilation<'_>) -> Value {
    let text = |path: &Path| Value::from(path.to_string_lossy());
    let arguments = compilation.arguments.iter();
    let arguments: Vec<Value> = arguments.map(|word| text(Path::new(word))).collect();
    let mut entry = serde_json::Map::new();
    entry.insert("directory".into(), text(directory));
    entry.insert("file".into(), text(compilation.file));
    entry.insert("arguments".into(), arguments.into());
    if let Some(output) = compilation.output {
        entry.insert("output".into(), text(output));
    }
    entry.into()
}

fn damaged(path: &Path, error: &serde_json::Error) -> Error {
    Error::Usage(format!(
        "{} is not a compilation database: {error}",
        path.display()
    ))
}

/// A path without `.` and `..`, by its text alone.
fn normalized(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(entry: &str) -> (String, Option<Language>) {
        let entries = serde_json::from_str(&format!("[{entry}]")).unwrap();
        let found = CompileCommands { entries }.of_file(Path::new("/p/src/a.c"));
        let found = found.unwrap();
        let words = found.flags.words_where(|_| true);
        let words = words.join(std::ffi::OsStr::new(" "));
        (words.into_string().unwrap(), found.language)
    }

    #[test]
    fn arguments_become_flags_that_hold_in_every_folder() {
        let entry = r#"{"directory": "/p/build", "file": "../src/a.c", "output": "a.o",
            "arguments": ["cc", "-DN=1", "-I../inc", "-isystem", "/sys", "-MD", "-MF", "a.d", "-o", "a.o", "-c", "../src/a.c"]}"#;
        let (flags, language) = flags_of(entry);
        assert_eq!(flags, "-DN=1 -I/p/build/../inc -isystem /sys");
        assert_eq!(language, Some(Language::C));
    }

    #[test]
    fn a_command_is_split_and_its_compiler_tells_the_language() {
        let entry = r#"{"directory": "/p", "file": "/p/src/a.c", "command": "ccache /usr/bin/g++ -DS=\\\"x\\ y\\\" -O2 -c src/a.c"}"#;
        let (flags, _) = flags_of(entry);
        assert_eq!(flags, "-DS=\"x y\" -O2");
        let entry = r#"{"directory": "/p", "file": "src/a.c", "command": "g++ -c src/a.c"}"#;
        assert_eq!(flags_of(entry).1, Some(Language::Cxx));
    }

    #[test]
    fn a_database_is_found_above_a_file_and_in_build() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src/deep/a.c");
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::create_dir(folder.path().join("build")).unwrap();
        fs::write(&source, "").unwrap();
        let near = || CompileCommands::near(std::slice::from_ref(&source)).of_file(&source);
        assert_eq!(near(), None);
        let words = ["cc".into(), "-DA".into()];
        let compilation = Compilation {
            file: &source,
            output: None,
            arguments: &words,
        };
        record(&folder.path().join("build"), &[compilation]).unwrap();
        assert!(near().unwrap().flags.contains("-DA"));
    }

    #[test]
    fn compilers_may_record_side_by_side() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(FILE_NAME);
        let record_one = |number: usize| {
            let file = PathBuf::from(format!("{}.c", number % 8));
            let words = [OsString::from("cc"), format!("-DN={number}").into()];
            let compilation = Compilation {
                file: &file,
                output: None,
                arguments: &words,
            };
            record(&place, &[compilation]).unwrap();
            CompileCommands::read(&place).unwrap();
        };
        std::thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || record_one(number));
            }
        });
        assert_eq!(CompileCommands::read(&place).unwrap().entries.len(), 8);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_database_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("notes.txt");
        fs::write(&place, "notes").unwrap();
        assert!(matches!(record(&place, &[]), Err(Error::Usage(_))));
        assert_eq!(fs::read(&place).unwrap(), b"notes");
    }
}
