//! The compiler as a function from source bytes to artifacts.

use std::sync::Arc;

use rex_emit::{ArtifactSet, EmitError};
use rex_ir::verify::{VerifyErrors, verify};
use rex_passes::manager::{Checking, PassFailure};
use rex_passes::{PassManager, registry};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Diagnostics, Severity, told_once};
use rex_syntax::expansion::Expansion;
use rex_syntax::source::{FileId, FileRange, Language, SourceFile, SourceMap};
use rex_syntax::unit::read_unit;

use crate::account::Account;

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
    pub expansion: Option<Arc<Expansion>>,
    /// Which of the bytes are the text of headers, written in place of `#include` lines.
    pub headers: Vec<TextRange>,
}

/// What a compilation gave.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Everything to tell the user, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The files the diagnostics point into.
    pub sources: SourceMap,
    /// Headers of the project whose text has to be lowered with the file, by the names in the expansion's line markers.
    pub needed_headers: Vec<String>,
    /// The generated files; `None` if an error stops emission.
    pub artifacts: Option<ArtifactSet>,
    /// What became of each construct.
    pub account: Account,
}

impl Compilation {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// A bug in rex: the input is not to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("internal error while lowering {name}")]
pub struct InternalError {
    /// The input that shows it.
    pub name: String,
    /// What went wrong.
    #[source]
    pub failure: Failure,
}

/// A rule that a part of the compiler broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A pass.
    #[error(transparent)]
    Pass(#[from] PassFailure),
    /// The finished program is not valid.
    #[error(transparent)]
    Verify(#[from] VerifyErrors),
    /// The emitters.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The system gave no thread to work on.
    #[error("cannot start a thread: {0}")]
    Thread(String),
}

/// Collects the options of a [`Compiler`].
#[derive(Clone, Copy, Debug, Default)]
pub struct CompilerBuilder {
    checking: Checking,
}

impl CompilerBuilder {
    /// Sets how much is checked after each pass.
    pub fn checking(mut self, checking: Checking) -> Self {
        self.checking = checking;
        self
    }

    /// The compiler.
    pub fn build(self) -> Compiler {
        let passes = PassManager::new(registry()).expect("the built-in passes can be ordered");
        Compiler {
            passes: passes.with_checking(self.checking),
        }
    }
}

/// The stack that lowering runs on: constructs, classes and types may be nested some ten thousand deep. Pages that are not used cost nothing.
const STACK_BYTES: usize = 512 << 20;

/// Lowers translation units. It keeps no state between them.
///
/// # Example
///
/// ```
/// use rex_driver::{Compiler, Language, SourceInput};
///
/// let compilation = Compiler::builder().build().compile(SourceInput {
///     name: "plain.c".into(),
///     bytes: b"int main(void) { return 0; }\n".to_vec(),
///     language: Language::C,
///     expansion: None,
///     headers: Vec::new(),
/// })?;
/// assert!(!compilation.has_errors());
/// # Ok::<(), rex_driver::InternalError>(())
/// ```
#[derive(Debug)]
pub struct Compiler {
    passes: PassManager,
}

impl Compiler {
    /// Starts with the default options.
    pub fn builder() -> CompilerBuilder {
        CompilerBuilder::default()
    }

    /// The passes in use.
    pub fn passes(&self) -> &PassManager {
        &self.passes
    }

    /// Lowers one translation unit.
    ///
    /// # Errors
    /// [`InternalError`] for a bug in rex; the user's mistakes are diagnostics.
    pub fn compile(&self, input: SourceInput) -> Result<Compilation, InternalError> {
        let input_name = input.name.clone();
        let compiled = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name("compile".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, || self.compile_here(input));
            thread.map(|thread| thread.join())
        });
        match compiled {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(InternalError {
                name: input_name,
                failure: Failure::Thread(error.to_string()),
            }),
        }
    }

