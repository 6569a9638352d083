//! Writes out macro calls the way a person would: only what hides directives or loop heads, everything else stays as written.
//!
//! Inside the argument of `_Pragma` the full rules of the preprocessor apply, since the string must come out exactly.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use super::{MacroDef, MacroTable};
use crate::layout::indent_at;
use crate::lex::{self, Token, TokenKind, significant_tokens, slice};
use crate::omp::locator::closing;
use crate::pragma::{destringize, is_omp_string};

/// Which macros are expanded inside the result of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    /// All, by the rules of the preprocessor.
    All,
    /// Those that hide directives, the heads of loops or single braces.
    Structure,
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

    /// The same for a call in a text derived from the table's own; `lookup_at` is the place in the table's text.
    pub(crate) fn expand_call_at(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let range = call_range(self, text, start, lookup_at)?;
        let mut expander = Expander::new(self, lookup_at, Inner::Structure);
        let call = pieces(text, range);
        let first = call.first()?.text.clone();
        expander.wanted.insert(first, true);
        let result = expander.expand(call)?;
        Some((range, render(text, range, &result, &mut expander)?))
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
        if def.origin == crate::expansion::HeaderOrigin::System || !def.body.contains(['{', '}']) {
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
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

/// A token of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    text: SmolStr,
    kind: TokenKind,
    /// Whether a blank stands before it.
    spaced: bool,
    /// Whether it names a macro that may not be expanded again.
    hidden: bool,
}

fn pieces(text: &str, range: TextRange) -> Vec<Piece> {
    let mut last_end = range.start();
    significant_tokens(text, range)
        .map(|token| {
            let spaced = token.range.start() > last_end;
            last_end = token.range.end();
            Piece {
                text: token.text(text).into(),
                kind: token.kind,
                spaced,
                hidden: false,
            }
        })
        .collect()
}

enum Item {
    Piece(Piece),
    /// The named macro's expansion ends here.
    End(SmolStr),
}

struct Expander<'m> {
    macros: &'m MacroTable,
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
            let mut piece = match item {
                Item::Piece(piece) => piece,
                Item::End(name) => {
                    if let Some(idx) = active.iter().rposition(|open| *open == name) {
                        active.remove(idx);
                    }
                    continue;
                }
            };
            self.n_tokens += 1;
            if self.n_tokens > MAX_TOKENS {
                return None;
            }
            if piece.kind != TokenKind::Identifier || piece.hidden {
                out.push(piece);
                continue;
            }
            let Some(def) = self.definition(&piece.text) else {
                out.push(piece);
                continue;
            };
            if active.contains(&piece.text) {
                piece.hidden = true;
                out.push(piece);
                continue;
            }
            let arguments = match &def.parameters {
                None => Vec::new(),
                Some(parameters) => {
                    match take_arguments(&mut waiting, parameters.len(), def.variadic) {
                        Some(arguments) => arguments,
                        None => {
                            out.push(piece);
                            continue;
                        }
                    }
                }
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
        }
        self.depth -= 1;
        Some(out)
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
            let pastes_next = next.is_some_and(|next| next.text == "##");
            let pasted = idx > 0 && body[idx - 1].text == "##";
            let stringized = match piece.text == "#" && def.parameters.is_some() {
                true => next.and_then(|next| argument(&next.text)),
                false => None,
            };
            if let Some(value) = stringized {
                push(&mut out, stringize(value, piece.spaced), pasted);
                idx += 2;
                continue;
            }
            if piece.text == "##" && !out.is_empty() && next.is_some() {
                self.paste_comma(&body, idx, &argument, &mut out);
                idx += 1;
                continue;
            }
            if piece.text == "__VA_OPT__" && next.is_some_and(|next| next.text == "(") {
                let close = matching(&body, idx + 1);
                let inner = body.get(idx + 2..close).unwrap_or_default();
                if def.variadic && arguments.last().is_some_and(|rest| !rest.is_empty()) {
                    let nested = MacroDef {
                        body: join(inner),
                        ..def.clone()
                    };
                    if self.depth > 32 {
                        return None;
                    }
                    self.depth += 1;
                    let result = self.substitute(&nested, arguments)?;
                    self.depth -= 1;
                    push_all(&mut out, result, piece.spaced, pasted);
                }
                idx = close + 1;
                continue;
            }
            match argument(&piece.text) {
                None => push(&mut out, piece.clone(), pasted),
                Some(value) => {
                    let raw = pasted || pastes_next || self.inner == Inner::Structure;
                    let value = match raw {
                        true => value.clone(),
                        false => self.expand(value.clone())?,
                    };
                    if value.is_empty() && pastes_next {
                        // An empty operand of `##`: the other side stands alone.
                        idx += 2;
                        if let Some(other) = body.get(idx) {
                            match argument(&other.text) {
                                Some(value) => {
                                    push_all(&mut out, value.clone(), piece.spaced, false)
                                }
                                None => push(&mut out, other.clone(), false),
                            }
                            idx += 1;
                        }
                        continue;
                    }
                    push_all(&mut out, value, piece.spaced, pasted);
                }
            }
            idx += 1;
        }
        Some(out)
    }

    /// GNU: the comma of `, ## __VA_ARGS__` goes when there are no further arguments.
    fn paste_comma<'a>(
        &self,
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
}

