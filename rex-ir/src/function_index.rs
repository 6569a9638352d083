//! Functions of the unit by place and by name.

use la_arena::Arena;
use rex_syntax::{TextRange, places};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::item::{Function, FunctionId};

/// Finds functions without going through all of them.
#[derive(Debug, Default)]
pub struct FunctionIndex {
    /// In the order of their text, each with the one that it is in.
    places: Vec<Place>,
    /// Those of each name, in the order of their ids.
    by_name: FxHashMap<SmolStr, Vec<FunctionId>>,
    /// The names of functions that may get references to what they are called with.
    taking_references: FxHashSet<SmolStr>,
}

#[derive(Debug)]
struct Place {
    range: TextRange,
    body: TextRange,
    function: FunctionId,
    outer: Option<usize>,
}

impl FunctionIndex {
    pub(crate) fn of(functions: &Arena<Function>) -> FunctionIndex {
        let mut by_name: FxHashMap<SmolStr, Vec<FunctionId>> = FxHashMap::default();
        let mut taking_references = FxHashSet::default();
        for (id, function) in functions.iter() {
            by_name.entry(function.name.clone()).or_default().push(id);
            if function.takes_references {
                taking_references.insert(function.name.clone());
            }
        }
        let mut sorted: Vec<(FunctionId, &Function)> = functions.iter().collect();
        sorted.sort_by_key(|(_, function)| {
            let range = function.range;
            (range.start(), std::cmp::Reverse(range.end()))
        });
        let mut places: Vec<Place> = Vec::with_capacity(sorted.len());
        for (id, function) in sorted {
            let mut outer = places.len().checked_sub(1);
            while let Some(at) =
                outer.filter(|at| !places[*at].range.contains_range(function.range))
            {
                outer = places[at].outer;
            }
            places.push(Place {
                range: function.range,
                body: function.body,
                function: id,
                outer,
            });
        }
        FunctionIndex {
            places,
            by_name,
            taking_references,
        }
    }

    /// The innermost function whose body contains a range.
    pub fn around(&self, range: TextRange) -> Option<FunctionId> {
        let mut places = self.chain(range);
        let found = places.find(|place| place.body.contains_range(range))?;
        Some(found.function)
    }

    /// The functions whose text contains a range, innermost first.
    pub fn at(&self, range: TextRange) -> impl Iterator<Item = FunctionId> + '_ {
        self.chain(range)
            .filter(move |place| place.range.contains_range(range))
            .map(|place| place.function)
    }

    /// The functions whose whole text is in a range, in source order.
    pub fn inside(&self, range: TextRange) -> impl Iterator<Item = FunctionId> + '_ {
        places::inside(&self.places, range, |place| place.range).map(|place| place.function)
    }

    /// The functions of a name.
    pub fn named(&self, name: &str) -> &[FunctionId] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether there are functions of a name, and all get copies of their arguments.
    pub(crate) fn take_values(&self, name: &str) -> bool {
        self.by_name.contains_key(name) && !self.taking_references.contains(name)
    }

    /// The last function that begins at or before a range, and those that it is in, innermost first.
    fn chain(&self, range: TextRange) -> impl Iterator<Item = &Place> {
        let after = self
            .places
            .partition_point(|place| place.range.start() <= range.start());
        let last = after.checked_sub(1).map(|at| &self.places[at]);
        std::iter::successors(last, |place| Some(&self.places[place.outer?]))
    }
}
