//! Types that are pointers to members without a name, `R (C::*)(A) const` and `T C::*`, which the grammars do not know.
//!
//! Each becomes one word: nothing reads what is in it, and a name that means nothing is a type that only the compiler knows.

use super::{Mask, Scan};
use crate::lex::TokenKind;
use crate::source::Language;

/// The number of tokens that one such type has at most.
const MAX_TOKENS: usize = 256;

impl Scan<'_> {
    /// Respells the pointer to a member whose class is named at `idx`; returns how many tokens it takes from there, 0 if there is none.
    pub(super) fn respell_member_pointer(&self, idx: usize, mask: &mut Mask) -> usize {
        if self.language != Language::Cxx || self.before(idx) == "::" && idx < 2 {
            return 0;
        }
        let Some(star) = self.member_star(idx) else {
            return 0;
        };
        let first = idx - usize::from(self.before(idx) == "::");
        let is_inside = self.before(first) == "(";
        let mut end = star + 1;
        while self.is_word(end) {
            end += 1;
        }
        let is_qualifier = |at: &usize| matches!(self.token_text(*at), "const" | "volatile");
        let is_named = end > star + 1 && !is_qualifier(&(end - 1));
        if is_named {
            // `int A::*const p`: the grammar has the name only.
            let qualifiers = (star + 1..end).take_while(is_qualifier).count();
            if qualifiers > 0 {
                self.blank_tokens(star + 1, star + qualifiers, mask);
            }
        }
        let is_function =
            is_inside && self.token_text(end) == ")" && self.token_text(end + 1) == "(";
        let last = match is_function {
            true => self.last_qualifier(self.closing(end + 1)),
            false => end - 1,
        };
        let opens = first - usize::from(is_function);
        let start = self.type_start(opens);
        if last >= self.tokens.len() || last > idx + MAX_TOKENS {
            return 0;
        }
        if is_named && self.before(start) == "typedef" {
            // There the grammar has plain pointers only; the builder looks at the text.
            self.blank_tokens(first, star - 1, mask);
            return 0;
        }
        if is_named {
            // The grammar knows it, but no qualifiers behind the parameters of a parameter.
            let close = self.closing(end + 1);
            let is_parameter = matches!(self.token_text(last + 1), ")" | ",");
            if is_function && is_parameter && last > close {
                self.blank_tokens(close + 1, last, mask);
            }
            return 0;
        }
        let ends = is_function
            || matches!(
                self.token_text(end),
                ")" | "," | ">" | ">>" | "=" | ";" | "..."
            );
        if start == opens || !ends {
            return 0;
        }
        let (Some(from), Some(to)) = (self.tokens.get(start), self.tokens.get(last)) else {
            return 0;
        };
        mask.join(from.range.cover(to.range));
        last + 1 - idx
    }

    /// The `*` of `C::*`, `n::C<T>::*`, behind the name that begins at `idx`.
    pub(super) fn member_star(&self, idx: usize) -> Option<usize> {
        let mut at = idx;
        loop {
            if !self.is_word(at) {
                return None;
            }
            at += 1;
            if self.token_text(at) == "<" {
                at = self.after_template_arguments(at)?;
            }
            if self.token_text(at) != "::" {
                return None;
            }
            at += 1;
            if self.token_text(at) == "*" {
                return Some(at);
            }
        }
    }

    /// The last token of the words behind the parameters that `close` ends: `const`, `&`, `noexcept(..)`.
    fn last_qualifier(&self, close: usize) -> usize {
        let mut at = close + 1;
        loop {
            at += match self.token_text(at) {
                "noexcept" if self.token_text(at + 1) == "(" => self.call_length(at).max(1),
                "const" | "volatile" | "&" | "&&" | "noexcept" => 1,
                _ => return at - 1,
            };
        }
    }

    /// Where the type begins whose last token stands before `end`.
    fn type_start(&self, end: usize) -> usize {
        let mut at = end;
        let mut angles = 0usize;
        while at > 0 && end - at < MAX_TOKENS {
            match self.before(at) {
                ">" => angles += 1,
                ">>" => angles += 2,
                "<" if angles > 0 => angles -= 1,
                ";" | "{" | "}" => break,
                _ if angles > 0 => {}
                "::" | "*" | "&" | "&&" => {}
                "return" | "using" | "typedef" | "template" | "new" | "case" | "else"
                | "operator" | "friend" | "static" | "inline" | "constexpr" => break,
                _ if self.is_word(at - 1) => {}
                _ => break,
            }
            at -= 1;
        }
        match angles {
            0 => at,
            _ => end,
        }
    }

    pub(super) fn is_word(&self, idx: usize) -> bool {
        let token = self.tokens.get(idx);
        token.is_some_and(|token| token.kind == TokenKind::Identifier)
    }
}
