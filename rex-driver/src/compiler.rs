//! The compiler as a function from source bytes to artifacts.

use rex_emit::{ArtifactKind, ArtifactSet};
use rex_syntax::diag::{Diagnostic, Severity};
use rex_syntax::source::{Language, SourceFile, SourceMap};

/// One translation unit, in memory.
#[derive(Clone, Debug)]
pub struct SourceInput {
    /// The file's name as messages show it; generated files are named after it.
    pub name: String,
    /// Its exact bytes.
    pub bytes: Vec<u8>,
    /// The language it is compiled as.
    pub language: Language,
    /// What the user's preprocessor makes of it (`cc -E -dD -fopenmp`), if that is known.
    pub expansion: Option<Vec<u8>>,
}

/// What a compilation gave.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Everything to tell the user, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The files the diagnostics point into.
    pub sources: SourceMap,
    /// The generated files; `None` if an error stops emission.
    pub artifacts: Option<ArtifactSet>,
}

impl Compilation {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Collects the options of a [`Compiler`].
#[derive(Clone, Debug, Default)]
pub struct CompilerBuilder {
    options: Options,
}

/// What a compilation depends on beside its input.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Macros defined on the command line, in order; `None` undefines.
    pub macros: Vec<(String, Option<String>)>,
}

impl CompilerBuilder {
    /// Defines a macro, as `-DNAME=VALUE` does. It decides `#if` arms where no expansion is given.
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.macros.push((name.into(), Some(value.into())));
        self
    }

    /// Undefines a macro, as `-UNAME` does.
    pub fn undefine(mut self, name: impl Into<String>) -> Self {
        self.options.macros.push((name.into(), None));
        self
    }

    /// The compiler.
    pub fn build(self) -> Compiler {
        Compiler {
            options: self.options,
        }
    }
}

/// Lowers translation units. It keeps no state between them.
///
/// # Example
///
/// ```
/// use rex_driver::{Compiler, Language, SourceInput};
///
/// let compiler = Compiler::builder().define("N", "4").build();
/// let compilation = compiler.compile(SourceInput {
///     name: "plain.c".into(),
///     bytes: b"int main(void) { return 0; }\n".to_vec(),
///     language: Language::C,
///     expansion: None,
/// });
/// assert!(!compilation.has_errors());
/// ```
#[derive(Clone, Debug)]
pub struct Compiler {
    options: Options,
}

impl Compiler {
    /// Starts with the default options.
    pub fn builder() -> CompilerBuilder {
        CompilerBuilder::default()
    }

    /// Lowers one translation unit.
    pub fn compile(&self, input: SourceInput) -> Compilation {
        let SourceInput {
            name,
            bytes,
            language,
            expansion: _,
        } = input;
        let mut artifacts = ArtifactSet::new();
        let file_name = format!("rose_{}", name.rsplit('/').next().unwrap_or(&name));
        artifacts.push(ArtifactKind::Host, file_name, bytes.clone());
        let mut sources = SourceMap::new();
        sources.add(SourceFile::new(name, language, bytes));
        Compilation {
            diagnostics: Vec::new(),
            sources,
            artifacts: Some(artifacts),
        }
    }

    /// The options in use.
    pub fn options(&self) -> &Options {
        &self.options
    }
}
