//! `target-outlining`: every target region becomes a kernel and the launch that replaces it.
//!
//! Before: a region with its captures. After: a [`Kernel`] whose parameters are the captures in order, whose prologue gives the body its names back, and whose body is a plan over the user's
//! text; and a [`Launch`] with the geometry that the clauses ask for.
//!
//! The plan depends on how the region uses threads ([`Shape`]): one loop nest over the grid, one thread, all threads of a block, or a team that runs sequential code around parallel regions.

mod arrays;
mod atomic;
mod conditional;
mod geometry;
mod lambdas;
mod loops;
mod packs;
mod plan;
mod queries;
mod scan;
mod sharing;
mod team;
mod worksharing;

use rex_ir::expr::Expr;
use rex_ir::facet::Facet;
use rex_ir::item::{Function, FunctionId, TemplateHead};
use rex_ir::kernel::{
    Beginning, BodyText, Crew, Home, Kernel, Parameter, ParameterType, Plan, Prologue, TeamForm,
    Threading,
};
use rex_ir::launch::Launch;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{
    Capture, CapturedObject, LoopNest, Region, RegionId, SharingAttribute, Transport, UsedAllocator,
};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{Category, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use smol_str::{SmolStr, format_smolstr};

use crate::pass::{Outcome, Pass, PassCx, PassInfo};
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
    program.long_doubles(id).map(|capture| {
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
        None if forks_inside || geometry::shows_limit(program, id) => Shape::Team,
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
    let deduced = region.deduced.iter().map(|id| program.name(*id).clone());
    let deduced: Vec<SmolStr> = deduced.collect();
    let template = kernel_template(function, home, &deduced);
    let mut planner = Planner::new(program, facts, id, shape);
    planner.errors.extend(packs::refused(program, region));
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
        parameters,
        mut prologue,
        ..
    } = assembly;
    prologue.extend(untagged_types(program, region));
    prologue.sort_by_key(prologue_rank);
    let prologue = sharing::aligned(program, construct, prologue);
    planner.note_team_objects(&prologue);
    let mut body = planner.body();
    team::barriers::merge(&mut body, Beginning::Everybody);
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
    words.extend(planner.capture_lists(construct.range));
    words.sort_by_key(|(range, _)| range.start());
    let launch = Launch {
        shared_bytes: planner.shared_bytes.take(),
        ..geometry::launch(program, id, shape)
    };
    let kernel = Kernel {
        region: id,
        names,
        parameters,
        home,
        template,
        deduced,
        prologue,
        body,
        threading,
        words,
    };
    Ok((kernel, launch))
}

/// What the kernel of a template depends on: the class, or its parameters if the kernel stands outside, the parameters of
/// the function, and the types of variables that only the compiler knows.
fn kernel_template(function: &Function, home: Home, deduced: &[SmolStr]) -> Option<TemplateHead> {
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
        .chain(deduced.iter().map(|variable| TemplateHead {
            parameters: format_smolstr!("typename {}", namer::deduced_type(variable)),
            arguments: format_smolstr!("REX_TYPE_OF({variable})"),
        }))
        .collect();
    let join = |part: fn(&TemplateHead) -> &SmolStr| {
        let parts: Vec<&str> = heads.iter().map(|head| part(head).as_str()).collect();
        SmolStr::from(parts.join(", "))
    };
    Some(TemplateHead {
        parameters: join(|head| &head.parameters),
        arguments: join(|head| &head.arguments),
    })
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

/// Definitions of the structs without a tag that captured variables have.
fn untagged_types(program: &Program, region: &Region) -> Vec<Prologue> {
    let types = &program.types;
    let mut records = Vec::new();
    for capture in &region.captures {
        let mut ty = types.innermost_element(capture.ty);
        while let TypeKind::Pointer(to) | TypeKind::Reference(to) = types.get(ty).kind {
            ty = types.innermost_element(to);
        }
        if let Some(record) = types.record(ty)
            && types.records[record].is_untagged
            && !records.contains(&record)
        {
            records.push(record);
        }
    }
    records.into_iter().map(Prologue::Untagged).collect()
}

/// Declarations first, then the variables that extents may need, then everything else.
fn prologue_rank(line: &Prologue) -> u8 {
    match line {
        Prologue::Declaration(_) | Prologue::Untagged(_) => 0,
        Prologue::Unpack { .. } => 1,
        Prologue::Literal { .. } | Prologue::SharedLiteral { .. } | Prologue::Captured { .. } => 2,
        Prologue::View { .. } => 4,
        _ => 3,
    }
}

struct Assembly<'a, 'p> {
    program: &'p Program,
    shape: Shape,
    home: Home,
    parameters: Vec<Parameter>,
    prologue: Vec<Prologue>,
    planner: &'a mut Planner<'p>,
}

impl Assembly<'_, '_> {
    fn add(&mut self, capture: &Capture, region: RegionId) {
        let types = &self.program.types;
        let name = match capture.object {
            CapturedObject::This => SmolStr::new_static(namer::SELF_NAME),
            object => rex_ir::print::object_name(self.program, object).into(),
        };
        let ty = match types.get(capture.ty).kind {
            TypeKind::Reference(to) => to,
            _ => capture.ty,
        };
        let spelled = types.spell(types.innermost_element(ty));
        if spelled.contains('{') {
            return self.refuse(
                capture,
                "its type has no name that the kernel could use; give the struct a tag",
            );
        }
        if spelled.split_whitespace().any(|word| word == "_Complex")
            && self.program.language() == Language::Cxx
        {
            return self.refuse(
                capture,
                "complex types of C have no counterpart in device code; use `std::complex`",
            );
        }
        if spelled.split_whitespace().any(|word| word == "auto") {
            return self.refuse(
                capture,
                "its type is `auto` and its initializer does not say which; write the type",
            );
        }
        if types.may_have_members(ty) && namer::CUDA_VARIABLES.contains(&name.as_str()) {
            return self.refuse(
                capture,
                "CUDA has an object of this name with members in device code; rename the variable",
            );
        }
        let argument = namer::argument(&name);
        let object = capture.object;
        match capture.transport {
            Transport::Private if self.iterates(object) => {}
            Transport::Private if self.allocator(object, region).is_some() => {
                let traits = self
                    .allocator(object, region)
                    .and_then(|used| used.traits)
                    .map(|(traits, _)| self.program.name(traits).clone());
                self.prologue.push(Prologue::Allocator { name, ty, traits });
            }
            Transport::Private => {
                if !types.is_variably_modified(ty) {
                    self.prologue.push(match self.is_of_team(object, region) {
                        true => Prologue::SharedPrivate { name, ty },
                        false => Prologue::Private { name, ty },
                    });
                } else {
                    self.refuse(
                        capture,
                        "a private variable length array needs a size known to the compiler",
                    );
                }
            }
            Transport::Literal => {
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::Slot,
                });
                let shared = capture.may_be_written && self.is_of_team(object, region);
                self.prologue.push(if shared {
                    Prologue::SharedLiteral {
                        name,
                        ty,
                        parameter: argument,
                    }
                } else {
                    Prologue::Literal {
                        name,
                        ty,
                        parameter: argument,
                    }
                });
            }
            Transport::ByCategory | Transport::CopyByCategory => {
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::Slot,
                });
                self.prologue.push(Prologue::Captured {
                    name,
                    ty,
                    parameter: argument,
                    is_firstprivate: capture.transport == Transport::CopyByCategory,
                });
            }
            Transport::Copy => {
                if types.is_variably_modified(ty) {
                    return self.refuse(
                        capture,
                        "a firstprivate variable length array is not supported",
                    );
                }
                let element = types.innermost_element(ty);
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::PointerTo(element),
                });
                // The host has sent the bytes; a constructor of the user's makes a copy of them.
                let stays = !self.program.has_copy_constructor(ty)
                    && (!capture.may_be_written || self.is_of_league(capture, region));
                let line = match stays {
                    true => self.over_storage(name, ty, argument),
                    false => self.copy_of(name, ty, argument, self.is_of_team(object, region)),
                };
                self.prologue.push(line);
            }
            Transport::Storage | Transport::DeviceAddress => {
                let element = types.innermost_element(ty);
                let is_array = matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. });
                let pointee = if is_array { element } else { ty };
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::PointerTo(pointee),
                });
                if self.is_accumulated(object, region) {
                    return;
                }
                let may_differ = capture.may_be_written || self.program.has_copy_constructor(ty);
                let is_copied = may_differ && self.is_copied_inside(object, region);
                if is_copied && types.is_variably_modified(ty) {
                    return self.refuse(
                        capture,
                        "a firstprivate variable length array is not supported",
                    );
                }
                let line = match is_copied {
                    true => self.copy_of(name, ty, argument, self.is_of_team(object, region)),
                    false => self.over_storage(name, ty, argument),
                };
                self.prologue.push(line);
            }
            // The pointer itself is one object of the team.
            Transport::Pointee | Transport::DevicePointer
                if capture.may_be_written
                    && self.is_of_team(object, region)
                    && !types.is_variably_modified(ty)
                    && !self.is_accumulated(object, region) =>
            {
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::Slot,
                });
                self.prologue.push(Prologue::SharedLiteral {
                    name,
                    ty,
                    parameter: argument,
                });
            }
            Transport::Pointee | Transport::DevicePointer => {
                let is_accumulated = self.is_accumulated(object, region);
                self.add_pointer(capture, name, ty, is_accumulated);
            }
        }
    }

    /// Gives the pointers among the last parameters a type that the signature can name.
    fn unpack(&mut self, first: usize, ty: ParameterType) {
        for parameter in &mut self.parameters[first..] {
            // The object of a member function is unpacked by the kernel that calls it.
            let is_object = parameter.object == CapturedObject::This && self.home == Home::Member;
            if parameter.ty == ParameterType::Slot || is_object {
                continue;
            }
            let slot = namer::slot(&parameter.name);
            self.prologue.push(Prologue::Unpack {
                name: std::mem::replace(&mut parameter.name, slot.clone()),
                ty: std::mem::replace(&mut parameter.ty, ty),
                parameter: slot,
            });
        }
    }

    fn add_pointer(&mut self, capture: &Capture, name: SmolStr, ty: TypeId, is_accumulated: bool) {
        let types = &self.program.types;
        let object = capture.object;
        if types.is_variably_modified(ty) {
            let argument = namer::argument(&name);
            let pointee = types.element(ty).unwrap_or(ty);
            let element = types.innermost_element(pointee);
            self.parameters.push(Parameter {
                object,
                name: argument.clone(),
                ty: ParameterType::PointerTo(element),
            });
            if is_accumulated {
                return;
            }
            let mut extents = vec![Expr::Int(0)];
            extents.extend(types.extents(pointee));
            self.prologue.push(Prologue::View {
                name,
                element,
                extents,
                parameter: argument,
            });
        } else {
            let name = match is_accumulated {
                true => namer::argument(&name),
                false => name,
            };
            self.parameters.push(Parameter {
                object,
                name,
                ty: ParameterType::Declared(ty),
            });
        }
    }

    /// The line that makes `name` mean the storage behind `parameter`.
    fn over_storage(&self, name: SmolStr, ty: TypeId, parameter: SmolStr) -> Prologue {
        let types = &self.program.types;
        if types.is_variably_modified(ty) {
            let extents = types.extents(ty);
            return Prologue::View {
                name,
                element: types.innermost_element(ty),
                extents,
                parameter,
            };
        }
        match types.get(types.desugar(ty)).kind {
            TypeKind::Array { .. } => Prologue::ArrayReference {
                name,
                ty,
                parameter,
            },
            _ => Prologue::Reference {
                name,
                ty,
                parameter,
            },
        }
    }

    /// Whether the region's own loop gives each thread an accumulator or copy of this name.
    fn is_accumulated(&self, object: CapturedObject, region: RegionId) -> bool {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        let CapturedObject::Variable(symbol) = object else {
            return false;
        };
        construct.sharing.iter().any(|sharing| {
            sharing.symbol == symbol
                && match &sharing.attribute {
                    SharingAttribute::Reduction { .. } => {
                        matches!(self.shape, Shape::Loop | Shape::Team)
                            || (construct.nest.is_none() && !construct.has(Leaf::Sections))
                    }
                    SharingAttribute::Lastprivate => {
                        construct.nest.is_some() && matches!(self.shape, Shape::Loop | Shape::Team)
                    }
                    _ => false,
                }
        })
    }

    /// The variables of the user's own loops, where nothing else declares them.
    fn declare_loop_variables(&mut self, nest: &LoopNest) {
        for canonical in &nest.loops {
            let captures = self
                .planner
                .region()
                .map_or(&[][..], |region| &region.captures);
            let is_captured = captures.iter().any(|capture| {
                matches!(capture.object, CapturedObject::Variable(symbol) if *self.program.name(symbol) == canonical.variable)
            });
            if !canonical.declares_variable && !is_captured {
                self.prologue.push(Prologue::Private {
                    name: canonical.variable.clone(),
                    ty: canonical.ty,
                });
            }
        }
    }

    /// What `uses_allocators` says about a variable.
    fn allocator(&self, object: CapturedObject, region: RegionId) -> Option<&UsedAllocator> {
        let mut used = self.program.regions[region].allocators.iter();
        used.find(|used| object == CapturedObject::Variable(used.allocator))
    }

    /// A copy of what is behind `parameter`.
    fn copy_of(&self, name: SmolStr, ty: TypeId, parameter: SmolStr, is_of_team: bool) -> Prologue {
        match is_of_team {
            true => Prologue::SharedCopy {
                name,
                ty,
                parameter,
            },
            false => Prologue::ThreadCopy {
                name,
                ty,
                parameter,
            },
        }
    }

    /// Whether a construct inside `target` has a `firstprivate` copy of a variable that `target` maps.
    fn is_copied_inside(&self, object: CapturedObject, region: RegionId) -> bool {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        construct.sharing.iter().any(|sharing| {
            object == CapturedObject::Variable(sharing.symbol)
                && sharing.attribute == SharingAttribute::Firstprivate
                && !sharing.is_on_target
        })
    }

    /// Whether a copy is one object for the whole launch: no construct inside `target` makes it private.
    fn is_of_league(&self, capture: &Capture, region: RegionId) -> bool {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        match capture.object {
            CapturedObject::Variable(symbol) => {
                matches!(construct.private_on(symbol), None | Some(Leaf::Target))
            }
            CapturedObject::This => capture.is_implicit,
            CapturedObject::Extent(..) => false,
        }
    }

    /// Whether a team has one copy of a variable that the region has copies of: `parallel` shares what only `target` or `teams` makes private.
    fn is_of_team(&self, object: CapturedObject, region: RegionId) -> bool {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        let CapturedObject::Variable(symbol) = object else {
            return self.shape != Shape::Loop && self.shape != Shape::Serial;
        };
        match self.shape {
            Shape::Team => true,
            Shape::Parallel => !construct.is_private_to_threads(symbol),
            Shape::Loop => is_shared_by_threads(self.program, region, symbol),
            Shape::Serial => false,
        }
    }

    /// Whether the region's own loops declare the variable.
    fn iterates(&self, object: CapturedObject) -> bool {
        let (CapturedObject::Variable(symbol), Some(region)) = (object, self.planner.region())
        else {
            return false;
        };
        // The user's loop stays as it is.
        if self.shape == Shape::Serial {
            return false;
        }
        self.program.constructs[region.construct]
            .nest
            .is_some_and(|nest| {
                let depth = loops::rectangle_depth(self.program, nest);
                self.program.nests[nest].loops[..depth]
                    .iter()
                    .any(|canonical| canonical.variable == *self.program.name(symbol))
            })
    }

    fn refuse(&mut self, capture: &Capture, why: &str) {
        let name = rex_ir::print::object_name(self.program, capture.object);
        let diagnostic = Diagnostic::new(
            Code::UnsupportedCapture,
            self.program.at(capture.at),
            format!("`{name}` cannot be captured by this region"),
        )
        .with_note(why);
        self.planner.errors.push(diagnostic);
    }
}

/// Whether the threads of a loop take turns at the one copy that their team has of a variable.
fn is_shared_by_threads(program: &Program, region: RegionId, symbol: SymbolId) -> bool {
    let region = &program.regions[region];
    let construct = &program.constructs[region.construct];
    let object = CapturedObject::Variable(symbol);
    construct.has(Leaf::Parallel)
        && matches!(
            construct.private_on(symbol),
            Some(Leaf::Teams | Leaf::Distribute)
        )
        && region
            .captures
            .iter()
            .any(|capture| capture.object == object && capture.is_updated_in_turn)
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

/// The body of a device function with the directives in it replaced and what stands in place of its words, or why that cannot be.
pub(crate) fn plan_function(
    program: &Program,
    facts: &Facts,
    function: FunctionId,
) -> Result<(BodyText, Words), Vec<Diagnostic>> {
    let mut planner = Planner::for_function(program, facts);
    let range = program.functions[function].range;
    let body = planner.body_text(range, plan::Context::Threads(Crew::Caller));
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
