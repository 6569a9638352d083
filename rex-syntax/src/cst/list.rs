//! The flat list while it grows.

use text_size::{TextRange, TextSize};

use super::chains::Links;
use super::entry::{Entry, size};
use super::grammar::Grammar;
use crate::kind::{Field, Kind};
use crate::lex;

/// What a text that was parsed is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Items of the file.
    File,
    /// A part of the list that is open, with what stands around it.
    List,
}

/// Where the list is in a tree.
pub(super) enum Event<'e> {
    /// The node comes next.
    Opens(&'e mut Entry),
    /// The node's end is reached.
    Closed(Entry),
}

/// Which part of an expression with commas is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SequencePart {
    /// The one that ends it.
    Last,
    Other,
}

/// How many nodes to make room for. Room that is not used costs nothing, a list that grows is copied.
fn expected(length: usize) -> usize {
    const LONG: usize = 8 << 20;
    (length + length / 2).min(length / 2 + LONG) + 16
}

/// A list that grows in source order.
pub(super) struct List {
    pub(super) entries: Vec<Entry>,
    /// The nodes around what comes next.
    pub(super) open: Vec<u32>,
    grammar: &'static Grammar,
}

impl List {
    pub(super) fn new(whole: TextRange, grammar: &'static Grammar) -> List {
        let mut list = List {
            entries: Vec::with_capacity(expected(whole.len().into())),
            open: Vec::new(),
            grammar,
        };
        list.open(Entry::new(
            Kind::TranslationUnit,
            0,
            whole.start(),
            whole.end(),
        ));
        list
    }

    fn open(&mut self, mut entry: Entry) {
        entry.parent = self.open.last().copied().unwrap_or(0);
        self.open.push(size(self.entries.len()));
        self.entries.push(entry);
    }

    /// Closes the innermost open node: its subtree ends here, and its errors are its parent's too.
    fn close(&mut self) {
        let end = size(self.entries.len());
        let Some(closed) = self.open.pop().map(|idx| &mut self.entries[idx as usize]) else {
            return;
        };
        closed.subtree_end = end;
        let (kind, has_error) = (closed.kind, closed.has_error());
        let Some(parent) = self.open.last().map(|&idx| &mut self.entries[idx as usize]) else {
            return;
        };
        // The grammar wants a declarator in `template class S<int>;`.
        let is_harmless = kind == Kind::Missing && parent.kind == Kind::TemplateInstantiation;
        if has_error && !is_harmless {
            parent.set_error();
        }
    }

    /// Adds what the parser read in a piece of the text, or in a part of the list that is open, and calls `at` before and behind each node.
    /// Nothing if that says so, or if the part was read as something else than the list.
    pub(super) fn append(
        &mut self,
        parsed: &tree_sitter::Tree,
        range: TextRange,
        place: Place,
        mut at: impl FnMut(&mut List, Event<'_>) -> Option<()>,
    ) -> Option<()> {
        let mut cursor = parsed.walk();
        let is_empty = match place {
            Place::File => !cursor.node().is_error() && !cursor.goto_first_child(),
            Place::List => !self.enter(&mut cursor, range.start())?,
        };
        if is_empty {
            return Some(());
        }
        let depth = self.open.len();
        loop {
            let mut entry = self.entry(&cursor);
            let is_next = self.open.len() == depth;
            if is_next && place == Place::List && entry.start >= range.end() {
                return Some(());
            }
            at(self, Event::Opens(&mut entry))?;
            self.open(entry);
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                self.close();
                at(self, Event::Closed(self.entry(&cursor)))?;
                if cursor.goto_next_sibling() {
                    break;
                }
                let is_done = self.open.len() <= depth;
                if is_done || !cursor.goto_parent() {
                    return Some(());
                }
            }
        }
    }

    /// Goes to the first element of the innermost open node that begins at a place or behind it; false if there is none. Nothing if such an
    /// element belongs to another node.
    fn enter(&self, cursor: &mut tree_sitter::TreeCursor<'_>, from: TextSize) -> Option<bool> {
        let list = &self.entries[*self.open.last()? as usize];
        loop {
            let outer = self.entry(cursor);
            cursor.goto_first_child_for_byte(from.into())?;
            if cursor.node().start_byte() >= usize::from(from) {
                return (outer.kind == list.kind && outer.start < from).then_some(true);
            }
        }
    }

    /// The node around what comes next.
    pub(super) fn innermost(&self) -> Option<Entry> {
        let idx = *self.open.last()?;
        self.entries.get(idx as usize).copied()
    }

    /// Opens the nodes of a chain in the place of its first operand, each the first operand of the one before it; what they are is said later.
    pub(super) fn open_chain(&mut self, n_nodes: usize, operand: &mut Entry) {
        for _ in 0..n_nodes {
            self.open(*operand);
            operand.field = Some(Field::Left);
        }
    }

