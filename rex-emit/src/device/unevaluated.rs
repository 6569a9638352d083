//! Functions that types name where nothing is called: `template <class T> struct S : decltype(find<T>(nullptr)) {};`.

use std::collections::BTreeSet;

use rex_ir::item::{Item, ItemKind, prototypes};
use rex_ir::program::Program;
use rex_syntax::TextRange;
use rex_syntax::lex;
use rex_syntax::source::Language;

/// The functions that types or macros of the device file name: those that the unit declares and never defines, and those that have no place there but in operands that
/// nothing evaluates.
pub(super) fn named_by_types(program: &Program) -> BTreeSet<&str> {
    let mut named = BTreeSet::new();
    if program.language() == Language::C {
        return named;
    }
    let mut functions = Functions {
        declared: prototypes(&program.items)
            .map(|(_, name)| name.as_str())
            .collect(),
        defined: BTreeSet::new(),
    };
    for function in program.functions.values() {
        functions.declared.remove(&*function.name);
        if function.class.is_none() && !program.has_device_function(&function.name) {
            functions.defined.insert(&function.name);
        }
    }
    let mut before = None;
    // Declarations that are kept name further ones.
    while before.replace(named.len()) != Some(named.len()) {
        functions.add_named(program, &program.items, &mut named);
    }
    named
}

/// The functions of the unit that device code does not call.
struct Functions<'p> {
    declared: BTreeSet<&'p str>,
    defined: BTreeSet<&'p str>,
}

impl<'p> Functions<'p> {
    fn add_named(&self, program: &'p Program, items: &'p [Item], named: &mut BTreeSet<&'p str>) {
        for item in items {
            let is_kept = match &item.kind {
                ItemKind::Type | ItemKind::Macro => true,
                ItemKind::Prototype(name) => named.contains(name.as_str()),
                _ => false,
            };
            match &item.kind {
                _ if is_kept => self.add_words(program, item.range, named),
                ItemKind::Block { items, .. } => self.add_named(program, items, named),
                _ => {}
            }
        }
    }

    fn add_words(&self, program: &'p Program, range: TextRange, named: &mut BTreeSet<&'p str>) {
        // How deep the parentheses are, and where an operand began that nothing evaluates.
        let (mut depth, mut operand) = (0usize, None);
        let mut before = "";
        for token in lex::significant_tokens(program.source(), range) {
            let word = token.text(program.source());
            match word {
                "(" => {
                    depth += 1;
                    if operand.is_none() && matches!(before, "decltype" | "sizeof" | "noexcept") {
                        operand = Some(depth);
                    }
                }
                ")" => {
                    operand = operand.filter(|operand| *operand != depth);
                    depth = depth.saturating_sub(1);
                }
                _ if self.declared.contains(word) => {
                    named.insert(word);
                }
                _ if operand.is_some() && self.defined.contains(word) => {
                    named.insert(word);
                }
                _ => {}
            }
            before = word;
        }
    }
}
