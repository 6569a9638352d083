//! Variables that device code reaches through a pointer (`declare target link`, and everything with unified shared memory) or that a kernel constructs.
//!
//! The device file has the pointers, or storage without a type; every function that names such a variable begins with a reference of its name.

use rex_ir::item::{DeviceStorage, Function};
use rex_ir::namer;
use rex_ir::names::{self, Name};
use rex_ir::program::Program;
use rex_ir::symbol::{Symbol, SymbolId};
use rex_ir::ty::{TypeId, TypeKind, TypeTable};
use rex_syntax::{TextRange, TextSize};
use smol_str::SmolStr;

use super::kernel::{STEP, declare_pointer};
use super::{reductions, statics};
use crate::common::classes;

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
    // A definition may stand outside of its namespace.
    let written = found.declared_at.map_or("", |at| program.text(at));
    let around = written.strip_suffix(&*found.name).unwrap_or_default();
    let types = &program.types;
    if storage.is_behind_pointer() {
        let pointer = format!("{around}{}", pointer(program, symbol));
        let ty = rex_ir::kernel::ParameterType::PointerTo(types.object_type(found.ty));
        return Some(format!(
            "__device__ {external}{};",
            declare_pointer(types, ty, &pointer)
        ));
    }
    let name = namer::device_identifier(program, symbol);
    let declared = match storage {
        DeviceStorage::Constructed => {
            let spelled = match (types.spell(found.ty).as_str(), found.initializer) {
                ("auto", Some(at)) => format!("__typeof__({})", program.text(at)),
                (spelled, _) => spelled.to_owned(),
            };
            format!("rex_storage<{spelled}> {around}{name}")
        }
        _ => types.declare(found.ty, &format!("{around}{name}")),
    };
    let value = match (storage, found.initializer) {
        (DeviceStorage::Constructed, _) | (_, None) => String::new(),
        (_, Some(at)) => format!(" = {}", program.text(at)),
    };
    let layout = found
        .declaration
        .map_or(String::new(), |at| program.layout_in_front(at));
    Some(format!("{layout}__device__ {external}{declared}{value};"))
}

/// References that give the variables among `globals` their names back.
pub(super) fn of_globals(program: &Program, globals: &[SymbolId]) -> Vec<String> {
    globals
        .iter()
        .copied()
        .filter(|symbol| has_reference(program, *symbol))
        .map(|symbol| {
            let found = &program.symbols[symbol];
            format!(
                "{} = {};",
                reference_to(&program.types, found.ty, &found.name),
                object(program, symbol)
            )
        })
        .collect()
}

/// What a variable is behind its pointer, or in its storage.
fn object(program: &Program, symbol: SymbolId) -> String {
    match program.device_storage(symbol) {
        Some(DeviceStorage::Constructed) => format!(
            "::{}.rex_object()",
            qualified(program, symbol, &namer::device_identifier(program, symbol))
        ),
        _ => format!("*{}", qualified(program, symbol, &pointer(program, symbol))),
    }
}

/// The statements that begin the code of the file on a device: calls, and what constructs its variables in the order of their definitions.
pub(super) fn beginnings(program: &Program) -> Vec<String> {
    let starters = program.device_code.starters.iter();
    let calls = starters.map(|id| {
        let function = &program.functions[*id];
        let path: String = function
            .namespaces
            .iter()
            .map(|namespace| format!("{namespace}::"))
            .collect();
        format!("{path}{}();", function.name)
    });
    let variables = program.begun_in_kernel();
    calls
        .chain(variables.map(|(symbol, storage)| match storage {
            DeviceStorage::Bound => binding(program, symbol),
            _ => construction(program, symbol),
        }))
        .collect()
}

/// The statement that constructs a variable.
fn construction(program: &Program, symbol: SymbolId) -> String {
    if program.static_members.contains_key(&symbol) {
        return statics::construction(program, symbol);
    }
    let found = &program.symbols[symbol];
    let ty = program.types.spell(program.types.object_type(found.ty));
    let value = found.initializer.map_or(String::new(), |at| {
        let text = with_objects(program, at);
        match text.starts_with('{') || !is_behind_equals(program, at) {
            true => text,
            false => format!("({text})"),
        }
    });
    let element = program.types.innermost_element(found.ty);
    let cast = match program.types.get(element).is_const {
        true => "(void *)",
        false => "",
    };
    let place = format!("{cast}&{}", object(program, symbol));
    classes::new_object(&place, &ty, &value)
}

/// The statement that binds a reference to an object of the device, or to a new one for what ends with its statement elsewhere.
fn binding(program: &Program, symbol: SymbolId) -> String {
    let found = &program.symbols[symbol];
    let types = &program.types;
    let ty = types.spell(types.object_type(found.ty));
    let pointer = match program.static_members.contains_key(&symbol) {
        true => statics::entry_object(program, symbol),
        false => format!(
            "::{}",
            qualified(program, symbol, &pointer(program, symbol))
        ),
    };
    let value = found
        .initializer
        .map_or(String::new(), |at| with_objects(program, at));
    let list = value
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let value = match list {
        Some(list) if is_one_value(list) => list.trim().to_owned(),
        Some(_) => format!("rex_object<{ty}>{value}"),
        None => value,
    };
    format!(
        "{pointer} = rex_bind<{ty}, decltype(({value}))>({});",
        value_of(&value)
    )
}

/// A function that gives what an expression does, an object or a value.
pub(super) fn value_of(expression: &str) -> String {
    format!("[&]() -> decltype(({expression})) {{ return {expression}; }}")
}

