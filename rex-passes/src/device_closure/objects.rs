//! Objects that device code makes: their constructors and destructors are called without a name.

use rex_ir::item::Function;
use rex_ir::ty::{RecordId, TypeId};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use smol_str::format_smolstr;

use super::reach::{Certainty, Search};

/// Takes the functions of objects that a text declares or makes: `vec3 v;`, `vec3(1, 2, 3)`, `vec3{}`.
pub(super) fn construct_in(search: &mut Search<'_>, range: TextRange) {
    let program = search.program;
    if program.language() != Language::Cxx {
        return;
    }
    let source = program.source();
    let tokens: Vec<lex::Token> = lex::significant_tokens(source, range).collect();
    for (idx, pair) in tokens.windows(2).enumerate() {
        let before = idx.checked_sub(1).map(|before| tokens[before].text(source));
        let is_object = pair[1].kind == lex::TokenKind::Identifier
            || matches!(pair[1].text(source), "(" | "{" | "<")
            || before == Some("new");
        if pair[0].kind != lex::TokenKind::Identifier || !is_object {
            continue;
        }
        let (name, at) = (pair[0].text(source), pair[0].range);
        let class = program.scopes.resolve_type(&program.symbols, name, at);
        if let Some(class) = class {
            construct(search, program.symbols[class].ty);
        }
    }
}

/// Takes the functions of a class that make and end its objects, its operators and virtual functions, and those of its members and bases.
pub(super) fn construct(search: &mut Search<'_>, class: TypeId) {
    let program = search.program;
    let types = &program.types;
    let mut pending: Vec<RecordId> = types.record(class).into_iter().collect();
    while let Some(id) = pending.pop() {
        if !search.constructed.insert(id) {
            continue;
        }
        let record = &types.records[id];
        let destructor = format_smolstr!("~{}", record.name);
        let methods = record.methods.iter().map(|method| &method.name);
        for name in [&record.name, &destructor].into_iter().chain(methods) {
            // A table of virtual functions has them all.
            let is_made = |function: &Function| {
                name.starts_with("operator")
                    || function.name == record.name
                    || function.name == destructor
                    || function.is_virtual()
            };
            for (id, function) in program.functions_named(name) {
                let is_of_class = function.class.as_ref() == Some(&record.name);
                let is_operator = name.starts_with("operator");
                let certainty = match name.as_str() {
                    "operator=" => Certainty::ByObjects,
                    _ if is_operator => Certainty::Perhaps,
                    _ => Certainty::ByObjects,
                };
                let is_wanted = is_of_class && is_made(function);
                if is_wanted && (!is_operator || needs_no_variable(search, function)) {
                    search.certainty = certainty;
                    search.take(id);
                }
            }
        }
        let fields = record.fields.iter().filter(|field| !field.is_static);
        pending.extend(fields.filter_map(|field| types.record(types.innermost_element(field.ty))));
        pending.extend(types.bases(id));
    }
}

/// Whether a function, which perhaps nothing on the device calls, names variables of the device only.
fn needs_no_variable(search: &Search<'_>, function: &Function) -> bool {
    let mut globals = function.globals.iter();
    globals.all(|global| search.reached.variables.contains(global))
}
