//! Where discovery looks: environment variables and folders, behind one replaceable root.
//!
//! Every lookup goes through [`Surroundings`], so tests describe a machine as a folder tree and a
//! few variables, and the answer never depends on the machine that runs the test. Nothing here
//! knows what is being looked for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The machine as discovery sees it.
#[derive(Clone, Debug)]
pub struct Surroundings {
    vars: BTreeMap<OsString, OsString>,
    root: PathBuf,
}

impl Surroundings {
    /// Describes the running process: its environment and the file system from `/`.
    pub fn of_process() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
            root: PathBuf::from("/"),
        }
    }

    /// Describes a machine whose system folders lie under `root` and whose variables are `vars`.
    pub fn under<K, V>(root: &Path, vars: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let vars = vars
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            vars,
            root: root.to_owned(),
        }
    }

    /// Returns a variable's value, treating an empty one as unset.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// The same machine with another value of a variable.
    pub fn with_var(mut self, name: &str, value: &OsStr) -> Self {
        self.vars.insert(name.into(), value.to_owned());
        self
    }

    /// Splits a variable such as `PATH` into its folders.
    pub fn folders_of(&self, name: &str) -> Vec<PathBuf> {
        let folders = self
            .var(name)
            .map(|value| std::env::split_paths(value).collect::<Vec<_>>());
        let mut folders = folders.unwrap_or_default();
        folders.retain(|folder| !folder.as_os_str().is_empty());
        folders
    }

    /// Returns an absolute system path as seen under the root.
    pub fn system(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Expands a system path pattern; see [`expand`].
    pub fn system_folders(&self, pattern: &str) -> Vec<PathBuf> {
        expand(&self.root, pattern.trim_start_matches('/'))
    }

    /// Finds a program by name in `PATH`, or accepts a path to one.
    pub fn program(&self, name: &OsStr) -> Option<PathBuf> {
        let as_path = Path::new(name);
        if as_path.components().count() > 1 {
            return is_program(as_path).then(|| as_path.to_owned());
        }
        self.folders_of("PATH")
            .into_iter()
            .map(|folder| folder.join(name))
            .find(|candidate| is_program(candidate))
    }
}

/// Lists the folders matching `pattern` below `base`, highest version first.
///
/// A component may hold one `*`, which stands for any text within that component. Matches of one
/// component are ordered by the numbers in their names, greatest first, so `llvm-19` comes before
/// `llvm-9`.
pub fn expand(base: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![base.to_owned()];
    for component in pattern.split('/').filter(|component| !component.is_empty()) {
        found = match component.split_once('*') {
            None => found
                .into_iter()
                .map(|folder| folder.join(component))
                .collect(),
            Some((before, after)) => found
                .iter()
                .flat_map(|folder| entries_matching(folder, before, after))
                .collect(),
        };
    }
    found.retain(|folder| folder.is_dir());
    found
}

/// Lists the entries of a folder named `before…after`, highest version first.
pub fn entries_matching(folder: &Path, before: &str, after: &str) -> Vec<PathBuf> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        })
        .collect();
    names.sort_by_cached_key(|name| std::cmp::Reverse((numbers_in(name), name.clone())));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Runs a program for its version text; both streams are returned, as programs differ.
pub fn output_of(program: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    output.status.success().then_some(text)
}

/// Reads the version number that follows `marker` in a program's version text.
pub fn version_after(text: &str, marker: &str) -> Option<Version> {
    let rest = text.split_once(marker)?.1.trim_start();
    let number = rest
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?;
    let mut parts = number.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    Some(Version { major, minor })
}

/// The first two numbers of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number, 0 if there is none.
    pub minor: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn numbers_in(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_give_the_highest_version_first() {
        let tree = tempfile::tempdir().unwrap();
        for name in ["llvm-9", "llvm-19", "llvm-2", "other"] {
            fs::create_dir_all(tree.path().join("usr/lib").join(name).join("lib")).unwrap();
        }
        let found = expand(tree.path(), "usr/lib/llvm-*/lib");
        let names: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(tree.path()).unwrap())
            .collect();
        let expected = [
            "usr/lib/llvm-19/lib",
            "usr/lib/llvm-9/lib",
            "usr/lib/llvm-2/lib",
        ];
        assert_eq!(names, expected.map(Path::new));
    }

    #[test]
    fn an_empty_variable_is_unset_and_empty_folders_are_dropped() {
        let vars = [("EMPTY", ""), ("LIST", "a::b")];
        let surroundings = Surroundings::under(Path::new("/nowhere"), vars);
        assert_eq!(surroundings.var("EMPTY"), None);
        assert_eq!(
            surroundings.folders_of("LIST"),
            ["a", "b"].map(PathBuf::from)
        );
    }

    #[test]
    fn versions_are_read_from_text() {
        let text = "Cuda compilation tools, release 13.0, V13.0.88";
        assert_eq!(
            version_after(text, "release"),
            Some(Version {
                major: 13,
                minor: 0
            })
        );
        assert_eq!(
            version_after("clang version 19.1.7 (3)", "version")
                .unwrap()
                .major,
            19
        );
        assert_eq!(version_after("gcc", "version"), None);
    }
}
