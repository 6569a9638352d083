//! Macros that stand for a part of an expression: an operator with or without its operand, a subscript, a member, the captures of a lambda.

use smol_str::SmolStr;
use text_size::TextRange;

use super::Code;
use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::source::Language;

/// Expressions that choose by types. The device's C++ has none of them.
const SELECTIONS: [&str; 3] = [
    "_Generic",
    "__builtin_choose_expr",
    "__builtin_types_compatible_p",
];

/// Whether a value ends before a macro.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    No,
    /// `)`, which may end a cast too.
    Perhaps,
    Yes,
}

impl Code<'_> {
    /// Expands the macro at a token if what it stands for begins or ends with an operator whose operand stands beside it: `a PLUS_ONE`, `a AND b`.
    pub(super) fn operator_call(
        &self,
        idx: usize,
        partners: &lex::Partners,
    ) -> Option<(TextRange, String)> {
        let before = self.value_before(idx, partners);
        let next = match self.token_text(idx + 1) {
            "(" => partners.closing(idx + 1)? + 1,
            _ => idx + 1,
        };
        let is_followed = self.begins_value(next);
        if before == Value::No && !is_followed {
            return None;
        }
        let start = self.lexed.tokens.get(idx)?.range.start();
        let call = self.macros.expand_call(self.text, start)?;
        if joins(&call.1, before, is_followed) {
            return Some(call);
        }
        // The operator may come from a macro that the expansion calls.
        let call = self.macros.expand_whole_call(self.text, start)?;
        joins(&call.1, before, is_followed).then_some(call)
    }

    /// Expands the macro that stands for the captures of a lambda: `LAMBDA(int i) { .. }` with `#define LAMBDA [=]`.
    pub(super) fn lambda_head(
        &self,
        idx: usize,
        partners: &lex::Partners,
    ) -> Option<(TextRange, String)> {
        let token = self.lexed.tokens.get(idx)?;
        let start = token.range.start();
        let def = self.macros.lookup_at(token.text(self.text), start)?;
        let next = match (&def.parameters, self.token_text(idx + 1)) {
            (Some(_), "(") => partners.closing(idx + 1)? + 1,
            (Some(_), _) => return None,
            (None, _) => idx + 1,
        };
        if !matches!(self.token_text(next), "(" | "{")
            || self.value_before(idx, partners) != Value::No
        {
            return None;
        }
        let begins = |call: &(TextRange, String)| {
            call.1.starts_with('[') && !call.1.starts_with("[[") && !call.1.contains(['{', ';'])
        };
        let call = self.macros.expand_call(self.text, start)?;
        if begins(&call) {
            return Some(call);
        }
        // The brackets may come from a macro that the expansion calls.
        let call = self.macros.expand_whole_call(self.text, start)?;
        begins(&call).then_some(call)
    }

    /// Whether anything of the file may write an expression that chooses by types.
    pub(super) fn has_selections(&self) -> bool {
        let has = |text: &str| SELECTIONS.iter().any(|word| text.contains(word));
        self.sources.file(self.file).language() == Language::C
            && (has(self.text) || self.macros.expansion().is_some_and(|it| has(it.text())))
    }

    /// Expands a call that stands for such an expression as far as it takes to see it.
    pub(super) fn selection_call(&self, idx: usize) -> Option<(TextRange, String)> {
        let name = self.lexed.tokens.get(idx)?.range;
        let names = self
            .macros
            .names_used_by(lex::slice(self.text, name), name.start());
        if !SELECTIONS
            .iter()
            .any(|word| names.iter().any(|it| it == word))
        {
            return None;
        }
        let words = SELECTIONS.map(SmolStr::new_static);
        self.macros.expand_to(self.text, name, &words)
    }

    fn value_before(&self, idx: usize, partners: &lex::Partners) -> Value {
        let Some(before) = idx.checked_sub(1).and_then(|at| self.lexed.tokens.get(at)) else {
            return Value::No;
        };
        match (before.kind, before.text(self.text)) {
            (TokenKind::Identifier, word) if is_word_before_value(word) => Value::No,
            (TokenKind::Identifier | TokenKind::Number | TokenKind::Char, _) | (_, "]") => {
                Value::Yes
            }
            (_, ")") => {
                let open = partners.opening(idx - 1);
                let callee = open.and_then(|open| self.lexed.tokens.get(open.checked_sub(1)?));
                match callee.map(|token| (token.kind, token.text(self.text))) {
                    Some((TokenKind::Identifier, word)) if !is_word_before_value(word) => {
                        Value::Yes
                    }
                    _ => Value::Perhaps,
                }
            }
            _ => Value::No,
        }
    }

    fn begins_value(&self, idx: usize) -> bool {
        let token = self.lexed.tokens.get(idx);
        token.is_some_and(|token| {
            matches!(
                token.kind,
                TokenKind::Identifier | TokenKind::Number | TokenKind::Char
            ) || token.text(self.text) == "("
        })
    }
}

/// Whether a text begins or ends with an operator whose operand stands beside it.
fn joins(text: &str, before: Value, is_followed: bool) -> bool {
    let tokens: Vec<Token> = significant_tokens(text, lex::whole(text)).collect();
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
        return false;
    };
    let (first, last) = (first.text(text), last.text(text));
    let joins_before = match before {
        Value::Yes => is_infix(first) || is_infix_or_prefix(first),
        Value::Perhaps => is_infix(first),
        Value::No => false,
    };
    let joins_after = is_followed
        && (is_infix(last) && last != "[" || is_infix_or_prefix(last) || is_prefix(last));
    joins_before || joins_after
}

/// Operators that have an operand before them.
fn is_infix(token: &str) -> bool {
    matches!(
        token,
        "/" | "%"
            | "|"
            | "^"
            | "<"
            | ">"
            | "<="
            | ">="
            | "=="
            | "!="
            | "&&"
            | "||"
            | "<<"
            | ">>"
            | "="
            | "+="
            | "-="
            | "*="
            | "/="
            | "%="
            | "&="
            | "|="
            | "^="
            | "<<="
            | ">>="
            | "?"
            | "."
            | "->"
            | "["
    )
}

/// Operators that may have an operand before them, and need none.
fn is_infix_or_prefix(token: &str) -> bool {
    matches!(token, "+" | "-" | "*" | "&" | "++" | "--")
}

fn is_prefix(token: &str) -> bool {
    matches!(token, "!" | "~")
}

/// Words that are no values themselves and may stand before one.
fn is_word_before_value(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "case"
            | "else"
            | "do"
            | "sizeof"
            | "throw"
            | "new"
            | "delete"
            | "typedef"
            | "operator"
            | "if"
            | "while"
            | "for"
            | "switch"
            | "alignof"
            | "_Alignof"
            | "const"
            | "int"
            | "long"
            | "short"
            | "char"
            | "unsigned"
            | "signed"
            | "float"
            | "double"
            | "void"
            | "bool"
            | "auto"
            | "goto"
            | "co_return"
            | "co_yield"
            | "co_await"
    )
}
