//! `offload-entries`: the table that ties host keys to device symbols.
//!
//! One entry for each kernel, in region order, then one for each variable that the unit defines on the device. A constant has none: it is compiled into the image.

use rex_ir::entry::{Entry, EntryKind};
use rex_ir::facet::Facet;
use rex_ir::item::DeviceStorage;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolId;

use crate::pass::{Outcome, Pass, PassCx, PassInfo};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct OffloadEntries;

static INFO: PassInfo = PassInfo {
    name: "offload-entries",
    summary: "the offload entry table",
    reads: Facet::KERNELS.union(Facet::DEVICE_CODE).union(Facet::TYPES),
    writes: Facet::ENTRY_TABLE,
    after: &[],
};

impl Pass for OffloadEntries {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let program = &mut *cx.program;
        let mut entries: Vec<Entry> = program
            .kernels
            .iter()
            .map(|(id, kernel)| Entry {
                name: kernel.names.entry.clone(),
                kind: EntryKind::Kernel(id),
            })
            .collect();
        for (symbol, storage) in &program.device_code.variables {
            if *storage == DeviceStorage::Constant || is_external(program, *symbol) {
                continue;
            }
            let device_name = namer::device_variable(program, *symbol);
            entries.push(Entry {
                name: namer::variable_entry_name(&device_name),
                kind: EntryKind::Variable {
                    symbol: *symbol,
                    device_name,
                },
            });
        }
        let changed = program.entries != entries;
        program.entries = entries;
        Outcome { changed }
    }
}

/// Whether the unit only declares the variable.
pub fn is_external(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    found.initializer.is_none()
        && found.declaration.is_some_and(|declaration| {
            program.text(declaration).split_whitespace().next() == Some("extern")
        })
}
