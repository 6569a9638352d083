//! One invocation: reads the inputs, lowers them side by side, keeps their order.

mod compile;

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rex_syntax::source::{Language, SourceFile, SourceMap};

use crate::account::Account;
use crate::build::command::folder_of;
use crate::compile_commands::CompileCommands;
use crate::compiler::Compilation;
use crate::error::Error;
use crate::flags::{CompilerFlags, FlagKind, language_of};
use crate::forced::Forced;
use crate::preprocess::{Origin, Preprocessor, may_offload};
use crate::preprocessed::{Form, begins_with_marker};
use crate::toolchain::Surroundings;
use compile::Text;

/// The settings all inputs of one invocation share, and what was found out for one and serves the others.
#[derive(Clone, Debug)]
pub struct Session {
    /// The machine.
    pub surroundings: Surroundings,
    /// The user's compiler flags.
    pub flags: CompilerFlags,
    /// The name that standard input is given in messages and generated files.
    pub stdin_name: String,
    /// Words for the preprocessor alone, such as `-MD` with its companions.
    pub preprocessor_words: Vec<OsString>,
    /// Where the build system says how it compiles the files.
    pub compile_commands: CompileCommands,
    /// The compilers that preprocess, and what they made of the beginnings of files.
    pub preprocessor: Arc<Preprocessor>,
}

/// One input and what lowering it gave.
#[derive(Debug)]
pub struct Lowered {
    /// The input as the user named it.
    pub path: PathBuf,
    /// The language it was read as.
    pub language: Language,
    /// The flags it is compiled with.
    pub flags: CompilerFlags,
    /// Its text: the bytes of the file, with includes in place of the system's headers if it was expanded.
    pub bytes: Vec<u8>,
    /// The result.
    pub compilation: Compilation,
}

impl Lowered {
    /// What the name of the file ends in when a preprocessor has expanded it.
    pub fn expanded_suffix(&self) -> &'static str {
        match self.language {
            Language::C => "i",
            Language::Cxx => "ii",
        }
    }

    /// Whether lowering changed anything: if not, the original file is what should be compiled.
    pub fn is_changed(&self) -> bool {
        self.compilation
            .artifacts
            .as_ref()
            .is_some_and(|artifacts| {
                artifacts.iter().any(|artifact| {
                    artifact.kind != rex_emit::ArtifactKind::Host || artifact.bytes != self.bytes
                })
            })
    }
}

impl Session {
    /// The language of an input.
    ///
    /// # Errors
    /// [`Error::Usage`] if neither `-x` nor the name tells.
    pub fn language_of(&self, path: &Path) -> Result<Language, Error> {
        let name = if is_stdin(path) {
            Path::new(&self.stdin_name)
        } else {
            path
        };
        let known = || self.compile_commands.of_file(path)?.language;
        let given = self.flags.language().or_else(known);
        given.or_else(|| language_of(name.as_os_str(), &self.flags)).ok_or_else(|| {
            Error::Usage(format!(
                "cannot tell the language of {}; its name should end in .c, .cc, .cpp or .cxx, or \
                 give -x c or -x c++",
                name.display()
            ))
        })
    }

    /// The flags that an input is compiled with: the build system's, then the user's.
    pub fn flags_of(&self, path: &Path) -> CompilerFlags {
        let mut flags = match self.compile_commands.of_file(path) {
            Some(known) => known.flags,
            None => CompilerFlags::default(),
        };
        flags.extend(&self.flags);
        flags
    }

    /// Reads and lowers every input; the results are in the order of the inputs.
    ///
    /// # Errors
    /// The first failure in the order of the inputs: an unreadable file, an unknown language.
    pub fn lower_all(&self, paths: &[PathBuf]) -> Result<Vec<Lowered>, Error> {
        let lowered: Vec<Result<Lowered, Error>> = paths
            .par_iter()
            .map(|path| self.lower_by_name(path))
            .collect();
        lowered.into_iter().collect()
    }

    /// Reads and lowers one input as its name and the flags tell.
    ///
    /// # Errors
    /// As [`Session::lower_all`].
    pub fn lower_by_name(&self, path: &Path) -> Result<Lowered, Error> {
        let form = Form::of_name(&path.to_string_lossy());
        self.lower(path, self.language_of(path)?, form)
    }

    /// Reads one input and leaves it as it is.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn read(&self, path: &Path, language: Language) -> Result<Lowered, Error> {
        let bytes = read_input(path)?;
        let mut sources = SourceMap::new();
        sources.add(SourceFile::new(
            path.display().to_string(),
            language,
            bytes.clone(),
        ));
        let compilation = Compilation {
            diagnostics: Vec::new(),
            sources,
            needed_headers: Vec::new(),
            artifacts: None,
            account: Account::default(),
        };
        Ok(Lowered {
            path: path.to_owned(),
            language,
            flags: self.flags_of(path),
            bytes,
            compilation,
        })
    }

    /// Reads and lowers one input.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn lower(&self, path: &Path, language: Language, form: Form) -> Result<Lowered, Error> {
        let bytes = read_input(path)?;
        let flags = self.flags_of(path);
        let name = if is_stdin(path) {
            self.stdin_name.clone()
        } else {
            path.display().to_string()
        };
        // A preprocessor's output keeps its lines' places under any name.
        let form = match begins_with_marker(&bytes) {
            true => Form::Expanded,
            false => form,
        };
        let without_forced = flags.without(FlagKind::ForcedInclude);
        let stdin = Origin::Stdin(&name);
        let text = Text {
            path,
            name: &name,
            language,
            flags: &flags,
        };
        let of_folder: &[OsString] = &["-iquote".into(), folder_of_input(path).into()];
        let (bytes, compilation) = match form {
            Form::Expanded => {
                let text = Text {
                    flags: &without_forced,
                    ..text
                };
                let bytes = self.with_features(&name, &bytes, language, &without_forced);
                let compilation = self.compile(text, stdin, &bytes, &self.preprocessor_words)?;
                (bytes, compilation)
            }
            Form::Written => {
                let origin = match is_stdin(path) {
                    true => stdin,
                    false => Origin::File(path),
                };
                let forced = Forced::of(&flags).filter(|_| may_offload(&bytes, origin, &flags));
                let compilation = match forced {
                    None => self.compile(text, origin, &bytes, &self.preprocessor_words)?,
                    Some(forced) => {
                        if !self.preprocessor_words.is_empty() {
                            // For what this writes about the file; what it says is said again.
                            let words = &self.preprocessor_words;
                            let _ = self.expansion(origin, &bytes, language, &flags, words);
                        }
                        let text = Text {
                            flags: &without_forced,
                            ..text
                        };
                        let bytes_with = forced.with(&bytes);
                        let mut found = self.compile(text, stdin, &bytes_with, of_folder)?;
                        let original = SourceFile::new(&*name, language, bytes.clone());
                        forced.place(original, &mut found);
                        found
                    }
                };
                (bytes, compilation)
            }
        };
        Ok(Lowered {
            path: path.to_owned(),
            language,
            flags,
            bytes,
            compilation,
        })
    }
}

/// Where headers in quotes are looked for first.
fn folder_of_input(path: &Path) -> &Path {
    match is_stdin(path) {
        true => Path::new("."),
        false => folder_of(path),
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read_input(path: &Path) -> Result<Vec<u8>, Error> {
    if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(Error::io("read", path))?;
        return Ok(bytes);
    }
    fs::read(path).map_err(Error::io("read", path))
}
