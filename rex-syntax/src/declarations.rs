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

/// What a class declares, each name's members in source order: functions have the name `operator` if it is no word. Its text is that of a [`DeclKind::Tag`].
pub fn members(class: &str) -> Vec<(SmolStr, DeclKind, &str)> {
    let body = class.split_once('{').map_or("", |(_, body)| body);
    let index = Index::scan(body.trim_end_matches([';', '}']));
    let mut found: Vec<(SmolStr, DeclKind, &str)> = Vec::new();
    for name in index.names() {
        let mut entries: Vec<&Entry> = index.entries_of(name).collect();
        entries.reverse();
        let texts = entries.into_iter();
        found.extend(texts.map(|entry| (name.clone(), entry.kind, slice(body, entry.range))));
    }
    found
}

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

    /// Every declaration, each name's in source order.
    pub fn iter(self) -> impl Iterator<Item = (&'e SmolStr, DeclKind, DeclText<'e>)> {
        self.index.names().into_iter().flat_map(move |name| {
            let mut found: Vec<&Entry> = self.index.entries_of(name).collect();
            found.reverse();
            let found = found.into_iter();
            found.map(move |entry| (name, entry.kind, self.text_of(entry)))
        })
    }

    fn entries(self, name: &str, kind: DeclKind) -> impl Iterator<Item = &'e Entry> {
        self.index
            .entries_of(name)
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

impl Index {
    fn names(&self) -> Vec<&SmolStr> {
        let mut names: Vec<&SmolStr> = self.last_of_name.keys().collect();
        names.sort_unstable();
        names
    }

    /// The last one first.
    fn entries_of(&self, name: &str) -> impl Iterator<Item = &Entry> {
        let first = self.last_of_name.get(name).copied();
        let first = first.and_then(|idx| self.entries.get(idx as usize));
        std::iter::successors(first, |entry| self.entries.get(entry.previous? as usize))
    }
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