/// Adds a piece, glued to the one before if `pasted`.
fn push(out: &mut Vec<Piece>, piece: Piece, pasted: bool) {
    match out.last_mut().filter(|_| pasted) {
        // The comma before `## __VA_ARGS__` is no operand.
        Some(last) if last.text != "," => {
            let glued = format!("{}{}", last.text, piece.text);
            last.kind = significant_tokens(&glued, lex::whole(&glued))
                .next()
                .map_or(piece.kind, |token| token.kind);
            last.text = glued.into();
            last.hidden = false;
        }
        _ => out.push(piece),
    }
}

fn push_all(out: &mut Vec<Piece>, pieces: Vec<Piece>, spaced: bool, pasted: bool) {
    for (idx, mut piece) in pieces.into_iter().enumerate() {
        if idx == 0 {
            piece.spaced = spaced;
        }
        push(out, piece, pasted && idx == 0);
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

fn stringize(pieces: &[Piece], spaced: bool) -> Piece {
    let mut text = String::from("\"");
    for (idx, piece) in pieces.iter().enumerate() {
        if piece.spaced && idx > 0 {
            text.push(' ');
        }
        let is_literal = matches!(piece.kind, TokenKind::String | TokenKind::Char);
        for c in piece.text.chars() {
            if is_literal && matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text.push('"');
    Piece {
        text: text.into(),
        kind: TokenKind::String,
        spaced,
        hidden: false,
    }
}

fn matching(pieces: &[Piece], open: usize) -> usize {
    let mut depth = 0usize;
    for (idx, piece) in pieces.iter().enumerate().skip(open) {
        match piece.text.as_str() {
            "(" => depth += 1,
            ")" => {
                depth -= 1;
                if depth == 0 {
                    return idx;
                }
            }
            _ => {}
        }
    }
    pieces.len()
}

fn join(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        if piece.spaced && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&piece.text);
    }
    out
}

/// `_Pragma( .. )` among the pieces.
struct PragmaCall {
    /// What the string says.
    text: String,
    /// The index after its `)`.
    end: usize,
}

impl PragmaCall {
    fn is_omp(&self) -> bool {
        is_omp_string(&self.text)
    }
}

fn pragma_at(pieces: &[Piece], idx: usize, expander: &mut Expander<'_>) -> Option<PragmaCall> {
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

/// The expansion as text that may stand in place of the call: one statement per line if it has several, pragmas on their own lines.
fn render(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Expands the first call of `name` after the definitions.
    #[track_caller]
    fn check(defines: &str, call: &str, expected: &str) {
        let text = format!("{defines}\n{call}");
        let macros = MacroTable::read(&text, &[], None, |_| TextSize::new(0));
        let start = TextSize::of(defines) + TextSize::new(1);
        let found = macros.expand_call(&text, start).map(|(_, out)| out);
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn a_pragma_gets_its_own_line() {
        check(
            "#define T _Pragma(\"omp target map(from: on)\") { on = !f(); }",
            "T;",
            "#pragma omp target map(from: on)\n{\n  on = !f();\n}",
        );
        check(
            "#define P(x) _Pragma(#x)",
            "P(omp parallel for if(\"a\"))",
            "#pragma omp parallel for if(\"a\")",
        );
        check(
            "#define S(x) #x\n#define P(x) _Pragma(S(omp x))\n#define N 4",
            "P(target map(to: a[0:N])) f();",
            "#pragma omp target map(to: a[0:N])\n",
        );
    }

    #[test]
    fn other_macros_stay() {
        check(
            "#define N 4\n#define Q _Pragma(\"omp barrier\")\n#define P(a) f(N, a); Q g(a)",
            "P(N + 1)",
            "f(N, N + 1);\n#pragma omp barrier\ng(N + 1)",
        );
    }

    #[test]
    fn stringizing_pasting_and_variadics() {
        check("#define C(a, b) a##b = #a", "C(x, 1)", "x1 = \"x\"");
        check("#define V(f, ...) g(f, ## __VA_ARGS__)", "V(1)", "g(1)");
        check(
            "#define V(f, ...) g(f, ## __VA_ARGS__)",
            "V(1, 2, 3)",
            "g(1, 2, 3)",
        );
        check(
            "#define V(f, ...) g(f __VA_OPT__(, __VA_ARGS__))",
            "V(1, 2)",
            "g(1 , 2)",
        );
        check(
            "#define V(f, ...) g(f __VA_OPT__(,) __VA_ARGS__)",
            "V(1)",
            "g(1)",
        );
        check("#define E(a, b) a##b", "E(, x)", "x");
        check(
            "#define S(a) #a",
            "S(\"x\\n\" + 'c')",
            "\"\\\"x\\\\n\\\" + 'c'\"",
        );
    }

    #[test]
    fn loop_heads_are_expanded_inside() {
        check(
            "#define FOR(i, n) for (int i = 0; i < n; i++)\n#define LOOP(i) FOR(i, N)",
            "LOOP(k) { }",
            "for (int k = 0; k < N; k++)",
        );
    }

    #[test]
    fn recursion_ends() {
        check(
            "#define A B _Pragma(\"omp x\")\n#define B A",
            "A",
            "A\n#pragma omp x",
        );
        let text = "#define A(x) A2(x) A2(x)\n#define A2(x) _Pragma(\"omp x\")\nA(";
        let macros = MacroTable::read(text, &[], None, |_| TextSize::new(0));
        assert_eq!(
            macros.expand_call(text, TextSize::of(text) - TextSize::new(2)),
            None
        );
    }
}
