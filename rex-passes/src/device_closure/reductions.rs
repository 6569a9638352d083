//! What the operations of declared reductions call.

use rex_ir::region::{Call, SharingAttribute};
use rex_ir::symbol::SymbolKind;
use rex_syntax::TextRange;
use rex_syntax::lex::{self, TokenKind};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::reach::Search;

/// Follows the reductions that a text of device code declares, and those of the names that its constructs use.
pub(super) fn call(search: &mut Search<'_>, text: TextRange) {
    let program = search.program;
    if program.declared_reductions.is_empty() {
        return;
    }
    let constructs = program.constructs_in(text);
    let sharing = constructs.flat_map(|(_, construct)| &construct.sharing);
    let used: FxHashSet<&SmolStr> = sharing
        .filter_map(|sharing| match &sharing.attribute {
            SharingAttribute::Reduction { operation, .. } => program.declared_reduction(operation),
            _ => None,
        })
        .map(|declared| &declared.name)
        .collect();
    for reduction in program.declared_reductions.values() {
        if used.contains(&reduction.name) || text.contains_range(reduction.at) {
            for range in reduction.texts() {
                call_functions_of(search, range);
            }
        }
    }
}

/// The functions that an expression names, by themselves or behind a qualifier.
fn call_functions_of(search: &mut Search<'_>, expression: TextRange) {
    let program = search.program;
    let source = program.source();
    let is_function = |name: &str, at| {
        let resolved = program.scopes.resolve(&program.symbols, name, at);
        resolved.is_some_and(|id| program.symbols[id].kind == SymbolKind::Function)
    };
    let mut before = "";
    for token in lex::significant_tokens(source, expression) {
        let name = token.text(source);
        let is_called = match before {
            _ if token.kind != TokenKind::Identifier => false,
            "." | "->" => false,
            "::" => program.functions_named(name).next().is_some(),
            _ => is_function(name, token.range),
        };
        if is_called {
            search.call(Call::of_function(name, token.range));
        }
        before = name;
    }
}
