//! Runs a program under a time limit and keeps what it says.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::Error;

/// Output beyond this is cut off, in both runs alike.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// How often the end of a program is looked for.
const POLL: Duration = Duration::from_millis(5);

/// How a program ended and what it said.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    /// `None` if it ran out of time.
    pub status: Option<ExitStatus>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
    /// How long it ran.
    pub time: Duration,
}

/// What a program is run with.
#[derive(Clone, Debug)]
pub(super) struct ExecutionOptions {
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// When it is stopped.
    pub time_limit: Duration,
    /// Variables set for it.
    pub variables: Vec<(String, String)>,
}

/// Runs a program in a folder with an empty standard input.
///
/// # Errors
/// [`Error::Start`] if it cannot be started, [`Error::Io`] if its output cannot be kept.
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
    let start = Instant::now();
    let start_error = |source| Error::Start {
        program: program.to_owned(),
        source,
    };
    let mut child = Command::new(program)
        .args(&options.arguments)
        .envs(options.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(copy(&output)?)
        .stderr(copy(&errors)?)
        .spawn()
        .map_err(start_error)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start_error)? {
            break Some(status);
        }
        if start.elapsed() >= options.time_limit {
            // It may have ended just now.
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(POLL);
    };
    let time = start.elapsed();
    Ok(Execution {
        status,
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
