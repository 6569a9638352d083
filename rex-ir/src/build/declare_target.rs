//! `declare target`: variables that live on the device, and functions that other files call there.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::lex;
use rex_syntax::omp::clause::{Clause, ClauseName, Locator};
use rex_syntax::omp::directive::{Directive, Leaf};
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Builder;
use crate::item::{DeviceStorage, FunctionId, Item, ItemKind, prototypes};
use crate::library;
use crate::symbol::{SymbolId, SymbolKind};
use crate::symbol_index::SymbolIndex;

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
            for name in self.names_of_list(argument) {
                self.declare_target_name(name, DeviceStorage::Enter);
            }
        }
        for clause in &directive.clauses {
            let storage = match clause.name {
                ClauseName::Link => DeviceStorage::Link,
                ClauseName::To | ClauseName::Enter => DeviceStorage::Enter,
                ClauseName::Local => DeviceStorage::Local,
                _ => continue,
            };
            for item in clause.items() {
                let name = item.locator.root();
                if matches!(&item.locator, Locator::Path(path) if !path.steps.is_empty()) {
                    let headline = "`declare target` takes whole variables: this is a part of one";
                    let help = format!("name `{}`", self.text(name));
                    self.report(Code::MapListItem, item.range, headline, help);
                    continue;
                }
                self.declare_target_name(name, storage);
            }
        }
    }

    /// Reports the ranges that nothing ends: nothing in them is declared.
    pub(super) fn report_open(&mut self, open: &[Open]) {
        for Open { begin, .. } in open {
            let headline = "nothing ends this `declare target`";
            let help = "write `#pragma omp end declare target` behind what it declares";
            self.report(Code::MissingStatement, *begin, headline, help);
        }
    }

    /// `groupprivate(a, b)`
    pub(super) fn read_groupprivate(&mut self, directive: &Directive) {
        let Some(list) = directive.argument else {
            return;
        };
        if self.is_for_host_only(directive) {
            return;
        }
        for name in self.names_of_list(list) {
            let symbol = self.scopes.resolve(&self.symbols, self.text(name), name);
            if symbol.is_some_and(|symbol| self.symbols[symbol].kind == SymbolKind::Global) {
                self.declare_target_name(name, DeviceStorage::Group);
            }
        }
    }

    /// The names of `declare target(a, b::c)`, with their scopes.
    fn names_of_list(&self, list: TextRange) -> Vec<TextRange> {
        let mut names: Vec<TextRange> = Vec::new();
        let mut is_open = false;
        for token in lex::significant_tokens(self.source, list) {
            let is_part =
                token.kind == lex::TokenKind::Identifier || token.text(self.source) == "::";
            match names.last_mut().filter(|_| is_open) {
                Some(name) if is_part => *name = name.cover(token.range),
                _ if is_part => names.push(token.range),
                _ => {}
            }
            is_open = is_part;
        }
        names
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
            .find_qualified(text, name)
            .or_else(|| self.scopes.resolve(&self.symbols, text, name));
        if let Some(symbol) = symbol
            && self.symbols[symbol].kind.is_variable()
        {
            if self.symbols[symbol].kind == SymbolKind::StaticLocal {
                return self.check_static_local(symbol, name);
            }
            self.check_static_member(symbol, storage, name);
            if let Some(diagnostic) = self.cannot_live_there(symbol, storage, name) {
                self.diagnostics.push(diagnostic);
                return;
            }
            self.declare_target.insert(symbol, storage);
        } else {
            if storage == DeviceStorage::Link {
                let headline = format!("`link` takes variables: `{text}` is none");
                let help = "write `enter` in place of `link`";
                self.report(Code::MapListItem, name, headline, help);
            }
            self.declare_target_function(text);
        }
    }

    /// Why a variable cannot live on the device as a directive says: it is one of a function's call, or lives there in another way.
    fn cannot_live_there(
        &self,
        symbol: SymbolId,
        storage: DeviceStorage,
        at: TextRange,
    ) -> Option<Diagnostic> {
        let found = &self.symbols[symbol];
        let name = &found.name;
        if found.kind.is_automatic() {
            let headline =
                format!("`{name}` is a variable of a call, which `declare target` cannot name");
            return Some(
                Diagnostic::new(Code::MapListItem, self.at(at), headline)
                    .with_help("map it, or declare it outside of the function"),
            );
        }
        let links = |storage: DeviceStorage| storage == DeviceStorage::Link;
        // What is wrong with static members has been said.
        let is_listed = matches!(storage, DeviceStorage::Link | DeviceStorage::Enter)
            && found.kind != SymbolKind::StaticField;
        let known = self.declare_target.get(&symbol).copied()?;
        (is_listed && links(known) != links(storage)).then(|| {
            let headline = format!("`{name}` cannot be in `link` and in another list");
            Diagnostic::new(Code::MapListItem, self.at(at), headline).with_help(
                "name it in `enter` to have it on the device always, or in `link` to map it where it is used",
            )
        })
    }

    /// The device's form of a function has its own static variables; regions of a function would have to share one with it.
    fn check_static_local(&mut self, symbol: SymbolId, at: TextRange) {
        let Some(function) = self.innermost_function(at) else {
            return;
        };
        let body = self.functions[function].body;
        let mut directives = self.unit.directives.iter();
        let has_region = directives.any(|directive| {
            body.contains_range(directive.range) && directive.first().is_some_and(Leaf::is_device)
        });
        if !has_region {
            return;
        }
        let name = &self.symbols[symbol].name;
        let diagnostic = Diagnostic::new(
            Code::UnsupportedCapture,
            self.at(at),
            format!("the static variable `{name}` of a function with device constructs in `declare target` is not supported"),
        )
        .with_help("declare it outside of the function");
        self.diagnostics.push(diagnostic);
    }

    /// A pointer to each instantiation would have to be known to the runtime, and the class of a header cannot be given the functions that device code needs.
    fn check_static_member(&mut self, symbol: SymbolId, storage: DeviceStorage, at: TextRange) {
        if self.symbols[symbol].kind != SymbolKind::StaticField {
            return;
        }
        let member = self.static_members.get(&symbol);
        let (note, help) = match member {
            Some(member) if member.is_of_template && storage == DeviceStorage::Link => (
                "nothing lists the instantiations, each of which would need a pointer",
                "write `enter` in place of `link`",
            ),
            Some(member) if member.in_class.is_some() => return,
            _ => (
                "its class stands in a header that has no directives of its own",
                "put `begin declare target` and `end declare target` around the class",
            ),
        };
        let diagnostic = Diagnostic::new(
            Code::UnsupportedCapture,
            self.at(at),
            format!(
                "the static member `{}` in `declare target` is not supported",
                self.text(at)
            ),
        );
        self.diagnostics
            .push(diagnostic.with_note(note).with_help(help));
    }

    /// A function of this name is for the device: here, if the unit defines it, else in another file.
    fn declare_target_function(&mut self, name: &str) {
        self.add_device_functions(self.function_index.named(name).to_vec());
        self.external_device_functions.insert(name.into());
    }

    fn add_device_functions(&mut self, ids: Vec<FunctionId>) {
        let functions = &self.functions;
        let added = ids.into_iter().filter(|id| !functions[*id].is_main);
        self.device_functions.extend(added);
    }

    /// What the initializer of a device variable names is for the device, too.
    fn add_named_in_initializers(&mut self) {
        let mut open: Vec<SymbolId> = self.declare_target.keys().copied().collect();
        while let Some(symbol) = open.pop() {
            let Some(initializer) = self.symbols[symbol].initializer else {
                continue;
            };
            let named: Vec<SymbolId> = lex::identifiers(self.source, initializer)
                .filter_map(|at| self.scopes.resolve(&self.symbols, self.text(at), at))
                .filter(|named| self.symbols[*named].kind == SymbolKind::Global)
                .collect();
            for named in named {
                if !self.declare_target.contains_key(&named) {
                    self.declare_target.insert(named, DeviceStorage::Enter);
                    open.push(named);
                }
            }
        }
    }

    /// When all directives are read: what one declaration says holds for all of them, and only functions that
    /// the unit does not define are another file's.
    pub(super) fn complete_declare_target(&mut self) {
        self.add_named_in_initializers();
        let index = SymbolIndex::of(&self.symbols);
        for (symbol, storage) in self.declare_target.clone() {
            for same in index.redeclarations(&self.symbols, symbol) {
                self.declare_target.entry(same).or_insert(storage);
            }
        }
        let functions = &self.function_index;
        let is_of_library =
            |name: &str| self.unit.language == Language::C && library::is_of_library(name);
        self.external_device_functions
            .retain(|name| functions.named(name).is_empty() && !is_of_library(name));
    }

    /// Everything that is declared between `begin declare target` and its end.
    fn declare_target_range(&mut self, range: TextRange) {
        let mut found = Vec::new();
        variables(&self.items, range, &mut found);
        for symbol in found {
            // A `link` inside the range says more.
            self.declare_target
                .entry(symbol)
                .or_insert(DeviceStorage::Enter);
        }
        let is_inside = |place: Option<TextRange>| place.is_some_and(|it| range.contains_range(it));
        let members: Vec<SymbolId> = self
            .static_members
            .iter()
            .filter(|(_, member)| is_inside(member.in_class) || is_inside(member.definition))
            .map(|(symbol, _)| *symbol)
            .filter(|symbol| self.is_static_object(*symbol))
            .collect();
        for symbol in members {
            self.declare_target
                .entry(symbol)
                .or_insert(DeviceStorage::Enter);
        }
        self.add_device_functions(self.function_index.inside(range).collect());
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
