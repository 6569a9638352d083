//! Storage blocks and their entries.

mod extents;
mod sections;

use rex_ir::abi::MapFlags;
use rex_ir::expr::Expr;
use rex_ir::item::DeviceStorage;
use rex_ir::map::{MapEntry, MapKind, MapModifiers};
use rex_ir::region::CapturedObject;
use rex_ir::ty::TypeKind;

use self::extents::FieldPlace;
use super::pieces::{Piece, Step, StepValue};
use super::{Builder, entry};

/// A contiguous piece of storage reached from one base address.
#[derive(Default)]
struct Block<'m> {
    /// Objects inside the block that are mapped.
    members: Vec<Member<'m>>,
    /// Blocks behind pointers that lie inside this block.
    pointees: Vec<Pointee<'m>>,
}

impl<'m> Block<'m> {
    /// The block behind a pointer that lies in this one.
    fn behind(
        &mut self,
        pointer: Expr,
        field: Option<FieldPlace>,
        loops: Vec<usize>,
    ) -> &mut Block<'m> {
        let mut known = self.pointees.iter();
        let known = known.position(|pointee| pointee.pointer == pointer);
        let position = known.unwrap_or_else(|| {
            self.pointees.push(Pointee {
                pointer,
                field,
                loops,
                block: Block::default(),
            });
            self.pointees.len() - 1
        });
        &mut self.pointees[position].block
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.pointees.is_empty()
    }

    /// A piece to call the block by.
    fn any_piece(&self) -> Option<&Piece> {
        match self.members.first() {
            Some(member) => Some(member.piece),
            None => self
                .pointees
                .first()
                .and_then(|pointee| pointee.block.any_piece()),
        }
    }
}

struct Member<'m> {
    /// The object's address.
    begin: Expr,
    size: Expr,
    /// Covers the block from its first byte to its last.
    is_whole: bool,
    field: Option<FieldPlace>,
    piece: &'m Piece,
}

struct Pointee<'m> {
    /// The pointer's lvalue.
    pointer: Expr,
    field: Option<FieldPlace>,
    /// The loops the pointer depends on.
    loops: Vec<usize>,
    block: Block<'m>,
}

/// Where a block hangs.
struct Parent {
    /// The entry that holds the pointer, if that is mapped by the construct.
    entry: Option<usize>,
    /// The pointer's lvalue.
    pointer: Expr,
}

