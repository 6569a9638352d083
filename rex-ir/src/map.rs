//! Map items as written, and the arrays the runtime receives for them.

use bitflags::bitflags;
use la_arena::Idx;
use rex_syntax::TextRange;
use rex_syntax::omp::clause::Section;
use smol_str::SmolStr;

use crate::abi::MapFlags;
use crate::build::{qualifies, split_qualifier};
use crate::expr::Expr;
use crate::region::{CapturedObject, DataConstructId, RegionId};
use crate::symbol::SymbolId;
use crate::ty::{Meaning, TypeId, TypeKind, TypeTable};

/// Index of a set of map arrays.
pub type MapArraysId = Idx<MapArrays>;

/// One list item of a clause that moves or names device data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapItem {
    /// The item as written.
    pub at: TextRange,
    /// What the clause asks for.
    pub kind: MapKind,
    /// Its modifiers.
    pub modifiers: MapModifiers,
    /// The `mapper` modifier.
    pub mapper: Option<MapperName>,
    /// The `iterator` modifier, outermost first.
    pub iterators: Vec<MapIterator>,
    /// The variable at the root.
    pub root: CapturedObject,
    /// Its type.
    pub root_ty: TypeId,
    /// From the root to the object.
    pub steps: Vec<PathStep>,
}

impl MapItem {
    /// The type of the object the whole path names (of one element, for a section).
    pub fn ty(&self) -> TypeId {
        self.steps.last().map_or(self.root_ty, |step| step.ty)
    }

    /// Whether it asks for a device address: `use_device_ptr`, `use_device_addr`.
    pub fn asks_for_address(&self) -> bool {
        matches!(self.kind, MapKind::UseDevicePtr | MapKind::UseDeviceAddr)
    }

    /// Whether the address that it asks for is that of what the variable points to, and not the variable's own.
    pub fn asks_through_pointer(&self, types: &TypeTable) -> bool {
        match &types.get(types.object_type(self.root_ty)).kind {
            TypeKind::Pointer(_) => self.kind == MapKind::UseDevicePtr || !self.steps.is_empty(),
            // What `use_device_ptr` names is a pointer, also where only the compiler knows its type.
            TypeKind::Named {
                meaning: Meaning::Dependent | Meaning::Auto,
                ..
            } => self.kind == MapKind::UseDevicePtr,
            _ => false,
        }
    }
}

/// A `mapper(name)` modifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapperName {
    /// The name; absent for `mapper(default)`.
    pub name: Option<SmolStr>,
    /// The modifier.
    pub at: TextRange,
}

/// `iterator(type name = begin : end : step)`: the item stands for one item per value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapIterator {
    /// The variable's type.
    pub ty: SmolStr,
    /// The variable.
    pub name: SmolStr,
    /// The first value.
    pub begin: TextRange,
    /// The value it stops before.
    pub end: TextRange,
    /// What is added for each turn, if not 1.
    pub step: Option<TextRange>,
}

/// A `declare mapper` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapper {
    /// Its name; absent for the default mapper of the type.
    pub name: Option<SmolStr>,
    /// The type whose objects it maps.
    pub ty: TypeId,
    /// The variable that stands for the object.
    pub variable: SymbolId,
    /// What it maps in place of the object.
    pub items: Vec<MapItem>,
    /// The directive's argument.
    pub at: TextRange,
    /// Where its plain name is visible.
    pub visible: TextRange,
    /// The namespaces and classes around it: `a::b`.
    pub namespace: SmolStr,
    /// Its type is of the same namespace, so that argument-dependent lookup finds it everywhere.
    pub is_beside_type: bool,
}

impl Mapper {
    /// Whether a directive at `at` that asks for a mapper `wanted`, or for the default one, finds this one.
    pub fn is_found_as(&self, wanted: Option<&str>, at: TextRange) -> bool {
        let (qualifier, plain) = match wanted.and_then(split_qualifier) {
            Some((qualifier, plain)) => (Some(qualifier), Some(plain.trim())),
            None => (None, wanted),
        };
        let is_declared = self.visible.start() <= at.start();
        let is_there = match qualifier {
            None => self.is_beside_type || self.visible.contains_range(at),
            Some(qualifier) => qualifies(qualifier, &self.namespace),
        };
        self.name.as_deref() == plain && is_declared && is_there
    }
}

/// A list item that begins with no variable: `c ? a : b`, `f()[0:n]`. Its address is computed once, into a pointer that stands for the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lvalue {
    /// The expression.
    pub at: TextRange,
    /// It points to the objects; else it is the object.
    pub is_pointer: bool,
}

/// One step of a path with the type it arrives at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// The step.
    pub kind: StepKind,
    /// The type of the object after the step; of one element, after a section.
    pub ty: TypeId,
    /// The step goes through a pointer's value rather than staying in the same storage.
    pub follows_pointer: bool,
}

/// The step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// `.name` or `->name`; `->` is a deref followed by a member.
    Member(SmolStr),
    /// `*`, or the deref of `->`.
    Deref,
    /// `([n][m])`: the target of the pointer after a cast to this type.
    Shape(TypeId),
    /// `[index]`
    Index(TextRange),
    /// `[lower:length:stride]`
    Section(Section),
}

