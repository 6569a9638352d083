//! A folder in which a program may do what it likes: it sees the files of its own folder and those around it, and
//! what it writes is gone afterwards.
//!
//! The program's folder is copied. The folders above it are made again with links to everything else, so that
//! `../data/input` is found. A program that writes outside its folder still reaches the real files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rex_syntax::source::Language;

use crate::error::Error;
use crate::write::create_folder;

/// Files beyond these are linked, not copied: the folder is somebody's home or holds much data.
const MAX_FILES: usize = 5_000;
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Makes a folder again below `root`; the result is what the program sees as its folder.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub(super) fn mirror(root: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let folder = fs::canonicalize(folder).map_err(Error::io("find", folder))?;
    let relative = folder.strip_prefix("/").unwrap_or(&folder);
    let mut real = PathBuf::from("/");
    let mut made = root.to_owned();
    for name in relative {
        create_folder(&made)?;
        for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
            if entry.file_name() != name {
                link(&entry.path(), &made.join(entry.file_name()));
            }
        }
        real.push(name);
        made.push(name);
    }
    copy(&folder, &made)?;
    Ok(made)
}

/// Copies a folder, the files near its top first.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut n_files = 0;
    let mut open = std::collections::VecDeque::from([(from.to_owned(), to.to_owned())]);
    while let Some((from, to)) = open.pop_front() {
        create_folder(&to)?;
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            let (source, place) = (entry.path(), to.join(entry.file_name()));
            let Ok(meta) = entry.metadata() else { continue };
            n_files += 1;
            let is_small = n_files <= MAX_FILES && meta.len() <= MAX_FILE_BYTES;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if meta.is_dir() && n_files <= MAX_FILES && !is_hidden {
                open.push_back((source, place));
            } else if meta.is_file() && is_small && !is_code(&source) {
                // A file that cannot be read is none the program could use.
                let _ = fs::copy(&source, &place);
            } else {
                link(&source, &place);
            }
        }
    }
    Ok(())
}

/// Sources and headers: programs do not write these.
fn is_code(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let is_header = ["h", "hh", "hpp", "hxx", "cuh", "inc"]
        .iter()
        .any(|extension| path.extension().is_some_and(|own| own == *extension));
    is_header || Language::from_file_name(&name).is_some()
}

fn link(target: &Path, place: &Path) {
    // A file that vanished meanwhile is none the program could use.
    let _ = symlink(target, place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_seen_and_what_is_written_stays_inside() {
        let real = tempfile::tempdir().unwrap();
        let at = |name: &str| real.path().join(name);
        for (name, text) in [
            ("data/in", "1"),
            ("app/own", "2"),
            ("app/sub/deep", "3"),
            ("app/a.c", "4"),
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        let root = tempfile::tempdir().unwrap();
        let seen = mirror(root.path(), &at("app")).unwrap();
        let read = |name: &str| fs::read_to_string(seen.join(name)).unwrap();
        assert_eq!(
            read("../data/in") + &read("own") + &read("sub/deep") + &read("a.c"),
            "1234"
        );
        for name in ["own", "sub/deep", "sub/new"] {
            fs::write(seen.join(name), "changed").unwrap();
        }
        drop(root);
        assert_eq!(fs::read_to_string(at("app/own")).unwrap(), "2");
        assert_eq!(fs::read_to_string(at("app/sub/deep")).unwrap(), "3");
        assert!(!at("app/sub/new").exists());
    }
}
