//! Macros that stand for a part of an expression: an operator with or without its operand, a subscript, a member.

use text_size::TextRange;

use super::Code;
use crate::lex::{self, Token, TokenKind, significant_tokens};

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
        partners: &[usize],
    ) -> Option<(TextRange, String)> {
        let before = self.value_before(idx, partners);
        let next = match self.token_text(idx + 1) {
            "(" => partners.get(idx + 1)? + 1,
            _ => idx + 1,
        };
        let is_followed = self.begins_value(next);
        if before == Value::No && !is_followed {
            return None;
        }
        let call = self
            .macros
            .expand_call(self.text, self.lexed.tokens.get(idx)?.range.start())?;
        let text = &call.1;
        let tokens: Vec<Token> = significant_tokens(text, lex::whole(text)).collect();
        let (first, last) = (tokens.first()?.text(text), tokens.last()?.text(text));
        let joins_before = match before {
            Value::Yes => is_infix(first) || is_infix_or_prefix(first),
            Value::Perhaps => is_infix(first),
            Value::No => false,
        };
        let joins_after = is_followed
            && (is_infix(last) && last != "[" || is_infix_or_prefix(last) || is_prefix(last));
        (joins_before || joins_after).then_some(call)
    }

    fn value_before(&self, idx: usize, partners: &[usize]) -> Value {
        let Some(before) = idx.checked_sub(1).and_then(|at| self.lexed.tokens.get(at)) else {
            return Value::No;
        };
        match (before.kind, before.text(self.text)) {
            (TokenKind::Identifier, word) if is_word_before_value(word) => Value::No,
            (TokenKind::Identifier | TokenKind::Number | TokenKind::Char, _) | (_, "]") => {
                Value::Yes
            }
            (_, ")") => {
                let open = partners
                    .iter()
                    .take(idx)
                    .rposition(|close| *close == idx - 1);
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
