//! The only module that writes files, apart from the copies that programs under test run in.
//!
//! A file appears complete or not at all: it is written beside its place and renamed. A file whose
//! bytes are already right is left alone, so build systems see no change. An input is never
//! overwritten.

use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::build::command::folder_of;
use crate::cleanup::{Guard, Leftover, guarded};
use crate::error::Error;
use crate::toolchain::Surroundings;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was written.
    Written,
    /// It already had these bytes.
    Unchanged,
}

/// Writes files into folders, keeping clear of the inputs.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// Device and inode of each input.
    inputs: Vec<(u64, u64)>,
}

impl Writer {
    /// A writer that refuses to overwrite any of `inputs`, under whatever name they are reached.
    pub fn new<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> Self {
        let inputs = inputs.into_iter().filter_map(identity).collect();
        Self { inputs }
    }

    /// Writes one file.
    ///
    /// # Errors
    /// [`Error::OverwritesInput`] if the place is one of the inputs, [`Error::Io`] if the system refuses.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<Outcome, Error> {
        self.write_with_mode(path, bytes, 0o666)
    }

    /// Writes one program.
    ///
    /// # Errors
    /// As for [`Writer::write`].
    pub fn write_program(&self, path: &Path, bytes: &[u8]) -> Result<Outcome, Error> {
        self.write_with_mode(path, bytes, 0o777)
    }

    /// Makes a symbolic link, in place of what is there.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses.
    pub fn link(&self, path: &Path, target: &Path) -> Result<Outcome, Error> {
        if fs::read_link(path).is_ok_and(|existing| existing == target) {
            return Ok(Outcome::Unchanged);
        }
        let folder = folder_of(path);
        create_folder(folder)?;
        tempfile::Builder::new()
            .prefix(".rex-")
            .make_in(folder, |place| std::os::unix::fs::symlink(target, place))
            .map_err(Error::io("write in", folder))?
            .into_temp_path()
            .persist(path)
            .map_err(|failed| Error::io("write", path)(failed.error))?;
        Ok(Outcome::Written)
    }

    fn write_with_mode(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<Outcome, Error> {
        if identity(path).is_some_and(|place| self.inputs.contains(&place)) {
            return Err(Error::OverwritesInput(path.to_owned()));
        }
        if fs::read(path).is_ok_and(|existing| existing == bytes) {
            return Ok(Outcome::Unchanged);
        }
        let folder = folder_of(path);
        create_folder(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".rex-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)
            .map_err(Error::io("write in", folder))?;
        file.write_all(bytes).map_err(Error::io("write", path))?;
        file.persist(path)
            .map_err(|failed| Error::io("write", path)(failed.error))?;
        Ok(Outcome::Written)
    }
}

/// Creates a folder and those above it.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn create_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))
}

/// A folder for intermediate files.
#[derive(Debug)]
pub enum WorkFolder {
    /// Removed when dropped, and when a signal ends the program.
    Temporary(TemporaryFolder),
    /// Kept for the user to read.
    Kept(PathBuf),
}

