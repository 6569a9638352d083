//! What asks for the type of an object when the program runs: `typeid`, `dynamic_cast`.

use rex_syntax::lex;
use rex_syntax::source::Language;

use super::Builder;

impl Builder<'_> {
    /// Notes the operators that device code cannot have.
    pub(super) fn refuse_type_information(&mut self) {
        let is_named = ["typeid", "dynamic_cast"]
            .iter()
            .any(|word| self.source.contains(word));
        if self.unit.language != Language::Cxx || !is_named {
            return;
        }
        for word in lex::identifiers(self.source, lex::whole(self.source)) {
            match self.text(word) {
                "typeid" => self.cannot_write(
                    word,
                    "devices know no types when the program runs: they have no `typeid`",
                    "compare types with `std::is_same`, or store the kind of an object in a member of it",
                ),
                "dynamic_cast" => self.cannot_write(
                    word,
                    "devices know no types when the program runs: they have no `dynamic_cast`",
                    "call a virtual function of the object, or store the kind of an object in a member of it",
                ),
                _ => {}
            }
        }
    }
}
