//! List items of data clauses, with a type for every step.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::{Clause, ClauseName, Locator, Path, Step};
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Builder;
use super::names::last_component;
use crate::abi::Requirements;
use crate::map::{MapItem, MapKind, MapModifiers, MapperName, PathStep, StepKind};
use crate::namer;
use crate::region::CapturedObject;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Extent, Meaning, TypeId, TypeKind};

impl<'u> Builder<'u> {
    /// All items of the data clauses of one directive, in clause order.
    pub(super) fn read_map_clauses(&mut self, clauses: &[Clause]) -> Vec<MapItem> {
        let mut items = Vec::new();
        for clause in clauses {
            let kind = match clause.name {
                ClauseName::Map => MapKind::Tofrom,
                ClauseName::To => MapKind::To,
                ClauseName::From => MapKind::From,
                ClauseName::IsDevicePtr => MapKind::IsDevicePtr,
                ClauseName::HasDeviceAddr => MapKind::HasDeviceAddr,
                ClauseName::UseDevicePtr => MapKind::UseDevicePtr,
                ClauseName::UseDeviceAddr => MapKind::UseDeviceAddr,
                _ => continue,
            };
            self.read_map_clause(clause, kind, &mut items);
        }
        items
    }

    fn read_map_clause(&mut self, clause: &Clause, mut kind: MapKind, items: &mut Vec<MapItem>) {
        let mut modifiers = MapModifiers::empty();
        let mut mapper = None;
        let mut iterators = Vec::new();
        for modifier in clause.modifiers() {
            let word = self.text(modifier.word).to_ascii_lowercase();
            match word.as_str() {
                "to" => kind = MapKind::To,
                "from" => kind = MapKind::From,
                "tofrom" => kind = MapKind::Tofrom,
                "alloc" | "storage" => kind = MapKind::Alloc,
                "release" => kind = MapKind::Release,
                "delete" => kind = MapKind::Delete,
                "always" => modifiers |= MapModifiers::ALWAYS,
                "close" => modifiers |= MapModifiers::CLOSE,
                "present" => modifiers |= MapModifiers::PRESENT,
                "ompx_hold" => modifiers |= MapModifiers::HOLD,
                "mapper" => {
                    let name = modifier
                        .argument
                        .map_or("", |argument| self.text(argument))
                        .trim();
                    mapper = Some(MapperName {
                        name: Some(name.split_whitespace().collect::<SmolStr>())
                            .filter(|name| name != "default"),
                        at: modifier.range,
                    });
                }
                "iterator" => {
                    let Some(read) = modifier
                        .argument
                        .and_then(|argument| self.read_iterators(argument))
                    else {
                        return;
                    };
                    iterators.extend(read);
                }
                // The storage of shared memory is itself.
                "self"
                    if self
                        .requirements
                        .contains(Requirements::UNIFIED_SHARED_MEMORY) => {}
                // A mistake that has been reported.
                other if !clause.name.takes_word(other) => return,
                _ => {
                    let text = self.text(modifier.range).to_string();
                    self.report(
                        Code::UnsupportedClause,
                        modifier.range,
                        format!(
                            "the modifier `{text}` is not supported on `{}`",
                            clause.name.spelling()
                        ),
                        "leave the modifier out",
                    );
                    return;
                }
            }
        }
        for item in clause.items() {
            let read = match &item.locator {
                Locator::Path(path) => {
                    let known = std::mem::take(&mut self.diagnostics);
                    let read = self.read_path(path, item.range);
                    let found = std::mem::replace(&mut self.diagnostics, known);
                    // `*(i + p)`: the name that stands first is no pointer.
                    let is_sum = self.text(item.range).starts_with('*')
                        && found.iter().any(|it| it.code == Code::MapListItem);
                    match read {
                        None if is_sum => self.read_lvalue(item.range, None, clause, kind),
                        read => {
                            self.diagnostics.extend(found);
                            read
                        }
                    }
                }
                Locator::Expression(range) => self.read_lvalue(*range, None, clause, kind),
                Locator::SectionOf(range, section) => {
                    self.read_lvalue(*range, Some(section), clause, kind)
                }
            };
            if let Some((mut root, mut root_ty, mut steps)) = read {
                if kind.is_about_addresses()
                    && root == CapturedObject::This
                    && let Some(member) = self.member_as_variable(&mut steps)
                {
                    (root, root_ty) = member;
                }
                self.check_contiguous(clause, item.range, &steps);
                items.push(MapItem {
                    at: item.range,
                    kind,
                    modifiers,
                    mapper: mapper.clone(),
                    iterators: iterators.clone(),
                    root,
                    root_ty,
                    steps,
                });
            }
        }
    }

