//! File-scope items, coarse: enough to decide what the device file keeps.

use la_arena::Idx;
use rex_syntax::{TextRange, TextSize};
use smol_str::SmolStr;

use crate::region::Call;
use crate::symbol::SymbolId;
use crate::ty::RecordId;

/// Index of a function definition.
pub type FunctionId = Idx<Function>;

/// A file-scope item in source order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its text.
    pub range: TextRange,
    /// What it is.
    pub kind: ItemKind,
}

/// The kinds of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `#include`
    Include,
    /// `#define`, `#undef`
    Macro,
    /// Other preprocessor lines of active arms (`#pragma pack`, `#error`, `#line`).
    OtherDirective,
    /// Types: struct, enum, typedef, using, template of types.
    Type,
    /// A function definition.
    Function(FunctionId),
    /// A function declaration without body.
    Prototype(SmolStr),
    /// An explicit instantiation of a function, by its path without template arguments: `Box::size` of `template int Box<int>::size();`.
    Instantiation(SmolStr),
    /// A member function that is defined outside of its class as what the compiler makes: `A::~A() = default;`.
    Defaulted,
    /// Variables.
    Variables(Vec<SymbolId>),
    /// A namespace or linkage block: text before the first inner item, inner items, closing text.
    Block {
        /// Up to and including `{`.
        open: TextRange,
        /// Its items.
        items: Vec<Item>,
    },
    /// Anything else (asm, static_assert, stray semicolons).
    Other,
}

/// Whether the head of a [`ItemKind::Block`] is that of a namespace without a name: `namespace {`.
pub fn is_unnamed_namespace(open: &str) -> bool {
    let mut words = open
        .split(|c: char| c.is_whitespace() || c == '{')
        .filter(|word| !word.is_empty());
    words.next() == Some("namespace") && words.next().is_none()
}

/// The function declarations among items and inside their blocks, with their places.
pub fn prototypes(items: &[Item]) -> impl Iterator<Item = (TextRange, &SmolStr)> {
    let mut stack: Vec<&Item> = items.iter().collect();
    std::iter::from_fn(move || {
        while let Some(item) = stack.pop() {
            match &item.kind {
                ItemKind::Prototype(name) => return Some((item.range, name)),
                ItemKind::Block { items, .. } => stack.extend(items),
                _ => {}
            }
        }
        None
    })
}

/// A function definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its unqualified name.
    pub name: SmolStr,
    /// From the first specifier (template head included) to the closing brace.
    pub range: TextRange,
    /// Where a specifier such as `__device__` can be put: after a template head.
    pub specifiers: TextRange,
    /// Its parameter list, parentheses included.
    pub parameters: TextRange,
    /// Some of its parameters are references.
    pub takes_references: bool,
    /// Where a declaration of it ends: before the body or the member initializers.
    pub declarator_end: TextSize,
    /// The function's body, braces included.
    pub body: TextRange,
    /// Where statements can be put first in it: behind the brace and the declarations of local labels.
    pub first_statement: TextSize,
    /// The named namespaces around it, outermost first.
    pub namespaces: Vec<SmolStr>,
    /// The class it is a member of, if it is one.
    pub class: Option<SmolStr>,
    /// What it is to that class.
    pub membership: Option<Membership>,
    /// Template heads of the function itself, outermost first.
    pub heads: Vec<TemplateHead>,
    /// Template heads of the classes around it, outermost first.
    pub class_heads: Vec<TemplateHead>,
    /// It is `main` of the program.
    pub is_main: bool,
    /// Calls in its body.
    pub calls: Vec<Call>,
    /// Variables of file scope it names.
    pub globals: Vec<SymbolId>,
    /// It stands inside a class body.
    pub in_class: bool,
    /// Function-local static variables.
    pub statics: Vec<SymbolId>,
}

impl Function {
    /// Whether it is a template or a member of one.
    pub fn is_template(&self) -> bool {
        !self.heads.is_empty() || !self.class_heads.is_empty()
    }

