//! List items as pieces: paths with expressions for operands, after iterators and mappers are written out.

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::map::{
    MapItem, MapIterator, MapKind, MapLoop, MapModifiers, Mapper, PathStep, StepKind,
};
use rex_ir::region::CapturedObject;
use rex_ir::symbol::SymbolKind;
use rex_ir::ty::{Extent, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::operands::Meaning;

/// One object to map.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) root: CapturedObject,
    pub(super) root_ty: TypeId,
    /// From the root to the object.
    pub(super) steps: Vec<Step>,
    pub(super) kind: MapKind,
    pub(super) modifiers: MapModifiers,
    /// No clause names it.
    pub(super) is_implicit: bool,
    /// Storage only: other pieces are the members of it.
    pub(super) is_span: bool,
    /// The loops it stands in, outermost first, each with the number of steps before the first that depends on it.
    pub(super) loops: Vec<(usize, usize)>,
    /// The user's words.
    pub(super) name: SmolStr,
    /// Where they stand.
    pub(super) at: TextRange,
}

/// A step of a piece's path, with the type it arrives at.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: StepValue,
    pub(super) ty: TypeId,
    pub(super) follows_pointer: bool,
}

#[derive(Clone, Debug)]
pub(super) enum StepValue {
    Member(SmolStr),
    Deref,
    Shape(TypeId),
    Index(Expr),
    Section(Section),
}

/// An array section.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) lower: Expr,
    pub(super) length: Option<Expr>,
    pub(super) stride: Option<Expr>,
}

impl Piece {
    /// The type of the object the path names; of one element, for a section.
    pub(super) fn ty(&self) -> TypeId {
        self.steps.last().map_or(self.root_ty, |step| step.ty)
    }

    /// The loops that the first `n_steps` steps depend on.
    pub(super) fn loops_before(&self, n_steps: usize) -> Vec<usize> {
        self.loops
            .iter()
            .filter(|(first, _)| *first < n_steps)
            .map(|(_, id)| *id)
            .collect()
    }

    /// All its loops.
    pub(super) fn all_loops(&self) -> Vec<usize> {
        self.loops.iter().map(|(_, id)| *id).collect()
    }

    pub(super) fn ends_in_section(&self) -> bool {
        matches!(
            self.steps.last().map(|step| &step.kind),
            Some(StepValue::Section(_))
        )
    }
}

/// How many pieces the items of a directive may become.
const MAX_PIECES: usize = 4096;

/// How many steps the path of a piece may have that mappers make.
const MAX_STEPS: usize = 256;

