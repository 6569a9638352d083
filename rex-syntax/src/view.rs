//! The masked text that is parsed instead of the raw one.
//!
//! Same length, same line ends, but the grammar understands it: an omp pragma becomes `while(1)` (so the statement after it becomes its
//! body), `;` or blanks; other preprocessor lines, inactive arms, attributes and specifier-only macros become blanks. A [`Node`] of the
//! resulting tree still answers with the original text.
//!
//! [`Node`]: crate::cst::Node

mod declaration;
mod member_pointer;
mod repair;
mod respell;

use text_size::{TextRange, TextSize};

use crate::lex::{self, Token, TokenKind, slice};
use crate::macros::{MacroDef, MacroTable};
use crate::omp::directive::{Association, Directive};
use crate::omp::locator::closing;
use crate::pragma;
use crate::source::Language;

/// What stands for an associated directive.
const STATEMENT_MASK: &str = "while(1)";

/// A text of the same length in which pragmas are statements.
///
/// # Invariants
/// The result has the length of `text`, and every token that is not replaced stands at its offset.
pub fn parse_view(
    text: &str,
    language: Language,
    directives: &[Directive],
    inactive: &[TextRange],
    macros: &MacroTable,
) -> String {
    let mut mask = Mask {
        bytes: text.as_bytes().to_vec(),
    };
    for range in inactive {
        mask.blank(*range);
    }
    for line in pragma::directives(text) {
        mask.blank(line.range);
    }
    // Blanks and untouched whole characters: still UTF-8.
    let blanked = String::from_utf8(mask.bytes).unwrap_or_else(|_| " ".repeat(text.len()));
    let tokens: Vec<Token> = lex::significant_tokens(&blanked, lex::whole(&blanked)).collect();
    let mut mask = Mask {
        bytes: blanked.clone().into_bytes(),
    };
    let scan = Scan {
        text: &blanked,
        tokens: &tokens,
        partners: lex::Partners::of(&blanked, &tokens),
        language,
        macros,
    };
    scan.blank_specifiers(&mut mask);
    scan.repair(directives, &mut mask);
    let view = String::from_utf8(mask.bytes).unwrap_or(blanked);
    debug_assert_eq!(view.len(), text.len());
    view
}

struct Mask {
    bytes: Vec<u8>,
}

impl Mask {
    fn blank(&mut self, range: TextRange) {
        for byte in self.bytes_at(range) {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }

    fn put(&mut self, at: TextSize, what: &str) {
        let range = TextRange::at(at, TextSize::of(what));
        let target = self.bytes_at(range);
        // A node must not begin or end inside a character.
        if target.len() == what.len() && target.is_ascii() {
            target.copy_from_slice(what.as_bytes());
        }
    }

    /// Writes over a token, and over what follows it where the text is longer.
    fn put_token(&mut self, token: Token, what: &str) {
        self.put(token.range.start(), what);
    }

    /// Makes one word of several: everything that is no letter or digit becomes `_`.
    fn join(&mut self, range: TextRange) {
        for byte in self.bytes_at(range) {
            if !byte.is_ascii_alphanumeric() {
                *byte = b'_';
            }
        }
    }

    fn bytes_at(&mut self, range: TextRange) -> &mut [u8] {
        self.bytes
            .get_mut(usize::from(range.start())..usize::from(range.end()))
            .unwrap_or_default()
    }
}

struct Scan<'t> {
    text: &'t str,
    tokens: &'t [Token],
    partners: lex::Partners,
    language: Language,
    macros: &'t MacroTable,
}

