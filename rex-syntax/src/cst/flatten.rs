//! From the parser's tree to the flat list.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use text_size::{TextRange, TextSize};

use super::chains::Chain;
use super::cuts::{Cut, ListCut, cut};
use super::entry::Entry;
use super::grammar::Grammar;
use super::list::{Event, List, Place, SequencePart};
use super::pieces::pieces;
use crate::kind::Kind;
use crate::lex;
use crate::source::Language;

thread_local! {
    static PARSER: RefCell<tree_sitter::Parser> = RefCell::new(tree_sitter::Parser::new());
}

/// How long the parser may take for a text with errors: `base`, and `byte` for each byte.
///
/// Without errors it takes 0.2 µs for a byte. Behind some errors it tries, at each token, all that the brackets before it may be, which takes up to
/// a millisecond for a byte.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) base: Duration,
    pub(super) byte: Duration,
}

impl Patience {
    pub(super) const USUAL: Patience = Patience {
        base: Duration::from_secs(1),
        byte: Duration::from_micros(20),
    };

    fn of(self, ranges: &[TextRange]) -> Duration {
        let bytes: u32 = ranges.iter().map(|range| u32::from(range.len())).sum();
        self.base + self.byte * bytes
    }
}

/// Parses a text in pieces of about `piece` bytes. The first entry is the translation unit, the whole text.
///
/// A piece that `patience` is too short for is an error as a whole.
pub(super) fn parse(
    text: &str,
    piece: usize,
    language: Language,
    patience: Patience,
) -> Vec<Entry> {
    let grammar = Grammar::of(language);
    let mut list = List::new(lex::whole(text), grammar);
    PARSER.with_borrow_mut(|parser| {
        let is_set = parser.set_language(&grammar.language).is_ok();
        let mut reader = Reader {
            parser,
            text,
            piece,
            language,
            patience,
        };
        for range in pieces(text, piece, language) {
            if !is_set || reader.add(&mut list, range, &Around::default()).is_none() {
                list.unread(range);
            }
        }
    });
    list.finish()
}

/// What is parsed before and behind a part of the text, from the outermost item inwards.
#[derive(Clone, Default)]
struct Around {
    before: Vec<TextRange>,
    behind: Vec<TextRange>,
}

impl Around {
    /// What is parsed of a part of a list.
    fn place(&self) -> Place {
        match self.before.is_empty() {
            true => Place::File,
            false => Place::List,
        }
    }

    /// The same with some of an item before and behind a smaller part of it.
    fn within(&self, before: TextRange, behind: TextRange) -> Around {
        let mut inner = self.clone();
        inner.before.push(before);
        inner.behind.push(behind);
        inner
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
    language: Language,
    patience: Patience,
}

impl Reader<'_> {
    /// Adds a piece of the text, or a part of a list. Nothing if the parser does not take it, or if a part does not parse alone.
    fn add(&mut self, list: &mut List, range: TextRange, around: &Around) -> Option<()> {
        let (mark, depth) = (list.entries.len(), list.open.len());
        if self.add_cut(list, range, around).is_some() {
            return Some(());
        }
        list.entries.truncate(mark);
        list.open.truncate(depth);
        let parsed = self.parsed(&around.with(&[range]))?;
        let place = around.place();
        if place == Place::List && parsed.root_node().has_error() {
            return None;
        }
        list.append(&parsed, range, place, |_, _| Some(()))
    }

    /// The same, with the list or chain that is most of it cut into parts.
    fn add_cut(&mut self, list: &mut List, range: TextRange, around: &Around) -> Option<()> {
        if usize::from(range.len()) / 2 <= self.piece {
            return None;
        }
        match cut(self.text, range, self.piece, self.language)? {
            Cut::List(cut) => {
                let (mark, depth) = (list.entries.len(), list.open.len());
                if self.add_list(list, range, around, &cut).is_some() {
                    return Some(());
                }
                list.entries.truncate(mark);
                list.open.truncate(depth);
                self.add_sequence(list, range, around, &cut)
            }
            Cut::Chain(chain) => self.add_chain(list, range, around, &chain),
        }
    }

    fn add_list(
        &mut self,
        list: &mut List,
        range: TextRange,
        around: &Around,
        cut: &ListCut,
    ) -> Option<()> {
        let [before, behind] = cut.frame(range);
        let frame = self.parsed(&around.with(&[before, behind]))?;
        if frame.root_node().has_error() {
            return None;
        }
        let inner = around.within(before, behind);
        let mut is_added = false;
        list.append(&frame, range, around.place(), |list, event| {
            let is_here = matches!(event, Event::Opens(entry) if entry.start >= behind.start());
            if is_added || !is_here {
                return Some(());
            }
            is_added = true;
            let holder = list.innermost()?;
            if !cut.may_be_of(holder.kind) {
                return None;
            }
            let mut parts = cut.parts.iter();
            parts.try_for_each(|&part| self.add(list, part, &inner))
        })?;
        is_added.then_some(())
    }

