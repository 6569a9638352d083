//! C without types: `f(a) { .. }`, `static n;`, `int f(a) { .. }`. Every type that is left out is `int`.
//!
//! It is written out, so that nothing later needs to know these forms: the grammars have none of them, and device code is C++.

use rustc_hash::FxHashSet;

use crate::edit::EditSet;
use crate::lex::{self, Token, TokenKind};
use crate::macros::MacroTable;

/// What may stand before the name of a declaration without a type.
const SPECIFIERS: &[&str] = &[
    "static",
    "extern",
    "inline",
    "__inline",
    "__inline__",
    "const",
    "volatile",
    "register",
];

/// Words that begin no declarator.
const KEYWORDS: &[&str] = &[
    "asm", "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "typeof", "union", "unsigned", "void", "volatile", "while",
];

/// The types that a C file leaves out.
pub(crate) fn edits(text: &str, tokens: &[Token], macros: &MacroTable) -> EditSet {
    let reader = Reader {
        text,
        tokens,
        macros,
        partners: lex::Partners::of(text, tokens),
        marks: marks(text, tokens),
        is_before_c23: macros.is_before_c23(),
        types: types(text, tokens),
    };
    let mut edits = EditSet::new();
    let mut depth = 0usize;
    let mut begins = true;
    let mut at = 0;
    while at < tokens.len() {
        if begins {
            let name = reader.after_specifiers(at);
            if depth == 0 {
                reader.function(at, name, &mut edits);
            }
            reader.variable(at, name, &mut edits);
        }
        begins = match reader.word(at) {
            "{" => {
                depth += 1;
                true
            }
            "}" => {
                depth = depth.saturating_sub(1);
                true
            }
            ";" => true,
            _ => false,
        };
        at += 1;
    }
    edits
}

struct Reader<'t> {
    text: &'t str,
    tokens: &'t [Token],
    macros: &'t MacroTable,
    partners: lex::Partners,
    /// Whether `auto` without a type is an `int` rather than what the initializer is.
    is_before_c23: bool,
    /// Where `{`, `}` and `=` stand.
    marks: Vec<usize>,
    /// Names that typedefs of the file may declare.
    types: FxHashSet<&'t str>,
}

impl<'t> Reader<'t> {
    fn word(&self, at: usize) -> &'t str {
        self.tokens
            .get(at)
            .map_or("", |token| token.text(self.text))
    }

    /// Whether a word can be nothing but the name of a variable or function.
    fn is_name(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else {
            return false;
        };
        let word = token.text(self.text);
        let is_type_of_header = || {
            let expansion = self.macros.expansion();
            expansion.is_some_and(|it| it.declarations().typedef(word).is_some())
        };
        token.kind == TokenKind::Identifier
            && !word.starts_with("__")
            && !word.starts_with(|c: char| c == '_' && word[1..].starts_with(char::is_uppercase))
            && !KEYWORDS.contains(&word)
            && !self.types.contains(word)
            && self.macros.lookup_at(word, token.range.start()).is_none()
            && !is_type_of_header()
    }

    fn after_specifiers(&self, mut at: usize) -> usize {
        let is_specifier =
            |word| SPECIFIERS.contains(&word) || word == "auto" && self.is_before_c23;
        while is_specifier(self.word(at)) {
            at += 1;
        }
        at
    }

    /// `static n = 1;`, `const *p;`
    fn variable(&self, start: usize, name: usize, edits: &mut EditSet) {
        let mut declared = name;
        while self.word(declared) == "*" {
            declared += 1;
        }
        if name > start
            && self.is_name(declared)
            && matches!(self.word(declared + 1), "=" | ";" | "," | "[")
        {
            self.insert(name, "int ", edits);
        }
    }

    /// `f(a, b) int a; { .. }`
    fn function(&self, start: usize, after_specifiers: usize, edits: &mut EditSet) {
        let Some(open) = self.parameter_list(start) else {
            return;
        };
        let Some(close) = self.partners.closing(open).filter(|close| *close > open) else {
            return;
        };
        let Some(body) = self.body(close + 1) else {
            return;
        };
        let name = open - 1;
        if !self.is_name(name) {
            return;
        }
        if name == after_specifiers {
            self.insert(name, "int ", edits);
        }
        let listed: Vec<usize> = (open + 1..close).step_by(2).collect();
        let is_list = (open + 1..close).all(|at| match (at - open) % 2 {
            1 => self.is_name(at),
            _ => self.word(at) == ",",
        });
        if !is_list {
            return;
        }
        let declared: FxHashSet<&str> = (close + 1..body).map(|at| self.word(at)).collect();
        let missing: Vec<String> = listed
            .into_iter()
            .map(|at| self.word(at))
            .filter(|name| !declared.contains(name))
            .map(|name| format!("int {name}; "))
            .collect();
        if !missing.is_empty() {
            self.insert(body, &missing.concat(), edits);
        }
    }

    /// The parenthesis of the first declarator behind `start`, if that is a function.
    fn parameter_list(&self, start: usize) -> Option<usize> {
        let rest = self.tokens.get(start..)?.iter();
        let is_head =
            |token: &&Token| token.kind == TokenKind::Identifier || token.text(self.text) == "*";
        let open = start + rest.take_while(is_head).count();
        (open > start && self.word(open) == "(").then_some(open)
    }

    /// The brace of a function behind its list: at once, or behind declarations of what the list names.
    fn body(&self, behind: usize) -> Option<usize> {
        let next = self.marks.partition_point(|mark| *mark < behind);
        let brace = *self.marks.get(next)?;
        let is_body = self.word(brace) == "{" && (brace == behind || self.word(brace - 1) == ";");
        is_body.then_some(brace)
    }

    fn insert(&self, before: usize, text: &str, edits: &mut EditSet) {
        if let Some(token) = self.tokens.get(before) {
            edits.insert(token.range.start(), 0, text.to_string());
        }
    }
}

