//! Text of a program that device code cannot have, because it is C++ for more than one compiler.

use rex_syntax::TextRange;
use smol_str::SmolStr;

/// A piece of such text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslatable {
    /// Where it stands.
    pub at: TextRange,
    /// Why device code cannot have it.
    pub reason: SmolStr,
    /// What the user can write instead.
    pub help: SmolStr,
}
