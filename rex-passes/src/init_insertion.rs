//! `init-insertion`: `main` registers the device image before anything else.
//!
//! The call goes just behind the opening brace, before every declaration but those of local labels, so that no timer or initializer of the user's runs first. A unit without `main`, or without device
//! constructs, gets none; libraries register at their first offload call.

use rex_ir::facet::Facet;
use rex_ir::lifecycle::InitSite;

use crate::pass::{Outcome, Pass, PassCx, PassInfo};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct InitInsertion;

static INFO: PassInfo = PassInfo {
    name: "init-insertion",
    summary: "registration of the device image at the start of main",
    reads: Facet::ITEMS.union(Facet::ENTRY_TABLE),
    writes: Facet::INIT,
    after: &[],
};

impl Pass for InitInsertion {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let program = &mut *cx.program;
        let before = program.lifecycle.init;
        program.lifecycle.init = if program.has_device_constructs() {
            let main = program
                .functions
                .iter()
                .find(|(_, function)| function.is_main);
            main.map(|(_, main)| InitSite {
                at: main.first_statement,
            })
        } else {
            None
        };
        Outcome {
            changed: program.lifecycle.init != before,
        }
    }
}
