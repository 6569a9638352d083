//! Variables of the device: what their initializers name, and how they live there.

use indexmap::IndexSet;
use rex_ir::abi::Requirements;
use rex_ir::item::DeviceStorage;
use rex_ir::program::Program;
use rex_ir::region::Call;
use rex_ir::static_member::uses_in;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::Record;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};

use super::reach::Search;

/// An initializer may name other variables, and call functions.
pub(super) fn read_initializer(search: &mut Search<'_>, symbol: SymbolId) {
    if let Some(initializer) = search.program.symbols[symbol].initializer {
        read_value(search, initializer);
    }
}

/// Takes what an initializer names.
pub(super) fn read_value(search: &mut Search<'_>, initializer: TextRange) {
    let program = search.program;
    let uses = uses_in(&program.static_member_uses, initializer);
    let variables = &mut search.reached.variables;
    variables.extend(uses.map(|(_, member)| member));
    for at in names_in(program.source(), initializer) {
        let name = program.text(at);
        let Some(inner) = program.scopes.resolve(&program.symbols, name, at) else {
            continue;
        };
        match program.symbols[inner].kind {
            SymbolKind::Global => {
                search.reached.variables.insert(inner);
            }
            SymbolKind::Function => search.call(Call::of_function(name, at)),
            _ => {}
        }
    }
}

/// All declarations of variables and one definition of each, where C allows several.
pub(super) fn declarations(
    program: &Program,
    variables: &IndexSet<SymbolId>,
) -> IndexSet<SymbolId> {
    let mut all = IndexSet::new();
    for symbol in variables {
        let same = program.redeclarations(*symbol);
        let defines = |id: &&SymbolId| !program.is_external(**id);
        let has_initializer = |id: &&SymbolId| program.symbols[**id].initializer.is_some();
        let definition = same
            .iter()
            .find(has_initializer)
            .or_else(|| same.iter().find(defines))
            .copied();
        let is_kept = |id: &SymbolId| definition == Some(*id) || program.is_external(*id);
        all.extend(same.into_iter().filter(is_kept));
    }
    all
}

/// How a variable lives on the device.
pub(super) fn storage(program: &Program, symbol: SymbolId) -> DeviceStorage {
    let found = &program.symbols[symbol];
    let member = program.static_members.get(&symbol);
    if member.is_some_and(|member| member.is_constant) {
        return DeviceStorage::Constant;
    }
    let element = program.types.innermost_element(found.ty);
    let is_initialized = |id: &SymbolId| program.symbols[*id].initializer.is_some();
    // A constant is compiled into the image, unless running code computes it.
    if program.types.get(element).is_const
        && program.redeclarations(symbol).iter().any(is_initialized)
        && !is_constructed(program, symbol, 0)
    {
        return DeviceStorage::Constant;
    }
    match program.declare_target.get(&symbol) {
        Some(DeviceStorage::Link) => DeviceStorage::Link,
        Some(DeviceStorage::Group) => DeviceStorage::Group,
        Some(DeviceStorage::Local) if !is_constructed(program, symbol, 0) => DeviceStorage::Local,
        Some(DeviceStorage::Local) => DeviceStorage::Constructed,
        // The image has no memory of its own for what the host can change.
        _ if program
            .requirements
            .contains(Requirements::UNIFIED_SHARED_MEMORY) =>
        {
            DeviceStorage::Shared
        }
        Some(DeviceStorage::Enter) | None if is_constructed(program, symbol, 0) => {
            DeviceStorage::Constructed
        }
        Some(storage) => *storage,
        None => DeviceStorage::Enter,
    }
}

/// The names of an initializer that are not members; of a qualified one, every component.
fn names_in(source: &str, range: TextRange) -> impl Iterator<Item = TextRange> {
    let mut is_member = false;
    lex::significant_tokens(source, range).filter_map(move |token| {
        let is_name = token.kind == lex::TokenKind::Identifier && !is_member;
        is_member = matches!(token.text(source), "." | "->");
        is_name.then_some(token.range)
    })
}

/// Whether a variable begins with what only running code can compute: a constructor, or an initializer that calls functions or names such a variable.
fn is_constructed(program: &Program, symbol: SymbolId, depth: u32) -> bool {
    const MAX_DEPTH: u32 = 16;
    if program.language() != Language::Cxx || depth > MAX_DEPTH {
        return false;
    }
    if program.is_external(symbol) {
        // It may be defined further below.
        let defined = program.definition(symbol);
        return defined.is_some_and(|defined| is_constructed(program, defined, depth + 1));
    }
    let found = &program.symbols[symbol];
    // No kernel knows all instantiations.
    let member = program.static_members.get(&symbol);
    if member.is_some_and(|member| member.is_of_template) {
        return false;
    }
    let element = program.types.innermost_element(found.ty);
    if program.is_constexpr(symbol) {
        return false;
    }
    // The compiler computes constants as far as it may.
    let is_const = program.types.get(element).is_const;
    let record = program.types.record(element);
    if record.is_some_and(|record| {
        let record = &program.types.records[record];
        record.method(&record.name).is_some()
            && !(is_const && has_constexpr_constructor(program, record))
    }) {
        return true;
    }
    let Some(initializer) = found.initializer else {
        return false;
    };
    let source = program.source();
    names_in(source, initializer).any(|at| {
        let name = program.text(at);
        let rest = &source[usize::from(at.end())..usize::from(initializer.end())];
        let resolved = program.scopes.resolve(&program.symbols, name, at);
        match resolved.map(|inner| program.symbols[inner].kind) {
            Some(SymbolKind::Global) => {
                let inner = resolved.filter(|inner| *inner != symbol);
                inner.is_some_and(|inner| is_constructed(program, inner, depth + 1))
            }
            Some(SymbolKind::Function) => {
                rest.trim_start().starts_with('(') && !(is_const && is_constexpr(program, name))
            }
            _ => false,
        }
    })
}

/// Whether a class has a constructor that is `constexpr`.
fn has_constexpr_constructor(program: &Program, record: &Record) -> bool {
    let Some(body) = record.body else {
        return false;
    };
    let mut follows = false;
    lex::identifiers(program.source(), body).any(|at| {
        let word = program.text(at);
        let found = follows && word == record.name;
        follows = word == "constexpr" || (follows && matches!(word, "explicit" | "inline"));
        found
    })
}

/// Whether a function of this name is `constexpr`.
fn is_constexpr(program: &Program, name: &str) -> bool {
    let mut named = program.function_index.named(name).iter();
    named.any(|id| program.is_constexpr_function(&program.functions[*id]))
}
