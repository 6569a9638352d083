//! Writes out macro calls the way a person would: only what hides directives or loop heads, everything else stays as written.
//!
//! Inside the argument of `_Pragma` the full rules of the preprocessor apply, since the string must come out exactly.

use std::collections::VecDeque;
use std::mem;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use super::pieces::{Piece, join, matching, pieces, push, push_all, stringize};
use super::render::render;
use super::{MacroDef, MacroTable};
use crate::expansion::HeaderOrigin;
use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::omp::locator::closing;
use crate::pragma::{self, destringize, is_omp_string};

/// Which macros are expanded inside the result of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    /// All, by the rules of the preprocessor.
    All,
    /// Those that hide directives, the heads of loops or single braces.
    Structure,
    /// The same, and all in the arguments that are not pasted.
    Declarations,
}

/// The size of an expansion, in tokens, above which it is given up.
const MAX_TOKENS: usize = 1 << 16;

impl MacroTable {
    /// Expands the macro call that starts at an offset of `text`.
    ///
    /// Returns the range of the whole call and its replacement. Inside the replacement only macros that bear pragmas, begin a loop or
    /// hold an unbalanced brace are expanded further. `_Pragma("omp x")` becomes a `#pragma omp x` line of its own.
    pub fn expand_call(
        &self,
        text: &str,
        call_range_start: TextSize,
    ) -> Option<(TextRange, String)> {
        self.expand_call_at(text, call_range_start, call_range_start)
    }

    /// Every name that the macro call at a place of the table's text may mention, with those that it pastes together of its arguments.
    pub fn names_used_at(&self, text: &str, name: TextRange) -> Vec<SmolStr> {
        let start = name.start();
        let word = lex::slice(text, name);
        let mut names = self.names_used_by(word, start);
        if self.pastes(word, start)
            && let Some(range) = call_range(self, text, start, start)
            && let Some(result) = Expander::new(self, start, Inner::All).expand(pieces(text, range))
        {
            for piece in result {
                let is_new = piece.kind == TokenKind::Identifier && !names.contains(&piece.text);
                names.extend(is_new.then_some(piece.text));
            }
        }
        names
    }

    /// The same for a call in a text derived from the table's own; `lookup_at` is the place in the table's text.
    pub(crate) fn expand_call_at(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let range = call_range(self, text, start, lookup_at)?;
        let mut expander = Expander::new(self, lookup_at, Inner::Structure);
        let call = self.call_pieces(text, range, lookup_at);
        let first = call.first()?.text.clone();
        expander.wanted.insert(first, true);
        let result = expander.expand(call)?;
        Some((range, render(text, range, &result, &mut expander)?))
    }

    /// Expands the macro call at a place of a derived text if it stands for whole declarations: `DEFINE_LIST(int)`.
    pub(crate) fn declarations_of_call(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        const MAX_DEPTH: usize = 16;
        let range = call_range(self, text, start, lookup_at)?;
        let call = self.call_pieces(text, range, lookup_at);
        let mut name = call.first()?.text.clone();
        let mut expander = Expander::new(self, lookup_at, Inner::Declarations);
        for _ in 0..MAX_DEPTH {
            if self.lookup_at(&name, lookup_at)?.origin == HeaderOrigin::System {
                return None;
            }
            expander.wanted.insert(name, true);
            let result = expander.expand(call.clone())?;
            if is_declarations(&result) {
                return Some((range, render(text, range, &result, &mut expander)?));
            }
            name = result.first()?.text.clone();
            if expander
                .wanted
                .get(&name)
                .is_some_and(|is_wanted| *is_wanted)
            {
                return None;
            }
        }
        None
    }

    /// The tokens of a call that the preprocessor sees: its arguments can hold conditionals.
    fn call_pieces(&self, text: &str, call: TextRange, lookup_at: TextSize) -> Vec<Piece> {
        if !lex::slice(text, call).contains('#') {
            return pieces(text, call);
        }
        let lines = pragma::directives(lex::slice(text, TextRange::up_to(call.end())));
        let mut lines = lines.into_iter().map(|line| line.range);
        let mut start = call.start();
        let mut out = Vec::new();
        loop {
            let line = lines.find(|line| line.start() >= start);
            let end = line.map_or(call.end(), |line| line.start());
            if !self.skips(lookup_at + (start - call.start())) {
                out.extend(pieces(text, TextRange::new(start, end)));
            }
            match line {
                Some(line) => start = line.end().min(call.end()),
                None => return out,
            }
        }
    }

