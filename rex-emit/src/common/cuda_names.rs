//! Names of the program that CUDA's headers have, too: device code gives them others.

use std::collections::BTreeSet;

use rex_ir::headers;
use rex_ir::item::ItemKind;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolKind;
use rex_syntax::{TextRange, TextSize, lex};

/// What generated code calls the first parts of CUDA's variables where a program has their names for itself.
const ACCESSORS: [(&str, &str); 4] = [
    ("threadIdx", "rex_thread_of_block()"),
    ("blockIdx", "rex_block_of_grid()"),
    ("blockDim", "rex_threads_of_block()"),
    ("gridDim", "rex_blocks_of_grid()"),
];

/// CUDA's variables whose names the program has for something of its own.
///
/// What is `x` of a struct could be the program's or CUDA's: a name of an object of a class stays as it is.
pub(crate) fn own_variables(program: &Program) -> Vec<&'static str> {
    let types = &program.types;
    let is_own = |name: &&str| {
        let mut symbols = program
            .symbols
            .values()
            .filter(|symbol| symbol.name == **name && symbol.declared_at.is_some())
            .peekable();
        symbols.peek().is_some() && symbols.all(|symbol| !types.may_have_members(symbol.ty))
    };
    namer::CUDA_VARIABLES
        .into_iter()
        .filter(|name| program.source().contains(name))
        .filter(is_own)
        .collect()
}

/// Generated code with other names for the variables of CUDA that the program hides.
pub(crate) fn without_variables(text: &str, hidden: &[&str]) -> String {
    let tokens: Vec<lex::Token> = lex::significant_tokens(text, lex::whole(text)).collect();
    let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(text));
    let mut out = String::new();
    let mut copied = 0;
    for (idx, token) in tokens.iter().enumerate() {
        let name = token.text(text);
        let is_member = idx > 0 && matches!(word(idx - 1), "." | "->" | "::");
        if is_member || !hidden.contains(&name) || (word(idx + 1), word(idx + 2)) != (".", "x") {
            continue;
        }
        let Some((_, call)) = ACCESSORS.iter().find(|(known, _)| *known == name) else {
            continue;
        };
        out.push_str(&text[copied..usize::from(token.range.start())]);
        out.push_str(call);
        copied = usize::from(tokens[idx + 2].range.end());
    }
    out.push_str(&text[copied..]);
    out
}

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
    let mut functions: BTreeSet<&str> = functions.map(|symbol| symbol.name.as_str()).collect();
    // `std::max` keeps its name, so the program's own keeps it, too.
    let is_name =
        |outer: &str| outer == ">" || outer.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    drop_qualified(program, &mut functions, is_name);
    let types = own_types(program, names_in_headers);
    functions.into_iter().chain(types).collect()
}

/// Drops names that the program qualifies with certain names of namespaces or classes.
fn drop_qualified(program: &Program, names: &mut BTreeSet<&str>, is_outer: impl Fn(&str) -> bool) {
    if names.is_empty() {
        return;
    }
    let source = program.source();
    let mut before = ("", "");
    for token in lex::significant_tokens(source, lex::whole(source)) {
        let word = token.text(source);
        if before.1 == "::" && is_outer(before.0) {
            names.remove(word);
        }
        before = (before.1, word);
    }
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
    let mut types = of_file.chain(of_headers).collect();
    drop_qualified(program, &mut types, |outer| outer == "std");
    types
}
