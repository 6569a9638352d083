//! The working file: the user's text with the macros written out that hide directives.
//!
//! Several rounds, each a derived file of its own. The first writes out `_Pragma("omp ..")`, OpenMP attributes and the macros that hide
//! directives, braces, operators, functions with variants or local variables; the next, up to three times as their text may have further ones, macros that stand for declarations; then types that
//! C lets a program leave out; then macros that stand for words of a directive and for the loop after one. Where there is nothing to write out there is no derived
//! file.

mod alternative;
mod declarators;
mod declared;
mod directives;
mod operators;
#[cfg(test)]
mod tests;
mod variants;

pub(crate) use alternative::with_usual_tokens;
use rustc_hash::FxHashMap;
use text_size::{TextRange, TextSize};

use crate::attribute;
use crate::diag::{self, Diagnostic, Diagnostics};
use crate::edit::EditSet;
use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::macros::MacroTable;
use crate::old_style;
use crate::pragma::{self, PragmaLine};
use crate::source::{Derivation, FileId, FileRange, Language, SourceFile, SourceMap};

/// The file that everything downstream works on.
///
/// If active code calls macros that bear pragmas, or has `_Pragma("omp ..")` itself, this is a derived file in which they are written out
/// as the user could have written them; otherwise it is `file` itself. `macros` is the table of `file`. Calls that become too much text stay as they are,
/// which `diagnostics` say.
pub fn working_file(
    sources: &mut SourceMap,
    file: FileId,
    macros: &MacroTable,
    diagnostics: &mut Diagnostics,
) -> FileId {
    type Round = fn(&Code<'_>) -> EditSet;
    // Each as often as it finds something, up to a number of times.
    let rounds: [(usize, Round); 4] = [
        (1, |code| code.structure_edits()),
        (3, |code| code.declaration_edits()),
        (1, |code| code.type_edits()),
        (1, |code| code.directive_edits()),
    ];
    let mut current = file;
    let mut lexed = None;
    let mut room = room_of(sources.file(file), macros);
    for (times, round) in rounds {
        for _ in 0..times {
            let code = Code::read(sources, current, file, macros, lexed.take());
            let edits = fitting(round(&code), current, &mut room, diagnostics);
            let read = code.lexed;
            let derived = derive(sources, current, &edits);
            if derived == current {
                lexed = Some(read);
                break;
            }
            current = derived;
        }
    }
    current
}

/// How many bytes the calls of macros in a file may become: some times its text, and some times what the preprocessor makes of the whole.
fn room_of(file: &SourceFile, macros: &MacroTable) -> usize {
    const TIMES_TEXT: usize = 16;
    const TIMES_EXPANDED: usize = 4;
    const FIXED_BYTES: usize = 16 << 10;
    TIMES_TEXT * file.text().len() + TIMES_EXPANDED * macros.expanded_len() + FIXED_BYTES
}

/// The edits that fit into what is left of the room. Macros that name each other often may become any amount of text.
fn fitting(
    mut edits: EditSet,
    file: FileId,
    room: &mut usize,
    diagnostics: &mut Diagnostics,
) -> EditSet {
    edits.retain(|edit| {
        let n_bytes = edit.insert.len();
        let left = room.checked_sub(n_bytes);
        match left {
            Some(left) => *room = left,
            None => diagnostics.push(too_long(
                FileRange {
                    file,
                    range: edit.range,
                },
                n_bytes,
            )),
        }
        left.is_some()
    });
    edits
}

fn too_long(at: FileRange, n_bytes: usize) -> Diagnostic {
    let headline = format!("this macro call is not written out: it becomes {n_bytes} bytes");
    Diagnostic::new(diag::Code::UnsupportedStatement, at, headline)
        .with_note("macros that name others several times become much more text than the file has")
        .with_help("call the macro less often, or write out what it stands for")
}

/// Adds the edited file; the same file when there are no edits or they contradict each other.
pub(crate) fn derive(sources: &mut SourceMap, from: FileId, edits: &EditSet) -> FileId {
    let source = sources.file(from);
    if edits.is_empty() {
        return from;
    }
    let Ok((bytes, map)) = edits.apply_with_map(source.bytes()) else {
        return from;
    };
    let derived = SourceFile::new(source.name(), source.language(), bytes)
        .with_derivation(Derivation { from, map });
    sources.add(derived)
}

/// The active code of a file, without its preprocessor lines.
struct Code<'s> {
    sources: &'s SourceMap,
    file: FileId,
    text: &'s str,
    /// The file that `macros` describes.
    written: FileId,
    macros: &'s MacroTable,
    lexed: Lexed,
}

