//! `target-outlining`: every target region becomes a kernel and the launch that replaces it.
//!
//! Before: a region with its captures. After: a [`Kernel`] whose parameters are the captures in order, whose prologue gives the body its names back, and whose body is a plan over the user's
//! text; and a [`Launch`] with the geometry that the clauses ask for.
//!
//! The plan depends on how the region uses threads ([`Shape`]): one loop nest over the grid, one thread, all threads of a block, or a team that runs sequential code around parallel regions.

mod alone;
mod arrays;
mod assembly;
mod atomic;
mod conditional;
mod geometry;
mod in_place;
mod lambdas;
mod loop_variables;
mod loops;
mod packs;
mod plan;
mod queries;
mod restricted;
mod scan;
mod sharing;
mod team;
mod worksharing;

use rex_ir::facet::Facet;
use rex_ir::formats::Format;
use rex_ir::item::{Function, FunctionId, TemplateHead};
use rex_ir::kernel::{
    Beginning, BodyText, Crew, Home, Kernel, ParameterType, Plan, Prologue, TeamForm, Threading,
};
use rex_ir::launch::Launch;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{Capture, CapturedObject, RegionId};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Category, TypeId};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use smol_str::{SmolStr, format_smolstr};

use crate::pass::{Outcome, Pass, PassCx, PassInfo};
use assembly::{Assembly, is_shared_by_threads, prologue_rank, untagged_types};
pub(crate) use plan::Facts;
use plan::Planner;

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct TargetOutlining;

static INFO: PassInfo = PassInfo {
    name: "target-outlining",
    summary: "kernels and launches of the target regions",
    reads: Facet::ITEMS
        .union(Facet::TYPES)
        .union(Facet::REGIONS)
        .union(Facet::CAPTURES)
        .union(Facet::DEVICE_CODE),
    writes: Facet::KERNELS.union(Facet::LAUNCHES),
    after: &[],
};

/// Words that stand in place of others.
type Words = Vec<(TextRange, SmolStr)>;

/// How a region uses threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One loop nest over all threads of the grid.
    Loop,
    /// One thread of each team executes everything.
    Serial,
    /// All threads of each team execute everything as OpenMP threads.
    Parallel,
    /// Sequential code of a team around parallel regions.
    Team,
}

impl Pass for TargetOutlining {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let mut kernels = la_arena::Arena::new();
        let mut launches = la_arena::Arena::new();
        let ids: Vec<RegionId> = cx.program.regions.iter().map(|(id, _)| id).collect();
        let facts = Facts::of(cx.program);
        for (ordinal, id) in ids.into_iter().enumerate() {
            match outline(cx.program, &facts, id, ordinal + 1) {
                Ok((kernel, launch)) => {
                    let notes: Vec<Diagnostic> = long_double_notes(cx.program, id).collect();
                    notes.into_iter().for_each(|note| cx.diagnostics.push(note));
                    let kernel = kernels.alloc(kernel);
                    launches.alloc(Launch { kernel, ..launch });
                }
                Err(diagnostics) => diagnostics
                    .into_iter()
                    .for_each(|diagnostic| cx.diagnostics.push(diagnostic)),
            }
        }
        let changed =
            !same(&cx.program.kernels, &kernels) || !same(&cx.program.launches, &launches);
        cx.program.kernels = kernels;
        cx.program.launches = launches;
        Outcome { changed }
    }
}

fn same<T: PartialEq>(a: &la_arena::Arena<T>, b: &la_arena::Arena<T>) -> bool {
    a.len() == b.len() && a.values().zip(b.values()).all(|(a, b)| a == b)
}

/// What is said about objects that GPUs would misread.
fn long_double_notes(program: &Program, id: RegionId) -> impl Iterator<Item = Diagnostic> {
    program.shared_in(id, Format::LongDouble).map(|capture| {
        let name = rex_ir::print::object_name(program, capture.object);
        Diagnostic::new(
            Code::HostLongDouble,
            program.at(capture.at),
            format!("`{name}` has a `long double`, which NVIDIA GPUs do not know"),
        )
        .with_help("share a `double` with the device; no image for a GPU is built otherwise")
    })
}

