//! `device-closure`: the functions and variables that device code reaches.
//!
//! Starts from the calls of all target regions and follows calls by name: every overload of a name is taken, and every operator. A function needs no `declare target`. File-scope variables that
//! device functions name get a copy on the device (OpenMP's implicit rule), constants are copied without an offload entry.

mod constants;
mod construction;
mod members;
mod objects;
mod own_names;
mod reach;
mod reductions;
mod reference_members;
mod report;
mod static_locals;
mod variables;
mod virtual_calls;

use indexmap::IndexSet;
use rex_ir::facet::Facet;
use rex_ir::item::{DeviceStorage, FunctionId};
use rex_ir::kernel::BodyText;
use rex_ir::program::{DeviceCode, DeviceFunction, Program, device_place};
use rex_ir::starters::{Moment, Starter};
use rex_ir::symbol::SymbolId;
use rex_syntax::TextRange;

use crate::pass::{Outcome, Pass, PassCx, PassInfo};
use crate::{allocator_traits, private_storage};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct DeviceClosure;

static INFO: PassInfo = PassInfo {
    name: "device-closure",
    summary: "functions and variables that device code reaches",
    reads: Facet::ITEMS
        .union(Facet::TYPES)
        .union(Facet::REGIONS)
        .union(Facet::CAPTURES),
    writes: Facet::DEVICE_CODE,
    after: &[],
};

impl Pass for DeviceClosure {
    fn info(&self) -> &'static PassInfo {
        &INFO
    }

    fn run(&self, cx: &mut PassCx<'_>) -> Outcome {
        let code = device_code(cx);
        let changed = cx.program.device_code != code;
        cx.program.device_code = code;
        Outcome { changed }
    }
}

fn device_code(cx: &mut PassCx<'_>) -> DeviceCode {
    let program = &*cx.program;
    if program.regions.is_empty()
        && program.declare_target.is_empty()
        && program.device_functions.is_empty()
    {
        return DeviceCode::default();
    }
    let mut reached = reach::reached(program);
    let variables = variables::declarations(program, &reached.variables);
    let constructed = construction::constructed(program, &variables);
    let static_locals = static_locals::begun_by_code(program, &constructed);
    let storage = |symbol| variables::storage(program, symbol, &constructed);
    let mut stored: Vec<(SymbolId, DeviceStorage)> = variables
        .iter()
        .map(|symbol| (*symbol, storage(*symbol)))
        .collect();
    stored.sort_by_key(|(symbol, _)| device_place(&program.symbols[*symbol]));
    let begins_member =
        |symbol: &SymbolId| construction::begins_member_of_template(program, *symbol, &constructed);
    let begun_members: Vec<SymbolId> = stored
        .iter()
        .map(|(symbol, _)| *symbol)
        .filter(begins_member)
        .collect();
    report::missing(cx, std::mem::take(&mut reached.missing));
    let mut left_out = report::left_out(cx, std::mem::take(&mut reached.perhaps_missing));
    left_out.extend(report::left_out_for_their_text(cx, &reached));
    reached.functions.retain(|id| !left_out.contains(id));
    report::members_of_templates(cx, &stored);
    report::maps_without_effect(cx, &stored);
    report::values_before_code(cx, &begun_members);
    report::reversed_objects(cx, &stored);
    virtual_calls::report(cx, &reached.functions);

    let texts = texts(cx.program, &reached.functions);
    private_storage::report(cx, &texts);
    report::untranslatable(cx, &texts);
    report::error_numbers(cx, &texts);
    report::ends(
        cx,
        &stored,
        &static_locals::inside(cx.program, &static_locals, &texts),
    );
    static_locals::report(cx, &static_locals, &texts);
    reference_members::report(cx, &stored, &texts);
    allocator_traits::report(cx, &texts);
    report::member_functions_of_host(cx);

    let program = &*cx.program;
    let host_members = members::of_host(program, &reached.functions, &variables);
    let host_values = members::values_of_host(program, &texts);
    let mut functions: Vec<FunctionId> = reached.functions.into_iter().collect();
    functions.sort_by_key(|id| program.functions[*id].range.start());
    let functions = functions.into_iter();
    DeviceCode {
        tracks_threads: program.device_code.tracks_threads,
        functions: functions.map(|id| planned(program, id)).collect(),
        own_names: own_names::written_out(program, &stored),
        variables: stored,
        static_locals,
        begun_members,
        host_members,
        host_values,
        header_functions: reached.header_functions.into_iter().collect(),
        external_functions: reached.external_functions,
        starters: starters(program),
        left_out,
    }
}

/// Functions of `declare target` that run when a device gets the code, by their priority: `__attribute__((constructor(101)))`.
fn starters(program: &Program) -> Vec<FunctionId> {
    let mut starters: Vec<(u32, FunctionId)> = Vec::new();
    let at_start = |starter: &&Starter| starter.moment == Moment::Start;
    for starter in program.starters.iter().filter(at_start) {
        let named = program.functions_named(&starter.name);
        let ids = named.map(|(id, _)| id);
        let mut ids = ids.filter(|id| program.device_functions.contains(id));
        if let Some(id) = ids.next()
            && !starters.iter().any(|(_, known)| *known == id)
        {
            starters.push((starter.priority.unwrap_or(u32::MAX), id));
        }
    }
    starters.sort_by_key(|(priority, id)| (*priority, program.functions[*id].range.start()));
    starters.into_iter().map(|(_, id)| id).collect()
}

/// A function of the device file. A later pass may have replaced directives in its body already.
fn planned(program: &Program, function: FunctionId) -> DeviceFunction {
    let known = program.device_function(function);
    let verbatim = || DeviceFunction {
        function,
        body: BodyText::verbatim(program.functions[function].range),
        words: Vec::new(),
        team: None,
    };
    known.cloned().unwrap_or_else(verbatim)
}

/// The text of device code.
fn texts(program: &Program, functions: &IndexSet<FunctionId>) -> Vec<TextRange> {
    let regions = program.regions.values();
    let statements = regions.filter_map(|region| program.constructs[region.construct].statement);
    let bodies = functions.iter().map(|id| program.functions[*id].range);
    statements.chain(bodies).collect()
}
