//! Keywords of C++ that a program in C has as names.

use rex_syntax::lex;
use rex_syntax::unit::Unit;
use smol_str::{SmolStr, format_smolstr};

use crate::headers;

/// What names of the program begin with in device code where it has another meaning for them.
pub const PREFIX: &str = "rex_name_";

/// Whether a word is a name in a file of C and a keyword in the device's C++.
pub fn is_name_in_c(unit: &Unit, word: &str) -> bool {
    lex::CXX_KEYWORDS.contains(&word)
        || is_operator_in_cxx(unit, word)
        || lex::CXX_KEYWORDS_OF_HEADERS.contains(&word)
            && unit.macros.is_before_c23()
            && !unit.macros.is_ever_defined(word)
            && !headers::system_declares_type(unit, word)
}

/// Whether it is an operator there, which no macro of C++ can be.
pub fn is_operator_in_cxx(unit: &Unit, word: &str) -> bool {
    lex::CXX_OPERATORS.contains(&word) && !unit.macros.is_ever_defined(word)
}

/// What device code calls it.
pub fn device_name(word: &str) -> SmolStr {
    format_smolstr!("{PREFIX}{word}")
}
