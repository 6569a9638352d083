//! From the parser's tree to the flat list.

use std::cell::RefCell;

use text_size::{TextRange, TextSize};

use super::blocks::block;
use super::entry::{Entry, size};
use super::grammar::Grammar;
use super::pieces::pieces;
use crate::kind::Kind;
use crate::lex;
use crate::source::Language;

thread_local! {
    static PARSER: RefCell<tree_sitter::Parser> = RefCell::new(tree_sitter::Parser::new());
}

/// Parses a text in pieces of about `piece` bytes. The first entry is the translation unit, the whole text.
pub(super) fn parse(text: &str, piece: usize, language: Language) -> Vec<Entry> {
    let grammar = Grammar::of(language);
    let mut list = List::new(lex::whole(text), grammar);
    PARSER.with_borrow_mut(|parser| {
        let is_set = parser.set_language(&grammar.language).is_ok();
        let mut reader = Reader {
            parser,
            text,
            piece,
        };
        for range in pieces(text, piece, language) {
            if !is_set || reader.add(&mut list, range, &Around::default()).is_none() {
                list.unread(range);
            }
        }
    });
    list.finish()
}

/// What is parsed before and behind a part of a block, from the outermost item to the braces.
#[derive(Clone, Default)]
struct Around {
    before: Vec<TextRange>,
    behind: Vec<TextRange>,
}

impl Around {
    /// Where the brace stands behind which the part begins.
    fn brace(&self) -> Option<TextSize> {
        Some(self.before.last()?.end() - TextSize::of('{'))
    }

    /// The ranges of the text that are parsed for some of it.
    fn with(&self, inner: &[TextRange]) -> Vec<TextRange> {
        let behind = self.behind.iter().rev();
        let parts = self.before.iter().chain(inner).chain(behind);
        parts.copied().filter(|range| !range.is_empty()).collect()
    }
}

/// A range as the parser takes it; nobody asks for lines.
fn place(range: TextRange) -> tree_sitter::Range {
    let (start_byte, end_byte) = (range.start().into(), range.end().into());
    tree_sitter::Range {
        start_byte,
        end_byte,
        start_point: tree_sitter::Point::new(0, start_byte),
        end_point: tree_sitter::Point::new(0, end_byte),
    }
}

struct Reader<'p> {
    parser: &'p mut tree_sitter::Parser,
    text: &'p str,
    piece: usize,
}

impl Reader<'_> {
    /// Adds a piece of the text, or a part of a block. Nothing if the parser does not take it, or if a part does not parse alone.
    fn add(&mut self, list: &mut List, range: TextRange, around: &Around) -> Option<()> {
        let mark = list.entries.len();
        if self.add_block(list, range, around).is_some() {
            return Some(());
        }
        list.entries.truncate(mark);
        let parsed = self.parsed(&around.with(&[range]))?;
        let is_part = around.brace().is_some();
        if is_part && parsed.root_node().has_error() {
            return None;
        }
        list.append(&parsed, range, around, |_, _| Some(()))
    }

    /// The same, with the block that is most of it cut into parts.
    fn add_block(&mut self, list: &mut List, range: TextRange, around: &Around) -> Option<()> {
        if usize::from(range.len()) / 2 <= self.piece {
            return None;
        }
        let block = block(self.text, range, self.piece)?;
        let before = TextRange::new(range.start(), block.open.end());
        let behind = TextRange::new(block.close.start(), range.end());
        let frame = self.parsed(&around.with(&[before, behind]))?;
        if frame.root_node().has_error() {
            return None;
        }
        let mut inner = around.clone();
        inner.before.push(before);
        inner.behind.push(behind);
        let depth = list.open.len();
        let added = list.append(&frame, range, around, |list, entry| {
            if entry.start != block.open.start() || entry.is_named() {
                return Some(());
            }
            let mut parts = block.parts.iter();
            parts.try_for_each(|&part| self.add(list, part, &inner))
        });
        list.open.truncate(depth);
        added
    }

    fn parsed(&mut self, ranges: &[TextRange]) -> Option<tree_sitter::Tree> {
        let ranges: Vec<tree_sitter::Range> = ranges.iter().map(|&range| place(range)).collect();
        self.parser.set_included_ranges(&ranges).ok()?;
        self.parser.parse(self.text, None)
    }
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

    /// Adds what the parser read in a piece of the text, or in a part of the block that is open, and calls `behind` with each node whose
    /// end is reached. Nothing if that says so, or if the part was read as something else than the block.
    fn append(
        &mut self,
        parsed: &tree_sitter::Tree,
        range: TextRange,
        around: &Around,
        mut behind: impl FnMut(&mut List, Entry) -> Option<()>,
    ) -> Option<()> {
        let mut cursor = parsed.walk();
        let brace = around.brace();
        let is_empty = match brace {
            Some(brace) => !self.enter(&mut cursor, brace)?,
            None => !cursor.node().is_error() && !cursor.goto_first_child(),
        };
        if is_empty {
            return Some(());
        }
        let depth = self.open.len();
        loop {
            let entry = self.entry(&cursor);
            let is_next = self.open.len() == depth;
            if is_next && brace.is_some() && entry.start >= range.end() {
                return Some(());
            }
            self.open(entry);
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                self.close();
                behind(self, self.entry(&cursor))?;
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

    /// Goes to what follows a brace, if anything does. Nothing if it belongs to something else than the innermost open node.
    fn enter(&self, cursor: &mut tree_sitter::TreeCursor<'_>, brace: TextSize) -> Option<bool> {
        let mut outer;
        loop {
            outer = self.entry(cursor);
            cursor.goto_first_child_for_byte(brace.into())?;
            let node = cursor.node();
            if !node.is_named() && node.start_byte() == usize::from(brace) {
                break;
            }
        }
        let block = &self.entries[*self.open.last()? as usize];
        (outer.kind == block.kind).then(|| cursor.goto_next_sibling())
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
    fn unread(&mut self, piece: TextRange) {
        self.open(Entry::new(Kind::Error, 0, piece.start(), piece.end()));
        self.close();
    }

    fn finish(mut self) -> Vec<Entry> {
        self.close();
        self.entries
    }
}