impl<'t> Scan<'t> {
    fn token_text(&self, idx: usize) -> &'t str {
        self.tokens
            .get(idx)
            .map_or("", |token| token.text(self.text))
    }

    /// The index of the bracket that closes the one at `open`, or the number of tokens.
    fn closing(&self, open: usize) -> usize {
        self.partners.closing(open).unwrap_or(self.tokens.len())
    }

    fn before(&self, idx: usize) -> &'t str {
        idx.checked_sub(1)
            .map_or("", |before| self.token_text(before))
    }

    fn blank_tokens(&self, first: usize, last: usize, mask: &mut Mask) {
        if let (Some(first), Some(last)) = (self.tokens.get(first), self.tokens.get(last)) {
            mask.blank(first.range.cover(last.range));
        }
    }

    /// Blanks attributes and everything else that only specifies.
    fn blank_specifiers(&self, mask: &mut Mask) {
        let mut idx = 0;
        while idx < self.tokens.len() {
            let length = self.specifier_length(idx);
            if length > 0 {
                self.blank_tokens(idx, idx + length - 1, mask);
                idx += length;
            } else if matches!(
                self.tokens[idx].kind,
                TokenKind::Identifier | TokenKind::Number
            ) {
                idx += self.respell(idx, mask).max(1);
            } else {
                idx += 1;
            }
        }
    }

    /// How many tokens from here on only specify; 0 for none.
    fn specifier_length(&self, idx: usize) -> usize {
        let token = self.tokens[idx];
        let text = token.text(self.text);
        match token.kind {
            TokenKind::Identifier => {}
            TokenKind::Punct if text == "[" && self.token_text(idx + 1) == "[" => {
                return self.attribute_length(idx);
            }
            _ => return 0,
        }
        match text {
            "__attribute__" | "__attribute" if self.token_text(idx + 1) == "(" => {
                self.call_length(idx)
            }
            "__restrict" | "__restrict__" | "__extension__" => 1,
            "restrict" if self.language == Language::Cxx => 1,
            "asm" | "__asm__" | "__asm"
                if self.token_text(idx + 1) == "(" && self.follows_declarator(idx) =>
            {
                self.call_length(idx)
            }
            _ => self.macro_length(idx, token, text),
        }
    }

    fn call_length(&self, idx: usize) -> usize {
        let close = self.closing(idx + 1);
        if close < self.tokens.len() {
            close - idx + 1
        } else {
            0
        }
    }

    /// `[[ .. ]]`, but not the lambda in `a[[]{..}()]`.
    fn attribute_length(&self, idx: usize) -> usize {
        let (outer, inner) = (self.tokens[idx].range, self.tokens[idx + 1].range);
        let close = self.closing(idx);
        let adjacent = outer.end() == inner.start()
            && self.token_text(close) == "]"
            && self.before(close) == "]"
            && self.closing(idx + 1) + 1 == close;
        let is_attribute = adjacent
            && self
                .tokens
                .get(idx + 2)
                .is_some_and(|token| token.kind == TokenKind::Identifier);
        if is_attribute { close - idx + 1 } else { 0 }
    }

    /// Whether the token before is the end of a declarator rather than of a statement.
    fn follows_declarator(&self, idx: usize) -> bool {
        let before = self.before(idx);
        let is_name = before
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        before == "]" || (is_name && !matches!(before, "" | "else" | "do"))
    }

    fn macro_length(&self, idx: usize, token: Token, name: &str) -> usize {
        let Some(def) = self.macros.lookup_at(name, token.range.start()) else {
            return 0;
        };
        if !only_specifies(def, self.macros, token.range.start()) {
            return 0;
        }
        // `noexcept(e)` is a value, too.
        let is_value = || {
            def.body.contains("noexcept")
                && !matches!(
                    self.before(idx),
                    ")" | "const" | "volatile" | "mutable" | "override" | "final"
                )
        };
        match def.parameters {
            None => 1,
            Some(_) if self.token_text(idx + 1) == "(" && !is_value() => self.call_length(idx),
            Some(_) => 0,
        }
    }

    /// Puts what stands for a directive in its place. One inside parentheses stays blank: no statement can stand there.
    fn put_directive(&self, directive: &Directive, mask: &mut Mask) {
        let what = match directive.association() {
            Association::Declarative => return,
            Association::Standalone => ";",
            Association::Statement => STATEMENT_MASK,
        };
        mask.put(directive.range.start(), what);
    }
}

