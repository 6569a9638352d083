//! Symbols of the unit by place and by name.

use la_arena::Arena;
use rex_syntax::{TextRange, places};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::symbol::{Symbol, SymbolId, SymbolKind};

/// Finds symbols without going through all of them.
#[derive(Debug, Default)]
pub struct SymbolIndex {
    /// With the places of their names, in source order.
    by_place: Vec<(TextRange, SymbolId)>,
    /// The declarations of variables of file and namespace scope.
    globals: FxHashMap<SmolStr, Vec<SymbolId>>,
}

impl SymbolIndex {
    pub(crate) fn of(symbols: &Arena<Symbol>) -> SymbolIndex {
        let mut by_place: Vec<(TextRange, SymbolId)> = symbols
            .iter()
            .filter_map(|(id, symbol)| Some((symbol.declared_at?, id)))
            .collect();
        by_place.sort_by_key(|(at, _)| at.start());
        let mut globals: FxHashMap<SmolStr, Vec<SymbolId>> = FxHashMap::default();
        for (_, id) in &by_place {
            let symbol = &symbols[*id];
            if symbol.kind == SymbolKind::Global {
                globals.entry(symbol.name.clone()).or_default().push(*id);
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
        let same = self.globals.get(&wanted.name).into_iter().flatten();
        same.copied()
            .filter(|id| symbols[*id].qualifier == wanted.qualifier)
            .collect()
    }
}
