//! The geometry of a launch: what the clauses ask for, and the trip count as a hint.

use std::sync::Arc;

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::item::FunctionId;
use rex_ir::launch::Launch;
use rex_ir::program::Program;
use rex_ir::region::{
    Call, CanonicalLoop, CapturedObject, Construct, DataSharing, LoopStep, RegionId, Relation,
    SharingAttribute, Transport,
};
use rex_ir::ty::{Meaning, TypeKind};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use indexmap::IndexSet;
use smol_str::SmolStr;

use super::{Facts, Shape, conditional, queries};

/// The launch of a region; its kernel is filled in by the caller.
pub(super) fn launch(program: &Program, facts: &Facts, region: RegionId, shape: Shape) -> Launch {
    let construct = &program.constructs[program.regions[region].construct];
    let expression = |name| {
        clause(program, construct, name)
            .and_then(Clause::expression)
            .map(Expr::Source)
    };
    let teams = match expression(ClauseName::NumTeams) {
        _ if has_first_and_last(program, construct) => Some(Expr::Int(1)),
        Some(teams) => Some(teams),
        None if construct.has(Leaf::Teams) => open_teams(construct, shape),
        None => Some(Expr::Int(1)),
    };
    let distributed = clause(program, construct, ClauseName::DistSchedule)
        .and_then(Clause::expression)
        .filter(|chunk| !program.text(*chunk).contains(['(', '=']));
    let mut trips = trips(program, construct, shape);
    let mut teams = teams;
    if let (None | Some(Expr::Name(_)), Some(chunk), Some(all)) = (&teams, distributed, &trips) {
        // A team for each chunk.
        trips = Some(Expr::Call(
            "rex_trips",
            [all.clone(), Expr::Source(chunk)].into(),
        ));
        teams = Some(Expr::Name("REX_TEAMS_EACH".into()));
    }
    let limit = expression(ClauseName::ThreadLimit);
    let asked = expression(ClauseName::NumThreads).or_else(|| match shape {
        Shape::Team => largest(program, Asked::of(program, region)),
        _ => None,
    });
    let mut threads = match (asked, limit) {
        (Some(_), limit) if shape == Shape::Team && shows_limit(program, facts, region) => limit,
        (Some(asked), Some(limit)) => Some(smaller(program, asked, limit)),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => None,
    };
    // Without `parallel` the threads of a team share the iterations only if nobody can tell.
    let is_of_one_thread = shape == Shape::Loop
        && ![Leaf::Parallel, Leaf::Loop, Leaf::Simd]
            .iter()
            .any(|leaf| construct.has(*leaf));
    let is_told = is_of_one_thread
        && (is_one(program, teams.as_ref())
            || queries::asks_for_team(program, facts, region)
            || queries::keeps_values(program, region));
    if shape == Shape::Serial || is_told {
        threads = Some(Expr::Int(1));
    }
    if let Some(condition) = if_clause(program, construct, Leaf::Teams) {
        let otherwise = teams.unwrap_or(Expr::Int(0));
        teams = Some(Expr::Conditional(
            Arc::new(Expr::Source(condition)),
            Arc::new(otherwise),
            Arc::new(Expr::Int(1)),
        ));
    }
    if let Some(condition) = if_clause(program, construct, Leaf::Parallel) {
        let otherwise = threads.unwrap_or(Expr::Int(0));
        threads = Some(Expr::Conditional(
            Arc::new(Expr::Source(condition)),
            Arc::new(otherwise),
            Arc::new(Expr::Int(1)),
        ));
    }
    Launch {
        region,
        kernel: la_arena::Idx::from_raw(0.into()),
        device: clause(program, construct, ClauseName::Device).and_then(Clause::expression),
        condition: if_clause(program, construct, Leaf::Target),
        teams,
        threads,
        trips,
        shared_bytes: None,
    }
}

