//! Functions of the unit by place and by name.

use la_arena::Arena;
use rex_syntax::TextRange;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::item::{Function, FunctionId};

/// Finds functions without going through all of them.
#[derive(Debug, Default)]
pub(super) struct FunctionIndex {
    /// By the start of their bodies, each with the one whose body it is in.
    bodies: Vec<Body>,
    /// The first of each name.
    by_name: FxHashMap<SmolStr, FunctionId>,
}

#[derive(Debug)]
struct Body {
    range: TextRange,
    function: FunctionId,
    outer: Option<usize>,
}

impl FunctionIndex {
    pub(super) fn of(functions: &Arena<Function>) -> FunctionIndex {
        let mut by_name = FxHashMap::default();
        for (id, function) in functions.iter() {
            by_name.entry(function.name.clone()).or_insert(id);
        }
        let mut ranges: Vec<(TextRange, FunctionId)> = functions
            .iter()
            .map(|(id, function)| (function.body, id))
            .collect();
        ranges.sort_by_key(|(range, _)| (range.start(), std::cmp::Reverse(range.end())));
        let mut bodies: Vec<Body> = Vec::with_capacity(ranges.len());
        for (range, function) in ranges {
            let mut outer = bodies.len().checked_sub(1);
            while let Some(at) = outer.filter(|at| !bodies[*at].range.contains_range(range)) {
                outer = bodies[at].outer;
            }
            bodies.push(Body {
                range,
                function,
                outer,
            });
        }
        FunctionIndex { bodies, by_name }
    }

    /// The innermost function whose body contains a range.
    pub(super) fn around(&self, range: TextRange) -> Option<FunctionId> {
        let after = self
            .bodies
            .partition_point(|body| body.range.start() <= range.start());
        let mut found = after.checked_sub(1);
        while let Some(at) = found {
            let body = &self.bodies[at];
            if body.range.contains_range(range) {
                return Some(body.function);
            }
            found = body.outer;
        }
        None
    }

    /// The first function of a name.
    pub(super) fn named(&self, name: &str) -> Option<FunctionId> {
        self.by_name.get(name).copied()
    }
}
