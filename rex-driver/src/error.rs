//! Failures of the environment and of the compiler itself.
//!
//! Mistakes in the user's program are [`rex_syntax::diag::Diagnostic`] values, never errors.

use std::io;
use std::path::{Path, PathBuf};

use crate::compiler::InternalError;
use crate::toolchain::Missing;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be used; the environment's fault.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, for instance `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Options that do not fit together; the user's fault.
    #[error("{0}")]
    Usage(String),
    /// An output would replace a source file that was given as input; the user's fault.
    #[error("refusing to overwrite the input file {}", .0.display())]
    OverwritesInput(PathBuf),
    /// A tool that is needed is not installed.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A bug in rex.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// A tool could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The tool.
        program: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A tool ran and reported failure; what it wrote has been shown.
    #[error("this command failed ({status}): {command}")]
    Command {
        /// The command as a shell would read it.
        command: String,
        /// How it ended.
        status: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }
}

/// An error with the chain of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
