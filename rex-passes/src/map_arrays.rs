//! `map-arrays`: what the runtime is told about every object a construct maps.
//!
//! For each root variable the items form a tree of storage blocks: the variable's own storage, and behind each pointer member another block. A block with one member is one entry; a block
//! with several is a combined entry that spans them, followed by its members; a block behind a pointer is attached to that pointer (`PTR_AND_OBJ`).
//!
//! # Invariants
//! Entries that are kernel parameters stand in the order of the region's captures.

use rex_ir::abi::MapFlags;
use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::facet::Facet;
use rex_ir::map::{
    MapArrays, MapEntry, MapItem, MapKind, MapModifiers, MapOwner, PathStep, Repeat, StepKind,
    Temporary, TemporaryValue,
};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{
    Capture, CapturedObject, DataConstructId, DataConstructKind, DefaultmapBehavior,
    DefaultmapCategory, RegionId, Transport,
};
use rex_ir::ty::{Category, Extent, TypeId, TypeKind};
use rex_syntax::TextRange;
use smol_str::{SmolStr, format_smolstr};

use crate::pass::{Outcome, Pass, PassCx, PassInfo};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct BuildMapArrays;

static INFO: PassInfo = PassInfo {
    name: "map-arrays",
    summary: "map arrays of launches and data constructs",
    reads: Facet::TYPES
        .union(Facet::REGIONS)
        .union(Facet::CAPTURES)
        .union(Facet::DEVICE_CODE),
    writes: Facet::MAP_ARRAYS,
    after: &[],
};

impl Pass for BuildMapArrays {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let mut arrays = Vec::new();
        let program = &*cx.program;
        for (id, _) in program.regions.iter() {
            arrays.push(launch_arrays(program, id));
        }
        for (id, _) in program.data_constructs.iter() {
            arrays.push(data_arrays(program, id));
        }
        let before: Vec<MapArrays> = program
            .map_arrays
            .iter()
            .map(|(_, arrays)| arrays.clone())
            .collect();
        let changed = before != arrays;
        cx.program.map_arrays = arrays.into_iter().collect();
        Outcome { changed }
    }
}

fn launch_arrays(program: &Program, id: RegionId) -> MapArrays {
    let region = &program.regions[id];
    let mut builder = Builder::new(program, MapOwner::Launch(id));
    for capture in &region.captures {
        builder.capture(capture, &region.maps, &region.defaultmaps);
    }
    // Variables of the device that a clause names: mapped (their reference count is what `always` and `present` act on), but no parameters.
    for item in &region.maps {
        let CapturedObject::Variable(symbol) = item.root else {
            continue;
        };
        if !region
            .captures
            .iter()
            .any(|capture| capture.object == item.root)
            && program.declare_target.contains_key(&symbol)
        {
            builder.items(item.root, &[item], MapFlags::empty());
        }
    }
    builder.arrays
}

fn data_arrays(program: &Program, id: DataConstructId) -> MapArrays {
    let data = &program.data_constructs[id];
    let mut builder = Builder::new(program, MapOwner::Data(id));
    let mut roots: Vec<CapturedObject> = Vec::new();
    for item in &data.maps {
        if !roots.contains(&item.root) {
            roots.push(item.root);
        }
    }
    for root in roots {
        let mine: Vec<&MapItem> = data.maps.iter().filter(|item| item.root == root).collect();
        if data.kind == DataConstructKind::Update {
            // Each motion stands alone: no reference counts are touched.
            for item in mine {
                builder.motion(item);
            }
            continue;
        }
        let (device, mapped): (Vec<&MapItem>, Vec<&MapItem>) = mine
            .into_iter()
            .partition(|item| matches!(item.kind, MapKind::UseDevicePtr | MapKind::UseDeviceAddr));
        builder.items(root, &mapped, MapFlags::empty());
        for item in device {
            builder.use_device(item);
        }
    }
    builder.arrays
}

