use super::grammar::GRAMMARS;
use super::*;
use std::time::Duration;

fn named_kinds(node_types: &str) -> Vec<String> {
    // A list of objects, two spaces deep: `"type": "x",` then `"named": true,`; supertypes have `"subtypes"` next.
    let lines: Vec<&str> = node_types.lines().collect();
    lines
        .windows(3)
        .filter(|window| window[0].starts_with("    \"type\": "))
        .filter(|window| window[1].contains("true") && !window[2].contains("subtypes"))
        .map(|window| {
            window[0]
                .trim()
                .trim_start_matches("\"type\": ")
                .trim_matches(['"', ','])
                .to_owned()
        })
        .collect()
}

#[test]
fn the_kind_table_is_complete() {
    for node_types in [tree_sitter_c::NODE_TYPES, tree_sitter_cpp::NODE_TYPES] {
        let names = named_kinds(node_types);
        assert!(names.len() > 100);
        for name in names {
            assert!(Kind::NAMED.iter().any(|kind| kind.name() == name), "{name}");
        }
    }
    for grammar in [&GRAMMARS.c, &GRAMMARS.cxx] {
        assert!(grammar.fields[1..].iter().all(Option::is_some));
    }
}

#[test]
fn nodes_know_their_place() {
    let tree = parse_fragment("int f(int n) { return a[n + 1]; }", Language::C);
    let subscript = tree
        .root()
        .descendants()
        .find(|node| node.kind() == Kind::SubscriptExpression)
        .expect("there is one");
    assert_eq!(subscript.text(), "a[n + 1]");
    assert_eq!(subscript.subscript_index().map(Node::text), Some("n + 1"));
    assert_eq!(subscript.field(Field::Argument).map(Node::text), Some("a"));
    assert_eq!(
        subscript.parent().map(Node::kind),
        Some(Kind::ReturnStatement)
    );
    assert_eq!(tree.root().smallest_at(subscript.range()), subscript);
    let sum = subscript.subscript_index().expect("checked above");
    assert_eq!(sum.field(Field::Operator).map(Node::token), Some("+"));
    assert!(!tree.root().has_error());
}

#[test]
fn both_grammars_answer_alike() {
    for language in [Language::C, Language::Cxx] {
        let tree = parse_fragment("void f() { while ((x) /* c */ < a[i]) g(); }", language);
        let find = |kind| tree.root().descendants().find(|node| node.kind() == kind);
        let condition = find(Kind::WhileStatement).and_then(Node::condition);
        assert_eq!(condition.map(Node::text), Some("(x) /* c */ < a[i]"));
        let index = find(Kind::SubscriptExpression).and_then(Node::subscript_index);
        assert_eq!(index.map(Node::text), Some("i"));
    }
}

#[test]
fn missing_and_errors_are_marked() {
    let tree = parse_fragment("void f() { return 1 }", Language::C);
    assert!(tree.root().has_error());
    assert!(
        tree.nodes().any(Node::is_missing),
        "{}",
        tree.root().outline()
    );
    assert!(
        parse_fragment("int )))", Language::Cxx)
            .nodes()
            .any(Node::is_error)
    );
}

#[test]
fn deep_nesting_costs_no_stack() {
    let text = format!("int x = {}1{};", "(".repeat(10_000), ")".repeat(10_000));
    let tree = parse_fragment(&text, Language::C);
    assert!(tree.root().descendants().count() > 10_000);
    let text = format!("void f() {}{}", "{".repeat(10_000), "}".repeat(10_000));
    let tree = parse_fragment(&text, Language::Cxx);
    assert_eq!(tree.root().descendants().count(), 10_006);
}

/// The outline of a text that is parsed in pieces of at least so many bytes.
fn outline(text: &str, piece: usize, language: Language) -> String {
    let tree = Tree {
        text: text.into(),
        language,
        nodes: flatten::parse(text, piece, language, Patience::USUAL),
    };
    let places: Vec<_> = tree.nodes().map(Node::range).collect();
    format!("{} {places:?}", tree.root().outline())
}