impl Builder<'_> {
    /// The pieces of some items.
    pub(super) fn pieces(&mut self, items: &[&MapItem]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for item in items {
            let loops = self.iterator_loops(&item.iterators, Meaning::Iterated);
            let meaning = if loops.is_empty() {
                Meaning::Plain
            } else {
                Meaning::Iterated
            };
            let steps = self.steps(&item.steps, meaning);
            let piece = Piece {
                root: item.root,
                root_ty: item.root_ty,
                steps,
                kind: item.kind,
                modifiers: item.modifiers,
                is_implicit: false,
                is_span: false,
                loops: loops.into_iter().map(|id| (0, id)).collect(),
                name: self.words(item.at),
                at: item.at,
            };
            let mapper = self.mapper_of(item, piece.ty(), item.at);
            self.expand(piece, mapper, &mut Vec::new(), &mut pieces);
        }
        pieces
    }

    /// The pieces of a variable that no clause names.
    pub(super) fn implicit_pieces(&mut self, whole: Piece) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mapper = self.default_mapper(whole.ty(), whole.at);
        self.expand(whole, mapper, &mut Vec::new(), &mut pieces);
        pieces
    }

    fn words(&self, range: TextRange) -> SmolStr {
        let words: Vec<&str> = self.program.text(range).split_whitespace().collect();
        words.join(" ").into()
    }

    fn iterator_loops(&mut self, iterators: &[MapIterator], meaning: Meaning<'_>) -> Vec<usize> {
        iterators
            .iter()
            .map(|iterator| {
                let wanted = MapLoop::Iterator {
                    ty: iterator.ty.clone(),
                    name: iterator.name.clone(),
                    begin: self.value(iterator.begin, meaning),
                    end: self.value(iterator.end, meaning),
                    step: iterator.step.map(|step| self.value(step, meaning)),
                };
                let known = self.arrays.loops.iter().position(|found| *found == wanted);
                known.unwrap_or_else(|| {
                    self.arrays.loops.push(wanted);
                    self.arrays.loops.len() - 1
                })
            })
            .collect()
    }

    fn steps(&mut self, steps: &[PathStep], meaning: Meaning<'_>) -> Vec<Step> {
        steps
            .iter()
            .map(|step| Step {
                kind: match &step.kind {
                    StepKind::Member(name) => StepValue::Member(name.clone()),
                    StepKind::Deref => StepValue::Deref,
                    StepKind::Shape(pointer) => StepValue::Shape(*pointer),
                    StepKind::Index(index) => StepValue::Index(self.value(*index, meaning)),
                    StepKind::Section(section) => StepValue::Section(Section {
                        lower: section
                            .lower
                            .map_or(Expr::Int(0), |lower| self.value(lower, meaning)),
                        length: section.length.map(|length| self.value(length, meaning)),
                        stride: section.stride.map(|stride| self.value(stride, meaning)),
                    }),
                },
                ty: step.ty,
                follows_pointer: step.follows_pointer,
            })
            .collect()
    }

    /// The mapper that maps an item: the one its modifier names, or the default one of its type.
    fn mapper_of(&mut self, item: &MapItem, ty: TypeId, at: TextRange) -> Option<usize> {
        if !moves(item.kind) {
            return None;
        }
        let Some(wanted) = &item.mapper else {
            return self.default_mapper(ty, at);
        };
        let element = self.program.types.innermost_element(ty);
        let found = self.program.mapper(wanted.name.as_ref(), element, at);
        let found = self.decided(found, element, at);
        if let (None, Some(name)) = (found, &wanted.name) {
            let spelled = self.program.types.spell(element);
            let diagnostic = Diagnostic::new(
                Code::UnknownMapper,
                self.program.at(wanted.at),
                format!("no mapper `{name}` for `{spelled}` is visible here"),
            )
            .with_help(format!(
                "declare it before: `#pragma omp declare mapper({name} : {spelled} v) map(v)`"
            ));
            self.problems.push(diagnostic);
        }
        found
    }

    /// The default mapper for objects of a type, or for the elements of arrays of them.
    pub(super) fn default_mapper(&mut self, ty: TypeId, at: TextRange) -> Option<usize> {
        let found = self.program.default_mapper(ty, at);
        self.decided(found, ty, at)
    }

    /// The mapper that was found; one of two that a template's arguments choose from is reported.
    fn decided(
        &mut self,
        found: Result<Option<usize>, [usize; 2]>,
        ty: TypeId,
        at: TextRange,
    ) -> Option<usize> {
        let [one, other] = match found {
            Ok(found) => return found,
            Err(candidates) => candidates,
        };
        let program = self.program;
        let class = program.types.spell(program.types.innermost_element(ty));
        let place = |idx: usize| program.at(program.mappers[idx].at);
        let diagnostic = Diagnostic::new(
            Code::DuplicateMapper,
            program.at(at),
            format!("the arguments of `{class}` decide which mapper is meant, and rex does not know them here"),
        )
        .with_secondary(place(one.min(other)), "it may be this one")
        .with_secondary(place(one.max(other)), "or this one")
        .with_help("list the members in the clause, or name a mapper: `map(mapper(name), tofrom: x)`");
        self.problems.push(diagnostic);
        None
    }

    /// Writes out the mapper of a piece, and the mappers of what that maps.
    pub(super) fn expand(
        &mut self,
        piece: Piece,
        mapper: Option<usize>,
        inside: &mut Vec<usize>,
        out: &mut Vec<Piece>,
    ) {
        // Structs of structs of structs have ever more members.
        if out.len() >= MAX_PIECES {
            let size = format!("make more than {MAX_PIECES} parts of this list item");
            self.report_size(&piece, &size);
            return;
        }
        if piece.steps.len() > MAX_STEPS {
            let size = format!("go more than {MAX_STEPS} members deep into this list item");
            self.report_size(&piece, &size);
            return;
        }
        let Some(idx) = mapper else {
            match self.mapped_members(&piece) {
                Some(members) if moves(piece.kind) => {
                    self.expand_members(piece, members, inside, out)
                }
                _ => out.push(piece),
            }
            return;
        };
        let program = self.program;
        let mapper = &program.mappers[idx];
        inside.push(idx);
        let element = self.element(piece, out);
        let (object, _) = self.path(&element);
        let variable = program.name(mapper.variable);
        for item in &mapper.items {
            if item.root != CapturedObject::Variable(mapper.variable) {
                // A variable of the file that the mapper maps along: mapped as if the clause named it.
                let meaning = Meaning::Mapped {
                    name: variable,
                    value: &object,
                };
                let steps = self.steps(&item.steps, meaning);
                let piece = Piece {
                    root: item.root,
                    root_ty: item.root_ty,
                    steps,
                    ..self.inner_piece(&element, item)
                };
                out.push(piece);
                continue;
            }
            let meaning = Meaning::Mapped {
                name: variable,
                value: &object,
            };
            let iterators = self.iterator_loops(&item.iterators, meaning);
            let steps = self.steps(&item.steps, meaning);
            let mut inner = self.inner_piece(&element, item);
            inner.name = self.mapped_words(&element.name, item.at, variable);
            inner
                .loops
                .extend(iterators.into_iter().map(|id| (inner.steps.len(), id)));
            inner.steps.extend(steps);
            if item.steps.is_empty() {
                out.push(inner);
            } else if self.is_inside(inner.ty(), inside) {
                self.report_cycle(mapper, &inner);
            } else {
                let nested = self.mapper_of(item, inner.ty(), item.at);
                self.expand(inner, nested, inside, out);
            }
        }
        inside.pop();
    }

    /// Whether a mapper that is being written out maps objects of this type.
    fn is_inside(&self, ty: TypeId, inside: &[usize]) -> bool {
        let types = &self.program.types;
        let element = types.innermost_element(ty);
        inside
            .iter()
            .any(|idx| types.is_same_object(self.program.mappers[*idx].ty, element))
    }

    /// What an item of a mapper inherits from the object that is mapped.
    fn inner_piece(&self, element: &Piece, item: &MapItem) -> Piece {
        Piece {
            kind: decay(element.kind, item.kind),
            modifiers: element.modifiers | item.modifiers,
            ..element.clone()
        }
    }

    /// One element of a piece that is a section or an array; several elements are gone through by loops, and get storage in one piece.
    pub(super) fn element(&mut self, mut piece: Piece, out: &mut Vec<Piece>) -> Piece {
        let whole = piece.clone();
        let mut object = self.object(piece.root);
        let mut container = piece.root_ty;
        let mut steps = Vec::new();
        let mut loops = piece.loops.clone();
        let n_loops = loops.len();
        for step in std::mem::take(&mut piece.steps) {
            let StepValue::Section(section) = &step.kind else {
                object = self.apply(object, &step.kind);
                container = step.ty;
                steps.push(step);
                continue;
            };
            let count = self.section_count(section, container, &object);
            let index = if count == Expr::Int(1) {
                section.lower.clone()
            } else {
                let turn = self.count_loop(count, steps.len(), &mut loops);
                let turn = match &section.stride {
                    Some(stride) => turn.binary(BinaryOp::Mul, stride.clone()),
                    None => turn,
                };
                section.lower.clone().binary(BinaryOp::Add, turn)
            };
            let kind = StepValue::Index(index);
            object = self.apply(object, &kind);
            container = step.ty;
            steps.push(Step { kind, ..step });
        }
        while let TypeKind::Array { element, extent } = self.kind_of(container) {
            let count = self.extent_count(extent, *element, &object);
            let turn = self.count_loop(count, steps.len(), &mut loops);
            let kind = StepValue::Index(turn);
            object = self.apply(object, &kind);
            container = *element;
            steps.push(Step {
                kind,
                ty: *element,
                follows_pointer: false,
            });
        }
        if loops.len() > n_loops {
            out.push(Piece {
                is_span: true,
                ..whole
            });
        }
        Piece {
            steps,
            loops,
            ..piece
        }
    }

    fn count_loop(&mut self, count: Expr, n_steps: usize, loops: &mut Vec<(usize, usize)>) -> Expr {
        let id = self.arrays.loops.len();
        let name = format_smolstr!("rex_i{id}");
        self.arrays.loops.push(MapLoop::Count {
            name: name.clone(),
            count,
        });
        loops.push((n_steps, id));
        Expr::Name(name)
    }

    /// Number of elements in a dimension of a variable's array, or of the array that it points to.
    pub(super) fn extent(&self, variable: rex_ir::symbol::SymbolId, dimension: u8) -> Expr {
        let symbol = &self.program.symbols[variable];
        let levels = u8::from(self.is_pointer(symbol.ty)) + dimension;
        let name = match symbol.kind {
            SymbolKind::Type => Expr::Words(format_smolstr!("(*({} *)0)", symbol.name)),
            _ => Expr::Name(symbol.qualified_name()),
        };
        let array = (0..levels).fold(name, |object, _| object.index(Expr::Int(0)));
        self.extent_count(&Extent::Unknown, symbol.ty, &array)
    }

    /// Number of elements of an array dimension.
    pub(super) fn extent_count(&self, extent: &Extent, _element: TypeId, whole: &Expr) -> Expr {
        match extent {
            Extent::Constant(text) => match text.trim().parse() {
                Ok(value) => Expr::Int(value),
                Err(_) => Expr::Words(text.clone()),
            },
            Extent::Runtime(_) | Extent::Unknown => {
                let first = whole.clone().index(Expr::Int(0));
                whole
                    .clone()
                    .size_of()
                    .binary(BinaryOp::Div, first.size_of())
            }
        }
    }

    /// The user's words for an item of a mapper: the object's in place of the variable's.
    fn mapped_words(&self, object: &str, item: TextRange, variable: &str) -> SmolStr {
        let source = self.program.source();
        let mut text = String::new();
        let mut end = item.start();
        for at in rex_syntax::lex::identifiers(source, item) {
            if &source[at] == variable {
                text.push_str(&source[TextRange::new(end, at.start())]);
                text.push_str(object);
                end = at.end();
            }
        }
        text.push_str(&source[TextRange::new(end, item.end())]);
        text.split_whitespace().collect::<Vec<_>>().join(" ").into()
    }

    /// Reports a list item of which mappers make too much.
    fn report_size(&mut self, piece: &Piece, size: &str) {
        let at = self.program.at(piece.at);
        let diagnostic = Diagnostic::new(Code::MapListItem, at, format!("mappers {size}"))
            .with_help("map arrays of the inner structs, or what is needed of them");
        if !self.problems.contains(&diagnostic) {
            self.problems.push(diagnostic);
        }
    }

    fn report_cycle(&mut self, mapper: &Mapper, piece: &Piece) {
        let spelled = self.program.types.spell(mapper.ty);
        let diagnostic = Diagnostic::new(
            Code::MapperCycle,
            self.program.at(mapper.at),
            format!("the mapper for `{spelled}` maps further objects without end"),
        )
        .with_secondary(self.program.at(piece.at), "asked for here")
        .with_help("map chains one object at a time, with `target enter data`");
        self.problems.push(diagnostic);
    }
}

/// Whether items of this kind are mapped or moved.
fn moves(kind: MapKind) -> bool {
    matches!(
        kind,
        MapKind::To
            | MapKind::From
            | MapKind::Tofrom
            | MapKind::Alloc
            | MapKind::Release
            | MapKind::Delete
    )
}

/// The map type of a mapper's item when the object is mapped with another type.
///
/// # Source
/// OpenMP 5.2, section 5.8.8, map-type decay.
fn decay(outer: MapKind, inner: MapKind) -> MapKind {
    match (outer, inner) {
        (MapKind::Release | MapKind::Delete, _) => outer,
        (MapKind::Tofrom, _) => inner,
        (MapKind::To, MapKind::To | MapKind::Tofrom) => MapKind::To,
        (MapKind::From, MapKind::From | MapKind::Tofrom) => MapKind::From,
        _ => MapKind::Alloc,
    }
}
