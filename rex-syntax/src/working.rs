//! The working file: the user's text with the macros written out that hide directives.
//!
//! Several rounds, each a derived file of its own. The first writes out `_Pragma("omp ..")`, OpenMP attributes and the macros that hide
//! directives, braces, operators or the names of local variables; the next, up to three times as their text may have further ones, macros that stand for declarations; then types that
//! C lets a program leave out; then macros that stand for words of a directive and for the loop after one. Where there is nothing to write out there is no derived
//! file.

mod declared;
mod operators;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use text_size::{TextRange, TextSize};

use crate::attribute;
use crate::diag::Diagnostics;
use crate::edit::EditSet;
use crate::lex::{self, Token, TokenKind, significant_tokens, slice};
use crate::macros::MacroTable;
use crate::old_style;
use crate::omp::clause::{ClauseName, ListItem, Locator, Step};
use crate::omp::directive::{Association, Directive};
use crate::omp::parse::parse_directive;
use crate::pragma::{self, PragmaLine};
use crate::source::{Derivation, FileId, FileRange, Language, SourceFile, SourceMap};

/// The file that everything downstream works on.
///
/// If active code calls macros that bear pragmas, or has `_Pragma("omp ..")` itself, this is a derived file in which they are written out
/// as the user could have written them; otherwise it is `file` itself. `macros` is the table of `file`.
pub fn working_file(sources: &mut SourceMap, file: FileId, macros: &MacroTable) -> FileId {
    type Round = fn(&Code<'_>) -> EditSet;
    // Each as often as it finds something, up to a number of times.
    let rounds: [(usize, Round); 4] = [
        (1, |code| code.structure_edits()),
        (3, |code| code.declaration_edits()),
        (1, |code| code.type_edits()),
        (1, |code| code.directive_edits()),
    ];
    let mut current = file;
    let mut tokens = None;
    for (times, round) in rounds {
        for _ in 0..times {
            let code = Code::read(sources, current, file, macros, tokens.take());
            let edits = round(&code);
            let read = code.tokens;
            let derived = derive(sources, current, &edits);
            if derived == current {
                tokens = Some(read);
                break;
            }
            current = derived;
        }
    }
    current
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
    tokens: Vec<Token>,
}

impl<'s> Code<'s> {
    /// `known` are the tokens, if they are known already.
    fn read(
        sources: &'s SourceMap,
        file: FileId,
        written: FileId,
        macros: &'s MacroTable,
        known: Option<Vec<Token>>,
    ) -> Code<'s> {
        let text = sources.file(file).text();
        let mut code = Code {
            sources,
            file,
            text,
            written,
            macros,
            tokens: Vec::new(),
        };
        if let Some(known) = known {
            code.tokens = known;
            return code;
        }
        let mut start = TextSize::new(0);
        let mut tokens = Vec::new();
        for line in pragma::directives(text) {
            tokens.extend(significant_tokens(
                text,
                TextRange::new(start, line.range.start()),
            ));
            start = line.range.end();
        }
        tokens.extend(significant_tokens(
            text,
            TextRange::new(start, TextSize::of(text)),
        ));
        if macros.skips_anything() {
            tokens.retain(|token| !code.is_skipped(token.range));
        }
        code.tokens = tokens;
        code
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
        self.tokens
            .get(idx)
            .map_or("", |token| token.text(self.text))
    }

    /// Writes out what hides directives and braces.
    fn structure_edits(&self) -> EditSet {
        let mut edits = EditSet::new();
        let mut n_directives = pragma::scan(self.text).len();
        let mut hides: FxHashMap<&str, Hidden> = FxHashMap::default();
        // Lone braces, parts of expressions, declarations of pasted names.
        let mut parts = EditSet::new();
        let partners = lex::partners(self.text, &self.tokens);
        let hiding = self.hiding_tokens();
        let mut idx = 0;
        while let Some(&token) = self.tokens.get(idx) {
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
                Hidden::Macro if self.macros.has_lone_brace(name, start) => {
                    if let Some((range, expansion)) = self.macros.expand_call(self.text, start) {
                        parts.replace(range, expansion);
                        idx = self.after(range);
                        continue;
                    }
                    None
                }
                Hidden::Macro => match self
                    .operator_call(idx, &partners)
                    .or_else(|| self.pasted_declaration(idx))
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
        match source.language() == Language::C && !pragma::scan(self.text).is_empty() {
            true => old_style::edits(self.text, &self.tokens, self.macros),
            false => EditSet::new(),
        }
    }

    /// `[[omp::..]]` written out.
    fn omp_attribute(&self, idx: usize, partners: &[usize]) -> Option<Vec<(TextRange, String)>> {
        let close = *partners.get(idx)?;
        let inner = *partners.get(idx + 1)?;
        let is_attribute = self.token_text(idx + 1) == "[" && inner + 1 == close;
        is_attribute.then(|| attribute::write_out(self.text, &self.tokens, idx, close))?
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
        let tokens = self.tokens.iter().enumerate();
        tokens
            .filter(|(_, token)| hides(token))
            .map(|(idx, _)| idx)
            .collect()
    }

    /// The index of the first token after a range.
    fn after(&self, range: TextRange) -> usize {
        self.tokens
            .partition_point(|token| token.range.start() < range.end())
    }

    /// Expands an ordinary macro call if something in its arguments hides directives.
    fn call_with_hidden_arguments(
        &self,
        idx: usize,
        hiding: &[usize],
        partners: &[usize],
    ) -> Option<(TextRange, String)> {
        let token = self.tokens.get(idx)?;
        let start = token.range.start();
        let def = self.macros.lookup_at(token.text(self.text), start)?;
        if def.parameters.is_none() || self.token_text(idx + 1) != "(" || !self.macros.any_pragma()
        {
            return None;
        }
        let close = partners.get(idx + 1)?;
        let first_hiding = hiding.partition_point(|hiding| *hiding <= idx);
        if hiding.get(first_hiding)? >= close {
            return None;
        }
        self.macros.expand_call(self.text, start)
    }

    /// Writes out macros that stand for words of directives, and loops after directives.
    fn directive_edits(&self) -> EditSet {
        let mut edits = EditSet::new();
        for line in pragma::scan(self.text) {
            if self.is_skipped(line.range) {
                continue;
            }
            let directive = self.words_written_out(&line, &mut edits);
            if directive.association() == Association::Statement {
                self.write_out_loop(self.after(line.range), &mut edits);
            }
        }
        edits
    }

    /// Replaces macros that stand for words of a directive; returns the directive as it is then.
    fn words_written_out(&self, line: &PragmaLine, edits: &mut EditSet) -> Directive {
        const MAX_ROUNDS: usize = 32;
        let at = self.written_at(line.range.start());
        let body = slice(self.text, line.body);
        let mut current = body.to_owned();
        for _ in 0..MAX_ROUNDS {
            let whole = PragmaLine {
                range: lex::whole(&current),
                body: lex::whole(&current),
            };
            let directive = parse_directive(&current, &whole, self.file, &mut Diagnostics::new());
            let expansion = self
                .macro_words(&current, &directive, at)
                .into_iter()
                .find_map(|word| self.macros.expand_call_at(&current, word.start(), at));
            match expansion {
                Some((range, expansion)) => {
                    let expansion = expansion.replace(['\r', '\n'], " ");
                    current.replace_range(
                        usize::from(range.start())..usize::from(range.end()),
                        &expansion,
                    );
                }
                None => {
                    if current != body {
                        edits.replace(line.body, current);
                    }
                    return directive;
                }
            }
        }
        // Macros without end: the line stays as it is.
        parse_directive(self.text, line, self.file, &mut Diagnostics::new())
    }

    /// The places where a directive needs a word of its own and has the name of a macro.
    fn macro_words(&self, text: &str, directive: &Directive, at: TextSize) -> Vec<TextRange> {
        let mut words = Vec::new();
        if directive.leaves.is_empty() {
            words.push(directive.name_range);
        }
        for clause in &directive.clauses {
            if clause.name == ClauseName::Unknown {
                words.push(clause.name_range);
            }
            words.extend(clause.modifiers().iter().map(|modifier| modifier.word));
            words.extend(clause.items().iter().filter_map(|item| {
                let start = item.locator.root();
                let name = significant_tokens(text, start).next()?;
                self.stands_for_items(name.text(text), at)
                    .then_some(name.range)
            }));
            let items = clause.items().iter();
            words.extend(items.flat_map(|item| self.section_words(text, item, at)));
        }
        words.retain(|word| self.macros.lookup_at(slice(text, *word), at).is_some());
        words
    }

    /// Macros that stand for the bounds of a section: `a[WHOLE]` with `#define WHOLE 0 : N`.
    fn section_words(&self, text: &str, item: &ListItem, at: TextSize) -> Vec<TextRange> {
        let Locator::Path(path) = &item.locator else {
            return Vec::new();
        };
        let indices = path.steps.iter().filter_map(|step| match step {
            Step::Index(index) => Some(*index),
            _ => None,
        });
        indices
            .filter_map(|index| significant_tokens(text, index).next())
            .filter(|name| {
                let def = self.macros.lookup_at(name.text(text), at);
                def.is_some_and(|def| {
                    let mut tokens = significant_tokens(&def.body, lex::whole(&def.body));
                    tokens.any(|token| token.text(&def.body) == ":") && !def.body.contains('?')
                })
            })
            .map(|name| name.range)
            .collect()
    }

    /// Whether a macro stands for variables or sections rather than for a constant.
    fn stands_for_items(&self, name: &str, at: TextSize) -> bool {
        let Some(def) = self.macros.lookup_at(name, at) else {
            return false;
        };
        let first = significant_tokens(&def.body, lex::whole(&def.body)).next();
        first.is_some_and(|first| {
            first.kind == TokenKind::Identifier || matches!(first.text(&def.body), "*" | "(")
        })
    }

    /// Expands the macros that stand for the heads of the loops a directive applies to: one, and those directly behind it.
    fn write_out_loop(&self, mut next: usize, edits: &mut EditSet) {
        while let Some(token) = self.tokens.get(next) {
            if token.text(self.text) == "{" {
                next += 1;
                continue;
            }
            let at = self.written_at(token.range.start());
            if token.kind != TokenKind::Identifier
                || !self.macros.begins_loop(token.text(self.text), at)
            {
                return;
            }
            let Some((range, expansion)) =
                self.macros
                    .expand_call_at(self.text, token.range.start(), at)
            else {
                return;
            };
            if edits.edits().iter().all(|edit| edit.range != range) {
                edits.replace(range, expansion);
            }
            next = self.after(range);
        }
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
