//! Static data members: one symbol for the declaration in the class and the definition outside it.

use rex_syntax::{TextRange, places};
use smol_str::SmolStr;

use crate::symbol::SymbolId;
use crate::ty::RecordId;

/// What is known of a static data member besides its symbol.
///
/// The symbol's `declared_at`, `initializer` and `declaration` are those of the definition outside the class; for a member that the class defines, the `initializer` is the
/// class's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticMember {
    /// The class.
    pub record: RecordId,
    /// The class as its namespace names it: `Outer::Inner`.
    pub class_path: SmolStr,
    /// The declaration in the class; absent for a class of a header.
    pub in_class: Option<TextRange>,
    /// The class itself defines it: `inline`, `constexpr`, or with a value.
    pub is_inline: bool,
    /// The class gives it a constant value.
    pub is_constant: bool,
    /// Code outside the class can name it.
    pub is_public: bool,
    /// The class is a template or stands in one.
    pub is_of_template: bool,
    /// The definition outside the class, from the type on; template heads stand before it.
    pub definition: Option<TextRange>,
    /// Definitions for some arguments of the template: `template <> int Box<char>::value = 9;`.
    pub specializations: Vec<Specialization>,
}

/// A static data member of one instantiation that is defined apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialization {
    /// The definition, from the type on.
    pub definition: TextRange,
    /// The name in it: `Box<char>::value`.
    pub name: TextRange,
    /// The value; without one, the member is only declared.
    pub initializer: Option<TextRange>,
}

impl StaticMember {
    /// Whether the unit has its definition.
    pub fn is_defined(&self) -> bool {
        self.is_inline || self.definition.is_some()
    }

    /// Whether only the compiler knows its symbol: the class is a template, or what a template is for some arguments.
    pub fn has_arguments(&self) -> bool {
        self.is_of_template || self.class_path.contains('<')
    }

    /// Whether every file that has the class has the definition, too: they are one object.
    pub fn is_shared_by_files(&self) -> bool {
        self.is_inline || self.is_of_template
    }
}

/// The uses of static members in a range, of all in source order.
pub fn uses_in(
    uses: &[(TextRange, SymbolId)],
    range: TextRange,
) -> impl Iterator<Item = (TextRange, SymbolId)> {
    places::inside(uses, range, |(at, _)| *at).copied()
}
