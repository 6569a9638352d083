use super::*;
use crate::source::SourceFile;

/// Reads a text and prints for each directive its name and the first line of its statement.
fn associations(text: &str, language: Language) -> Vec<String> {
    let mut sources = SourceMap::new();
    let file = sources.add(SourceFile::new("t.c", language, text));
    let mut diagnostics = Diagnostics::new();
    let unit = read_unit(&mut sources, file, None, &mut diagnostics);
    for idx in 0..unit.directives.len() {
        if let Some(mask) = unit.mask_of(idx) {
            assert_eq!(unit.directive_of(mask), Some(idx));
        }
    }
    (0..unit.directives.len())
        .map(|idx| {
            let statement = unit
                .statement_of(idx)
                .map_or("-", |node| node.text().lines().next().unwrap_or_default());
            format!("{}: {statement}", unit.directives[idx].name())
        })
        .collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    for language in [Language::C, Language::Cxx] {
        assert_eq!(
            associations(text, language),
            expected,
            "{language:?} {text}"
        );
    }
}

#[test]
fn stacked_directives_nest() {
    check(
        "void f() {\n#pragma omp target data map(a)\n#pragma omp target\n#pragma omp parallel for // c /\nfor (;;) {}\n}",
        &[
            "target data: #pragma omp target",
            "target: #pragma omp parallel for // c /",
            "parallel for: for (;;) {}",
        ],
    );
}

#[test]
fn a_directive_in_body_position_keeps_the_else() {
    let text = "void f() {\nif (x)\n#pragma omp target\nfor (;;) a[i]++;\nelse h();\n}";
    check(text, &["target: for (;;) a[i]++;"]);
}

#[test]
fn directives_between_case_labels_stay_in_their_case() {
    check(
        "void f() { switch (x) { case 1: a();\n#pragma omp parallel for\nfor (;;) {}\nbreak;\ncase 2:\n#pragma omp target\nb(); } }",
        &["parallel for: for (;;) {}", "target: b();"],
    );
}

#[test]
fn standalone_and_declarative_directives_have_no_statement() {
    check(
        "#pragma omp declare target\nint x;\n#pragma omp end declare target\nvoid f() {\n#pragma omp barrier\ng(); }",
        &["declare target: -", "end declare target: -", "barrier: -"],
    );
}

#[test]
fn a_directive_without_statement_is_known() {
    check("void f() { g();\n#pragma omp target\n}", &["target: -"]);
    check("#pragma omp target\n", &["target: -"]);
}

#[test]
fn a_pragma_chosen_by_a_conditional_reaches_over_its_end() {
    check(
        "void f() {\n#ifdef _OPENMP\n#pragma omp target\n#else\n#pragma omp parallel\n#endif\nfor (;;) {}\n}",
        &["target: for (;;) {}"],
    );
}

#[test]
fn a_macro_call_without_semicolon_does_not_swallow_the_directive() {
    check(
        "void f() {\nINFO(x)\n#pragma omp target\n{ g(); }\n}",
        &["target: { g(); }"],
    );
    check(
        "void f() {\nINFO(\"x\")\n#pragma omp target\n{ g(); }\n}",
        &["target: { g(); }"],
    );
}

#[test]
fn attributes_that_cannot_be_written_out_are_reported() {
    let mut sources = SourceMap::new();
    let text = "int a [[omp::decl(assumes)]];";
    let file = sources.add(SourceFile::new("t.cpp", Language::Cxx, text));
    let mut diagnostics = Diagnostics::new();
    let unit = read_unit(&mut sources, file, None, &mut diagnostics);
    assert!(!unit.tree.root().has_error());
    let found: Vec<_> = diagnostics
        .iter()
        .map(|it| (it.code, sources.slice(it.primary.at)))
        .collect();
    assert_eq!(
        found,
        [(Code::UnsupportedDirective, "[[omp::decl(assumes)]]")]
    );
}

#[test]
fn a_statement_never_lies_inside_its_directive() {
    assert_eq!(
        associations("#pragma omp parallel\n[else a = b;", Language::C),
        ["parallel: -"]
    );
}

#[test]
fn a_directive_without_a_statement_is_a_whole_statement() {
    check(
        "void f() {\n#pragma omp target data map(a)\n#pragma omp target update to(a)\n}",
        &[
            "target data: #pragma omp target update to(a)",
            "target update: -",
        ],
    );
    check(
        "void f() {\n#pragma omp parallel\nif (x)\n#pragma omp barrier\n}",
        &["parallel: if (x)", "barrier: -"],
    );
}
