//! Exceptions of C++ in device code. Where it runs on the host they are thrown and caught as ever; a GPU has none, so that a `throw` ends the program there, and
//! handlers are not compiled.

use rex_syntax::edit::{EditConflict, EditSet};
use rex_syntax::lex::{self, Token};
use rex_syntax::{TextRange, TextSize, pragma};

/// What stands around the handlers of a `try` block.
const HANDLERS: [&str; 2] = ["#ifdef REX_DEVICE_HOST", "#endif"];

/// Generated code with `throw` and `try` in the words of the device library.
pub(super) fn for_devices(text: String) -> Result<String, EditConflict> {
    if !["throw", "try"].iter().any(|word| text.contains(word)) {
        return Ok(text);
    }
    let edits = Exceptions::of(&text).edits();
    if edits.is_empty() {
        return Ok(text);
    }
    let edited = edits.apply(text.as_bytes())?;
    Ok(String::from_utf8_lossy(&edited).into_owned())
}

struct Exceptions<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// The index of each bracket's partner.
    partners: lex::Partners,
    /// Preprocessor directives: an expression in one ends with it.
    lines: Vec<TextRange>,
}

impl<'t> Exceptions<'t> {
    fn of(text: &'t str) -> Exceptions<'t> {
        let tokens: Vec<Token> = lex::significant_tokens(text, lex::whole(text)).collect();
        Exceptions {
            text,
            partners: lex::Partners::of(text, &tokens),
            tokens,
            lines: pragma::directives(text)
                .iter()
                .map(|line| line.range)
                .collect(),
        }
    }

    fn edits(&self) -> EditSet {
        let mut edits = EditSet::new();
        for (idx, token) in self.tokens.iter().enumerate() {
            match token.text(self.text) {
                "throw" if !self.is_specification(idx) => self.replace_throw(idx, &mut edits),
                "try" if self.word(idx + 1) == "{" && self.line_around(*token).is_none() => {
                    edits.replace(token.range, "REX_TRY");
                    self.guard_handlers(idx + 1, &mut edits);
                }
                _ => {}
            }
        }
        edits
    }

    fn word(&self, idx: usize) -> &'t str {
        self.tokens
            .get(idx)
            .map_or("", |token| token.text(self.text))
    }

    fn line_around(&self, token: Token) -> Option<TextRange> {
        let next = self
            .lines
            .partition_point(|line| line.end() <= token.range.start());
        let line = self.lines.get(next).copied();
        line.filter(|line| line.contains_range(token.range))
    }

    /// `void f() throw();`
    fn is_specification(&self, idx: usize) -> bool {
        self.word(idx + 1) == "("
            && (self.word(idx + 2) == ")"
                || self.opens_body_behind(idx + 1)
                || self.is_behind_parameters(idx))
    }

    /// `void f() const throw(std::bad_alloc);`, and not `if (n == 0) throw(n);`
    fn is_behind_parameters(&self, idx: usize) -> bool {
        let is_qualifier = |at: &usize| matches!(self.word(*at), "const" | "volatile" | "&" | "&&");
        let last = (0..idx).rev().find(|at| !is_qualifier(at));
        let open = last.and_then(|last| self.partners.opening(last));
        let name = open.and_then(|open| open.checked_sub(1));
        name.is_some_and(|name| {
            last.is_some_and(|last| self.word(last) == ")")
                && !matches!(
                    self.word(name),
                    "if" | "while" | "for" | "switch" | "constexpr"
                )
                && (self.tokens[name].kind == lex::TokenKind::Identifier || self.is_operator(name))
        })
    }

    /// `operator==`, `operator()`
    fn is_operator(&self, last: usize) -> bool {
        (last.saturating_sub(2)..last).any(|at| self.word(at) == "operator")
    }

    /// `void f() throw(std::bad_alloc) {`
    fn opens_body_behind(&self, open: usize) -> bool {
        let close = self.partners.closing(open);
        close.is_some_and(|close| self.word(close + 1) == "{")
    }

