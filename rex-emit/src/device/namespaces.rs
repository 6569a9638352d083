//! Namespaces of the device file: which of them it declares, and what using declarations bring into them.

use std::collections::BTreeSet;

use rex_ir::program::Program;
use rex_ir::symbol::{Symbol, SymbolKind};
use rex_syntax::{TextRange, TextSize, lex};

use super::Device;

/// The last names of the namespaces that `using namespace a::b;` and `namespace c = a::b;` name.
pub(super) fn named(program: &Program) -> BTreeSet<&str> {
    let source = program.source();
    let whole = TextRange::up_to(TextSize::of(source));
    let mut words = lex::significant_tokens(source, whole)
        .map(|token| token.text(source))
        .peekable();
    let mut named = BTreeSet::new();
    let mut before = "";
    while let Some(word) = words.next() {
        let is_named = word == "namespace" && before == "using"
            || before == "namespace" && words.peek() == Some(&"=");
        before = word;
        if is_named {
            let path = words.by_ref().take_while(|word| *word != ";");
            named.extend(path.filter(|word| !matches!(*word, "=" | "::")));
        }
    }
    named
}

impl Device<'_> {
    /// Whether the namespace that begins there is one of them.
    pub(super) fn is_named_namespace(&self, open: TextRange) -> bool {
        let Some(name) = self.program.text(open).strip_prefix("namespace") else {
            return false;
        };
        let name = name.trim_matches(|c: char| c.is_whitespace() || c == '{');
        let name = name.rsplit("::").next().unwrap_or(name).trim();
        self.named_namespaces.contains(name)
    }

    /// Whether a using declaration brings a name of the unit into a namespace that the device file does not declare.
    pub(super) fn is_using_of_host(&self, range: TextRange) -> bool {
        let text = self.program.text(range);
        let Some(path) = text.strip_prefix("using").map(str::trim_start) else {
            return false;
        };
        if path.contains('=') || !path.contains("::") || path.starts_with("typename") {
            return false;
        }
        let path = path.trim_end_matches([';', ' ', '\n']);
        let name = path.rsplit("::").next().unwrap_or(path).trim();
        let is_named = |symbol: &&Symbol| symbol.name == name && symbol.declared_at.is_some();
        let mut found = self.program.symbols.values().filter(is_named).peekable();
        let is_of_host = |symbol: &Symbol| match symbol.kind {
            SymbolKind::Function => !self.declares_function(name),
            SymbolKind::Global => !self.declares_variable(name),
            _ => false,
        };
        let is_of_library = path.starts_with("std::");
        !is_of_library && found.peek().is_some() && found.all(is_of_host)
    }

    fn declares_function(&self, name: &str) -> bool {
        let program = self.program;
        program.instances.names.contains(name)
            || self.is_external(name)
            || program.has_device_function(name)
    }

    fn declares_variable(&self, name: &str) -> bool {
        let mut variables = self.program.symbols.iter();
        self.program.instances.names.contains(name)
            || variables.any(|(id, symbol)| symbol.name == name && self.storage(id).is_some())
    }
}