impl Builder<'_> {
    /// Entries for the pieces, which have one root or several.
    pub(super) fn blocks(&mut self, pieces: &[Piece], first: MapFlags) {
        let Some(any) = pieces.first() else { return };
        let (mine, others): (Vec<&Piece>, Vec<&Piece>) =
            pieces.iter().partition(|piece| piece.root == any.root);
        self.root_blocks(&mine, first);
        for piece in others {
            self.root_blocks(&[piece], MapFlags::empty());
        }
    }

    fn root_blocks(&mut self, pieces: &[&Piece], first: MapFlags) {
        let Some(any) = pieces.first() else { return };
        let root = self.object(any.root);
        let root_is_pointer = self.is_pointer(any.root_ty);
        let mut storage = Block::default();
        let mut pointee = Block::default();
        for piece in pieces {
            // `p[0:n]` of a pointer variable maps the pointee; the variable itself is only the way there.
            let through = piece.steps.first().is_some_and(|step| step.follows_pointer);
            let block = if root_is_pointer && through {
                &mut pointee
            } else {
                &mut storage
            };
            self.place(block, piece);
        }
        if let (false, Some(pointer)) = (storage.is_empty(), self.link_pointer(any.root)) {
            // The device finds the variable by its own pointer, which the entry sets.
            let parent = Parent {
                entry: None,
                pointer,
            };
            if !pointee.is_empty() {
                storage.pointees.push(Pointee {
                    pointer: root,
                    field: None,
                    loops: Vec::new(),
                    block: pointee,
                });
            }
            self.emit_block(storage, Expr::Int(0), first, Some(parent), &[]);
            return;
        }
        let base = self.storage_address(root.clone(), any.root_ty);
        if !storage.is_empty() && !pointee.is_empty() {
            // The pointer variable is mapped too: its pointee is attached to the mapped copy.
            storage.pointees.push(Pointee {
                pointer: root,
                field: None,
                loops: Vec::new(),
                block: pointee,
            });
            self.emit_block(storage, base, first, None, &[]);
        } else if !pointee.is_empty() && self.is_device_variable(any.root) {
            // The device has the pointer variable: it is attached there.
            let parent = Parent {
                entry: None,
                pointer: root,
            };
            self.emit_block(pointee, Expr::Int(0), first, Some(parent), &[]);
        } else if !pointee.is_empty() {
            self.emit_block(pointee, root, first, None, &[]);
        } else {
            self.emit_block(storage, base, first, None, &[]);
        }
    }

    /// Whether the image has storage for a variable.
    fn is_device_variable(&self, root: CapturedObject) -> bool {
        let CapturedObject::Variable(symbol) = root else {
            return false;
        };
        matches!(
            self.program.device_storage(symbol),
            Some(DeviceStorage::Enter | DeviceStorage::Constructed)
        )
    }

    fn link_pointer(&self, root: CapturedObject) -> Option<Expr> {
        match root {
            CapturedObject::Variable(symbol) => self.program.link_pointer(symbol).map(Expr::Name),
            CapturedObject::This | CapturedObject::Extent(..) => None,
        }
    }

    /// Puts a piece into the tree: follows its path until the last pointer.
    fn place<'m>(&mut self, block: &mut Block<'m>, piece: &'m Piece) {
        let mut object = self.object(piece.root);
        let mut current: &mut Block<'m> = block;
        let mut is_whole = true;
        let mut field = None;
        let mut container = piece.root_ty;
        for (idx, step) in piece.steps.iter().enumerate() {
            if step.follows_pointer && idx > 0 {
                // Everything up to here is the pointer's lvalue.
                current = current.behind(object.clone(), field.take(), piece.loops_before(idx));
                is_whole = true;
            }
            if field.is_none()
                && let StepValue::Member(name) = &step.kind
            {
                field = self.field_place(&object, container, name);
            }
            container = step.ty;
            is_whole &= matches!(step.kind, StepValue::Deref);
            let slot = self.reference_slot(&object, step);
            object = self.apply(object, &step.kind);
            if let Some(slot) = slot {
                current = current.behind(slot, field.take(), piece.loops_before(idx + 1));
                is_whole = true;
            }
        }
        let (object, size) = self.path_and_size(piece, object);
        let begin = if self.is_array(piece.ty()) && !piece.ends_in_section() {
            object
        } else {
            object.address()
        };
        current.members.push(Member {
            begin,
            size,
            is_whole,
            field,
            piece,
        });
    }

    /// The pointer that a member of reference type is to the compiler: its name means what it refers to.
    fn reference_slot(&self, object: &Expr, step: &Step) -> Option<Expr> {
        let types = &self.program.types;
        match (&step.kind, &types.get(step.ty).kind) {
            (StepValue::Member(name), TypeKind::Reference(_)) => {
                let arguments = vec![object.clone(), Expr::Name(name.clone())];
                Some(Expr::Call("REX_REFERENCE_MEMBER", arguments.into()))
            }
            _ => None,
        }
    }

    /// Entries of a block: a single one, or a combined one with members and attached pointees.
    fn emit_block(
        &mut self,
        block: Block<'_>,
        base: Expr,
        first: MapFlags,
        parent: Option<Parent>,
        loops: &[usize],
    ) {
        let attach = if parent.is_some() {
            MapFlags::PTR_AND_OBJ
        } else {
            MapFlags::empty()
        };
        let base = match &parent {
            Some(parent) => parent.pointer.clone().address(),
            None => base,
        };
        let member_of = parent.and_then(|parent| parent.entry);
        if let ([member], []) = (block.members.as_slice(), block.pointees.as_slice())
            && member.piece.all_loops() == loops
            && !member.piece.is_span
        {
            let entry = self.member_entry(member, base, first | attach, member_of);
            self.push(entry);
            return;
        }
        let name = block.any_piece().map(|piece| self.object_name(piece.root));
        let at = block.any_piece().map(|piece| piece.at);
        let shared = combined_flags(&block);
        let (begin, size) = self.extent_of(&block, loops);
        let owner = self.push(MapEntry {
            member_of,
            at,
            loops: loops.to_vec(),
            ..entry(
                base.clone(),
                begin,
                size,
                first | attach | shared,
                name.unwrap_or_default(),
            )
        });
        // The reference count that keeps the struct also says when its members come back.
        let held = shared & MapFlags::OMPX_HOLD;
        // What stands in the same loops stands together.
        let mut parts: Vec<(Vec<usize>, Part<'_>)> = Vec::new();
        for member in block.members {
            if !member.piece.is_span {
                parts.push((member.piece.all_loops(), Part::Member(member)));
            }
        }
        for pointee in block.pointees {
            parts.push((pointee.loops.clone(), Part::Pointee(pointee)));
        }
        while !parts.is_empty() {
            let group = parts[0].0.clone();
            let (now, later) = parts.into_iter().partition(|(loops, _)| *loops == group);
            parts = later;
            for (loops, part) in now {
                match part {
                    Part::Member(member) => {
                        let entry = self.member_entry(&member, base.clone(), held, Some(owner));
                        self.push(entry);
                    }
                    Part::Pointee(pointee) => {
                        let parent = Parent {
                            entry: Some(owner),
                            pointer: pointee.pointer,
                        };
                        let nowhere = Expr::Int(0);
                        self.emit_block(pointee.block, nowhere, held, Some(parent), &loops);
                    }
                }
            }
        }
    }

    fn member_entry(
        &self,
        member: &Member<'_>,
        base: Expr,
        flags: MapFlags,
        member_of: Option<usize>,
    ) -> MapEntry {
        let piece = member.piece;
        MapEntry {
            member_of,
            at: Some(piece.at),
            loops: piece.all_loops(),
            ..entry(
                base,
                member.begin.clone(),
                member.size.clone(),
                piece_flags(piece) | flags,
                piece.name.clone(),
            )
        }
    }
}

enum Part<'m> {
    Member(Member<'m>),
    Pointee(Pointee<'m>),
}

/// What a combined entry inherits from its members.
fn combined_flags(block: &Block<'_>) -> MapFlags {
    let inherited = MapFlags::PRESENT | MapFlags::OMPX_HOLD | MapFlags::CLOSE | MapFlags::DELETE;
    let mut flags = MapFlags::empty();
    for member in &block.members {
        flags |= piece_flags(member.piece) & inherited;
    }
    flags
}

/// The map type of a piece.
pub(super) fn piece_flags(piece: &Piece) -> MapFlags {
    let mut flags = match piece.kind {
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
        if piece.modifiers.contains(modifier) {
            flags |= bit;
        }
    }
    if piece.is_implicit {
        flags |= MapFlags::IMPLICIT;
    }
    flags
}