fn shape_of(program: &Program, facts: &Facts, id: RegionId) -> Shape {
    let construct = &program.constructs[program.regions[id].construct];
    let forks_inside = team::forks_inside(program, &facts.forks, program.regions[id].construct);
    let planner = Planner::new(program, facts, id, Shape::Parallel);
    // The threads of one team can wait for each other.
    let waits = !construct.has(Leaf::Teams)
        && (planner.is_ordered(construct)
            || !planner.linears(construct).is_empty()
            || planner.has_chunks_to_show(construct)
            || planner.has_distance(construct));
    match construct.nest {
        Some(_) if waits && construct.has(Leaf::Parallel) => Shape::Parallel,
        Some(_) if waits => Shape::Serial,
        Some(_) if forks_inside && !construct.has(Leaf::Parallel) => Shape::Team,
        Some(_) => Shape::Loop,
        None if construct.has(Leaf::Parallel) => Shape::Parallel,
        None if forks_inside || geometry::shows_limit(program, facts, id) => Shape::Team,
        None => Shape::Serial,
    }
}

fn outline(
    program: &Program,
    facts: &Facts,
    id: RegionId,
    ordinal: usize,
) -> Result<(Kernel, Launch), Vec<Diagnostic>> {
    let region = &program.regions[id];
    let construct = &program.constructs[region.construct];
    let function = &program.functions[region.function];
    let pragma = program.unit.directives[construct.directives[0]].range;
    let shape = shape_of(program, facts, id);
    let names = namer::kernel_names(
        ordinal,
        program.sources.file(program.unit.file).name(),
        &function.name,
        program.written_line(pragma),
    );
    let home = home(program, function);
    let deduced = region.deduced.iter().map(|id| deduced_type(program, *id));
    let deduced: Vec<(SmolStr, SmolStr)> = deduced.collect();
    let template = kernel_template(function, home, &deduced);
    let mut planner = Planner::new(program, facts, id, shape);
    let refused = packs::refused(program, region, template.as_ref());
    planner.errors.extend(refused);
    let mut assembly = Assembly {
        program,
        shape,
        home,
        parameters: Vec::new(),
        prologue: Vec::new(),
        planner: &mut planner,
    };
    for range in &region.local_declarations {
        assembly.prologue.push(Prologue::Declaration(*range));
    }
    for capture in &region.captures {
        let first = assembly.parameters.len();
        assembly.add(capture, id);
        if template.is_some() {
            assembly.unpack(first, ParameterType::Slot);
        } else if capture.has_local_type {
            assembly.unpack(first, ParameterType::Untyped);
        }
    }
    // The user's loop stays as it is.
    let keeps_loop = match shape {
        Shape::Serial => true,
        Shape::Parallel => assembly.planner.is_ordered(construct),
        Shape::Loop | Shape::Team => false,
    };
    if let (true, Some(nest)) = (keeps_loop, construct.nest) {
        assembly.declare_loop_variables(&program.nests[nest]);
    }
    let Assembly {
        mut parameters,
        mut prologue,
        ..
    } = assembly;
    prologue.extend(untagged_types(program, region));
    prologue.sort_by_key(prologue_rank);
    let captured = region.captures.iter();
    let captured: Vec<SymbolId> = captured
        .filter_map(|capture| capture.object.variable())
        .collect();
    let mut prologue = sharing::aligned(program, construct, &captured, prologue);
    planner.note_team_objects(&prologue);
    let mut body = planner.body();
    planner.refuse_unplanned(construct.range);
    team::barriers::merge(&mut body, Beginning::End);
    if !planner.errors.is_empty() {
        return Err(planner.errors);
    }
    let shares = |capture: &Capture| match capture.object {
        CapturedObject::Variable(symbol) => is_shared_by_threads(program, id, symbol),
        CapturedObject::This | CapturedObject::Extent(..) => false,
    };
    let waits = geometry::keeps_one_value(program, construct) || region.captures.iter().any(shares);
    let threading = if matches!(shape, Shape::Loop | Shape::Serial) && !waits {
        Threading::Independent
    } else {
        Threading::Barriers
    };
    restricted::restrict(
        program,
        facts,
        region,
        threading,
        &mut parameters,
        &mut prologue,
    );
    let mut words: Vec<_> = region
        .member_uses
        .iter()
        .map(|range| {
            (
                *range,
                format_smolstr!("{}->{}", namer::SELF_NAME, program.text(*range)),
            )
        })
        .chain(
            region
                .this_uses
                .iter()
                .map(|range| (*range, SmolStr::new_static(namer::SELF_NAME))),
        )
        .collect();
    if home == Home::Member {
        words.clear();
    }
    words.extend(
        region
            .qualified_uses
            .iter()
            .map(|(range, symbol)| (*range, program.name(*symbol).clone())),
    );
    words.extend(region.qualified_calls.iter().map(|call| {
        let text = call.written_with(|symbol| Some(program.name(symbol).to_string()));
        (call.range, text.into())
    }));
    words.extend(planner.capture_lists(construct.range));
    let mut classes = region.local_declarations.iter();
    if classes.any(|class| class.contains_range(construct.range)) {
        let body = TextRange::new(function.declarator_end, function.body.end());
        words.push((body, SmolStr::new_static(";")));
    }
    words.sort_by_key(|(range, _)| range.start());
    parameters.shrink_to_fit();
    prologue.shrink_to_fit();
    words.shrink_to_fit();
    let launch = Launch {
        shared_bytes: planner.shared_bytes.take(),
        ..geometry::launch(program, facts, id, shape)
    };
    let kernel = Kernel {
        region: id,
        names,
        parameters,
        home,
        template,
        deduced: deduced.into_iter().map(|(name, _)| name).collect(),
        prologue,
        body,
        threading,
        words,
    };
    Ok((kernel, launch))
}

