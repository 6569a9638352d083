//! One node in the flat list of a tree.

use text_size::{TextRange, TextSize};

use crate::kind::{Field, Kind};

/// A node of 20 bytes. Its subtree is the entries from its own index to `subtree_end`.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) field: Option<Field>,
    /// The grammar's number of what it is, and [`ANONYMOUS`] and [`HAS_ERROR`].
    symbol: u16,
    pub(super) start: TextSize,
    pub(super) end: TextSize,
    pub(super) parent: u32,
    pub(super) subtree_end: u32,
}

const ANONYMOUS: u16 = 1 << 15;
const HAS_ERROR: u16 = 1 << 14;

impl Entry {
    /// A node without anything below it yet.
    pub(super) fn new(kind: Kind, symbol: u16, start: TextSize, end: TextSize) -> Entry {
        let error = match kind {
            Kind::Missing | Kind::Error => HAS_ERROR,
            _ => 0,
        };
        Entry {
            kind,
            field: None,
            symbol: symbol & !(ANONYMOUS | HAS_ERROR) | error,
            start,
            end,
            parent: 0,
            subtree_end: 0,
        }
    }

    pub(super) fn range(&self) -> TextRange {
        TextRange::new(self.start, self.end)
    }

    pub(super) fn symbol(&self) -> u16 {
        self.symbol & !(ANONYMOUS | HAS_ERROR)
    }

    pub(super) fn is_named(&self) -> bool {
        self.symbol & ANONYMOUS == 0
    }

    pub(super) fn set_anonymous(&mut self) {
        self.symbol |= ANONYMOUS;
    }

    pub(super) fn has_error(&self) -> bool {
        self.symbol & HAS_ERROR != 0
    }

    pub(super) fn set_error(&mut self) {
        self.symbol |= HAS_ERROR;
    }
}

/// An index or length as the list keeps it.
pub(super) fn size(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
