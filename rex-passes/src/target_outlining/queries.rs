//! Which code asks who executes it: `omp_get_thread_num()` and its relatives.

use rex_ir::kernel::Crew;
use rex_ir::program::Program;
use rex_ir::region::{Construct, RegionId};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use super::loops;

/// Functions whose value depends on the parallel regions around a call.
const THREAD_QUERIES: &[&str] = &[
    "omp_get_thread_num",
    "omp_get_num_threads",
    "omp_in_parallel",
    "omp_get_level",
    "omp_get_active_level",
    "omp_get_ancestor_thread_num",
    "omp_get_team_size",
];

/// Functions whose value depends on the team.
const TEAM_QUERIES: &[&str] = &["omp_get_team_num"];

/// Whether kernels must keep account of who executes what, because code asks for it in places where that is not the same for all threads of the block.
pub(crate) fn tracks_threads(program: &Program) -> bool {
    let in_functions = program.device_code.functions.iter().any(|device| {
        let range = program.functions[device.function].range;
        asks(program, range, THREAD_QUERIES).next().is_some() || shares_work(program, range)
    });
    in_functions
        || program
            .regions
            .iter()
            .any(|(id, _)| depends_on_place(program, id))
}

/// Whether the iterations of a region's loop may not be spread over the threads of a team: its code asks who executes it.
pub(super) fn asks_for_team(program: &Program, region: RegionId) -> bool {
    let asks_in = |range| {
        asks(program, range, THREAD_QUERIES)
            .chain(asks(program, range, TEAM_QUERIES))
            .next()
            .is_some()
    };
    let construct = &program.constructs[program.regions[region].construct];
    asks_in(construct.range)
        || program
            .device_code
            .functions
            .iter()
            .any(|device| asks_in(program.functions[device.function].range))
}

/// Whether a range asks which thread executes it.
pub(super) fn asks_for_thread(program: &Program, range: TextRange) -> bool {
    asks(program, range, THREAD_QUERIES).next().is_some()
}

/// Whether a function shares work among the threads of its caller.
fn shares_work(program: &Program, range: TextRange) -> bool {
    program.constructs.iter().any(|(_, construct)| {
        range.contains_range(construct.range)
            && matches!(
                construct.leaves.first(),
                Some(
                    Leaf::For
                        | Leaf::Loop
                        | Leaf::Sections
                        | Leaf::Single
                        | Leaf::Master
                        | Leaf::Masked
                        | Leaf::Barrier
                )
            )
    })
}

/// Whether a region asks somewhere else than directly inside one parallel region of all threads of the block.
fn depends_on_place(program: &Program, region: RegionId) -> bool {
    let outermost = &program.constructs[program.regions[region].construct];
    asks(program, outermost.range, THREAD_QUERIES).any(|at| {
        let mut forks = program
            .constructs
            .iter()
            .map(|(_, construct)| construct)
            .filter(|construct| {
                outermost.range.contains_range(construct.range)
                    && construct
                        .statement
                        .is_some_and(|statement| statement.contains_range(at))
                    && construct.has(Leaf::Parallel)
            });
        let first = forks.next();
        forks.next().is_some() || !first.is_some_and(|fork| has_block(program, region, fork))
    })
}

fn has_block(program: &Program, region: RegionId, fork: &Construct) -> bool {
    fork.has(Leaf::Target) || loops::crew(program, Some(region), fork).0 == Crew::Block
}

/// The places in a range where one of these functions is named, by itself or through a macro.
fn asks<'p>(
    program: &'p Program,
    range: TextRange,
    functions: &'static [&'static str],
) -> impl Iterator<Item = TextRange> + 'p {
    lex::identifiers(program.source(), range).filter(move |at| {
        let name = program.text(*at);
        functions.contains(&name)
            || (program.macro_at(name, *at).is_some()
                && program
                    .macro_names(name, *at)
                    .iter()
                    .any(|inner| functions.contains(&inner.as_str())))
    })
}
