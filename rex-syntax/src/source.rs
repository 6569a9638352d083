//! Source files, their bytes, and positions inside them.
//!
//! Owns every byte the compiler reads. It knows nothing about parsing. All positions in the workspace are byte offsets
//! ([`TextRange`]) into one [`SourceFile`]; lines and columns are computed only where a person reads them.

use std::sync::Arc;

use line_index::LineIndex;
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use crate::edit::OffsetMap;
use crate::lex;

/// Index of a file in its [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The language a translation unit is compiled as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// C, any revision.
    C,
    /// C++, any revision.
    Cxx,
}

impl Language {
    /// The language that a file name's extension means to a compiler driver, if it means one.
    pub fn from_file_name(name: &str) -> Option<Language> {
        match name.rsplit_once('.')?.1 {
            "c" => Some(Language::C),
            "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "CPP" => Some(Language::Cxx),
            _ => None,
        }
    }
}

/// A byte range in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileRange {
    /// The file the range lies in.
    pub file: FileId,
    /// Byte offsets in that file.
    pub range: TextRange,
}

/// How a derived file came from the file the user wrote.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// The file it was derived from.
    pub from: FileId,
    /// Where each original offset went.
    pub map: OffsetMap,
}

/// One file: its name as the user gave it, its bytes, and a text of the same length.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: SmolStr,
    language: Language,
    /// The bytes, where they are no UTF-8 and the text has others.
    bytes: Option<Arc<[u8]>>,
    text: Arc<str>,
    lines: Arc<LineIndex>,
    derivation: Option<Derivation>,
    headers: Arc<[TextRange]>,
}

impl SourceFile {
    /// Takes a file's bytes. Bytes that are not UTF-8 become `?` in the text, one each, so offsets stay equal.
    pub fn new(
        name: impl Into<SmolStr>,
        language: Language,
        bytes: impl Into<Vec<u8>>,
    ) -> SourceFile {
        let (text, bytes) = match String::from_utf8(bytes.into()) {
            Ok(text) => (text, None),
            Err(error) => {
                let bytes = error.into_bytes();
                (same_length_text(&bytes), Some(bytes.into()))
            }
        };
        let lines = Arc::new(LineIndex::new(&text));
        SourceFile {
            name: name.into(),
            language,
            bytes,
            text: text.into(),
            lines,
            derivation: None,
            headers: Arc::default(),
        }
    }

    /// Marks the file as derived from another one by edits.
    pub fn with_derivation(mut self, derivation: Derivation) -> SourceFile {
        self.derivation = Some(derivation);
        self
    }

    /// Says which ranges are the text of headers, written in place of `#include` lines.
    pub fn with_headers(mut self, headers: impl Into<Arc<[TextRange]>>) -> SourceFile {
        self.headers = headers.into();
        self
    }

    /// The text of a header that stands in the file and holds a range.
    pub fn header_around(&self, range: TextRange) -> Option<TextRange> {
        let mut headers = self.headers.iter();
        headers.find(|it| it.contains_range(range)).copied()
    }

    /// The name as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The language the file is read as.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The exact bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or(self.text.as_bytes())
    }

    /// Text of exactly the same length as [`SourceFile::bytes`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same text, shared.
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The text of a range; empty when the range is outside the file.
    pub fn slice(&self, range: TextRange) -> &str {
        self.text
            .get(usize::from(range.start())..usize::from(range.end()))
            .unwrap_or("")
    }

    /// The 1-based line of an offset.
    pub fn line(&self, offset: TextSize) -> u32 {
        let offset = offset.min(TextSize::of(&*self.text));
        self.lines.try_line_col(offset).map_or(1, |at| at.line + 1)
    }

    /// Where the file came from, if it is not what the user wrote.
    pub fn derivation(&self) -> Option<&Derivation> {
        self.derivation.as_ref()
    }
}

/// Every file of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a file.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).expect("fewer than 2^32 files"));
        self.files.push(file);
        id
    }

    /// The file with this id.
    ///
    /// # Panics
    /// When the id comes from another map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All files in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        (0u32..).map(FileId).zip(&self.files)
    }

    /// The text of a range.
    pub fn slice(&self, at: FileRange) -> &str {
        self.file(at.file).slice(at.range)
    }

    /// The place in a file that the user wrote for a place in any file.
    ///
    /// A range inside text that a derivation inserted maps to the original text which the insertion replaced.
    pub fn to_written(&self, mut at: FileRange) -> FileRange {
        while let Some(derivation) = self.file(at.file).derivation() {
            at = FileRange {
                file: derivation.from,
                range: derivation.map.to_original(at.range),
            };
        }
        at
    }

    /// The 1-based line where a place begins, in the file that the user wrote.
    pub fn written_line(&self, at: FileRange) -> u32 {
        let at = self.to_written(at);
        self.file(at.file).line(at.range.start())
    }
}

/// The text of bytes of which some are no UTF-8: those are written as in a literal, `\351`.
pub(crate) fn text_with_escapes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&escaped(*byte));
        }
    }
    text
}

/// A byte as literals of C write it.
fn escaped(byte: u8) -> String {
    format!("\\{byte:03o}")
}

impl SourceFile {
    /// The bytes that are no UTF-8, as literals of C write them, each with the `?` that the text has for it.
    pub fn escapes(&self) -> impl Iterator<Item = (TextRange, String)> + '_ {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        let pairs = bytes.iter().zip(self.text.as_bytes()).enumerate();
        pairs
            .filter(|(_, (byte, written))| byte != written)
            .map(|(at, (byte, _))| (lex::range(at, at + 1), escaped(*byte)))
    }
}

pub(crate) fn same_length_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_keep_offsets() {
        let file = SourceFile::new("a.c", Language::C, b"/* \xe9 */ int x;".to_vec());
        assert_eq!(file.text().len(), file.bytes().len());
        assert_eq!(file.slice(TextRange::new(8.into(), 11.into())), "int");
    }
}
