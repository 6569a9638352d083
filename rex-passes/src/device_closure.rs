//! `device-closure`: the functions and variables that device code reaches.
//!
//! Starts from the calls of all target regions and follows calls by name: every overload of a name is taken, and every operator. A function needs no `declare target`. File-scope variables that
//! device functions name get a copy on the device (OpenMP's implicit rule), constants are copied without an offload entry.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use rex_ir::abi::Requirements;
use rex_ir::facet::Facet;
use rex_ir::headers;
use rex_ir::item::{DeviceStorage, Function, FunctionId, Item, ItemKind, prototypes};
use rex_ir::kernel::BodyText;
use rex_ir::map::{MapKind, MapModifiers};
use rex_ir::program::{DeviceCode, DeviceFunction, Program};
use rex_ir::region::{Call, Callee, CapturedObject, DataConstructKind};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Category, TypeId};
use rex_syntax::diag::{Code, Severity};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use crate::analysis::device_functions;
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
        let code = closure(cx);
        let changed = cx.program.device_code != code;
        cx.program.device_code = code;
        Outcome { changed }
    }
}

struct Closure {
    functions: IndexSet<FunctionId>,
    variables: IndexSet<SymbolId>,
    header_functions: IndexSet<SmolStr>,
    external_functions: IndexSet<SmolStr>,
    /// Calls still to follow.
    pending: Vec<Call>,
    seen: IndexSet<SmolStr>,
}

fn closure(cx: &mut PassCx<'_>) -> DeviceCode {
    let mut closure = Closure {
        functions: IndexSet::new(),
        variables: IndexSet::new(),
        header_functions: IndexSet::new(),
        external_functions: IndexSet::new(),
        pending: Vec::new(),
        seen: IndexSet::new(),
    };
    let program = &*cx.program;
    if program.regions.is_empty()
        && program.declare_target.is_empty()
        && program.device_functions.is_empty()
    {
        return DeviceCode::default();
    }
    // Other files may call these.
    for id in &program.device_functions {
        take(program, *id, &program.functions[*id], &mut closure);
    }
    for (_, region) in program.regions.iter() {
        closure.pending.extend(region.calls.iter().cloned());
        for symbol in &region.device_globals {
            closure.variables.insert(*symbol);
        }
    }
    for lambda in &program.instances.closures {
        closure.pending.extend(lambda.calls.iter().cloned());
        closure.variables.extend(lambda.globals.iter().copied());
    }
    for symbol in program.declare_target.keys() {
        closure.variables.insert(*symbol);
    }
    for reduction in &program.declared_reductions {
        let initializer = match reduction.initializer {
            Some(
                rex_ir::program::ReductionInitializer::Value(range)
                | rex_ir::program::ReductionInitializer::Call(range),
            ) => Some(range),
            None => None,
        };
        for range in [Some(reduction.combiner), initializer]
            .into_iter()
            .flatten()
        {
            for at in lex::identifiers(program.source(), range) {
                let name = program.text(at);
                let is_function = program
                    .scopes
                    .resolve(&program.symbols, name, at)
                    .is_some_and(|id| program.symbols[id].kind == SymbolKind::Function);
                if is_function {
                    closure.pending.push(Call::of_function(name, at));
                }
            }
        }
    }
    if !program.regions.is_empty() || !program.device_functions.is_empty() {
        let host_classes = host_classes(program);
        for (id, function) in program.functions.iter() {
            // Nothing names these where they are used.
            let is_implicit = function.name.starts_with("operator")
                || function.name.starts_with('~')
                || function.class.as_ref() == Some(&function.name);
            let class = function.class.as_ref();
            let is_host_class = class.is_some_and(|class| host_classes.contains(class));
            if is_implicit && !function.in_class && !is_host_class {
                take(program, id, function, &mut closure);
            }
        }
    }
    let constexpr_functions = constexpr_functions(program);
    add_constants_of_types(program, &program.items, &constexpr_functions, &mut closure);
    let mut missing: Vec<Call> = Vec::new();
    let (mut n_read, mut n_scanned) = (0, 0);
    loop {
        while let Some(call) = closure.pending.pop() {
            follow(program, &call, &mut closure, &mut missing);
        }
        if let Some(symbol) = closure.variables.get_index(n_read).copied() {
            n_read += 1;
            read_initializer(program, symbol, &mut closure);
            let ty = program.symbols[symbol].ty;
            construct(program, program.types.innermost_element(ty), &mut closure);
            continue;
        }
        let Some(range) = next_text(program, &closure, n_scanned) else {
            break;
        };
        n_scanned += 1;
        construct_objects(program, range, &mut closure);
    }
    let variables = declarations(program, &closure.variables);
    report_missing(cx, missing);
    report_members_of_templates(cx, &variables);
    report_maps_without_effect(cx, &variables);

    let program = &*cx.program;
    let regions = program.regions.iter();
    let statements =
        regions.filter_map(|(_, region)| program.constructs[region.construct].statement);
    let bodies = closure
        .functions
        .iter()
        .map(|id| program.functions[*id].range);
    let texts: Vec<TextRange> = statements.chain(bodies).collect();
    private_storage::report(cx, &texts);
    report_untranslatable(cx, &texts);
    allocator_traits::report(cx, &texts);

    let program = &*cx.program;
    let mut functions: Vec<FunctionId> = closure.functions.into_iter().collect();
    functions.sort_by_key(|id| program.functions[*id].range.start());
    let mut variables: Vec<(SymbolId, DeviceStorage)> = variables
        .into_iter()
        .map(|symbol| (symbol, storage(program, symbol)))
        .collect();
    variables.sort_by_key(|(symbol, _)| {
        program.symbols[*symbol]
            .declared_at
            .map_or(0.into(), |range| range.start())
    });
    DeviceCode {
        tracks_threads: program.device_code.tracks_threads,
        functions: functions
            .into_iter()
            .map(|function| {
                // A later pass may have replaced directives in the body already.
                let known = program
                    .device_code
                    .functions
                    .iter()
                    .find(|device| device.function == function);
                let verbatim = || BodyText::verbatim(program.functions[function].range);
                DeviceFunction {
                    function,
                    body: known.map_or_else(verbatim, |device| device.body.clone()),
                    words: known.map_or_else(Vec::new, |device| device.words.clone()),
                    team: known.and_then(|device| device.team.clone()),
                }
            })
            .collect(),
        variables,
        header_functions: closure.header_functions.into_iter().collect(),
        external_functions: closure.external_functions.into_iter().collect(),
    }
}

