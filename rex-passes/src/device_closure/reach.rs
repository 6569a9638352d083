//! What device code reaches, call by call.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use rex_ir::headers;
use rex_ir::item::{Function, FunctionId, prototypes};
use rex_ir::library;
use rex_ir::program::Program;
use rex_ir::region::{Call, Callee};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::RecordId;
use rex_syntax::lex;
use rex_syntax::source::Language;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::{constants, objects, reductions, variables};
use crate::analysis::device_functions;

/// What device code reaches.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) functions: IndexSet<FunctionId>,
    pub(super) variables: IndexSet<SymbolId>,
    pub(super) header_functions: IndexSet<SmolStr>,
    pub(super) external_functions: IndexSet<SmolStr>,
    /// Calls that nothing in the unit answers.
    pub(super) missing: Vec<Call>,
    /// Those of them in functions that are perhaps never called, with the function.
    pub(super) perhaps_missing: Vec<(Call, FunctionId)>,
    /// How well it is known of each function.
    pub(super) known: FxHashMap<FunctionId, Certainty>,
}

/// How well it is known that device code reaches something: names alone do not say which function of several is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    Perhaps,
    /// By what makes, copies and ends objects that device code has: the compiler knows which of a class's functions do.
    ByObjects,
    Surely,
}

/// The search for it.
pub(super) struct Search<'p> {
    pub(super) program: &'p Program,
    pub(super) reached: Reached,
    /// Calls still to follow.
    pending: Vec<(Call, Certainty)>,
    /// Of what is being followed.
    pub(super) certainty: Certainty,
    /// How well it is known of each function.
    known: FxHashMap<FunctionId, Certainty>,
    /// Classes whose constructors and destructors are taken.
    pub(super) constructed: FxHashSet<RecordId>,
    followed: FxHashMap<SmolStr, Certainty>,
    /// Names of classes and of their member functions.
    members: FxHashSet<&'p str>,
    /// Names of functions that the unit declares.
    declared: BTreeSet<&'p str>,
}

/// What the device code of a program reaches.
pub(super) fn reached(program: &Program) -> Reached {
    let mut search = Search::new(program);
    search.begin();
    search.run();
    let Search {
        mut reached, known, ..
    } = search;
    let is_sure = |function: &FunctionId| known.get(function) == Some(&Certainty::Surely);
    let (surely, perhaps) = std::mem::take(&mut reached.perhaps_missing)
        .into_iter()
        .partition(|(_, function)| is_sure(function));
    reached.perhaps_missing = perhaps;
    let surely: Vec<(Call, FunctionId)> = surely;
    reached.known = known;
    for (call, _) in surely {
        if !reached.missing.contains(&call) {
            reached.missing.push(call);
        }
    }
    reached
}

/// The names of the functions that the unit declares.
pub(super) fn declared(program: &Program) -> BTreeSet<&str> {
    let declared = prototypes(&program.items);
    declared.map(|(_, name)| name.as_str()).collect()
}

impl<'p> Search<'p> {
    fn new(program: &'p Program) -> Search<'p> {
        let records = program.types.records.values();
        let members = records.flat_map(|record| {
            let methods = record.methods.iter();
            let methods = methods.map(|method| method.name.as_str());
            methods.chain([record.name.as_str()])
        });
        Search {
            program,
            reached: Reached::default(),
            pending: Vec::new(),
            certainty: Certainty::Surely,
            known: FxHashMap::default(),
            constructed: FxHashSet::default(),
            followed: FxHashMap::default(),
            members: members.collect(),
            declared: declared(program),
        }
    }

    /// What regions, directives and declarations name.
    fn begin(&mut self) {
        let program = self.program;
        // Other files may call these.
        for id in &program.device_functions {
            self.take(*id);
        }
        for region in program.regions.values() {
            self.call_all(&region.calls);
            reductions::call(self, program.constructs[region.construct].range);
        }
        for lambda in &program.instances.closures {
            self.call_all(&lambda.calls);
        }
        let regions = program.regions.values();
        let lambdas = program.instances.closures.iter();
        let variables = &mut self.reached.variables;
        variables.extend(regions.flat_map(|region| region.device_globals.iter().copied()));
        variables.extend(lambdas.flat_map(|lambda| lambda.globals.iter().copied()));
        variables.extend(program.declare_target.keys().copied());
        self.certainty = Certainty::Perhaps;
        if !program.regions.is_empty() || !program.device_functions.is_empty() {
            self.take_implicit_functions();
            self.take_names_of_headers();
        }
        constants::add_of_types(self);
    }

    /// Follows a call later.
    pub(super) fn call(&mut self, call: Call) {
        self.pending.push((call, self.certainty));
    }

    fn call_all<'c>(&mut self, calls: impl IntoIterator<Item = &'c Call>) {
        let certainty = self.certainty;
        let calls = calls.into_iter().cloned();
        self.pending.extend(calls.map(|call| (call, certainty)));
    }

