//! Text edits over original bytes.
//!
//! An [`EditSet`] is a list of disjoint replacements with offsets into the *original* text, so edits made by independent parts of the
//! compiler compose without knowing of each other. Two edits that overlap are a reported [`EditConflict`], never a silent choice.

use std::cmp::Reverse;

use text_size::{TextRange, TextSize};

/// Replaces `range` of the original by `insert`. An empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes replaced, in original offsets.
    pub range: TextRange,
    /// What stands there afterwards.
    pub insert: String,
    /// Orders insertions at one offset; ties keep the order in which they were added.
    pub rank: u32,
}

impl TextEdit {
    fn key(&self) -> (TextSize, bool, u32) {
        (self.range.start(), !self.range.is_empty(), self.rank)
    }
}

/// Two edits that want the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edits overlap: {first:?} and {second:?}")]
pub struct EditConflict {
    /// The edit that begins first.
    pub first: TextRange,
    /// The edit that overlaps it.
    pub second: TextRange,
}

/// A set of edits of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditSet {
    edits: Vec<TextEdit>,
}

impl EditSet {
    /// No edits.
    pub fn new() -> EditSet {
        EditSet::default()
    }

    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The edits, in the order they were added.
    pub fn edits(&self) -> &[TextEdit] {
        &self.edits
    }

    /// Replaces a range.
    pub fn replace(&mut self, range: TextRange, insert: impl Into<String>) {
        self.push(range, insert.into(), 0);
    }

    /// Deletes a range.
    pub fn delete(&mut self, range: TextRange) {
        self.replace(range, "");
    }

    /// Inserts at an offset; a smaller rank comes first, equal ranks keep their order.
    pub fn insert(&mut self, at: TextSize, rank: u32, insert: impl Into<String>) {
        self.push(TextRange::empty(at), insert.into(), rank);
    }

    /// Keeps only some edits.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&TextEdit) -> bool) {
        self.edits.retain(keep);
    }

    fn push(&mut self, range: TextRange, mut insert: String, rank: u32) {
        insert.shrink_to_fit();
        self.edits.push(TextEdit {
            range,
            insert,
            rank,
        });
    }

    /// Adds all edits of another set over the same text.
    pub fn extend(&mut self, other: EditSet) {
        self.edits.extend(other.edits);
    }

    /// Without the edits inside of what another one replaces, for texts that are replaced part by part and as a whole. Of two edits of one range
    /// the first remains.
    pub fn outermost(&self) -> EditSet {
        let mut order: Vec<&TextEdit> = self.edits.iter().collect();
        order.sort_by_key(|edit| (edit.range.start(), Reverse(edit.range.end())));
        let mut outer: Option<TextRange> = None;
        let is_outermost = |edit: &&TextEdit| {
            let range = edit.range;
            let is_inside = outer.is_some_and(|outer| match range.is_empty() {
                true => outer.start() < range.start() && range.end() < outer.end(),
                false => outer.contains_range(range),
            });
            if !is_inside && !range.is_empty() {
                outer = Some(range);
            }
            !is_inside
        };
        EditSet {
            edits: order.into_iter().filter(is_outermost).cloned().collect(),
        }
    }

    /// Drops the edits inside some ranges; insertions at the edges of these remain.
    pub fn drop_inside(&mut self, ranges: &[TextRange]) {
        self.edits.retain(|edit| {
            let mut ranges = ranges.iter();
            !ranges.any(|range| match edit.range.is_empty() {
                true => range.start() < edit.range.start() && edit.range.end() < range.end(),
                false => range.contains_range(edit.range),
            })
        });
    }

    /// Sorts the edits and checks that no two overlap.
    ///
    /// # Errors
    /// [`EditConflict`] names the first overlapping pair. An insertion strictly inside a replaced range overlaps it; one at its edge does not.
    pub fn sorted(&self) -> Result<Vec<&TextEdit>, EditConflict> {
        let mut sorted: Vec<&TextEdit> = self.edits.iter().collect();
        sorted.sort_by_key(|edit| edit.key());
        let mut end = TextSize::new(0);
        let mut last = TextRange::empty(end);
        for edit in &sorted {
            if edit.range.start() < end {
                return Err(EditConflict {
                    first: last,
                    second: edit.range,
                });
            }
            if edit.range.end() >= end {
                end = edit.range.end();
                last = edit.range;
            }
        }
        Ok(sorted)
    }

    /// The edited bytes.
    ///
    /// # Errors
    /// [`EditConflict`] when two edits overlap.
    pub fn apply(&self, original: &[u8]) -> Result<Vec<u8>, EditConflict> {
        Ok(self.apply_with_map(original)?.0)
    }

    /// The edited bytes. `write` may give another text for the one that an edit inserts, so that all of them need not be there at once; the others are
    /// given back on the way.
    ///
    /// # Errors
    /// [`EditConflict`] when two edits overlap.
    pub fn into_applied(
        mut self,
        original: &[u8],
        write: impl Fn(TextRange) -> Option<String>,
    ) -> Result<Vec<u8>, EditConflict> {
        self.edits.sort_by_key(TextEdit::key);
        self.sorted()?;
        let n_inserted: usize = self.edits.iter().map(|edit| edit.insert.len()).sum();
        let mut out = Vec::with_capacity(original.len() + n_inserted);
        let mut copied = 0usize;
        for edit in self.edits {
            let start = usize::from(edit.range.start()).min(original.len());
            out.extend_from_slice(&original[copied..start]);
            let insert = write(edit.range).unwrap_or(edit.insert);
            out.extend_from_slice(insert.as_bytes());
            copied = usize::from(edit.range.end()).min(original.len());
        }
        out.extend_from_slice(&original[copied..]);
        out.shrink_to_fit();
        Ok(out)
    }

    /// The edited bytes and where each original offset went.
    ///
    /// # Errors
    /// [`EditConflict`] when two edits overlap.
    pub fn apply_with_map(&self, original: &[u8]) -> Result<(Vec<u8>, OffsetMap), EditConflict> {
        let edits = self.sorted()?;
        let n_inserted: usize = edits.iter().map(|edit| edit.insert.len()).sum();
        let mut out = Vec::with_capacity(original.len() + n_inserted);
        let mut map = OffsetMap::default();
        let mut copied = 0usize;
        for edit in edits {
            let start = usize::from(edit.range.start()).min(original.len());
            let end = usize::from(edit.range.end()).min(original.len());
            out.extend_from_slice(&original[copied..start]);
            let new_start = TextSize::try_from(out.len()).expect("files are smaller than 4 GiB");
            out.extend_from_slice(edit.insert.as_bytes());
            let new_end = TextSize::try_from(out.len()).expect("files are smaller than 4 GiB");
            map.pieces.push(Piece {
                original: edit.range,
                edited: TextRange::new(new_start, new_end),
            });
            copied = end;
        }
        out.extend_from_slice(&original[copied..]);
        Ok((out, map))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    original: TextRange,
    edited: TextRange,
}

