//! `requires`: what the program demands of every device.

use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Directive;

use super::Builder;
use crate::abi::Requirements;

impl Builder<'_> {
    /// Collects the demands of one directive. `atomic_default_mem_order` is the host compiler's business: device atomics have the order they need.
    pub(super) fn read_requires(&mut self, directive: &Directive) {
        for clause in &directive.clauses {
            self.requirements |= match clause.name {
                ClauseName::UnifiedAddress => Requirements::UNIFIED_ADDRESS,
                ClauseName::UnifiedSharedMemory | ClauseName::SelfMaps => {
                    Requirements::UNIFIED_SHARED_MEMORY
                }
                ClauseName::DynamicAllocators => Requirements::DYNAMIC_ALLOCATORS,
                ClauseName::ReverseOffload => {
                    let diagnostic = Diagnostic::new(
                        Code::UnsupportedClause,
                        self.at(clause.range),
                        "`reverse_offload` is not supported",
                    )
                    .with_note("functions of the host cannot run from a device")
                    .with_help("remove the clause if no region has `device(ancestor: 1)`");
                    self.diagnostics.push(diagnostic);
                    continue;
                }
                _ => continue,
            };
        }
    }
}
