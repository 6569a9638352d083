//! Names as they are written: components, template arguments, namespaces.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::SmolStr;

use super::Builder;

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
    split_qualifier(name).map_or(name, |(_, last)| last).trim()
}

/// A qualified name at its last `::`; those in arguments of templates are none of its own.
pub(crate) fn split_qualifier(name: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    let mut last = None;
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && name[at..].starts_with("::") => last = Some(at),
            _ => {}
        }
    }
    last.map(|at| (&name[..at], &name[at + 2..]))
}

/// Whether a qualifier, without its last `::`, names a scope of the unit: `b` and `a::b<int>` name `a::b`, nothing names the unit.
pub(crate) fn qualifies(qualifier: &str, scope: &str) -> bool {
    let plain = without_arguments(qualifier);
    match plain.strip_prefix("::") {
        Some(whole) => scope == whole,
        None if plain.is_empty() => scope.is_empty(),
        None => scope
            .strip_suffix(plain.as_str())
            .is_some_and(|outer| outer.is_empty() || outer.ends_with("::")),
    }
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

/// `double` and `A` of `std::vector<double, A>`.
pub(crate) fn template_arguments(spelling: &str) -> Vec<&str> {
    let Some((_, list)) = spelling.split_once('<') else {
        return Vec::new();
    };
    let mut arguments = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (idx, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ',' if depth == 0 => {
                arguments.push(list[start..idx].trim());
                if c == '>' {
                    break;
                }
                start = idx + 1;
            }
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    arguments
}

impl Builder<'_> {
    /// The end of the attributes of GNU C that stand behind a place, macros for them included; the place itself if there are none.
    pub(super) fn behind_attributes(&self, place: TextSize) -> TextSize {
        let rest = TextRange::new(place, TextSize::of(self.source));
        let mut end = place;
        let mut depth = 0_usize;
        // A word for attributes, which may have arguments, stands before the token.
        let mut follows_word = false;
        for token in lex::significant_tokens(self.source, rest) {
            let word = token.text(self.source);
            let is_macro = || self.is_macro_for_attributes(word, token.range);
            match word {
                "(" if depth > 0 || follows_word => depth += 1,
                ")" if depth > 0 => depth -= 1,
                _ if depth > 0 => {}
                _ if is_attribute(word) || is_macro() => follows_word = true,
                _ => break,
            }
            if depth == 0 && !is_attribute(word) {
                end = token.range.end();
            }
        }
        end
    }

    fn is_macro_for_attributes(&self, word: &str, at: TextRange) -> bool {
        let body = self.macro_at(word, at).map(|found| found.body.as_str());
        body.is_some_and(|body| {
            let first = lex::significant_tokens(body, lex::whole(body)).next();
            first.is_none_or(|first| is_attribute(first.text(body)))
        })
    }
}

fn is_attribute(word: &str) -> bool {
    matches!(word, "__attribute__" | "__attribute")
}
