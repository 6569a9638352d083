//! What must not outlive the program: temporary folders, and the programs that it runs under test.
//!
//! A signal concerns the whole process, so the list of these cannot be passed around.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// One thing to get rid of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leftover {
    /// A running program with all that it started, by the id of its process group.
    Processes(u32),
    /// A folder with everything in it.
    Folder(PathBuf),
}

impl Leftover {
    /// Gets rid of it, as far as the system lets.
    pub(crate) fn remove(&self) {
        match self {
            Leftover::Folder(path) => {
                let _ = fs::remove_dir_all(path);
            }
            Leftover::Processes(group) => {
                // Only a shell has a `kill` on every system.
                let _ = Command::new("/bin/sh")
                    .args(["-c", &format!("kill -s KILL -- -{group}")])
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
            }
        }
    }
}

/// Keeps something on the list while it exists.
#[derive(Debug)]
pub(crate) struct Guard(Leftover);

impl Drop for Guard {
    fn drop(&mut self) {
        list().get_or_insert_default().remove(&self.0);
    }
}

/// What exists; `None` before the first, when no signal is watched yet.
static LIST: Mutex<Option<BTreeSet<Leftover>>> = Mutex::new(None);

fn list() -> MutexGuard<'static, Option<BTreeSet<Leftover>>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes something that a signal has to get rid of; no signal comes between making and listing it.
pub(crate) fn guarded<Made>(
    make: impl FnOnce() -> io::Result<(Made, Leftover)>,
) -> io::Result<(Made, Guard)> {
    let mut list = list();
    if list.is_none() {
        // Without it something may be left behind; that is no reason to stop.
        let _ = watch_signals();
    }
    let (made, leftover) = make()?;
    list.get_or_insert_default().insert(leftover.clone());
    Ok((made, Guard(leftover)))
}

/// Starts a thread that cleans up when a signal asks the program to end, and lets it end.
fn watch_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let watch = move || {
        for signal in signals.forever() {
            for leftover in list().iter().flatten() {
                leftover.remove();
            }
            let _ = emulate_default_handler(signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(watch)
        .map(drop)
}