    /// The same for a list that is an expression: `f(1), f(2), f(3)`.
    fn add_sequence(
        &mut self,
        list: &mut List,
        range: TextRange,
        around: &Around,
        cut: &ListCut,
    ) -> Option<()> {
        let [before, behind] = cut.frame(range);
        let first_end = last_token(self.text, before)?;
        let end = last_token(self.text, cut.inside)?;
        let has_comments =
            lex::tokens(self.text, cut.inside).any(|token| token.kind == lex::TokenKind::Comment);
        let frame = self.parsed(&around.with(&[before, behind]))?;
        if has_comments || frame.root_node().has_error() {
            return None;
        }
        let inner = around.within(before, behind);
        let mut first: Option<(TextRange, usize)> = None;
        list.append(&frame, range, around.place(), |list, event| match event {
            Event::Opens(entry) => {
                let is_first = first.is_none() && entry.end == first_end;
                let holder = list.innermost()?.kind;
                if is_first && entry.kind.is_expression() && may_hold_sequence(holder) {
                    list.open_chain(1, entry);
                    first = Some((entry.range(), list.open.len()));
                }
                Some(())
            }
            Event::Closed(entry) if first == Some((entry.range(), list.open.len())) => {
                for (idx, part) in cut.parts.iter().enumerate() {
                    let parsed = self.parsed(&inner.with(&[*part]))?;
                    let place = match idx + 1 == cut.parts.len() {
                        true => SequencePart::Last,
                        false => SequencePart::Other,
                    };
                    if parsed.root_node().has_error() {
                        return None;
                    }
                    let part_end = last_token(self.text, *part)?;
                    list.append_sequence(&parsed, &entry, (part_end, end), place)?;
                }
                let (_, depth) = first?;
                list.close_to(depth - 1);
                Some(())
            }
            Event::Closed(_) => Some(()),
        })?;
        first.map(drop)
    }

    fn add_chain(
        &mut self,
        list: &mut List,
        range: TextRange,
        around: &Around,
        chain: &Chain,
    ) -> Option<()> {
        let operand = chain.first;
        let before = TextRange::new(range.start(), operand.start());
        let behind = TextRange::new(chain.behind_first().end(), range.end());
        let frame = self.parsed(&around.with(&[before, operand, behind]))?;
        if frame.root_node().has_error() {
            return None;
        }
        let inner = around.within(TextRange::new(range.start(), operand.end()), behind);
        let mut depth = None;
        list.append(&frame, range, around.place(), |list, event| match event {
            Event::Opens(entry) if depth.is_none() && entry.range() == operand => {
                list.open_chain(chain.operators.len(), entry);
                depth = Some(list.open.len());
                Some(())
            }
            Event::Closed(entry) if entry.range() == operand && depth == Some(list.open.len()) => {
                chain.parts().try_for_each(|links| {
                    let parsed = self.parsed(&inner.with(&[links.range]))?;
                    if parsed.root_node().has_error() {
                        return None;
                    }
                    list.append_links(&parsed, &entry, &links)
                })?;
                list.stretch_open(operand.end(), chain.behind_first().end());
                Some(())
            }
            Event::Opens(_) | Event::Closed(_) => Some(()),
        })?;
        depth.map(drop)
    }

    fn parsed(&mut self, ranges: &[TextRange]) -> Option<tree_sitter::Tree> {
        let patience = self.patience.of(ranges);
        let ranges: Vec<tree_sitter::Range> = ranges.iter().map(|&range| place(range)).collect();
        self.parser.set_included_ranges(&ranges).ok()?;
        let begun = Instant::now();
        let mut is_late = |state: &tree_sitter::ParseState| {
            if state.has_error() && begun.elapsed() > patience {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let options = tree_sitter::ParseOptions::new().progress_callback(&mut is_late);
        let bytes = self.text.as_bytes();
        let mut read = |start: usize, _| bytes.get(start..).unwrap_or_default();
        let parsed = self
            .parser
            .parse_with_options(&mut read, None, Some(options));
        if parsed.is_none() {
            // It would go on with this text otherwise.
            self.parser.reset();
        }
        parsed
    }
}

/// Whether a node may have an expression with commas for its only operand.
fn may_hold_sequence(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ExpressionStatement | Kind::ParenthesizedExpression | Kind::ReturnStatement
    )
}

/// The end of the last token.
fn last_token(text: &str, range: TextRange) -> Option<TextSize> {
    let last = lex::significant_tokens(text, range).last()?;
    Some(last.range.end())
}

/// Whether an item is cut into parts that parse, for tests.
#[cfg(test)]
pub(super) fn is_cut(text: &str, item: TextRange, piece: usize, language: Language) -> bool {
    let grammar = Grammar::of(language);
    let mut list = List::new(lex::whole(text), grammar);
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar.language).expect("it is known");
        let mut reader = Reader {
            parser,
            text,
            piece,
            language,
            patience: Patience::USUAL,
        };
        reader
            .add_cut(&mut list, item, &Around::default())
            .is_some()
    })
}
