//! Keywords of C++ that a program in C has as names.

use rex_syntax::lex;
use rex_syntax::unit::Unit;

use crate::headers;

/// Whether a word is a name in a file of C and a keyword in the device's C++.
pub fn is_name_in_c(unit: &Unit, word: &str) -> bool {
    lex::CXX_KEYWORDS.contains(&word)
        || lex::CXX_KEYWORDS_OF_HEADERS.contains(&word)
            && unit.macros.is_before_c23()
            && !unit.macros.is_ever_defined(word)
            && !headers::system_declares_type(unit, word)
}
