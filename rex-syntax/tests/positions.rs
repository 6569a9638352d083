//! Where directives may stand in real code, and which statement each applies to.
//!
//! Every way of writing a pragma that confuses a parser of plain C or C++ is one test.

use std::sync::Arc;

use rex_syntax::diag::Diagnostics;
use rex_syntax::expansion::Expansion;
use rex_syntax::source::{Language, SourceFile, SourceMap};
use rex_syntax::unit::{Unit, read_unit};

/// A text read as a unit, with the map it lives in.
struct Read {
    sources: SourceMap,
    unit: Unit,
}

fn read(text: impl Into<Vec<u8>>, language: Language, expansion: Option<&str>) -> Read {
    let mut sources = SourceMap::new();
    let file = sources.add(SourceFile::new("t.c", language, text));
    let expansion = expansion.map(|text| Arc::new(Expansion::parse(text.into(), "t.c")));
    let mut diagnostics = Diagnostics::new();
    let unit = read_unit(&mut sources, file, expansion, &mut diagnostics);
    let found: Vec<&str> = diagnostics.iter().map(|it| it.headline.as_str()).collect();
    assert!(found.is_empty(), "{found:?}");
    Read { sources, unit }
}

impl Read {
    /// `directive: first line of its statement` for each directive.
    fn associations(&self) -> Vec<String> {
        let directives = self.unit.directives.iter().enumerate();
        directives
            .map(|(idx, directive)| {
                let statement = self.unit.statement_of(idx);
                let text = statement.map_or("-", |node| node.text());
                let line = text.lines().next().unwrap_or_default().trim_end();
                format!("{}: {line}", directive.name())
            })
            .collect()
    }

    fn text(&self) -> &str {
        self.sources.file(self.unit.file).text()
    }
}

/// Checks the associations of a text that parses without error, in both languages.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    check_as(&[Language::C, Language::Cxx], text, expected);
}

#[track_caller]
fn check_cxx(text: &str, expected: &[&str]) {
    check_as(&[Language::Cxx], text, expected);
}

#[track_caller]
fn check_as(languages: &[Language], text: &str, expected: &[&str]) {
    for &language in languages {
        let read = read(text, language, None);
        assert_eq!(read.associations(), expected, "{language:?}");
        let root = read.unit.tree.root();
        assert!(!root.has_error(), "{language:?} {}", root.outline());
    }
}

#[test]
fn ordinary_places() {
    check(
        "#pragma omp declare target\nint x;\n#pragma omp end declare target\n",
        &["declare target: -", "end declare target: -"],
    );
    check(
        "void f() {\n#pragma omp target\n{ g(); }\n}",
        &["target: { g(); }"],
    );
    check("void f() { g();\n#pragma omp barrier\n}", &["barrier: -"]);
    check_cxx(
        "struct S { void f() {\n#pragma omp target\ng(); } };\ntemplate<class T> void h() {\n#pragma omp target\ng(); }",
        &["target: g();", "target: g();"],
    );
    check_cxx(
        "auto f = [] {\n#pragma omp target\ng(); };",
        &["target: g();"],
    );
}

#[test]
fn spellings() {
    check(
        "void f() {\n#   pragma   omp   target\ng(); }",
        &["target: g();"],
    );
    check("void f() {\n%:pragma omp target\ng(); }", &["target: g();"]);
    check(
        "void f() {\n#pragma omp target \\\n  map(a) \\\n  nowait\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\r\n#pragma omp target \\\r\n  map(a)\r\ng();\r\n}\r\n",
        &["target: g();"],
    );
    check(
        "void f() {\n#pragma omp target_data map(a)\ng(); }",
        &["target data: g();"],
    );
    check(
        "void f() { g(); }\n#pragma omp declare target (x)",
        &["declare target: -"],
    );
}

#[test]
fn stacked_and_nested() {
    check(
        "void f() {\n#pragma omp target\n#pragma omp teams\n#pragma omp distribute\nfor (;;) g(); }",
        &[
            "target: #pragma omp teams",
            "teams: #pragma omp distribute",
            "distribute: for (;;) g();",
        ],
    );
    check(
        "void f() {\n#pragma omp sections\n{\n#pragma omp section\na();\n#pragma omp section\n{ b(); }\n} }",
        &["sections: {", "section: a();", "section: { b(); }"],
    );
}

#[test]
fn comments_in_pragmas() {
    check(
        "void f() {\n#pragma omp target // c\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\n#pragma omp target /* c */\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\n#pragma omp target /* c */ map(tofrom: a)\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\n#pragma omp target /* c */ \\\n map(tofrom: a)\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\n#pragma omp parallel for // see a/b/\nfor (;;) g(); }",
        &["parallel for: for (;;) g();"],
    );
}

