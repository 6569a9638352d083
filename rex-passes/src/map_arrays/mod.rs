//! `map-arrays`: what the runtime is told about every object a construct maps.
//!
//! Each list item becomes one or more *pieces*: a path from a variable with its operands as expressions, after mappers and iterators are written out ([`pieces`]). The pieces with one root
//! form a tree of storage blocks: the variable's own storage, and behind each pointer another block ([`blocks`]). A block with one piece is one entry; a block with several is a combined
//! entry that spans them, followed by its members; a block behind a pointer is attached to that pointer (`PTR_AND_OBJ`).
//!
//! # Invariants
//! Entries that are kernel parameters stand in the order of the region's captures, outside all loops.

mod blocks;
mod captures;
mod device;
mod motion;
mod nested;
mod operands;
mod pieces;

use rex_ir::abi::MapFlags;
use rex_ir::expr::Expr;
use rex_ir::facet::Facet;
use rex_ir::map::{MapArrays, MapEntry, MapItem, MapOwner, Temporary, TemporaryValue};
use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, DataConstructId, DataConstructKind, RegionId};
use rex_ir::symbol::SymbolKind;
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::diag::Diagnostic;
use smol_str::SmolStr;

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
        let mut problems = Vec::new();
        for (id, _) in program.regions.iter() {
            arrays.push(launch_arrays(program, id, &mut problems));
        }
        for (id, _) in program.data_constructs.iter() {
            arrays.push(data_arrays(program, id, &mut problems));
        }
        for problem in problems {
            cx.diagnostics.push(problem);
        }
        let before = program.map_arrays.iter().map(|(_, arrays)| arrays);
        let changed = !before.eq(&arrays);
        cx.program.map_arrays = arrays.into_iter().collect();
        Outcome { changed }
    }
}

fn launch_arrays(program: &Program, id: RegionId, problems: &mut Vec<Diagnostic>) -> MapArrays {
    let region = &program.regions[id];
    let mut builder = Builder::new(program, MapOwner::Launch(id), problems);
    for capture in &region.captures {
        builder.capture(capture, &region.maps, &region.defaultmaps);
    }
    // Variables of the device that a clause names: mapped (their reference count is what `always` and `present` act on), but no parameters.
    let captured = |root| region.captures.iter().any(|capture| capture.object == root);
    for root in roots(&region.maps)
        .into_iter()
        .filter(|root| !captured(*root))
    {
        let mine: Vec<&MapItem> = region
            .maps
            .iter()
            .filter(|item| item.root == root)
            .collect();
        builder.lvalue(root);
        builder.items(&mine, MapFlags::empty());
    }
    builder.finish()
}

fn data_arrays(
    program: &Program,
    id: DataConstructId,
    problems: &mut Vec<Diagnostic>,
) -> MapArrays {
    let data = &program.data_constructs[id];
    let mut builder = Builder::new(program, MapOwner::Data(id), problems);
    for root in roots(&data.maps) {
        let mine: Vec<&MapItem> = data.maps.iter().filter(|item| item.root == root).collect();
        builder.lvalue(root);
        if data.kind == DataConstructKind::Update {
            // Each motion stands alone: no reference counts are touched.
            for item in mine {
                builder.motion(item);
            }
            continue;
        }
        let mapped: Vec<&MapItem> = mine
            .into_iter()
            .filter(|item| !item.asks_for_address())
            .collect();
        builder.items(&mapped, MapFlags::empty());
    }
    // An address is known once everything is mapped.
    for item in data.maps.iter().filter(|item| item.asks_for_address()) {
        builder.use_device(item);
    }
    builder.finish()
}

/// The roots of the items, each once, in order of appearance.
fn roots(items: &[MapItem]) -> Vec<CapturedObject> {
    let mut roots = Vec::new();
    for item in items {
        if !roots.contains(&item.root) {
            roots.push(item.root);
        }
    }
    roots
}

/// Builds the arrays of one construct.
struct Builder<'p> {
    program: &'p Program,
    arrays: MapArrays,
    problems: &'p mut Vec<Diagnostic>,
}

impl<'p> Builder<'p> {
    fn new(
        program: &'p Program,
        owner: MapOwner,
        problems: &'p mut Vec<Diagnostic>,
    ) -> Builder<'p> {
        Builder {
            program,
            arrays: MapArrays {
                owner,
                temporaries: Vec::new(),
                loops: Vec::new(),
                entries: Vec::new(),
            },
            problems,
        }
    }

    /// The pointer that stands for a root which is no variable.
    fn lvalue(&mut self, root: CapturedObject) {
        if let CapturedObject::Variable(symbol) = root
            && let Some(lvalue) = self.program.lvalues.get(&symbol)
        {
            let value = TemporaryValue::Address {
                ty: self.program.symbols[symbol].ty,
                of: Expr::Source(lvalue.at),
                is_pointer: lvalue.is_pointer,
            };
            let name = self.program.name(symbol).clone();
            self.arrays.temporaries.push(Temporary { name, value });
        }
    }

    /// Entries for all items with one root.
    fn items(&mut self, items: &[&MapItem], first: MapFlags) {
        let pieces = self.pieces(items);
        self.blocks(&pieces, first);
    }

    /// There are as many arrays as constructs, most of them with an entry or two.
    fn finish(mut self) -> MapArrays {
        self.arrays.entries.shrink_to_fit();
        self.arrays
    }

    fn push(&mut self, entry: MapEntry) -> usize {
        self.arrays.entries.push(entry);
        self.arrays.entries.len() - 1
    }

    fn object_name(&self, object: CapturedObject) -> SmolStr {
        rex_ir::print::object_name(self.program, object).into()
    }

    /// What the user calls a captured object.
    fn users_name(&self, object: CapturedObject) -> SmolStr {
        let CapturedObject::Variable(symbol) = object else {
            return self.object_name(object);
        };
        let found = &self.program.symbols[symbol];
        match found.kind {
            SymbolKind::Global | SymbolKind::StaticField if found.spelled.is_some() => {
                found.qualified_name()
            }
            _ => self.object_name(object),
        }
    }

    fn object(&self, object: CapturedObject) -> Expr {
        Expr::Name(match object {
            CapturedObject::Variable(symbol) => self.program.symbols[symbol].qualified_name(),
            CapturedObject::This | CapturedObject::Extent(..) => self.object_name(object),
        })
    }

    /// The structure of the object that a type (or a reference to it) describes.
    fn kind_of(&self, ty: TypeId) -> &'p TypeKind {
        let types = &self.program.types;
        &types.get(types.object_type(ty)).kind
    }

    fn is_pointer(&self, ty: TypeId) -> bool {
        matches!(self.kind_of(ty), TypeKind::Pointer(_))
    }

    fn is_array(&self, ty: TypeId) -> bool {
        matches!(self.kind_of(ty), TypeKind::Array { .. })
    }

    /// The address of an object's storage; an array is its own address.
    fn storage_address(&self, object: Expr, ty: TypeId) -> Expr {
        if self.is_array(ty) {
            object
        } else {
            object.address()
        }
    }
}

/// An entry of its own: no member, outside all loops.
fn entry(base: Expr, begin: Expr, size: Expr, flags: MapFlags, name: SmolStr) -> MapEntry {
    MapEntry {
        base,
        begin,
        size,
        flags,
        member_of: None,
        name,
        at: None,
        device_address_of: None,
        loops: Vec::new(),
        types: None,
        lambda: None,
        is_pack: false,
    }
}