    /// Whether a call of it may mean a function that overrides it, as far as its class and the bases of that one say.
    pub fn is_virtual(&self) -> bool {
        self.membership
            .as_ref()
            .is_some_and(|membership| membership.is_virtual)
    }
}

/// A function as a member of its class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The class, if the unit defines it.
    pub record: Option<RecordId>,
    /// The class as its namespace names it: `Outer::Inner`.
    pub class_path: SmolStr,
    /// It has no object.
    pub is_static: bool,
    /// Its object is `const`.
    pub is_const: bool,
    /// It, or what it overrides, is declared virtual.
    pub is_virtual: bool,
    /// `Box<T>::` before the name, in a definition outside the class.
    pub qualifier: Option<SmolStr>,
}

/// The parameters of a template, without their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateHead {
    /// As declared: `typename T, int N`.
    pub parameters: SmolStr,
    /// As arguments: `T, N`.
    pub arguments: SmolStr,
}

impl TemplateHead {
    /// One head for all, with the packs last: arguments that are written for a pack go to its end.
    pub fn joined(heads: &[TemplateHead]) -> Option<TemplateHead> {
        let mut pairs: Vec<(&str, &str)> = heads
            .iter()
            .flat_map(|head| {
                pieces(&head.parameters)
                    .into_iter()
                    .zip(pieces(&head.arguments))
            })
            .collect();
        pairs.sort_by_key(|(_, argument)| argument.ends_with("..."));
        let join = |parts: Vec<&str>| SmolStr::from(parts.join(", "));
        (!pairs.is_empty()).then(|| TemplateHead {
            parameters: join(pairs.iter().map(|(parameter, _)| *parameter).collect()),
            arguments: join(pairs.iter().map(|(_, argument)| *argument).collect()),
        })
    }

    /// How many of the parameters are packs.
    pub fn n_packs(&self) -> usize {
        let arguments = pieces(&self.arguments).into_iter();
        arguments
            .filter(|argument| argument.ends_with("..."))
            .count()
    }
}

/// What commas divide outside of brackets.
fn pieces(list: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let divides = |c: char| {
        depth += i32::from(matches!(c, '<' | '(' | '[' | '{'));
        depth -= i32::from(matches!(c, '>' | ')' | ']' | '}'));
        depth == 0 && c == ','
    };
    let pieces = list.split(divides).map(str::trim);
    pieces.filter(|piece| !piece.is_empty()).collect()
}

impl DeviceStorage {
    /// Whether device code reaches the variable through a pointer.
    pub fn is_behind_pointer(self) -> bool {
        match self {
            DeviceStorage::Link | DeviceStorage::Shared | DeviceStorage::Bound => true,
            DeviceStorage::Enter
            | DeviceStorage::Constructed
            | DeviceStorage::Constant
            | DeviceStorage::Local
            | DeviceStorage::Group => false,
        }
    }

    /// Whether device functions need a reference to give the variable its name back.
    pub fn needs_reference(self) -> bool {
        self.is_behind_pointer() || self == DeviceStorage::Constructed
    }

    /// Whether the runtime ties it to the host's variable.
    pub fn has_entry(self) -> bool {
        !matches!(
            self,
            DeviceStorage::Constant
                | DeviceStorage::Local
                | DeviceStorage::Bound
                | DeviceStorage::Group
        )
    }
}

/// How a variable of file scope lives on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceStorage {
    /// `declare target enter` (or `to`): a copy of its own, with an offload entry.
    Enter,
    /// `declare target link`: the device has a pointer, which maps attach to their copy.
    Link,
    /// With unified shared memory: the device has a pointer to the host's own variable.
    Shared,
    /// A copy of its own that a kernel constructs: its initializer is computed at run time.
    Constructed,
    /// A reference, which a kernel binds to objects of the device: the device has a pointer that the host does not know, without an entry.
    Bound,
    /// A constant, copied into the device file without an entry.
    Constant,
    /// `declare target local`: a copy of its own that the host does not know, without an entry.
    Local,
    /// `groupprivate`: one for each team, in shared memory, without an entry.
    Group,
}
