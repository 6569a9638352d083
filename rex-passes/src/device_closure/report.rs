//! What is said about device code that lacks something.

use std::collections::BTreeSet;

use indexmap::{IndexMap, IndexSet};
use rex_ir::formats::Format;
use rex_ir::headers;
use rex_ir::item::{DeviceStorage, FunctionId};
use rex_ir::map::{MapKind, MapModifiers};
use rex_ir::print::object_name;
use rex_ir::program::Program;
use rex_ir::region::{Call, CapturedObject, DataConstructKind};
use rex_ir::starters::Moment;
use rex_ir::symbol::SymbolId;
use rex_ir::ty::RecordId;
use rex_ir::untranslatable::Untranslatable;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::expansion::HeaderOrigin;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::reach::{Certainty, Reached, declared};
use crate::analysis::device_functions;
use crate::pass::PassCx;

/// A call that nothing here defines. What the unit declares may be another file's device function, which only a link can tell;
/// a name without a declaration is unknown.
pub(super) fn missing(cx: &mut PassCx<'_>, missing: Vec<Call>) {
    let declared = declared(cx.program);
    let diagnostics: Vec<Diagnostic> = missing
        .iter()
        .filter_map(|call| missing_function(cx, call, &declared))
        .collect();
    diagnostics
        .into_iter()
        .for_each(|diagnostic| cx.diagnostics.push(diagnostic));
}

/// Warns of functions that device code perhaps calls, as one of several of a name, and that call what no device has. Gives these functions.
pub(super) fn left_out(
    cx: &mut PassCx<'_>,
    missing: Vec<(Call, FunctionId)>,
) -> IndexSet<FunctionId> {
    let declared = declared(cx.program);
    let mut functions = IndexSet::new();
    for (call, function) in missing {
        let name = &cx.program.functions[function].name;
        let diagnostic = match (
            is_of_library(cx, &call),
            missing_function(cx, &call, &declared),
        ) {
            (_, None) => continue,
            (false, Some(diagnostic)) => diagnostic,
            (true, Some(diagnostic)) => {
                functions.insert(function);
                without_function(diagnostic, name)
            }
        };
        cx.diagnostics.push(diagnostic);
    }
    functions
}

/// A diagnostic about a function that is left out.
fn without_function(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.with_severity(Severity::Warning).with_note(format!(
        "`{name}` is left out of device code: no kernel calls it for sure, and one that does is not linked"
    ))
}

/// Warns of functions that device code perhaps calls and that have what its C++ cannot express. Gives these functions.
pub(super) fn left_out_for_their_text(
    cx: &mut PassCx<'_>,
    reached: &Reached,
) -> IndexSet<FunctionId> {
    let mut functions = IndexSet::new();
    for text in cx.program.untranslatable.clone() {
        let program = &*cx.program;
        let Some(id) = program.function_index.around(text.at) else {
            continue;
        };
        let function = &program.functions[id];
        let is_left_out = match reached.known.get(&id) {
            Some(Certainty::Perhaps) => true,
            // What makes objects stays in the text of its class.
            Some(Certainty::ByObjects) => !function.in_class,
            Some(Certainty::Surely) | None => false,
        };
        // Objects of a class point to its virtual functions.
        if !reached.functions.contains(&id) || !is_left_out || function.is_virtual() {
            continue;
        }
        let name = function.name.clone();
        functions.insert(id);
        let diagnostic = without_function(untranslatable_text(cx, &text), &name);
        cx.diagnostics.push(diagnostic);
    }
    functions
}

fn untranslatable_text(cx: &PassCx<'_>, text: &Untranslatable) -> Diagnostic {
    let headline = match cx.program.language() {
        Language::C => "device code cannot have this, as it is compiled as C++",
        Language::Cxx => "device code cannot have this, as not all compilers for devices take it",
    };
    cx.diagnostic(Code::UnsupportedStatement, text.at, headline)
        .with_note(text.reason.to_string())
        .with_help(text.help.to_string())
}

/// Whether a call is one of a function of the host's library.
fn is_of_library(cx: &PassCx<'_>, call: &Call) -> bool {
    let unit = &cx.program.unit;
    headers::function_declaration(unit, &call.name)
        .is_some_and(|found| found.project_file.is_none())
        && !headers::is_usable_anywhere(unit, &call.name)
}

