//! Writes out macro calls the way a person would: only what hides directives or loop heads, everything else stays as written.
//!
//! Inside the argument of `_Pragma` the full rules of the preprocessor apply, since the string must come out exactly.

pub(super) mod expander;
mod stages;

use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use self::expander::{Expander, Inner, pragma_at};
use self::stages::{Stages, Whose};
use super::MacroTable;
use super::pieces::{Piece, pieces};
use super::render::render;
use crate::expansion::HeaderOrigin;
use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::omp::locator::closing;
use crate::pragma;

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

    /// Every name that the macro call at a place of the table's text may mention, with those that it makes of its arguments.
    pub fn names_used_at(&self, text: &str, name: TextRange) -> Vec<SmolStr> {
        let start = name.start();
        let word = lex::slice(text, name);
        let mut names = self.names_used_by(word, start);
        if self.makes_names(word, start)
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

    /// Expands the macro call that starts at an offset of the table's text, and every macro that its expansion calls.
    pub(crate) fn expand_whole_call(
        &self,
        text: &str,
        start: TextSize,
    ) -> Option<(TextRange, String)> {
        let range = call_range(self, text, start, start)?;
        let mut expander = Expander::new(self, start, Inner::All);
        let result = expander.expand(self.call_pieces(text, range, start))?;
        Some((range, render(text, range, &result, &mut expander)?))
    }

    /// Expands the macro call at a place of the table's text as far as it takes to see some words: the range of the call, and its replacement.
    pub fn expand_to(
        &self,
        text: &str,
        name: TextRange,
        words: &[SmolStr],
    ) -> Option<(TextRange, String)> {
        let start = name.start();
        let range = call_range(self, text, start, start)?;
        let mut expander = Expander::new(self, start, Inner::Structure);
        expander.sought = words.to_vec();
        let result = expander.expand(self.call_pieces(text, range, start))?;
        Some((range, render(text, range, &result, &mut expander)?))
    }

    /// The same as [`expand_call`](Self::expand_call) for a call in a text derived from the table's own; `lookup_at` is the place in the table's text.
    pub(crate) fn expand_call_at(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let how = (Inner::Structure, Whose::Everyone);
        Stages::of(self, text, start, lookup_at, how)?.first(|_| true)
    }

    /// The same for a call that stands for words of a directive: the names that it pastes may be computed in its arguments.
    pub(crate) fn words_of_call(
        &self,
        text: &str,
        name: TextRange,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let inner = match self.makes_names(lex::slice(text, name), lookup_at) {
            true => Inner::Declarations,
            false => Inner::Structure,
        };
        let how = (inner, Whose::Everyone);
        Stages::of(self, text, name.start(), lookup_at, how)?.first(|_| true)
    }

    /// Expands the macro call at a place of a derived text, and those that its expansion begins with.
    pub(crate) fn statement_of_call(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let how = (Inner::Structure, Whose::Everyone);
        Stages::of(self, text, start, lookup_at, how)?.last()
    }

    /// Expands the macro call at a place of a derived text if it stands for whole declarations: `DEFINE_LIST(int)`.
    pub(crate) fn declarations_of_call(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let how = (Inner::Declarations, Whose::Project);
        Stages::of(self, text, start, lookup_at, how)?.first(is_declarations)
    }

    /// Expands the macro call that begins a statement if it stands for declarations of local variables: `DECLARE(x) = 1;`.
    pub(crate) fn variables_of_call(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let how = (Inner::Structure, Whose::Project);
        Stages::of(self, text, start, lookup_at, how)?.variables()
    }

    /// Expands the macro call at a place of a derived text that stands for a part of a declaration, with its arguments.
    pub(crate) fn part_of_call(
        &self,
        text: &str,
        start: TextSize,
        lookup_at: TextSize,
    ) -> Option<(TextRange, String)> {
        let how = (Inner::Declarations, Whose::Project);
        Stages::of(self, text, start, lookup_at, how)?.first(|_| true)
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

    /// Whether the macro's body ends with the head of a statement: `if (x)`, `else`. Loops with arguments are read as they are.
    pub(crate) fn is_head_of_statement(&self, name: &str, at: TextSize) -> bool {
        let Some(def) = self.lookup_at(name, at) else {
            return false;
        };
        if def.origin == HeaderOrigin::System {
            return false;
        }
        let body = def.body.as_str();
        let tokens: Vec<Token> = significant_tokens(body, lex::whole(body)).collect();
        let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(body));
        match tokens.last().map(|last| last.text(body)) {
            Some("else" | "do") => true,
            Some(")") => {
                let partners = lex::Partners::of(body, &tokens);
                let opener = partners.opening(tokens.len() - 1);
                let Some(keyword) = opener.and_then(|at| at.checked_sub(1)) else {
                    return false;
                };
                // `while` may end a loop, too.
                let ends_loop = keyword.checked_sub(1).map_or("", word) == "}";
                match word(keyword) {
                    "if" | "switch" => true,
                    "for" | "while" => def.parameters.is_none() && !ends_loop,
                    _ => false,
                }
            }
            _ => false,
        }
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

/// Words that begin a statement and are no type.
const NO_TYPES: [&str; 22] = [
    "asm",
    "break",
    "case",
    "co_return",
    "co_yield",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "for",
    "goto",
    "if",
    "namespace",
    "new",
    "return",
    "switch",
    "template",
    "throw",
    "typedef",
    "using",
    "while",
];

/// Words of types that name no variable.
const TYPE_WORDS: [&str; 14] = [
    "auto",
    "bool",
    "char",
    "const",
    "constexpr",
    "double",
    "float",
    "int",
    "long",
    "short",
    "signed",
    "unsigned",
    "void",
    "volatile",
];

/// Whether one of the statements of an expansion declares a variable.
fn declares_variables(expansion: &[Piece]) -> bool {
    statements_of(expansion).any(declares_variable)
}

/// The statements of an expansion that stand one behind the other.
fn statements_of(expansion: &[Piece]) -> impl Iterator<Item = &[Piece]> {
    let mut depth = 0usize;
    expansion.split(move |piece| {
        match piece.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && piece.text == ";"
    })
}

/// Whether a statement begins with a type and a name: `std::vector<int> *x = ..`.
fn declares_variable(statement: &[Piece]) -> bool {
    let mut n_words = 0;
    let mut last = "";
    let mut angles = 0usize;
    let mut is_qualified = false;
    for piece in statement {
        let word = piece.text.as_str();
        match word {
            "<" if !last.is_empty() => angles += 1,
            ">" => angles = angles.saturating_sub(1),
            ">>" => angles = angles.saturating_sub(2),
            _ if angles > 0 => {}
            "::" => is_qualified = true,
            "*" | "&" | "&&" if n_words > 0 => {}
            _ if piece.kind == TokenKind::Identifier => {
                n_words += usize::from(!is_qualified || n_words == 0);
                is_qualified = false;
                last = word;
                if n_words == 1 && NO_TYPES.contains(&word) {
                    return false;
                }
            }
            "=" | "," | "[" | "(" | "{" => break,
            _ => return false,
        }
    }
    n_words > 1 && !TYPE_WORDS.contains(&last)
}

#[cfg(test)]
mod tests;