/// The smaller of two numbers, computed here if both are known.
fn smaller(program: &Program, one: Expr, other: Expr) -> Expr {
    let value = |expr: &Expr| match expr {
        Expr::Int(number) => Some(*number),
        Expr::Source(range) => program.text(*range).trim().parse().ok(),
        _ => None,
    };
    match (value(&one), value(&other)) {
        (Some(a), Some(b)) if a <= b => one,
        (Some(_), Some(_)) => other,
        _ => Expr::Conditional(
            Arc::new(one.clone().binary(BinaryOp::Less, other.clone())),
            Arc::new(one),
            Arc::new(other),
        ),
    }
}

fn is_one(program: &Program, number: Option<&Expr>) -> bool {
    match number {
        Some(Expr::Int(number)) => *number == 1,
        Some(Expr::Source(range)) => program.text(*range).trim() == "1",
        _ => false,
    }
}

/// Whether copies of a variable begin with the original's value and one of them leaves its own there, or all are combined there:
/// no thread may store before all have read, and only the threads of one team can wait for each other.
fn has_first_and_last(program: &Program, construct: &Construct) -> bool {
    let symbols = |wanted: SharingAttribute| {
        construct
            .sharing
            .iter()
            .filter(move |sharing| sharing.attribute == wanted)
            .map(|sharing| sharing.symbol)
    };
    let reads_original = |sharing: &DataSharing| match &sharing.attribute {
        SharingAttribute::Reduction { operation, .. } => program.reads_original(operation),
        _ => false,
    };
    symbols(SharingAttribute::Firstprivate)
        .any(|first| symbols(SharingAttribute::Lastprivate).any(|last| first == last))
        || construct.sharing.iter().any(reads_original)
}

/// Whether the threads that share a region's loops wait for each other, to know what copies begin with or whose value is kept.
pub(super) fn keeps_one_value(program: &Program, construct: &Construct) -> bool {
    has_first_and_last(program, construct)
        || conditional::variables(program, construct).next().is_some()
}

/// What the runtime shapes the grid by when the program leaves the number of teams open.
fn open_teams(construct: &Construct, shape: Shape) -> Option<Expr> {
    let reduces = construct
        .sharing
        .iter()
        .any(|sharing| matches!(sharing.attribute, SharingAttribute::Reduction { .. }));
    match shape {
        Shape::Team if construct.nest.is_some() => Some(Expr::Name("REX_TEAMS_EACH".into())),
        _ if reduces => Some(Expr::Name("REX_TEAMS_FEW".into())),
        _ => None,
    }
}

fn clause<'p>(program: &'p Program, construct: &Construct, name: ClauseName) -> Option<&'p Clause> {
    construct
        .directives
        .iter()
        .find_map(|idx| program.unit.directives[*idx].clause(name))
}

/// The `if` clause that applies to one of the combined constructs: with its name, or without any.
///
/// Where `target` has one without a name, that decides for the constructs of its directive.
pub(super) fn if_clause(program: &Program, construct: &Construct, leaf: Leaf) -> Option<TextRange> {
    let directives = construct
        .directives
        .iter()
        .map(|idx| &program.unit.directives[*idx]);
    directives
        .filter(|directive| directive.has(leaf))
        .flat_map(|directive| {
            let is_decided = leaf != Leaf::Target && directive.has(Leaf::Target);
            directive
                .clauses_named(ClauseName::If)
                .filter(move |clause| match clause.applies_to {
                    Some(_) => clause.applies_to(leaf),
                    None => !is_decided,
                })
        })
        .find_map(Clause::expression)
}

/// The operand of `num_threads`.
pub(super) fn num_threads(program: &Program, construct: &Construct) -> Option<TextRange> {
    clause(program, construct, ClauseName::NumThreads).and_then(Clause::expression)
}

/// The `num_threads` operands of the parallel regions that a team program begins, itself or in functions that it calls.
struct Asked {
    /// Those that the host can evaluate, each text once.
    known: Vec<TextRange>,
    /// There are others.
    others: bool,
    /// There are parallel regions without.
    leaves_open: bool,
}