    /// The path of an item that a reduction or another clause names.
    pub(super) fn read_item_path(
        &mut self,
        locator: &Locator,
        at: TextRange,
    ) -> Option<(CapturedObject, TypeId, Vec<PathStep>)> {
        match locator {
            Locator::Path(path) => self.read_path(path, at),
            Locator::Expression(_) | Locator::SectionOf(..) => None,
        }
    }

    fn read_path(
        &mut self,
        path: &Path,
        at: TextRange,
    ) -> Option<(CapturedObject, TypeId, Vec<PathStep>)> {
        let name = self.text(path.root);
        let mut steps = Vec::new();
        let (root, root_ty, mut ty) = if name == "this" && self.unit.language == Language::Cxx {
            let class = self.this_type(path.root)?;
            let pointer = self.types.plain(TypeKind::Pointer(class));
            (CapturedObject::This, pointer, pointer)
        } else {
            let symbol = self.resolve_root(path.root);
            match symbol.map(|id| (id, self.symbols[id].kind)) {
                Some((id, kind)) if kind.is_variable() => {
                    let ty = match path.steps.first().is_some_and(takes_element) {
                        true => self.type_with_elements(id),
                        false => self.symbols[id].ty,
                    };
                    (CapturedObject::Variable(id), ty, ty)
                }
                Some((id, SymbolKind::Field)) => {
                    let class = self.this_type(path.root)?;
                    let pointer = self.types.plain(TypeKind::Pointer(class));
                    // A member of a base is of the type that this class gives it.
                    let ty = match last_component(name) == name {
                        true => self.member_type(class, name),
                        false => None,
                    };
                    let ty = ty.unwrap_or(self.symbols[id].ty);
                    steps.push(PathStep {
                        kind: StepKind::Deref,
                        ty: class,
                        follows_pointer: true,
                    });
                    steps.push(PathStep {
                        kind: StepKind::Member(self.member_name(id, path.root)),
                        ty,
                        follows_pointer: false,
                    });
                    (CapturedObject::This, pointer, ty)
                }
                _ => {
                    let diagnostic = Diagnostic::new(
                        Code::MapOfUnknownVariable,
                        self.at(path.root),
                        format!("`{name}` is not a variable that is visible here"),
                    )
                    .with_help("declare it before this directive, or correct the name");
                    self.diagnostics.push(diagnostic);
                    return None;
                }
            }
        };
        for step in &path.steps {
            if takes_element(step) {
                ty = self.with_elements(ty);
                if let Some(last) = steps.last_mut() {
                    last.ty = ty;
                }
            }
            ty = self.read_step(step, ty, at, path.root, &mut steps)?;
        }
        Some((root, root_ty, steps))
    }

    /// The type of a variable whose elements or target an item names. `auto p` whose type only the compiler knows is a pointer then.
    fn type_with_elements(&mut self, symbol: SymbolId) -> TypeId {
        let found = &self.symbols[symbol];
        let is_deduced = matches!(
            self.types.get(self.types.object_type(found.ty)).kind,
            TypeKind::Named {
                meaning: Meaning::Auto,
                ..
            }
        );
        if !is_deduced || self.unit.language != Language::Cxx {
            return self.with_elements(found.ty);
        }
        let element = format!("{}_element", namer::deduced_type(&found.name));
        let element = self.types.named(element, Meaning::Dependent);
        self.types.plain(TypeKind::Pointer(element))
    }

