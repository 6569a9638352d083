//! `offload-entries`: the table that ties host keys to device symbols.
//!
//! One entry for each kernel, in region order, then one for each variable that the unit defines on the device. A constant has none: it is compiled into the image. Then one for the kernel that constructs variables, if any are. The last one is what `requires` demands, if anything.

use rex_ir::entry::{Entry, EntryKind};
use rex_ir::facet::Facet;
use rex_ir::namer;
use rex_syntax::source::Language;

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
                name: kernel.names.entry(),
                kind: EntryKind::Kernel(id),
            })
            .collect();
        for (symbol, storage) in &program.device_code.variables {
            let member = program.static_members.get(symbol);
            // Where host code names an instantiation, it says so to the runtime.
            let has_arguments = member.is_some_and(|member| member.has_arguments());
            let is_empty = program.language() == Language::C
                && program.types.is_empty_object(program.symbols[*symbol].ty);
            if is_empty || !storage.has_entry() || program.is_external(*symbol) || has_arguments {
                continue;
            }
            let device_name = match storage.is_behind_pointer() {
                true => namer::device_reference(program, *symbol),
                false => namer::device_variable(program, *symbol),
            };
            let name = match member {
                Some(_) => &program.symbols[*symbol].qualified_name(),
                None => &device_name,
            };
            entries.push(Entry {
                name: namer::variable_entry_name(name),
                kind: EntryKind::Variable {
                    symbol: *symbol,
                    device_name,
                    storage: *storage,
                },
            });
        }
        let runs_code =
            program.begun_in_kernel().next().is_some() || !program.device_code.starters.is_empty();
        if runs_code {
            let names = namer::constructors_names(program.sources.file(program.unit.file).name());
            entries.push(Entry {
                name: names.entry(),
                kind: EntryKind::Constructors(names),
            });
        }
        if !program.requirements.is_empty() && program.has_device_constructs() {
            entries.push(Entry {
                name: namer::REQUIREMENTS_ENTRY_NAME.into(),
                kind: EntryKind::Requirements(program.requirements),
            });
        }
        let changed = program.entries != entries;
        program.entries = entries;
        Outcome { changed }
    }
}
