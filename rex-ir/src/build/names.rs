//! Names as they are written: components, template arguments, namespaces.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::SmolStr;

/// One blank between words.
pub(super) fn squeeze(text: &str) -> SmolStr {
    if !text.contains(['\n', '\t', '\r']) && !text.contains("  ") && !text.contains("/*") {
        return text.into();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

/// Names of the namespaces around a node, outermost first.
pub(super) fn namespaces_around(node: Node<'_>) -> Vec<SmolStr> {
    let mut names: Vec<SmolStr> = node
        .ancestors()
        .filter(|outer| outer.kind() == Kind::NamespaceDefinition)
        .filter_map(|outer| outer.field(Field::Name))
        .map(|name| squeeze(name.text()))
        .collect();
    names.reverse();
    names
}

/// `c` of `a::b::c`.
pub(super) fn last_component(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name).trim()
}

/// The plain name of a function: `size` of `Box<T>::size`, `convert` of the specialization `convert<std::string>`.
pub(super) fn function_name(name: &str) -> SmolStr {
    if name.contains("operator") {
        return last_component(name).into();
    }
    last_component(&without_arguments(name)).into()
}

/// `Box::Inner` of `Box<T>::Inner`.
pub(super) fn without_arguments(name: &str) -> String {
    let mut depth = 0usize;
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 && !c.is_whitespace() => plain.push(c),
            _ => {}
        }
    }
    plain
}
