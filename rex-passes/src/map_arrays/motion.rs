//! Motions of `target update`: contiguous, or the contiguous pieces of a strided or rectangular section.

use std::sync::Arc;

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::map::{MapEntry, MapItem, MapLoop};
use smol_str::format_smolstr;

use super::blocks::piece_flags;
use super::pieces::Piece;
use super::{Builder, entry};

impl Builder<'_> {
    /// The entries of one list item.
    pub(super) fn motion(&mut self, item: &MapItem) {
        for piece in self.pieces(&[item]) {
            if !piece.is_span {
                self.motion_of_piece(&piece);
            }
        }
    }

    fn motion_of_piece(&mut self, piece: &Piece) {
        let (object, _) = self.path(piece);
        let sections = self.sections(piece);
        let Some(last) = sections.len().checked_sub(1) else {
            let size = object.clone().size_of();
            let begin = self.begin(piece, object);
            self.push_motion(piece, begin, size, piece.all_loops());
            return;
        };
        let mut begin = self.begin(piece, object.clone());
        let mut loops = piece.all_loops();
        let mut offset: Option<Expr> = None;
        let mut size = object.size_of();
        for (idx, section) in sections.into_iter().enumerate() {
            let element_bytes = section.element.size_of();
            if idx == last && section.stride.is_none() {
                size = section.count.binary(BinaryOp::Mul, element_bytes);
                break;
            }
            let id = self.arrays.loops.len();
            let name = format_smolstr!("rex_i{id}");
            self.arrays.loops.push(MapLoop::Count {
                name: name.clone(),
                count: section.count,
            });
            loops.push(id);
            let stride = section.stride.unwrap_or(Expr::Int(1));
            let bytes = Expr::Name(name).binary(BinaryOp::Mul, stride).binary(
                BinaryOp::Mul,
                Expr::ToInt64(Arc::new(element_bytes.clone())),
            );
            offset = Some(match offset {
                Some(sum) => sum.binary(BinaryOp::Add, bytes),
                None => bytes,
            });
            size = element_bytes;
        }
        if let Some(offset) = offset {
            begin = Expr::Bytes(Arc::new(begin)).binary(BinaryOp::Add, offset);
        }
        self.push_motion(piece, begin, size, loops);
    }

    fn begin(&self, piece: &Piece, object: Expr) -> Expr {
        if self.is_array(piece.ty()) && !piece.ends_in_section() {
            object
        } else {
            object.address()
        }
    }

    fn push_motion(&mut self, piece: &Piece, begin: Expr, size: Expr, loops: Vec<usize>) {
        let flags = piece_flags(piece);
        self.push(MapEntry {
            at: Some(piece.at),
            loops,
            ..entry(begin.clone(), begin, size, flags, piece.name.clone())
        });
    }
}