#[test]
fn what_takes_too_long_is_an_error() {
    let wrong = format!("int wrong(void) {{ {} }}", "f(a }, [b; ".repeat(100));
    let right = format!("int right(void) {{ {} }}", "f(a[b]); ".repeat(100));
    let text = format!("{right}\n{wrong}\n{right}");
    let patience = Patience {
        base: Duration::ZERO,
        byte: Duration::ZERO,
    };
    let parsed = |text: &str, patience| {
        let nodes = flatten::parse(text, 64, Language::C, patience);
        let n_calls = nodes
            .iter()
            .filter(|node| node.kind == Kind::CallExpression);
        (
            n_calls.count(),
            nodes.iter().any(|node| node.kind == Kind::Error),
        )
    };
    assert_eq!(parsed(&right, patience), (100, false));
    let (n_usual, _) = parsed(&text, Patience::USUAL);
    assert!(n_usual > 200, "{n_usual}");
    let (n_calls, has_error) = parsed(&text, patience);
    assert!(n_calls < n_usual && has_error, "{n_calls}");
    // The parser goes on with the next text.
    assert_eq!(parsed(&right, patience), (100, false));
}

#[test]
fn pieces_parse_as_the_whole_does() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/run");
    let mut n_cut = 0;
    for entry in std::fs::read_dir(fixtures).expect("the fixtures are there") {
        let folder = entry.expect("a folder can be read").path();
        for (name, language) in [("input.c", Language::C), ("input.cpp", Language::Cxx)] {
            let Ok(text) = std::fs::read_to_string(folder.join(name)) else {
                continue;
            };
            // What stands in lines of the preprocessor is no part of a view.
            let text: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim_start().starts_with('#'))
                .collect();
            let text = text.join("\n");
            let whole = outline(&text, usize::MAX, language);
            if whole.contains("ERROR") {
                continue;
            }
            n_cut += pieces::pieces(&text, 1, language).len() - 1;
            for piece in [1, 100] {
                let parts = outline(&text, piece, language);
                assert_eq!(parts, whole, "{}", folder.display());
            }
        }
    }
    assert!(n_cut > 500, "{n_cut}");
}

#[test]
fn texts_are_cut_between_items_only() {
    let cut = |text: &str, language| -> Vec<String> {
        let pieces = pieces::pieces(text, 1, language);
        let texts = pieces.iter().map(|&piece| lex::slice(text, piece).trim());
        texts.map(str::to_owned).collect()
    };
    for (language, items) in [
        (
            Language::C,
            &[
                "int f(a) int a; { ; } int b; float c = 1;",
                "static int g(void) { if (b) { } else { } return (struct s){ 1 }.x; }",
                "int h;",
            ][..],
        ),
        (
            Language::C,
            &[
                "struct __attribute__((packed)) { int a; } x;",
                "struct A(1) { int a; } y;",
                "int z[] = { f(1), 2 };",
                "int k(int), *l(void) __attribute__((pure));",
                "int m(a, b) int a; int b; { } \nextern int b;",
            ][..],
        ),
        (
            Language::Cxx,
            &[
                "int a;",
                "struct alignas(8) S { void f() { } };",
                "S s;",
                "void f() noexcept(true) { }",
                "// f \nauto g = [](int a) { } (1);",
                "void h() try { } catch (...) { }",
                "char c[] = \"{\";",
            ][..],
        ),
    ] {
        assert_eq!(cut(&items.join(" \n"), language), items);
    }
}

