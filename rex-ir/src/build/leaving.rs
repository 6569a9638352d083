//! Statements that lead out of the block of a construct.

use std::collections::BTreeMap;

use rex_syntax::TextSize;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::directive::Leaf;

use super::Builder;
use crate::branches::first_leaving;

impl<'u> Builder<'u> {
    /// Reports the first statement that leaves the block of each `target data`, and of each construct in target regions, other than at its end;
    /// loops are checked where they are read.
    pub(super) fn check_branches(&mut self) {
        let unit = self.unit;
        // A statement that leaves several blocks is reported for the innermost, which comes last.
        let mut leaving: BTreeMap<TextSize, (Node<'u>, usize)> = BTreeMap::new();
        for (_, construct) in self.constructs.iter() {
            let Some(&directive) = construct.directives.last() else {
                continue;
            };
            let is_lowered = construct.has(Leaf::TargetData) || self.is_on_device(construct);
            if !is_lowered || construct.leaves.iter().any(|leaf| leaf.takes_loops()) {
                continue;
            }
            if let Some(node) = unit.statement_of(directive).and_then(first_leaving) {
                leaving.insert(node.range().start(), (node, directive));
            }
        }
        for (node, directive) in leaving.into_values() {
            let directive = &unit.directives[directive];
            let diagnostic = Diagnostic::new(
                Code::BranchOutOfConstruct,
                self.at(node.range()),
                format!("this statement leaves the block of `{}`", directive.name()),
            )
            .with_secondary(self.at(directive.range), "of this directive")
            .with_help(
                "let what follows in the block depend on a condition, and leave behind the block",
            );
            self.diagnostics.push(diagnostic);
        }
    }
}