#[test]
fn bodies_without_braces() {
    check(
        "void f() {\nif (x)\n#pragma omp target\nfor (;;) a[i]++;\nelse h(); }",
        &["target: for (;;) a[i]++;"],
    );
    check(
        "void f() {\nif (x) h();\nelse\n#pragma omp target\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\nfor (;;)\n#pragma omp target\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() {\nwhile (x)\n#pragma omp taskwait\ng(); }",
        &["taskwait: -"],
    );
    check(
        "void f() {\ndo\n#pragma omp target\ng();\nwhile (x); }",
        &["target: g();"],
    );
    check(
        "void f() {\nL:\n#pragma omp target\ng(); }",
        &["target: g();"],
    );
    check(
        "void f() { switch (x) {\ncase 1: a();\n#pragma omp target\nfor (;;) g();\nbreak;\ndefault:\n#pragma omp target\nb(); } }",
        &["target: for (;;) g();", "target: b();"],
    );
}

#[test]
fn places_where_no_statement_can_stand() {
    check_cxx(
        "template<class T>\n#pragma omp declare simd\nT f(T x) { return x; }",
        &["declare simd: -"],
    );
    check(
        "int a[] = { 1,\n#pragma omp declare target\n2 };",
        &["declare target: -"],
    );
    check(
        "void f(int a,\n#pragma omp declare target\nint b);",
        &["declare target: -"],
    );
}

#[test]
fn conditionals_around_pragmas() {
    check(
        "void f() {\n#ifdef _OPENMP\n#pragma omp target\n#endif\nfor (;;) g(); }",
        &["target: for (;;) g();"],
    );
    check(
        "void f() {\n#if 1\n#pragma omp target\nfor (;;) {\n#else\n#pragma omp parallel\nfor (int i;;) {\n#endif\ng(); } }",
        &["target: for (;;) {"],
    );
}

#[test]
fn the_preprocessor_decides_between_arms() {
    let text = "void f() {\n#ifdef FAST\n#pragma omp target\nfor (;;) {\n#else\n#pragma omp parallel\nfor (int i;;) {\n#endif\ng(); } }\n";
    let expansion =
        "# 1 \"t.c\"\nvoid f() {\n\n\n\n\n#pragma omp parallel\nfor (int i;;) {\n\ng(); } }\n";
    assert_eq!(
        read(text, Language::C, None).associations(),
        ["target: for (;;) {"]
    );
    let with = read(text, Language::C, Some(expansion));
    assert_eq!(with.associations(), ["parallel: for (int i;;) {"]);
}

#[test]
fn pragma_operators() {
    check(
        "void f() {\n_Pragma(\"omp target map(tofrom: a)\") g(); }",
        &["target: g();"],
    );
    check(
        "#define DO(x) _Pragma(#x)\nvoid f() {\nDO(omp target)\nDO(omp parallel for)\nfor (;;) g(); }",
        &[
            "target: #pragma omp parallel for",
            "parallel for: for (;;) g();",
        ],
    );
    check_cxx(
        "void f() {\n[[omp::directive(target)]] g();\n}",
        &["target: g();"],
    );
}

#[test]
fn a_region_hidden_in_a_macro_of_a_header() {
    let text = "#include \"t.h\"\nint main() {\n  TEST;\n  return on;\n}\n";
    let expansion = "# 1 \"t.c\"\n# 1 \"t.h\" 1\n#define TEST _Pragma(\"omp target map(from: on)\") { on = !f(); }\n# 2 \"t.c\" 2\nint main() {\n\n#pragma omp target map(from: on)\n{ on = !f(); };\n  return on;\n}\n";
    let read = read(text, Language::C, Some(expansion));
    assert_eq!(read.associations(), ["target: {"]);
    assert_eq!(
        read.text(),
        "#include \"t.h\"\nint main() {\n  #pragma omp target map(from: on)\n  {\n    on = !f();\n  };\n  return on;\n}\n"
    );
}

#[test]
fn a_loop_hidden_in_a_macro() {
    check(
        "#define KERNEL_LOOP(i, n) for (int i = 0; i < (n); i++)\nvoid f() {\n#pragma omp target teams distribute parallel for\nKERNEL_LOOP(i, n) { out[i] = in[i]; }\n}",
        &[
            "target teams distribute parallel for: for (int i = 0; i < (n); i++) { out[i] = in[i]; }",
        ],
    );
}

