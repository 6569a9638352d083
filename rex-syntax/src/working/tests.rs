//! What the working file has in place of macros.

use std::fmt::Write;

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let mut sources = SourceMap::new();
    let file = sources.add(SourceFile::new("t.cpp", Language::Cxx, text));
    let macros = MacroTable::read(text, &[], None, |_| TextSize::new(0));
    let working = working_file(&mut sources, file, &macros, &mut Diagnostics::new());
    let found = sources.file(working).text();
    // The definitions stay; only what follows them is compared.
    let code: Vec<&str> = found
        .lines()
        .filter(|line| !line.starts_with("#define"))
        .collect();
    assert_eq!(code.join("\n"), expected);
    if !text.contains("hidden") {
        assert_eq!(working == file, found == text);
    }
}

#[test]
fn a_file_without_hidden_directives_is_its_own_working_file() {
    check(
        "#define N 4\n#pragma omp target map(a[0:N])\nf(N);",
        "#pragma omp target map(a[0:N])\nf(N);",
    );
}

#[test]
fn pragma_operators_and_macros_become_lines() {
    check(
        "  _Pragma(\"omp barrier\") f();",
        "  #pragma omp barrier\n   f();",
    );
    check(
        "#define T _Pragma(\"omp target\") { g(); }\nvoid f() {\n  T\n}",
        "void f() {\n  #pragma omp target\n  {\n    g();\n  }\n}",
    );
    check("_Pragma(\"once\") f();", "_Pragma(\"once\") f();");
}

#[test]
fn a_hidden_directive_in_an_argument_expands_the_call() {
    check(
        "#define P _Pragma(\"omp barrier\")\n#define DO(x) { x }\nDO(P f();)",
        "{\n  #pragma omp barrier\n  f();\n}",
    );
}

#[test]
fn words_of_directives_are_written_out() {
    check(
        "#define CLAUSES map(MAP: a[0:N]) num_teams(N)\n#define MAP tofrom\n#define N 4\n#pragma omp target CLAUSES nowait\nf();",
        "#pragma omp target map(tofrom: a[0:N]) num_teams(N) nowait\nf();",
    );
    check(
        "#define DIR target teams\n#pragma omp DIR\nf();",
        "#pragma omp target teams\nf();",
    );
    check(
        "#define LIST a, b[0:n]\n#pragma omp target map(LIST)\nf();",
        "#pragma omp target map(a, b[0:n])\nf();",
    );
    check(
        "#define ARGS(x) map(to: x)\n#pragma omp target ARGS(a)\nf();",
        "#pragma omp target map(to: a)\nf();",
    );
}

#[test]
fn any_number_of_words_is_written_out() {
    let numbers = 0..40;
    let defines: String = numbers
        .clone()
        .map(|n| format!("#define M{n} map(to: a{n})\n"))
        .collect();
    let words: String = numbers.clone().map(|n| format!(" M{n}")).collect();
    let clauses: String = numbers.map(|n| format!(" map(to: a{n})")).collect();
    check(
        &format!("{defines}#pragma omp target{words}\nf();"),
        &format!("#pragma omp target{clauses}\nf();"),
    );
}

#[test]
fn words_behind_macros_that_move_parentheses_are_read_again() {
    check(
        "#define OPEN map(to:\n#define N 4\n#define LAST nowait\n#pragma omp target OPEN a[0:N]) LAST\nf();",
        "#pragma omp target map(to: a[0:N]) nowait\nf();",
    );
}

#[test]
fn macros_that_name_themselves_are_written_out_once() {
    check(
        "#define A nowait A\n#pragma omp target A\nf();",
        "#pragma omp target nowait A\nf();",
    );
    check(
        "#define A B nowait\n#define B A A\n#pragma omp target A\nf();",
        "#pragma omp target A A nowait\nf();",
    );
}

#[test]
fn loops_after_directives_are_written_out() {
    check(
        "#define LOOP(i, n) for (int i = 0; i < n; i++)\n#pragma omp target\n#pragma omp parallel for\nLOOP(k, 4) { f(); }\nLOOP(k, 4) g();",
        "#pragma omp target\n#pragma omp parallel for\nfor (int k = 0; k < 4; k++) { f(); }\nLOOP(k, 4) g();",
    );
}

