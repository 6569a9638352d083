//! Calls of OpenMP routines where constructs do not allow them: directly in `teams`, and in loops whose iterations may execute in any order at once.
//!
//! On the host they are the host compiler's business; what a region holds it never sees.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;

use super::Builder;
use crate::places::constructs_around;
use crate::region::Construct;

/// What a `teams` region may call itself, and what it means the same in as anywhere: memory of the team, and the clock.
const OF_TEAMS: [&str; 10] = [
    "omp_get_num_teams",
    "omp_get_team_num",
    "omp_alloc",
    "omp_aligned_alloc",
    "omp_calloc",
    "omp_aligned_calloc",
    "omp_realloc",
    "omp_free",
    "omp_get_wtime",
    "omp_get_wtick",
];

impl Builder<'_> {
    /// Reports routines of OpenMP that code of target regions calls where it may not.
    pub(super) fn check_runtime_calls(&mut self) {
        let constructs = self.constructs.values();
        let asking: Vec<TextRange> = constructs
            .filter(|construct| {
                let leaves = &construct.leaves;
                self.is_on_device(construct)
                    && (leaves.last() == Some(&Leaf::Teams)
                        || leaves.contains(&Leaf::Loop)
                        || self.concurrent_order(construct).is_some())
            })
            .filter_map(|construct| construct.statement)
            .filter(|statement| self.text(*statement).contains("omp_"))
            .collect();
        for statement in asking {
            let around = self.unit.tree.root().smallest_at(statement);
            let calls: Vec<TextRange> = around
                .descendants()
                .filter(|node| node.kind() == Kind::CallExpression)
                .filter_map(|call| call.field(Field::Function))
                .filter(|callee| callee.text().starts_with("omp_"))
                .map(|callee| callee.range())
                .filter(|callee| statement.contains_range(*callee))
                .filter(|callee| self.function_index.named(self.text(*callee)).is_empty())
                .collect();
            for callee in calls {
                if let Some(diagnostic) = self.misplaced_call(callee) {
                    self.diagnostics.push(diagnostic);
                }
            }
        }
    }

    fn misplaced_call(&self, callee: TextRange) -> Option<Diagnostic> {
        let name = self.text(callee);
        for (idx, (_, outer)) in constructs_around(&self.constructs, callee).enumerate() {
            let (directive, severity, help) = if let Some(order) = self.concurrent_order(outer) {
                let help = "call it in front of the loop, or leave `order(concurrent)` out";
                (order, Severity::Error, help)
            } else if outer.has(Leaf::Loop) {
                let help =
                    "call it in front of the loop, or use `for` or `distribute parallel for`";
                (*outer.directives.last()?, Severity::Warning, help)
            } else if idx == 0
                && outer.leaves.last() == Some(&Leaf::Teams)
                && !OF_TEAMS.contains(&name)
            {
                let help = "call it in a `parallel`, or in front of the `teams`";
                (*outer.directives.last()?, Severity::Warning, help)
            } else {
                continue;
            };
            let directive = &self.unit.directives[directive];
            let headline = format!("`{name}` cannot be called inside `{}`", directive.name());
            return Some(
                Diagnostic::new(Code::MisplacedConstruct, self.at(callee), headline)
                    .with_severity(severity)
                    .with_secondary(self.at(directive.range), "inside this")
                    .with_help(help),
            );
        }
        None
    }

    /// The directive of a construct that says `order(concurrent)`.
    fn concurrent_order(&self, construct: &Construct) -> Option<usize> {
        let mut directives = construct.directives.iter().copied();
        directives.find(|idx| {
            self.unit.directives[*idx]
                .clause(ClauseName::Order)
                .is_some()
        })
    }
}