#[test]
fn fragments_that_other_files_include() {
    check(
        "#pragma omp target\nfor (int i = 0; i < n; i++) a[i] = 0;\n",
        &["target: for (int i = 0; i < n; i++) a[i] = 0;"],
    );
    check(
        "void f() {\n#pragma omp target\nfor (;;) {\n#include \"ratt.h\"\n}\n}",
        &["target: for (;;) {"],
    );
    check("void f() {\n#include \"kernel_x.h\"\n}", &[]);
}

#[test]
fn a_macro_named_like_a_variable() {
    let text = "#define img(b, y, x) img[(b) * img_h * img_w + (y) * img_w + (x)]\nvoid f() {\n#pragma omp target\nimg(0, y, x) = 1; }\n";
    let read = read(text, Language::C, None);
    assert_eq!(read.associations(), ["target: img(0, y, x) = 1;"]);
    let at = read.unit.directives[0].range.end();
    assert_eq!(
        read.unit.macros.names_used_by("img", at),
        ["img", "img_h", "img_w"]
    );
}

#[test]
fn templates_lambdas_and_members() {
    check_cxx(
        "template<typename T, int N> void f(T *a, T s) {\n#pragma omp target teams distribute parallel for map(a[0:N])\nfor (int i = 0; i < N; i++) a[i] = g<T>(a[i]) + s;\n}",
        &[
            "target teams distribute parallel for: for (int i = 0; i < N; i++) a[i] = g<T>(a[i]) + s;",
        ],
    );
    check_cxx(
        "void A::f() {\n#pragma omp target map(tofrom: this->p[0:n], A::stat)\n{ auto *q = v.data(); p[0] += A::stat; }\n}",
        &["target: { auto *q = v.data(); p[0] += A::stat; }"],
    );
}

#[test]
fn names_that_mean_something_to_a_device_compiler() {
    check(
        "typedef struct { float x, y, z, w; } float4;\nint max(int a, int b);\nvoid f() {\nconst int n = 16;\nint blockIdx = 0;\n#pragma omp target\n{ float t[n]; float4 v; t[blockIdx] = max(1, 2); }\n}",
        &["target: { float t[n]; float4 v; t[blockIdx] = max(1, 2); }"],
    );
    check(
        "void f(int n, int m) {\ndouble a[n][m];\nstruct { int x; } s;\n#pragma omp target map(a, s)\na[0][0] = s.x;\n}",
        &["target: a[0][0] = s.x;"],
    );
}

#[test]
fn statements_around_that_the_grammar_cannot_know() {
    check(
        "#define INFO(m) { printf(m); }\nvoid f() {\nINFO(\"a\")\n#pragma omp target\ng();\nINFO(x)\n}",
        &["target: g();"],
    );
    check(
        "#define API __attribute__((noinline))\nAPI static void f(int *__restrict p) {\n#pragma omp target\ng(); }",
        &["target: g();"],
    );
    check_as(
        &[Language::C],
        "int f(a, n) int *a; int n; {\n#pragma omp target\nreturn g(); }",
        &["target: return g();"],
    );
}

#[test]
fn old_style_functions() {
    check_as(
        &[Language::C],
        "typedef struct N { int x; } BPNN;\nBPNN *f(a, n) int *a; int n; {\n#pragma omp target\ng(); return 0; }",
        &["target: g();"],
    );
}

#[test]
fn bytes_that_are_no_text() {
    let bytes = b"/* \xe9\xff */ void f() {\n#pragma omp target /* \xe9 */ map(a)\ng(\"\xff\"); }";
    let read = read(*bytes, Language::C, None);
    assert_eq!(read.associations(), ["target: g(\"?\");"]);
    assert_eq!(read.text().len(), bytes.len());
}

#[test]
fn deep_nesting() {
    let n = 10_000;
    let text = format!(
        "void f() {{\n#pragma omp target\n{}{} }}",
        "{".repeat(n),
        "}".repeat(n)
    );
    assert_eq!(read(text, Language::C, None).associations().len(), 1);
    let text = format!(
        "void f() {{\n#pragma omp target if({}1{})\ng(); }}",
        "(".repeat(n),
        ")".repeat(n)
    );
    assert_eq!(
        read(text, Language::Cxx, None).associations(),
        ["target: g();"]
    );
    let text = format!("void f() {{\n{}g(); }}", "#pragma omp task\n".repeat(n));
    assert_eq!(read(text, Language::C, None).associations().len(), n);
}

#[test]
fn respellings_keep_characters_whole() {
    let read = read("x = \"\\\"\" éR;", Language::Cxx, None);
    for node in read.unit.tree.nodes() {
        assert!(!node.text().is_empty() || node.range().is_empty());
    }
}
