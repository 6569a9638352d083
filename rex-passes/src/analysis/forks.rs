//! Functions that begin parallel regions.
//!
//! Called in sequential code of a team, such a function is called by all its threads, in a form of its own. Functions that call themselves, virtual ones, those of local classes, those with static variables, and names that several
//! namespaces have or that members share with other functions, have no such form: one thread executes them with all parallel regions inside.

use std::collections::BTreeSet;

use rex_ir::item::{Function, FunctionId};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{Call, Callee};
use rex_ir::ty::TypeKind;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, places};
use smol_str::SmolStr;

/// The functions of a program's device code that begin parallel regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forks {
    names: BTreeSet<SmolStr>,
    /// The calls of functions of these names in functions and regions, in source order.
    calls: Vec<Call>,
}

impl Forks {
    /// Reads the device code of a program.
    pub fn of(program: &Program) -> Forks {
        let devices = program.device_code.functions.iter();
        let functions: Vec<&Function> = devices
            .map(|device| &program.functions[device.function])
            .collect();
        let mut forks = Forks {
            names: functions
                .iter()
                .filter(|function| {
                    program
                        .constructs_in(function.body)
                        .any(|(_, construct)| construct.leaves.first() == Some(&Leaf::Parallel))
                })
                .map(|function| function.name.clone())
                .collect(),
            calls: Vec::new(),
        };
        if forks.names.is_empty() {
            return forks;
        }
        let all = calls(program);
        let mut n_names = 0;
        while n_names != forks.names.len() {
            n_names = forks.names.len();
            forks.keep_calls(&all);
            let more: Vec<SmolStr> = functions
                .iter()
                .filter(|function| !forks.names.contains(&function.name))
                .filter(|function| forks.calls_in(program, function.body).next().is_some())
                .map(|function| function.name.clone())
                .collect();
            forks.names.extend(more);
        }
        forks.names.retain(|name| {
            let mut named = program.device_functions_named(name);
            named.all(|device| has_team_form(program, device.function))
        });
        // One name in several namespaces, or of members and others.
        forks.names.retain(|name| {
            let named = program.device_functions_named(name);
            let mut same = named.map(|device| &program.functions[device.function]);
            let home = |function: &Function| match function.class {
                Some(_) => None,
                None => Some(function.namespaces.clone()),
            };
            let first = same.next().map(home);
            same.all(|function| Some(home(function)) == first)
        });
        forks.keep_calls(&all);
        forks
    }

    /// Takes the calls of its names from all calls.
    fn keep_calls(&mut self, all: &[&Call]) {
        let named = all.iter().filter(|call| self.names.contains(&call.name));
        self.calls = named.map(|call| (*call).clone()).collect();
    }

    /// Whether a function of this name has a form for a team.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The functions of this name.
    pub fn named<'p>(
        &self,
        program: &'p Program,
        name: &str,
    ) -> impl Iterator<Item = &'p Function> {
        program
            .device_functions_named(name)
            .map(|device| &program.functions[device.function])
    }

    /// The name of a function's form for a team, with the namespaces that it stands in unless it is a member.
    pub fn form(&self, program: &Program, name: &str) -> Option<SmolStr> {
        let function = self.named(program, name).next()?;
        if function.class.is_some() {
            return Some(namer::team_form(name));
        }
        let namespaces: Vec<String> = function
            .namespaces
            .iter()
            .map(|namespace| format!("{namespace}::"))
            .collect();
        let form = namer::team_form(name);
        Some(SmolStr::from(format!("{}{form}", namespaces.concat())))
    }

    /// Whether a call of one of the names calls a function of the unit.
    fn can_be_meant(&self, program: &Program, call: &Call) -> bool {
        let is_member = |function: &Function| function.class.is_some();
        let of_members = self.named(program, &call.name).any(is_member);
        match call.callee {
            // Of a free function, or of another member of the same object.
            Callee::Function => true,
            Callee::Member => of_members && has_known_class(program, call.at),
        }
    }

    /// The places in a range, outside its parallel regions, where such a function is called.
    pub fn calls_in<'p>(
        &self,
        program: &'p Program,
        range: TextRange,
    ) -> impl Iterator<Item = TextRange> + use<'p> {
        let mut places: Vec<TextRange> = places::inside(&self.calls, range, |call| call.at)
            .filter(|call| program.text(call.at) == call.name && self.can_be_meant(program, call))
            .map(|call| call.at)
            .filter(|at| {
                !program.constructs_in(range).any(|(_, construct)| {
                    construct.range != range
                        && construct.range.contains_range(*at)
                        && is_executed_by_threads(construct.leaves.first().copied())
                })
            })
            .collect();
        places.sort_by_key(|at| at.start());
        places.dedup();
        places.into_iter()
    }
}

