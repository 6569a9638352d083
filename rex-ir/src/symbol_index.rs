//! Symbols of the unit by place and by name.

use la_arena::Arena;
use rex_syntax::{TextRange, places};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::namer;
use crate::symbol::{Symbol, SymbolId, SymbolKind};

/// Finds symbols without going through all of them.
#[derive(Debug, Default)]
pub struct SymbolIndex {
    /// With the places of their names, in source order.
    by_place: Vec<(TextRange, SymbolId)>,
    /// The declarations of variables of file and namespace scope, by their names and those of the namespaces directly around them.
    globals: FxHashMap<(SmolStr, SmolStr), Vec<SymbolId>>,
}

impl SymbolIndex {
    pub(crate) fn of(symbols: &Arena<Symbol>) -> SymbolIndex {
        let mut by_place: Vec<(TextRange, SymbolId)> = symbols
            .iter()
            .filter_map(|(id, symbol)| Some((symbol.declared_at?, id)))
            .collect();
        by_place.sort_by_key(|(at, _)| at.start());
        let mut globals: FxHashMap<(SmolStr, SmolStr), Vec<SymbolId>> = FxHashMap::default();
        for (_, id) in &by_place {
            let symbol = &symbols[*id];
            if symbol.kind == SymbolKind::Global {
                let key = (symbol.name.clone(), innermost(&symbol.qualifier).into());
                globals.entry(key).or_default().push(*id);
            }
        }
        SymbolIndex { by_place, globals }
    }

    /// The symbols whose names are declared in a range, in source order.
    pub fn inside(&self, range: TextRange) -> impl Iterator<Item = SymbolId> + '_ {
        places::inside(&self.by_place, range, |(at, _)| *at).map(|(_, symbol)| *symbol)
    }

    /// All declarations of a variable of file or namespace scope, in source order; only itself for others.
    pub fn redeclarations(&self, symbols: &Arena<Symbol>, symbol: SymbolId) -> Vec<SymbolId> {
        let wanted = &symbols[symbol];
        if wanted.kind != SymbolKind::Global || wanted.declared_at.is_none() {
            return vec![symbol];
        }
        self.globals_named(&wanted.qualifier, &wanted.name)
            .filter(|id| symbols[*id].qualifier == wanted.qualifier)
            .collect()
    }

    /// The variables of file and namespace scope that a name may mean behind some qualifier, in source order: those whose innermost namespace with a name
    /// is the qualifier's last.
    pub fn globals_named(
        &self,
        qualifier: &str,
        name: &str,
    ) -> impl Iterator<Item = SymbolId> + '_ {
        let key = (SmolStr::from(name), SmolStr::from(innermost(qualifier)));
        self.globals.get(&key).into_iter().flatten().copied()
    }
}

/// The last of the names in a qualifier, those of namespaces without name aside.
fn innermost(qualifier: &str) -> &str {
    let mut names = qualifier.rsplit("::").map(str::trim);
    names
        .find(|name| !name.is_empty() && *name != namer::UNNAMED_NAMESPACE)
        .unwrap_or_default()
}
