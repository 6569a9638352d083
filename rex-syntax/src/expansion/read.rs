//! Reads preprocessed text, line by line.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::{DefineLine, Expansion, LineSet, Marker, Place, Segment};
use crate::lex;

pub(super) struct Reader {
    expansion: Expansion,
    code: Vec<u8>,
    file_indices: FxHashMap<SmolStr, u32>,
    main: Option<u32>,
    main_name: SmolStr,
    /// The file, place and next line being read.
    file: u32,
    place: Place,
    line: u32,
    /// The last line of the main file that was seen.
    main_line: u32,
    /// The first entry of `defines` that came from the `#include` being read.
    include_start: usize,
    segment_start: usize,
    segment_line: u32,
}

impl Reader {
    pub(super) fn new(text: String, main_name: &str) -> Reader {
        let quoted = format!("\"{main_name}\"");
        let is_marker = |line: &str| line.starts_with("# ") && line.contains(&quoted);
        let is_named = text.lines().any(is_marker);
        Reader {
            code: text.as_bytes().to_vec(),
            expansion: Expansion {
                text,
                code: String::new(),
                files: Vec::new(),
                segments: Vec::new(),
                defines: Vec::new(),
                active: LineSet::default(),
                declarations: OnceLock::new(),
                main_segments: OnceLock::new(),
                line_ends: OnceLock::new(),
            },
            file_indices: FxHashMap::default(),
            main: None,
            main_name: if is_named {
                main_name.into()
            } else {
                SmolStr::default()
            },
            file: 0,
            place: Place::System,
            line: 1,
            main_line: 0,
            include_start: 0,
            segment_start: 0,
            segment_line: 1,
        }
    }

    pub(super) fn read(mut self) -> Expansion {
        let text = std::mem::take(&mut self.expansion.text);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']);
            if content.starts_with('#') {
                self.code[at..at + content.len()].fill(b' ');
            }
            match Marker::parse(content) {
                Some(marker) => {
                    self.end_segment(at);
                    self.enter(&marker);
                    self.segment_start = at + line.len();
                    self.segment_line = self.line;
                }
                None => self.content_line(at, content),
            }
            at += line.len();
        }
        self.end_segment(at);
        self.expansion.text = text;
        // Whole lines of blanks between whole lines of text: still UTF-8.
        self.expansion.code = String::from_utf8(self.code).unwrap_or_default();
        self.expansion
    }

    /// Empty ones of the main file say where an `#include` ended: the next text may stand many lines below.
    fn end_segment(&mut self, end: usize) {
        if end > self.segment_start || self.place == Place::Main {
            self.expansion.segments.push(Segment {
                range: lex::range(self.segment_start, end),
                first_line: self.segment_line,
                file: self.file,
                place: self.place,
            });
        }
    }

    fn enter(&mut self, marker: &Marker<'_>) {
        let was_main = self.place == Place::Main;
        let file = self.file_index(marker.name);
        let is_pseudo = marker.is_pseudo();
        if self.main.is_none() && !is_pseudo {
            let is_main = self.main_name.is_empty() || marker.name == self.main_name;
            self.main = is_main.then_some(file);
        }
        self.file = file;
        self.line = marker.line;
        self.place = if self.main == Some(file) {
            Place::Main
        } else if marker.is_system || is_pseudo {
            Place::System
        } else {
            Place::User
        };
        match (was_main, self.place == Place::Main) {
            (true, false) => self.include_start = self.expansion.defines.len(),
            (false, true) if marker.leaves && marker.line > 1 => self.return_to_main(marker),
            _ => {}
        }
    }

    /// The line before the one returned to is the `#include`.
    fn return_to_main(&mut self, marker: &Marker<'_>) {
        self.main_line = marker.line - 1;
        self.expansion.active.insert(self.main_line);
        for define in &mut self.expansion.defines[self.include_start..] {
            define.main_line = self.main_line;
        }
    }

    fn file_index(&mut self, name: &str) -> u32 {
        if let Some(&idx) = self.file_indices.get(name) {
            return idx;
        }
        let files = &mut self.expansion.files;
        let idx = u32::try_from(files.len()).unwrap_or(u32::MAX);
        files.push(name.into());
        self.file_indices.insert(name.into(), idx);
        idx
    }

    fn content_line(&mut self, at: usize, content: &str) {
        let in_main = self.place == Place::Main;
        if in_main && !content.trim_start().is_empty() {
            self.main_line = self.line;
            self.expansion.active.insert(self.line);
        }
        let define = content.strip_prefix("#define ").map(|rest| (rest, false));
        let undef = || content.strip_prefix("#undef ").map(|rest| (rest, true));
        if let Some((rest, is_undef)) = define.or_else(undef) {
            let end = at + content.len();
            self.expansion.defines.push(DefineLine {
                rest: lex::range(end - rest.len(), end),
                is_undef,
                file: self.file,
                place: self.place,
                main_line: self.main_line,
            });
        }
        self.line = self.line.saturating_add(1);
    }
}