/// A file cut into directives and the tokens of its active code.
#[derive(Default)]
struct Lexed {
    tokens: Vec<Token>,
    pragmas: Vec<PragmaLine>,
}

impl<'s> Code<'s> {
    /// `known` is the file cut up, if that was done already.
    fn read(
        sources: &'s SourceMap,
        file: FileId,
        written: FileId,
        macros: &'s MacroTable,
        known: Option<Lexed>,
    ) -> Code<'s> {
        let text = sources.file(file).text();
        let mut code = Code {
            sources,
            file,
            text,
            written,
            macros,
            lexed: Lexed::default(),
        };
        code.lexed = known.unwrap_or_else(|| code.cut());
        code
    }

    fn cut(&self) -> Lexed {
        let text = self.text;
        let mut lexed = Lexed::default();
        let mut start = TextSize::new(0);
        let tokens = &mut lexed.tokens;
        for line in pragma::directives(text) {
            let code = TextRange::new(start, line.range.start());
            tokens.extend(significant_tokens(text, code));
            start = line.range.end();
            lexed.pragmas.extend(line.omp_pragma(text));
        }
        let rest = TextRange::new(start, TextSize::of(text));
        tokens.extend(significant_tokens(text, rest));
        if self.macros.skips_anything() {
            tokens.retain(|token| !self.is_skipped(token.range));
        }
        lexed
    }

    /// Where a place stands in the file that the macro table describes.
    fn written_at(&self, at: TextSize) -> TextSize {
        let mut place = FileRange {
            file: self.file,
            range: TextRange::empty(at),
        };
        while place.file != self.written {
            let Some(derivation) = self.sources.file(place.file).derivation() else {
                break;
            };
            place = FileRange {
                file: derivation.from,
                range: derivation.map.to_original(place.range),
            };
        }
        place.range.start()
    }

    fn is_skipped(&self, range: TextRange) -> bool {
        self.macros.skips(self.written_at(range.start()))
    }

    fn token_text(&self, idx: usize) -> &'s str {
        self.lexed
            .tokens
            .get(idx)
            .map_or("", |token| token.text(self.text))
    }

    /// Writes out what hides directives and braces.
    fn structure_edits(&self) -> EditSet {
        let mut edits = EditSet::new();
        let mut n_directives = self.lexed.pragmas.len();
        let mut hides: FxHashMap<&str, Hidden> = FxHashMap::default();
        // Lone braces, parts of expressions, declarations of variables.
        let mut parts = EditSet::new();
        let partners = lex::Partners::of(self.text, &self.lexed.tokens);
        let hiding = self.hiding_tokens();
        let has_selections = self.has_selections();
        let varied = self.functions_with_variants();
        let mut idx = 0;
        while let Some(&token) = self.lexed.tokens.get(idx) {
            let start = token.range.start();
            let name = token.text(self.text);
            let hidden = match token.kind {
                TokenKind::Identifier => *hides
                    .entry(name)
                    .or_insert_with(|| Hidden::behind(name, self.macros)),
                TokenKind::Punct if name == "[" => Hidden::PerhapsAttribute,
                _ => Hidden::Nothing,
            };
            let found = match hidden {
                Hidden::Nothing => None,
                Hidden::PerhapsAttribute => {
                    let found = self.omp_attribute(idx, &partners).into_iter().flatten();
                    let mut found = found.collect::<Vec<_>>().into_iter();
                    let list = found.next();
                    for (place, directives) in found {
                        edits.insert(place.start(), 0, directives);
                    }
                    list
                }
                Hidden::Pragma => self.macros.write_out_pragma(self.text, start, start),
                Hidden::Structure => self.macros.expand_call(self.text, start),
                Hidden::Macro
                    if self.macros.has_lone_brace(name, start)
                        || self.macros.is_head_of_statement(name, start) =>
                {
                    if let Some((range, expansion)) = self.macros.expand_call(self.text, start) {
                        parts.replace(range, expansion);
                        idx = self.after(range);
                        continue;
                    }
                    None
                }
                Hidden::Macro => match (!varied.is_empty())
                    .then(|| self.call_of_variant(idx, &varied))
                    .flatten()
                    .or_else(|| self.base_class_call(idx))
                    .or_else(|| self.operator_call(idx, &partners))
                    .or_else(|| self.lambda_head(idx, &partners))
                    .or_else(|| self.declared_variables(idx))
                    .or_else(|| has_selections.then(|| self.selection_call(idx))?)
                {
                    Some((range, expansion)) => {
                        parts.replace(range, expansion);
                        idx = self.after(range);
                        continue;
                    }
                    None => self.call_with_hidden_arguments(idx, &hiding, &partners),
                },
            };
            match found {
                None => idx += 1,
                Some((range, expansion)) => {
                    n_directives += 1;
                    edits.replace(range, expansion);
                    idx = self.after(range);
                }
            }
        }
        if n_directives > 0 {
            edits.extend(parts);
        }
        edits
    }

    /// Writes out the types that C lets a program leave out.
    fn type_edits(&self) -> EditSet {
        let source = self.sources.file(self.file);
        match source.language() == Language::C && !self.lexed.pragmas.is_empty() {
            true => old_style::edits(self.text, &self.lexed.tokens, self.macros),
            false => EditSet::new(),
        }
    }

    /// `[[omp::..]]` written out.
    fn omp_attribute(
        &self,
        idx: usize,
        partners: &lex::Partners,
    ) -> Option<Vec<(TextRange, String)>> {
        let close = partners.closing(idx)?;
        let inner = partners.closing(idx + 1)?;
        let is_attribute = self.token_text(idx + 1) == "[" && inner + 1 == close;
        is_attribute.then(|| attribute::write_out(self.text, &self.lexed.tokens, idx, close))?
    }

    /// The indices of the words behind which directives hide.
    fn hiding_tokens(&self) -> Vec<usize> {
        if !self.macros.any_pragma() && !self.text.contains("_Pragma") {
            return Vec::new();
        }
        let mut known: FxHashMap<&str, bool> = FxHashMap::default();
        let mut hides = |token: &Token| {
            let word = token.text(self.text);
            token.kind == TokenKind::Identifier
                && *known
                    .entry(word)
                    .or_insert_with(|| word == "_Pragma" || self.macros.bears_pragma(word))
        };
        let tokens = self.lexed.tokens.iter().enumerate();
        tokens
            .filter(|(_, token)| hides(token))
            .map(|(idx, _)| idx)
            .collect()
    }

    /// The index of the first token after a range.
    fn after(&self, range: TextRange) -> usize {
        self.lexed
            .tokens
            .partition_point(|token| token.range.start() < range.end())
    }

    /// Expands an ordinary macro call if something in its arguments hides directives.
    fn call_with_hidden_arguments(
        &self,
        idx: usize,
        hiding: &[usize],
        partners: &lex::Partners,
    ) -> Option<(TextRange, String)> {
        let token = self.lexed.tokens.get(idx)?;
        let start = token.range.start();
        let def = self.macros.lookup_at(token.text(self.text), start)?;
        if def.parameters.is_none() || self.token_text(idx + 1) != "(" || !self.macros.any_pragma()
        {
            return None;
        }
        let close = partners.closing(idx + 1)?;
        let first_hiding = hiding.partition_point(|hiding| *hiding <= idx);
        if *hiding.get(first_hiding)? >= close {
            return None;
        }
        self.macros.expand_call(self.text, start)
    }
}

/// What an identifier may hide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hidden {
    Nothing,
    /// `_Pragma` itself.
    Pragma,
    /// `[`, which may begin `[[omp::..]]`.
    PerhapsAttribute,
    /// A macro that bears a directive.
    Structure,
    /// Any other macro.
    Macro,
}

impl Hidden {
    fn behind(name: &str, macros: &MacroTable) -> Hidden {
        if name == "_Pragma" {
            Hidden::Pragma
        } else if !macros.is_macro_somewhere(name) {
            Hidden::Nothing
        } else if macros.bears_pragma(name) {
            Hidden::Structure
        } else {
            Hidden::Macro
        }
    }
}
