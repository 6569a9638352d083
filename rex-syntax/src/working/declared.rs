//! Macros that stand for declarations of a file or class, or for names of these: types and functions of which device code needs its own.

use text_size::TextRange;

use super::Code;
use crate::edit::EditSet;
use crate::lex::{self, TokenKind};

/// The words before a brace behind which declarations stand.
const HEADS: [&str; 3] = ["namespace", "class", "struct"];

/// The words before a colon behind which a member may be declared.
const ACCESS: [&str; 3] = ["public", "protected", "private"];

impl Code<'_> {
    /// Writes out the calls at file scope and in classes that stand for whole declarations, in files with directives.
    pub(super) fn declaration_edits(&self) -> EditSet {
        let mut edits = EditSet::new();
        if self.lexed.pragmas.is_empty() {
            return edits;
        }
        let partners = lex::Partners::of(self.text, &self.lexed.tokens);
        // For each open bracket whether declarations of the file, or of a class, stand behind it.
        let mut open: Vec<bool> = Vec::new();
        let mut begins = true;
        let mut idx = 0;
        while let Some(&token) = self.lexed.tokens.get(idx) {
            let word = token.text(self.text);
            if let Some((range, expansion)) = self.name_call(idx, &partners) {
                edits.replace(range, expansion);
                begins = false;
                idx = self.after(range);
                continue;
            }
            if token.kind == TokenKind::Identifier && open.iter().all(|declares| *declares) {
                let start = token.range.start();
                let at = self.written_at(start);
                let whole = begins
                    .then(|| self.macros.declarations_of_call(self.text, start, at))
                    .flatten();
                let is_whole = whole.is_some();
                let found = whole.or_else(|| self.declaration_part(idx, begins));
                if let Some((range, expansion)) = found {
                    begins = is_whole || expansion.ends_with(['}', ';']);
                    edits.replace(range, expansion);
                    idx = self.after(range);
                    continue;
                }
            }
            begins = match word {
                "{" => {
                    open.push(self.opens_declarations(idx));
                    true
                }
                "(" | "[" => {
                    open.push(false);
                    false
                }
                "}" | ")" | "]" => {
                    open.pop();
                    word == "}"
                }
                ":" => idx > 0 && ACCESS.contains(&self.token_text(idx - 1)),
                _ => word == ";",
            };
            idx += 1;
        }
        edits
    }

    /// Expands a call that makes a name where no call can stand: `namespace NAME(x) {`, `NAME(x)::f()`, `a::NAME(x)()`.
    fn name_call(&self, idx: usize, partners: &lex::Partners) -> Option<(TextRange, String)> {
        let name = self.lexed.tokens.get(idx)?;
        if name.kind != TokenKind::Identifier || self.token_text(idx + 1) != "(" {
            return None;
        }
        let before = idx.checked_sub(1).map_or("", |at| self.token_text(at));
        let word = name.text(self.text);
        if !self.macros.is_macro_somewhere(word) {
            return None;
        }
        let start = name.range.start();
        let at = self.written_at(start);
        let is_name = self.token_text(partners.closing(idx + 1)? + 1) == "::"
            || before == "namespace"
            || before == "::" && self.macros.makes_names(word, at);
        is_name.then(|| self.macros.expand_call_at(self.text, start, at))?
    }

    /// Expands a call that begins a statement and declares variables: `DECLARE(x) = 1;`.
    pub(super) fn declared_variables(&self, idx: usize) -> Option<(TextRange, String)> {
        let start = self.lexed.tokens.get(idx)?.range.start();
        let before = idx.checked_sub(1).map(|before| self.token_text(before));
        if !matches!(before, Some(";" | "{" | "}")) {
            return None;
        }
        let call = self.macros.variables_of_call(self.text, start, start)?;
        // What stands for a type has the name behind it.
        let is_whole = call.1.ends_with(';')
            || matches!(
                self.token_text(self.after(call.0)),
                ";" | "=" | "," | "[" | "{"
            );
        is_whole.then_some(call)
    }

    /// Expands a call that stands for the first base of a class: `struct S : CONCEPT(x) {};` would be a function.
    pub(super) fn base_class_call(&self, idx: usize) -> Option<(TextRange, String)> {
        let class = idx.checked_sub(3).map(|class| self.token_text(class));
        let is_base = matches!(class, Some("struct" | "class"))
            && self.token_text(idx - 1) == ":"
            && self.token_text(idx + 1) == "(";
        let start = self.lexed.tokens.get(idx)?.range.start();
        is_base.then(|| self.macros.expand_call(self.text, start))?
    }

    /// Whether a brace is that of a namespace, of `extern "C"`, or of a class, whose functions device code may call.
    fn opens_declarations(&self, brace: usize) -> bool {
        let mut before = (0..brace).rev().map(|idx| self.token_text(idx));
        let is_linkage = brace >= 2
            && self.token_text(brace - 1).starts_with('"')
            && self.token_text(brace - 2) == "extern";
        is_linkage
            || before
                .find(|word| HEADS.contains(word) || matches!(*word, ";" | "}" | "{" | ")" | "="))
                .is_some_and(|word| HEADS.contains(&word))
    }
}
