//! A list of programs in a file, for programs that need arguments, input, or a build of their own.
//!
//! ```toml
//! [[program]]
//! name = "solver"              # default: the folder
//! folder = "apps/solver"       # default: the folder of the list
//! sources = ["main.c", "io.c"] # default: all sources of the folder
//! flags = ["-O2", "-Iinclude"]
//! args = ["-n", "100"]
//! stdin = "input.txt"
//! time-limit = 120
//! tolerance = 1e-3
//! compare = "exit-code"
//!
//! [[program]]
//! folder = "apps/cfd"
//! build = "make CC=$CC CXX=$CXX"
//! run = "./cfd"
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::Compare;
use super::programs::{OwnBuild, Program, Settings, sources_of};
use crate::build::command::folder_of;
use crate::error::Error;
use crate::flags::{CompilerFlags, Flag};

/// What a folder calls its list.
pub const FILE_NAME: &str = "rex-verify.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    program: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: Option<PathBuf>,
    #[serde(default)]
    folder: PathBuf,
    sources: Option<Vec<PathBuf>>,
    #[serde(default)]
    flags: Vec<String>,
    args: Option<Vec<String>>,
    stdin: Option<PathBuf>,
    time_limit: Option<f64>,
    tolerance: Option<f64>,
    compare: Option<Compare>,
    build: Option<String>,
    run: Option<PathBuf>,
}

/// Reads a list.
///
/// # Errors
/// [`Error::Io`] if a file or folder cannot be read, [`Error::Usage`] if the list is not right.
pub(super) fn read(path: &Path) -> Result<Vec<Program>, Error> {
    let wrong = |why: &dyn std::fmt::Display| Error::Usage(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let list: List = toml::from_str(&text).map_err(|error| wrong(&error))?;
    let program = |entry: Entry| -> Result<Program, Error> {
        let folder = folder_of(path).join(&entry.folder);
        let name = entry.name.unwrap_or_else(|| folder.clone());
        let build = match (entry.build, entry.run) {
            (None, None) => None,
            (Some(command), Some(program)) => Some(OwnBuild { command, program }),
            _ => return Err(wrong(&"`build` and `run` need each other")),
        };
        let sources = match (&build, entry.sources) {
            (Some(_), None) => Vec::new(),
            (Some(_), Some(_)) => return Err(wrong(&"`build` knows its `sources` itself")),
            (None, Some(sources)) => sources.iter().map(|source| folder.join(source)).collect(),
            (None, None) => sources_of(&folder)?,
        };
        let limit = entry
            .time_limit
            .map(Duration::try_from_secs_f64)
            .transpose();
        let time_limit = limit.map_err(|error| wrong(&format!("`time-limit`: {error}")))?;
        let absolute = std::path::absolute(&folder).map_err(Error::io("find", &folder))?;
        let (flags, _) = CompilerFlags::extract(words(entry.flags), &[]);
        let flags = flags.iter().map(|flag| flag.resolved_in(&absolute));
        Ok(Program {
            name,
            sources,
            settings: Settings {
                flags: flags.collect::<Vec<Flag>>(),
                args: entry.args.map(words),
                stdin: entry.stdin.map(|stdin| folder.join(stdin)),
                time_limit,
                tolerance: entry.tolerance,
                compare: entry.compare,
                build,
            },
            folder,
        })
    };
    list.program.into_iter().map(program).collect()
}

fn words(texts: Vec<String>) -> Vec<OsString> {
    texts.into_iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<Program>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::create_dir(folder.path().join("app")).unwrap();
        fs::write(folder.path().join("app/a.c"), "").unwrap();
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn entries_say_how_programs_are_run() {
        let text = "[[program]]\nname = 'one'\nfolder = 'app'\nargs = ['-n', '1']\ntime-limit = 1.5\n\
                    flags = ['-Iinc']\nstdin = 'in'\n[[program]]\nfolder = 'app'\nbuild = 'make'\nrun = './p'\n";
        let programs = read_text(text).unwrap();
        let first = &programs[0];
        assert_eq!(first.name, Path::new("one"));
        assert!(first.sources[0].ends_with("app/a.c"));
        assert_eq!(first.settings.time_limit, Some(Duration::from_millis(1500)));
        assert!(first.settings.stdin.as_ref().unwrap().ends_with("app/in"));
        let include = first.settings.flags[0].words[0].to_string_lossy();
        assert!(include.starts_with("-I/") && include.ends_with("/app/inc"));
        assert_eq!(programs[1].settings.build.as_ref().unwrap().command, "make");
    }

    #[test]
    fn wrong_lists_are_reported() {
        for (text, why) in [
            ("[[program]]\nspeed = 1\n", "unknown field"),
            ("[[program]]\nbuild = 'make'\n", "need each other"),
            ("[[program]]\ntime-limit = -1\n", "time-limit"),
        ] {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
