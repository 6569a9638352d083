//! Declarations that the grammars take for something else, because only a symbol table can tell.
//!
//! `A x(n, m);` reads like a function, `T (*a)[N] = p;`, `T (&a)[N] = b;` and `T (*a)() = f;` like an assignment to the result of a call. All get a spelling of the
//! same length that reads as what it is.

use super::{Mask, Scan};
use crate::lex::{self, TokenKind, significant_tokens};
use crate::source::Language;

impl Scan<'_> {
    /// Whether a `;` follows the definition of a function without statements, which the grammar takes for a variable with a value: `void f() {};`.
    pub(super) fn ends_empty_function(&self, semicolon: usize) -> bool {
        let Some(mut idx) = semicolon.checked_sub(3) else {
            return false;
        };
        if self.token_text(idx + 1) != "{" || self.token_text(idx + 2) != "}" {
            return false;
        }
        // What may stand between the parameters and the body.
        while matches!(
            self.token_text(idx),
            "const" | "volatile" | "noexcept" | "override" | "final"
        ) && idx > 0
        {
            idx -= 1;
        }
        let Some(open) = self.partners.opening(idx) else {
            return false;
        };
        let before = &self.tokens[open.saturating_sub(3)..open];
        let is_operator = before
            .iter()
            .any(|token| token.text(self.text) == "operator");
        // Not the parameters of a lambda, and those that a pointer to functions has.
        let name = before.last();
        let is_named = name.is_some_and(|name| name.kind == TokenKind::Identifier);
        is_operator || is_named && !self.is_base_class(open - 1)
    }

    /// Whether a name in front of parentheses is a base class that a macro makes: `struct S : BASE(int) {};`.
    fn is_base_class(&self, name: usize) -> bool {
        let is_before = |at: &usize| {
            self.tokens[*at].kind != TokenKind::Identifier && self.token_text(*at) != "::"
        };
        let before = (0..name).rev().find(is_before);
        before.is_some_and(|at| matches!(self.token_text(at), ":" | ","))
    }

    /// `A x(n, m);` at the start of a statement: the parentheses become braces.
    ///
    /// Only where the arguments could be parameters to the grammar and none looks like one to a reader.
    pub(super) fn repair_initialization(&self, idx: usize, mask: &mut Mask) {
        let Some(open) = self.initialized_declarator(idx) else {
            return;
        };
        let close = self.closing(open);
        if !matches!(self.token_text(close + 1), ";" | ",") || close == open + 1 {
            return;
        }
        let mut start = open + 1;
        let mut is_clear = false;
        let mut at = open + 1;
        while at <= close {
            if at == close || self.token_text(at) == "," {
                if self.looks_like_parameter(start, at) {
                    return;
                }
                start = at + 1;
            } else if matches!(self.token_text(at), "(" | "[" | "{") {
                at = self.closing(at);
            } else {
                is_clear |= self.is_clearly_value(at);
            }
            at += 1;
        }
        if !is_clear {
            mask.put_token(self.tokens[open], "{");
            mask.put_token(self.tokens[close], "}");
        }
    }

    /// The `(` after `type declarator` at the start of a statement.
    fn initialized_declarator(&self, idx: usize) -> Option<usize> {
        let mut at = idx;
        while matches!(
            self.token_text(at),
            "const" | "static" | "constexpr" | "volatile"
        ) {
            at += 1;
        }
        at = self.type_name_end(at)?;
        let type_end = at;
        while matches!(self.token_text(at), "*" | "&" | "&&" | "const") {
            at += 1;
        }
        let is_name = |at: usize| {
            self.tokens
                .get(at)
                .is_some_and(|token| token.kind == TokenKind::Identifier)
        };
        let named = is_name(at) && is_name(type_end - 1) || self.token_text(type_end - 1) == ">";
        (named && is_name(at) && self.token_text(at + 1) == "(").then_some(at + 1)
    }

    /// The index after a type name at `at`, scopes and template arguments included.
    pub(super) fn type_name_end(&self, mut at: usize) -> Option<usize> {
        loop {
            let token = self.tokens.get(at)?;
            if token.kind != TokenKind::Identifier || is_no_type(token.text(self.text)) {
                return None;
            }
            at += 1;
            while is_arithmetic(self.token_text(at - 1)) && is_arithmetic(self.token_text(at)) {
                at += 1;
            }
            if self.token_text(at) == "<" {
                at = self.after_template_arguments(at)?;
            }
            if self.token_text(at) != "::" {
                return Some(at);
            }
            at += 1;
        }
    }

    pub(super) fn after_template_arguments(&self, open: usize) -> Option<usize> {
        const MAX_TOKENS: usize = 256;
        let mut depth = 0i32;
        for at in open..(open + MAX_TOKENS).min(self.tokens.len()) {
            match self.token_text(at) {
                "<" => depth += 1,
                ">" => depth -= 1,
                ">>" => depth -= 2,
                ";" | "{" | "}" => return None,
                _ => {}
            }
            if depth <= 0 {
                return Some(at + 1);
            }
        }
        None
    }

    /// Whether an argument reads like `type`, `type name` or `type *`.
    fn looks_like_parameter(&self, start: usize, end: usize) -> bool {
        let text = |at: usize| self.token_text(at);
        let begins_type = is_arithmetic(text(start))
            || matches!(
                text(start),
                "const"
                    | "volatile"
                    | "struct"
                    | "class"
                    | "union"
                    | "enum"
                    | "typename"
                    | "auto"
                    | "void"
                    | "bool"
                    | "..."
            );
        let is_name = |at: usize| {
            let token = self.tokens.get(at);
            token.is_some_and(|token| token.kind == TokenKind::Identifier)
                && !matches!(text(at), "sizeof" | "new" | "alignof" | "not")
        };
        let two_names = (start..end.saturating_sub(1)).any(|at| is_name(at) && is_name(at + 1));
        let is_empty_call = end >= start + 3 && text(end - 1) == ")" && text(end - 2) == "(";
        let ends_open = end > start && matches!(text(end - 1), "*" | "&" | "&&" | "...");
        start == end || begins_type || two_names || is_empty_call || ends_open
    }

    /// Whether a token can stand in no parameter declaration, so that the grammar is right by itself.
    fn is_clearly_value(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else {
            return false;
        };
        match token.kind {
            TokenKind::Number | TokenKind::String | TokenKind::Char => true,
            TokenKind::Punct => matches!(
                token.text(self.text),
                "." | "->"
                    | "+"
                    | "-"
                    | "/"
                    | "%"
                    | "!"
                    | "~"
                    | "?"
                    | "|"
                    | "||"
                    | "^"
                    | "=="
                    | "!="
            ),
            _ => false,
        }
    }

    /// `T (*a)[N] = p;` and `T (&a)[N] = b;` at the start of a statement, where `T` is a type: in C it is spelled like a type that the grammar knows, in C++
    /// the parentheses go.
    pub(super) fn repair_pointer_to_array(&self, idx: usize, mask: &mut Mask) {
        let is_word_before = |at: &usize| {
            matches!(
                self.token_text(*at),
                "static" | "extern" | "const" | "volatile"
            )
        };
        let idx = (idx..).find(|at| !is_word_before(at)).unwrap_or(idx);
        let Some(token) = self.tokens.get(idx) else {
            return;
        };
        let close = self.closing(idx + 1);
        let is_indirection = |at: &usize| matches!(self.token_text(*at), "*" | "&");
        let name = (idx + 2..close).find(|at| !is_indirection(at));
        let is_declarator = name.is_some_and(|name| name > idx + 2 && name + 1 == close);
        let is_pattern = self.token_text(idx + 1) == "("
            && is_declarator
            && self.token_text(close + 1) == "["
            && matches!(
                self.token_text(self.closing(close + 1) + 1),
                "=" | "[" | ";" | ","
            );
        let name = token.text(self.text);
        if !is_pattern || !(is_arithmetic(name) || self.is_type_name(name, idx)) {
            return;
        }
        if self.language == Language::Cxx {
            // `T *a [N] = p;` is a declaration to the grammar; the builder puts the array back inside.
            mask.put_token(self.tokens[idx + 1], " ");
            mask.put_token(self.tokens[close], " ");
            return;
        }
        if is_arithmetic(name) {
            return;
        }
        let spelling = match name.len() {
            // Two letters take the blank after them along.
            2 if self.tokens[idx + 1].range.start() > token.range.end() => "int",
            3 => "int",
            4 => "char",
            5 => "float",
            6 => "double",
            7 => "int32_t",
            8 => "uint16_t",
            9 => "uintptr_t",
            _ => return,
        };
        mask.put_token(*token, spelling);
    }

    /// `T (*f)() = g;`, `T (C::*f)();`, `T (*f[N])();` and `T (*f(int))();` at the start of a statement in C++, where `T` is a type, and `g(int (*f)())`: the
    /// parentheses go.
    ///
    /// Without parameters the grammar calls a type. The builder puts the function back inside.
    pub(super) fn repair_pointer_to_function(&self, idx: usize, mask: &mut Mask) {
        let is_parameter = matches!(self.before(idx), "(" | ",");
        let is_word_before = |at: &usize| {
            matches!(
                self.token_text(*at),
                "static"
                    | "extern"
                    | "const"
                    | "volatile"
                    | "struct"
                    | "class"
                    | "union"
                    | "enum"
                    | "::"
            )
        };
        let first = (idx..).find(|at| !is_word_before(at)).unwrap_or(idx);
        let end = match self.token_text(first) {
            "void" => Some(first + 1),
            _ => self.type_name_end(first),
        };
        let Some(end) = end else { return };
        let is_indirection =
            |at: &usize| matches!(self.token_text(*at), "*" | "&" | "const" | "volatile");
        let open = (end..).find(|at| !is_indirection(at)).unwrap_or(end);
        let close = self.closing(open);
        let is_pattern = self.is_pointer_in_parentheses(open, close)
            && self.token_text(close + 1) == "("
            && self.token_text(close + 2) == ")"
            && matches!(
                (self.token_text(close + 3), is_parameter),
                ("=" | ";" | "{", false) | (",", _) | (")", true)
            );
        let name = self.token_text(end - 1);
        let is_builtin = name == "void" || is_arithmetic(name);
        let is_other = || first > idx || name == ">" || self.is_type_name(name, idx);
        if !is_pattern || !(is_builtin || !is_parameter && is_other()) {
            return;
        }
        for at in [open, close, close + 1, close + 2] {
            mask.put_token(self.tokens[at], " ");
        }
    }

    /// Whether the parentheses have `*f`, `*C::f`, `C::*f`, `*f[N]` or `*f(int)` in them.
    fn is_pointer_in_parentheses(&self, open: usize, close: usize) -> bool {
        if self.token_text(open) != "(" || close >= self.tokens.len() {
            return false;
        }
        let star = match self.token_text(open + 1) {
            "*" | "&" => Some(open + 1),
            _ => self.member_star(open + 1),
        };
        let Some(star) = star else { return false };
        let is_indirection = |at: &usize| matches!(self.token_text(*at), "*" | "&" | "const");
        let name = (star..close).find(|at| !is_indirection(at));
        let Some(name) = name.filter(|name| self.is_word(*name)) else {
            return false;
        };
        let mut at = name + 1;
        while self.token_text(at) == "::" && self.is_word(at + 1) {
            at += 2;
        }
        while matches!(self.token_text(at), "[" | "(") {
            at = self.closing(at) + 1;
        }
        at == close
    }

    /// `T *f(a) char *a; { }` at file scope in C: the grammar has no pointers there.
    pub(super) fn repair_old_style_function(&self, idx: usize, mask: &mut Mask) {
        let is_name = |at: usize| {
            self.tokens
                .get(at)
                .is_some_and(|token| token.kind == TokenKind::Identifier)
        };
        let mut stars = idx;
        while is_name(stars) {
            stars += 1;
        }
        let mut at = stars;
        while self.token_text(at) == "*" {
            at += 1;
        }
        let is_head = at > stars && is_name(at) && self.token_text(at + 1) == "(";
        if is_head && is_name(self.closing(at + 1) + 1) {
            self.blank_tokens(stars, at - 1, mask);
        }
    }

    /// Whether the file or a header declares the name as a type.
    fn is_type_name(&self, name: &str, before: usize) -> bool {
        const MAX_BACK: usize = 512;
        let at = self.tokens[before].range.start();
        if let Some(def) = self.macros.lookup_at(name, at) {
            let mut body = significant_tokens(&def.body, lex::whole(&def.body));
            return def.parameters.is_none()
                && body.all(|token| token.kind == TokenKind::Identifier);
        }
        let begins_typedef = |idx: usize| {
            (idx.saturating_sub(MAX_BACK)..idx)
                .rev()
                .take_while(|&at| self.token_text(at) != ";")
                .any(|at| self.token_text(at) == "typedef")
        };
        let declared_here = (0..before).any(|idx| {
            self.token_text(idx) == name
                && match (self.before(idx), self.token_text(idx + 1)) {
                    ("typename" | "class" | "struct" | "union" | "enum" | "using", _) => true,
                    (_, ";" | ",") => begins_typedef(idx),
                    _ => false,
                }
        });
        let in_header = || {
            let index = self.macros.expansion()?.declarations();
            index.typedef(name).or_else(|| index.tag(name)).map(|_| ())
        };
        declared_here || in_header().is_some()
    }
}

fn is_arithmetic(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "char"
            | "float"
            | "double"
            | "long"
            | "short"
            | "unsigned"
            | "signed"
            | "bool"
            | "size_t"
    )
}

/// Words that begin statements or expressions, never a declared type.
fn is_no_type(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "delete"
            | "throw"
            | "goto"
            | "new"
            | "else"
            | "do"
            | "case"
            | "using"
            | "typedef"
            | "extern"
            | "sizeof"
            | "struct"
            | "class"
            | "union"
            | "enum"
            | "friend"
            | "template"
            | "typename"
            | "if"
            | "for"
            | "while"
            | "switch"
            | "co_return"
            | "co_await"
            | "co_yield"
            | "operator"
            | "namespace"
            | "default"
            | "break"
            | "continue"
            | "void"
            | "inline"
            | "virtual"
            | "public"
            | "private"
            | "protected"
            | "explicit"
    )
}
