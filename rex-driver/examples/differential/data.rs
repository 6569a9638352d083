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
    /// `static T a[40];` on the device for the whole program.
    DeclareTarget,
    /// `struct { T *p; } s;`
    MemberPointer,
    /// `struct { struct { T *p; } *q; } s;`
    MemberChain,
    /// `struct { T m[40]; } s;`
    MemberArray,
}

impl Storage {
    /// Whether what is mapped is behind a pointer.
    pub(crate) fn is_pointer(self) -> bool {
        matches!(
            self,
            Self::Pointer | Self::MemberPointer | Self::MemberChain
        )
    }
}

/// What the elements of an array are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `a[i]`
    Flat,
    /// `a[i].v`
    Fields,
    /// `a[i / columns][i % columns]`
    Rows { columns: usize },
}

/// An array of a generated function.
#[derive(Clone)]
pub(crate) struct Array {
    /// The expression that names it.
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// The number of its values.
    pub(crate) length: usize,
    pub(crate) storage: Storage,
    pub(crate) shape: Shape,
    /// The struct of its elements, if they are some.
    pub(crate) tag: String,
    /// How far behind its first element a pointer to it points.
    pub(crate) shift: usize,
}

impl Array {
    /// An expression for one value.
    pub(crate) fn element(&self, index: &str) -> String {
        let name = &self.name;
        match self.shape {
            Shape::Flat if self.shift > 0 => format!("{name}[(int)({index}) - {}]", self.shift),
            Shape::Flat => format!("{name}[{index}]"),
            Shape::Fields => format!("{name}[{index}].v"),
            Shape::Rows { columns } => {
                format!("{name}[({index}) / {columns}][({index}) % {columns}]")
            }
        }
    }

    /// The length of the outermost dimension.
    pub(crate) fn outer_length(&self) -> usize {
        match self.shape {
            Shape::Rows { columns } => self.length / columns,
            _ => self.length,
        }
    }

    /// The declaration of an array, or of a pointer to one, that is called `name`.
    pub(crate) fn declaration(&self, name: &str, outer_length: &str) -> String {
        let element = match self.shape {
            Shape::Fields => format!("struct {}", self.tag),
            _ => self.ty.name.to_string(),
        };
        match (self.shape, self.storage.is_pointer()) {
            (Shape::Rows { columns }, true) => format!("{element} (*{name})[{columns}]"),
            (Shape::Rows { columns }, false) => {
                format!("{element} {name}[{outer_length}][{columns}]")
            }
            (_, true) => format!("{element} *{name}"),
            (_, false) => format!("{element} {name}[{outer_length}]"),
        }
    }

    /// The type of the pointer to it without a name.
    pub(crate) fn pointer_type(&self) -> String {
        self.declaration("", "")
    }

    /// The list item that maps the whole of it.
    pub(crate) fn item(&self, with_length: bool) -> String {
        match self.storage.is_pointer() || with_length {
            true => {
                let section = self.section(0, self.outer_length(), 1);
                match self.holder() {
                    Some(holder) => format!("{holder}[0 : 1], {section}"),
                    None => section,
                }
            }
            false => self.name.clone(),
        }
    }

    /// A part of its outermost dimension.
    pub(crate) fn section(&self, start: usize, length: usize, stride: usize) -> String {
        let start = match self.shift {
            0 => start.to_string(),
            shift => format!("{start} - {shift}"),
        };
        let stride = match stride {
            1 => String::new(),
            _ => format!(" : {stride}"),
        };
        format!("{}[{start} : {length}{stride}]", self.name)
    }

    /// The pointer to the struct that holds it, if it is behind one.
    fn holder(&self) -> Option<&str> {
        self.name.split_once("->").map(|(holder, _)| holder)
    }
}

/// A scalar variable of a generated function.
#[derive(Clone)]
pub(crate) struct Scalar {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// A member of the object that the function is called for.
    pub(crate) is_member: bool,
}