/// What the kernel of a template depends on: the class, or its parameters if the kernel stands outside, the parameters of
/// the function, and types that only the compiler knows, by name.
fn kernel_template(
    function: &Function,
    home: Home,
    deduced: &[(SmolStr, SmolStr)],
) -> Option<TemplateHead> {
    if !function.is_template() && deduced.is_empty() {
        return None;
    }
    let class = match home {
        Home::Member => function.class.clone().map(|class| TemplateHead {
            parameters: format_smolstr!("typename {}", namer::CLASS_PARAMETER),
            arguments: class,
        }),
        Home::Kernel | Home::Friend => None,
    };
    let class_heads = match home {
        Home::Member => &[],
        Home::Kernel | Home::Friend => function.class_heads.as_slice(),
    };
    let heads: Vec<TemplateHead> = class
        .into_iter()
        .chain(class_heads.iter().cloned())
        .chain(function.heads.iter().cloned())
        .chain(deduced.iter().map(|(name, argument)| TemplateHead {
            parameters: format_smolstr!("typename {name}"),
            arguments: argument.clone(),
        }))
        .collect();
    TemplateHead::joined(&heads)
}

/// A type that only the compiler knows, as a parameter of a kernel, and what it is where the kernel is launched.
fn deduced_type(program: &Program, symbol: SymbolId) -> (SmolStr, SmolStr) {
    let name = program.name(symbol);
    match program.symbols[symbol].kind {
        SymbolKind::Type => (name.clone(), name.clone()),
        _ => (namer::deduced_type(name), namer::type_of(name)),
    }
}

/// A region of a member function needs the scope of its class, one of a friend the rights of that.
fn home(program: &Program, function: &Function) -> Home {
    let body = function
        .membership
        .as_ref()
        .and_then(|membership| program.types.records[membership.record?].body);
    match body {
        Some(body) if program.function_at(body).is_none() => Home::Member,
        Some(_) => Home::Kernel,
        None if program.befriending(function).next().is_some() => Home::Friend,
        None => Home::Kernel,
    }
}

/// Whether a variable of this type is combined or copied with `=`.
fn is_assignable(program: &Program, ty: TypeId) -> bool {
    match program.types.category(ty) {
        Category::Function => false,
        // A class of a library.
        Category::Unknown => program.language() == Language::Cxx,
        _ => true,
    }
}

/// A device function or a lambda that device code may call, with the directives in it replaced and what stands in place of its words, or why that cannot be.
pub(crate) fn plan_called(
    program: &Program,
    facts: &Facts,
    range: TextRange,
) -> Result<(BodyText, Words), Vec<Diagnostic>> {
    let mut planner = Planner::for_function(program, facts);
    let body = planner.body_text(range, plan::Context::Threads(Crew::Caller));
    planner.refuse_unplanned(range);
    if planner.errors.is_empty() {
        Ok((body, planner.capture_lists(range)))
    } else {
        Err(planner.errors)
    }
}

pub(crate) use queries::tracks_threads;

/// The plan of the form of a device function that all threads of a block call together, or why there is none.
pub(crate) fn plan_team_function(
    program: &Program,
    facts: &Facts,
    function: FunctionId,
) -> Result<TeamForm, Vec<Diagnostic>> {
    let mut planner = Planner::for_team(program, facts, function);
    let mut body = team::function_body(&mut planner, function);
    planner.refuse_unplanned(program.functions[function].body);
    team::barriers::merge(&mut body, Beginning::Everybody);
    let words = planner.capture_lists(program.functions[function].body);
    if planner.errors.is_empty() {
        Ok(TeamForm { body, words })
    } else {
        Err(planner.errors)
    }
}

/// A plan that leaves nothing of a statement.
const NOTHING: Plan = Plan::Nothing;
