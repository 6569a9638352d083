//! The command line: reads options, calls the library, shows what came out.

pub mod args;
mod audit;
mod build;
mod completions;
mod doctor;
mod explain;
mod install;
mod lower;
mod passes;
mod run;
mod verify;
mod version;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use args::{Cli, ColorChoice, Command, CompileCommandsArgs, GlobalArgs};

use rex_syntax::source::Language;

use crate::cc::Ended;
use crate::compile_commands::CompileCommands;
use crate::error::{Error, with_causes};
use crate::flags::CompilerFlags;
use crate::render::{Color, render};
use crate::session::{Lowered, Session};
use crate::toolchain::Surroundings;

/// The exit codes that are rex's own.
mod code {
    /// Everything went well.
    pub(super) const SUCCESS: u8 = 0;
    /// The input has errors.
    pub(super) const INPUT: u8 = 1;
    /// Usage, configuration, missing tools, files.
    pub(super) const ENVIRONMENT: u8 = 2;
    /// A bug in rex, as for a panic.
    pub(super) const INTERNAL: u8 = 101;
}

/// What the commands share.
struct Context {
    global: GlobalArgs,
    flags: CompilerFlags,
    surroundings: Surroundings,
}

/// Why a command stopped.
enum Stop {
    /// It could not do its work.
    Failed(Error),
    /// Standard output could not be written.
    Output(io::Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}

/// Runs one command line, beginning with the program's name, and returns the exit code.
///
/// Under the names `rexcc` and `rexc++` the program is a compiler. A closed standard output is
/// success: the reader had enough.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.is_empty() {
        words.push("rex-driver".into());
    }
    let name = Path::new(&words.remove(0))
        .file_stem()
        .unwrap_or_default()
        .to_owned();
    let machine = Surroundings::of_process();
    match compiler_named(&name).or_else(|| compiler_command(&mut words)) {
        Some(language) => compiler(language, words, machine),
        None => match launched_compiler(&mut words) {
            Some(host) => {
                let (language, variable) = match is_cxx_compiler(&host) {
                    true => (Language::Cxx, "REX_CXX"),
                    false => (Language::C, "REX_CC"),
                };
                compiler(language, words, machine.with_var(variable, &host))
            }
            None => command(words, machine),
        },
    }
}

/// Takes `launch COMPILER` off the words, if that is the command.
fn launched_compiler(words: &mut Vec<OsString>) -> Option<OsString> {
    let is_compiler = |word: &OsString| !word.to_string_lossy().starts_with('-');
    if words.first()? != "launch" || !words.get(1).is_some_and(is_compiler) {
        return None;
    }
    words.remove(0);
    Some(words.remove(0))
}

/// Whether a compiler's name says that it is for C++: `g++-12`, `clang++`, `mpicxx`, `mpiCC`.
fn is_cxx_compiler(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    ["++", "cxx", "CC", "icpx", "icpc"]
        .iter()
        .any(|part| name.contains(part))
}

/// The language of the compiler that a program name stands for.
fn compiler_named(name: &OsStr) -> Option<Language> {
    match name.to_str()? {
        "rexcc" => Some(Language::C),
        "rexc++" | "rexcxx" => Some(Language::Cxx),
        _ => None,
    }
}

/// Takes `cc` or `c++` off the words, if it is the command.
fn compiler_command(words: &mut Vec<OsString>) -> Option<Language> {
    let language = match words.first()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cxx,
        _ => return None,
    };
    words.remove(0);
    Some(language)
}

fn compiler(language: Language, words: Vec<OsString>, machine: Surroundings) -> u8 {
    match crate::cc::run(language, words, machine) {
        Ok(Ended::Made) => code::SUCCESS,
        Ok(Ended::AsHost(code)) => code,
        Ok(Ended::InputErrors) => code::INPUT,
        Err(error) => {
            // The tool that failed has said why.
            if !matches!(error, Error::Command { .. }) {
                say_text(&format!("rex: error: {}\n", with_causes(&error)));
            }
            if matches!(error, Error::Internal(_)) {
                code::INTERNAL
            } else {
                code::INPUT
            }
        }
    }
}

