use super::*;

/// Expands the call behind the definitions.
#[track_caller]
fn check(defines: &str, call: &str, expected: &str) {
    let found = expanded(defines, call, MacroTable::expand_call_at);
    assert_eq!(found.as_deref(), Some(expected));
}

/// A way to expand the call at a place.
type Expand = fn(&MacroTable, &str, TextSize, TextSize) -> Option<(TextRange, String)>;

fn expanded(defines: &str, call: &str, expand: Expand) -> Option<String> {
    let text = format!("{defines}\n{call}");
    let macros = MacroTable::read(&text, &[], None, |_| TextSize::new(0));
    let start = TextSize::of(defines) + TextSize::new(1);
    expand(&macros, &text, start, start).map(|(_, out)| out)
}

#[test]
fn a_pragma_gets_its_own_line() {
    check(
        "#define T _Pragma(\"omp target map(from: on)\") { on = !f(); }",
        "T;",
        "#pragma omp target map(from: on)\n{\n  on = !f();\n}",
    );
    check(
        "#define P(x) _Pragma(#x)",
        "P(omp parallel for if(\"a\"))",
        "#pragma omp parallel for if(\"a\")",
    );
    check(
        "#define S(x) #x\n#define P(x) _Pragma(S(omp x))\n#define N 4",
        "P(target map(to: a[0:N])) f();",
        "#pragma omp target map(to: a[0:N])\n",
    );
    check(
        "#define R _Pragma(\" omp declare \\\n  reduction(f : T : g()) \")",
        "R",
        "#pragma omp declare   reduction(f : T : g())",
    );
}

#[test]
fn other_macros_stay() {
    check(
        "#define N 4\n#define Q _Pragma(\"omp barrier\")\n#define P(a) f(N, a); Q g(a)",
        "P(N + 1)",
        "f(N, N + 1);\n#pragma omp barrier\ng(N + 1)",
    );
}

#[test]
fn stringizing_pasting_and_variadics() {
    check("#define C(a, b) a##b = #a", "C(x, 1)", "x1 = \"x\"");
    check("#define V(f, ...) g(f, ## __VA_ARGS__)", "V(1)", "g(1)");
    check(
        "#define V(f, ...) g(f, ## __VA_ARGS__)",
        "V(1, 2, 3)",
        "g(1, 2, 3)",
    );
    check(
        "#define V(f, ...) g(f __VA_OPT__(, __VA_ARGS__))",
        "V(1, 2)",
        "g(1 , 2)",
    );
    check(
        "#define V(f, ...) g(f __VA_OPT__(,) __VA_ARGS__)",
        "V(1)",
        "g(1)",
    );
    check("#define E(a, b) a##b", "E(, x)", "x");
    check(
        "#define S(a) #a",
        "S(\"x\\n\" + 'c')",
        "\"\\\"x\\\\n\\\" + 'c'\"",
    );
}

#[test]
fn loop_heads_are_expanded_inside() {
    check(
        "#define FOR(i, n) for (int i = 0; i < n; i++)\n#define LOOP(i) FOR(i, N)",
        "LOOP(k) { }",
        "for (int k = 0; k < N; k++)",
    );
}

#[test]
fn recursion_ends() {
    check(
        "#define A B _Pragma(\"omp x\")\n#define B A",
        "A",
        "A\n#pragma omp x",
    );
    let text = "#define A(x) A2(x) A2(x)\n#define A2(x) _Pragma(\"omp x\")\nA(";
    let macros = MacroTable::read(text, &[], None, |_| TextSize::new(0));
    assert_eq!(
        macros.expand_call(text, TextSize::of(text) - TextSize::new(2)),
        None
    );
}

#[test]
fn a_name_without_arguments_is_no_call() {
    let text = "#define M(x) _Pragma(\"omp x\")\nf(M);";
    let macros = MacroTable::read(text, &[], None, |_| TextSize::new(0));
    assert_eq!(
        macros.expand_call(text, TextSize::of(text) - TextSize::new(3)),
        None
    );
}

#[test]
fn statements_are_expanded_until_they_begin_with_no_macro() {
    let check = |defines: &str, call: &str, expected: Option<&str>| {
        let found = expanded(defines, call, MacroTable::statement_of_call);
        assert_eq!(found.as_deref(), expected);
    };
    let add = "#define N 4\n#define ADD(a, b) a += (b)\n#define STEP(a) ADD(a, N)";
    check(add, "STEP(x);", Some("x += (N)"));
    check(add, "ADD(N, 1);", Some("4 += (1)"));
    // A name without arguments is no call.
    check("#define A B\n#define B(x) x", "A;", Some("B"));
    check("#define A B\n#define B A", "A;", Some("A"));
    check("#define A", "A;", Some(""));
    check("#define A(x) x", "A;", None);
}

#[test]
fn declarations_are_expanded_until_they_are_seen() {
    let check = |defines: &str, call: &str, expected: Option<&str>| {
        let found = expanded(defines, call, MacroTable::declarations_of_call);
        assert_eq!(found.as_deref(), expected);
    };
    let list = "#define LIST(t) struct t##_list { t x; }\n#define INTS LIST(int)";
    check(list, "LIST(int);", Some("struct int_list {\n  int x;\n}"));
    check(list, "INTS;", Some("struct int_list {\n  int x;\n}"));
    check("#define ZERO 0\n#define NOTHING ZERO", "NOTHING;", None);
    check("#define A B\n#define B(x) int x;", "A;", None);
}

#[test]
fn names_with_numbers_are_the_same_in_one_call() {
    let defines = "#define JOIN_(a, b) a##b\n#define JOIN(a, b) JOIN_(a, b)\n#define U(n) JOIN(n, __COUNTER__)\n\
                   #define TEST_(f) void f(); int JOIN(f, _run) = run(f); void f()\n#define TEST(t) TEST_(U(test_))";
    let place = defines.len() + 1;
    let found = expanded(defines, "TEST(x) {}", MacroTable::variables_of_call);
    let name = format!("test_{}", place + 1);
    let expected = format!("void {name}();\nint JOIN({name}, _run) = run({name});\nvoid {name}()");
    assert_eq!(found, Some(expected));
}
