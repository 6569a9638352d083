//! Declarations that headers of the translation unit give, as text.

use rex_syntax::unit::Unit;

/// The typedef, alias, class or enum of this name.
pub(super) fn type_declaration(unit: &Unit, name: &str) -> Option<String> {
    let _ = (unit, name);
    None
}

/// The variable of this name.
pub(super) fn variable_declaration(unit: &Unit, name: &str) -> Option<String> {
    let _ = (unit, name);
    None
}