/// What a clause asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// `map(to:)`, `update to`
    To,
    /// `map(from:)`, `update from`
    From,
    /// `map(tofrom:)`
    Tofrom,
    /// `map(alloc:)`, `map(storage:)`
    Alloc,
    /// `map(release:)`
    Release,
    /// `map(delete:)`
    Delete,
    /// `is_device_ptr`
    IsDevicePtr,
    /// `has_device_addr`
    HasDeviceAddr,
    /// `use_device_ptr`
    UseDevicePtr,
    /// `use_device_addr`
    UseDeviceAddr,
}

impl MapKind {
    /// Whether the clause says what an address is, and moves nothing.
    pub fn is_about_addresses(self) -> bool {
        matches!(
            self,
            MapKind::IsDevicePtr
                | MapKind::HasDeviceAddr
                | MapKind::UseDevicePtr
                | MapKind::UseDeviceAddr
        )
    }
}

bitflags! {
    /// Modifiers of a map item.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct MapModifiers: u8 {
        /// `always`
        const ALWAYS = 1;
        /// `close`
        const CLOSE = 2;
        /// `present`
        const PRESENT = 4;
        /// `ompx_hold`
        const HOLD = 8;
    }
}

/// The parallel arrays of one launch or data construct.
///
/// # Invariants
/// Entries with [`MapFlags::TARGET_PARAM`] stand in the order of the kernel's parameters, one for each, outside all loops. An entry's parent stands before it, in the same loops or
/// further outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapArrays {
    /// Whose arrays they are.
    pub owner: MapOwner,
    /// Values computed once before the arrays, by name.
    pub temporaries: Vec<Temporary>,
    /// Loops that entries stand in.
    pub loops: Vec<MapLoop>,
    /// The entries.
    pub entries: Vec<MapEntry>,
}

impl MapArrays {
    /// Whether the number of entries is known only at run time.
    pub fn is_dynamic(&self) -> bool {
        let entries = &mut self.entries.iter();
        entries.any(|entry| !entry.loops.is_empty() || entry.lambda.is_some() || entry.is_pack)
    }
}

/// Whose arrays a [`MapArrays`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapOwner {
    /// A launch.
    Launch(RegionId),
    /// A data construct.
    Data(DataConstructId),
}

/// A loop around entries: the elements of a section that a mapper maps, the pieces of a strided section, the values of an iterator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapLoop {
    /// From 0 to `count - 1`.
    Count {
        /// The loop's variable, an `int64_t`.
        name: SmolStr,
        /// Number of turns.
        count: Expr,
    },
    /// An iterator of the user's.
    Iterator {
        /// The variable's type.
        ty: SmolStr,
        /// The variable.
        name: SmolStr,
        /// The first value.
        begin: Expr,
        /// The value it stops before.
        end: Expr,
        /// What is added for each turn, if not 1.
        step: Option<Expr>,
    },
}

/// A value computed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporary {
    /// Its name.
    pub name: SmolStr,
    /// What it holds.
    pub value: TemporaryValue,
}

/// What a [`Temporary`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemporaryValue {
    /// A kernel argument that carries the bytes of a variable: `void *n__arg = rex_literal(&n, sizeof(n))`.
    Literal(Expr),
    /// A 64-bit integer.
    Int64(Expr),
    /// The address of an object of a type, or of the first one that an expression points to.
    Address {
        /// The pointer's type.
        ty: TypeId,
        /// The expression.
        of: Expr,
        /// It points to the objects.
        is_pointer: bool,
    },
    /// The storage from the lowest to the highest byte of several pieces, as a `struct rex_span`.
    Span(Vec<SpanPiece>),
}

/// A piece of storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanPiece {
    /// The loops it stands in, outermost first.
    pub loops: Vec<usize>,
    /// Its address.
    pub begin: Expr,
    /// Its size in bytes.
    pub size: Expr,
}

/// One entry of the map arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// Base address, or the literal.
    pub base: Expr,
    /// Begin address, or the literal.
    pub begin: Expr,
    /// Size in bytes.
    pub size: Expr,
    /// Type bits; `MEMBER_OF` is added from `member_of`.
    pub flags: MapFlags,
    /// The entry (0-based) this one is a member of.
    pub member_of: Option<usize>,
    /// The user's words for it, shown by the runtime's information output.
    pub name: SmolStr,
    /// Where the user wrote them.
    pub at: Option<TextRange>,
    /// For `use_device_ptr` and `use_device_addr`: the variable that receives the device address.
    pub device_address_of: Option<CapturedObject>,
    /// The loops it stands in, outermost first.
    pub loops: Vec<usize>,
    /// The type word, when the instantiation of a template decides it.
    pub types: Option<Box<Expr>>,
    /// A variable that may be a lambda: entries for what its captures point to follow, as many as its type asks for. A pack always may.
    pub lambda: Option<Box<Expr>>,
    /// The variable is a pack: an entry for each of its values.
    pub is_pack: bool,
}

impl MapEntry {
    /// The type word of the entry.
    ///
    /// # Source
    /// LLVM `openmp/libomptarget/include/omptarget.h` (14 to 22): `OMP_TGT_MAPTYPE_MEMBER_OF` is the 1-based parent index in bits 48 to 63.
    pub fn type_bits(&self) -> u64 {
        let parent = self.member_of.map_or(0, |idx| (idx as u64 + 1) << 48);
        self.flags.bits() | parent
    }
}
