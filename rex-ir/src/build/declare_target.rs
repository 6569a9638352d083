//! `declare target`: variables that live on the device, and functions that other files call there.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::{Directive, Leaf};
use smol_str::SmolStr;

use super::Builder;
use super::types::declared_name;
use crate::item::{DeviceStorage, Function, Item, ItemKind, prototypes};
use crate::program::redeclarations;
use crate::symbol::{SymbolId, SymbolKind};

/// A `begin declare target` that is not ended yet.
pub(super) struct Open {
    begin: TextRange,
    is_for_device: bool,
}

impl Builder<'_> {
    /// One directive of the family; `open` are the ranges that begin before it.
    pub(super) fn read_declare_target(&mut self, directive: &Directive, open: &mut Vec<Open>) {
        if directive.first() == Some(Leaf::EndDeclareTarget) {
            if let Some(Open {
                begin,
                is_for_device: true,
            }) = open.pop()
            {
                let range = TextRange::new(begin.end(), directive.range.start());
                self.declare_target_range(range);
            }
            return;
        }
        if let Some(clause) = directive.clause(ClauseName::Indirect) {
            self.check_indirect(clause);
        }
        let is_for_device = !self.is_for_host_only(directive);
        let has_list = directive.argument.is_some()
            || directive
                .clauses
                .iter()
                .any(|clause| !clause.items().is_empty() && clause.name != ClauseName::DeviceType);
        if !has_list {
            open.push(Open {
                begin: directive.range,
                is_for_device,
            });
        }
        if !is_for_device {
            return;
        }
        if let Some(argument) = directive.argument {
            for name in lex::identifiers(self.source, argument).collect::<Vec<_>>() {
                self.declare_target_name(name, DeviceStorage::Enter);
            }
        }
        for clause in &directive.clauses {
            let storage = match clause.name {
                ClauseName::Link => DeviceStorage::Link,
                ClauseName::To | ClauseName::Enter => DeviceStorage::Enter,
                _ => continue,
            };
            for item in clause.items() {
                let name = item.locator.root();
                self.declare_target_name(name, storage);
            }
        }
    }

    /// `device_type(host)`: nothing of it lives on a device.
    fn is_for_host_only(&self, directive: &Directive) -> bool {
        directive
            .clause(ClauseName::DeviceType)
            .and_then(|clause| clause.modifiers().first())
            .is_some_and(|modifier| self.text(modifier.word) == "host")
    }

    fn check_indirect(&mut self, clause: &Clause) {
        let is_off = clause
            .expression()
            .is_some_and(|value| matches!(self.text(value).trim(), "0" | "false"));
        if is_off {
            return;
        }
        let diagnostic = Diagnostic::new(
            Code::UnsupportedClause,
            self.at(clause.range),
            "`indirect` on this `declare target` is not supported",
        )
        .with_note("it names no function that is declared before it")
        .with_help("declare the functions first");
        self.diagnostics.push(diagnostic);
    }

    fn declare_target_name(&mut self, name: TextRange, storage: DeviceStorage) {
        let text = self.text(name);
        let symbol = self
            .resolve_qualified(text, name)
            .or_else(|| self.scopes.resolve(&self.symbols, text, name));
        if let Some(symbol) = symbol
            && self.symbols[symbol].kind == SymbolKind::StaticField
        {
            let diagnostic = self.static_member(name);
            self.diagnostics.push(diagnostic);
        } else if let Some(symbol) = symbol
            && self.symbols[symbol].kind.is_variable()
        {
            self.declare_target.insert(symbol, storage);
        } else {
            self.declare_target_function(text);
        }
    }

    /// The name in `int C::count = 0;`.
    fn definition_of_static_member(&self, symbol: SymbolId) -> Option<TextRange> {
        let at = self.symbols[symbol].declared_at?;
        let found = self.find_qualified(self.text(at), at)?;
        let is_constant = self.constant_fields.contains(&found)
            || self.types.get(self.symbols[symbol].ty).is_const;
        (self.symbols[found].kind == SymbolKind::StaticField && !is_constant).then_some(at)
    }

    /// The names in `template <typename T> T S<T>::value = 0;` inside a range.
    fn static_members_of_templates(&self, range: TextRange) -> Vec<TextRange> {
        let unit = self.unit;
        let templates = unit.tree.root().descendants().filter(|node| {
            node.kind() == Kind::TemplateDeclaration && range.contains_range(node.range())
        });
        templates
            .filter_map(|template| {
                let declaration = template
                    .children()
                    .find(|inner| inner.kind() == Kind::Declaration)
                    .filter(|inner| {
                        let mut words = inner.children();
                        !words.any(|word| matches!(word.text(), "const" | "constexpr"))
                    })?;
                let declarator = declaration.field(Field::Declarator)?;
                let is_function = declarator
                    .subtree()
                    .any(|inner| inner.kind() == Kind::FunctionDeclarator);
                let name = declared_name(declarator).filter(|_| !is_function)?;
                (name.kind() == Kind::QualifiedIdentifier).then(|| name.range())
            })
            .collect()
    }

    fn static_member(&self, at: TextRange) -> Diagnostic {
        let name = self.text(at);
        Diagnostic::new(
            Code::UnsupportedCapture,
            self.at(at),
            format!("the static member `{name}` in `declare target` is not supported"),
        )
        .with_help("map it in the regions that use it, or make it a variable of a namespace")
    }

    /// A function of this name is for the device: here, if the unit defines it, else in another file.
    fn declare_target_function(&mut self, name: &str) {
        self.add_device_functions(|function| function.name == name);
        let external = &mut self.external_device_functions;
        if !external.iter().any(|known| known == name) {
            external.push(name.into());
        }
    }

    fn add_device_functions(&mut self, choose: impl Fn(&Function) -> bool) {
        for (id, function) in self.functions.iter() {
            if !function.is_main && choose(function) && !self.device_functions.contains(&id) {
                self.device_functions.push(id);
            }
        }
    }

    /// When all directives are read: what one declaration says holds for all of them, and only functions that
    /// the unit does not define are another file's.
    pub(super) fn complete_declare_target(&mut self) {
        for (symbol, storage) in self.declare_target.clone() {
            for same in redeclarations(&self.symbols, symbol) {
                self.declare_target.entry(same).or_insert(storage);
            }
        }
        let functions = &self.functions;
        let is_defined = |name: &SmolStr| functions.values().any(|function| function.name == *name);
        self.external_device_functions
            .retain(|name| !is_defined(name));
    }

    /// Everything that is declared between `begin declare target` and its end.
    fn declare_target_range(&mut self, range: TextRange) {
        let mut found = Vec::new();
        variables(&self.items, range, &mut found);
        for symbol in found {
            if let Some(at) = self.definition_of_static_member(symbol) {
                let diagnostic = self.static_member(at);
                self.diagnostics.push(diagnostic);
                continue;
            }
            // A `link` inside the range says more.
            self.declare_target
                .entry(symbol)
                .or_insert(DeviceStorage::Enter);
        }
        for at in self.static_members_of_templates(range) {
            let mut diagnostic = self.static_member(at);
            // The rest of the program may only read it.
            diagnostic.severity = Severity::Warning;
            let note = "regions have copies of its value: what they write to it is lost, and updates do nothing";
            self.diagnostics.push(diagnostic.with_note(note));
        }
        self.add_device_functions(|function| range.contains_range(function.range));
        let declared: Vec<SmolStr> = prototypes(&self.items)
            .filter(|(place, _)| range.contains_range(*place))
            .map(|(_, name)| name.clone())
            .collect();
        for name in declared {
            self.declare_target_function(&name);
        }
    }
}

fn variables(items: &[Item], range: TextRange, found: &mut Vec<SymbolId>) {
    for item in items {
        match &item.kind {
            ItemKind::Variables(symbols) if range.contains_range(item.range) => {
                found.extend(symbols);
            }
            ItemKind::Block { items, .. } => variables(items, range, found),
            _ => {}
        }
    }
}