#[test]
fn long_blocks_parse_in_parts_as_the_whole_does() {
    let numbered = |item: &str| -> String {
        let items = (0..60).map(|n| item.replace('#', &n.to_string()));
        items.collect()
    };
    for (language, before, item, behind) in [
        (
            Language::C,
            "int a[] = { ",
            "#, /* # */ [# + 2] = -#, ",
            "};",
        ),
        (Language::C, "enum { ", "E# = #,", "F } e;"),
        (
            Language::C,
            "struct { ",
            "struct { int a; } b#; int c# : 2;",
            "} x;",
        ),
        (Language::C, "int a[][60] = { { ", "#, ", "1 }, { 2 } };"),
        (
            Language::C,
            "int f(int a) { ",
            "do a++; while (#); if (a) { a = #; } else a = 1; while (1) { int b[] = { 1 }; } struct s { int x; } y; l#: a--; ",
            "return a; }",
        ),
        (
            Language::C,
            "int f(int a) { switch (a) { ",
            "case #: a++; break; ",
            "default: ; } }",
        ),
        (
            Language::Cxx,
            "namespace n { namespace { class C { public: ",
            "void f#() { try { } catch (...) { } } private: template <class T, int N> int g#(T a) const; ",
            "}; } }",
        ),
        (
            Language::Cxx,
            "auto f = [](int a) { for (;;) { ",
            "g<1, 2>([&](int b) { return # < a; }); struct S# { int x; } y#; ",
            "} };",
        ),
    ] {
        let text = format!("int before; {before}{}{behind} int behind;", numbered(item));
        let whole = outline(&text, usize::MAX, language);
        let cut = cuts::cut(&text, lex::whole(&text), 64, language);
        assert!(cut.is_some(), "{text}");
        assert_eq!(outline(&text, 64, language), whole, "{text}");
    }
}

#[test]
fn long_lists_and_chains_parse_in_parts_as_the_whole_does() {
    let both = [Language::C, Language::Cxx];
    for (before, item, behind) in [
        ("int x = 1, *a[2] = { 0 }", ", v# = #, *f#(int, int)", ";"),
        ("struct s { int a", ", b#, *c# /* # */", "; };"),
        ("typedef int t", ", t#[#]", ";"),
        (
            "int f(int a",
            ", int a#, struct s (*b#)[2]",
            ") { return 1; }",
        ),
        (
            "void f(void) { g(1",
            ", a# + (#, 2), \"x\" \"#\"",
            "); h(); }",
        ),
        ("void f(void) { int k; g(1", ", h(#)", ")->b = 1; }"),
        ("long s = a", " + # * b[#] - (c) /* # */ + -d", ";"),
        (
            "void f(void) { if (a) { s = a",
            " + # * b[#] - c",
            "; } return; }",
        ),
        (
            "int f(void) { return x ? 1 : a & b",
            " | f(#, 2) ^ !c || d# == 1",
            "; }",
        ),
        ("int f(void) { while (a", " || #", ") ; }"),
        ("int f(void) { for (int i = 0; i < a", " + #", "; i++) ; }"),
        ("int f(void) { g(1, (a", " << # << b.c(1)", "), 2); }"),
        (
            "int a[] = { 1, 2 + a * b",
            " * c# / (int)sizeof(d)",
            ", 3 };",
        ),
        ("int f(void) { l: a", " && !b#", "; }"),
        ("int f(void) { return g(1)", ", g(#, #) + b#, c = #", "; }"),
        (
            "void f(void) { if (a) { b = 1",
            ", b# = # * (#, 2)",
            "; } return; }",
        ),
        ("int f(void) { return 1 + (a", ", b[#], -#", ") * 2; }"),
    ] {
        let items: String = (0..60).map(|n| item.replace('#', &n.to_string())).collect();
        let text = format!("static int before; {before}{items}{behind} static int behind;");
        for language in both {
            let whole = outline(&text, usize::MAX, language);
            let item = TextRange::new(19.into(), TextSize::of(&text) - TextSize::new(19));
            assert!(cuts::cut(&text, item, 64, language).is_some(), "{text}");
            assert_eq!(outline(&text, 64, language), whole, "{text}");
            let parsed = flatten::is_cut(&text, item, 64, language);
            assert!(parsed, "{text}");
        }
    }
}