    /// Operators, constructors and destructors, as nothing names these where they are used: those outside of classes, and those in
    /// classes that lead to directives or to kernels of templates. Others come along with their class.
    fn take_implicit_functions(&mut self) {
        let program = self.program;
        let host_classes = host_classes(program);
        let leading = leading_to_directives(program);
        for (id, function) in program.functions.iter() {
            let class = function.class.as_ref();
            let is_implicit = function.name.starts_with("operator")
                || function.name.starts_with('~')
                || class.is_some_and(|class| is_name_of(class, &function.name));
            let is_host_class = class.is_some_and(|class| host_classes.contains(class));
            let leads = leading.contains(&id) || program.instances.of_function(id).is_some();
            let is_text_of_class = function.in_class && !leads;
            if is_implicit && !is_text_of_class && !is_host_class {
                self.take(id);
            }
        }
    }

    /// Functions and variables of the unit that headers name which the device file includes as they are: some of the unit's text may be of other headers.
    fn take_names_of_headers(&mut self) {
        let program = self.program;
        let named = headers::qualified_names_included(program);
        if named.is_empty() {
            return;
        }
        let is_named = |namespace: Option<&str>, name: &str| {
            let last = namespace.and_then(|namespace| namespace.rsplit("::").next());
            last.is_some_and(|last| named.contains(&(last, name)))
        };
        for (id, function) in program.functions.iter() {
            let namespace = function.namespaces.last().map(SmolStr::as_str);
            if is_named(namespace, &function.name) && function.class.is_none() {
                self.take(id);
            }
        }
        let variables = program.symbols.iter().filter(|(_, symbol)| {
            let namespace = symbol.qualifier.strip_suffix("::");
            symbol.kind == SymbolKind::Global && is_named(namespace, &symbol.name)
        });
        let variables: Vec<SymbolId> = variables.map(|(id, _)| id).collect();
        self.reached.variables.extend(variables);
    }

    /// Follows calls, initializers and the objects that texts make until nothing is left.
    fn run(&mut self) {
        let program = self.program;
        let regions = program.regions.values();
        let regions = regions.map(|region| program.constructs[region.construct].range);
        let mut regions = regions.collect::<Vec<_>>().into_iter();
        let (mut n_read, mut n_scanned) = (0, 0);
        loop {
            while let Some((call, certainty)) = self.pending.pop() {
                self.certainty = certainty;
                self.follow(&call);
            }
            self.certainty = Certainty::Perhaps;
            if let Some(symbol) = self.reached.variables.get_index(n_read).copied() {
                n_read += 1;
                variables::read_initializer(self, symbol);
                let ty = program.symbols[symbol].ty;
                objects::construct(self, program.types.innermost_element(ty));
                continue;
            }
            // The texts of device code one after the other: the regions, then the functions as they are found.
            let text = regions.next().or_else(|| {
                let function = self.reached.functions.get_index(n_scanned)?;
                n_scanned += 1;
                Some(program.functions[*function].range)
            });
            let Some(text) = text else { break };
            objects::construct_in(self, text);
        }
    }

    /// Takes a function, unless it is the host's: whatever names such a function, it is none of the device.
    pub(super) fn take(&mut self, id: FunctionId) {
        if !self.program.holds_target_constructs(id) {
            self.take_as_it_is(id);
        }
    }

    fn take_as_it_is(&mut self, id: FunctionId) {
        let is_new = self.reached.functions.insert(id);
        let known = self.known.entry(id).or_insert(Certainty::Perhaps);
        let is_surer = self.certainty > *known;
        *known = self.certainty.max(*known);
        if !is_new && !is_surer {
            return;
        }
        let function = &self.program.functions[id];
        self.call_all(&function.calls);
        reductions::call(self, function.range);
        let symbols = &self.program.symbols;
        // Variables that all functions share.
        let globals = function.globals.iter().copied().filter(|symbol| {
            let kind = symbols[*symbol].kind;
            matches!(kind, SymbolKind::Global | SymbolKind::StaticField)
        });
        self.reached.variables.extend(globals);
    }

    fn follow(&mut self, call: &Call) {
        // Headers keep their text.
        let unit = &self.program.unit;
        let has_device_name = library::device_name(&call.name).is_some()
            && !headers::project_declares_function(unit, &call.name)
            && !unit.macros.is_own_at(&call.name, call.at.start());
        let is_replaced = has_device_name && self.program.text(call.at).ends_with(&*call.name);
        if has_device_name && !is_replaced && named(self.program, &call.name).next().is_none() {
            return self.take_from_elsewhere(call);
        }
        let known = self.followed.get(&call.name);
        if known.is_some_and(|known| *known >= self.certainty) {
            return;
        }
        self.followed.insert(call.name.clone(), self.certainty);
        let program = self.program;
        if named(program, &call.name).nth(1).is_some() {
            self.certainty = Certainty::Perhaps;
        }
        let mut found = false;
        for (id, _) in named(program, &call.name) {
            found = true;
            self.take(id);
        }
        if !found && self.may_be_of_project(call) {
            self.take_from_elsewhere(call);
        }
        if found || is_replaced || device_functions::is_known(&call.name) {
            // The device has it from elsewhere, and a prototype in a header of C would say that C++ names it.
            if !found
                && program.language() == Language::C
                && headers::project_declares_function(unit, &call.name)
            {
                self.reached.header_functions.insert(call.name.clone());
            }
            self.take_with_regions(&call.name);
        } else if self.may_be_function(call) {
            self.take_from_elsewhere(call);
        }
    }

