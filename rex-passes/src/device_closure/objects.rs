//! Objects that device code makes: their constructors and destructors are called without a name.

use rex_ir::ty::TypeId;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use smol_str::format_smolstr;

use super::reach::Search;

/// Takes the functions of objects that a text declares or makes: `vec3 v;`, `vec3(1, 2, 3)`, `vec3{}`.
pub(super) fn construct_in(search: &mut Search<'_>, range: TextRange) {
    let program = search.program;
    if program.language() != Language::Cxx {
        return;
    }
    let source = program.source();
    let tokens: Vec<lex::Token> = lex::significant_tokens(source, range).collect();
    for pair in tokens.windows(2) {
        let is_object = pair[1].kind == lex::TokenKind::Identifier
            || matches!(pair[1].text(source), "(" | "{" | "<");
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

/// Takes the functions in a class that make and end its objects, and those of its members.
pub(super) fn construct(search: &mut Search<'_>, class: TypeId) {
    let program = search.program;
    let mut pending = vec![class];
    while let Some(class) = pending.pop() {
        let Some(record) = program.types.record(class) else {
            continue;
        };
        if !search.constructed.insert(record) {
            continue;
        }
        let record = &program.types.records[record];
        let destructor = format_smolstr!("~{}", record.name);
        for name in [&record.name, &destructor] {
            for (id, function) in program.functions_named(name) {
                if function.in_class && function.class.as_ref() == Some(&record.name) {
                    search.take(id);
                }
            }
        }
        let fields = record.fields.iter().filter(|field| !field.is_static);
        pending.extend(fields.map(|field| program.types.innermost_element(field.ty)));
    }
}