fn missing_function(cx: &PassCx<'_>, call: &Call, declared: &BTreeSet<&str>) -> Option<Diagnostic> {
    let name = &call.name;
    let is_library = is_of_library(cx, call);
    if is_library && device_functions::makes_vector(name) {
        return None;
    }
    if is_library {
        let headline = format!("device code calls `{name}`, which has no device version");
        let diagnostic = cx.diagnostic(Code::CallWithoutDefinition, call.at, headline);
        return Some(
            diagnostic
                .with_note("it is a function of the host's library")
                .with_help(device_functions::in_place_of(name)),
        );
    }
    declared.contains(name.as_str()).then(|| {
        let headline = format!("device code calls `{name}`, which this file only declares");
        cx.diagnostic(Code::CallWithoutDefinition, call.at, headline)
            .with_severity(Severity::Warning)
            .with_help(format!(
                "another file of the program must define `{name}` for the device; a `declare target` region around the declaration says so and ends this warning"
            ))
    })
}

/// `errno` is an object of each thread of the host.
pub(super) fn error_numbers(cx: &mut PassCx<'_>, texts: &[TextRange]) {
    const NAME: &str = "errno";
    let program = &*cx.program;
    let mut found: Vec<TextRange> = texts
        .iter()
        .flat_map(|text| lex::identifiers(program.source(), *text))
        .filter(|at| program.text(*at) == NAME)
        .filter(|at| {
            let definition = program.macro_at(NAME, *at);
            definition.is_some_and(|it| it.origin == HeaderOrigin::System)
        })
        .collect();
    found.sort_by_key(|at| at.start());
    found.dedup();
    for at in found {
        let headline = "device code uses `errno`, which has no device version";
        let diagnostic = cx
            .diagnostic(Code::CallWithoutDefinition, at, headline)
            .with_note("functions of the device say by their results alone that they failed")
            .with_help("ask for the result: `isnan(sqrt(x))`, `end == text` after `strtol(text, &end, 10)`");
        cx.diagnostics.push(diagnostic);
    }
}

/// With unified shared memory, a pointer to each instantiation of a template's member would have to be known to the runtime.
pub(super) fn members_of_templates(cx: &mut PassCx<'_>, variables: &[(SymbolId, DeviceStorage)]) {
    for (symbol, storage) in variables {
        let program = &*cx.program;
        let member = program.static_members.get(symbol);
        let Some(member) = member.filter(|member| member.is_of_template) else {
            continue;
        };
        if *storage == DeviceStorage::Shared
            && let Some(at) = program.symbols[*symbol].declared_at.or(member.in_class)
        {
            let headline = format!(
                "the static member `{}` of a template in device code is not supported with unified shared memory",
                program.name(*symbol)
            );
            let diagnostic = cx
                .diagnostic(Code::UnsupportedCapture, at, headline)
                .with_note("nothing lists the instantiations, each of which would need a pointer")
                .with_help(
                    "map it in the regions that use it, or make it a variable of a namespace",
                );
            cx.diagnostics.push(diagnostic);
        }
    }
}

/// The host's pointers to member functions are addresses of host code, which a processor that runs it as the device's own can call, and no other.
pub(super) fn member_functions_of_host(cx: &mut PassCx<'_>) {
    let program = &*cx.program;
    if program.language() != Language::Cxx {
        return;
    }
    let mut seen = IndexSet::new();
    let mut found = Vec::new();
    for capture in program.regions.values().flat_map(|it| &it.captures) {
        let CapturedObject::Variable(symbol) = capture.object else {
            continue;
        };
        let types = &program.types;
        let spelled = types.spell(types.desugar(program.symbols[symbol].ty));
        if spelled.contains("::*)(") && seen.insert(symbol) {
            let name = program.name(symbol);
            let headline =
                format!("`{name}` points to a member function of the host, which GPUs cannot call");
            let diagnostic = cx
                .diagnostic(Code::UnsupportedCapture, capture.at, headline)
                .with_severity(Severity::Warning)
                .with_help(format!(
                    "let `{name}` get its value inside the region, or make it a `declare target` variable"
                ));
            found.push(diagnostic);
        }
    }
    for diagnostic in found {
        cx.diagnostics.push(diagnostic);
    }
}