#[test]
fn macros_of_declarations_are_written_out() {
    check(
        "#define PAIR(T) PAIR_OF(T, T##_pair)\n#define PAIR_OF(T, name) struct name { T a, b; };\n#pragma omp target\n;\nPAIR(int)\nnamespace n { PAIR(char) }",
        "#pragma omp target\n;\nstruct int_pair {\n  int a, b;\n};\nnamespace n { struct char_pair {\n  char a, b;\n}; }",
    );
    check(
        "#define API inline\n#define CHECK(x) { x; }\n#pragma omp target\n;\nAPI int f() { CHECK(1) }",
        "#pragma omp target\n;\nAPI int f() { CHECK(1) }",
    );
    check(
        "#define PAIR(T) struct T##_pair { T a, b; };\nPAIR(int)",
        "PAIR(int)",
    );
}

#[test]
fn lone_braces_are_written_out_beside_directives() {
    check(
        "#define BEGIN {\n#define END }\n#pragma omp target\nBEGIN f(); END",
        "#pragma omp target\n{ f(); }",
    );
    check(
        "#define BEGIN {\n#define END }\nBEGIN f(); END",
        "BEGIN f(); END",
    );
}

#[test]
fn parts_of_expressions_are_written_out_beside_directives() {
    let head = "#define PLUS +1\n#define AND &&\n#define NEG -1\n#define AT(i) [i]\n#define NOT !\n#pragma omp target\n";
    check(
        &format!("{head}x = f(a) PLUS * (int) NEG + b AT(0) AND NOT c;"),
        "#pragma omp target\nx = f(a) +1 * (int) NEG + b [0] && ! c;",
    );
    check(
        &format!("{head}return NEG, (a) AND b;"),
        "#pragma omp target\nreturn NEG, (a) && b;",
    );
    check("#define PLUS +1\nx = a PLUS;", "x = a PLUS;");
}

#[test]
fn declarations_of_pasted_names_are_written_out_beside_directives() {
    check(
        "#define DECL(x) int v_##x\n#define USE(x) v_##x\n#define STOP(x) return v_##x\nvoid f() { DECL(a) = 3, b;\n#pragma omp target\nUSE(a) = 1; STOP(a); }",
        "void f() { int v_a = 3, b;\n#pragma omp target\nUSE(a) = 1; STOP(a); }",
    );
}

#[test]
fn attributes_become_lines() {
    check(
        "[[omp::directive(parallel for, num_threads(2))]] for (;;);",
        "#pragma omp parallel for, num_threads(2)\n for (;;);",
    );
    check(
        "f(); [[using omp: sequence(directive(target), directive(parallel))]]\n{ }",
        "f(); \n#pragma omp target\n#pragma omp parallel\n{ }",
    );
    check("[[nodiscard]] int f();", "[[nodiscard]] int f();");
    check(
        "[[omp::decl(declare simd)]] int f(); int a [[omp::decl(declare_target)]];",
        "#pragma omp declare simd\n int f(); \n#pragma omp begin declare target\nint a ;\n#pragma omp end declare target",
    );
    check(
        "int a, b [[omp::decl(declare_target, link)]] = 1, c; static int t [[omp::decl(threadprivate)]];",
        "int a, b  = 1, c;\n#pragma omp declare target link(b)\n static int t ;\n#pragma omp threadprivate(t)",
    );
    check(
        "[[omp::decl(declare target, device_type(any)), nodiscard]] int f(int x) { return x; }\nint g();",
        "#pragma omp begin declare target device_type(any)\n[[nodiscard]] int f(int x) { return x; }\n#pragma omp end declare target\nint g();",
    );
    check(
        "int f [[omp::decl(declare simd)]] (int x) { return x; }",
        "#pragma omp declare simd\nint f  (int x) { return x; }",
    );
    check(
        "[[omp::sequence(omp::directive(target), directive(teams)), likely]]\n{ }",
        "#pragma omp target\n#pragma omp teams\n[[likely]]\n{ }",
    );
}

#[test]
fn macros_do_not_become_any_amount_of_text() {
    let mut text = String::from("#define M0(f) int f(int a) { a++; }\n");
    for n in 1..20 {
        let before = n - 1;
        writeln!(text, "#define M{n}(f) M{before}(f##a) M{before}(f##b)").expect("it is a string");
    }
    text.push_str("M19(f)\n_Pragma(\"omp target\") ;\n");
    let mut sources = SourceMap::new();
    let file = sources.add(SourceFile::new("t.cpp", Language::Cxx, &*text));
    let macros = MacroTable::read(&text, &[], None, |_| TextSize::new(0));
    let mut diagnostics = Diagnostics::new();
    let working = working_file(&mut sources, file, &macros, &mut diagnostics);
    assert!(sources.file(working).text().len() < 100_000);
}