/// What ends the declarations before a body.
fn marks(text: &str, tokens: &[Token]) -> Vec<usize> {
    let tokens = tokens.iter().enumerate();
    let marks = tokens.filter(|(_, token)| matches!(token.text(text), "{" | "}" | "="));
    marks.map(|(at, _)| at).collect()
}

/// Every name in a typedef of the file.
fn types<'t>(text: &'t str, tokens: &[Token]) -> FxHashSet<&'t str> {
    let mut types = FxHashSet::default();
    let mut depth = None;
    for token in tokens {
        match (token.text(text), &mut depth) {
            ("typedef", None) => depth = Some(0usize),
            ("{", Some(depth)) => *depth += 1,
            ("}", Some(depth)) => *depth = depth.saturating_sub(1),
            (";", Some(0)) => depth = None,
            (word, Some(0)) => {
                types.insert(word);
            }
            _ => {}
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;
    use text_size::{TextRange, TextSize};

    use crate::lex::significant_tokens;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let macros = MacroTable::read(text, &[], None, |_| TextSize::new(0));
        let whole = TextRange::up_to(TextSize::of(text));
        let tokens: Vec<Token> = significant_tokens(text, whole).collect();
        let found = edits(text, &tokens, &macros).apply(text.as_bytes());
        assert_eq!(found.as_deref(), Ok(expected.as_bytes()));
    }

    #[test]
    fn functions_get_types() {
        check("main() { }", "int main() { }");
        check("f(a) { return a; }", "int f(a) int a; { return a; }");
        check(
            "static f(a, b) int b; { }",
            "static int f(a, b) int b; int a; { }",
        );
        check("int f(a, b) { }", "int f(a, b) int a; int b; { }");
        check("double *f(a) double *a; { }", "double *f(a) double *a; { }");
        check("main(int n, char **v) { }", "int main(int n, char **v) { }");
    }

    #[test]
    fn variables_get_types() {
        check("static n; const *p = 0;", "static int n; const int *p = 0;");
        check(
            "void f(void) { register i, j; }",
            "void f(void) { register int i, j; }",
        );
    }

    #[test]
    fn what_has_types_stays() {
        for text in [
            "typedef int T; static T x; int f(T) { return 0; } static T *p, q;",
            "int f(void) { } int g(int) { } f(a); void h() { g(x); { } }",
            "static struct s x; static unsigned y; extern int z;",
            "int x = f(a); int y[] = { 1 };",
            "MACRO(a) int f() { }",
            "void f(void) { if (a) { } for (;;) { } call(a); { } }",
        ] {
            check(text, text);
        }
    }
}
