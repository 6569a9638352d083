//! Which code asks who executes it: `omp_get_thread_num()` and its relatives.

use rex_ir::kernel::Crew;
use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, Construct, RegionId, Transport};
use rex_ir::symbol::SymbolId;
use rex_syntax::lex::Token;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use super::{Facts, loops};

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

/// Functions whose value depends on the thread or the team.
const PLACE_QUERIES: &[&[&str]] = &[THREAD_QUERIES, TEAM_QUERIES];

/// What tells the largest number of threads of a team.
const LIMIT_QUERIES: &[&str] = &["omp_get_thread_limit"];

/// What some device function asks; any region may call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionQueries {
    /// Which thread or team executes it.
    place: bool,
    /// How many threads a team may have.
    limit: bool,
}

/// Functions and lambdas that regions may call.
fn called_ranges(program: &Program) -> impl Iterator<Item = TextRange> {
    let functions = program.device_code.functions.iter();
    let lambdas = program.instances.closures.iter();
    functions
        .map(|device| program.functions[device.function].range)
        .chain(lambdas.map(|lambda| lambda.range))
}

impl FunctionQueries {
    pub(crate) fn of(program: &Program) -> FunctionQueries {
        let any = |functions: &[&'static [&'static str]]| {
            called_ranges(program).any(|range| asks_any(program, range, functions))
        };
        FunctionQueries {
            place: any(PLACE_QUERIES),
            limit: any(&[LIMIT_QUERIES]),
        }
    }
}

/// Whether a region, or a function that it may call, asks how many threads a team may have.
pub(super) fn asks_for_limit(program: &Program, facts: &Facts, region: RegionId) -> bool {
    let construct = &program.constructs[program.regions[region].construct];
    facts.queries.limit || asks_any(program, construct.range, &[LIMIT_QUERIES])
}

/// Whether kernels must keep account of who executes what, because code asks for it in places where that is not the same for all threads of the block.
pub(crate) fn tracks_threads(program: &Program, facts: &Facts) -> bool {
    let in_functions = called_ranges(program).any(|range| {
        asks(program, range, THREAD_QUERIES).next().is_some() || shares_work(program, range)
    });
    in_functions
        || program
            .regions
            .iter()
            .any(|(id, _)| depends_on_place(program, facts, id) || holds_sharing(program, id))
}

/// Whether the iterations of a region's loop may not be spread over the threads of a team: its code asks who executes it.
pub(super) fn asks_for_team(program: &Program, facts: &Facts, region: RegionId) -> bool {
    let construct = &program.constructs[program.regions[region].construct];
    facts.queries.place || asks_any(program, construct.range, PLACE_QUERIES)
}

fn asks_any(program: &Program, range: TextRange, queries: &[&'static [&'static str]]) -> bool {
    let mut queries = queries.iter();
    queries.any(|functions| asks(program, range, functions).next().is_some())
}

/// Whether iterations of a region's loop leave values in its copies of variables for the iterations after them.
pub(super) fn keeps_values(program: &Program, region: RegionId) -> bool {
    let region = &program.regions[region];
    let Some(nest) = program.constructs[region.construct].nest else {
        return false;
    };
    let body = program.nests[nest].body;
    region.captures.iter().any(|capture| {
        let CapturedObject::Variable(symbol) = capture.object else {
            return false;
        };
        capture.may_be_written
            && matches!(capture.transport, Transport::Literal | Transport::Copy)
            && !is_assigned_first(program, symbol, body)
    })
}

/// Whether every iteration assigns to a variable before it does anything else with it.
fn is_assigned_first(program: &Program, symbol: SymbolId, body: TextRange) -> bool {
    let name = program.name(symbol).as_str();
    let is_use = |at: TextRange| {
        program.text(at) == name
            && program.scopes.resolve(&program.symbols, name, at) == Some(symbol)
    };
    let tokens: Vec<Token> = lex::significant_tokens(program.source(), body).collect();
    let text = |idx: usize| {
        tokens
            .get(idx)
            .map_or("", |token| token.text(program.source()))
    };
    let Some(first) = tokens.iter().position(|token| is_use(token.range)) else {
        return true;
    };
    let depth = (0..first).fold(0i32, |depth, idx| match text(idx) {
        "{" => depth + 1,
        "}" => depth - 1,
        _ => depth,
    });
    let begins_statement = match first {
        0 => true,
        1 => matches!(text(0), "{" | ";"),
        _ => {
            matches!(text(first - 1), "{" | "}" | ";")
                || (text(first - 1) == "(" && text(first - 2) == "for")
        }
    };
    let value = (first + 2..tokens.len()).take_while(|idx| text(*idx) != ";");
    begins_statement
        && depth <= 1
        && text(first + 1) == "="
        && !value.into_iter().any(|idx| is_use(tokens[idx].range))
}

/// Whether a range asks which thread executes it.
pub(super) fn asks_for_thread(program: &Program, range: TextRange) -> bool {
    asks(program, range, THREAD_QUERIES).next().is_some()
}

/// Whether a function shares work among the threads of its caller.
fn shares_work(program: &Program, range: TextRange) -> bool {
    let mut constructs = program.constructs_in(range);
    constructs.any(|(_, construct)| binds_to_caller(construct))
}

/// Whether something that a region holds and calls, like a lambda, shares work among the threads of its caller.
fn holds_sharing(program: &Program, region: RegionId) -> bool {
    let outermost = &program.constructs[program.regions[region].construct];
    let mut constructs = program.constructs_in(outermost.range);
    constructs.any(|(_, construct)| {
        binds_to_caller(construct) && program.is_called(construct.range, outermost.range)
    })
}

/// Whether a construct in a function is the business of the threads that call the function.
fn binds_to_caller(construct: &Construct) -> bool {
    matches!(
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
}

/// Whether a region asks somewhere else than directly inside one parallel region of all threads of the block.
fn depends_on_place(program: &Program, facts: &Facts, region: RegionId) -> bool {
    let outermost = &program.constructs[program.regions[region].construct];
    asks(program, outermost.range, THREAD_QUERIES).any(|at| {
        let mut forks = program
            .constructs_in(outermost.range)
            .map(|(_, construct)| construct)
            .filter(|construct| {
                construct
                    .statement
                    .is_some_and(|statement| statement.contains_range(at))
                    && construct.has(Leaf::Parallel)
            });
        let first = forks.next();
        forks.next().is_some() || !first.is_some_and(|fork| has_block(program, facts, region, fork))
    })
}

fn has_block(program: &Program, facts: &Facts, region: RegionId, fork: &Construct) -> bool {
    fork.has(Leaf::Target) || loops::crew(program, facts, Some(region), fork).0 == Crew::Block
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
