//! Runs a program under a time limit and keeps what it says.
//!
//! A program runs in a process group of its own, and nothing of that outlives the run.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::cleanup::{Leftover, guarded};
use crate::error::Error;

/// A program that says more is stopped: it would fill the disk.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

/// How often the end of a program is looked for.
const POLL: Duration = Duration::from_millis(5);

/// How a program ended and what it said.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
    /// How long it ran.
    pub time: Duration,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself or by a signal.
    Exited(ExitStatus),
    /// It was stopped at its time limit.
    OutOfTime,
    /// It was stopped because it said too much.
    OutOfSpace,
}

/// What a program is run with.
#[derive(Clone, Debug)]
pub(super) struct ExecutionOptions {
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The file that it reads as standard input; `None` is an empty one.
    pub stdin: Option<PathBuf>,
    /// When it is stopped.
    pub time_limit: Duration,
    /// Variables set for it.
    pub variables: Vec<(String, OsString)>,
}

/// Runs a program in a folder.
///
/// # Errors
/// [`Error::Start`] if it cannot be started, [`Error::Io`] if its output cannot be kept or its input not read.
pub(super) fn execute(
    program: &Path,
    folder: &Path,
    options: &ExecutionOptions,
) -> Result<Execution, Error> {
    let keep = || tempfile::tempfile().map_err(Error::io("keep the output of", program));
    let (mut output, mut errors) = (keep()?, keep()?);
    let copy = |file: &File| {
        file.try_clone()
            .map_err(Error::io("keep the output of", program))
    };
    let stdin = match &options.stdin {
        Some(path) => File::open(path).map_err(Error::io("read", path))?.into(),
        None => Stdio::null(),
    };
    let start_error = |source| Error::Start {
        program: program.to_owned(),
        source,
    };
    let mut command = Command::new(program);
    command
        .args(&options.arguments)
        .envs(options.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .process_group(0)
        .stdin(stdin)
        .stdout(copy(&output)?)
        .stderr(copy(&errors)?);
    let start = Instant::now();
    let (mut child, guard) = guarded(|| {
        let child = command.spawn()?;
        let group = Leftover::Processes(child.id());
        Ok((child, group))
    })
    .map_err(start_error)?;
    let length = |file: &File| file.metadata().map_or(0, |meta| meta.len());
    let end = loop {
        if let Some(status) = child.try_wait().map_err(start_error)? {
            break End::Exited(status);
        }
        if start.elapsed() >= options.time_limit {
            break End::OutOfTime;
        }
        if length(&output).max(length(&errors)) > MAX_OUTPUT_BYTES {
            break End::OutOfSpace;
        }
        std::thread::sleep(POLL);
    };
    let time = start.elapsed();
    // Whatever it started goes too; it may have ended just now.
    Leftover::Processes(child.id()).remove();
    let _ = child.wait();
    drop(guard);
    Ok(Execution {
        end,
        output: text_of(&mut output),
        errors: text_of(&mut errors),
        time,
    })
}

fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    if file.rewind().is_ok() {
        // What cannot be read back counts as not said.
        let _ = file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, milliseconds: u64) -> Execution {
        let options = ExecutionOptions {
            arguments: vec!["-c".into(), script.into()],
            stdin: None,
            time_limit: Duration::from_millis(milliseconds),
            variables: vec![("NAME".to_owned(), "value".into())],
        };
        execute(Path::new("/bin/sh"), Path::new("/"), &options).unwrap()
    }

    #[test]
    fn streams_and_the_end_are_kept() {
        let execution = run("echo $NAME; pwd >&2; exit 3", 10_000);
        assert_eq!(execution.output, "value\n");
        assert_eq!(execution.errors, "/\n");
        assert!(matches!(execution.end, End::Exited(status) if status.code() == Some(3)));
    }

    #[test]
    fn children_are_stopped_with_their_program() {
        let is_running = |pid: &str| Path::new("/proc").join(pid.trim()).join("exe").exists();
        let stopped = run("sleep 60 & echo $!; wait", 300);
        assert_eq!(stopped.end, End::OutOfTime);
        let left = run("sleep 60 & echo $!", 10_000);
        std::thread::sleep(Duration::from_millis(100));
        for execution in [stopped, left] {
            assert!(!execution.output.is_empty());
            assert!(!is_running(&execution.output), "{}", execution.output);
        }
    }
}