/// Threads of a team in which some parallel regions ask for a number that only the device knows.
const THREADS_FOR_OTHERS: i64 = 256;

impl Asked {
    /// Reads a region and the functions that it reaches.
    fn of(program: &Program, region: RegionId) -> Asked {
        let region = &program.regions[region];
        let statement = program.constructs[region.construct].statement;
        let mut asked = Asked {
            known: Vec::new(),
            others: false,
            leaves_open: false,
        };
        if let Some(statement) = statement {
            asked.add_all(program, statement, statement);
        }
        let is_of_functions = asked.known.is_empty();
        for function in reached(program, &region.calls) {
            let from = program.constructs[region.construct].range;
            asked.add_all(program, program.functions[function].range, from);
        }
        // What only functions ask for leaves no other parallel region with few threads.
        asked.others |= is_of_functions && asked.leaves_open && !asked.known.is_empty();
        asked
    }

    /// Reads a function or the region itself; the host evaluates the operands where the region stands.
    fn add_all(&mut self, program: &Program, within: TextRange, region: TextRange) {
        for (_, inner) in program.constructs_in(within) {
            if inner.has(Leaf::Parallel) {
                match num_threads(program, inner) {
                    Some(expression) => self.add(program, expression, within, region),
                    None => self.leaves_open = true,
                }
            }
        }
    }

    fn add(
        &mut self,
        program: &Program,
        expression: TextRange,
        within: TextRange,
        region: TextRange,
    ) {
        let text = program.text(expression);
        let has_effects = text.contains(['(', '=']) || text.contains("++") || text.contains("--");
        let resolve = |name: TextRange, place: TextRange| {
            let text = program.text(name);
            program.scopes.resolve(&program.symbols, text, place)
        };
        let visible = lex::identifiers(program.source(), expression).all(|name| {
            let found = resolve(name, name);
            let is_inside = found
                .and_then(|symbol| program.symbols[symbol].declared_at)
                .is_some_and(|declared| within.contains_range(declared));
            !is_inside && (within == region || found == resolve(name, region))
        });
        if !visible || has_effects {
            self.others = true;
        } else if !self.known.iter().any(|known| program.text(*known) == text) {
            self.known.push(expression);
        }
    }
}

/// The functions that calls lead to.
fn reached(program: &Program, calls: &[Call]) -> IndexSet<FunctionId> {
    let mut found: IndexSet<FunctionId> = IndexSet::new();
    let mut names: Vec<&SmolStr> = calls.iter().map(|call| &call.name).collect();
    while let Some(name) = names.pop() {
        for device in program.device_functions_named(name) {
            if found.insert(device.function) {
                let function = &program.functions[device.function];
                names.extend(function.calls.iter().map(|call| &call.name));
            }
        }
    }
    found
}

/// Whether a region has a limit of threads and its code asks for that: blocks then have as many threads, whatever their parallel regions ask for.
pub(super) fn shows_limit(program: &Program, facts: &Facts, region: RegionId) -> bool {
    let construct = &program.constructs[program.regions[region].construct];
    clause(program, construct, ClauseName::ThreadLimit).is_some()
        && queries::asks_for_limit(program, facts, region)
}

/// Whether a parallel region with this `num_threads` has all threads of the region's blocks.
pub(super) fn is_block(
    program: &Program,
    facts: &Facts,
    region: RegionId,
    asked: TextRange,
) -> bool {
    let found = Asked::of(program, region);
    if found.others || shows_limit(program, facts, region) {
        return false;
    }
    let number = |range| program.text(range).trim().parse::<u64>().ok();
    let captures = &program.regions[region].captures;
    let keeps_its_value = lex::identifiers(program.source(), asked).all(|name| {
        let symbol = program
            .scopes
            .resolve(&program.symbols, program.text(name), name);
        captures
            .iter()
            .filter(|capture| symbol.map(CapturedObject::Variable) == Some(capture.object))
            .all(|capture| !capture.may_be_written && capture.transport == Transport::Literal)
    });
    match found.known.as_slice() {
        [only] => program.text(*only) == program.text(asked) && keeps_its_value,
        several => {
            let numbers: Option<Vec<u64>> = several.iter().map(|range| number(*range)).collect();
            numbers.is_some_and(|numbers| numbers.iter().max().copied() == number(asked))
        }
    }
}

