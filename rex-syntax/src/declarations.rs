//! Finds declarations by name in preprocessed text.
//!
//! One pass over the characters that knows brackets, strings and the few keywords that begin scopes. It does not parse: system headers
//! of C++ would cost more than the rest of the compilation. The text of a declaration can be parsed alone when it is needed.

mod scan;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::TextRange;

use crate::expansion::{Expansion, HeaderOrigin};
use crate::lex::slice;

/// Declarations of a translation unit by name. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct HeaderIndex<'e> {
    expansion: &'e Expansion,
    index: &'e Index,
}

/// One declaration found by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclText<'e> {
    /// The complete declaration, up to its `;` or the end of its body.
    pub text: &'e str,
    /// Which kind of file it stands in.
    pub origin: HeaderOrigin,
    /// The 1-based line in that file.
    pub line: u32,
    /// The namespaces around it, `std::chrono`; empty at file scope.
    pub scope: SmolStr,
}

/// What a name is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclKind {
    /// `typedef`, or `using name = ..`.
    Typedef,
    /// `struct`, `union`, `enum` or `class`.
    Tag,
    /// A function, with or without body.
    Function,
    /// An object.
    Variable,
    /// A constant of an enumeration; its text is the whole enumeration.
    Enumerator,
}

impl<'e> HeaderIndex<'e> {
    pub(crate) fn new(expansion: &'e Expansion, index: &'e Index) -> HeaderIndex<'e> {
        HeaderIndex { expansion, index }
    }

    /// The declaration of a type name.
    pub fn typedef(self, name: &str) -> Option<DeclText<'e>> {
        self.best(name, DeclKind::Typedef)
    }

    /// The declaration of a `struct`, `union`, `enum` or `class`; a definition is preferred.
    pub fn tag(self, name: &str) -> Option<DeclText<'e>> {
        self.best(name, DeclKind::Tag)
    }

    /// A declaration of a function; a definition is preferred.
    pub fn function(self, name: &str) -> Option<DeclText<'e>> {
        self.best(name, DeclKind::Function)
    }

    /// The declaration of an object.
    pub fn variable(self, name: &str) -> Option<DeclText<'e>> {
        self.best(name, DeclKind::Variable)
    }

    /// The enumeration that holds a constant.
    pub fn enumerator(self, name: &str) -> Option<DeclText<'e>> {
        self.best(name, DeclKind::Enumerator)
    }

    /// Every declaration of a name as this kind, in source order.
    pub fn all(self, name: &str, kind: DeclKind) -> Vec<DeclText<'e>> {
        let mut found: Vec<&Entry> = self.entries(name, kind).collect();
        found.reverse();
        found.into_iter().map(|entry| self.text_of(entry)).collect()
    }

    fn entries(self, name: &str, kind: DeclKind) -> impl Iterator<Item = &'e Entry> {
        let entries = &self.index.entries;
        let first = self.index.last_of_name.get(name).copied();
        std::iter::successors(first.and_then(|idx| entries.get(idx as usize)), |entry| {
            entries.get(entry.previous? as usize)
        })
        .filter(move |entry| entry.kind == kind)
    }

    /// Prefers file scope, then a body, then the last one in the text.
    fn best(self, name: &str, kind: DeclKind) -> Option<DeclText<'e>> {
        let entry = self
            .entries(name, kind)
            .max_by_key(|entry| (entry.scope == 0, entry.has_body))?;
        Some(self.text_of(entry))
    }

    fn text_of(self, entry: &Entry) -> DeclText<'e> {
        let (origin, line) = self.expansion.place_of(entry.range.start());
        let scope = self.index.scopes.get(entry.scope as usize);
        DeclText {
            text: slice(self.expansion.code(), entry.range),
            origin,
            line,
            scope: scope.cloned().unwrap_or_default(),
        }
    }
}

/// The table behind [`HeaderIndex`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    last_of_name: FxHashMap<SmolStr, u32>,
    scopes: Vec<SmolStr>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: DeclKind,
    has_body: bool,
    scope: u32,
    range: TextRange,
    /// The entry before it with the same name.
    previous: Option<u32>,
}

#[cfg(test)]
mod tests;
