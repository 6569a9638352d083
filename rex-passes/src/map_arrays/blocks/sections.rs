//! The objects that paths lead to, and how far their sections reach.

use std::sync::Arc;

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::ty::{Extent, TypeId, TypeKind};

use crate::map_arrays::Builder;
use crate::map_arrays::pieces::{Piece, Section, StepValue};

impl Builder<'_> {
    /// The object of a path and whether a pointer was followed.
    pub(in crate::map_arrays) fn path(&mut self, piece: &Piece) -> (Expr, bool) {
        let mut object = self.object(piece.root);
        let mut follows = false;
        for step in &piece.steps {
            object = self.apply(object, &step.kind);
            follows |= step.follows_pointer;
        }
        (object, follows)
    }

    pub(in crate::map_arrays) fn apply(&self, object: Expr, step: &StepValue) -> Expr {
        match step {
            StepValue::Member(name) => match object {
                Expr::Deref(pointer) => Expr::Arrow(pointer, name.clone()),
                other => Expr::Member(Arc::new(other), name.clone()),
            },
            StepValue::Deref => object.deref(),
            StepValue::Shape(pointer) => Expr::Cast(*pointer, Arc::new(object)).deref(),
            StepValue::Index(index) => object.index(index.clone()),
            StepValue::Section(section) => object.index(section.lower.clone()),
        }
    }

    /// Bytes of a piece: from the first to behind the last element of its sections.
    pub(super) fn path_and_size(&mut self, piece: &Piece, object: Expr) -> (Expr, Expr) {
        // Sections after the first lie within its elements: (n0 - 1) * sizeof e0 + (n1 - 1) * sizeof e1 + ... + n * sizeof e.
        let sections = self.sections(piece);
        let Some(last) = sections.len().checked_sub(1) else {
            let size = object.clone().size_of();
            return (object, size);
        };
        let mut size: Option<Expr> = None;
        for (idx, section) in sections.into_iter().enumerate() {
            let before_last = |count: Expr| count.binary(BinaryOp::Sub, Expr::Int(1));
            let elements = match (section.stride, idx == last) {
                // (n - 1) * stride + 1 elements.
                (Some(stride), true) => before_last(section.count)
                    .binary(BinaryOp::Mul, stride)
                    .binary(BinaryOp::Add, Expr::Int(1)),
                (Some(stride), false) => before_last(section.count).binary(BinaryOp::Mul, stride),
                (None, true) => section.count,
                (None, false) => before_last(section.count),
            };
            let bytes = elements.binary(BinaryOp::Mul, section.element.size_of());
            size = Some(match size {
                Some(sum) => sum.binary(BinaryOp::Add, bytes),
                None => bytes,
            });
        }
        let size = size.unwrap_or_else(|| object.clone().size_of());
        (object, size)
    }

    /// The sections of a path that do not take their dimension whole; inner whole dimensions are part of the element.
    pub(in crate::map_arrays) fn sections(&mut self, piece: &Piece) -> Vec<SectionParts> {
        let mut sections: Vec<SectionParts> = Vec::new();
        let mut object = self.object(piece.root);
        let mut container = piece.root_ty;
        for step in &piece.steps {
            let whole = object.clone();
            object = self.apply(object, &step.kind);
            if let StepValue::Section(section) = &step.kind {
                let count = self.section_count(section, container, &whole);
                sections.push(SectionParts {
                    is_whole: self.is_whole_dimension(section, &count, container),
                    count,
                    element: object.clone(),
                    stride: section.stride.clone(),
                });
            }
            container = step.ty;
        }
        while sections.len() > 1
            && piece.ends_in_section()
            && sections.last().is_some_and(|section| section.is_whole)
        {
            sections.pop();
        }
        sections
    }

    fn is_whole_dimension(&self, section: &Section, count: &Expr, container: TypeId) -> bool {
        let TypeKind::Array {
            extent: Extent::Constant(extent) | Extent::Runtime(extent),
            ..
        } = self.kind_of(container)
        else {
            return false;
        };
        let same = match count {
            Expr::Int(value) => extent.trim() == value.to_string(),
            Expr::Source(range) => self.program.text(*range).trim() == extent.trim(),
            Expr::Words(words) => words.trim() == extent.trim(),
            _ => false,
        };
        section.lower == Expr::Int(0)
            && section.stride.is_none()
            && (same || section.length.is_none())
    }

    /// Number of elements (of strides) a section names.
    pub(in crate::map_arrays) fn section_count(
        &mut self,
        section: &Section,
        container: TypeId,
        whole: &Expr,
    ) -> Expr {
        if let Some(length) = &section.length {
            return length.clone();
        }
        let extent = match self.kind_of(container) {
            TypeKind::Array { extent, element } => self.extent_count(extent, *element, whole),
            // Of assumed size: what is mapped already.
            TypeKind::Pointer(_) => return Expr::Int(0),
            _ => self.extent_count(&Extent::Unknown, container, whole),
        };
        let rest = extent.binary(BinaryOp::Sub, section.lower.clone());
        match &section.stride {
            // ceil(rest / stride)
            Some(stride) => rest
                .binary(BinaryOp::Add, stride.clone())
                .binary(BinaryOp::Sub, Expr::Int(1))
                .binary(BinaryOp::Div, stride.clone()),
            None => rest,
        }
    }
}

/// A section of a path.
pub(in crate::map_arrays) struct SectionParts {
    /// Number of elements (of strides).
    pub(in crate::map_arrays) count: Expr,
    /// The first element.
    pub(in crate::map_arrays) element: Expr,
    pub(in crate::map_arrays) stride: Option<Expr>,
    is_whole: bool,
}
