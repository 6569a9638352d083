//! Names of the program that CUDA's headers have, too: device code gives them others.

use std::collections::BTreeSet;

use rex_ir::headers;
use rex_ir::item::ItemKind;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolKind;
use rex_syntax::{TextRange, TextSize};

/// What the other name begins with.
pub(crate) const PREFIX: &str = "rex_name_";

/// Whether CUDA's headers declare a type or function of this name.
fn is_cuda_name(name: &str) -> bool {
    let vector = name.strip_suffix(['1', '2', '3', '4']).is_some_and(|base| {
        matches!(
            base,
            "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "longlong"
                | "ulonglong"
                | "float"
                | "double"
        )
    });
    vector
        || matches!(
            name,
            "dim3" | "max" | "min" | "sincosf" | "rsqrtf" | "rsqrt" | "norm" | "saturate"
        )
        || name.strip_prefix("make_").is_some_and(is_cuda_name)
        || (name.starts_with("atomic") && name[6..].starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Every name in the headers of the project that the file includes.
pub(crate) fn in_headers(program: &Program) -> BTreeSet<&str> {
    let includes = program
        .items
        .iter()
        .filter(|item| item.kind == ItemKind::Include);
    headers::names_included_by(program, includes.map(|item| item.range))
}

/// Types and functions of the file and types of its headers that CUDA declares too. Headers have functions of such names
/// beside other headers that mean `std::max`.
pub(crate) fn own<'p>(
    program: &'p Program,
    names_in_headers: &BTreeSet<&'p str>,
) -> BTreeSet<&'p str> {
    let end = TextRange::empty(TextSize::of(program.source()));
    // A member of this name is not in the way.
    let is_at_file_scope = |name: &str| {
        let found = program.scopes.resolve(&program.symbols, name, end);
        found.is_some_and(|id| program.symbols[id].kind == SymbolKind::Function)
    };
    let functions = program.symbols.values().filter(|symbol| {
        symbol.kind == SymbolKind::Function
            && symbol.declared_at.is_some()
            && is_cuda_name(&symbol.name)
            && is_at_file_scope(&symbol.name)
    });
    let functions = functions.map(|symbol| symbol.name.as_str());
    functions
        .chain(own_types(program, names_in_headers))
        .collect()
}

/// The types among them.
pub(crate) fn own_types<'p>(
    program: &'p Program,
    names_in_headers: &BTreeSet<&'p str>,
) -> BTreeSet<&'p str> {
    let of_file = program.symbols.values().filter(|symbol| {
        symbol.kind == SymbolKind::Type
            && symbol.declared_at.is_some()
            && is_cuda_name(&symbol.name)
    });
    let of_file = of_file.map(|symbol| symbol.name.as_str());
    let of_headers = names_in_headers.iter().copied();
    let of_headers = of_headers
        .filter(|name| is_cuda_name(name))
        .filter(|name| headers::project_declares_type(&program.unit, name));
    of_file.chain(of_headers).collect()
}