/// A contiguous piece of storage reached from one base address.
#[derive(Default)]
struct Block<'m> {
    /// Objects inside the block that are mapped.
    members: Vec<Member<'m>>,
    /// Blocks behind pointers that lie inside this block.
    pointees: Vec<Pointee<'m>>,
}

struct Member<'m> {
    /// The object: its first element for a section.
    object: Expr,
    size: Expr,
    /// Covers the whole root object.
    is_whole: bool,
    item: &'m MapItem,
}

struct Pointee<'m> {
    /// The pointer's lvalue.
    pointer: Expr,
    block: Block<'m>,
}

struct Builder<'p> {
    program: &'p Program,
    arrays: MapArrays,
}

impl<'p> Builder<'p> {
    fn new(program: &'p Program, owner: MapOwner) -> Builder<'p> {
        Builder {
            program,
            arrays: MapArrays {
                owner,
                temporaries: Vec::new(),
                entries: Vec::new(),
            },
        }
    }

    fn capture(
        &mut self,
        capture: &Capture,
        maps: &[MapItem],
        defaultmaps: &[(DefaultmapCategory, DefaultmapBehavior)],
    ) {
        let implicit = if capture.is_implicit {
            MapFlags::IMPLICIT
        } else {
            MapFlags::empty()
        };
        let name = self.object_name(capture.object);
        let object = self.object(capture.object);
        match &capture.transport {
            Transport::Private => {}
            Transport::Literal => {
                let flags = MapFlags::TARGET_PARAM | MapFlags::LITERAL | implicit;
                self.literal(&name, object, flags);
            }
            Transport::Copy => {
                let address = self.storage_address(object.clone(), capture.ty);
                self.push(MapEntry {
                    base: address.clone(),
                    begin: address,
                    size: object.size_of(),
                    flags: MapFlags::TARGET_PARAM | MapFlags::TO | MapFlags::PRIVATE | implicit,
                    member_of: None,
                    name,
                    device_address_of: None,
                    repeats: Vec::new(),
                });
            }
            Transport::DevicePointer => {
                self.literal(&name, object, MapFlags::TARGET_PARAM | MapFlags::LITERAL);
            }
            Transport::DeviceAddress => {
                let address = self.storage_address(object, capture.ty);
                self.push(MapEntry {
                    base: address.clone(),
                    begin: address,
                    size: Expr::Int(0),
                    flags: MapFlags::TARGET_PARAM | MapFlags::LITERAL,
                    member_of: None,
                    name,
                    device_address_of: None,
                    repeats: Vec::new(),
                });
            }
            Transport::Storage | Transport::Pointee => {
                let mine: Vec<&MapItem> = maps
                    .iter()
                    .filter(|item| item.root == capture.object)
                    .collect();
                if mine.is_empty() {
                    self.implicit(capture, name, object, implicit, defaultmaps);
                } else {
                    self.items(capture.object, &mine, MapFlags::TARGET_PARAM);
                }
            }
        }
    }

    /// A variable that no clause maps.
    fn implicit(
        &mut self,
        capture: &Capture,
        name: SmolStr,
        object: Expr,
        implicit: MapFlags,
        defaultmaps: &[(DefaultmapCategory, DefaultmapBehavior)],
    ) {
        let types = &self.program.types;
        let category = types.category(capture.ty);
        if capture.transport == Transport::Pointee {
            // The object of a member function is an aggregate; any other pointer is a zero-length section.
            let whole = capture.object == CapturedObject::This;
            let size = if whole {
                object.clone().deref().size_of()
            } else {
                Expr::Int(0)
            };
            let motion = if whole {
                MapFlags::TO | MapFlags::FROM
            } else {
                MapFlags::empty()
            };
            self.push(MapEntry {
                base: object.clone(),
                begin: object,
                size,
                flags: MapFlags::TARGET_PARAM | MapFlags::IMPLICIT | motion,
                member_of: None,
                name,
                device_address_of: None,
                repeats: Vec::new(),
            });
            return;
        }
        let wanted = match category {
            Category::Aggregate => DefaultmapCategory::Aggregate,
            Category::Pointer => DefaultmapCategory::Pointer,
            _ => DefaultmapCategory::Scalar,
        };
        let motion = match rex_ir::build::defaultmap_behavior(defaultmaps, wanted) {
            DefaultmapBehavior::Alloc => MapFlags::empty(),
            DefaultmapBehavior::To => MapFlags::TO,
            DefaultmapBehavior::From => MapFlags::FROM,
            DefaultmapBehavior::Present => MapFlags::PRESENT,
            DefaultmapBehavior::Tofrom
            | DefaultmapBehavior::Default
            | DefaultmapBehavior::Firstprivate
            | DefaultmapBehavior::Private
            | DefaultmapBehavior::None => MapFlags::TO | MapFlags::FROM,
        };
        let address = self.storage_address(object.clone(), capture.ty);
        self.push(MapEntry {
            base: address.clone(),
            begin: address,
            size: object.size_of(),
            flags: MapFlags::TARGET_PARAM | motion | implicit,
            member_of: None,
            name,
            device_address_of: None,
            repeats: Vec::new(),
        });
    }

    fn literal(&mut self, name: &SmolStr, object: Expr, flags: MapFlags) {
        let slot = namer::argument(name);
        self.arrays.temporaries.push(Temporary {
            name: slot.clone(),
            value: TemporaryValue::Literal(object.clone()),
        });
        self.push(MapEntry {
            base: Expr::Name(slot.clone()),
            begin: Expr::Name(slot),
            size: object.size_of(),
            flags,
            member_of: None,
            name: name.clone(),
            device_address_of: None,
            repeats: Vec::new(),
        });
    }

    fn push(&mut self, entry: MapEntry) -> usize {
        self.arrays.entries.push(entry);
        self.arrays.entries.len() - 1
    }

    fn object_name(&self, object: CapturedObject) -> SmolStr {
        match object {
            CapturedObject::Variable(symbol) => self.program.name(symbol).clone(),
            CapturedObject::This => SmolStr::new_static("this"),
        }
    }

    fn object(&self, object: CapturedObject) -> Expr {
        Expr::Name(match object {
            CapturedObject::Variable(symbol) => self.program.symbols[symbol].qualified_name(),
            CapturedObject::This => self.object_name(object),
        })
    }

    /// The address of a variable's storage; an array is its own address.
    fn storage_address(&self, object: Expr, ty: TypeId) -> Expr {
        match self
            .program
            .types
            .get(self.program.types.object_type(ty))
            .kind
        {
            TypeKind::Array { .. } => object,
            _ => object.address(),
        }
    }

    /// Entries for all items with one root.
    fn items(&mut self, root: CapturedObject, items: &[&MapItem], first: MapFlags) {
        let Some(any) = items.first() else { return };
        let root_is_pointer = matches!(
            self.program
                .types
                .get(self.program.types.object_type(any.root_ty))
                .kind,
            TypeKind::Pointer(_)
        );
        let mut storage = Block::default();
        let mut pointee = Block::default();
        for item in items {
            // `p[0:n]` of a pointer variable maps the pointee; the variable itself is only the way there.
            let through = item.steps.first().is_some_and(|step| step.follows_pointer);
            if root_is_pointer && through {
                self.place(&mut pointee, self.object(root), item, 0);
            } else {
                self.place(&mut storage, self.object(root), item, 0);
            }
        }
        let base = self.storage_address(self.object(root), any.root_ty);
        let has_storage = !storage.members.is_empty() || !storage.pointees.is_empty();
        let has_pointee = !pointee.members.is_empty() || !pointee.pointees.is_empty();
        if has_storage && has_pointee {
            // The pointer variable is mapped too: its pointee is attached to the mapped copy.
            storage.pointees.push(Pointee {
                pointer: self.object(root),
                block: pointee,
            });
            self.emit_block(storage, base, first, None, Some(any));
        } else if has_pointee {
            self.emit_block(pointee, self.object(root), first, None, Some(any));
        } else {
            self.emit_block(storage, base, first, None, Some(any));
        }
    }

    /// Puts an item into the tree: follows its path until the last pointer.
    fn place<'m>(&mut self, block: &mut Block<'m>, root: Expr, item: &'m MapItem, skip: usize) {
        let mut object = root;
        let mut current: &mut Block<'m> = block;
        let mut is_whole = true;
        for (idx, step) in item.steps.iter().enumerate() {
            if step.follows_pointer && idx > skip {
                // Everything up to here is the pointer's lvalue.
                let pointer = object.clone();
                let position = current
                    .pointees
                    .iter()
                    .position(|pointee| pointee.pointer == pointer);
                let position = position.unwrap_or_else(|| {
                    current.pointees.push(Pointee {
                        pointer,
                        block: Block::default(),
                    });
                    current.pointees.len() - 1
                });
                current = &mut current.pointees[position].block;
                is_whole = true;
            }
            is_whole &= matches!(step.kind, StepKind::Deref);
            object = self.apply(object, step);
        }
        let size = self.item_size(item, &object);
        current.members.push(Member {
            object,
            size,
            is_whole,
            item,
        });
    }

