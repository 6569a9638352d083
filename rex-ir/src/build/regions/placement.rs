//! Directives that cannot stand inside a target region.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::directive::Leaf;

use crate::build::Builder;
use crate::region::ConstructId;

impl Builder<'_> {
    /// Whether a construct begins inside a region that was read; planning that region refuses it.
    ///
    /// Regions are read in source order and never inside each other, so only the last can be around it.
    pub(super) fn is_inside_region(&self, range: TextRange) -> bool {
        let last = self.regions.values().next_back();
        last.is_some_and(|region| {
            let around = self.constructs[region.construct].range;
            around.contains(range.start())
        })
    }

    /// Whether something is declared inside a construct that concerns the whole file.
    pub(super) fn declares_for_file(&mut self, id: ConstructId) -> bool {
        let construct = &self.constructs[id];
        if construct.leaves.first() != Some(&Leaf::Target) {
            return false;
        }
        let unit = self.unit;
        let place = construct.range;
        let misplaced = unit.directives_in(place).find(|directive| {
            directive.declares_for_devices() || directive.first() == Some(Leaf::Requires)
        });
        let Some(directive) = misplaced else {
            return false;
        };
        let headline = format!("`{}` cannot stand inside a target region", directive.name());
        let diagnostic = Diagnostic::new(
            Code::UnsupportedDirective,
            self.at(directive.range),
            headline,
        )
        .with_secondary(
            self.at(unit.directives[construct.directives[0]].range),
            "in this region, which stays on the host",
        )
        .with_help("move it to file scope");
        self.diagnostics.push(diagnostic);
        true
    }
}
