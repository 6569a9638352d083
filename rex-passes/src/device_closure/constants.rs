//! Constants and functions that types name.
//!
//! Types are kept, so what they name has to be: `int values[N];`, `int words[divide_up(N, 4)];`. Only constants whose value the compiler knows and `constexpr` functions can be meant.

use std::collections::BTreeSet;

use rex_ir::item::{Item, ItemKind};
use rex_ir::program::Program;
use rex_ir::region::Call;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::Category;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};

use super::reach::Search;
use super::variables;

/// Adds what the types of the unit name.
pub(super) fn add_of_types(search: &mut Search<'_>) {
    let program = search.program;
    add_of_items(search, &program.items, &constexpr_functions(program));
}

fn add_of_items(search: &mut Search<'_>, items: &[Item], constexpr_functions: &BTreeSet<&str>) {
    let program = search.program;
    for item in items {
        match &item.kind {
            ItemKind::Block { items, .. } => add_of_items(search, items, constexpr_functions),
            ItemKind::Type => {
                for at in lex::identifiers(program.source(), item.range) {
                    let name = program.text(at);
                    let found = program.scopes.resolve(&program.symbols, name, at);
                    let Some(symbol) = found else { continue };
                    if is_constant(program, symbol) {
                        search.reached.variables.insert(symbol);
                    } else if program.symbols[symbol].kind == SymbolKind::Function
                        && constexpr_functions.contains(name)
                    {
                        search.call(Call::of_function(name, at));
                    }
                }
                add_of_members(search, item.range);
            }
            _ => {}
        }
    }
}

/// Adds what the values name that classes give their members: no constructor has to be written for them.
fn add_of_members(search: &mut Search<'_>, class: TextRange) {
    let program = search.program;
    if program.language() != Language::Cxx {
        return;
    }
    let root = program.unit.tree.root();
    let members = root
        .smallest_at(class)
        .subtree()
        .filter(|node| node.kind() == Kind::FieldDeclaration && class.contains_range(node.range()));
    for value in members.flat_map(|member| member.fields(Field::DefaultValue)) {
        let value = value.range();
        // The class may be the host's alone: nothing is taken for it that no device has.
        let mut names = lex::identifiers(program.source(), value);
        if !names.any(|at| is_of_host_type(program, at)) {
            variables::read_value(search, value);
        }
    }
}

/// Whether a name is that of a variable whose class is none of the unit, or of a function that names one.
pub(super) fn is_of_host_type(program: &Program, at: TextRange) -> bool {
    let name = program.text(at);
    let Some(symbol) = program.scopes.resolve(&program.symbols, name, at) else {
        return false;
    };
    match program.symbols[symbol].kind {
        SymbolKind::Global => has_class_of_headers(program, symbol),
        SymbolKind::Function => program.functions_named(name).any(|(_, function)| {
            let mut globals = function.globals.iter();
            globals.any(|global| has_class_of_headers(program, *global))
        }),
        _ => false,
    }
}

fn has_class_of_headers(program: &Program, symbol: SymbolId) -> bool {
    let element = program.types.innermost_element(program.symbols[symbol].ty);
    match program.types.record(element) {
        Some(record) => program.types.records[record].body.is_none(),
        None => !matches!(
            program.types.category(element),
            Category::Scalar | Category::WideScalar | Category::Pointer
        ),
    }
}

fn is_constant(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    let is_known = || {
        found
            .initializer
            .is_some_and(|value| !program.text(value).contains('(') || program.is_constexpr(symbol))
    };
    found.kind == SymbolKind::Global
        && program.types.get(found.ty).is_const
        && program.types.category(found.ty) == Category::Scalar
        && is_known()
}

/// The names of the functions of the unit that are `constexpr`.
fn constexpr_functions(program: &Program) -> BTreeSet<&str> {
    let functions = program.functions.values();
    functions
        .filter(|function| program.is_constexpr_function(function))
        .map(|function| function.name.as_str())
        .collect()
}
