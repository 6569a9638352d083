//! Properties that hold for every input, however damaged.

use std::sync::Arc;

use proptest::prelude::*;
use rex_syntax::diag::Diagnostics;
use rex_syntax::expansion::Expansion;
use rex_syntax::omp::parse::parse_directive;
use rex_syntax::source::{FileId, Language, SourceFile, SourceMap};
use rex_syntax::unit::read_unit;
use rex_syntax::{TextRange, TextSize, lex, pragma, view};

/// Pieces of text that meet each other in unexpected ways.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: [&str; 48] = [
        "\n#pragma omp target map(tofrom: a[0:n])\n",
        "\n#pragma omp ",
        "#pragma omp parallel for reduction(+: s)\n",
        "\n#pragma omp barrier\n",
        "_Pragma(\"omp target\")",
        "for (int i = 0; i < n; i++) ",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "if (x) ",
        "else ",
        "\n#define M(a, ...) a##b #a __VA_ARGS__\n",
        "M(x, y)",
        "M(",
        "\n#define P _Pragma(\"omp barrier\") Q\n",
        "\n#define Q P\n",
        "P",
        "\n#if X\n",
        "\n#if 0\n",
        "\n#else\n",
        "\n#endif\n",
        "\n#undef M\n",
        "\"",
        "'",
        "/*",
        "*/",
        "// c\n",
        "\\\n",
        "\\\r\n",
        "R\"x(",
        ")x\"",
        "[[omp::directive(parallel)]]",
        "[[",
        "int f(int a) ",
        "struct S ",
        "template<class T> ",
        "a = b;",
        "::",
        "é",
        "\n# 1 \"t.c\" 2\n",
        "\n# 1 \"h.h\" 1 3\n",
        "new T*[n]",
        "\r\n",
    ];
    prop_oneof![
        9 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => "[ -~\n]{0,12}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

fn whole(text: &str) -> TextRange {
    TextRange::up_to(TextSize::of(text))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tokens_are_in_order_and_cover_all_but_blanks(text in text()) {
        let mut end = TextSize::new(0);
        for token in lex::tokens(&text, whole(&text)) {
            prop_assert!(token.range.start() >= end && !token.range.is_empty());
            let between = &text[TextRange::new(end, token.range.start())];
            prop_assert!(between.bytes().all(|byte| byte.is_ascii_whitespace() || byte == b'\\'));
            end = token.range.end();
        }
    }

    #[test]
    fn units_are_consistent(text in text(), expansion in prop::option::of(text()), cxx in any::<bool>()) {
        let language = if cxx { Language::Cxx } else { Language::C };
        let mut sources = SourceMap::new();
        let file = sources.add(SourceFile::new("t.c", language, text.as_str()));
        let expansion = expansion.map(|text| Arc::new(Expansion::parse(text.into(), "t.c")));
        let mut diagnostics = Diagnostics::new();
        let unit = read_unit(&mut sources, file, expansion, &mut diagnostics);
        let working = sources.file(unit.file).text();
        for (idx, directive) in unit.directives.iter().enumerate() {
            prop_assert!(whole(working).contains_range(directive.range));
            for clause in &directive.clauses {
                prop_assert!(directive.range.contains_range(clause.range));
            }
            if let Some(mask) = unit.mask_of(idx) {
                prop_assert_eq!(unit.directive_of(mask), Some(idx));
            }
            if let Some(statement) = unit.statement_of(idx) {
                prop_assert!(statement.range().start() >= directive.range.end());
            }
        }
        for node in unit.tree.nodes() {
            let inside = node.parent().is_none_or(|parent| parent.range().contains_range(node.range()));
            prop_assert!(inside && working.get(usize::from(node.range().start())..usize::from(node.range().end())).is_some());
        }
        for diagnostic in diagnostics.iter() {
            let at = sources.to_written(diagnostic.primary.at);
            prop_assert!(whole(sources.file(at.file).text()).contains_range(at.range));
        }
    }

    #[test]
    fn the_view_keeps_length_and_reading_is_repeatable(text in text()) {
        let mut sources = SourceMap::new();
        let file = sources.add(SourceFile::new("t.cpp", Language::Cxx, text.as_str()));
        let first = read_unit(&mut sources, file, None, &mut Diagnostics::new());
        let second = read_unit(&mut sources, file, None, &mut Diagnostics::new());
        prop_assert_eq!(first.tree.root().outline(), second.tree.root().outline());
        prop_assert_eq!(sources.file(first.file).text(), sources.file(second.file).text());
        let working = sources.file(first.file).text();
        let view = view::parse_view(working, Language::Cxx, &first.directives, &first.inactive, &first.macros);
        prop_assert_eq!(view.len(), working.len());
    }

    #[test]
    fn directives_are_read_whatever_they_say(body in "[a-z(),:\\[\\]*+? \"'_.>#0-9-]{0,60}") {
        let text = format!("#pragma omp target {body}\n");
        for line in pragma::scan(&text) {
            let directive = parse_directive(&text, &line, FileId(0), &mut Diagnostics::new());
            for clause in &directive.clauses {
                prop_assert!(directive.range.contains_range(clause.range));
                for item in clause.items() {
                    prop_assert!(clause.range.contains_range(item.range));
                }
            }
        }
    }
}