    /// What stands for `_Pragma("omp ..")` at an offset: the range of the call, and the pragma on a line of its own.
    pub(crate) fn write_out_pragma(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let rest = TextRange::new(start, TextSize::of(text));
        let tokens: Vec<Token> = significant_tokens(text, rest).take(1024).collect();
        let close = closing(text, &tokens, 1);
        let range = tokens.first()?.range.cover(tokens.get(close)?.range);
        let mut expander = Expander::new(self, lookup_at, Inner::Structure);
        let result = expander.expand(pieces(text, range))?;
        let omp = pragma_at(&result, 0, &mut expander).is_some_and(|pragma| pragma.is_omp());
        if !omp {
            return None;
        }
        Some((range, render(text, range, &result, &mut expander)?))
    }

    /// Whether a macro must be written out for the structure of the code to be seen.
    pub(crate) fn hides_structure(&self, name: &str, at: TextSize) -> bool {
        self.bears_pragma(name) || self.begins_loop(name, at) || self.has_lone_brace(name, at)
    }

    /// Whether the macro's expansion begins with the head of a loop.
    pub(crate) fn begins_loop(&self, name: &str, at: TextSize) -> bool {
        const MAX_DEPTH: usize = 16;
        let mut def = self.lookup_at(name, at);
        for _ in 0..MAX_DEPTH {
            let Some(found) = def else {
                return false;
            };
            let body = found.body.as_str();
            let first = significant_tokens(body, lex::whole(body)).next();
            match first.map_or("", |token| token.text(body)) {
                "for" | "while" => return true,
                word if word == found.name => return false,
                word => def = self.lookup_at(word, at),
            }
        }
        false
    }

    /// Whether the macro's body has a brace without its partner.
    pub(crate) fn has_lone_brace(&self, name: &str, at: TextSize) -> bool {
        let Some(def) = self.lookup_at(name, at) else {
            return false;
        };
        if def.origin == HeaderOrigin::System || !def.body.contains(['{', '}']) {
            return false;
        }
        let mut depth = 0i32;
        for token in significant_tokens(&def.body, lex::whole(&def.body)) {
            match token.text(&def.body) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                return true;
            }
        }
        depth != 0
    }
}

