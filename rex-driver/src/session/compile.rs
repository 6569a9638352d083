//! From a text to its compilation: preprocesses it, and lowers it with the headers that have to be.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::expansion::Expansion;
use rex_syntax::source::{FileId, FileRange, Language, SourceFile};
use rex_syntax::{TextRange, TextSize};

use super::{Session, folder_of_input};
use crate::arms;
use crate::build::{openmp_flags, refused_flags};
use crate::compiler::{Compilation, Compiler, SourceInput};
use crate::error::Error;
use crate::flags::CompilerFlags;
use crate::preprocess::{Expansion as Expanded, Job, Origin, include_folders, may_offload};
use crate::preprocessed::{FEATURES, n_different_system_lines, with_includes};
use crate::splice::{Headers, Spliced};

/// A text to lower, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    /// The name it has in messages.
    pub(super) name: &'a str,
    pub(super) language: Language,
    pub(super) flags: &'a CompilerFlags,
}

impl Session {
    /// Lowers a text, with the headers it needs.
    pub(super) fn compile(
        &self,
        text: Text<'_>,
        origin: Origin<'_>,
        bytes: &[u8],
        own_words: &[OsString],
    ) -> Result<Compilation, Error> {
        let Text {
            name,
            language,
            flags,
            ..
        } = text;
        let compiler = Compiler::builder().build();
        let mut expansion = None;
        let mut problem = None;
        if may_offload(bytes, origin, flags) {
            match self.expansion(origin, bytes, language, flags, own_words) {
                Ok(text) => expansion = Some(Arc::new(Expansion::parse(text, name))),
                Err(reason) => problem = Some(reason),
            }
        }
        let mut compilation = compiler.compile(SourceInput {
            name: name.to_owned(),
            bytes: bytes.to_vec(),
            language,
            expansion: expansion.clone(),
            headers: Vec::new(),
        })?;
        if let (Language::C, Some(expansion)) = (language, &expansion)
            && !compilation.account.constructs.is_empty()
        {
            let read = |path: &Path| fs::read(path).ok();
            let headers = arms::headers(expansion, &read);
            compilation.needed_headers.extend(headers);
        }
        if problem.is_none() && !compilation.needed_headers.is_empty() {
            let expanded = expansion.as_ref().map_or("", |expansion| expansion.text());
            compilation = self.with_headers(&compiler, text, bytes, expanded, compilation)?;
        }
        if !compilation.account.constructs.is_empty() {
            let refused = refused_flags(flags, &mut compilation.sources);
            if !refused.is_empty() {
                compilation.artifacts = None;
            }
            compilation.diagnostics.extend(refused);
        }
        if let Some(reason) = problem {
            compilation
                .diagnostics
                .insert(0, without_expansion(&reason));
        }
        Ok(compilation)
    }

    /// Expanded text with includes in the place of the system's headers, which declare what they declared.
    pub(super) fn with_features(
        &self,
        name: &str,
        expanded: &[u8],
        language: Language,
        flags: &CompilerFlags,
    ) -> Vec<u8> {
        let reduced = with_includes(expanded);
        // The line of the first marker is empty.
        if language == Language::Cxx || reduced.first() != Some(&b'\n') {
            return reduced;
        }
        let mut best = (usize::MAX, reduced.clone());
        for feature in FEATURES {
            let text = [feature.as_bytes(), &reduced].concat();
            let again = self.expansion(Origin::Stdin(name), &text, language, flags, &[]);
            let Ok(again) = again else { continue };
            let n_different = n_different_system_lines(expanded, &again);
            if n_different < best.0 {
                best = (n_different, text);
            }
            if n_different == 0 {
                break;
            }
        }
        best.1
    }

    /// Lowers a file again with the text of the headers in it that have to be lowered, until no more are needed.
    fn with_headers(
        &self,
        compiler: &Compiler,
        text: Text<'_>,
        bytes: &[u8],
        expanded: &str,
        first: Compilation,
    ) -> Result<Compilation, Error> {
        const MAX_ROUNDS: usize = 16;
        let Text {
            path,
            name,
            language,
            flags,
        } = text;
        let folder = folder_of_input(path);
        let folders = include_folders(flags);
        let read = |path: &Path| fs::read(path).ok();
        let headers = Headers::new((name, bytes, folder), expanded, &folders, &read);
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
            let origin = Origin::Stdin(name);
            let Ok(text) = self.expansion(origin, &found.bytes, language, flags, &words) else {
                break;
            };
            compilation = compiler.compile(SourceInput {
                name: name.to_owned(),
                bytes: found.bytes.clone(),
                language,
                expansion: Some(Arc::new(Expansion::parse(text, name))),
                headers: found.header_ranges(),
            })?;
            spliced = Some(found);
        }
        if let Some(spliced) = spliced {
            let original = SourceFile::new(name, language, bytes);
            spliced.place(
                original,
                &mut compilation.sources,
                &mut compilation.diagnostics,
                &mut compilation.account,
            );
            let artifacts = compilation.artifacts;
            compilation.artifacts =
                artifacts.map(|artifacts| artifacts.map_host(|host| spliced.restore(host)));
        }
        Ok(compilation)
    }

    pub(super) fn expansion(
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
            Ok(Expanded::Text(text)) => Ok(text),
            Ok(Expanded::Failed(messages)) => {
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
