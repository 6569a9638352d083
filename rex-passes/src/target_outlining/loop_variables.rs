//! Loop variables declared around their loops: which threads have copies of them, and which keep their last value.

use rex_ir::kernel::{FinalValue, LastprivateTarget, Prologue};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{
    Capture, CapturedObject, Construct, ConstructId, SharingAttribute, Transport,
};
use rex_syntax::omp::directive::Leaf;

use super::plan::Planner;
use super::{Shape, loops};

impl Planner<'_> {
    /// Copies of the variables of a loop that stays as it is: those declared around it, unless they keep their last value.
    pub(super) fn loop_variables(&self, construct: &Construct) -> Vec<Prologue> {
        let Some(nest) = construct.nest else {
            return Vec::new();
        };
        let rectangle = loops::rectangle_depth(self.program, nest);
        let is_declared = |depth: usize, variable: &str| {
            (keeps_last_value(self.program, construct, variable) && self.is_visible(variable))
                || construct.sharing.iter().any(|sharing| {
                    // Inside the rectangle, `private` says what holds without it.
                    let is_copy =
                        depth >= rectangle || sharing.attribute != SharingAttribute::Private;
                    is_copy && self.program.name(sharing.symbol) == variable
                })
        };
        let loops = self.program.nests[nest].loops.iter().enumerate();
        loops
            .filter(|(depth, it)| !it.declares_variable && !is_declared(*depth, &it.variable))
            .map(|(_, it)| Prologue::Private {
                name: it.variable.clone(),
                ty: it.ty,
            })
            .collect()
    }

    /// Loop variables declared around the loop that keep their last value.
    pub(super) fn kept_variables<'a>(
        &'a self,
        construct: &'a Construct,
        depth: usize,
    ) -> impl Iterator<Item = (usize, &'a str)> {
        let loops = construct
            .nest
            .map_or(&[][..], |nest| &self.program.nests[nest].loops[..depth]);
        loops
            .iter()
            .enumerate()
            .filter(|(_, canonical)| !canonical.declares_variable)
            .map(|(idx, canonical)| (idx, canonical.variable.as_str()))
            .filter(|(_, variable)| {
                keeps_last_value(self.program, construct, variable) && self.is_visible(variable)
            })
    }

    /// What the region captures under this name.
    pub(super) fn captured(&self, variable: &str) -> Option<&Capture> {
        let captures = self.region().map_or(&[][..], |region| &region.captures);
        captures.iter().find(|capture| {
            matches!(capture.object, CapturedObject::Variable(symbol) if self.program.name(symbol) == variable)
        })
    }

    /// Whether a variable is an object of the region or function, not one that only a loop's copies stand for.
    fn is_visible(&self, variable: &str) -> bool {
        self.region().is_none_or(|region| {
            let whole = &self.program.constructs[region.construct];
            self.captured(variable).is_some() || declares(self.program, whole, variable)
        })
    }

    /// What the loop variables of a region's own loop leave behind: those that the data environment holds.
    pub(super) fn region_final_values(
        &self,
        construct: &Construct,
        depth: usize,
    ) -> Vec<FinalValue> {
        self.kept_variables(construct, depth)
            .filter(|(_, variable)| self.is_stored(variable))
            .map(|(depth, variable)| FinalValue {
                depth,
                target: LastprivateTarget::Parameter(namer::argument(variable)),
            })
            .collect()
    }

    /// What the loop variables of a loop inside a region or function leave behind.
    pub(super) fn outer_final_values(
        &self,
        construct: &Construct,
        depth: usize,
    ) -> Vec<FinalValue> {
        self.kept_variables(construct, depth)
            .map(|(depth, _)| FinalValue {
                depth,
                target: LastprivateTarget::Outer,
            })
            .collect()
    }

    /// Whether the region has the storage of a variable itself.
    pub(super) fn is_stored(&self, variable: &str) -> bool {
        self.captured(variable)
            .is_some_and(|capture| capture.transport == Transport::Storage)
    }

    /// Whether a loop that one thread goes through counts with a variable that other threads have, too.
    pub(super) fn shares_loop_variable(&self, construct: &Construct) -> bool {
        let depth = construct
            .nest
            .map_or(0, |nest| self.program.nests[nest].loops.len());
        let mut kept = self.kept_variables(construct, depth);
        kept.any(|(_, variable)| self.is_shared_around(construct, variable))
    }

    /// Whether the threads that execute a construct see one object of this name.
    fn is_shared_around(&self, construct: &Construct, variable: &str) -> bool {
        let program = self.program;
        let region = self.region();
        let whole = region.map(|region| region.construct);
        let mut around: Vec<(ConstructId, &Construct)> = program
            .constructs
            .iter()
            .filter(|(id, outer)| {
                let is_inside = whole.is_none_or(|whole| {
                    program.constructs[whole].range.contains_range(outer.range)
                });
                let contains = outer
                    .statement
                    .is_some_and(|statement| statement.contains_range(construct.range));
                Some(*id) != whole && is_inside && contains
            })
            .collect();
        around.sort_by_key(|(_, outer)| std::cmp::Reverse(outer.range.start()));
        for (_, outer) in around {
            if declares(program, outer, variable) || has_copy(program, outer, variable) {
                return false;
            }
            if outer.forks() {
                return true;
            }
        }
        let Some(region) = region else { return false };
        let outermost = &program.constructs[region.construct];
        match self.shape {
            Shape::Loop => self.is_stored(variable),
            Shape::Parallel => !outermost.sharing.iter().any(|sharing| {
                program.name(sharing.symbol) == variable
                    && outermost.is_private_to_threads(sharing.symbol)
            }),
            Shape::Team | Shape::Serial => false,
        }
    }
}

/// Whether a loop variable declared around a loop has the value of the last iteration afterwards: clauses say so, or `simd`, or `loop`, unless the variable is `private`.
fn keeps_last_value(program: &Program, construct: &Construct, variable: &str) -> bool {
    let has = |matches: fn(&SharingAttribute) -> bool| {
        construct
            .sharing
            .iter()
            .any(|sharing| matches(&sharing.attribute) && program.name(sharing.symbol) == variable)
    };
    has(|attribute| {
        matches!(
            attribute,
            SharingAttribute::Lastprivate | SharingAttribute::Linear(_)
        )
    }) || (construct.has(Leaf::Simd) || construct.has(Leaf::Loop))
        && !has(|attribute| matches!(attribute, SharingAttribute::Private))
}

/// Whether a construct inside a region or function has a copy of a variable: a clause lists it, or its loops count with it.
fn has_copy(program: &Program, construct: &Construct, variable: &str) -> bool {
    let is_listed = construct.sharing.iter().any(|sharing| {
        sharing.attribute != SharingAttribute::Shared && program.name(sharing.symbol) == variable
    });
    let counts = construct.nest.is_some_and(|nest| {
        let mut loops = program.nests[nest].loops.iter();
        loops.any(|canonical| canonical.variable == variable)
    });
    is_listed || counts
}

/// Whether a construct declares a variable of this name.
fn declares(program: &Program, construct: &Construct, variable: &str) -> bool {
    program.symbols.values().any(|symbol| {
        let is_inside = |at| construct.range.contains_range(at);
        symbol.name == variable && symbol.declared_at.is_some_and(is_inside)
    })
}
