//! One invocation: reads the inputs, lowers them side by side, keeps their order.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rex_emit::{ArtifactKind, ArtifactSet};
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::source::{FileId, FileRange, Language, SourceFile, SourceMap};
use rex_syntax::{TextRange, TextSize};

use crate::account::Account;
use crate::arms;
use crate::build::command::folder_of;
use crate::build::openmp_flags;
use crate::compile_commands::CompileCommands;
use crate::compiler::{Compilation, Compiler, SourceInput};
use crate::error::Error;
use crate::flags::{CompilerFlags, language_of};
use crate::preprocess::{Expansion, Job, Origin, Preprocessor, include_folders, may_offload};
use crate::preprocessed::{Form, with_includes};
use crate::splice::{Headers, Spliced};
use crate::toolchain::Surroundings;

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
        let compiler = Compiler::builder().build();
        let mut bytes = read_input(path)?;
        let flags = self.flags_of(path);
        let name = if is_stdin(path) {
            self.stdin_name.clone()
        } else {
            path.display().to_string()
        };
        let origin = match form {
            Form::Written if !is_stdin(path) => Origin::File(path),
            Form::Written => Origin::Stdin(&name),
            Form::Expanded => {
                bytes = with_includes(&bytes);
                Origin::Stdin(&name)
            }
        };
        let mut input = SourceInput {
            name: name.clone(),
            bytes: bytes.clone(),
            language,
            expansion: None,
            headers: Vec::new(),
        };
        let mut problem = None;
        if may_offload(&bytes, origin, &flags) {
            match self.expansion(origin, &bytes, language, &flags, &self.preprocessor_words) {
                Ok(text) => input.expansion = Some(text),
                Err(reason) => problem = Some(reason),
            }
        }
        let mut compilation = compiler.compile(input.clone())?;
        if let (Language::C, Some(text)) = (language, &input.expansion)
            && !compilation.account.constructs.is_empty()
        {
            let read = |path: &Path| fs::read(path).ok();
            let headers = arms::headers(text.clone(), &input.name, &read);
            compilation.needed_headers.extend(headers);
        }
        if problem.is_none() && !compilation.needed_headers.is_empty() {
            compilation = self.with_headers(&compiler, path, &flags, &input, compilation)?;
        }
        if let Some(reason) = problem {
            compilation
                .diagnostics
                .insert(0, without_expansion(&reason));
        }
        Ok(Lowered {
            path: path.to_owned(),
            language,
            flags,
            bytes,
            compilation,
        })
    }

    /// Lowers a file again with the text of the headers in it that have to be lowered, until no more are needed.
    fn with_headers(
        &self,
        compiler: &Compiler,
        path: &Path,
        flags: &CompilerFlags,
        input: &SourceInput,
        first: Compilation,
    ) -> Result<Compilation, Error> {
        const MAX_ROUNDS: usize = 16;
        let folder = match is_stdin(path) {
            true => Path::new("."),
            false => folder_of(path),
        };
        let folders = include_folders(flags);
        let read = |path: &Path| fs::read(path).ok();
        let expansion = String::from_utf8_lossy(input.expansion.as_deref().unwrap_or_default());
        let main = (&*input.name, &*input.bytes, folder);
        let headers = Headers::new(main, &expansion, &folders, &read);
        let mut wanted = BTreeSet::new();
        let mut compilation = first;
        let mut spliced = None;
        for _ in 0..MAX_ROUNDS {
            let before = wanted.len();
            wanted.extend(compilation.needed_headers.iter().map(PathBuf::from));
            if wanted.len() == before {
                break;
            }
            let Some(found) = Spliced::new(&headers, &wanted) else {
                break;
            };
            let words = ["-iquote".into(), folder.as_os_str().to_owned()];
            let origin = Origin::Stdin(&input.name);
            let Ok(text) = self.expansion(origin, &found.bytes, input.language, flags, &words)
            else {
                break;
            };
            compilation = compiler.compile(SourceInput {
                bytes: found.bytes.clone(),
                expansion: Some(text),
                headers: found.header_ranges(),
                ..input.clone()
            })?;
            spliced = Some(found);
        }
        if let Some(spliced) = spliced {
            let original = SourceFile::new(&*input.name, input.language, input.bytes.clone());
            spliced.place(
                original,
                &mut compilation.sources,
                &mut compilation.diagnostics,
                &mut compilation.account,
            );
            compilation.artifacts = compilation.artifacts.map(|artifacts| {
                let mut restored = ArtifactSet::new();
                for artifact in artifacts.iter() {
                    let bytes = match artifact.kind {
                        ArtifactKind::Host => spliced.restore(&artifact.bytes),
                        _ => artifact.bytes.clone(),
                    };
                    restored.push(artifact.kind, artifact.file_name.clone(), bytes);
                }
                restored
            });
        }
        Ok(compilation)
    }

    fn expansion(
        &self,
        origin: Origin<'_>,
        bytes: &[u8],
        language: Language,
        flags: &CompilerFlags,
        own_words: &[OsString],
    ) -> Result<Vec<u8>, String> {
        let compiler = self
            .preprocessor
            .compilers
            .find(&self.surroundings, language)
            .map_err(|missing| missing.to_string())?;
        let mut words = flags.for_preprocessing(language);
        words.extend(own_words.iter().cloned());
        words.extend(
            openmp_flags(flags, compiler.family)
                .first()
                .map(OsString::from),
        );
        let job = Job {
            origin,
            bytes,
            language,
            words: &words,
        };
        match self.preprocessor.expand(job, compiler) {
            Ok(Expansion::Text(text)) => Ok(text),
            Ok(Expansion::Failed(messages)) => {
                let program = compiler.program.display();
                Err(format!("{program} -E failed:\n{}", messages.trim_end()))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Says that a file was lowered from its own text alone, and why.
fn without_expansion(reason: &str) -> Diagnostic {
    let start = FileRange {
        file: FileId(0),
        range: TextRange::empty(TextSize::new(0)),
    };
    Diagnostic::new(
        Code::NoPreprocessor,
        start,
        "this file could not be preprocessed; only its own text is known",
    )
    .with_note(reason)
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