/// The largest of several operands.
fn largest(program: &Program, asked: Asked) -> Option<Expr> {
    let number = |range: TextRange| program.text(range).trim().parse::<i64>().ok();
    let for_others = asked.others.then_some(THREADS_FOR_OTHERS);
    let constants = asked.known.iter().filter_map(|range| number(*range));
    let constant = constants.chain(for_others).max();
    asked
        .known
        .into_iter()
        .filter(|range| number(*range).is_none())
        .map(Expr::Source)
        .chain(constant.map(Expr::Int))
        .reduce(|most, next| {
            Expr::Conditional(
                Arc::new(most.clone().binary(BinaryOp::Less, next.clone())),
                Arc::new(next),
                Arc::new(most),
            )
        })
}

/// The product of the trip counts, where the host can compute them from names of its own without side effects.
fn trips(program: &Program, construct: &Construct, shape: Shape) -> Option<Expr> {
    if shape != Shape::Loop && shape != Shape::Team {
        return None;
    }
    let nest = &program.nests[construct.nest?];
    let mut product: Option<Expr> = None;
    let perfect = nest
        .loops
        .iter()
        .take_while(|canonical| canonical.among.is_none());
    for canonical in perfect {
        let inner_names: Vec<&str> = nest
            .loops
            .iter()
            .map(|canonical| canonical.variable.as_str())
            .collect();
        let simple = [canonical.lower, canonical.bound].into_iter().all(|range| {
            !program.text(range).contains(['(', '[', '=', '{'])
                && lex::identifiers(program.source(), range)
                    .all(|name| !inner_names.contains(&program.text(name)))
        });
        if !simple {
            return None;
        }
        let trips = loop_trips(program, canonical)?;
        product = Some(match product {
            Some(product) => product.binary(BinaryOp::Mul, trips),
            None => trips,
        });
    }
    product
}

fn loop_trips(program: &Program, canonical: &CanonicalLoop) -> Option<Expr> {
    if canonical.element.is_some() {
        return None;
    }
    let is_integer = matches!(
        program.types.get(program.types.desugar(canonical.ty)).kind,
        TypeKind::Named {
            meaning: Meaning::Integer { .. } | Meaning::Enum,
            ..
        }
    );
    if !is_integer
        && !matches!(
            program.types.get(program.types.desugar(canonical.ty)).kind,
            TypeKind::Pointer(_)
        )
    {
        return None;
    }
    let operand = |range: TextRange| match program.text(range).trim().parse() {
        Ok(value) => Expr::Int(value),
        Err(_) if is_integer => Expr::ToInt64(Arc::new(Expr::Source(range))),
        Err(_) => Expr::Source(range),
    };
    let (low, high, extra) = match canonical.relation {
        Relation::Less => (canonical.lower, canonical.bound, 0),
        Relation::LessEqual => (canonical.lower, canonical.bound, 1),
        Relation::Greater => (canonical.bound, canonical.lower, 0),
        Relation::GreaterEqual => (canonical.bound, canonical.lower, 1),
        Relation::NotEqual => match canonical.step {
            LoopStep::Increment | LoopStep::Add(_) => (canonical.lower, canonical.bound, 0),
            LoopStep::Decrement | LoopStep::Subtract(_) => (canonical.bound, canonical.lower, 0),
        },
    };
    let span = operand(high)
        .binary(BinaryOp::Sub, operand(low))
        .binary(BinaryOp::Add, Expr::Int(extra));
    let step = match canonical.step {
        LoopStep::Increment | LoopStep::Decrement => Expr::Int(1),
        LoopStep::Add(step) | LoopStep::Subtract(step) => operand(step),
    };
    Some(Expr::Call("rex_trips", [span, step].into()))
}
