//! The variables of a generated function.

/// A type whose values are whole numbers from -48 to 96 here, exact in every one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    pub(crate) is_signed: bool,
    pub(crate) is_real: bool,
}

const fn integer(name: &'static str, is_signed: bool) -> Type {
    Type {
        name,
        is_signed,
        is_real: false,
    }
}

const fn real(name: &'static str) -> Type {
    Type {
        name,
        is_signed: true,
        is_real: true,
    }
}

pub(crate) const TYPES: &[Type] = &[
    integer("int", true),
    integer("unsigned", false),
    integer("long", true),
    integer("unsigned long long", false),
    integer("short", true),
    integer("unsigned char", false),
    integer("signed char", true),
    real("float"),
    real("double"),
];

impl Type {
    /// Whether all threads may change an object of it atomically on every device.
    pub(crate) fn is_wide(self) -> bool {
        !self.name.contains("char") && self.name != "short"
    }

    /// The statement that assigns a value of type `unsigned long long`.
    pub(crate) fn store(self, to: &str, value: &str) -> String {
        match self.is_signed {
            true => format!("{to} = ({})((int)({value} % 97) - 48);", self.name),
            false => format!("{to} = ({})({value} % 97);", self.name),
        }
    }
}

/// How an array is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// `T a[40];`
    Local,
    /// `T a[n];`
    RunTimeLength,
    /// `T *a = malloc(..);`
    Pointer,
    /// `static T a[40];` at file scope, mapped.
    File,
    /// `struct { T *p; } s;`
    MemberPointer,
    /// `struct { T m[40]; } s;`
    MemberArray,
}

/// An array of a generated function.
#[derive(Clone)]
pub(crate) struct Array {
    /// The expression that names it.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) length: usize,
    pub(crate) storage: Storage,
}

impl Array {
    pub(crate) fn is_pointer(&self) -> bool {
        matches!(self.storage, Storage::Pointer | Storage::MemberPointer)
    }

    /// The list item that maps the whole of it.
    pub(crate) fn item(&self, with_length: bool) -> String {
        match self.is_pointer() || with_length {
            true => format!("{}[0 : {}]", self.name, self.length),
            false => self.name.clone(),
        }
    }
}

/// A scalar variable of a generated function.
#[derive(Clone)]
pub(crate) struct Scalar {
    pub(crate) name: String,
    pub(crate) ty: Type,
}