/// A variable that functions of the device name is there as long as the program runs, so that maps of it move nothing.
pub(super) fn maps_without_effect(cx: &mut PassCx<'_>, variables: &[(SymbolId, DeviceStorage)]) {
    let program = &*cx.program;
    let have_entries: FxHashSet<SymbolId> = variables
        .iter()
        .filter(|(_, storage)| matches!(storage, DeviceStorage::Enter | DeviceStorage::Constructed))
        .map(|(symbol, _)| *symbol)
        .collect();
    let regions = program.regions.values().flat_map(|region| &region.maps);
    let constructs = program.data_constructs.values();
    let constructs = constructs
        .filter(|construct| construct.kind != DataConstructKind::Update)
        .flat_map(|construct| &construct.maps);
    let mut seen = IndexSet::new();
    let mut found = Vec::new();
    for item in regions.chain(constructs) {
        let CapturedObject::Variable(symbol) = item.root else {
            continue;
        };
        let moves = matches!(item.kind, MapKind::To | MapKind::From | MapKind::Tofrom)
            && !item.modifiers.contains(MapModifiers::ALWAYS)
            && !item.steps.iter().any(|step| step.follows_pointer);
        let is_implicit = !program.declare_target.contains_key(&symbol);
        if moves && is_implicit && have_entries.contains(&symbol) && seen.insert(symbol) {
            found.push((item.at, program.name(symbol).clone()));
        }
    }
    for (at, name) in found {
        let diagnostic = cx
            .diagnostic(
                Code::MapListItem,
                at,
                format!("this map does not move `{name}`, which device functions name"),
            )
            .with_severity(Severity::Warning)
            .with_note("the device has it for the whole program then, as after `declare target`")
            .with_help(format!(
                "move it with `target update` or `map(always, ..)`, or write `declare target link({name})`"
            ));
        cx.diagnostics.push(diagnostic);
    }
}

/// A static member of a class template that device code begins when it first uses it: zeros that the host writes there before are lost.
pub(super) fn values_before_code(cx: &mut PassCx<'_>, begun_members: &[SymbolId]) {
    let program = &*cx.program;
    let regions = program.regions.values().flat_map(|region| &region.maps);
    let of_regions = regions.map(|item| (item, false));
    let constructs = program.data_constructs.values().flat_map(|construct| {
        let is_update = construct.kind == DataConstructKind::Update;
        construct.maps.iter().map(move |item| (item, is_update))
    });
    let found: IndexMap<TextRange, SmolStr> = of_regions
        .chain(constructs)
        .filter_map(|(item, is_update)| {
            let CapturedObject::Variable(symbol) = item.root else {
                return None;
            };
            let writes = matches!(item.kind, MapKind::To | MapKind::Tofrom)
                && (is_update || item.modifiers.contains(MapModifiers::ALWAYS));
            let member = program.static_member_of(symbol);
            let is_begun = writes && begun_members.contains(&member) && !is_zero(program, member);
            is_begun.then(|| (item.at, program.name(member).clone()))
        })
        .collect();
    for (at, name) in found {
        let headline = format!("device code gives `{name}` its first value when it first uses it");
        let diagnostic = cx
            .diagnostic(Code::MapListItem, at, headline)
            .with_severity(Severity::Warning)
            .with_note(
                "zeros that are written to it before are lost: code computes its first value then",
            )
            .with_help("give it a constant for a first value, or use it in a region before");
        cx.diagnostics.push(diagnostic);
    }
}

/// Whether the initializer of a variable makes zeros of arithmetic types and pointers: `T()`.
fn is_zero(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    let text = found.initializer.map_or("", |value| program.text(value));
    let before = ["()", "{}"].iter().find_map(|end| text.strip_suffix(end));
    before.is_some_and(|ty| ty.is_empty() || program.types.spell(found.ty) == *ty)
}