    /// Adds what the parser read of a chain behind its first operand, to as many of the innermost open nodes as there are operators, and closes
    /// these. Nothing if the parser read something else.
    pub(super) fn append_links(
        &mut self,
        parsed: &tree_sitter::Tree,
        operand: &Entry,
        links: &Links<'_>,
    ) -> Option<()> {
        let mut cursor = parsed.walk();
        let whole = TextRange::new(operand.start, links.range.end());
        while self.entry(&cursor).range() != whole {
            cursor.goto_first_child_for_byte(whole.start().into())?;
        }
        for _ in links.operators {
            let link = self.entry(&cursor);
            let is_link = link.kind == Kind::BinaryExpression && link.start == operand.start;
            if !is_link || !cursor.goto_first_child() {
                return None;
            }
        }
        let first = self.entry(&cursor);
        if (first.kind, first.range()) != (operand.kind, operand.range()) {
            return None;
        }
        for operator in links.operators {
            let mut has_operator = false;
            while cursor.goto_next_sibling() {
                has_operator |= cursor.node().start_byte() == usize::from(*operator);
                self.append_subtree(&mut cursor);
            }
            if !has_operator || !cursor.goto_parent() {
                return None;
            }
            let idx = *self.open.last()? as usize;
            let mut link = self.entry(&cursor);
            let known = &mut self.entries[idx];
            (link.parent, link.field) = (known.parent, known.field);
            *known = link;
            self.close();
        }
        Some(())
    }

    /// Adds what the parser read of a part of an expression with commas, from the comma behind its first operand or the part before it on. Every comma
    /// has all behind it as its second operand, and its node stays open. `ends` are the ends of the part and of the whole. Nothing if the parser read something else.
    pub(super) fn append_sequence(
        &mut self,
        parsed: &tree_sitter::Tree,
        first: &Entry,
        ends: (TextSize, TextSize),
        part: SequencePart,
    ) -> Option<()> {
        let (part_end, end) = ends;
        let mut cursor = parsed.walk();
        let whole = TextRange::new(first.start, part_end);
        let is_whole =
            |entry: &Entry| entry.kind == Kind::CommaExpression && entry.range() == whole;
        while !is_whole(&self.entry(&cursor)) {
            cursor.goto_first_child_for_byte(whole.start().into())?;
        }
        let mut link = self.entry(&cursor);
        link.end = end;
        let known = &mut self.entries[*self.open.last()? as usize];
        if known.kind != Kind::CommaExpression {
            (link.parent, link.field) = (known.parent, known.field);
            *known = link;
        }
        cursor.goto_first_child();
        let read = self.entry(&cursor);
        if (read.kind, read.range()) != (first.kind, first.range()) {
            return None;
        }
        while cursor.goto_next_sibling() {
            let operand = self.entry(&cursor);
            let is_operand = operand.field == Some(Field::Right);
            let is_nested = is_operand && operand.kind == Kind::CommaExpression;
            if !is_operand || (!is_nested && part == SequencePart::Last) {
                self.append_subtree(&mut cursor);
                continue;
            }
            link.field = Some(Field::Right);
            link.start = operand.start;
            self.open(link);
            if is_nested {
                cursor.goto_first_child();
            }
            let left = self.entries.len();
            self.append_subtree(&mut cursor);
            self.entries[left].field = Some(Field::Left);
        }
        Some(())
    }

    /// Closes the innermost open nodes until so many are open.
    pub(super) fn close_to(&mut self, n_open: usize) {
        while self.open.len() > n_open {
            self.close();
        }
    }

    /// Lets the open nodes that end at a place end at another.
    pub(super) fn stretch_open(&mut self, from: TextSize, to: TextSize) {
        for idx in self.open.iter().rev() {
            let entry = &mut self.entries[*idx as usize];
            if entry.end != from {
                return;
            }
            entry.end = to;
        }
    }

    /// Adds the node where a cursor stands and all below it.
    fn append_subtree(&mut self, cursor: &mut tree_sitter::TreeCursor<'_>) {
        let depth = self.open.len();
        loop {
            self.open(self.entry(cursor));
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                self.close();
                if self.open.len() == depth {
                    return;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                cursor.goto_parent();
            }
        }
    }

    fn entry(&self, cursor: &tree_sitter::TreeCursor<'_>) -> Entry {
        let node = cursor.node();
        let place = lex::range(node.start_byte(), node.end_byte());
        let kind = if node.is_missing() {
            Kind::Missing
        } else if node.is_error() {
            Kind::Error
        } else {
            self.grammar.kind(node.kind_id())
        };
        let mut entry = Entry::new(kind, node.kind_id(), place.start(), place.end());
        entry.field = cursor
            .field_id()
            .and_then(|id| self.grammar.field(id.get()));
        if !node.is_named() {
            entry.set_anonymous();
        }
        entry
    }

    /// Adds a piece that the parser did not take.
    pub(super) fn unread(&mut self, piece: TextRange) {
        self.open(Entry::new(Kind::Error, 0, piece.start(), piece.end()));
        self.close();
    }

    pub(super) fn finish(mut self) -> Vec<Entry> {
        self.close();
        self.entries.shrink_to_fit();
        self.entries
    }
}
