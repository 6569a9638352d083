//! Repairs of code that the grammar cannot know without the macros: calls without semicolon, types as macro arguments.
//!
//! Each repair changes only blanks or characters of the construct itself. One pass over the tokens with the open brackets on a stack.

use text_size::{TextRange, TextSize};

use super::{Mask, Scan};
use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::macros::MacroDef;
use crate::omp::directive::{Association, Directive};
use crate::omp::locator::closing;
use crate::source::Language;

/// What an open bracket holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    /// `(` or `[`; `true` after `if`, `for`, `while` or `switch`.
    Expression { is_header: bool },
    /// The `{` of statements.
    Block,
    /// The `{` of members or of a namespace.
    Members,
    /// The `{` of a list: an initializer or the constants of an enumeration.
    List,
}

/// What the tokens since the last statement boundary say about a `{`.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    is_members: bool,
    is_enum: bool,
}

impl Scan<'_> {
    /// Puts directives in their places and repairs macro calls.
    pub(super) fn repair(&self, directives: &[Directive], mask: &mut Mask) {
        let mut open: Vec<Bracket> = Vec::new();
        let mut head = Head::default();
        let mut directives = directives.iter().peekable();
        let mut begins_statement = true;
        let mut repaired = None;
        for (idx, token) in self.tokens.iter().enumerate() {
            while let Some(directive) =
                directives.next_if(|directive| directive.range.start() < token.range.start())
            {
                if !matches!(open.last(), Some(Bracket::Expression { .. })) {
                    self.put_directive(directive, mask);
                    begins_statement |= directive.association() != Association::Declarative;
                }
            }
            let text = token.text(self.text);
            match token.kind {
                TokenKind::Punct => {
                    if text == "->*" && self.before(idx) != "operator" {
                        // The grammar knows `.*` only, and only before names.
                        let is_name = self
                            .tokens
                            .get(idx + 1)
                            .is_some_and(|next| next.kind == TokenKind::Identifier);
                        let spelling = if is_name { " .*" } else { "  *" };
                        mask.put(token.range.start(), spelling);
                    }
                    let is_of_members = matches!(open.last(), None | Some(Bracket::Members));
                    if text == ";" && is_of_members && self.ends_empty_function(idx) {
                        mask.blank(token.range);
                    }
                    begins_statement = self.punctuation(idx, text, &mut open, &mut head);
                }
                TokenKind::Identifier => {
                    match text {
                        // In front of a name it may be a template's parameter.
                        "class" if matches!(self.before(idx), "<" | ",") => {}
                        "struct" | "class" | "union" | "namespace" | "extern" => {
                            head.is_members = true;
                        }
                        "enum" => head.is_enum = true,
                        _ => {}
                    }
                    let next = directives.peek().map(|directive| directive.range.start());
                    let place = Place {
                        begins_statement: begins_statement || repaired == Some(idx),
                        bracket: open.last().copied(),
                        next_directive: next,
                    };
                    let ends_before = self.word(idx, *token, place, mask);
                    begins_statement = matches!(text, "else" | "do");
                    repaired = ends_before.or(repaired);
                }
                _ => begins_statement = false,
            }
        }
        for directive in directives {
            self.put_directive(directive, mask);
        }
    }

    /// Follows the brackets; returns whether a statement begins after this token.
    fn punctuation(
        &self,
        idx: usize,
        text: &str,
        open: &mut Vec<Bracket>,
        head: &mut Head,
    ) -> bool {
        match text {
            "(" | "[" => {
                let before = self.before(idx);
                let is_header = matches!(before, "if" | "for" | "while" | "switch" | "constexpr");
                open.push(Bracket::Expression { is_header });
                false
            }
            ")" | "]" => {
                let closed = open.pop();
                closed == Some(Bracket::Expression { is_header: true })
            }
            "{" => {
                let bracket = self.brace(idx, open.last().copied(), *head);
                open.push(bracket);
                *head = Head::default();
                bracket != Bracket::List
            }
            "}" => {
                *head = Head::default();
                open.pop() != Some(Bracket::List)
            }
            ";" => {
                *head = Head::default();
                !matches!(open.last(), Some(Bracket::Expression { .. }))
            }
            ":" => matches!(open.last(), Some(Bracket::Block)),
            _ => false,
        }
    }

    fn brace(&self, idx: usize, outer: Option<Bracket>, head: Head) -> Bracket {
        match self.before(idx) {
            "=" | "," | "(" | "[" | "return" => Bracket::List,
            ")" | "const" | "noexcept" | "override" => Bracket::Block,
            "{" if outer == Some(Bracket::List) => Bracket::List,
            _ if head.is_enum => Bracket::List,
            _ if head.is_members => Bracket::Members,
            _ => Bracket::Block,
        }
    }

    /// Handles a word. If a semicolon was put after the macro call it begins, returns the index of the token after that.
    fn word(&self, idx: usize, token: Token, place: Place, mask: &mut Mask) -> Option<usize> {
        let text = token.text(self.text);
        if text == "new" && self.language == Language::Cxx {
            self.repair_new(idx, mask);
            return None;
        }
        if place.begins_statement && place.bracket.is_none() && self.language == Language::C {
            self.repair_old_style_function(idx, mask);
        }
        let is_in_block = matches!(place.bracket, None | Some(Bracket::Block));
        let begins_loop = self.before(idx) == "(" && idx >= 2 && self.token_text(idx - 2) == "for";
        if place.begins_statement && is_in_block || begins_loop {
            self.repair_pointer_to_array(idx, mask);
        }
        let begins_declaration = place.begins_statement || matches!(self.before(idx), "(" | ",");
        if begins_declaration && self.language == Language::Cxx {
            self.repair_pointer_to_function(idx, mask);
        }
        if place.begins_statement
            && place.bracket == Some(Bracket::Block)
            && self.language == Language::Cxx
        {
            self.repair_initialization(idx, mask);
        }
        let is_deduced = text == "auto" && self.token_text(idx + 2) == "=";
        if is_deduced && place.begins_statement && self.language == Language::C {
            mask.put_token(token, "char");
        }
        let def = self.macros.lookup_at(text, token.range.start());
        let is_call = self.token_text(idx + 1) == "(";
        if is_call && def.is_some_and(|def| def.parameters.is_some()) {
            self.repair_type_arguments(idx + 1, mask);
        }
        if !place.begins_statement {
            return None;
        }
        let begins_loop =
            is_call && text.is_ascii() && self.macros.begins_loop(text, token.range.start());
        // A loop may stand in the macro with its body, too.
        let is_whole =
            !begins_loop || def.is_some_and(|def| self.is_statement(def, token.range.start(), 0));
        if is_call
            && is_whole
            && def.is_some()
            && place.bracket == Some(Bracket::Block)
            && let Some(last) = self.respell_statements(idx, mask)
        {
            return Some(last + 1);
        }
        if begins_loop {
            self.respell_loop(idx, mask);
            return None;
        }
        let last = match (def, is_call) {
            (Some(def), false) if def.parameters.is_none() => idx,
            (Some(_) | None, true) => self.closing(idx + 1),
            _ => return None,
        };
        let is_statement = match def {
            Some(def) => self.is_statement(def, token.range.start(), 0),
            None => {
                is_call
                    && !self.macros.is_complete()
                    && place.bracket == Some(Bracket::Block)
                    && self.line_ends_after(last)
                    && !is_control_word(text)
            }
        };
        if !is_statement || !self.needs_semicolon(last, place) {
            return None;
        }
        self.put_semicolon(last, mask);
        Some(last + 1)
    }

    /// A macro that stands for the head of a loop is spelled like one: `FOR_EACH(i, n) { }`.
    fn respell_loop(&self, idx: usize, mask: &mut Mask) {
        let keyword = match self.tokens[idx].range.len().into() {
            0..2usize => return,
            2..5 => "if",
            _ => "while",
        };
        self.blank_tokens(idx, idx, mask);
        mask.put_token(self.tokens[idx], keyword);
    }

    /// Whether a macro expands to a complete statement.
    fn is_statement(&self, def: &MacroDef, at: TextSize, depth: usize) -> bool {
        const MAX_DEPTH: usize = 8;
        let body = def.body.as_str();
        let tokens: Vec<Token> = significant_tokens(body, lex::whole(body)).collect();
        let Some(last) = tokens.last() else {
            return def.parameters.is_some();
        };
        let name = match last.text(body) {
            ";" | "}" => return true,
            ")" => {
                let opens = (0..tokens.len())
                    .rev()
                    .filter(|&idx| tokens[idx].text(body) == "(")
                    .find(|&idx| closing(body, &tokens, idx) + 1 == tokens.len());
                opens.and_then(|idx| tokens.get(idx.checked_sub(1)?))
            }
            _ => Some(last),
        };
        let inner = name
            .map(|name| name.text(body))
            .filter(|name| depth < MAX_DEPTH && *name != def.name)
            .and_then(|name| self.macros.lookup_at(name, at));
        inner.is_some_and(|inner| self.is_statement(inner, at, depth + 1))
    }

    /// Whether what follows a call cannot continue it.
    fn needs_semicolon(&self, last: usize, place: Place) -> bool {
        let Some(end) = self.tokens.get(last).map(|token| token.range.end()) else {
            return false;
        };
        let Some(next) = self.tokens.get(last + 1) else {
            return place.next_directive.is_some_and(|at| at > end);
        };
        let before_directive = place
            .next_directive
            .is_some_and(|at| at >= end && at < next.range.start());
        before_directive || next.kind == TokenKind::Identifier || next.text(self.text) == "}"
    }

    fn line_ends_after(&self, last: usize) -> bool {
        let Some(end) = self.tokens.get(last).map(|token| token.range.end()) else {
            return false;
        };
        let next = self.tokens.get(last + 1).map(|token| token.range.start());
        let between = TextRange::new(end, next.unwrap_or(TextSize::of(self.text)));
        lex::slice(self.text, between).contains('\n')
    }

    /// Puts a `;` into the blanks after a token.
    fn put_semicolon(&self, last: usize, mask: &mut Mask) {
        let Some(end) = self.tokens.get(last).map(|token| token.range.end()) else {
            return;
        };
        let next = self.tokens.get(last + 1).map(|token| token.range.start());
        let between = TextRange::new(end, next.unwrap_or(TextSize::of(self.text)));
        let blanks = lex::slice(self.text, between).as_bytes();
        let is_blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        if is_blank(blanks.first()) {
            mask.put(end, ";");
        } else if matches!(blanks.last(), Some(b' ' | b'\t')) {
            mask.put(between.end() - TextSize::new(1), ";");
        }
    }

    /// `new T*[n]` and `new T[]{a, b}`: the grammar has no pointers there, and no brackets without a number.
    fn repair_new(&self, idx: usize, mask: &mut Mask) {
        let mut at = idx + 1;
        while self
            .tokens
            .get(at)
            .is_some_and(|token| token.kind == TokenKind::Identifier)
            || self.token_text(at) == "::"
        {
            at += 1;
        }
        let stars = at;
        while self.token_text(at) == "*" {
            at += 1;
        }
        if at > stars && stars > idx + 1 && self.token_text(at) == "[" {
            self.blank_tokens(stars, at - 1, mask);
        }
        let is_counted = self.token_text(at) == "["
            && self.token_text(at + 1) == "]"
            && matches!(self.token_text(at + 2), "{" | "(");
        if is_counted {
            self.blank_tokens(at, at + 1, mask);
        }
    }

    /// Types as arguments of a macro: `ALLOC(double, n)`, `ALLOC(T *, n)`. A keyword is made a name, stars go.
    pub(super) fn repair_type_arguments(&self, open: usize, mask: &mut Mask) {
        let close = self.closing(open);
        let mut start = open + 1;
        let mut idx = open + 1;
        while idx < close {
            match self.token_text(idx) {
                "(" | "[" | "{" => idx = self.closing(idx),
                "," => {
                    self.repair_type_argument(start, idx, mask);
                    start = idx + 1;
                }
                _ => {}
            }
            idx += 1;
        }
        self.repair_type_argument(start, close, mask);
    }

    fn repair_type_argument(&self, start: usize, end: usize, mask: &mut Mask) {
        let Some(argument) = self
            .tokens
            .get(start..end)
            .filter(|tokens| !tokens.is_empty())
        else {
            return;
        };
        let n_stars = argument
            .iter()
            .rev()
            .take_while(|token| token.text(self.text) == "*")
            .count();
        let words = &argument[..argument.len() - n_stars];
        // A type has few words; a long argument is not looked through.
        if words.len() > 8 {
            return;
        }
        let are_words = words
            .iter()
            .all(|token| token.kind == TokenKind::Identifier);
        if !are_words || words.is_empty() {
            return;
        }
        let has_keyword = words
            .iter()
            .any(|token| is_type_word(token.text(self.text)));
        if n_stars > 0 {
            self.blank_tokens(end - n_stars, end - 1, mask);
        }
        if has_keyword {
            let first = words[0].range;
            if words.len() > 1 {
                self.blank_tokens(start + 1, start + words.len() - 1, mask);
            }
            mask.put(first.start(), "T");
        }
    }
}

/// Where a word stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    begins_statement: bool,
    bracket: Option<Bracket>,
    next_directive: Option<TextSize>,
}

fn is_control_word(word: &str) -> bool {
    matches!(
        word,
        "if" | "for"
            | "while"
            | "switch"
            | "return"
            | "sizeof"
            | "catch"
            | "defined"
            | "asm"
            | "__asm__"
            | "static_assert"
            | "_Static_assert"
            | "decltype"
            | "alignas"
            | "throw"
            | "typeof"
            | "__typeof__"
            | "co_await"
            | "co_return"
            | "co_yield"
            | "constexpr"
    )
}

fn is_type_word(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "double"
            | "float"
            | "char"
            | "long"
            | "short"
            | "unsigned"
            | "signed"
            | "bool"
            | "void"
            | "_Bool"
            | "struct"
            | "union"
            | "enum"
            | "const"
            | "volatile"
    )
}
