use super::*;

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
