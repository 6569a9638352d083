use super::*;

fn expansion(text: &str) -> Expansion {
    let text = format!("# 1 \"m.c\"\n# 1 \"/usr/include/h.h\" 1 3 4\n{text}\n# 2 \"m.c\" 2\n");
    Expansion::parse(text.into_bytes(), "m.c")
}

#[track_caller]
fn check(text: &str, find: impl Fn(HeaderIndex<'_>) -> Option<DeclText<'_>>, expected: &str) {
    let expansion = expansion(text);
    let found = find(expansion.declarations()).map(|decl| decl.text.to_owned());
    assert_eq!(found.as_deref().unwrap_or("-"), expected);
}

#[test]
fn typedefs() {
    check(
        "typedef unsigned long size_t;",
        |index| index.typedef("size_t"),
        "typedef unsigned long size_t;",
    );
    check(
        "typedef int (*fn)(int a);",
        |index| index.typedef("fn"),
        "typedef int (*fn)(int a);",
    );
    check(
        "typedef struct S { int x; } S, *SP;",
        |index| index.typedef("SP"),
        "typedef struct S { int x; } S, *SP;",
    );
    check(
        "typedef struct S { int x; } S, *SP;",
        |index| index.tag("S"),
        "typedef struct S { int x; } S, *SP;",
    );
    check(
        "typedef float v4 __attribute__((vector_size(16)));",
        |index| index.typedef("v4"),
        "typedef float v4 __attribute__((vector_size(16)));",
    );
    check(
        "typedef double row[4];",
        |index| index.typedef("row"),
        "typedef double row[4];",
    );
    check(
        "namespace std { template<class T> using vec = A<T>; }",
        |index| index.typedef("vec"),
        "template<class T> using vec = A<T>;",
    );
    check(
        "using namespace std; using std::max;",
        |index| index.typedef("max"),
        "-",
    );
}

#[test]
fn tags_and_enumerators() {
    check(
        "struct S; struct S { int x; }; struct S f(void);",
        |index| index.tag("S"),
        "struct S { int x; };",
    );
    check(
        "enum E { A = 1, B = f(2, 3), C };",
        |index| index.enumerator("C"),
        "enum E { A = 1, B = f(2, 3), C };",
    );
    check("enum { A };", |index| index.enumerator("A"), "enum { A };");
    check(
        "template<class T> class V final : public B<T> { int x; };",
        |index| index.tag("V"),
        "template<class T> class V final : public B<T> { int x; };",
    );
    check(
        "struct S *p, q;",
        |index| index.variable("q"),
        "struct S *p, q;",
    );
}

#[test]
fn functions_and_variables() {
    check(
        "extern int printf (const char *f, ...) __attribute__((x(1, 2)));",
        |index| index.function("printf"),
        "extern int printf (const char *f, ...) __attribute__((x(1, 2)));",
    );
    check(
        "extern \"C\" { static inline int f(int x) { return x; } int g; }",
        |index| index.function("f"),
        "static inline int f(int x) { return x; }",
    );
    check(
        "extern \"C\" { int f(); } int g = h(1), k[2] = {1, 2};",
        |index| index.variable("k"),
        "int g = h(1), k[2] = {1, 2};",
    );
    check(
        "extern int a, b; int c;",
        |index| index.variable("b"),
        "extern int a, b;",
    );
    check(
        "std::vector<int> v(3); int w;",
        |index| index.variable("w"),
        "int w;",
    );
}

#[test]
fn scopes_origins_and_lines() {
    let text = "# 1 \"m.c\"\n# 7 \"/usr/include/h.h\" 1 3 4\nnamespace a { inline namespace b {\nint f(); } }\n# 2 \"m.c\" 2\nint f();\n";
    let expansion = Expansion::parse(text.into(), "m.c");
    let all = expansion.declarations().all("f", DeclKind::Function);
    let found: Vec<_> = all
        .iter()
        .map(|decl| (&*decl.scope, &decl.origin, decl.line))
        .collect();
    assert_eq!(
        found,
        [
            ("a::b", &HeaderOrigin::System, 8),
            ("", &HeaderOrigin::Main, 2)
        ]
    );
}

#[test]
fn markers_inside_a_declaration_are_blanked() {
    check(
        "int f(int x)\n# 9 \"/usr/include/h.h\" 3 4\n ;",
        |index| index.function("f"),
        &format!("int f(int x)\n{}\n ;", " ".repeat(26)),
    );
}

#[test]
fn damaged_text_ends() {
    for text in [
        "}}}",
        "int f(",
        "struct {",
        "a < b",
        "\"",
        "'",
        "template<",
        "enum E {",
        "namespace",
    ] {
        expansion(text).declarations();
    }
}

#[test]
fn symbols_of_operators_open_no_brackets() {
    for operator in ["<<", "<", "->*", "==", "()", "[]", " ,", " new[]"] {
        check(
            &format!(
                "auto operator{operator}(A &a, int b) -> A & {{ return a < b; }}\nint next(int x);"
            ),
            |index| index.function("next"),
            "int next(int x);",
        );
    }
}