    fn apply(&mut self, object: Expr, step: &PathStep) -> Expr {
        match &step.kind {
            StepKind::Member(name) => match object {
                Expr::Deref(pointer) => Expr::Arrow(pointer, name.clone()),
                other => Expr::Member(Box::new(other), name.clone()),
            },
            StepKind::Deref => object.deref(),
            StepKind::Index(index) => object.index(self.value(*index)),
            StepKind::Section(section) => {
                let lower = section
                    .lower
                    .map_or(Expr::Int(0), |lower| self.value(lower));
                object.index(lower)
            }
        }
    }

    /// An operand, computed once if it is more than a name or a number.
    fn value(&mut self, range: TextRange) -> Expr {
        let text = self.program.text(range).trim();
        if let Ok(value) = text.parse() {
            return Expr::Int(value);
        }
        let is_plain = text.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '+' | '-' | '*' | '/' | '(' | ')')
        }) && !self.calls(range);
        if is_plain {
            return Expr::Source(range);
        }
        let value = TemporaryValue::Int64(Expr::Source(range));
        if let Some(known) = self
            .arrays
            .temporaries
            .iter()
            .find(|temporary| temporary.value == value)
        {
            return Expr::Name(known.name.clone());
        }
        let name = format_smolstr!("rex_value_{}", self.arrays.temporaries.len());
        self.arrays.temporaries.push(Temporary {
            name: name.clone(),
            value,
        });
        Expr::Name(name)
    }

    fn calls(&self, range: TextRange) -> bool {
        let text = self.program.text(range);
        let mut previous_is_word = false;
        for c in text.chars() {
            if c == '(' && previous_is_word {
                return true;
            }
            if !c.is_whitespace() {
                previous_is_word = c.is_ascii_alphanumeric() || c == '_';
            }
        }
        text.contains("++") || text.contains("--")
    }

    /// Bytes of an item: from the first to behind the last element of its sections.
    fn item_size(&mut self, item: &MapItem, object: &Expr) -> Expr {
        // Sections after the first lie within its elements: (n0 - 1) * sizeof e0 + (n1 - 1) * sizeof e1 + ... + n * sizeof e.
        let sections = self.section_lengths(item);
        let Some(last) = sections.len().checked_sub(1) else {
            return object.clone().size_of();
        };
        let mut size: Option<Expr> = None;
        for (idx, (count, element, _, stride)) in sections.into_iter().enumerate() {
            let steps = match (&stride, idx == last) {
                // (n - 1) * stride + 1 elements.
                (Some(stride), true) => count
                    .binary(BinaryOp::Sub, Expr::Int(1))
                    .binary(BinaryOp::Mul, stride.clone())
                    .binary(BinaryOp::Add, Expr::Int(1)),
                (Some(stride), false) => count
                    .binary(BinaryOp::Sub, Expr::Int(1))
                    .binary(BinaryOp::Mul, stride.clone()),
                (None, true) => count,
                (None, false) => count.binary(BinaryOp::Sub, Expr::Int(1)),
            };
            let bytes = steps.binary(BinaryOp::Mul, element.size_of());
            size = Some(match size {
                Some(sum) => sum.binary(BinaryOp::Add, bytes),
                None => bytes,
            });
        }
        size.unwrap_or_else(|| object.clone().size_of())
    }

    fn is_whole_dimension(
        &self,
        section: &rex_syntax::omp::clause::Section,
        length: &Expr,
        container: TypeId,
    ) -> bool {
        let from_zero = section
            .lower
            .is_none_or(|lower| self.program.text(lower).trim() == "0");
        let types = &self.program.types;
        let extent = match &types.get(types.object_type(container)).kind {
            TypeKind::Array {
                extent: Extent::Constant(text) | Extent::Runtime(text),
                ..
            } => text.clone(),
            _ => return false,
        };
        let same = match length {
            Expr::Int(value) => extent.trim() == value.to_string(),
            Expr::Source(range) => self.program.text(*range).trim() == extent.trim(),
            Expr::Words(words) => words.trim() == extent.trim(),
            _ => section.length.is_none(),
        };
        from_zero && (same || section.length.is_none()) && section.stride.is_none()
    }

    /// Prints a block: a single entry, or a combined one with members and attached pointees.
    fn emit_block(
        &mut self,
        block: Block<'_>,
        base: Expr,
        first: MapFlags,
        parent: Option<(usize, Expr)>,
        named_by: Option<&MapItem>,
    ) {
        let Block { members, pointees } = block;
        let attach = if parent.is_some() {
            MapFlags::PTR_AND_OBJ
        } else {
            MapFlags::empty()
        };
        let base = match &parent {
            Some((_, pointer)) => pointer.clone().address(),
            None => base,
        };
        let member_of = parent.as_ref().map(|(idx, _)| *idx);
        if let ([member], true) = (members.as_slice(), pointees.is_empty()) {
            let flags = self.item_flags(member.item) | first | attach;
            self.push(MapEntry {
                base,
                begin: self.begin(member),
                size: member.size.clone(),
                flags,
                member_of,
                name: self.item_name(member.item),
                device_address_of: None,
                repeats: Vec::new(),
            });
            return;
        }
        let name = named_by.map_or(SmolStr::default(), |item| self.object_name(item.root));
        let whole = members.iter().position(|member| member.is_whole);
        let (begin, size) = match whole {
            Some(idx) => (self.begin(&members[idx]), members[idx].size.clone()),
            None => self.span(&members, &pointees),
        };
        let combined = self.push(MapEntry {
            base: base.clone(),
            begin,
            size,
            flags: first | attach,
            member_of,
            name,
            device_address_of: None,
            repeats: Vec::new(),
        });
        // Members of an attached block belong to the outermost combined entry as far as the runtime is concerned.
        let owner = combined;
        for member in &members {
            let flags = self.item_flags(member.item);
            self.push(MapEntry {
                base: base.clone(),
                begin: self.begin(member),
                size: member.size.clone(),
                flags,
                member_of: Some(owner),
                name: self.item_name(member.item),
                device_address_of: None,
                repeats: Vec::new(),
            });
        }
        for pointee in pointees {
            let item = pointee.block.members.first().map(|member| member.item);
            self.emit_block(
                pointee.block,
                Expr::Int(0),
                MapFlags::empty(),
                Some((owner, pointee.pointer)),
                item,
            );
        }
    }

    /// The storage from the first to behind the last member.
    fn span(&mut self, members: &[Member<'_>], pointees: &[Pointee<'_>]) -> (Expr, Expr) {
        let mut pieces: Vec<(Expr, Expr)> = members
            .iter()
            .map(|member| (self.begin(member), member.size.clone()))
            .collect();
        for pointee in pointees {
            pieces.push((
                pointee.pointer.clone().address(),
                pointee.pointer.clone().size_of(),
            ));
        }
        if let [(begin, size)] = pieces.as_slice() {
            return (begin.clone(), size.clone());
        }
        let low = format_smolstr!("rex_low_{}", self.arrays.temporaries.len());
        let high = format_smolstr!("rex_high_{}", self.arrays.temporaries.len());
        let lows = pieces.iter().map(|(begin, _)| begin.clone()).collect();
        let highs = pieces
            .iter()
            .flat_map(|(begin, size)| [begin.clone(), size.clone()])
            .collect();
        self.arrays.temporaries.push(Temporary {
            name: low.clone(),
            value: TemporaryValue::LowestAddress(lows),
        });
        self.arrays.temporaries.push(Temporary {
            name: high.clone(),
            value: TemporaryValue::HighestEnd(highs),
        });
        let size = Expr::Name(high).binary(BinaryOp::Sub, Expr::Name(low.clone()));
        (Expr::Name(low), size)
    }

    fn begin(&self, member: &Member<'_>) -> Expr {
        match self
            .program
            .types
            .get(self.program.types.object_type(member.item.ty()))
            .kind
        {
            TypeKind::Array { .. } if !ends_in_section(member.item) => member.object.clone(),
            _ => member.object.clone().address(),
        }
    }

    fn item_name(&self, item: &MapItem) -> SmolStr {
        self.program
            .text(item.at)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .into()
    }

    fn item_flags(&self, item: &MapItem) -> MapFlags {
        let mut flags = match item.kind {
            MapKind::To => MapFlags::TO,
            MapKind::From => MapFlags::FROM,
            MapKind::Tofrom => MapFlags::TO | MapFlags::FROM,
            MapKind::Alloc | MapKind::Release => MapFlags::empty(),
            MapKind::Delete => MapFlags::DELETE,
            MapKind::IsDevicePtr | MapKind::HasDeviceAddr => MapFlags::LITERAL,
            MapKind::UseDevicePtr | MapKind::UseDeviceAddr => MapFlags::RETURN_PARAM,
        };
        for (modifier, bit) in [
            (MapModifiers::ALWAYS, MapFlags::ALWAYS),
            (MapModifiers::CLOSE, MapFlags::CLOSE),
            (MapModifiers::PRESENT, MapFlags::PRESENT),
            (MapModifiers::HOLD, MapFlags::OMPX_HOLD),
        ] {
            if item.modifiers.contains(modifier) {
                flags |= bit;
            }
        }
        flags
    }

    /// One motion of `target update`: contiguous, or repeated pieces of a strided or rectangular section.
    fn motion(&mut self, item: &MapItem) {
        let sections = self.section_lengths(item);
        let is_contiguous = match sections.as_slice() {
            [] => true,
            [(_, _, section, _)] => section.stride.is_none(),
            _ => false,
        };
        let first = self.arrays.entries.len();
        self.items(item.root, &[item], MapFlags::empty());
        if is_contiguous {
            return;
        }
        let Some(entry) = self.arrays.entries.get_mut(first) else {
            return;
        };
        let mut repeats = Vec::new();
        let last = sections.len() - 1;
        for (idx, (count, element, section, stride)) in sections.into_iter().enumerate() {
            let element_size = element.size_of();
            if idx == last && section.stride.is_none() {
                entry.size = count.binary(BinaryOp::Mul, element_size);
                break;
            }
            let stride_bytes = match stride {
                Some(stride) => stride.binary(BinaryOp::Mul, element_size.clone()),
                None => element_size.clone(),
            };
            repeats.push(Repeat {
                count,
                stride_bytes,
            });
            entry.size = element_size;
        }
        entry.repeats = repeats;
    }

    /// Count of elements, first element, section and stride of each section that does not take its dimension whole; inner whole dimensions are left out.
    fn section_lengths(
        &mut self,
        item: &MapItem,
    ) -> Vec<(Expr, Expr, rex_syntax::omp::clause::Section, Option<Expr>)> {
        let mut sections = Vec::new();
        let mut current = self.object(item.root);
        let mut ty = item.root_ty;
        for step in &item.steps {
            let (container, whole) = (ty, current.clone());
            current = self.apply(current, step);
            ty = step.ty;
            if let StepKind::Section(section) = &step.kind {
                let count = self.section_count(section, container, &whole, &current);
                sections.push((count, current.clone(), section.clone(), container));
            }
        }
        let trailing = matches!(
            item.steps.last().map(|step| &step.kind),
            Some(StepKind::Member(_))
        );
        while sections.len() > 1 && !trailing {
            let Some((count, _, section, container)) = sections.last() else {
                break;
            };
            if self.is_whole_dimension(section, count, *container) {
                sections.pop();
            } else {
                break;
            }
        }
        sections
            .into_iter()
            .map(|(count, element, section, _)| {
                let stride = section.stride.map(|stride| self.value(stride));
                (count, element, section, stride)
            })
            .collect()
    }

    /// Number of elements (of strides) a section names.
    fn section_count(
        &mut self,
        section: &rex_syntax::omp::clause::Section,
        container: TypeId,
        whole: &Expr,
        element: &Expr,
    ) -> Expr {
        if let Some(length) = section.length {
            return self.value(length);
        }
        let types = &self.program.types;
        let extent = match &types.get(types.object_type(container)).kind {
            TypeKind::Array {
                extent: Extent::Constant(text),
                ..
            } => Expr::Words(text.clone()),
            _ => whole_elements(whole, element),
        };
        let rest = match section.lower {
            Some(lower) => {
                let lower = self.value(lower);
                extent.binary(BinaryOp::Sub, lower)
            }
            None => extent,
        };
        match section.stride {
            // ceil(rest / stride)
            Some(stride) => {
                let stride = self.value(stride);
                rest.binary(BinaryOp::Add, stride.clone())
                    .binary(BinaryOp::Sub, Expr::Int(1))
                    .binary(BinaryOp::Div, stride)
            }
            None => rest,
        }
    }

    /// `use_device_ptr` and `use_device_addr`: a zero-size entry whose device address comes back.
    fn use_device(&mut self, item: &MapItem) {
        let object = self.object(item.root);
        let is_pointer = matches!(
            self.program
                .types
                .get(self.program.types.object_type(item.root_ty))
                .kind,
            TypeKind::Pointer(_)
        );
        let names_pointee = item.kind == MapKind::UseDevicePtr || !item.steps.is_empty();
        let address = if is_pointer && names_pointee {
            object
        } else {
            self.storage_address(object, item.root_ty)
        };
        self.push(MapEntry {
            base: address.clone(),
            begin: address,
            size: Expr::Int(0),
            flags: MapFlags::RETURN_PARAM,
            member_of: None,
            name: self.item_name(item),
            device_address_of: Some(item.root),
            repeats: Vec::new(),
        });
    }
}

fn ends_in_section(item: &MapItem) -> bool {
    matches!(
        item.steps.last().map(|step| &step.kind),
        Some(StepKind::Section(_))
    )
}

/// `sizeof(whole) / sizeof(element)`, for arrays whose extent only the compiler knows.
fn whole_elements(whole: &Expr, element: &Expr) -> Expr {
    whole
        .clone()
        .size_of()
        .binary(BinaryOp::Div, element.clone().size_of())
}
