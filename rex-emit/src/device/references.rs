//! Variables that device code reaches through a pointer: `declare target link`, and everything with unified shared memory.
//!
//! The device file has the pointers; every function that names such a variable begins with a reference of its name.

use rex_ir::item::DeviceStorage;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{TypeId, TypeKind, TypeTable};
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use super::kernel::declare_pointer;

/// The pointer's name in the device file.
pub(super) fn pointer(program: &Program, symbol: SymbolId) -> SmolStr {
    namer::reference_pointer(&namer::device_identifier(program, symbol))
}

/// The declaration of one variable of a declaration in which some are behind pointers.
pub(super) fn declaration(program: &Program, symbol: SymbolId) -> Option<String> {
    let storage = program.device_storage(symbol)?;
    let found = &program.symbols[symbol];
    let external = match program.is_external(symbol) {
        true => "extern ",
        false => "",
    };
    let types = &program.types;
    if storage.is_behind_pointer() {
        let pointer = pointer(program, symbol);
        let ty = rex_ir::kernel::ParameterType::PointerTo(types.object_type(found.ty));
        return Some(format!(
            "{external}__device__ {};",
            declare_pointer(types, ty, &pointer)
        ));
    }
    let name = namer::device_identifier(program, symbol);
    let declared = types.declare(found.ty, &name);
    let value = found
        .initializer
        .map_or(String::new(), |at| format!(" = {}", program.text(at)));
    let line = format!("{external}__device__ {declared}{value};");
    Some(match name == found.name {
        true => line,
        false => format!("#define {} {name}\n{line}", found.name),
    })
}

/// References that give the variables among `globals` their names back.
pub(super) fn of_globals(program: &Program, globals: &[SymbolId]) -> Vec<String> {
    behind_pointers(program, globals)
        .map(|symbol| {
            let found = &program.symbols[symbol];
            format!(
                "{} = *{};",
                reference_to(&program.types, found.ty, &found.name),
                qualified_pointer(program, symbol)
            )
        })
        .collect()
}

/// Edits that take the qualifiers off the names of such variables.
pub(super) fn unqualified(
    program: &Program,
    globals: &[SymbolId],
    range: TextRange,
) -> Vec<(TextRange, SmolStr)> {
    let source = program.source();
    let mut words = Vec::new();
    for symbol in behind_pointers(program, globals) {
        let found = &program.symbols[symbol];
        // Where a chain of names and `::` begins.
        let mut chain: Option<TextRange> = None;
        let mut after_name = false;
        for token in lex::tokens(source, range) {
            let is_name = token.kind == lex::TokenKind::Identifier;
            if is_name && !after_name {
                let start = chain.get_or_insert(token.range).start();
                let qualifier = TextRange::new(start, token.range.start());
                let qualified = program.text(qualifier).trim_start_matches("::");
                let is_named = token.text(source) == found.name && !qualifier.is_empty();
                if is_named && found.qualifier.ends_with(qualified) {
                    words.push((qualifier, SmolStr::default()));
                }
            } else if token.text(source) == "::" {
                chain.get_or_insert(token.range);
            } else {
                chain = None;
            }
            after_name = is_name;
        }
    }
    words
}

fn behind_pointers(program: &Program, globals: &[SymbolId]) -> impl Iterator<Item = SymbolId> {
    globals.iter().copied().filter(|symbol| {
        program
            .device_storage(*symbol)
            .is_some_and(DeviceStorage::is_behind_pointer)
    })
}

fn qualified_pointer(program: &Program, symbol: SymbolId) -> String {
    let found = &program.symbols[symbol];
    let unnamed = format!("{}::", namer::UNNAMED_NAMESPACE);
    format!(
        "{}{}",
        found.qualifier.replace(&unnamed, ""),
        pointer(program, symbol)
    )
}

fn reference_to(types: &TypeTable, ty: TypeId, name: &str) -> String {
    match types.get(types.object_type(ty)).kind {
        TypeKind::Array { .. } => types.declare(ty, &format!("(&{name})")),
        _ => types.declare(ty, &format!("&{name}")),
    }
}
