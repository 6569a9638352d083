//! File-scope items, coarse: enough to decide what the device file keeps.

use la_arena::Idx;
use rex_syntax::TextRange;
use smol_str::SmolStr;

use crate::region::Call;
use crate::symbol::SymbolId;

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

/// A function definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its unqualified name.
    pub name: SmolStr,
    /// From the first specifier (template head included) to the closing brace.
    pub range: TextRange,
    /// Where a specifier such as `__device__` can be put: after a template head.
    pub specifiers: TextRange,
    /// The function's body, braces included.
    pub body: TextRange,
    /// The named namespaces around it, outermost first.
    pub namespaces: Vec<SmolStr>,
    /// The class it is a member of, if it is one.
    pub class: Option<SmolStr>,
    /// It is (a member of) a template.
    pub is_template: bool,
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

/// How a variable of file scope lives on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceStorage {
    /// `declare target enter` (or `to`): a copy of its own, with an offload entry.
    Enter,
    /// `declare target link`: a pointer that maps attach.
    Link,
    /// A constant, copied into the device file without an entry.
    Constant,
}
