//! Variables that device code reaches through a pointer (`declare target link`, and everything with unified shared memory) or that a kernel constructs.
//!
//! The device file has the pointers, or storage without a type; every function that names such a variable begins with a reference of its name.

use rex_ir::item::{DeviceStorage, Function};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{TypeId, TypeKind, TypeTable};
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::SmolStr;

use super::kernel::{STEP, declare_pointer};
use super::{reductions, statics};

/// Makes a variable of several files one, the only way that CUDA knows, and keeps it for the runtime if no device code of the file uses it.
pub(super) const SHARED_BY_FILES: &str = "__attribute__((__used__)) inline ";

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
    let external = match external.is_empty() && program.is_shared_by_files(symbol) {
        true => SHARED_BY_FILES,
        false => external,
    };
    let types = &program.types;
    if storage.is_behind_pointer() {
        let pointer = pointer(program, symbol);
        let ty = rex_ir::kernel::ParameterType::PointerTo(types.object_type(found.ty));
        return Some(format!(
            "__device__ {external}{};",
            declare_pointer(types, ty, &pointer)
        ));
    }
    let name = namer::device_identifier(program, symbol);
    let declared = match storage {
        DeviceStorage::Constructed => format!("rex_storage<{}> {name}", types.spell(found.ty)),
        _ => types.declare(found.ty, &name),
    };
    let value = match (storage, found.initializer) {
        (DeviceStorage::Constructed, _) | (_, None) => String::new(),
        (_, Some(at)) => format!(" = {}", program.text(at)),
    };
    let line = format!("__device__ {external}{declared}{value};");
    Some(match name == found.name {
        true => line,
        false => format!("#define {} {name}\n{line}", found.name),
    })
}

/// References that give the variables among `globals` their names back.
pub(super) fn of_globals(program: &Program, globals: &[SymbolId]) -> Vec<String> {
    globals
        .iter()
        .copied()
        .filter(|symbol| has_reference(program, *symbol))
        .map(|symbol| {
            let found = &program.symbols[symbol];
            let object = match program.device_storage(symbol) {
                Some(DeviceStorage::Constructed) => format!(
                    "::{}.rex_object()",
                    qualified(program, symbol, &namer::device_identifier(program, symbol))
                ),
                _ => format!("*{}", qualified(program, symbol, &pointer(program, symbol))),
            };
            format!(
                "{} = {object};",
                reference_to(&program.types, found.ty, &found.name)
            )
        })
        .collect()
}

/// The statements that construct the variables of the file on a device, in the order of their declarations.
pub(super) fn constructions(program: &Program) -> Vec<String> {
    // What is declared first and defined later is constructed where it is defined.
    let variables: Vec<(SymbolId, DeviceStorage)> = program
        .device_code
        .variables
        .iter()
        .map(|(symbol, storage)| (*symbol, *storage))
        .filter(|(symbol, _)| {
            !program.is_external(*symbol) || program.definition(*symbol).is_none()
        })
        .collect();
    let constructed: Vec<SymbolId> = variables
        .iter()
        .filter(|(_, storage)| *storage == DeviceStorage::Constructed)
        .map(|(symbol, _)| *symbol)
        .collect();
    let named: Vec<SymbolId> = variables.iter().map(|(symbol, _)| *symbol).collect();
    let mut lines = of_globals(program, &named);
    for symbol in constructed {
        if program.static_members.contains_key(&symbol) {
            lines.push(statics::construction(program, symbol));
            continue;
        }
        let found = &program.symbols[symbol];
        let ty = program.types.spell(program.types.object_type(found.ty));
        let value = found.initializer.map_or(String::new(), |at| {
            let text = without_qualifiers(program, at);
            let before = &program.source()[..usize::from(at.start())];
            let is_list = text.starts_with('{') || !before.trim_end().ends_with('=');
            match is_list {
                true => text,
                false => format!("({text})"),
            }
        });
        let element = program.types.innermost_element(found.ty);
        let cast = match program.types.get(element).is_const {
            true => "(void *)",
            false => "",
        };
        lines.push(format!("new ({cast}&{}) {ty}{value};", found.name));
    }
    lines
}

/// Text of the program that names variables of the device by their names alone.
pub(super) fn without_qualifiers(program: &Program, range: TextRange) -> String {
    let is_on_device = |symbol| program.device_storage(symbol).is_some();
    let mut text = String::new();
    let mut end = range.start();
    for (at, word) in unqualified(program, &is_on_device, range) {
        text.push_str(program.text(TextRange::new(end, at.start())));
        text.push_str(&word);
        end = at.end();
    }
    text.push_str(program.text(TextRange::new(end, range.end())));
    text.trim().to_string()
}

/// Where a function's body begins, and the references and operations of reductions that it needs there.
pub(super) fn at_body(program: &Program, function: &Function) -> Option<(TextSize, String)> {
    let mut lines = of_globals(program, &function.globals);
    lines.extend(reductions::scoped_in(program, function.range));
    let at = function.first_statement;
    let text: String = lines.iter().map(|line| format!("\n{STEP}{line}")).collect();
    (!text.is_empty()).then_some((at, text))
}

/// Edits that take the qualifiers off the names of such variables, and that give static data members the words of the device file.
pub(super) fn unqualified(
    program: &Program,
    is_wanted: &dyn Fn(SymbolId) -> bool,
    range: TextRange,
) -> Vec<(TextRange, SmolStr)> {
    let source = program.source();
    let mut words = statics::words(program, is_wanted, range);
    // Where a chain of names and `::` begins.
    let mut chain: Option<TextRange> = None;
    let mut after_colons = false;
    for token in lex::tokens(source, range) {
        let text = token.text(source);
        if token.kind == lex::TokenKind::Identifier {
            let start = match chain.filter(|_| after_colons) {
                Some(chain) => chain.start(),
                None => token.range.start(),
            };
            let qualifier = TextRange::new(start, token.range.start());
            let qualified = program.text(qualifier).trim_start_matches("::");
            let may_mean = |symbol: SymbolId| {
                program.symbols[symbol].qualifier.ends_with(qualified)
                    && has_reference(program, symbol)
                    && is_wanted(symbol)
            };
            let mut named = program
                .symbol_index
                .globals_named(&program.symbols, qualified, text);
            if !qualifier.is_empty() && named.any(may_mean) {
                words.push((qualifier, SmolStr::default()));
            }
            chain = Some(TextRange::new(start, token.range.end()));
        } else if text == "::" {
            chain.get_or_insert(token.range);
        } else {
            chain = None;
        }
        after_colons = text == "::";
    }
    words.sort_by_key(|(at, _)| at.start());
    words
}

fn has_reference(program: &Program, symbol: SymbolId) -> bool {
    !program.static_members.contains_key(&symbol)
        && program
            .device_storage(symbol)
            .is_some_and(DeviceStorage::needs_reference)
}

fn qualified(program: &Program, symbol: SymbolId, name: &str) -> String {
    let unnamed = format!("{}::", namer::UNNAMED_NAMESPACE);
    let qualifier = program.symbols[symbol].qualifier.replace(&unnamed, "");
    format!("{qualifier}{name}")
}

pub(super) fn reference_to(types: &TypeTable, ty: TypeId, name: &str) -> String {
    match types.get(types.object_type(ty)).kind {
        TypeKind::Array { .. } => types.declare(ty, &format!("(&{name})")),
        _ => types.declare(ty, &format!("&{name}")),
    }
}
