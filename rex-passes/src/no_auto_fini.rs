//! `no-auto-fini`: a program tears down only where its author says so.
//!
//! Process exit reclaims the image and the device; unregistering before it costs time that the user sees. `rex_offload_fini` stays callable, and calls the user wrote are left alone.

use rex_ir::facet::Facet;
use rex_ir::lifecycle::FiniPolicy;

use crate::pass::{Outcome, Pass, PassCx, PassInfo};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct NoAutoFini;

static INFO: PassInfo = PassInfo {
    name: "no-auto-fini",
    summary: "teardown only where the program asks for it",
    reads: Facet::ENTRY_TABLE.union(Facet::INIT),
    writes: Facet::FINI,
    after: &[],
};

impl Pass for NoAutoFini {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let changed = cx.program.lifecycle.fini != FiniPolicy::ExplicitOnly;
        cx.program.lifecycle.fini = FiniPolicy::ExplicitOnly;
        Outcome { changed }
    }
}
