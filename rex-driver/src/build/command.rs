//! Commands as data, how a shell would read them, and how they are run.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};

use rayon::prelude::*;

use super::refusals::explained;
use crate::error::Error;
use crate::toolchain::HostCompiler;
use crate::write::{Cache, Writer};

/// One command of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// A file it reads that is written before it starts.
    pub input: Option<WrittenInput>,
    /// Its output, if that is worth keeping between builds.
    pub kept: Option<KeptOutput>,
    /// How what it prints is passed on if it fails.
    pub messages: Messages,
}

/// How the messages of a command that fails are passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Messages {
    /// As they are.
    #[default]
    AsPrinted,
    /// As nvcc's, some of which rex says in its own words.
    OfNvcc,
}

/// A small file that a command reads and nothing else needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenInput {
    /// The file.
    pub file: PathBuf,
    /// What is in it.
    pub text: &'static str,
}

/// An output that depends on nothing but its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOutput {
    /// The file.
    pub file: PathBuf,
    /// Everything that its bytes depend on.
    pub key: String,
}

impl Command {
    /// A command with no arguments yet.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            input: None,
            kept: None,
            messages: Messages::AsPrinted,
        }
    }

    /// A command that starts a host compiler.
    pub fn of_compiler(compiler: &HostCompiler) -> Self {
        Self {
            program: compiler.program.clone(),
            args: compiler.leading.clone(),
            input: None,
            kept: None,
            messages: Messages::AsPrinted,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Has a file written before the command starts.
    pub fn write_input(mut self, file: PathBuf, text: &'static str) -> Self {
        self.input = Some(WrittenInput { file, text });
        self
    }

    /// Lets the output be kept between builds under a key that tells everything it depends on.
    pub fn keep_output(mut self, file: &Path, key: String) -> Self {
        self.kept = Some(KeptOutput {
            file: file.to_owned(),
            key,
        });
        self
    }

    /// Chooses how what the command prints is passed on if it fails.
    pub fn with_messages(mut self, messages: Messages) -> Self {
        self.messages = messages;
        self
    }

    /// Runs the command, giving back what it prints so that parallel commands do not mix theirs.
    ///
    /// `None` means that the output was there already.
    fn run(&self, cache: &Cache) -> Result<Option<Output>, Error> {
        let Some(kept) = &self.kept else {
            return self.start().map(Some);
        };
        if let Some(bytes) = cache.fetch(&kept.key) {
            Writer::default().write(&kept.file, &bytes)?;
            return Ok(None);
        }
        let output = self.start()?;
        if output.status.success()
            && let Ok(bytes) = fs::read(&kept.file)
        {
            cache.store(&kept.key, &bytes);
        }
        Ok(Some(output))
    }

    fn start(&self) -> Result<Output, Error> {
        if let Some(input) = &self.input {
            Writer::default().write(&input.file, input.text.as_bytes())?;
        }
        Process::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Error::Start {
                program: self.program.clone(),
                source,
            })
    }
}

impl fmt::Display for Command {
    /// Writes the command as a shell would read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(WrittenInput { file, text }) = &self.input {
            let (text, file) = (quoted(text.as_ref()), quoted(file.as_os_str()));
            write!(f, "printf %s {text} > {file} && ")?;
        }
        f.write_str(&quoted(self.program.as_os_str()))?;
        for arg in &self.args {
            write!(f, " {}", quoted(arg))?;
        }
        Ok(())
    }
}

/// Commands in stages: those of one stage do not depend on each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<Vec<Command>>,
}

impl Plan {
    /// All commands in the order they are printed.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.stages.iter().flatten()
    }

    /// Runs every stage; stops after the first stage with a failure.
    ///
    /// What the tools print is passed on to `messages` in the order of the commands.
    ///
    /// # Errors
    /// [`Error::Start`] if a tool cannot be started, [`Error::Command`] if one reports failure.
    pub fn execute(&self, cache: &Cache, messages: &mut dyn Write) -> Result<(), Error> {
        for stage in &self.stages {
            let outputs: Vec<_> = stage.par_iter().map(|command| command.run(cache)).collect();
            let mut failure = None;
            for (command, output) in stage.iter().zip(outputs) {
                let Some(output) = output? else { continue };
                for text in [&output.stdout, &output.stderr] {
                    // A closed stream must not stop the build.
                    let _ = match command.messages {
                        Messages::OfNvcc if !output.status.success() => {
                            messages.write_all(explained(&String::from_utf8_lossy(text)).as_bytes())
                        }
                        Messages::OfNvcc | Messages::AsPrinted => messages.write_all(text),
                    };
                }
                if !output.status.success() && failure.is_none() {
                    let status = output.status.to_string();
                    failure = Some(Error::Command {
                        command: command.to_string(),
                        status,
                    });
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        Ok(())
    }
}

/// Writes one word as a shell would read it.
pub fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%^".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The folder of a file as a compiler option wants it: never empty.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_needs() {
        let command = Command::new("gcc").args(["-c", "a b.c", "-DS=\"it's\"", ""]);
        assert_eq!(command.to_string(), r#"gcc -c 'a b.c' '-DS="it'\''s"' ''"#);
    }

    #[test]
    fn a_failing_stage_stops_the_plan_and_its_messages_are_shown() {
        let shell = |script: &str| Command::new("/bin/sh").args(["-c", script]);
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("marker");
        let plan = Plan {
            stages: vec![
                vec![shell("echo one"), shell("echo two >&2; exit 3")],
                vec![shell(&format!("touch {}", marker.display()))],
            ],
        };
        let mut messages = Vec::new();
        let error = plan.execute(&Cache::default(), &mut messages).unwrap_err();
        assert!(matches!(error, Error::Command { .. }), "{error}");
        assert_eq!(String::from_utf8(messages).unwrap(), "one\ntwo\n");
        assert!(!marker.exists());
    }
}
