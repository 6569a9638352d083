//! C linkage of functions: files of C and of C++ call each other's device functions by names that say nothing of parameters.

use std::collections::BTreeSet;

use rex_ir::item::{Item, ItemKind};
use rex_ir::library;
use rex_ir::program::Program;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex};

use super::Device;
use super::function::without_extern;

impl Device<'_> {
    /// Whether the function that an item declares or defines has C linkage, as far as the item and the blocks around it say.
    fn has_c_linkage(&self, item: TextRange, name: &str) -> bool {
        let program = self.program;
        let is_c = program.language() == Language::C;
        (is_c || self.in_linkage_block || is_linkage(program.text(item)))
            && !self.internal_functions.contains(name)
            && !library::may_be_declared(name)
    }

    /// A function of an item with its linkage. One specification takes no `extern` behind it, which a macro may say.
    pub(super) fn linked(&self, item: TextRange, name: &str, text: &str) -> String {
        if !self.has_c_linkage(item, name) {
            return text.to_string();
        }
        let head = head_of(self.program, item, name);
        match says(self.program, head, "extern") {
            Some(macro_at) if self.program.text(macro_at) != "extern" => {
                format!("extern \"C\" {{\n{text}\n}}")
            }
            // `extern inline` of C
            _ => {
                let (head, rest) = text.split_at(length_of_head(text, name));
                format!("extern \"C\" {}{rest}", without_word(head, "extern"))
            }
        }
    }
}

/// Where the name of a function begins in its text.
fn length_of_head(text: &str, name: &str) -> usize {
    let mut words = lex::identifiers(text, lex::whole(text));
    let at = words.find(|at| &text[*at] == name);
    at.map_or(text.len(), |at| usize::from(at.start()))
}

/// Removes a leading specifier.
pub(super) fn without_word(text: &str, word: &str) -> String {
    let range = TextRange::up_to(TextSize::of(text));
    let found = lex::identifiers(text, range).find(|at| &text[*at] == word);
    match found {
        Some(at) => {
            let mut edited = text.to_string();
            let end =
                usize::from(at.end()) + usize::from(text[usize::from(at.end())..].starts_with(' '));
            edited.replace_range(usize::from(at.start())..end, "");
            edited
        }
        None => {
            let trimmed = text.trim_start();
            trimmed
                .strip_prefix(&format!("{word} "))
                .unwrap_or(trimmed)
                .to_string()
        }
    }
}

/// Whether a text begins with `extern` and a language.
pub(super) fn is_linkage(text: &str) -> bool {
    let rest = text.strip_prefix("extern").map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with('"')) && without_extern(text).len() < text.len()
}

/// The functions that a file keeps to itself: a declaration of them says `static`.
pub(super) fn internal_functions(program: &Program) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut pending: Vec<&Item> = program.items.iter().collect();
    while let Some(item) = pending.pop() {
        let name = match &item.kind {
            ItemKind::Block { items, .. } => {
                pending.extend(items);
                continue;
            }
            ItemKind::Prototype(name) => name,
            ItemKind::Function(id) => &program.functions[*id].name,
            _ => continue,
        };
        if says(program, head_of(program, item.range, name), "static").is_some() {
            found.insert(name.as_str());
        }
    }
    found
}

/// The word that macros in front of what the tree has of a function say: `API_INLINE void f() {}`.
pub(super) fn inline_by_macro(program: &Program, function: TextRange) -> &'static str {
    let mut end = function.start();
    loop {
        let before = program.text(TextRange::up_to(end)).trim_end();
        let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let start = before.trim_end_matches(is_word);
        let word = TextRange::new(TextSize::of(start), TextSize::of(before));
        let name = program.text(word);
        let found = program.macro_at(name, word);
        if name.is_empty() || found.is_none_or(|it| it.parameters.is_some()) {
            return "";
        }
        if says(program, word, "inline").is_some() {
            return "inline ";
        }
        end = word.start();
    }
}

/// What stands in a declaration before the name that it declares.
fn head_of(program: &Program, item: TextRange, name: &str) -> TextRange {
    let mut words = lex::identifiers(program.source(), item);
    let at = words.find(|at| program.text(*at) == name);
    TextRange::new(item.start(), at.map_or(item.end(), |at| at.start()))
}

/// Where a word is said, if only by a macro.
fn says(program: &Program, head: TextRange, word: &str) -> Option<TextRange> {
    lex::identifiers(program.source(), head).find(|at| {
        let said = program.text(*at);
        let mut names = program.macro_names(said, *at).into_iter();
        said == word || names.any(|name| name == word)
    })
}
