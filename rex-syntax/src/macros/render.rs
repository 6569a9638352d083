//! Prints an expansion as text a person could have written.

use text_size::{TextRange, TextSize};

use super::expand::expander::{Expander, PragmaCall, pragma_at};
use super::pieces::Piece;
use crate::layout::indent_at;
use crate::lex::slice;

/// The expansion as text that may stand in place of the call: one statement per line if it has several, pragmas on their own lines.
pub(super) fn render(
    text: &str,
    call: TextRange,
    pieces: &[Piece],
    expander: &mut Expander<'_>,
) -> Option<String> {
    let layout = expander.macros.layout();
    let mut writer = Writer {
        out: String::new(),
        newline: layout.newline,
        indent: indent_at(text, call.start()).to_owned(),
        unit: layout.indent_unit.clone(),
        blocks: Vec::new(),
        n_parens: 0,
        fresh_line: begins_line(text, call.start()),
    };
    let mut idx = 0;
    while let Some(piece) = pieces.get(idx) {
        if let Some(pragma) = pragma_at(pieces, idx, expander).filter(PragmaCall::is_omp) {
            idx = pragma.end;
            writer.pragma(pragma.text.trim());
            if idx < pieces.len() || !ends_line(text, call.end()) {
                writer.line_break();
            }
            continue;
        }
        let before = idx.checked_sub(1).and_then(|before| pieces.get(before));
        writer.token(piece, before, pieces.get(idx + 1));
        idx += 1;
    }
    Some(writer.out)
}

/// Writes pieces as lines.
struct Writer {
    out: String,
    newline: &'static str,
    /// The blanks before the line of the call.
    indent: String,
    /// One more level.
    unit: String,
    /// The open braces; `true` for those of blocks, which get lines of their own.
    blocks: Vec<bool>,
    n_parens: usize,
    /// Whether nothing stands on the current line.
    fresh_line: bool,
}

impl Writer {
    fn line_break(&mut self) {
        if self.fresh_line && !self.out.is_empty() {
            let length = self.out.trim_end_matches([' ', '\t']).len();
            self.out.truncate(length);
        } else {
            self.out.push_str(self.newline);
        }
        self.out.push_str(&self.indent);
        for _ in self.blocks.iter().filter(|is_block| **is_block) {
            self.out.push_str(&self.unit);
        }
        self.fresh_line = true;
    }

    fn pragma(&mut self, text: &str) {
        if !self.fresh_line {
            self.line_break();
        }
        self.out.push_str("#pragma ");
        self.out.push_str(text);
        self.fresh_line = false;
    }

    fn token(&mut self, piece: &Piece, before: Option<&Piece>, after: Option<&Piece>) {
        let before = before.map_or("", |piece| piece.text.as_str());
        let after = after.map(|piece| piece.text.as_str());
        let text = piece.text.as_str();
        let mut breaks_after = false;
        match text {
            "(" => self.n_parens += 1,
            ")" => self.n_parens = self.n_parens.saturating_sub(1),
            ";" => breaks_after = self.n_parens == 0,
            "{" => {
                let is_value =
                    matches!(before, "=" | "(" | "," | "return" | "{") || self.n_parens > 0;
                self.write(piece);
                self.blocks.push(!is_value);
                if !is_value && after.is_some() {
                    self.line_break();
                }
                return;
            }
            "}" if self.blocks.pop() == Some(true) => {
                self.line_break();
                breaks_after = !matches!(after, Some(";" | "," | ")" | "while" | "else"));
            }
            _ => {}
        }
        self.write(piece);
        if breaks_after && after.is_some() {
            self.line_break();
        }
    }

    fn write(&mut self, piece: &Piece) {
        if piece.spaced && !self.fresh_line && !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(&piece.text);
        self.fresh_line = false;
    }
}

/// Whether only blanks stand before an offset on its line.
fn begins_line(text: &str, at: TextSize) -> bool {
    let before = slice(text, TextRange::up_to(at));
    let line = before.rsplit('\n').next().unwrap_or("");
    line.trim().is_empty()
}

/// Whether only blanks stand after an offset on its line.
fn ends_line(text: &str, at: TextSize) -> bool {
    let after = slice(text, TextRange::new(at, TextSize::of(text)));
    let line = after.split('\n').next().unwrap_or("");
    line.trim().is_empty()
}