/// Whether a macro's body is empty or made of attributes and specifiers that do not change what is declared.
pub(crate) fn only_specifies(def: &MacroDef, macros: &MacroTable, at: TextSize) -> bool {
    specifies_beside(def, macros, at, &mut Vec::new(), 0)
}

/// The same, given macros that do: bodies may name one often.
fn specifies_beside<'m>(
    def: &'m MacroDef,
    macros: &'m MacroTable,
    at: TextSize,
    known: &mut Vec<&'m str>,
    depth: usize,
) -> bool {
    const WORDS: [&str; 20] = [
        "static",
        "inline",
        "__inline",
        "__inline__",
        "__forceinline",
        "__forceinline__",
        "__noinline__",
        "constexpr",
        "explicit",
        "final",
        "override",
        "__restrict",
        "__restrict__",
        "restrict",
        "__extension__",
        "__device__",
        "__host__",
        "__global__",
        "__constant__",
        "__shared__",
    ];
    const MAX_DEPTH: usize = 8;
    if known.contains(&def.name.as_str()) {
        return true;
    }
    let body = def.body.as_str();
    let tokens: Vec<Token> = lex::significant_tokens(body, lex::whole(body)).collect();
    let mut idx = 0;
    while let Some(token) = tokens.get(idx) {
        let text = token.text(body);
        let opens = |idx: usize| tokens.get(idx).is_some_and(|token| token.text(body) == "(");
        let length = match text {
            "__attribute__" | "__attribute" | "__declspec" | "__launch_bounds__" | "alignas"
                if opens(idx + 1) =>
            {
                closing(body, &tokens, idx + 1) - idx + 1
            }
            "[" => closing(body, &tokens, idx) - idx + 1,
            "noexcept" if opens(idx + 1) => closing(body, &tokens, idx + 1) - idx + 1,
            "noexcept" => 1,
            "throw" if opens(idx + 1) && closing(body, &tokens, idx + 1) == idx + 2 => 3,
            "extern"
                if slice(body, tokens.get(idx + 1).map_or(token.range, |t| t.range)) == "\"C\"" =>
            {
                2
            }
            _ if WORDS.contains(&text) => 1,
            _ => match macros.lookup_at(text, at) {
                Some(inner)
                    if depth < MAX_DEPTH
                        && inner.parameters.is_none()
                        && specifies_beside(inner, macros, at, known, depth + 1) =>
                {
                    1
                }
                _ => return false,
            },
        };
        idx += length;
    }
    known.push(&def.name);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::omp::parse::parse_directive;
    use crate::source::FileId;

    fn view(text: &str, language: Language) -> String {
        let macros = MacroTable::read(text, &[], None, |_| TextSize::new(0));
        let directives: Vec<Directive> = pragma::scan(text)
            .iter()
            .map(|line| parse_directive(text, line, FileId(0), &mut Diagnostics::new()))
            .collect();
        let view = parse_view(text, language, &directives, &[], &macros);
        assert_eq!(view.len(), text.len());
        view
    }

    fn check(text: &str, expected: &str) {
        let squeezed: Vec<String> = view(text, Language::Cxx)
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(squeezed.join(" | "), expected);
    }

    #[test]
    fn pragmas_become_statements() {
        check("#pragma omp target\nf();", "while(1) | f();");
        check("#pragma omp barrier\nf();", "; | f();");
        check("#pragma omp declare target\nint f();", "int f();");
        check("#pragma omp target \\\n map(a)\nf();", "while(1) | f();");
        check("#include <x>\n#pragma once\nf();", "f();");
    }

    #[test]
    fn a_semicolon_behind_an_empty_function_goes() {
        let check_same = |text: &str| assert_eq!(view(text, Language::Cxx), text);
        check("void f(int) {}; int x;", "void f(int) {} int x;");
        check(
            "struct S { void f() const {}; bool operator<(S) {}; };",
            "struct S { void f() const {} bool operator<(S) {} };",
        );
        check_same("struct S : public BASE(int) {}; struct T : S, BASE(int) {};");
        check_same("auto f = []() {}; int x {};");
        check("void (*p)() {}; int x {};", "void *p {}; int x {};");
        check_same("int f() { while (x) {}; }");
    }

    #[test]
    fn auto_without_a_type_is_a_type() {
        let text = "void f(void) { auto x = 1; auto int y = 2; }";
        assert_eq!(view(text, Language::C), text.replacen("auto", "char", 1));
    }

    #[test]
    fn a_macro_call_without_semicolon_is_closed() {
        check(
            "{ M(x)\n#pragma omp target\nf(); }",
            "{ M(x);while(1) | f(); }",
        );
        check(
            "{ if (x)\n#pragma omp target\nf(); }",
            "{ if (x) | while(1) | f(); }",
        );
        check(
            "#define FOR(i) for (;;)\n{ FOR(x)\n#pragma omp target\nf(); }",
            "{ if (x) | while(1) | f(); }",
        );
        check("f(a,\n#pragma omp target\nb);", "f(a, | b);");
        check(
            "#define FIELDS F(x) F(y)\nvoid f() {\n#define F(n) r += n;\nFIELDS\n#undef F\nr += 2; }",
            "void f() { | FIELDS; | r += 2; }",
        );
    }

    #[test]
    fn specifiers_are_blanked() {
        check(
            "[[nodiscard]] int f(const T* __restrict p) __attribute__((pure));",
            "int f(const T* p) ;",
        );
        check(
            "#define API __attribute__((visibility(\"default\")))\n#define INL static inline API\nINL int f();",
            "int f();",
        );
        check(
            "#define ALIGN(n) __attribute__((aligned(n)))\nALIGN(16) float a[4];",
            "float a[4];",
        );
        check(
            "#define N 4\nint a[N]; int b[[]{ return 1; }()];",
            "int a[N]; int b[[]{ return 1; }()];",
        );
        check(
            "extern int x asm(\"y\"); void f() { asm(\"nop\"); }",
            "extern int x ; void f() { asm(\"nop\"); }",
        );
    }

    #[test]
    fn types_as_macro_arguments_become_names() {
        check(
            "#define ALLOC(T, n) (T*)malloc(n)\nint *p = ALLOC(int, 4), *q = ALLOC(unsigned int *, f(2)), *r = ALLOC(S*, 1);",
            "int *p = ALLOC(Tnt, 4), *q = ALLOC(Tnsigned , f(2)), *r = ALLOC(S , 1);",
        );
        check(
            "auto p = new T*[4], q = new T * ;",
            "auto p = new T [4], q = new T * ;",
        );
    }

    #[test]
    fn pointers_to_members_become_names() {
        check(
            "A f(void (F::*)(M, A&) const); struct t<R (n::C<T>::*)(A...)> {}; int g(int S::*);",
            "A f(void__F_____M__A___const); struct t<R__n__C_T______A____> {}; int g(int_S___);",
        );
        check(
            "using P = const B<int> &(S::*)() const noexcept; using D = int S::*; int S::*d = (int S::*)e;",
            "using P = const_B_int____S_______const_noexcept; using D = int_S___; int S::*d = (int_S___)e;",
        );
        check(
            "void f(int (T::*g)(int) const); x = a::b * c;",
            "void f(int (T::*g)(int) ); x = a::b * c;",
        );
    }

    #[test]
    fn statements_in_macro_arguments_become_blocks() {
        check(
            "#define ON(x) x\nvoid f() { ON(a = 1;) ON((int b[2] = {1, 2}; g(b, 2); return;)) }",
            "void f() { {a = 1;} { int b[2] = {1, 2}; g(b, 2); return; } }",
        );
        check(
            "#define ON(x) x\nstruct S { template <class T> void f() const { ON((if (a) { b; } else { c; })) } };",
            "struct S { template <class T> void f() const { { if (a) { b; } else { c; } } } };",
        );
    }

    #[test]
    fn unknown_spellings_get_known_ones() {
        check(
            "double _Complex x; float  _Complex y;",
            "double__Complex x; float___Complex y;",
        );
        check(
            "_Thread_local int x; __const int y;",
            "__thread int x; const int y;",
        );
        check("_Atomic(int) x;", "_Atomic int x;");
        check(
            "switch (x) { case 1 ... 5: ; }",
            "switch (x) { case 1 : ; }",
        );
        check(
            "x.template g<int>(); p->template g<int>();",
            "x. g<int>(); p-> g<int>();",
        );
        check("extern template class S<float>; int x;", "int x;");
        check(
            "f<int>(typename T::type{}, typename T::B<int>::u(n)); void g(typename T::u x, typename T::v (*y)(int));",
            "f<int>( T::type{}, T::B<int>::u(n)); void g(typename T::u x, typename T::v (*y)(int));",
        );
        check(
            "auto i = decltype(n){0}; return decltype(n)(i); decltype(n) (*f)(int); decltype(n) j;",
            "auto i = decltype_n_{0}; return decltype_n_(i); decltype(n) (*f)(int); decltype(n) j;",
        );
        check(
            "struct S { int x : 3; unsigned : 0; };",
            "struct S { int x : 3; };",
        );
        check(
            "__global__ void f(); _Pragma(\"once\") int x;",
            "void f(); int x;",
        );
        check(
            "f(\"%\" PRIu64 \"d\" MACRO); extern \"C\" int x;",
            "f(\"%\" \"____\" \"d\" \"___\"); extern \"C\" int x;",
        );
    }

    #[test]
    fn declarations_that_read_like_something_else() {
        check(
            "void f() { A x(n, m); const T& y(*g(i)); std::vector<int> v(n); int z(w); }",
            "void f() { A x{n, m}; const T& y{*g(i)}; std::vector<int> v{n}; int z{w}; }",
        );
        check(
            "void f() { A x(n + 1); A g(int); A h(B b); A k(B *); g(x, y); A e(); return g(x); A u(B()); }",
            "void f() { A x(n + 1); A g(int); A h(B b); A k(B *); g(x, y); A e(); return g(x); A u(B()); }",
        );
        check(
            "typedef float FP; void f() { FP (*a)[N] = p; g (*a)[N] = 1; }",
            "typedef float FP; void f() { FP *a [N] = p; g (*a)[N] = 1; }",
        );
        check(
            "int (*f)() = g; struct S (C::*h[2])(); void k(void (*f)(), int (*)()); T (*g)(); int (*g(int))() { }",
            "int *f = g; struct S C::*h[2] ; void k(void *f , int (*)()); T (*g)(); int *g(int) { }",
        );
        check(
            "void f() { int (&a)[N][2] = p; g(&a)[N] = 1; }",
            "void f() { int &a [N][2] = p; g(&a)[N] = 1; }",
        );
        assert_eq!(
            view(
                "typedef float FP; void f() { FP (*a)[N] = p; }",
                Language::C
            ),
            "typedef float FP; void f() { int(*a)[N] = p; }"
        );
    }

    #[test]
    fn macros_that_begin_loops_are_spelled_like_loops() {
        check(
            "#define FOR_ALL(i, n) for (int i = 0; i < n; i++)\nvoid f() { FOR_ALL(i, 4) g(i); }",
            "void f() { while (i, 4) g(i); }",
        );
    }

    #[test]
    fn line_ends_stay() {
        let text = "a\r\n#pragma omp target \\\r\n map(b)\r\nc;";
        let view = view(text, Language::C);
        assert_eq!(
            view.match_indices("\r\n").collect::<Vec<_>>(),
            text.match_indices("\r\n").collect::<Vec<_>>()
        );
    }
}
