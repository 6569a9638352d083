//! Host expressions that passes build: the user's words, joined by a few operators.
//!
//! A pass never formats C. It says `&a[lower]` as [`Expr::AddressOf`] of [`Expr::Index`]; the emitter prints it with the parentheses it needs.

use std::sync::Arc;

use rex_syntax::TextRange;
use smol_str::SmolStr;

use crate::ty::TypeId;

/// An expression of generated host or device code. Copies share their operands: entries of maps name one object several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// An integer constant.
    Int(i64),
    /// A name.
    Name(SmolStr),
    /// The user's expression, verbatim.
    Source(TextRange),
    /// The user's expression with another expression in place of one name: an operand of a mapper.
    Bound(Arc<BoundExpr>),
    /// The user's words, from a place that has no range in the unit (a header, a declarator).
    Words(SmolStr),
    /// `&operand`
    AddressOf(Arc<Expr>),
    /// `*operand`
    Deref(Arc<Expr>),
    /// `base[index]`
    Index(Arc<Expr>, Arc<Expr>),
    /// `base.name`
    Member(Arc<Expr>, SmolStr),
    /// `base->name`
    Arrow(Arc<Expr>, SmolStr),
    /// `sizeof(operand)`
    SizeOf(Arc<Expr>),
    /// `sizeof(T)`
    SizeOfType(TypeId),
    /// `(T)operand`
    Cast(TypeId, Arc<Expr>),
    /// `(char *)address`
    Bytes(Arc<Expr>),
    /// `(int64_t)operand`
    ToInt64(Arc<Expr>),
    /// `left op right`
    Binary(BinaryOp, Arc<Expr>, Arc<Expr>),
    /// `condition ? then : otherwise`
    Conditional(Arc<Expr>, Arc<Expr>, Arc<Expr>),
    /// A call of a function of the runtime headers.
    Call(&'static str, Arc<[Expr]>),
}

/// What [`Expr::Bound`] is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundExpr {
    /// The user's expression.
    pub range: TextRange,
    /// The mapper's variable.
    pub name: SmolStr,
    /// The object that is mapped.
    pub value: Expr,
}

/// Operators of [`Expr::Binary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `&&`
    And,
    /// `!=`
    NotEqual,
}

impl Expr {
    /// Adds every range of the user's text in it.
    pub fn sources(&self, ranges: &mut Vec<TextRange>) {
        match self {
            Expr::Source(range) => ranges.push(*range),
            Expr::Bound(bound) => ranges.push(bound.range),
            Expr::Int(_) | Expr::Name(_) | Expr::Words(_) | Expr::SizeOfType(_) => {}
            Expr::AddressOf(inner)
            | Expr::Deref(inner)
            | Expr::Member(inner, _)
            | Expr::Arrow(inner, _)
            | Expr::SizeOf(inner)
            | Expr::Cast(_, inner)
            | Expr::Bytes(inner)
            | Expr::ToInt64(inner) => inner.sources(ranges),
            Expr::Index(left, right) | Expr::Binary(_, left, right) => {
                left.sources(ranges);
                right.sources(ranges);
            }
            Expr::Conditional(condition, then, otherwise) => {
                for part in [condition, then, otherwise] {
                    part.sources(ranges);
                }
            }
            Expr::Call(_, arguments) => {
                for argument in arguments.iter() {
                    argument.sources(ranges);
                }
            }
        }
    }

    /// `&self`; `&*p` is `p`.
    pub fn address(self) -> Expr {
        match self {
            Expr::Deref(inner) => Arc::unwrap_or_clone(inner),
            other => Expr::AddressOf(Arc::new(other)),
        }
    }

    /// `self[index]`
    pub fn index(self, index: Expr) -> Expr {
        Expr::Index(Arc::new(self), Arc::new(index))
    }

    /// `*self`
    pub fn deref(self) -> Expr {
        Expr::Deref(Arc::new(self))
    }

    /// `sizeof(self)`
    pub fn size_of(self) -> Expr {
        Expr::SizeOf(Arc::new(self))
    }

    /// `self op right`, constants folded where that is exact.
    pub fn binary(self, op: BinaryOp, right: Expr) -> Expr {
        match (op, &self, &right) {
            (BinaryOp::Mul, Expr::Int(1), _) => right,
            (BinaryOp::Mul, _, Expr::Int(1)) | (BinaryOp::Add | BinaryOp::Sub, _, Expr::Int(0)) => {
                self
            }
            (BinaryOp::Add, Expr::Int(0), _) => right,
            _ => Expr::Binary(op, Arc::new(self), Arc::new(right)),
        }
    }
}
