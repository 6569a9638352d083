//! From where to where the storage of a block reaches: by the order of a struct's members, or as the program finds when it runs.

use std::sync::Arc;

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::map::{SpanPiece, Temporary, TemporaryValue};
use rex_ir::ty::TypeId;
use smol_str::format_smolstr;

use super::Block;
use crate::map_arrays::Builder;

impl Builder<'_> {
    /// The storage from the first to behind the last member.
    pub(super) fn extent_of(&mut self, block: &Block<'_>, loops: &[usize]) -> (Expr, Expr) {
        let inner = |all: Vec<usize>| -> Vec<usize> {
            all.into_iter().filter(|id| !loops.contains(id)).collect()
        };
        if let Some(whole) = block
            .members
            .iter()
            .find(|member| member.is_whole && inner(member.piece.all_loops()).is_empty())
        {
            return (whole.begin.clone(), whole.size.clone());
        }
        let members = block.members.iter().map(|member| {
            let piece = SpanPiece {
                loops: inner(member.piece.all_loops()),
                begin: member.begin.clone(),
                size: member.size.clone(),
            };
            (piece, member.field.as_ref())
        });
        let pointers = block.pointees.iter().map(|pointee| {
            let piece = SpanPiece {
                loops: inner(pointee.loops.clone()),
                begin: pointee.pointer.clone().address(),
                size: pointee.pointer.clone().size_of(),
            };
            (piece, pointee.field.as_ref())
        });
        // The elements of a section that a mapper maps lie in the section.
        let has_span = block.members.iter().any(|member| member.piece.is_span);
        let pieces: Vec<(SpanPiece, Option<&FieldPlace>)> = members
            .chain(pointers)
            .filter(|(piece, _)| !has_span || piece.loops.is_empty())
            .collect();
        if let Some((lowest, highest)) = ends_by_declaration(&pieces) {
            let bytes = |address: &Expr| Expr::Bytes(Arc::new(address.clone()));
            let size = if lowest == highest {
                lowest.size.clone()
            } else {
                bytes(&highest.begin)
                    .binary(BinaryOp::Add, highest.size.clone())
                    .binary(BinaryOp::Sub, bytes(&lowest.begin))
            };
            return (lowest.begin.clone(), size);
        }
        let name = format_smolstr!("rex_span_{}", self.arrays.temporaries.len());
        self.arrays.temporaries.push(Temporary {
            name: name.clone(),
            value: TemporaryValue::Span(pieces.into_iter().map(|(piece, _)| piece).collect()),
        });
        let span = || Arc::new(Expr::Name(name.clone()));
        let low = Expr::Member(span(), "low".into());
        let high = Expr::Member(span(), "high".into());
        (low.clone(), high.binary(BinaryOp::Sub, low))
    }

    pub(super) fn field_place(&self, strukt: &Expr, ty: TypeId, name: &str) -> Option<FieldPlace> {
        let types = &self.program.types;
        let spelled = types.spell(types.object_type(ty));
        let record = types.record(ty).filter(|_| !spelled.starts_with("union"))?;
        let fields = &types.records[record].fields;
        let field_idx = fields.iter().position(|field| field.name == name)?;
        Some(FieldPlace {
            strukt: strukt.clone(),
            field_idx,
        })
    }
}

/// The member of a struct that an object is or lies in: members are laid out in the order of their declaration.
#[derive(Clone, PartialEq)]
pub(super) struct FieldPlace {
    strukt: Expr,
    field_idx: usize,
}

/// The first and the last of some pieces, if they are one piece or lie in different members of one struct.
fn ends_by_declaration<'s>(
    pieces: &'s [(SpanPiece, Option<&FieldPlace>)],
) -> Option<(&'s SpanPiece, &'s SpanPiece)> {
    if pieces.iter().any(|(piece, _)| !piece.loops.is_empty()) {
        return None;
    }
    if let [(piece, _)] = pieces {
        return Some((piece, piece));
    }
    let mut placed = Vec::new();
    for (piece, place) in pieces {
        let place = (*place)?;
        placed.push((place.field_idx, &place.strukt, piece));
    }
    placed.sort_by_key(|(field_idx, _, _)| *field_idx);
    let apart = placed
        .windows(2)
        .all(|pair| pair[0].0 != pair[1].0 && pair[0].1 == pair[1].1);
    let (lowest, highest) = (placed.first()?, placed.last()?);
    apart.then_some((lowest.2, highest.2))
}