/// The macro name at an offset, with its arguments if it is function-like.
fn call_range(
    macros: &MacroTable,
    text: &str,
    start: TextSize,
    lookup_at: TextSize,
) -> Option<TextRange> {
    let rest = TextRange::new(start, TextSize::of(text));
    let mut tokens = significant_tokens(text, rest);
    let name = tokens
        .next()
        .filter(|token| token.kind == TokenKind::Identifier)?;
    let def = macros.lookup_at(name.text(text), lookup_at)?;
    if def.parameters.is_none() {
        return Some(name.range);
    }
    let mut depth = 0usize;
    for token in tokens {
        match token.text(text) {
            "(" => depth += 1,
            ")" if depth == 1 => return Some(name.range.cover(token.range)),
            ")" if depth > 1 => depth -= 1,
            // The name of a function-like macro without arguments is no call.
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Whether an expansion is a sequence of declarations, the last of which may lack its semicolon, and not the beginning of one.
fn is_declarations(expansion: &[Piece]) -> bool {
    let is_alias = |first: &Piece| matches!(first.text.as_str(), "typedef" | "using");
    let mut is_whole = expansion.first().is_some_and(is_alias);
    let mut depth = 0usize;
    for piece in expansion {
        let word = piece.text.as_str();
        is_whole |= depth == 0 && matches!(word, "{" | ";");
        match word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    is_whole && depth == 0
}

enum Item {
    Piece(Piece),
    /// The named macro's expansion ends here.
    End(SmolStr),
}

pub(super) struct Expander<'m> {
    pub(super) macros: &'m MacroTable,
    at: TextSize,
    inner: Inner,
    /// Whether a macro is expanded, by name.
    wanted: FxHashMap<SmolStr, bool>,
    n_tokens: usize,
    depth: usize,
}

impl<'m> Expander<'m> {
    fn new(macros: &'m MacroTable, at: TextSize, inner: Inner) -> Expander<'m> {
        Expander {
            macros,
            at,
            inner,
            wanted: FxHashMap::default(),
            n_tokens: 0,
            depth: 0,
        }
    }

    fn definition(&mut self, name: &SmolStr) -> Option<&'m MacroDef> {
        let def = self.macros.lookup_at(name, self.at)?;
        if self.inner == Inner::All {
            return Some(def);
        }
        let (macros, at) = (self.macros, self.at);
        let wanted = *self
            .wanted
            .entry(name.clone())
            .or_insert_with(|| macros.hides_structure(name, at));
        wanted.then_some(def)
    }

    /// Replaces every wanted macro call; `None` when the result grows without bound.
    fn expand(&mut self, input: Vec<Piece>) -> Option<Vec<Piece>> {
        const MAX_DEPTH: usize = 64;
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let mut waiting: VecDeque<Item> = input.into_iter().map(Item::Piece).collect();
        let mut active: Vec<SmolStr> = Vec::new();
        let mut out = Vec::new();
        while let Some(item) = waiting.pop_front() {
            match item {
                Item::End(name) => {
                    let idx = active.iter().rposition(|open| *open == name);
                    idx.map(|idx| active.remove(idx));
                }
                Item::Piece(piece) => {
                    self.n_tokens += 1;
                    if self.n_tokens > MAX_TOKENS {
                        return None;
                    }
                    out.extend(self.replace(piece, &mut waiting, &mut active)?);
                }
            }
        }
        self.depth -= 1;
        Some(out)
    }

    /// Puts a macro's expansion in front of what waits, or gives the piece back if it is no wanted call.
    fn replace(
        &mut self,
        mut piece: Piece,
        waiting: &mut VecDeque<Item>,
        active: &mut Vec<SmolStr>,
    ) -> Option<Option<Piece>> {
        if piece.kind != TokenKind::Identifier || piece.hidden {
            return Some(Some(piece));
        }
        let Some(def) = self.definition(&piece.text) else {
            return Some(Some(piece));
        };
        if active.contains(&piece.text) {
            piece.hidden = true;
            return Some(Some(piece));
        }
        let arguments = match &def.parameters {
            None => Vec::new(),
            Some(names) => match take_arguments(waiting, names.len(), def.variadic) {
                Some(arguments) => arguments,
                None => return Some(Some(piece)),
            },
        };
        let mut result = self.substitute(def, &arguments)?;
        if let Some(first) = result.first_mut() {
            first.spaced = piece.spaced;
        }
        active.push(piece.text.clone());
        waiting.push_front(Item::End(piece.text));
        for piece in result.into_iter().rev() {
            waiting.push_front(Item::Piece(piece));
        }
        Some(None)
    }

    /// A macro's body with its parameters replaced.
    fn substitute(&mut self, def: &MacroDef, arguments: &[Vec<Piece>]) -> Option<Vec<Piece>> {
        let body = pieces(&def.body, lex::whole(&def.body));
        let argument = |name: &str| -> Option<&Vec<Piece>> {
            let names = def.parameters.as_ref()?;
            arguments.get(names.iter().position(|parameter| parameter == name)?)
        };
        let mut out: Vec<Piece> = Vec::new();
        let mut idx = 0;
        while let Some(piece) = body.get(idx) {
            let next = body.get(idx + 1);
            let next_is = |text: &str| next.is_some_and(|next| next.text == text);
            let pasted = idx > 0 && body[idx - 1].text == "##";
            let stringized = match piece.text == "#" && def.parameters.is_some() {
                true => next.and_then(|next| argument(&next.text)),
                false => None,
            };
            if let Some(value) = stringized {
                push(&mut out, stringize(value, piece.spaced), pasted);
                idx += 2;
            } else if piece.text == "##" && !out.is_empty() && next.is_some() {
                paste_comma(&body, idx, &argument, &mut out);
                idx += 1;
            } else if piece.text == "__VA_OPT__" && next_is("(") {
                let close = matching(&body, idx + 1);
                let inner = body.get(idx + 2..close).unwrap_or_default();
                let result = self.optional(def, inner, arguments)?;
                push_all(&mut out, result, piece.spaced, pasted);
                idx = close + 1;
            } else if let Some(value) = argument(&piece.text) {
                let is_operand = pasted || next_is("##");
                if value.is_empty() && next_is("##") {
                    // An empty operand: the other side stands alone.
                    idx += 2;
                    let other = body.get(idx);
                    match other.map(|other| argument(&other.text).ok_or(other)) {
                        Some(Ok(value)) => push_all(&mut out, value.clone(), piece.spaced, false),
                        Some(Err(other)) => push(&mut out, other.clone(), false),
                        None => {}
                    }
                } else if is_operand || self.inner == Inner::Structure {
                    push_all(&mut out, value.clone(), piece.spaced, pasted);
                } else {
                    let inner = mem::replace(&mut self.inner, Inner::All);
                    let value = self.expand(value.clone())?;
                    self.inner = inner;
                    push_all(&mut out, value, piece.spaced, pasted);
                }
                idx += 1;
            } else {
                push(&mut out, piece.clone(), pasted);
                idx += 1;
            }
        }
        Some(out)
    }

    /// What `__VA_OPT__( inner )` stands for.
    fn optional(
        &mut self,
        def: &MacroDef,
        inner: &[Piece],
        arguments: &[Vec<Piece>],
    ) -> Option<Vec<Piece>> {
        const MAX_DEPTH: usize = 32;
        if !def.variadic || arguments.last().is_none_or(Vec::is_empty) {
            return Some(Vec::new());
        }
        if self.depth > MAX_DEPTH {
            return None;
        }
        let nested = MacroDef {
            body: join(inner),
            ..def.clone()
        };
        self.depth += 1;
        let result = self.substitute(&nested, arguments);
        self.depth -= 1;
        result
    }
}

/// GNU: the comma of `, ## __VA_ARGS__` goes when there are no further arguments.
fn paste_comma<'a>(
    body: &[Piece],
    idx: usize,
    argument: &impl Fn(&str) -> Option<&'a Vec<Piece>>,
    out: &mut Vec<Piece>,
) {
    let after = body.get(idx + 1).and_then(|next| argument(&next.text));
    let follows_comma = idx > 0 && body[idx - 1].text == ",";
    if follows_comma && after.is_some_and(Vec::is_empty) {
        out.pop();
    }
}

/// Takes `( .. )` from the front: one list of pieces per parameter.
fn take_arguments(
    waiting: &mut VecDeque<Item>,
    n_parameters: usize,
    variadic: bool,
) -> Option<Vec<Vec<Piece>>> {
    let first = waiting.iter().find_map(|item| match item {
        Item::Piece(piece) => Some(piece.text == "("),
        Item::End(_) => None,
    });
    if first != Some(true) {
        return None;
    }
    let mut depth = 0usize;
    let closes = waiting.iter().position(|item| match item {
        Item::Piece(piece) if piece.text == "(" => {
            depth += 1;
            false
        }
        Item::Piece(piece) if piece.text == ")" => {
            depth -= 1;
            depth == 0
        }
        _ => false,
    })?;
    let mut arguments: Vec<Vec<Piece>> = vec![Vec::new()];
    let mut depth = 0usize;
    let mut ends = Vec::new();
    for item in waiting.drain(..=closes) {
        let piece = match item {
            Item::Piece(piece) => piece,
            end @ Item::End(_) => {
                ends.push(end);
                continue;
            }
        };
        match piece.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_outer = (piece.text == "(" && depth == 1) || (piece.text == ")" && depth == 0);
        let takes_rest = variadic && arguments.len() == n_parameters;
        if piece.text == "," && depth == 1 && !takes_rest {
            arguments.push(Vec::new());
        } else if let Some(last) = arguments.last_mut().filter(|_| !is_outer) {
            last.push(piece);
        }
    }
    for end in ends.into_iter().rev() {
        waiting.push_front(end);
    }
    arguments.resize(n_parameters.max(arguments.len()), Vec::new());
    Some(arguments)
}

/// `_Pragma( .. )` among the pieces.
pub(super) struct PragmaCall {
    /// What the string says.
    pub(super) text: String,
    /// The index after its `)`.
    pub(super) end: usize,
}

impl PragmaCall {
    pub(super) fn is_omp(&self) -> bool {
        is_omp_string(&self.text)
    }
}

pub(super) fn pragma_at(
    pieces: &[Piece],
    idx: usize,
    expander: &mut Expander<'_>,
) -> Option<PragmaCall> {
    let opens = pieces.get(idx + 1).is_some_and(|piece| piece.text == "(");
    if pieces.get(idx)?.text != "_Pragma" || !opens {
        return None;
    }
    let close = matching(pieces, idx + 1);
    let mut inner = pieces.get(idx + 2..close)?.to_vec();
    if inner.iter().any(|piece| piece.kind != TokenKind::String) {
        let mut full = Expander::new(expander.macros, expander.at, Inner::All);
        inner = full.expand(inner)?;
    }
    let text: String = inner
        .iter()
        .filter(|piece| piece.kind == TokenKind::String)
        .map(|piece| destringize(&piece.text))
        .collect();
    Some(PragmaCall {
        text,
        end: close + 1,
    })
}

#[cfg(test)]
mod tests;
