//! Functions that types name where nothing is called: `template <class T> struct S : decltype(find<T>(nullptr)) {};`.

use std::collections::BTreeSet;

use rex_ir::item::{Item, ItemKind, prototypes};
use rex_ir::program::Program;
use rex_syntax::lex;
use rex_syntax::source::Language;

/// The functions that the unit declares and never defines, and that types or macros of the device file name.
pub(super) fn named_by_types(program: &Program) -> BTreeSet<&str> {
    let mut declared: BTreeSet<&str> = match program.language() {
        Language::C => BTreeSet::new(),
        Language::Cxx => prototypes(&program.items)
            .map(|(_, name)| name.as_str())
            .collect(),
    };
    for function in program.functions.values() {
        declared.remove(&*function.name);
    }
    let mut named = BTreeSet::new();
    let mut before = None;
    // Declarations that are kept name further ones.
    while !declared.is_empty() && before.replace(named.len()) != Some(named.len()) {
        add_names(program, &program.items, &declared, &mut named);
    }
    named
}

fn add_names<'p>(
    program: &'p Program,
    items: &'p [Item],
    declared: &BTreeSet<&'p str>,
    named: &mut BTreeSet<&'p str>,
) {
    for item in items {
        let is_kept = match &item.kind {
            ItemKind::Type | ItemKind::Macro => true,
            ItemKind::Prototype(name) => named.contains(name.as_str()),
            _ => false,
        };
        match &item.kind {
            _ if is_kept => {
                let words = lex::significant_tokens(program.source(), item.range);
                let words = words.map(|word| word.text(program.source()));
                named.extend(words.filter(|word| declared.contains(word)));
            }
            ItemKind::Block { items, .. } => add_names(program, items, declared, named),
            _ => {}
        }
    }
}