impl WorkFolder {
    /// Creates the folder the user asked to keep, or a temporary one.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses.
    pub fn create(keep: Option<&Path>) -> Result<Self, Error> {
        if let Some(folder) = keep {
            create_folder(folder)?;
            return Ok(Self::Kept(folder.to_owned()));
        }
        TemporaryFolder::create().map(Self::Temporary)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

/// A folder with a random name that does not outlive the program.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    _guard: Guard,
}

impl TemporaryFolder {
    fn create() -> Result<Self, Error> {
        let parent = std::env::temp_dir();
        let make = || {
            let folder = tempfile::Builder::new()
                .prefix("rex-")
                .tempdir_in(&parent)?;
            let leftover = Leftover::Folder(folder.path().to_owned());
            Ok((folder, leftover))
        };
        let (folder, guard) = guarded(make).map_err(Error::io("create a folder in", &parent))?;
        Ok(Self {
            folder,
            _guard: guard,
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Results that depend on nothing of the user's, kept between runs: a folder of files, each with its key.
///
/// `REX_CACHE` names the folder, or is `off`; the default is `rex` in the user's cache folder. A cache
/// that cannot be read or written costs time and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The cache that the environment names.
    pub fn of(surroundings: &Surroundings) -> Self {
        let folder = match surroundings.var("REX_CACHE") {
            Some(off) if off == "off" => None,
            Some(folder) => Some(PathBuf::from(folder)),
            None => {
                let home = || Some(Path::new(surroundings.var("HOME")?).join(".cache"));
                let caches = surroundings
                    .var("XDG_CACHE_HOME")
                    .map(PathBuf::from)
                    .or_else(home);
                caches.map(|caches| caches.join("rex"))
            }
        };
        Self { folder }
    }

    /// What was stored under a key.
    pub fn fetch(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.place(key)?).ok()?;
        bytes
            .strip_prefix(key.as_bytes())?
            .strip_prefix(b"\0")
            .map(<[u8]>::to_vec)
    }

    /// Stores bytes under a key.
    pub fn store(&self, key: &str, bytes: &[u8]) {
        if let Some(place) = self.place(key) {
            let entry = [key.as_bytes(), b"\0", bytes].concat();
            // The next run does the work again.
            let _ = Writer::default().write(&place, &entry);
        }
    }

    fn place(&self, key: &str) -> Option<PathBuf> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        Some(
            self.folder
                .as_ref()?
                .join(format!("{:016x}", hasher.finish())),
        )
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/a.txt");
        let writer = Writer::default();
        assert_eq!(writer.write(&path, b"x").unwrap(), Outcome::Written);
        let before = identity(&path);
        assert_eq!(writer.write(&path, b"x").unwrap(), Outcome::Unchanged);
        assert_eq!(identity(&path), before);
        assert_eq!(writer.write(&path, b"y").unwrap(), Outcome::Written);
        assert_eq!(fs::read(&path).unwrap(), b"y");
    }

    #[test]
    fn an_input_is_not_overwritten_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in.c");
        fs::write(&input, "int x;").unwrap();
        let alias = folder.path().join("alias.c");
        std::os::unix::fs::symlink(&input, &alias).unwrap();
        let writer = Writer::new([input.as_path()]);
        for path in [&input, &alias] {
            assert!(matches!(
                writer.write(path, b""),
                Err(Error::OverwritesInput(_))
            ));
        }
        assert_eq!(fs::read(&input).unwrap(), b"int x;");
    }

    #[test]
    fn a_link_takes_the_place_of_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin/name");
        let writer = Writer::default();
        writer.write_program(&path, b"x").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o100, 0o100);
        assert_eq!(
            writer.link(&path, Path::new("other")).unwrap(),
            Outcome::Written
        );
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("other"));
        assert_eq!(
            writer.link(&path, Path::new("other")).unwrap(),
            Outcome::Unchanged
        );
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_left_behind_when_writing_fails() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("blocked");
        fs::create_dir(&blocked).unwrap();
        assert!(matches!(
            Writer::default().write(&blocked, b"x"),
            Err(Error::Io { .. })
        ));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_cache_gives_back_what_its_key_stored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache {
            folder: Some(folder.path().join("new")),
        };
        assert_eq!(cache.fetch("key"), None);
        cache.store("key", b"value");
        assert_eq!(cache.fetch("key").as_deref(), Some(b"value".as_slice()));
        assert_eq!(cache.fetch("other"), None);
        let off = Cache::default();
        off.store("key", b"value");
        assert_eq!(off.fetch("key"), None);
    }

    #[test]
    fn a_temporary_work_folder_disappears() {
        let work = WorkFolder::create(None).unwrap();
        let path = work.path().to_owned();
        assert!(path.is_dir());
        drop(work);
        assert!(!path.exists());
    }
}