    fn compile_here(&self, input: SourceInput) -> Result<Compilation, InternalError> {
        let SourceInput {
            name,
            bytes,
            language,
            expansion,
            headers,
        } = input;
        let mut diagnostics = Diagnostics::new();
        let mut sources = SourceMap::new();
        let file = sources.add(SourceFile::new(&*name, language, bytes).with_headers(headers));
        if let Some(expansion) = &expansion {
            report_header_regions(sources.file(file), file, expansion, &mut diagnostics);
        }
        let unit = read_unit(&mut sources, file, expansion, &mut diagnostics);
        let (mut program, messages) = rex_ir::build::build(sources, unit);
        diagnostics.extend(messages);
        let internal = |failure: Failure| InternalError {
            name: name.clone(),
            failure,
        };
        self.passes
            .run(&mut program, &mut diagnostics, &mut ())
            .map_err(|failure| internal(failure.into()))?;
        let needed_headers = rex_ir::needed_headers::needed_headers(&program);
        let needed_headers = needed_headers.iter().map(ToString::to_string).collect();
        let verified = verify(&program).map_err(|errors| internal(errors.into()))?;
        // What rex does not support stays on the host and the rest is lowered; a mistake stops everything.
        let mistakes = diagnostics.iter().any(|diagnostic| {
            diagnostic.severity == Severity::Error && !diagnostic.code.is_limit()
        });
        let artifacts = match mistakes {
            true => None,
            false => Some(rex_emit::emit(verified).map_err(|error| internal(error.into()))?),
        };
        let diagnostics = diagnostics.into_sorted();
        let mut account = Account::of(&program, &diagnostics);
        if artifacts.is_none() {
            account.refuse_all();
        }
        Ok(Compilation {
            diagnostics: told_once(diagnostics, &program.sources),
            needed_headers,
            sources: program.sources,
            artifacts,
            account,
        })
    }
}

/// Target constructs in headers of the project are not lowered: the host compiler would run them on the host without a word.
fn report_header_regions(
    source: &SourceFile,
    file: FileId,
    expansion: &Expansion,
    diagnostics: &mut Diagnostics,
) {
    for (header, line) in expansion.target_regions_in_headers() {
        let base = header.rsplit('/').next().unwrap_or(&header);
        let include = rex_syntax::pragma::directives(source.text())
            .into_iter()
            .find(|directive| {
                directive.name(source.text()) == "include"
                    && source.slice(directive.range).contains(base)
            });
        let range = include.map_or(TextRange::empty(0.into()), |directive| directive.range);
        let diagnostic = Diagnostic::new(
            Code::UnsupportedStatement,
            FileRange { file, range },
            format!(
                "the target construct at {header}:{line} is not lowered: it stands in a header"
            ),
        )
        .with_help("move the function that holds it into a source file");
        diagnostics.push(diagnostic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_depth(head: &str, open: &str, inner: &str, close: &str, depth: usize) {
        let text = format!(
            "{head}{}{inner}{}\n}}\n",
            open.repeat(depth),
            close.repeat(depth)
        );
        let input = SourceInput {
            name: "deep.c".into(),
            bytes: text.into_bytes(),
            language: Language::C,
            expansion: None,
            headers: Vec::new(),
        };
        let compilation = Compiler::builder().build().compile(input).unwrap();
        assert_eq!(compilation.account.constructs.len(), 1);
    }

    #[test]
    fn deep_nesting_ends() {
        let region = "void f(int n, int *a) {\n#pragma omp target map(a[0:n])\n";
        check_depth(region, "{", "a[0] = 1;", "}", 10_000);
        check_depth(region, "if (n) ", "a[0] = 1;", "", 2_000);
        check_depth(&format!("{region}a[0] = "), "(", "1", ")", 10_000);
        check_depth(
            &format!("{region}a[0] = 1;\n"),
            "struct A { ",
            "int x;",
            "} y;",
            500,
        );
        check_depth(
            &format!("{region}#pragma omp teams\n"),
            "#pragma omp parallel\n{",
            "a[0] = 1;",
            "}\n",
            300,
        );
    }
}
