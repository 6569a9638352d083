//! `device-directives`: OpenMP directives inside device functions.
//!
//! A device function is executed by one thread of whoever calls it: its `parallel` regions are serialised, `atomic` and `critical` work across threads. Constructs that bind to
//! the caller's parallel region share their work among the threads that execute it, which kernels keep account of.

use rex_ir::facet::Facet;
use rex_syntax::diag::Diagnostic;

use crate::analysis::forks;
use crate::pass::{Outcome, Pass, PassCx, PassInfo};
use crate::target_outlining::{Facts, plan_called, plan_team_function, tracks_threads};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct DeviceDirectives;

static INFO: PassInfo = PassInfo {
    name: "device-directives",
    summary: "directives inside device functions",
    reads: Facet::ITEMS
        .union(Facet::TYPES)
        .union(Facet::REGIONS)
        .union(Facet::CAPTURES)
        .union(Facet::DEVICE_CODE),
    writes: Facet::DEVICE_CODE,
    after: &[],
};

impl Pass for DeviceDirectives {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let facts = Facts::of(cx.program);
        let tracks_threads = tracks_threads(cx.program, &facts);
        let mut changed = cx.program.device_code.tracks_threads != tracks_threads;
        cx.program.device_code.tracks_threads = tracks_threads;
        for idx in 0..cx.program.device_code.functions.len() {
            let function = cx.program.device_code.functions[idx].function;
            let range = cx.program.functions[function].range;
            match plan_called(cx.program, &facts, range) {
                Ok((body, words)) => {
                    let device = &mut cx.program.device_code.functions[idx];
                    changed |= device.body != body || device.words != words;
                    device.body = body;
                    device.words = words;
                }
                Err(errors) => report(cx, errors),
            }
        }
        for idx in 0..cx.program.instances.closures.len() {
            let range = cx.program.instances.closures[idx].range;
            match plan_called(cx.program, &facts, range) {
                Ok((body, _)) => {
                    let lambda = &mut cx.program.instances.closures[idx];
                    changed |= lambda.body != body;
                    lambda.body = body;
                }
                Err(errors) => report(cx, errors),
            }
        }
        for function in forks::functions(cx.program, &facts.forks) {
            let planned = plan_team_function(cx.program, &facts, function);
            let device = cx
                .program
                .device_code
                .functions
                .iter_mut()
                .find(|device| device.function == function);
            match (planned, device) {
                (Ok(team), Some(device)) => {
                    let team = Some(team);
                    changed |= device.team != team;
                    device.team = team;
                }
                (Err(errors), _) => report(cx, errors),
                (Ok(_), None) => {}
            }
        }
        Outcome { changed }
    }
}

fn report(cx: &mut PassCx<'_>, errors: Vec<Diagnostic>) {
    for error in errors {
        cx.diagnostics.push(error);
    }
}
