//! Whether objects are copied by functions that the user wrote.

use rex_syntax::lex::{Token, significant_tokens};

use crate::program::Program;
use crate::ty::{RecordId, TypeId};

impl Program {
    /// Whether objects of a type, or elements of it, have a copy constructor of the user's.
    pub fn has_copy_constructor(&self, ty: TypeId) -> bool {
        let mut classes = self.types.classes_of(ty).into_iter();
        classes.any(|class| self.declares_copy_constructor(class))
    }

    /// `Name(const Name &other)`, neither defaulted nor deleted.
    fn declares_copy_constructor(&self, record: RecordId) -> bool {
        let found = &self.types.records[record];
        let Some(body) = found.body else {
            return false;
        };
        let source = self.source();
        let tokens: Vec<Token> = significant_tokens(source, body).collect();
        let words: Vec<&str> = tokens.iter().map(|token| token.text(source)).collect();
        let name = found.name.as_str();
        (0..words.len()).any(|at| {
            let is_call = words[at] == name
                && words.get(at + 1) == Some(&"(")
                && (at == 0 || words[at - 1] != "~");
            if !is_call {
                return false;
            }
            let Some(length) = words[at + 2..].iter().position(|word| *word == ")") else {
                return false;
            };
            let parameter = &words[at + 2..at + 2 + length];
            let after = &words[at + 2 + length + 1..];
            let is_copy =
                parameter.contains(&name) && parameter.contains(&"&") && !parameter.contains(&",");
            is_copy && !(after.first() == Some(&"=") && after.len() > 1)
        })
    }
}
