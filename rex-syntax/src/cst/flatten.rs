//! From the parser's tree to the flat list.

use std::cell::RefCell;

use text_size::{TextRange, TextSize};

use super::entry::{Entry, size};
use super::grammar::Grammar;
use super::pieces::pieces;
use crate::kind::Kind;
use crate::lex;
use crate::source::Language;

thread_local! {
    static PARSER: RefCell<tree_sitter::Parser> = RefCell::new(tree_sitter::Parser::new());
}

/// Parses a text in pieces of at least `piece` bytes. The first entry is the translation unit, the whole text.
pub(super) fn parse(text: &str, piece: usize, language: Language) -> Vec<Entry> {
    let grammar = Grammar::of(language);
    let mut list = List::new(lex::whole(text), grammar);
    PARSER.with_borrow_mut(|parser| {
        let is_set = parser.set_language(&grammar.language).is_ok();
        for range in pieces(text, piece, language) {
            let parsed = is_set.then(|| parser.parse(lex::slice(text, range), None));
            match parsed.flatten() {
                Some(parsed) => list.append(&parsed, range),
                None => list.unread(range),
            }
        }
    });
    list.finish()
}

/// A list that grows in source order.
struct List {
    entries: Vec<Entry>,
    /// The nodes around what comes next.
    open: Vec<u32>,
    grammar: &'static Grammar,
}

impl List {
    fn new(whole: TextRange, grammar: &'static Grammar) -> List {
        let mut list = List {
            entries: Vec::with_capacity(usize::from(whole.len()) / 2 + 16),
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

    /// Adds what the parser read in one piece of the text.
    fn append(&mut self, parsed: &tree_sitter::Tree, piece: TextRange) {
        let mut cursor = parsed.walk();
        let is_unit = !cursor.node().is_error();
        if is_unit && !cursor.goto_first_child() {
            return;
        }
        let depth = self.open.len();
        loop {
            self.open(self.entry(&cursor, piece.start()));
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                self.close();
                if cursor.goto_next_sibling() {
                    break;
                }
                let is_done = self.open.len() <= depth;
                if is_done || !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn entry(&self, cursor: &tree_sitter::TreeCursor<'_>, base: TextSize) -> Entry {
        let node = cursor.node();
        let place = lex::range(node.start_byte(), node.end_byte()) + base;
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
    fn unread(&mut self, piece: TextRange) {
        self.open(Entry::new(Kind::Error, 0, piece.start(), piece.end()));
        self.close();
    }

    fn finish(mut self) -> Vec<Entry> {
        self.close();
        self.entries
    }
}
