//! Traits of allocators that device code does not keep: its memory comes from one heap, so a pool has no size of its own.

use rex_ir::program::Program;
use rex_syntax::diag::{Code, Severity};
use rex_syntax::{TextRange, lex};

use crate::pass::PassCx;

const POOL_SIZE: &str = "omp_atk_pool_size";

/// Initializers of the traits that `uses_allocators` names.
fn traits(program: &Program) -> impl Iterator<Item = TextRange> + '_ {
    let used = program
        .regions
        .values()
        .flat_map(|region| &region.allocators);
    used.filter_map(|used| {
        let (traits, _) = used.traits?;
        program.symbols[traits].initializer
    })
}

/// Warns where a pool is given a size, in texts of device code or in traits that a region has.
pub(crate) fn report(cx: &mut PassCx<'_>, texts: &[TextRange]) {
    let program = &*cx.program;
    let mut places: Vec<TextRange> = texts
        .iter()
        .copied()
        .chain(traits(program))
        .flat_map(|text| lex::identifiers(program.source(), text))
        .filter(|at| program.text(*at) == POOL_SIZE)
        .collect();
    places.sort_by_key(|at| at.start());
    places.dedup();
    let diagnostics: Vec<_> = places
        .into_iter()
        .map(|at| {
            cx.diagnostic(
                Code::UnsupportedClause,
                at,
                format!("`{POOL_SIZE}` is not kept in device code"),
            )
            .with_severity(Severity::Warning)
            .with_note("an allocator takes from the device's heap, so its fallback happens only when that is exhausted")
        })
        .collect();
    for diagnostic in diagnostics {
        cx.diagnostics.push(diagnostic);
    }
}