fn command(words: Vec<OsString>, surroundings: Surroundings) -> u8 {
    let cli = match Cli::parse_from_words(words) {
        Ok(cli) => cli,
        Err(message) => {
            // Nothing is left to tell if even this cannot be written.
            let _ = message.print();
            return u8::try_from(message.exit_code()).unwrap_or(code::ENVIRONMENT);
        }
    };
    let Cli {
        command,
        global,
        flags,
    } = cli;
    if let Some(jobs) = global.jobs {
        // Fails only if a pool exists already, which then has the size it has.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .build_global();
    }
    let mut cx = Context {
        global,
        flags,
        surroundings,
    };
    let outcome = match command {
        Command::Lower(args) => lower::run(&cx, &args),
        Command::Build(args) => build::run(&mut cx, args),
        Command::Run(args) => run::run(&cx, args),
        Command::Verify(args) => verify::run(&mut cx, args),
        Command::Audit(args) => audit::run(&mut cx, args),
        Command::Passes(args) => passes::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Doctor(args) => doctor::run(&cx, &args),
        Command::Completions(args) => completions::run(&args),
        Command::Install(args) => install::run(&cx, &args),
        // Taken care of before the words are read as rex's own.
        Command::Cc(_) | Command::Cxx(_) => Ok(code::ENVIRONMENT),
        Command::Launch(_) => Err(Stop::Failed(Error::Usage(
            "launch needs a compiler and its command line".to_owned(),
        ))),
    };
    match outcome {
        Ok(code) => code,
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => code::SUCCESS,
        Err(Stop::Output(error)) => {
            cx.say(&format!("error: cannot write to standard output: {error}"));
            code::ENVIRONMENT
        }
        Err(Stop::Failed(error)) => {
            cx.say(&format!("error: {}", with_causes(&error)));
            match error {
                Error::Command { .. } => code::INPUT,
                Error::Internal(_) => code::INTERNAL,
                _ => code::ENVIRONMENT,
            }
        }
    }
}

impl Context {
    /// Adds the flags that stand after `--`.
    fn add_flags(&mut self, words: Vec<OsString>) {
        let (more, _) = CompilerFlags::extract(words, &[]);
        for flag in more.iter() {
            self.flags.push(flag.words.clone());
        }
    }

    /// A session for some files; `database` says where their flags may come from.
    fn session(
        &self,
        stdin_name: &str,
        files: &[PathBuf],
        database: &CompileCommandsArgs,
    ) -> Result<Session, Error> {
        let compile_commands = match &database.compile_commands {
            _ if database.no_compile_commands => CompileCommands::default(),
            Some(place) => CompileCommands::read(place)?,
            None => CompileCommands::near(files),
        };
        Ok(Session {
            surroundings: self.surroundings.clone(),
            flags: self.flags.clone(),
            stdin_name: stdin_name.to_owned(),
            preprocessor_words: Vec::new(),
            compile_commands,
            preprocessor: Arc::default(),
        })
    }

    fn color(&self) -> Color {
        let on = match self.global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                io::stderr().is_terminal() && self.surroundings.var("NO_COLOR").is_none()
            }
        };
        if on { Color::On } else { Color::Off }
    }

    /// Shows every diagnostic; tells whether one is an error.
    fn show_diagnostics(&self, lowered: &[Lowered]) -> bool {
        for Lowered { compilation, .. } in lowered {
            let format = self.global.message_format;
            let text = render(
                &compilation.sources,
                &compilation.diagnostics,
                format,
                self.color(),
            );
            say_text(&text);
        }
        lowered
            .iter()
            .any(|lowered| lowered.compilation.has_errors())
    }

    /// Says one line on standard error.
    fn say(&self, line: &str) {
        say_text(&format!("{line}\n"));
    }
}

/// Writes to standard error; a closed one must not stop the work.
fn say_text(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes to standard output.
fn answer(bytes: &[u8]) -> Result<(), Stop> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .map_err(Stop::Output)
}