    /// `throw E(1)` becomes `REX_THROW(E(1))`.
    fn replace_throw(&self, idx: usize, edits: &mut EditSet) {
        let token = self.tokens[idx];
        let end = self.operand_end(idx + 1, self.line_around(token));
        if end == idx + 1 {
            edits.replace(token.range, "REX_THROW()");
            return;
        }
        let operand = TextRange::new(
            self.tokens[idx + 1].range.start(),
            self.tokens[end - 1].range.end(),
        );
        edits.replace(
            TextRange::new(token.range.start(), operand.start()),
            "REX_THROW(",
        );
        edits.insert(operand.end(), 0, ")");
    }

    /// The token behind the expression at `first`: `;`, or what closes something around it, or the `:` of a conditional around it.
    fn operand_end(&self, first: usize, line: Option<TextRange>) -> usize {
        let (mut idx, mut conditionals) = (first, 0);
        while let Some(token) = self.tokens.get(idx) {
            if line.is_some_and(|line| line.end() <= token.range.start()) {
                break;
            }
            match token.text(self.text) {
                ";" | ")" | "]" | "}" => break,
                ":" if conditionals == 0 => break,
                ":" => conditionals -= 1,
                "?" => conditionals += 1,
                "(" | "[" | "{" => {
                    let close = self.partners.closing(idx).unwrap_or(idx);
                    idx = close.min(self.tokens.len() - 1);
                }
                _ => {}
            }
            idx += 1;
        }
        idx
    }

    /// Puts the handlers behind the block that opens at `block` where only the host's compiler sees them.
    fn guard_handlers(&self, block: usize, edits: &mut EditSet) {
        let close_of = |open: usize| self.partners.closing(open).unwrap_or(self.tokens.len());
        let end = close_of(block);
        let mut last = end;
        while self.word(last + 1) == "catch" && self.word(last + 2) == "(" {
            let body = close_of(last + 2) + 1;
            if self.word(body) != "{" || close_of(body) >= self.tokens.len() {
                break;
            }
            last = close_of(body);
        }
        if last == end {
            return;
        }
        let [before, after] = HANDLERS;
        let tried = self.tokens[end].range.end();
        let first = self.tokens[end + 1].range.start();
        let between = &self.text[TextRange::new(tried, first)];
        match between.rfind('\n') {
            Some(line) if between[line..].trim().is_empty() => {
                let begins = tried + TextSize::of(&between[..=line]);
                edits.insert(begins, 0, format!("{before}\n"));
            }
            _ if between.trim().is_empty() => {
                edits.replace(TextRange::new(tried, first), format!("\n{before}\n"));
            }
            _ => edits.insert(first, 0, format!("\n{before}\n")),
        }
        let handled = self.tokens[last].range.end();
        edits.insert(
            handled,
            0,
            format!("\n{after}{}", self.line_break_at(handled)),
        );
    }

    /// A new line unless the place ends one.
    fn line_break_at(&self, place: TextSize) -> &'static str {
        match self.text[usize::from(place)..].starts_with('\n') {
            true => "",
            false => "\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(for_devices(text.into()).unwrap(), expected);
    }

    #[test]
    fn throws_become_calls() {
        check("throw E(1, \"a;b\");", "REX_THROW(E(1, \"a;b\"));");
        check(
            "return a ? throw b ? c : d : e;",
            "return a ? REX_THROW(b ? c : d) : e;",
        );
        check("if (a) throw;", "if (a) REX_THROW();");
        check("f([] { throw 1; });", "f([] { REX_THROW(1); });");
        check("void f() throw(); // throw", "void f() throw(); // throw");
        check(
            "#define FAIL(x) throw E(x)\nint a;",
            "#define FAIL(x) REX_THROW(E(x))\nint a;",
        );
    }

    #[test]
    fn handlers_are_for_the_host() {
        check(
            "try { f(); }\ncatch (const E &e) { g(e); } catch (...) { throw; }\nh();",
            "REX_TRY { f(); }\n#ifdef REX_DEVICE_HOST\ncatch (const E &e) { g(e); } catch (...) { REX_THROW(); }\n#endif\nh();",
        );
        check(
            "{ try { f(); } catch (...) {} }",
            "{ REX_TRY { f(); }\n#ifdef REX_DEVICE_HOST\ncatch (...) {}\n#endif\n }",
        );
        check("int retry, catcher;", "int retry, catcher;");
    }
}