/// Whether the inside of a braced list is one expression.
fn is_one_value(list: &str) -> bool {
    let mut depth = 0i32;
    let has_commas = list.chars().any(|c| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == ',' && depth == 0
    });
    !list.trim().is_empty() && !list.trim_start().starts_with('{') && !has_commas
}

/// Whether an initializer stands behind `=`.
pub(super) fn is_behind_equals(program: &Program, initializer: TextRange) -> bool {
    let before = &program.source()[..usize::from(initializer.start())];
    before.trim_end().ends_with('=')
}

/// Text of the program with what stands for the variables in it.
pub(super) fn with_objects(program: &Program, range: TextRange) -> String {
    let mut words = statics::all_words(program, range);
    words.extend(objects(program, range));
    words.sort_by_key(|(at, _)| at.start());
    let mut text = String::new();
    let mut end = range.start();
    for (at, word) in words {
        text.push_str(program.text(TextRange::new(end, at.start())));
        text.push_str(&word);
        end = at.end();
    }
    text.push_str(program.text(TextRange::new(end, range.end())));
    text.trim().to_string()
}

/// Where a function's body begins, and the references and operations of reductions that it needs there.
pub(super) fn at_body(program: &Program, function: &Function) -> Option<(TextSize, String)> {
    let mut globals = function.globals.clone();
    globals.retain(|symbol| !is_ambiguous(program, function, *symbol));
    let mut lines = of_globals(program, &globals);
    lines.extend(reductions::scoped_in(program, function.range));
    let at = function.first_statement;
    let text: String = lines.iter().map(|line| format!("\n{STEP}{line}")).collect();
    (!text.is_empty()).then_some((at, text))
}

/// Whether a reference with the name of a variable would meet another thing of that name in the function.
fn is_ambiguous(program: &Program, function: &Function, symbol: SymbolId) -> bool {
    let name = program.name(symbol);
    let is_other = |other: &SymbolId| {
        *other != symbol
            && program.name(*other) == name
            && !program.static_members.contains_key(other)
    };
    let mut globals = function.globals.iter();
    let is_local = |local: &Symbol| {
        let declared = local.declared_at;
        local.name == *name && declared.is_some_and(|at| function.range.contains_range(at))
    };
    has_reference(program, symbol)
        && (globals.any(is_other) || program.symbols.values().any(is_local))
}

/// The words of a part of a function for its variables: with the references that [`at_body`] declares, or in front of them.
pub(super) fn in_function(
    program: &Program,
    function: &Function,
    range: TextRange,
) -> Vec<(TextRange, SmolStr)> {
    let globals = &function.globals;
    let ambiguous: Vec<SymbolId> = globals
        .iter()
        .copied()
        .filter(|symbol| is_ambiguous(program, function, *symbol))
        .collect();
    let mut words = statics::words(program, &|it| globals.contains(&it), range);
    words.extend(variables_in(program, range).filter_map(|(name, symbol)| {
        let is_in_front = name.plain.start() < function.body.start();
        if is_in_front || is_among(program, &ambiguous, symbol) {
            return Some((name.whole(), object(program, symbol).into()));
        }
        let has_reference = is_among(program, globals, symbol);
        (has_reference && !name.qualifier.is_empty()).then_some((name.qualifier, "".into()))
    }));
    words.sort_by_key(|(at, _)| at.start());
    words
}

/// What stands for the variables in a range where no references are.
pub(super) fn objects(
    program: &Program,
    range: TextRange,
) -> impl Iterator<Item = (TextRange, SmolStr)> {
    variables_in(program, range)
        .map(|(name, symbol)| (name.whole(), object(program, symbol).into()))
}

/// The same for the variables that a kernel constructs.
pub(super) fn constructed(
    program: &Program,
    range: TextRange,
) -> impl Iterator<Item = (TextRange, SmolStr)> {
    variables_in(program, range)
        .filter(|(_, symbol)| program.device_storage(*symbol) == Some(DeviceStorage::Constructed))
        .map(|(name, symbol)| (name.whole(), object(program, symbol).into()))
}

/// Whether a variable is one of these, perhaps in another declaration.
fn is_among(program: &Program, variables: &[SymbolId], symbol: SymbolId) -> bool {
    let mut same = program.redeclarations(symbol).into_iter();
    variables.contains(&symbol) || same.any(|it| variables.contains(&it))
}

/// Edits that take the qualifiers off the names of variables with references, and that give static data members the words of the device file.
pub(super) fn unqualified(
    program: &Program,
    globals: &[SymbolId],
    range: TextRange,
) -> Vec<(TextRange, SmolStr)> {
    let mut words = statics::words(program, &|it| globals.contains(&it), range);
    let qualified = variables_in(program, range)
        .filter(|(name, symbol)| !name.qualifier.is_empty() && is_among(program, globals, *symbol));
    words.extend(qualified.map(|(name, _)| (name.qualifier, SmolStr::default())));
    words.sort_by_key(|(at, _)| at.start());
    words
}

/// The names of variables in a range that need references.
fn variables_in(program: &Program, range: TextRange) -> impl Iterator<Item = (Name, SymbolId)> {
    let variables = &program.device_code.variables;
    let are_any = variables
        .iter()
        .any(|(symbol, _)| has_reference(program, *symbol));
    let names = match are_any {
        true => names::in_text(program.source(), range),
        false => Vec::new(),
    };
    names.into_iter().filter_map(move |name| {
        let symbol = names::meaning(program, name)?;
        has_reference(program, symbol).then_some((name, symbol))
    })
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
    let ty = match types.is_reference(ty) {
        true => types.object_type(ty),
        false => ty,
    };
    match types.get(types.object_type(ty)).kind {
        TypeKind::Array { .. } => types.declare(ty, &format!("(&{name})")),
        _ => types.declare(ty, &format!("&{name}")),
    }
}
