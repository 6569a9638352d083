//! The include of a helper file below the user's macros: those that would change its text are out of force there.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rex_ir::program::Program;
use rex_syntax::lex;

use crate::helper::helper_files;

/// Macros that helper files use as such.
const USED_MACROS: &[&str] = &[
    "CLOCK_MONOTONIC",
    "CLOCK_REALTIME",
    "INT64_C",
    "INT64_MIN",
    "NULL",
    "UINT64_C",
    "bool",
    "false",
    "offsetof",
    "static_assert",
    "stderr",
    "stdout",
    "true",
    "va_arg",
    "va_end",
    "va_list",
    "va_start",
];

/// The helper files, each with the names in it that are not meant to be macros and that a program may make some.
static NAMES: LazyLock<Vec<(&str, BTreeSet<&str>)>> = LazyLock::new(|| {
    let is_free = |name: &str| {
        let is_reserved = ["_", "REX_", "rex_"].iter().any(|it| name.starts_with(it));
        !is_reserved && !USED_MACROS.contains(&name)
    };
    let names_of = |text: &'static str| {
        lex::significant_tokens(text, lex::whole(text))
            .filter(|token| token.kind == lex::TokenKind::Identifier)
            .map(|token| token.text(text))
            .filter(|name| is_free(name))
            .collect()
    };
    let files = helper_files().iter();
    files.map(|(file, text)| (*file, names_of(text))).collect()
});

/// The lines that include the first of some helper files, which includes the others.
pub(crate) fn include(program: &Program, files: &[&str]) -> Vec<String> {
    let mut names: BTreeSet<&str> = NAMES
        .iter()
        .filter(|(file, _)| files.contains(file))
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    let macros = &program.unit.macros;
    names.retain(|name| macros.is_ever_defined(name));
    let include = files.first().map(|file| format!("#include \"{file}\""));
    without_macros(&names, include)
}

/// Lines for which these macros are out of force.
pub(crate) fn without_macros(
    names: &BTreeSet<&str>,
    inside: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for name in names {
        lines.push(format!("#pragma push_macro(\"{name}\")"));
        lines.push(format!("#undef {name}"));
    }
    lines.extend(inside);
    for name in names {
        lines.push(format!("#pragma pop_macro(\"{name}\")"));
    }
    lines
}
