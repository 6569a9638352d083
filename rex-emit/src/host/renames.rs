//! Variables that mean something else inside a construct.

use rex_ir::capture_lists::{self, Listing};
use rex_ir::map::MapItem;
use rex_ir::region::{CapturedObject, DataConstruct, DataConstructKind};
use rex_ir::symbol::SymbolId;
use rex_syntax::TextRange;
use rex_syntax::edit::EditSet;
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Host;

/// A variable that means its device address inside a construct.
pub(super) struct Rename {
    /// The statement where it does.
    inside: TextRange,
    symbol: SymbolId,
    /// What stands for it there.
    becomes: String,
}

/// How a variable is bound to its device address inside `target data`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    /// A pointer variable of its name has the address as its value.
    Pointer,
    /// A reference of its name: C++.
    Reference,
    /// A pointer to the object, `name__device`: C has no references, and names of the variable become `(*name__device)`.
    Object,
}

impl Host<'_> {
    /// Names of variables inside `target data` whose declarations there, as [`device_addresses`](Self::device_addresses) writes them, do not
    /// have these names.
    pub(super) fn collect_renames(&mut self) {
        let mut renames = Vec::new();
        let mut places = EditSet::new();
        // Of data constructs inside each other, the inner one decides, which comes later.
        for (_, data) in self.program.data_constructs.iter().rev() {
            if data.kind != DataConstructKind::Data {
                continue;
            }
            let Some(statement) = self.program.constructs[data.construct].statement else {
                continue;
            };
            let bound = self.bound_in(data);
            for (symbol, becomes) in &bound {
                renames.push(Rename {
                    inside: statement,
                    symbol: *symbol,
                    becomes: becomes.clone(),
                });
            }
            let word = |symbol: SymbolId| {
                let mut bound = bound.iter();
                bound
                    .find(|(known, _)| *known == symbol)
                    .map(|it| it.1.clone())
            };
            for (at, symbol) in &data.address_uses {
                let becomes = word(*symbol).filter(|word| word != self.program.text(*at));
                if let Some(becomes) = becomes {
                    places.replace(*at, becomes);
                }
            }
            for call in &data.address_calls {
                let is_renamed = |(at, symbol): &(TextRange, SymbolId)| {
                    word(*symbol).is_some_and(|word| word != call.expansion[*at])
                };
                if call.names.iter().any(is_renamed) {
                    places.replace(call.range, call.written_with(word));
                }
            }
        }
        for (at, list) in self.capture_lists(&renames) {
            places.replace(at, list);
        }
        self.renames = renames;
        self.renamed_places = places.outermost();
    }

    /// The variables that a data construct binds to device addresses, and what stands for each in its statement.
    fn bound_in(&self, data: &DataConstruct) -> Vec<(SymbolId, String)> {
        let items = data.maps.iter();
        items
            .filter(|item| item.asks_for_address())
            .filter_map(|item| {
                let CapturedObject::Variable(symbol) = item.root else {
                    return None;
                };
                let name = self.program.name(symbol);
                Some(match self.binding(item) {
                    Binding::Object => (symbol, format!("(*{name}__device)")),
                    Binding::Pointer | Binding::Reference => (symbol, name.to_string()),
                })
            })
            .collect()
    }

    /// Capture lists of lambdas that name what is bound: what is no automatic variable in the user's text is one here.
    fn capture_lists(&self, renames: &[Rename]) -> Vec<(TextRange, SmolStr)> {
        let program = self.program;
        let is_automatic = |symbol: SymbolId| {
            let found = &program.symbols[symbol];
            found.kind.is_automatic() && !found.is_own_member()
        };
        if renames.iter().all(|rename| is_automatic(rename.symbol)) {
            return Vec::new();
        }
        let data = program.data_constructs.values();
        let uses: Vec<(TextRange, SymbolId)> = data
            .flat_map(|data| {
                capture_lists::uses_with_qualifiers(&data.address_uses, &data.address_calls)
            })
            .collect();
        let whole = program.unit.tree.root().range();
        capture_lists::edits(program, whole, &uses, &|symbol, lambda| {
            let mut renames = renames.iter();
            let is_bound = renames
                .any(|rename| rename.symbol == symbol && rename.inside.contains_range(lambda));
            (is_bound && !is_automatic(symbol)).then_some(Listing::NotCaptured)
        })
    }

    /// How the variable of an item about device addresses is bound.
    pub(super) fn binding(&self, item: &MapItem) -> Binding {
        match self.program.unit.language {
            _ if item.asks_through_pointer(&self.program.types) => Binding::Pointer,
            Language::Cxx => Binding::Reference,
            Language::C => Binding::Object,
        }
    }

    /// What stands for a name in code that is written at a place.
    pub(super) fn renamed(&self, name: &str, place: TextRange) -> Option<&str> {
        let program = self.program;
        let meant = |rename: &&Rename| {
            let symbol = rename.symbol;
            let is_plain = program.name(symbol) == name;
            let is_named = is_plain || program.symbols[symbol].qualified_name() == name;
            is_named
                && rename.inside.contains_range(place)
                && (!is_plain || {
                    let found = program.scopes.resolve(&program.symbols, name, place);
                    found.is_none_or(|found| found == symbol)
                })
        };
        let rename = self.renames.iter().find(meant)?;
        Some(&rename.becomes)
    }

    /// The user's text with other names.
    pub(super) fn renamed_text(&self, range: TextRange) -> String {
        let edits = self.rename_edits(range);
        let text = self.program.text(range);
        edits.apply(text.as_bytes()).map_or_else(
            |_| text.to_string(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Rename edits inside a range, with offsets relative to it.
    pub(super) fn rename_edits(&self, range: TextRange) -> EditSet {
        let places = self.renamed_places.edits();
        let first = places.partition_point(|edit| edit.range.start() < range.start());
        let from = places[first..].iter();
        let mut edits = EditSet::new();
        for edit in from.take_while(|edit| edit.range.start() < range.end()) {
            if range.contains_range(edit.range) {
                edits.replace(edit.range - range.start(), edit.insert.clone());
            }
        }
        edits
    }

    /// Applies renames to user text that no construct replaces.
    pub(super) fn apply_renames(&mut self) {
        let replaced: Vec<TextRange> = self.edits.edits().iter().map(|edit| edit.range).collect();
        for edit in self.renamed_places.edits() {
            let is_replaced =
                |range: &TextRange| range.contains_range(edit.range) && !range.is_empty();
            if !replaced.iter().any(is_replaced) {
                self.edits.replace(edit.range, edit.insert.clone());
            }
        }
    }
}
