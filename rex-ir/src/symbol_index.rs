//! Symbols of the unit by place and by name.

use la_arena::Arena;
use rex_syntax::{TextRange, places};

use crate::namer;
use crate::symbol::{Symbol, SymbolId, SymbolKind};

/// Finds symbols without going through all of them.
#[derive(Debug, Default)]
pub struct SymbolIndex {
    /// With the places of their names, in source order.
    by_place: Vec<(TextRange, SymbolId)>,
    /// The declarations of variables of file and namespace scope, sorted by [`key`]; equal ones in source order.
    globals: Vec<SymbolId>,
}

impl SymbolIndex {
    pub(crate) fn of(symbols: &Arena<Symbol>) -> SymbolIndex {
        let mut by_place: Vec<(TextRange, SymbolId)> = Vec::with_capacity(symbols.len());
        by_place.extend(
            symbols
                .iter()
                .filter_map(|(id, symbol)| Some((symbol.declared_at?, id))),
        );
        by_place.sort_by_key(|(at, _)| at.start());
        let places = by_place.iter().map(|(_, id)| *id);
        let mut globals: Vec<SymbolId> = places
            .filter(|id| symbols[*id].kind == SymbolKind::Global)
            .collect();
        globals.sort_by_key(|id| key(&symbols[*id]));
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
        self.globals_named(symbols, &wanted.qualifier, &wanted.name)
            .filter(|id| symbols[*id].qualifier == wanted.qualifier)
            .collect()
    }

    /// The variables of file and namespace scope that a name may mean behind some qualifier, in source order: those whose innermost namespace with a name
    /// is the qualifier's last.
    pub fn globals_named<'s>(
        &'s self,
        symbols: &'s Arena<Symbol>,
        qualifier: &'s str,
        name: &'s str,
    ) -> impl Iterator<Item = SymbolId> + 's {
        let wanted = (name, innermost(qualifier));
        let is_before = |id: &SymbolId| key(&symbols[*id]) < wanted;
        let found = self.globals[self.globals.partition_point(is_before)..].iter();
        let found = found.take_while(move |id| key(&symbols[**id]) == wanted);
        found.copied()
    }
}

/// The name of a variable and that of the namespace directly around it.
fn key(symbol: &Symbol) -> (&str, &str) {
    (&symbol.name, innermost(&symbol.qualifier))
}

/// The last of the names in a qualifier, those of namespaces without name aside.
fn innermost(qualifier: &str) -> &str {
    let mut names = qualifier.rsplit("::").map(str::trim);
    names
        .find(|name| !name.is_empty() && *name != namer::UNNAMED_NAMESPACE)
        .unwrap_or_default()
}