/// Maps offsets of an edited text back to the original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetMap {
    pieces: Vec<Piece>,
}

impl OffsetMap {
    /// The original range behind a range of the edited text.
    ///
    /// Text that an edit inserted maps to the range which that edit replaced.
    pub fn to_original(&self, edited: TextRange) -> TextRange {
        let start = self.offset_to_original(edited.start(), Side::Start);
        let end = self.offset_to_original(edited.end(), Side::End);
        TextRange::new(start, end.max(start))
    }

    /// The original ranges that edits replaced, in order.
    pub fn replaced(&self) -> impl Iterator<Item = TextRange> + use<'_> {
        self.pieces.iter().map(|piece| piece.original)
    }

    fn offset_to_original(&self, at: TextSize, side: Side) -> TextSize {
        let after = self
            .pieces
            .partition_point(|piece| piece.edited.start() <= at);
        let Some(piece) = after.checked_sub(1).and_then(|idx| self.pieces.get(idx)) else {
            return at;
        };
        if at < piece.edited.end() || (side == Side::End && at == piece.edited.end()) {
            return match side {
                Side::Start => piece.original.start(),
                Side::End => piece.original.end(),
            };
        }
        piece.original.end() + (at - piece.edited.end())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u32, end: u32) -> TextRange {
        TextRange::new(start.into(), end.into())
    }

    #[test]
    fn edits_apply_in_original_offsets() {
        let mut edits = EditSet::new();
        edits.replace(range(4, 5), "long_name");
        edits.insert(0.into(), 0, "/**/");
        let (bytes, map) = edits.apply_with_map(b"int x = x;").expect("disjoint");
        assert_eq!(bytes, b"/**/int long_name = x;");
        assert_eq!(map.to_original(range(20, 21)), range(8, 9));
        assert_eq!(map.to_original(range(9, 11)), range(4, 5));
    }

    #[test]
    fn edits_inside_others_can_be_left_out() {
        let mut edits = EditSet::new();
        edits.replace(range(1, 2), "b");
        edits.insert(3.into(), 0, "never");
        edits.replace(range(1, 4), "-");
        edits.insert(4.into(), 0, "+");
        edits.replace(range(1, 4), "never");
        assert_eq!(edits.outermost().apply(b"abcdef"), Ok(b"a-+ef".to_vec()));
        edits.replace(range(3, 5), "");
        assert!(edits.outermost().apply(b"abcdef").is_err());
    }

    #[test]
    fn overlap_is_an_error() {
        let mut edits = EditSet::new();
        edits.replace(range(0, 4), "");
        edits.replace(range(3, 5), "");
        assert_eq!(
            edits.apply(b"abcdef"),
            Err(EditConflict {
                first: range(0, 4),
                second: range(3, 5)
            })
        );
    }
}
