//! Parameters and prologue of a kernel: how what a region captures comes to its body.

use rex_ir::expr::Expr;
use rex_ir::kernel::{Home, Parameter, ParameterType, Prologue};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{
    Capture, CapturedObject, LoopNest, Region, RegionId, SharingAttribute, Transport, UsedAllocator,
};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::plan::Planner;
use super::{Shape, loops};

/// Definitions of the structs without a tag that captured variables have.
pub(super) fn untagged_types(program: &Program, region: &Region) -> Vec<Prologue> {
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
pub(super) fn prologue_rank(line: &Prologue) -> u8 {
    match line {
        Prologue::Declaration(_) | Prologue::Untagged(_) => 0,
        Prologue::Unpack { .. } => 1,
        Prologue::Literal { .. } | Prologue::SharedLiteral { .. } | Prologue::Captured { .. } => 2,
        Prologue::View { .. } => 4,
        Prologue::Aligned { line, .. } => prologue_rank(line),
        _ => 3,
    }
}

pub(super) struct Assembly<'a, 'p> {
    pub(super) program: &'p Program,
    pub(super) shape: Shape,
    pub(super) home: Home,
    pub(super) parameters: Vec<Parameter>,
    pub(super) prologue: Vec<Prologue>,
    pub(super) planner: &'a mut Planner<'p>,
}

impl Assembly<'_, '_> {
    pub(super) fn add(&mut self, capture: &Capture, region: RegionId) {
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
                "its type has no name that the kernel could use",
                "give the struct a tag",
            );
        }
        if spelled.split_whitespace().any(|word| word == "_Complex")
            && self.program.language() == Language::Cxx
        {
            return self.refuse(
                capture,
                "complex types of C have no counterpart in device code",
                "use `std::complex`",
            );
        }
        if spelled.split_whitespace().any(|word| word == "auto") {
            return self.refuse(
                capture,
                "its type is `auto` and its initializer does not say which",
                "write the type",
            );
        }
        if types.may_have_members(ty) && namer::CUDA_VARIABLES.contains(&name.as_str()) {
            return self.refuse(
                capture,
                "CUDA has an object of this name with members in device code",
                "rename the variable",
            );
        }
        let pointee = match types.get(types.desugar(ty)).kind {
            TypeKind::Pointer(to) => to,
            _ => ty,
        };
        if types.is_variably_modified(types.innermost_element(pointee)) {
            return self.refuse(
                capture,
                "it holds pointers to arrays whose extents are known at run time",
                "assign the one that the region needs to a variable",
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
                self.prologue.push(match self.is_of_team(object, region) {
                    true => Prologue::SharedPrivate { name, ty },
                    false => Prologue::Private { name, ty },
                });
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
            Transport::ByCategory | Transport::CopyByCategory
                if self.is_accumulated(object, region) =>
            {
                let slot = namer::slot_of(&name);
                self.parameters.push(Parameter {
                    object,
                    name: slot.clone(),
                    ty: ParameterType::Slot,
                });
                self.prologue.push(Prologue::CapturedPlace {
                    name: argument,
                    ty,
                    parameter: slot,
                });
            }
            Transport::ByCategory | Transport::CopyByCategory => {
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::Slot,
                });
                let is_firstprivate = capture.transport == Transport::CopyByCategory;
                let variable = object.variable();
                if variable.is_some_and(|it| self.program.packs.contains_key(&it)) {
                    self.prologue.push(Prologue::Pack {
                        name,
                        ty,
                        parameter: argument,
                    });
                    return;
                }
                let line = Prologue::Captured {
                    name,
                    ty,
                    parameter: argument,
                    is_firstprivate,
                };
                // Other captures may be references to what is aligned already.
                let alignment = self.alignment(object, region).filter(|_| is_firstprivate);
                self.prologue.push(match alignment {
                    Some(value) => Prologue::Aligned {
                        value,
                        line: Box::new(line),
                    },
                    None => line,
                });
            }
            Transport::Copy => {
                let element = types.innermost_element(ty);
                self.parameters.push(Parameter {
                    object,
                    name: argument.clone(),
                    ty: ParameterType::PointerTo(element),
                });
                // The host has sent the bytes; a constructor of the user's makes a copy of them, and so does an alignment that
                // the bytes do not have.
                let is_one_object =
                    self.is_of_league(capture, region) && !self.is_copied_inside(object, region);
                let stays = !self.program.has_copy_constructor(ty)
                    && !self.is_over_aligned(object, region, ty)
                    && (!capture.may_be_written || is_one_object);
                let line = match stays {
                    true => self.over_storage(name, ty, argument),
                    false => {
                        Prologue::copy_behind(name, ty, argument, self.is_of_team(object, region))
                    }
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
                let line = match is_copied {
                    true => {
                        Prologue::copy_behind(name, ty, argument, self.is_of_team(object, region))
                    }
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
    pub(super) fn unpack(&mut self, first: usize, ty: ParameterType) {
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
                        let is_stored = self.planner.is_stored(self.program.name(symbol));
                        is_stored
                            && construct.nest.is_some()
                            && matches!(self.shape, Shape::Loop | Shape::Team)
                    }
                    _ => false,
                }
        })
    }

    /// The variables of the user's own loops, where nothing else declares them.
    pub(super) fn declare_loop_variables(&mut self, nest: &LoopNest) {
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

    /// Whether a construct inside `target` has a `firstprivate` copy of a variable that `target` maps.
    fn is_copied_inside(&self, object: CapturedObject, region: RegionId) -> bool {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        construct.sharing.iter().any(|sharing| {
            object == CapturedObject::Variable(sharing.symbol)
                && sharing.attribute == SharingAttribute::Firstprivate
                && !sharing.is_on_target
        })
    }

    /// The alignment that a construct or the variable's declaration asks for its copies.
    fn alignment(&self, object: CapturedObject, region: RegionId) -> Option<TextRange> {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        let symbol = object.variable()?;
        let mut asked = construct.alignments.iter();
        let asked = asked.find(|asked| asked.symbol == symbol);
        asked
            .map(|asked| asked.value)
            .or_else(|| self.program.own_alignment(symbol))
    }

    /// Whether copies of a variable need more than the alignment of the bytes of a launch.
    fn is_over_aligned(&self, object: CapturedObject, region: RegionId, ty: TypeId) -> bool {
        let construct = &self.program.constructs[self.program.regions[region].construct];
        let CapturedObject::Variable(symbol) = object else {
            return false;
        };
        let mut asked = construct.alignments.iter();
        asked.any(|asked| asked.symbol == symbol) || self.program.is_over_aligned(symbol, ty)
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

    fn refuse(&mut self, capture: &Capture, why: &str, help: &str) {
        let name = rex_ir::print::object_name(self.program, capture.object);
        let diagnostic = Diagnostic::new(
            Code::UnsupportedCapture,
            self.program.at(capture.at),
            format!("`{name}` cannot be captured by this region"),
        )
        .with_note(why)
        .with_help(help);
        self.planner.errors.push(diagnostic);
    }
}

/// Whether the threads of a loop take turns at the one copy that their team has of a variable.
pub(super) fn is_shared_by_threads(program: &Program, region: RegionId, symbol: SymbolId) -> bool {
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
