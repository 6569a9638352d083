//! What is left of a region's directives for the host: all but `target`, in words that host compilers know.
//!
//! The statement that runs when a region was not offloaded then has the teams and threads that the program asks for. `teams` stands alone: inside other constructs of the host, in a task, or around
//! what host compilers refuse in it, it is left out together with `distribute`.

use rex_ir::region::{
    CanonicalLoop, Construct, ConstructId, ReductionOperation, Region, Relation, SharingAttribute,
};
use rex_ir::ty::{Category, Meaning, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::edit::EditSet;
use rex_syntax::omp::clause::{Clause, ClauseName, Locator, Step};
use rex_syntax::omp::directive::Leaf;

use super::Host;
use crate::common::text::joined;

/// Directives for the statement of a region on the host.
#[derive(Default)]
pub(super) struct Remains {
    /// The lines before the statement.
    pub(super) lines: Vec<String>,
    /// The constructs they combine, outermost first.
    pub(super) leaves: Vec<Leaf>,
}

/// The constructs that may follow `target` in a combined directive.
const COMBINED: [Leaf; 6] = [
    Leaf::Teams,
    Leaf::Distribute,
    Leaf::Parallel,
    Leaf::For,
    Leaf::Simd,
    Leaf::Loop,
];

/// What may stand in `teams` with nothing between.
const IN_TEAMS: [Leaf; 3] = [Leaf::Distribute, Leaf::Parallel, Leaf::Loop];

/// Calls that may stand in `teams`, of those into OpenMP's runtime.
const CALLS_IN_TEAMS: [&str; 2] = ["omp_get_num_teams", "omp_get_team_num"];

impl Host<'_> {
    /// What is left of a region's directives. `known` are operands that variables hold.
    pub(super) fn remains(&self, region: &Region, known: &[(TextRange, String)]) -> Remains {
        let construct = &self.program.constructs[region.construct];
        let unit = &self.program.unit;
        let directives = construct
            .directives
            .iter()
            .map(|idx| &unit.directives[*idx]);
        let leaves = self.remaining_leaves(region);
        let mut lines = Vec::new();
        lines.extend(self.thread_limit(region, &leaves, known));
        for directive in directives {
            let here: Vec<Leaf> = directive
                .leaves
                .iter()
                .copied()
                .filter(|leaf| leaves.contains(leaf))
                .collect();
            if here.is_empty() {
                continue;
            }
            let mut words = vec!["#pragma omp".to_string()];
            words.extend(here.iter().map(|leaf| leaf.spelling().to_string()));
            for clause in &directive.clauses {
                let is_for = |leaf: &Leaf| leaf.takes(clause.name) && clause.applies_to(*leaf);
                if here.iter().any(is_for) {
                    words.extend(self.clause_for_host(region, clause, &here, known));
                }
            }
            if here.contains(&Leaf::Teams) && directive.clause(ClauseName::NumTeams).is_none() {
                words.push("num_teams(1)".to_string());
            }
            lines.push(words.join(" "));
        }
        Remains { lines, leaves }
    }

    fn remaining_leaves(&self, region: &Region) -> Vec<Leaf> {
        let construct = &self.program.constructs[region.construct];
        let inner = construct.leaves.get(1..).unwrap_or_default();
        if inner.iter().any(|leaf| !COMBINED.contains(leaf))
            || self.has_unknown_clauses(construct)
            || has_first_and_last_of_teams(construct)
            || self.has_undeclared_reductions(construct)
            || self.has_dependent_loops(construct)
            || self.counts_enumerators(construct)
        {
            return Vec::new();
        }
        let has_teams = inner.contains(&Leaf::Teams) && self.may_have_teams(region, inner);
        // What `loop` holds may not ask the runtime.
        let has_loop = (has_teams || inner.contains(&Leaf::Parallel))
            && !region
                .calls
                .iter()
                .any(|call| call.name.starts_with("omp_"));
        let remains = |leaf: &Leaf| match leaf {
            Leaf::Teams | Leaf::Distribute => has_teams,
            Leaf::Loop => has_loop,
            _ => true,
        };
        inner.iter().copied().filter(remains).collect()
    }

    /// Whether a construct has clauses whose meaning its statement on the host lacks.
    fn has_unknown_clauses(&self, construct: &Construct) -> bool {
        let directives = construct.directives.iter();
        let mut clauses =
            directives.flat_map(|idx| self.program.unit.directives[*idx].clauses.iter());
        clauses.any(|clause| match clause.name {
            ClauseName::Reduction => clause
                .modifiers()
                .iter()
                .any(|word| self.program.text(word.word) == "original"),
            ClauseName::NumThreads => clause.expression().is_none(),
            _ => false,
        })
    }

    /// Whether a construct reduces objects of classes or pointers with an operator that no `declare reduction` is for: gcc refuses what clang takes the class's own operator for,
    /// and pointers.
    pub(super) fn has_undeclared_reductions(&self, construct: &Construct) -> bool {
        let types = &self.program.types;
        construct.sharing.iter().any(|sharing| {
            let SharingAttribute::Reduction { operation, section } = &sharing.attribute else {
                return false;
            };
            let ty = types.object_type(self.program.symbols[sharing.symbol].ty);
            let is_class = matches!(
                types.category(types.innermost_element(ty)),
                Category::Aggregate | Category::Unknown
            );
            let is_pointer = types.category(ty) == Category::Pointer
                && section.as_ref().is_some_and(|steps| steps.is_empty());
            (is_class || is_pointer) && !matches!(operation, ReductionOperation::Declared(_))
        })
    }

    /// Whether the bounds of a loop name the variable of one around it: host compilers know some forms of these, and gcc crashes on empty ones.
    fn has_dependent_loops(&self, construct: &Construct) -> bool {
        construct.nest.is_some_and(|nest| {
            let nest = &self.program.nests[nest];
            (1..nest.loops.len()).any(|idx| nest.depends_on_outer(self.program.source(), idx))
        })
    }

    /// Whether a loop's variable is of an enumeration: gcc crashes on such loops.
    fn counts_enumerators(&self, construct: &Construct) -> bool {
        let mut loops = self.loops(construct);
        loops.any(|it| self.meaning(it.ty) == Some(&Meaning::Enum))
    }

    /// Whether a loop counts an unsigned variable down: gcc's code for such loops runs no iteration with most schedules.
    fn counts_down_unsigned(&self, construct: &Construct) -> bool {
        let mut loops = self.loops(construct);
        loops.any(|it| {
            let goes_up = matches!(it.relation, Relation::Less | Relation::LessEqual);
            let is_signed = matches!(
                self.meaning(it.ty),
                Some(Meaning::Integer { signed: true, .. })
            );
            !goes_up && !is_signed
        })
    }

    fn loops(&self, construct: &Construct) -> impl Iterator<Item = &CanonicalLoop> {
        let nest = construct.nest.map(|nest| &self.program.nests[nest]);
        nest.into_iter().flat_map(|nest| &nest.loops)
    }

    fn meaning(&self, ty: TypeId) -> Option<&Meaning> {
        let types = &self.program.types;
        match &types.get(types.desugar(ty)).kind {
            TypeKind::Named { meaning, .. } => Some(meaning),
            _ => None,
        }
    }

    /// Whether `teams` may be the outermost construct around a region's statement, with `inner` constructs between.
    fn may_have_teams(&self, region: &Region, inner: &[Leaf]) -> bool {
        let construct = region.construct;
        let range = self.program.constructs[construct].range;
        let is_in_task = self.is_task(construct) || self.participating_task(construct).is_some();
        let is_alone = self
            .program
            .constructs_around(range)
            .filter(|(id, _)| *id != construct)
            .all(|(id, outer)| {
                outer.leaves.first() == Some(&Leaf::TargetData) && !self.is_task(id)
            });
        let first = inner.iter().find(|leaf| **leaf != Leaf::Teams);
        let is_fit = match first {
            Some(first) => IN_TEAMS.contains(first),
            None => self.fits_into_teams(region, construct),
        };
        is_alone && !is_in_task && is_fit
    }

    /// Whether host compilers take what stands in a construct directly inside of `teams`.
    fn fits_into_teams(&self, region: &Region, construct: ConstructId) -> bool {
        let constructs = &self.program.constructs;
        let children = &constructs[construct].children;
        let are_calls_fit = region.calls.iter().all(|call| {
            let is_inside = children
                .iter()
                .any(|child| constructs[*child].range.contains_range(call.at));
            is_inside
                || !call.name.starts_with("omp_")
                || CALLS_IN_TEAMS.contains(&call.name.as_str())
        });
        let are_constructs_fit = children.iter().all(|child| {
            let first = constructs[*child].leaves.first();
            first.is_some_and(|first| IN_TEAMS.contains(first))
        });
        are_calls_fit && are_constructs_fit
    }

    /// `thread_limit` of a `target` without `teams`: that of one team.
    fn thread_limit(
        &self,
        region: &Region,
        leaves: &[Leaf],
        known: &[(TextRange, String)],
    ) -> Option<String> {
        let limit = self
            .clauses(region.construct, ClauseName::ThreadLimit)
            .find(|clause| clause.applies_to(Leaf::Target))?;
        let has_teams = self.program.constructs[region.construct].has(Leaf::Teams);
        if has_teams || !self.may_have_teams(region, leaves) {
            return None;
        }
        let value = self.known_text(limit.expression()?, known);
        Some(format!(
            "#pragma omp teams num_teams(1) thread_limit({value})"
        ))
    }

    /// A clause in words that host compilers know, if it says something to them.
    fn clause_for_host(
        &self,
        region: &Region,
        clause: &Clause,
        leaves: &[Leaf],
        known: &[(TextRange, String)],
    ) -> Option<String> {
        let value = || {
            clause
                .expression()
                .map(|value| self.known_text(value, known))
        };
        match clause.name {
            ClauseName::Schedule
                if self.counts_down_unsigned(&self.program.constructs[region.construct]) =>
            {
                None
            }
            ClauseName::If => leaves
                .contains(&Leaf::Parallel)
                .then(value)
                .flatten()
                .filter(|_| clause.applies_to(Leaf::Parallel))
                .map(|value| format!("if({value})")),
            ClauseName::NumThreads => value().map(|value| format!("num_threads({value})")),
            // It is for `target`; or the order of iterations, which is no promise about what they call.
            ClauseName::Nowait
            | ClauseName::Order
            | ClauseName::Message
            | ClauseName::Severity
            | ClauseName::Safesync
            | ClauseName::OmpxAttribute => None,
            _ => Some(self.clause_text(region, clause, known)),
        }
    }

    /// A clause with variables by the names that they have around the region's statement.
    fn clause_text(
        &self,
        region: &Region,
        clause: &Clause,
        known: &[(TextRange, String)],
    ) -> String {
        let construct = self.program.constructs[region.construct].range;
        let own = |range: &TextRange| clause.range.contains_range(*range);
        let mut words: Vec<(TextRange, String)> = known
            .iter()
            .filter(|(range, _)| own(range))
            .cloned()
            .collect();
        words.extend(self.words_of_directives(construct, own));
        words.extend(clause.items().iter().filter_map(|item| {
            let Locator::Path(path) = &item.locator else {
                return None;
            };
            let Some(Step::Arrow(member)) = path.steps.first() else {
                return None;
            };
            let this = TextRange::new(path.root.start(), member.start());
            (self.program.text(path.root) == "this").then(|| (this, String::new()))
        }));
        words.extend(self.names_of_copies(region, clause.range));
        let mut edits = EditSet::new();
        for (range, text) in &words {
            edits.replace(*range - clause.range.start(), text.clone());
        }
        let is_free = |at: TextRange| {
            let at = at + clause.range.start();
            !words.iter().any(|(range, _)| range.contains_range(at))
        };
        for edit in self.rename_edits(clause.range).edits() {
            if is_free(edit.range) {
                edits.replace(edit.range, edit.insert.clone());
            }
        }
        let text = self.program.text(clause.range);
        let text = edits.apply(text.as_bytes());
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        joined(&text.unwrap_or_default())
    }

    fn known_text(&self, value: TextRange, known: &[(TextRange, String)]) -> String {
        let known = known.iter().find(|(range, _)| *range == value);
        known.map_or_else(
            || joined(&self.renamed_text(value)),
            |(_, name)| name.clone(),
        )
    }
}

/// Whether a variable of a construct with `distribute` has a first and a last value, which host compilers refuse there.
fn has_first_and_last_of_teams(construct: &Construct) -> bool {
    let is = |symbol, attribute: SharingAttribute| {
        let mut all = construct.sharing.iter();
        all.any(|it| it.symbol == symbol && it.attribute == attribute)
    };
    construct.has(Leaf::Distribute)
        && construct.sharing.iter().any(|it| {
            it.attribute == SharingAttribute::Firstprivate
                && is(it.symbol, SharingAttribute::Lastprivate)
        })
}
