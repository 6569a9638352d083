//! Variables of the file itself that share their name with something else: a tag, a member, a function of the library.
//!
//! Device code has them under names that are the file's own. A macro gives them these, unless the same word means other things, too: then each use is written.

use rex_ir::headers;
use rex_ir::item::{DeviceStorage, ItemKind};
use rex_ir::namer;
use rex_ir::names;
use rex_ir::program::Program;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_syntax::{TextRange, lex};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

/// What stands for the uses of these variables, in source order.
pub(super) fn written_out(
    program: &Program,
    variables: &[(SymbolId, DeviceStorage)],
) -> Vec<(TextRange, SmolStr)> {
    let is_renamed = |symbol: SymbolId| {
        namer::device_identifier(program, symbol) != program.symbols[symbol].declared_name()
            && !program.static_members.contains_key(&symbol)
    };
    let mut renamed: FxHashMap<&str, Vec<SymbolId>> = FxHashMap::default();
    for (symbol, storage) in variables {
        if matches!(storage, DeviceStorage::Enter | DeviceStorage::Local) && is_renamed(*symbol) {
            let name = program.name(*symbol).as_str();
            renamed.entry(name).or_default().push(*symbol);
        }
    }
    if renamed.is_empty() {
        return Vec::new();
    }
    let mut ambiguous = names_of_headers(program, &renamed);
    let mut uses = Vec::new();
    let mut before = "";
    let source = program.source();
    let mut plain: FxHashMap<TextRange, names::Name> = FxHashMap::default();
    for name in names::in_text(source, lex::whole(source)) {
        if renamed.contains_key(program.text(name.plain)) {
            plain.insert(name.plain, name);
        }
    }
    for token in lex::significant_tokens(source, lex::whole(source)) {
        let word = token.text(source);
        if let Some((&name, symbols)) = renamed.get_key_value(word) {
            let is_tag = matches!(before, "struct" | "union" | "enum" | "class" | "goto");
            let meant = plain.get(&token.range).filter(|_| !is_tag);
            let meant = meant.and_then(|name| {
                let symbol = names::meaning(program, *name)?;
                let qualifier = program.text(name.qualifier).trim_start_matches("::");
                let of = program.symbols[symbol].named_qualifier();
                of.ends_with(qualifier).then_some(symbol)
            });
            let kind = meant.map(|it| program.symbols[it].kind);
            let same = symbols.iter().find(|it| is_same(program, meant, **it));
            if let Some(symbol) = same {
                uses.push((token.range, name, *symbol));
            } else if !matches!(kind, Some(SymbolKind::Local | SymbolKind::Parameter)) {
                ambiguous.insert(name);
            }
        }
        before = word;
    }
    uses.into_iter()
        .filter(|(_, name, _)| ambiguous.contains(name))
        .map(|(at, _, symbol)| (at, namer::device_identifier(program, symbol)))
        .collect()
}

fn is_same(program: &Program, meant: Option<SymbolId>, variable: SymbolId) -> bool {
    meant.is_some_and(|it| it == variable || program.redeclarations(variable).contains(&it))
}

/// Those of the names that headers of the project have, which the device file includes as they are.
fn names_of_headers<'p>(
    program: &'p Program,
    renamed: &FxHashMap<&'p str, Vec<SymbolId>>,
) -> FxHashSet<&'p str> {
    let includes = program.items.iter();
    let includes = includes.filter(|item| item.kind == ItemKind::Include);
    let names = headers::names_included_by(program, includes.map(|item| item.range));
    let known = renamed.keys().copied();
    known.filter(|name| names.contains(name)).collect()
}