    /// Whether a name that is no function of the unit may be one of another file. A variable of function type or a functor, a type (constructor), a
    /// member, a macro: there is nothing to copy.
    fn may_be_function(&self, call: &Call) -> bool {
        let program = self.program;
        let resolved = program
            .scopes
            .resolve(&program.symbols, &call.name, call.at);
        resolved.is_none_or(|id| program.symbols[id].kind == SymbolKind::Function)
            && call.callee != Callee::Member
            && !self.members.contains(call.name.as_str())
            && program.macro_at(&call.name, call.at).is_none()
    }

    /// Whether a call with the name of a library function may be one of a function that a header of the project defines in a namespace.
    fn may_be_of_project(&self, call: &Call) -> bool {
        let program = self.program;
        let is_of_library = self.program.text(call.at).starts_with("std::");
        program.language() == Language::Cxx
            && device_functions::is_known(&call.name)
            && !is_of_library
            && headers::project_definition(&program.unit, &call.name).is_some()
    }

    /// Takes a function of a header or of another file.
    fn take_from_elsewhere(&mut self, call: &Call) {
        let program = self.program;
        if let Some(declaration) = headers::project_definition(&program.unit, &call.name) {
            self.reached.header_functions.insert(call.name.clone());
            let text = &declaration.text;
            let names = lex::identifiers(text, lex::whole(text));
            let calls = names.map(|at| Call::of_function(&text[at], call.at));
            self.call_all(calls.collect::<Vec<_>>().iter());
            return;
        }
        if program.external_device_functions.contains(&call.name) {
            self.reached.external_functions.insert(call.name.clone());
            return;
        }
        if self.declared.contains(call.name.as_str()) {
            self.reached.external_functions.insert(call.name.clone());
        }
        let is_called_in_text = program.text(call.at) == call.name;
        if !is_called_in_text || self.is_compiled_when_used(call) {
            return;
        }
        let around = program.function_index.around(call.at);
        match around.filter(|_| self.certainty < Certainty::Surely) {
            Some(function) => self.reached.perhaps_missing.push((call.clone(), function)),
            None => self.reached.missing.push(call.clone()),
        }
    }

    /// Whether a call that is perhaps never made stands in a function that the compiler translates for those who call it.
    fn is_compiled_when_used(&self, call: &Call) -> bool {
        let around = |function: &Function| function.range.contains_range(call.at);
        let mut functions = self.program.functions.values();
        self.certainty < Certainty::Surely
            && functions.any(|function| {
                around(function) && (function.class.is_some() || function.is_template())
            })
    }

    /// Device code may call a function with target constructs, if there is no other of the name: the thread that calls executes it.
    fn take_with_regions(&mut self, name: &str) {
        let program = self.program;
        if self.certainty > Certainty::Perhaps
            && named(program, name).all(|(id, _)| program.holds_target_constructs(id))
        {
            for (id, _) in named(program, name) {
                self.take_as_it_is(id);
            }
        }
    }
}

/// The functions that a call of a name may mean.
fn named<'p>(
    program: &'p Program,
    name: &str,
) -> impl Iterator<Item = (FunctionId, &'p rex_ir::item::Function)> {
    program
        .functions_named(name)
        .filter(|(_, function)| !function.is_main)
}

/// Whether a class has a name, be it a specialization of a template: `Range<int>`.
fn is_name_of(class: &str, name: &str) -> bool {
    let own = class.find('<').map_or(class, |at| &class[..at]);
    own.trim_end() == name
}

/// The functions that have directives of OpenMP in them, and those that call one of their names.
fn leading_to_directives(program: &Program) -> FxHashSet<FunctionId> {
    let mut callers: FxHashMap<&str, Vec<FunctionId>> = FxHashMap::default();
    for (id, function) in program.functions.iter() {
        for call in &function.calls {
            callers.entry(&call.name).or_default().push(id);
        }
    }
    let constructs = program.constructs.values();
    let mut leading = FxHashSet::default();
    let mut pending: Vec<FunctionId> = constructs
        .filter_map(|construct| program.function_index.around(construct.range))
        .collect();
    while let Some(id) = pending.pop() {
        if leading.insert(id) {
            let name = program.functions[id].name.as_str();
            pending.extend(callers.remove(name).unwrap_or_default());
        }
    }
    leading
}

/// Classes that work with the device: their objects are the host's, and so are constructors and the like, unless named.
fn host_classes(program: &Program) -> IndexSet<SmolStr> {
    let of_regions = program.regions.values().map(|region| region.function);
    let of_data = program.data_constructs.values();
    let of_data = of_data.map(|construct| construct.function);
    of_regions
        .chain(of_data)
        .filter_map(|function| program.functions[function].class.clone())
        .collect()
}
