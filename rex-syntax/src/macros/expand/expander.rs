//! Replaces macro calls among pieces of text by the rules of the preprocessor.

use std::collections::VecDeque;
use std::mem;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use text_size::TextSize;

use crate::lex::{self, TokenKind};
use crate::macros::pieces::{Piece, join, matching, pieces, push, push_all, stringize};
use crate::macros::{MacroDef, MacroTable};
use crate::pragma::{destringize, is_omp_string};

/// Which macros are expanded inside the result of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// All, by the rules of the preprocessor.
    All,
    /// Those that hide directives, the heads of loops or single braces.
    Structure,
    /// The same, and all in the arguments that are not pasted.
    Declarations,
}

/// The size of an expansion, in tokens, above which it is given up.
const MAX_TOKENS: usize = 1 << 16;

/// Words that are another number on each line, or each time.
const NUMBERS: [&str; 2] = ["__LINE__", "__COUNTER__"];

enum Item {
    Piece(Piece),
    /// The named macro's expansion ends here.
    End(SmolStr),
}

pub(in crate::macros) struct Expander<'m> {
    pub(in crate::macros) macros: &'m MacroTable,
    at: TextSize,
    inner: Inner,
    /// Whether a macro is expanded, by name.
    pub(super) wanted: FxHashMap<SmolStr, bool>,
    /// Words that are to be seen: macros that lead to them, or may make them of arguments, are expanded, too.
    pub(super) sought: Vec<SmolStr>,
    /// Numbers are written for [`NUMBERS`].
    is_numbering: bool,
    n_counted: usize,
    n_tokens: usize,
    depth: usize,
}

impl<'m> Expander<'m> {
    pub(super) fn new(macros: &'m MacroTable, at: TextSize, inner: Inner) -> Expander<'m> {
        Expander {
            macros,
            at,
            inner,
            wanted: FxHashMap::default(),
            sought: Vec::new(),
            is_numbering: false,
            n_counted: 0,
            n_tokens: 0,
            depth: 0,
        }
    }

    fn definition(&mut self, name: &SmolStr) -> Option<&'m MacroDef> {
        let def = self.macros.lookup_at(name, self.at)?;
        if self.inner == Inner::All {
            return Some(def);
        }
        let (macros, at, sought) = (self.macros, self.at, &self.sought);
        let leads = || {
            !sought.is_empty()
                && (macros.makes_names(name, at)
                    || macros
                        .names_used_by(name, at)
                        .iter()
                        .any(|word| sought.contains(word)))
        };
        let wanted = *self
            .wanted
            .entry(name.clone())
            .or_insert_with(|| macros.hides_structure(name, at) || leads());
        wanted.then_some(def)
    }

    /// Replaces every wanted macro call; `None` when the result grows without bound.
    pub(super) fn expand(&mut self, input: Vec<Piece>) -> Option<Vec<Piece>> {
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
        if self.is_numbering && NUMBERS.contains(&piece.text.as_str()) {
            piece.text = self.number(&piece.text);
            return Some(Some(piece));
        }
        let Some(def) = self.definition(&piece.text) else {
            return Some(Some(piece));
        };
        if active.contains(&piece.text) {
            piece.hidden = true;
            return Some(Some(piece));
        }
        let mut arguments = match &def.parameters {
            None => Vec::new(),
            Some(names) => match take_arguments(waiting, names.len(), def.variadic) {
                Some(arguments) => arguments,
                None => return Some(Some(piece)),
            },
        };
        for argument in &mut arguments {
            if self.makes_numbered_names(argument) {
                *argument = self.with_numbers(mem::take(argument))?;
            }
        }
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

    /// Whether an argument makes a name that is another one elsewhere, `UNIQUE(test_)`: wherever its parameter stands it is the same.
    fn makes_numbered_names(&self, argument: &[Piece]) -> bool {
        let is_number = |word: &SmolStr| NUMBERS.contains(&word.as_str());
        argument.iter().any(|piece| {
            piece.kind == TokenKind::Identifier
                && self.macros.makes_names(&piece.text, self.at)
                && (self
                    .macros
                    .names_used_by(&piece.text, self.at)
                    .iter()
                    .any(is_number)
                    || argument.iter().any(|other| is_number(&other.text)))
        })
    }

    fn with_numbers(&mut self, argument: Vec<Piece>) -> Option<Vec<Piece>> {
        let inner = mem::replace(&mut self.inner, Inner::All);
        let is_numbering = mem::replace(&mut self.is_numbering, true);
        let numbered = self.expand(argument)?;
        (self.inner, self.is_numbering) = (inner, is_numbering);
        Some(numbered)
    }

    /// The place of the call, which no other call has, and no use of the same call behind it.
    fn number(&mut self, word: &str) -> SmolStr {
        self.n_counted += usize::from(word == "__COUNTER__");
        format_smolstr!("{}", usize::from(self.at) + self.n_counted)
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
pub(in crate::macros) struct PragmaCall {
    /// What the string says.
    pub(in crate::macros) text: String,
    /// The index after its `)`.
    pub(in crate::macros) end: usize,
}

impl PragmaCall {
    pub(in crate::macros) fn is_omp(&self) -> bool {
        is_omp_string(&self.text)
    }
}

pub(in crate::macros) fn pragma_at(
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
