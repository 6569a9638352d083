//! Finds declarations by name in preprocessed text.
//!
//! One pass over the characters that knows brackets, strings and the few keywords that begin scopes. It does not parse: system headers
//! of C++ would cost more than the rest of the compilation. The text of a declaration can be parsed alone when it is needed.

mod scan;

use smol_str::SmolStr;
use text_size::TextRange;

use crate::expansion::{Expansion, HeaderOrigin};
use crate::lex::slice;

/// What a class declares, each name's members in source order: functions have the name `operator` if it is no word. Its text is that of a [`DeclKind::Tag`].
pub fn members(class: &str) -> Vec<(SmolStr, DeclKind, &str)> {
    let body = class.split_once('{').map_or("", |(_, body)| body);
    let index = Index::scan(body.trim_end_matches([';', '}']));
    let mut found: Vec<(SmolStr, DeclKind, &str)> = Vec::new();
    let entries = index.by_name();
    found.extend(entries.map(|entry| {
        let name = SmolStr::from(slice(body, entry.name));
        (name, entry.kind, slice(body, entry.range))
    }));
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
        let entries = self.entries(name, kind);
        entries.map(|entry| self.text_of(entry)).collect()
    }

    /// Every declaration, each name's in source order.
    pub fn iter(self) -> impl Iterator<Item = (&'e str, DeclKind, DeclText<'e>)> {
        let entries = self.index.by_name();
        entries.map(move |entry| {
            let name = slice(self.expansion.code(), entry.name);
            (name, entry.kind, self.text_of(entry))
        })
    }

    fn entries(self, name: &str, kind: DeclKind) -> impl DoubleEndedIterator<Item = &'e Entry> {
        let code = self.expansion.code();
        let entries = self.index.entries_of(code, name);
        entries.filter(move |entry| entry.kind == kind)
    }

    /// Prefers file scope, then a body, then the first one in the text.
    fn best(self, name: &str, kind: DeclKind) -> Option<DeclText<'e>> {
        let entry = self
            .entries(name, kind)
            .rev()
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
///
/// Names are places in the text that was scanned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// In source order.
    entries: Vec<Entry>,
    /// The same by name, those of one name in source order.
    sorted: Vec<u32>,
    scopes: Vec<SmolStr>,
}

impl Index {
    fn by_name(&self) -> impl Iterator<Item = &Entry> {
        let sorted = self.sorted.iter();
        sorted.filter_map(|idx| self.entries.get(*idx as usize))
    }

    fn entries_of(&self, code: &str, name: &str) -> impl DoubleEndedIterator<Item = &Entry> {
        let name_of = |idx: &u32| {
            self.entries
                .get(*idx as usize)
                .map(|it| slice(code, it.name))
        };
        let first = self.sorted.partition_point(|idx| name_of(idx) < Some(name));
        let n_same = self.sorted[first..].partition_point(|idx| name_of(idx) == Some(name));
        let same = self.sorted[first..first + n_same].iter();
        same.filter_map(|idx| self.entries.get(*idx as usize))
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: DeclKind,
    has_body: bool,
    scope: u32,
    name: TextRange,
    range: TextRange,
}

#[cfg(test)]
mod tests;
