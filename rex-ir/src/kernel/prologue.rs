//! Lines in front of a kernel's body, and of constructs inside it, that give the body its names.

use rex_syntax::TextRange;
use smol_str::SmolStr;

use super::ParameterType;
use crate::expr::Expr;
use crate::ty::{RecordId, TypeId};

/// A line of the prologue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prologue {
    /// An allocator of the region's own.
    Allocator {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The array with its traits.
        traits: Option<SmolStr>,
    },
    /// An object with an alignment of its own.
    Aligned {
        /// The alignment.
        value: TextRange,
        /// Its declaration.
        line: Box<Prologue>,
    },
    /// A declaration copied from the enclosing function.
    Declaration(TextRange),
    /// The definition of a struct that the user gave no tag.
    Untagged(RecordId),
    /// A variable whose type the instantiation of a template decides.
    Captured {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
        /// The thread has a copy of its own even of an object.
        is_firstprivate: bool,
    },
    /// A pack of such variables: the body of the kernel is a function of them.
    Pack {
        /// The pack.
        name: SmolStr,
        /// The type of one of its values.
        ty: TypeId,
        /// The pack of parameters.
        parameter: SmolStr,
    },
    /// A pointer from a parameter that could not have its type: `T *name = reinterpret_cast<T *>(parameter);`
    Unpack {
        /// The pointer.
        name: SmolStr,
        /// Its type: [`ParameterType::Declared`] or [`ParameterType::PointerTo`].
        ty: ParameterType,
        /// The parameter.
        parameter: SmolStr,
    },
    /// `T name = rex_literal<T>(parameter);`
    Literal {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// `T *name = rex_captured<T>::rex_place(parameter);`: what reductions combine into, where the instantiation of a template decides whether
    /// the region has an object or its value.
    CapturedPlace {
        /// The pointer.
        name: SmolStr,
        /// The type of the variable.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// `T &name = *parameter;`
    Reference {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// An array of constant extents over the parameter's storage.
    ArrayReference {
        /// The variable.
        name: SmolStr,
        /// Its array type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// A view with run-time extents.
    View {
        /// The variable.
        name: SmolStr,
        /// The innermost element type.
        element: TypeId,
        /// Extents, outermost first.
        extents: Vec<Expr>,
        /// The parameter.
        parameter: SmolStr,
    },
    /// One object for the block, in shared memory, without a value.
    SharedPrivate {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// One object for the block, in shared memory: the leader's copy of the object behind `parameter`.
    SharedCopy {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// One object for the block, in shared memory; `parameter`'s value is stored by the leader.
    SharedLiteral {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
    /// A local array whose extents are known at run time.
    SizedArray {
        /// The variable.
        name: SmolStr,
        /// The innermost element type.
        element: TypeId,
        /// Extents, outermost first.
        extents: Vec<Expr>,
        /// Those of them that are numbers of their own: the name, and the value.
        named: Vec<(SmolStr, Expr)>,
        /// Who has one.
        owner: ArrayOwner,
    },
    /// The team's copy, in shared memory, of the variable of the same name around it.
    SharedCopyOfOuter {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// A thread's copy of the variable of the same name around it.
    CopyOfOuter {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// A thread's copy of the variable of the same name around it, unless the type that its template gives it is a class or an array.
    CapturedOfOuter {
        /// The variable.
        name: SmolStr,
    },
    /// `T name;`
    Private {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
    /// A copy of its own for each thread of an object that the parameter points to.
    ThreadCopy {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The parameter.
        parameter: SmolStr,
    },
}

impl Prologue {
    /// A copy of the object behind a parameter: one for the block, or one for each thread.
    pub fn copy_behind(
        name: SmolStr,
        ty: TypeId,
        parameter: SmolStr,
        is_of_team: bool,
    ) -> Prologue {
        match is_of_team {
            true => Prologue::SharedCopy {
                name,
                ty,
                parameter,
            },
            false => Prologue::ThreadCopy {
                name,
                ty,
                parameter,
            },
        }
    }

    /// The name of the object that it makes for a team or a thread.
    pub fn object(&self) -> Option<&SmolStr> {
        match self {
            Prologue::Literal { name, .. }
            | Prologue::SharedLiteral { name, .. }
            | Prologue::Private { name, .. }
            | Prologue::SharedPrivate { name, .. }
            | Prologue::SharedCopy { name, .. }
            | Prologue::SharedCopyOfOuter { name, .. }
            | Prologue::CopyOfOuter { name, .. }
            | Prologue::ThreadCopy { name, .. } => Some(name),
            Prologue::Aligned { line, .. } => line.object(),
            _ => None,
        }
    }

    /// Whether the object lies in memory that the threads of a block share.
    pub fn is_shared(&self) -> bool {
        match self {
            Prologue::Aligned { line, .. } => line.is_shared(),
            Prologue::SharedLiteral { .. }
            | Prologue::SharedPrivate { .. }
            | Prologue::SharedCopy { .. }
            | Prologue::SharedCopyOfOuter { .. } => true,
            _ => false,
        }
    }
}

/// Who has an array whose extents are known at run time, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayOwner {
    /// A thread, on the heap.
    Thread,
    /// The threads of a block together, on the heap.
    Team,
    /// The threads of a block together, in dynamic shared memory behind so many bytes of others.
    TeamShared(Expr),
}