/// The calls of all functions and regions, in source order.
fn calls(program: &Program) -> Vec<&Call> {
    let functions = program.functions.values();
    let regions = program.regions.values();
    let mut calls: Vec<&Call> = functions
        .flat_map(|function| &function.calls)
        .chain(regions.flat_map(|region| &region.calls))
        .collect();
    calls.sort_by_key(|call| call.at.start());
    calls
}

/// Whether the statement of a construct in sequential code is executed by single threads.
fn is_executed_by_threads(leaf: Option<Leaf>) -> bool {
    matches!(
        leaf,
        Some(
            Leaf::Parallel
                | Leaf::For
                | Leaf::Simd
                | Leaf::Loop
                | Leaf::Taskloop
                | Leaf::Critical
                | Leaf::Atomic
        )
    )
}

fn has_team_form(program: &Program, id: FunctionId) -> bool {
    let function = &program.functions[id];
    let is_callable = match &function.class {
        Some(class) => is_plain_member(program, id, class),
        None => true,
    };
    is_callable
        && !function.name.starts_with("operator")
        && function.statics.is_empty()
        && !calls_itself(program, &function.name)
}

/// Whether a member is no constructor, destructor or virtual function, and its class a class of the file's own that device code can add members to.
fn is_plain_member(program: &Program, id: FunctionId, class: &str) -> bool {
    let function = &program.functions[id];
    let body = function
        .membership
        .as_ref()
        .and_then(|membership| program.types.records[membership.record?].body);
    let Some(body) = body else { return false };
    function.name != *class
        && !function.name.starts_with('~')
        && program.function_at(body).is_none()
        && program.instances.of_function(id).is_none()
        && !program.holds_target_constructs(id)
        && !function.is_virtual()
}

/// Whether the object of a member call is of a class of the file, as far as can be seen.
fn has_known_class(program: &Program, name: TextRange) -> bool {
    let root = program.unit.tree.root();
    let object = root
        .smallest_at(name)
        .ancestors()
        .find(|node| node.kind() == Kind::FieldExpression)
        .and_then(|member| member.field(Field::Argument));
    let Some(object) = object.filter(|object| object.kind() == Kind::Identifier) else {
        return true;
    };
    let symbol = program
        .scopes
        .resolve(&program.symbols, object.text(), object.range());
    let Some(symbol) = symbol else { return true };
    let types = &program.types;
    let mut ty = types.object_type(program.symbols[symbol].ty);
    while let TypeKind::Pointer(to) | TypeKind::Array { element: to, .. } =
        types.get(types.desugar(ty)).kind
    {
        ty = types.object_type(to);
    }
    match types.record(ty) {
        Some(record) => types.records[record].body.is_some(),
        None => !types.spell(ty).contains("std::"),
    }
}

/// Whether a function reaches itself by calls.
fn calls_itself(program: &Program, name: &SmolStr) -> bool {
    let mut seen: BTreeSet<&SmolStr> = BTreeSet::new();
    let mut pending = vec![name];
    while let Some(next) = pending.pop() {
        let callees = program
            .functions_named(next)
            .flat_map(|(_, function)| &function.calls)
            .map(|call| &call.name);
        for callee in callees {
            if callee == name {
                return true;
            }
            if seen.insert(callee) {
                pending.push(callee);
            }
        }
    }
    false
}

/// The functions of the device code with a form for a team.
pub fn functions(program: &Program, forks: &Forks) -> Vec<FunctionId> {
    program
        .device_code
        .functions
        .iter()
        .map(|device| device.function)
        .filter(|function| forks.contains(&program.functions[*function].name))
        .collect()
}