    fn read_step(
        &mut self,
        step: &Step,
        ty: TypeId,
        at: TextRange,
        root: TextRange,
        steps: &mut Vec<PathStep>,
    ) -> Option<TypeId> {
        let is_pointer = matches!(
            self.types.get(self.types.object_type(ty)).kind,
            TypeKind::Pointer(_)
        );
        let element = self.types.element(ty);
        let (kind, next, follows_pointer) = match step {
            Step::Member(name) => {
                let text = self.text(*name);
                let found = self
                    .member_seen_at(root, ty, text)
                    .or_else(|| self.member_of_classes(ty, text, root))
                    .or_else(|| self.dependent_member(ty, *name))
                    .or_else(|| self.unknown_member(*name, ty))?;
                self.check_address(*name, ty, at)?;
                (StepKind::Member(text.into()), found, false)
            }
            Step::Arrow(name) => {
                let pointee = element.or_else(|| self.not_a_pointer(at, ty))?;
                steps.push(PathStep {
                    kind: StepKind::Deref,
                    ty: pointee,
                    follows_pointer: is_pointer,
                });
                let text = self.text(*name);
                let found = self
                    .member_seen_at(root, pointee, text)
                    .or_else(|| self.member_of_classes(pointee, text, root))
                    .or_else(|| self.dependent_member(pointee, *name))
                    .or_else(|| self.unknown_member(*name, pointee))?;
                self.check_address(*name, pointee, at)?;
                (StepKind::Member(text.into()), found, false)
            }
            Step::Deref => {
                let pointee = element.or_else(|| self.not_a_pointer(at, ty))?;
                (StepKind::Deref, pointee, is_pointer)
            }
            Step::Shape(extents) => {
                let mut array = element.or_else(|| self.not_a_pointer(at, ty))?;
                for extent in extents.iter().rev() {
                    let words = SmolStr::from(self.text(*extent).trim());
                    let extent = match self.constant_value(*extent) {
                        Some(_) => Extent::Constant(words),
                        None => Extent::Runtime(words),
                    };
                    array = self.types.plain(TypeKind::Array {
                        element: array,
                        extent,
                    });
                }
                let pointer = self.types.plain(TypeKind::Pointer(array));
                (StepKind::Shape(pointer), array, is_pointer)
            }
            Step::Index(index) => {
                let element = element.or_else(|| self.not_a_pointer(at, ty))?;
                (StepKind::Index(*index), element, is_pointer)
            }
            Step::Section(section) => {
                let element = element.or_else(|| self.not_a_pointer(at, ty))?;
                (StepKind::Section(section.clone()), element, is_pointer)
            }
        };
        steps.push(PathStep {
            kind,
            ty: next,
            follows_pointer,
        });
        Some(next)
    }

    fn unknown_member(&mut self, name: TextRange, class: TypeId) -> Option<TypeId> {
        let text = self.text(name).to_string();
        let class = self.types.spell(class);
        let diagnostic = Diagnostic::new(
            Code::UnknownType,
            self.at(name),
            format!("the type of member `{text}` is not known"),
        )
        .with_note(format!(
            "no definition of `{class}` with this member is visible to rex"
        ))
        .with_help("map the member through a local pointer or reference whose type is written out");
        self.diagnostics.push(diagnostic);
        None
    }

    /// Nothing if the member is a bit-field.
    fn check_address(&mut self, name: TextRange, class: TypeId, at: TextRange) -> Option<()> {
        let member = self.text(name);
        let is_bit_field = self.types.record(class).is_some_and(|record| {
            let fields = &self.types.records[record].fields;
            fields
                .iter()
                .any(|field| field.name == member && field.is_bit_field)
        });
        if !is_bit_field {
            return Some(());
        }
        let text = self.text(at).to_string();
        let class = self.types.spell(class);
        let diagnostic = Diagnostic::new(
            Code::MapListItem,
            self.at(at),
            format!("`{text}` is a bit-field, which has no address"),
        )
        .with_help(format!("map the whole `{class}`"));
        self.diagnostics.push(diagnostic);
        None
    }

    fn not_a_pointer(&mut self, at: TextRange, ty: TypeId) -> Option<TypeId> {
        let text = self.text(at).to_string();
        let spelled = self.types.spell(ty);
        let diagnostic = Diagnostic::new(
            Code::MapListItem,
            self.at(at),
            format!(
                "`{text}` takes an element of something that is neither an array nor a pointer"
            ),
        )
        .with_note(format!("its type is `{spelled}`"))
        .with_help("leave the brackets out, or name an array or a pointer before them");
        self.diagnostics.push(diagnostic);
        None
    }

    /// Whether a member function is around a place.
    pub(super) fn has_this(&self, at: TextRange) -> bool {
        let mut around = self.function_index.at(at);
        around.any(|id| self.functions[id].class.is_some())
    }

    /// The class whose member function surrounds a place.
    pub(super) fn this_type(&mut self, at: TextRange) -> Option<TypeId> {
        let class = self
            .function_index
            .at(at)
            .find_map(|id| self.functions[id].class.clone())?;
        Some(self.named_type(&class, at))
    }
}

/// Whether a step goes through a pointer or into an array.
fn takes_element(step: &Step) -> bool {
    !matches!(step, Step::Member(_))
}
