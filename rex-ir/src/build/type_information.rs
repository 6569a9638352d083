//! What asks for the type of an object when the program runs: `typeid`, `dynamic_cast`.

use rex_syntax::lex;
use rex_syntax::source::Language;

use super::Builder;

/// The operators, why devices have none, and what to write instead.
const OPERATORS: [(&str, &str, &str); 2] = [
    (
        "typeid",
        "devices know no types when the program runs: they have no `typeid`",
        "compare types with `std::is_same`, or store the kind of an object in a member of it",
    ),
    (
        "dynamic_cast",
        "devices know no types when the program runs: they have no `dynamic_cast`",
        "call a virtual function of the object, or store the kind of an object in a member of it",
    ),
];

impl Builder<'_> {
    /// Notes the operators that device code cannot have.
    pub(super) fn refuse_type_information(&mut self) {
        let is_named = OPERATORS
            .iter()
            .any(|(operator, ..)| self.source.contains(operator));
        if self.unit.language != Language::Cxx || !is_named {
            return;
        }
        for word in lex::identifiers(self.source, lex::whole(self.source)) {
            for (operator, reason, help) in OPERATORS {
                let is_in_macro = || {
                    let names = self.macro_names(self.text(word), word);
                    names.iter().any(|name| name == operator)
                };
                if self.text(word) == operator
                    || self.macro_at(self.text(word), word).is_some() && is_in_macro()
                {
                    self.cannot_write(word, reason, help);
                }
            }
        }
    }
}
