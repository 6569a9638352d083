//! Host expressions that passes build: the user's words, joined by a few operators.
//!
//! A pass never formats C. It says `&a[lower]` as [`Expr::AddressOf`] of [`Expr::Index`]; the emitter prints it with the parentheses it needs.

use rex_syntax::TextRange;
use smol_str::SmolStr;

use crate::ty::TypeId;

/// An expression of generated host or device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// An integer constant.
    Int(i64),
    /// A name.
    Name(SmolStr),
    /// The user's expression, verbatim.
    Source(TextRange),
    /// The user's expression with another expression in place of one name: an operand of a mapper.
    Bound {
        /// The user's expression.
        range: TextRange,
        /// The mapper's variable.
        name: SmolStr,
        /// The object that is mapped.
        value: Box<Expr>,
    },
    /// The user's words, from a place that has no range in the unit (a header, a declarator).
    Words(SmolStr),
    /// `&operand`
    AddressOf(Box<Expr>),
    /// `*operand`
    Deref(Box<Expr>),
    /// `base[index]`
    Index(Box<Expr>, Box<Expr>),
    /// `base.name`
    Member(Box<Expr>, SmolStr),
    /// `base->name`
    Arrow(Box<Expr>, SmolStr),
    /// `sizeof(operand)`
    SizeOf(Box<Expr>),
    /// `sizeof(T)`
    SizeOfType(TypeId),
    /// `(T)operand`
    Cast(TypeId, Box<Expr>),
    /// `(char *)address`
    Bytes(Box<Expr>),
    /// `(int64_t)operand`
    ToInt64(Box<Expr>),
    /// `left op right`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A call of a function of the runtime headers.
    Call(&'static str, Vec<Expr>),
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
            Expr::Source(range) | Expr::Bound { range, .. } => ranges.push(*range),
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
                for argument in arguments {
                    argument.sources(ranges);
                }
            }
        }
    }

    /// `&self`; `&*p` is `p`.
    pub fn address(self) -> Expr {
        match self {
            Expr::Deref(inner) => *inner,
            other => Expr::AddressOf(Box::new(other)),
        }
    }

    /// `self[index]`
    pub fn index(self, index: Expr) -> Expr {
        Expr::Index(Box::new(self), Box::new(index))
    }

    /// `*self`
    pub fn deref(self) -> Expr {
        Expr::Deref(Box::new(self))
    }

    /// `sizeof(self)`
    pub fn size_of(self) -> Expr {
        Expr::SizeOf(Box::new(self))
    }

    /// `self op right`, constants folded where that is exact.
    pub fn binary(self, op: BinaryOp, right: Expr) -> Expr {
        match (op, &self, &right) {
            (BinaryOp::Mul, Expr::Int(1), _) => right,
            (BinaryOp::Mul, _, Expr::Int(1)) | (BinaryOp::Add | BinaryOp::Sub, _, Expr::Int(0)) => {
                self
            }
            (BinaryOp::Add, Expr::Int(0), _) => right,
            _ => Expr::Binary(op, Box::new(self), Box::new(right)),
        }
    }
}
