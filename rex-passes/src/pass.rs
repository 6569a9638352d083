//! What a pass is.

use rex_ir::facet::Facet;
use rex_ir::program::Program;
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Diagnostics};

/// The static description of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassInfo {
    /// Kebab-case name.
    pub name: &'static str,
    /// What it does, as a noun phrase without full stop.
    pub summary: &'static str,
    /// Facets it reads.
    pub reads: Facet,
    /// Facets it writes.
    pub writes: Facet,
    /// Passes that must run before it although no facet says so.
    pub after: &'static [&'static str],
}

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The program differs from before.
    pub changed: bool,
}

/// What a pass works on.
#[derive(Debug)]
pub struct PassCx<'p> {
    /// The program.
    pub program: &'p mut Program,
    /// Receives messages to the user.
    pub diagnostics: &'p mut Diagnostics,
}

impl PassCx<'_> {
    /// Starts a diagnostic at a range of the unit.
    pub fn diagnostic(
        &self,
        code: Code,
        range: TextRange,
        headline: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(code, self.program.at(range), headline)
    }
}

/// A transformation of the program. Stateless: running it twice changes nothing the second time.
pub trait Pass: Sync {
    /// The description.
    fn info(&self) -> &'static PassInfo;
    /// Changes the program.
    fn run(&self, cx: &mut PassCx<'_>) -> Outcome;
}
