//! Lambdas that kernels call: what host file and device file put around each, so that both have one name for its type.

use rex_ir::namer;
use rex_ir::program::Program;
use rex_syntax::TextRange;

/// The lambdas, with the text before and after each.
pub(crate) fn wrapped(program: &Program) -> Vec<(TextRange, [String; 2])> {
    let file = program.sources.file(program.unit.file).name();
    let closures = program.instances.closures.iter().enumerate();
    closures
        .map(|(idx, closure)| {
            let before = format!("{}(", namer::lambda_wrapper(file, idx + 1, &closure.around));
            let targets: String = closure
                .targets
                .iter()
                .map(|target| format!(", {target}"))
                .collect();
            (closure.range, [before, format!("{targets})")])
        })
        .collect()
}
