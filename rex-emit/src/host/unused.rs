//! Variables that nothing but regions with copies of their own name: the host's compiler would call them unused.

use indexmap::IndexMap;
use rex_ir::item::FunctionId;
use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, RegionId, Transport};
use rex_ir::symbol::SymbolId;
use rex_syntax::lex;
use rustc_hash::FxHashMap;

/// Local variables that only regions name in which they are private, by the first of these.
pub(super) fn unused_variables(program: &Program) -> FxHashMap<RegionId, Vec<SymbolId>> {
    let mut functions: IndexMap<FunctionId, IndexMap<SymbolId, Vec<RegionId>>> = IndexMap::new();
    for (id, region) in program.regions.iter() {
        for capture in &region.captures {
            if let CapturedObject::Variable(symbol) = capture.object
                && matches!(capture.transport, Transport::Private)
                && program.symbols[symbol].kind.is_automatic()
            {
                let variables = functions.entry(region.function).or_default();
                variables.entry(symbol).or_default().push(id);
            }
        }
    }
    let mut unused: FxHashMap<RegionId, Vec<SymbolId>> = FxHashMap::default();
    for (function, mut variables) in functions {
        drop_named_variables(program, function, &mut variables);
        for (symbol, regions) in variables {
            unused.entry(regions[0]).or_default().push(symbol);
        }
    }
    unused
}

/// Drops the variables of a function that it names outside the regions in which they are private. Regions come in source order.
fn drop_named_variables(
    program: &Program,
    function: FunctionId,
    variables: &mut IndexMap<SymbolId, Vec<RegionId>>,
) {
    let range = program.functions[function].range;
    let mut by_name: FxHashMap<&str, Vec<SymbolId>> = FxHashMap::default();
    for symbol in variables.keys() {
        by_name
            .entry(program.name(*symbol))
            .or_default()
            .push(*symbol);
    }
    let mut regions = program
        .regions_in(range)
        .map(|(id, region)| (id, program.constructs[region.construct].range))
        .peekable();
    for token in lex::identifiers(program.source(), range) {
        while regions
            .next_if(|(_, place)| place.end() <= token.start())
            .is_some()
        {}
        let Some(symbols) = by_name.get(program.text(token)) else {
            continue;
        };
        let around = regions
            .peek()
            .filter(|(_, place)| place.contains_range(token));
        for symbol in symbols {
            let is_private = |places: &Vec<RegionId>| {
                around.is_some_and(|(region, _)| places.binary_search(region).is_ok())
            };
            let is_declared = program.symbols[*symbol].declared_at == Some(token);
            if !is_declared
                && variables
                    .get(symbol)
                    .is_some_and(|places| !is_private(places))
            {
                variables.shift_remove(symbol);
            }
        }
    }
}
