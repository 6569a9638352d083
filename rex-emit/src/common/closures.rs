//! Lambdas that kernels call: what host file and device file put around each, so that both have one name for its type.

use rex_ir::namer;
use rex_ir::program::Program;
use rex_syntax::TextRange;

/// The lambdas in a range, in source order, with the text before and after each.
pub(crate) fn wrapped(
    program: &Program,
    range: TextRange,
) -> impl Iterator<Item = (TextRange, [String; 2])> {
    let file = program.sources.file(program.unit.file).name();
    let closures = &program.instances.closures;
    let first = closures.partition_point(|closure| closure.range.start() < range.start());
    closures
        .iter()
        .enumerate()
        .skip(first)
        .take_while(move |(_, closure)| closure.range.start() < range.end())
        .filter(move |(_, closure)| range.contains_range(closure.range))
        .map(move |(idx, closure)| {
            let before = format!("{}(", namer::lambda_wrapper(file, idx + 1, &closure.around));
            let targets: String = closure
                .targets
                .iter()
                .map(|target| format!(", {target}"))
                .collect();
            (closure.range, [before, format!("{targets})")])
        })
}