/// Types are kept, so what they name has to be: `int values[N];`, `int words[divide_up(N, 4)];`. Only constants whose value the compiler
/// knows and `constexpr` functions can be meant.
fn add_constants_of_types(
    program: &Program,
    items: &[Item],
    constexpr_functions: &BTreeSet<&str>,
    closure: &mut Closure,
) {
    let is_constant = |id: &SymbolId| {
        let found = &program.symbols[*id];
        let is_constexpr = || {
            found
                .declaration
                .is_some_and(|declaration| program.text(declaration).contains("constexpr"))
        };
        let is_known = || {
            found
                .initializer
                .is_some_and(|value| !program.text(value).contains('(') || is_constexpr())
        };
        found.kind == SymbolKind::Global
            && program.types.get(found.ty).is_const
            && program.types.category(found.ty) == Category::Scalar
            && is_known()
    };
    for item in items {
        match &item.kind {
            ItemKind::Block { items, .. } => {
                add_constants_of_types(program, items, constexpr_functions, closure);
            }
            ItemKind::Type => {
                for at in lex::identifiers(program.source(), item.range) {
                    let name = program.text(at);
                    let found = program.scopes.resolve(&program.symbols, name, at);
                    let Some(symbol) = found else { continue };
                    if is_constant(&symbol) {
                        closure.variables.insert(symbol);
                    } else if program.symbols[symbol].kind == SymbolKind::Function
                        && constexpr_functions.contains(name)
                    {
                        closure.pending.push(Call::of_function(name, at));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The names of the functions of the unit that are `constexpr`.
fn constexpr_functions(program: &Program) -> BTreeSet<&str> {
    let is_one = |function: &&Function| {
        let head = TextRange::new(function.range.start(), function.body.start());
        program.text(head).contains("constexpr")
    };
    let functions = program.functions.values().filter(is_one);
    functions.map(|function| function.name.as_str()).collect()
}

/// Classes that work with the device: their objects are the host's, and so are constructors and the like, unless named.
fn host_classes(program: &Program) -> IndexSet<SmolStr> {
    let of_regions = program.regions.iter().map(|(_, region)| region.function);
    let of_data = program.data_constructs.iter();
    let of_data = of_data.map(|(_, construct)| construct.function);
    of_regions
        .chain(of_data)
        .filter_map(|function| program.functions[function].class.clone())
        .collect()
}

fn take(program: &Program, id: FunctionId, function: &Function, closure: &mut Closure) {
    // Such a function is no device function, whatever names it.
    if program.holds_target_constructs(id) {
        return;
    }
    take_as_it_is(program, id, function, closure);
}

fn take_as_it_is(program: &Program, id: FunctionId, function: &Function, closure: &mut Closure) {
    if !closure.functions.insert(id) {
        return;
    }
    closure.pending.extend(function.calls.iter().cloned());
    for symbol in &function.globals {
        if is_global(program, *symbol) {
            closure.variables.insert(*symbol);
        }
    }
}

/// Whether a symbol is a variable that all functions share.
fn is_global(program: &Program, symbol: SymbolId) -> bool {
    matches!(
        program.symbols[symbol].kind,
        SymbolKind::Global | SymbolKind::StaticField
    )
}

fn follow(program: &Program, call: &Call, closure: &mut Closure, missing: &mut Vec<Call>) {
    if !closure.seen.insert(call.name.clone()) {
        return;
    }
    let mut found = false;
    for (id, function) in program.functions.iter() {
        if function.name == call.name && !function.is_main {
            found = true;
            take(program, id, function, closure);
        }
    }
    if found || device_functions::is_known(&call.name) {
        take_with_regions(program, call, closure);
        return;
    }
    let resolved = program
        .scopes
        .resolve(&program.symbols, &call.name, call.at);
    match resolved.map(|id| program.symbols[id].kind) {
        // A variable of function type or a functor, a type (constructor), a member: nothing to copy.
        Some(kind) if kind != SymbolKind::Function => return,
        _ => {}
    }
    let is_method = program
        .types
        .records
        .iter()
        .any(|(_, record)| record.name == call.name || record.method(&call.name).is_some());
    if is_method || call.callee == Callee::Member || program.macro_at(&call.name, call.at).is_some()
    {
        return;
    }
    if let Some(declaration) = headers::function_declaration(&program.unit, &call.name)
        && declaration.project_file.is_some()
        && declaration.is_defined()
    {
        closure.header_functions.insert(call.name.clone());
        let text = &declaration.text;
        for at in lex::identifiers(
            text,
            TextRange::up_to(rex_syntax::TextSize::of(text.as_str())),
        ) {
            closure.pending.push(Call::of_function(&text[at], call.at));
        }
        return;
    }
    if program.external_device_functions.contains(&call.name) {
        closure.external_functions.insert(call.name.clone());
        return;
    }
    if is_declared(program, &call.name) {
        closure.external_functions.insert(call.name.clone());
    }
    let is_called_in_text = program.text(call.at) == call.name;
    if is_called_in_text {
        missing.push(call.clone());
    }
}

/// The texts of device code one after the other: the regions, then the functions as they are found.
fn next_text(program: &Program, closure: &Closure, idx: usize) -> Option<TextRange> {
    let mut regions = program.regions.iter();
    match idx.checked_sub(program.regions.len()) {
        Some(function) => {
            let function = closure.functions.get_index(function)?;
            Some(program.functions[*function].range)
        }
        None => {
            let (_, region) = regions.nth(idx)?;
            Some(program.constructs[region.construct].range)
        }
    }
}

/// Objects that a text declares or makes: `vec3 v;`, `vec3(1, 2, 3)`, `vec3{}`. Their constructors and destructors are called without a name.
fn construct_objects(program: &Program, range: TextRange, closure: &mut Closure) {
    if program.language() != Language::Cxx {
        return;
    }
    let source = program.source();
    let tokens: Vec<lex::Token> = lex::significant_tokens(source, range).collect();
    for pair in tokens.windows(2) {
        let is_object = pair[1].kind == lex::TokenKind::Identifier
            || matches!(pair[1].text(source), "(" | "{" | "<");
        if pair[0].kind != lex::TokenKind::Identifier || !is_object {
            continue;
        }
        let (name, at) = (pair[0].text(source), pair[0].range);
        let class = program.scopes.resolve_type(&program.symbols, name, at);
        if let Some(class) = class {
            construct(program, program.symbols[class].ty, closure);
        }
    }
}

/// The functions in a class that make and end its objects, and those of its members.
fn construct(program: &Program, class: TypeId, closure: &mut Closure) {
    let mut pending = vec![class];
    let mut seen = IndexSet::new();
    while let Some(class) = pending.pop() {
        let Some(record) = program.types.record(class) else {
            continue;
        };
        if !seen.insert(record) {
            continue;
        }
        let record = &program.types.records[record];
        for (id, function) in program.functions.iter() {
            let name = function.name.trim_start_matches('~');
            if function.in_class
                && function.class.as_ref() == Some(&record.name)
                && name == record.name
            {
                take(program, id, function, closure);
            }
        }
        let fields = record.fields.iter().filter(|field| !field.is_static);
        pending.extend(fields.map(|field| program.types.innermost_element(field.ty)));
    }
}

/// A region may call a function with regions of its own, if there is no other of the name: the thread that calls executes them.
fn take_with_regions(program: &Program, call: &Call, closure: &mut Closure) {
    let named = || {
        program
            .functions
            .iter()
            .filter(|(_, function)| function.name == call.name && !function.is_main)
    };
    let is_called = call.callee == Callee::Function
        && program
            .regions
            .values()
            .any(|region| region.calls.contains(call));
    let holds_regions_only = |id: FunctionId| {
        let mut data = program.data_constructs.values();
        program.holds_target_constructs(id) && !data.any(|construct| construct.function == id)
    };
    if is_called && named().all(|(id, _)| holds_regions_only(id)) {
        for (id, function) in named() {
            take_as_it_is(program, id, function, closure);
        }
    }
}

/// An initializer may name other variables, and call functions.
fn read_initializer(program: &Program, symbol: SymbolId, closure: &mut Closure) {
    let Some(initializer) = program.symbols[symbol].initializer else {
        return;
    };
    let uses = program.static_member_uses.iter();
    let uses = uses.filter(|(at, _)| initializer.contains_range(*at));
    closure.variables.extend(uses.map(|(_, member)| *member));
    for at in names_in(program.source(), initializer) {
        let name = program.text(at);
        let Some(inner) = program.scopes.resolve(&program.symbols, name, at) else {
            continue;
        };
        match program.symbols[inner].kind {
            SymbolKind::Global => {
                closure.variables.insert(inner);
            }
            SymbolKind::Function => closure.pending.push(Call::of_function(name, at)),
            _ => {}
        }
    }
}

/// All declarations of variables and one definition of each, where C allows several.
fn declarations(program: &Program, variables: &IndexSet<SymbolId>) -> IndexSet<SymbolId> {
    let mut all = IndexSet::new();
    for symbol in variables {
        let same = program.redeclarations(*symbol);
        let defines = |id: &&SymbolId| !program.is_external(**id);
        let has_initializer = |id: &&SymbolId| program.symbols[**id].initializer.is_some();
        let definition = same
            .iter()
            .find(has_initializer)
            .or_else(|| same.iter().find(defines))
            .copied();
        let is_kept = |id: &SymbolId| definition == Some(*id) || program.is_external(*id);
        all.extend(same.into_iter().filter(is_kept));
    }
    all
}

fn storage(program: &Program, symbol: SymbolId) -> DeviceStorage {
    let found = &program.symbols[symbol];
    let member = program.static_members.get(&symbol);
    if member.is_some_and(|member| member.is_constant) {
        return DeviceStorage::Constant;
    }
    let element = program.types.innermost_element(found.ty);
    let is_initialized = |id: &SymbolId| program.symbols[*id].initializer.is_some();
    // A constant is compiled into the image; it has internal linkage in C++, so no entry could find it.
    if program.types.get(element).is_const
        && program.redeclarations(symbol).iter().any(is_initialized)
    {
        return DeviceStorage::Constant;
    }
    match program.declare_target.get(&symbol) {
        Some(DeviceStorage::Link) => DeviceStorage::Link,
        Some(DeviceStorage::Group) => DeviceStorage::Group,
        Some(DeviceStorage::Local) if !is_constructed(program, symbol, 0) => DeviceStorage::Local,
        Some(DeviceStorage::Local) => DeviceStorage::Constructed,
        // The image has no memory of its own for what the host can change.
        _ if program
            .requirements
            .contains(Requirements::UNIFIED_SHARED_MEMORY) =>
        {
            DeviceStorage::Shared
        }
        Some(DeviceStorage::Enter) | None if is_constructed(program, symbol, 0) => {
            DeviceStorage::Constructed
        }
        Some(storage) => *storage,
        None => DeviceStorage::Enter,
    }
}

/// The names of an initializer that are not members; of a qualified one, every component.
fn names_in(source: &str, range: TextRange) -> impl Iterator<Item = TextRange> {
    let mut is_member = false;
    lex::significant_tokens(source, range).filter_map(move |token| {
        let is_name = token.kind == lex::TokenKind::Identifier && !is_member;
        is_member = matches!(token.text(source), "." | "->");
        is_name.then_some(token.range)
    })
}

/// Whether a variable begins with what only running code can compute: a constructor, or an initializer that calls functions or names such a variable.
fn is_constructed(program: &Program, symbol: SymbolId, depth: u32) -> bool {
    const MAX_DEPTH: u32 = 16;
    if program.language() != Language::Cxx || program.is_external(symbol) || depth > MAX_DEPTH {
        return false;
    }
    let found = &program.symbols[symbol];
    // No kernel knows all instantiations.
    let member = program.static_members.get(&symbol);
    if member.is_some_and(|member| member.is_of_template) {
        return false;
    }
    let record = program
        .types
        .record(program.types.innermost_element(found.ty));
    if record.is_some_and(|record| {
        let record = &program.types.records[record];
        record.method(&record.name).is_some()
    }) {
        return true;
    }
    let Some(initializer) = found.initializer else {
        return false;
    };
    let source = program.source();
    names_in(source, initializer).any(|at| {
        let name = program.text(at);
        let rest = &source[usize::from(at.end())..usize::from(initializer.end())];
        let resolved = program.scopes.resolve(&program.symbols, name, at);
        match resolved.map(|inner| program.symbols[inner].kind) {
            Some(SymbolKind::Global) => {
                let inner = resolved.filter(|inner| *inner != symbol);
                inner.is_some_and(|inner| is_constructed(program, inner, depth + 1))
            }
            Some(SymbolKind::Function) => rest.trim_start().starts_with('('),
            _ => false,
        }
    })
}

/// A call that nothing here defines. What the unit declares may be another file's device function, which only a link can tell;
/// a name without a declaration is unknown.
fn report_missing(cx: &mut PassCx<'_>, missing: Vec<Call>) {
    for call in missing {
        let program = &*cx.program;
        let is_library = headers::function_declaration(&program.unit, &call.name)
            .is_some_and(|found| found.project_file.is_none() && !found.is_usable_anywhere());
        let diagnostic = if is_library {
            cx.diagnostic(
                Code::CallWithoutDefinition,
                call.at,
                format!(
                    "device code calls `{}`, which has no device version",
                    call.name
                ),
            )
            .with_note("it is a function of the host's library")
            .with_help("move the call out of the target region")
        } else if is_declared(program, &call.name) {
            cx.diagnostic(
                Code::CallWithoutDefinition,
                call.at,
                format!("device code calls `{}`, which this file only declares", call.name),
            )
            .with_severity(Severity::Warning)
            .with_help(format!(
                "another file of the program must define `{}` for the device; a `declare target` region around the declaration says so and ends this warning",
                call.name
            ))
        } else {
            continue;
        };
        cx.diagnostics.push(diagnostic);
    }
}

/// With unified shared memory, a pointer to each instantiation of a template's member would have to be known to the runtime.
fn report_members_of_templates(cx: &mut PassCx<'_>, variables: &IndexSet<SymbolId>) {
    for symbol in variables {
        let program = &*cx.program;
        let member = program.static_members.get(symbol);
        let Some(member) = member.filter(|member| member.is_of_template) else {
            continue;
        };
        if storage(program, *symbol) == DeviceStorage::Shared
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

/// A variable that functions of the device name is there as long as the program runs, so that maps of it move nothing.
fn report_maps_without_effect(cx: &mut PassCx<'_>, variables: &IndexSet<SymbolId>) {
    let program = &*cx.program;
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
        let has_entry = matches!(
            storage(program, symbol),
            DeviceStorage::Enter | DeviceStorage::Constructed
        );
        if moves && is_implicit && variables.contains(&symbol) && has_entry && seen.insert(symbol) {
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

/// Device code that its C++ cannot express.
fn report_untranslatable(cx: &mut PassCx<'_>, texts: &[TextRange]) {
    let headline = match cx.program.language() {
        Language::C => "device code cannot have this, as it is compiled as C++",
        Language::Cxx => "device code cannot have this, as not all compilers for devices take it",
    };
    for (at, reason) in cx.program.untranslatable.clone() {
        if texts.iter().any(|text| text.contains_range(at)) {
            let diagnostic = cx
                .diagnostic(Code::UnsupportedStatement, at, headline)
                .with_note(reason.to_string());
            cx.diagnostics.push(diagnostic);
        }
    }
}

fn is_declared(program: &Program, name: &str) -> bool {
    prototypes(&program.items).any(|(_, declared)| declared == name)
}