/// Objects of host and device whose bytes have an order that devices do not know.
pub(super) fn reversed_objects(cx: &mut PassCx<'_>, variables: &[(SymbolId, DeviceStorage)]) {
    let program = &*cx.program;
    let regions = program.regions.iter();
    let shared = regions.flat_map(|(id, _)| program.shared_in(id, Format::OtherByteOrder));
    let shared = shared.map(|capture| (capture.at, object_name(program, capture.object)));
    let variables = variables.iter().filter_map(|(symbol, _)| {
        let found = &program.symbols[*symbol];
        let is_reversed = program.types.holds(found.ty, Format::OtherByteOrder);
        let at = found.declared_at.filter(|_| is_reversed)?;
        Some((at, found.name.to_string()))
    });
    let found: IndexMap<TextRange, String> = shared.chain(variables).collect();
    for (at, name) in found {
        let headline = format!("device code reads the bytes of `{name}` in another order");
        let diagnostic = cx
            .diagnostic(Code::UnsupportedCapture, at, headline)
            .with_note("`scalar_storage_order` is an attribute of C, which C++ compilers ignore")
            .with_help("leave it out, and change the order with `__builtin_bswap32` and its like");
        cx.diagnostics.push(diagnostic);
    }
}

/// Device code that its C++ cannot express.
pub(super) fn untranslatable(cx: &mut PassCx<'_>, texts: &[TextRange]) {
    let mut texts = texts.to_vec();
    texts.sort_by_key(|text| text.start());
    // The end of the longest text so far: whether one of those that begin before a place contains it.
    let ends: Vec<TextSize> = texts
        .iter()
        .scan(TextSize::new(0), |end, text| {
            *end = text.end().max(*end);
            Some(*end)
        })
        .collect();
    let is_in_device_code = |at: TextRange| {
        let after = texts.partition_point(|text| text.start() <= at.start());
        let end = after.checked_sub(1).map(|last| ends[last]);
        end.is_some_and(|end| at.end() <= end)
    };
    for text in cx.program.untranslatable.clone() {
        if is_in_device_code(text.at) {
            let diagnostic = untranslatable_text(cx, &text);
            cx.diagnostics.push(diagnostic);
        }
    }
}

/// What should happen on devices when the program ends: nothing stops the runtime then.
pub(super) fn ends(
    cx: &mut PassCx<'_>,
    variables: &[(SymbolId, DeviceStorage)],
    static_locals: &[SymbolId],
) {
    let program = &*cx.program;
    let mut found = Vec::new();
    for starter in &program.starters {
        let mut named = program.functions_named(&starter.name);
        if starter.moment == Moment::End
            && named.any(|(id, _)| program.device_functions.contains(&id))
        {
            let headline = format!("no device calls `{}` when the program ends", starter.name);
            found.push((starter.at, headline));
        }
    }
    let variables = variables.iter().map(|(symbol, _)| symbol);
    for symbol in variables.chain(static_locals) {
        let object = &program.symbols[*symbol];
        let types = &program.types;
        if !types.is_reference(object.ty)
            && !program.is_external(*symbol)
            && let Some(record) = types.record(types.innermost_element(object.ty))
            && ends_with_code(program, record)
            && let Some(at) = object.declared_at
        {
            let headline = format!("no device calls the destructor of `{}`", object.name);
            found.push((at, headline));
        }
    }
    for (at, headline) in found {
        let diagnostic = cx
            .diagnostic(Code::UnsupportedStatement, at, headline)
            .with_severity(Severity::Warning)
            .with_note("nothing stops the runtime when the program ends")
            .with_help(
                "call a function that does the same in a target region at the end of the program",
            );
        cx.diagnostics.push(diagnostic);
    }
}

/// Whether the destructor of a class, or of a part of it, has statements.
fn ends_with_code(program: &Program, record: RecordId) -> bool {
    let has_statements = |name: &str| {
        let destructor = format!("~{name}");
        let mut named = program.functions_named(&destructor);
        named.any(|(_, function)| {
            let inside = program.text(function.body).trim_matches(['{', '}']);
            function.class.as_deref() == Some(name) && !inside.trim().is_empty()
        })
    };
    let classes = program.types.classes_in(record);
    classes
        .iter()
        .any(|class| has_statements(&program.types.records[*class].name))
}
