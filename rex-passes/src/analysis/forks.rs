//! Functions that begin parallel regions.
//!
//! Called in sequential code of a team, such a function is called by all its threads, in a form of its own. Members, templates, functions that call themselves and names that several namespaces have, have no such form: one thread
//! executes them with all parallel regions inside.

use std::collections::BTreeSet;

use rex_ir::item::{Function, FunctionId};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::Callee;
use rex_syntax::TextRange;
use rex_syntax::omp::directive::Leaf;
use smol_str::SmolStr;

/// The functions of a program's device code that begin parallel regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forks {
    names: BTreeSet<SmolStr>,
}

impl Forks {
    /// Reads the device code of a program.
    pub fn of(program: &Program) -> Forks {
        let functions: Vec<&Function> = program
            .device_code
            .functions
            .iter()
            .map(|device| &program.functions[device.function])
            .collect();
        let mut names: BTreeSet<SmolStr> = functions
            .iter()
            .filter(|function| {
                program.constructs.iter().any(|(_, construct)| {
                    construct.leaves.first() == Some(&Leaf::Parallel)
                        && function.body.contains_range(construct.range)
                })
            })
            .map(|function| function.name.clone())
            .collect();
        loop {
            let reached = Forks {
                names: names.clone(),
            };
            let more: Vec<SmolStr> = functions
                .iter()
                .filter(|function| !names.contains(&function.name))
                .filter(|function| reached.calls_in(program, function.body).next().is_some())
                .map(|function| function.name.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            names.extend(more);
        }
        names.retain(|name| {
            functions
                .iter()
                .filter(|function| function.name == *name)
                .all(|function| has_team_form(program, function))
        });
        // One name in several namespaces.
        names.retain(|name| {
            let mut same = functions.iter().filter(|function| function.name == *name);
            let first = same.next().map(|function| &function.namespaces);
            same.all(|function| Some(&function.namespaces) == first)
        });
        Forks { names }
    }

    /// Whether a function of this name has a form for a team.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The name of a function's form for a team, with the namespaces that it stands in.
    pub fn form(&self, program: &Program, name: &str) -> Option<SmolStr> {
        let function = program
            .device_code
            .functions
            .iter()
            .map(|device| &program.functions[device.function])
            .find(|function| function.name == name)?;
        let namespaces: Vec<String> = function
            .namespaces
            .iter()
            .map(|namespace| format!("{namespace}::"))
            .collect();
        let form = namer::team_form(name);
        Some(SmolStr::from(format!("{}{form}", namespaces.concat())))
    }

    /// The places in a range, outside its parallel regions, where such a function is called.
    pub fn calls_in<'p>(
        &self,
        program: &'p Program,
        range: TextRange,
    ) -> impl Iterator<Item = TextRange> + use<'p> {
        let mut places: Vec<TextRange> = program
            .functions
            .iter()
            .flat_map(|(_, function)| &function.calls)
            .chain(program.regions.iter().flat_map(|(_, region)| &region.calls))
            .filter(|call| {
                call.callee == Callee::Function
                    && self.names.contains(&call.name)
                    && range.contains_range(call.at)
                    && program.text(call.at) == call.name
            })
            .map(|call| call.at)
            .filter(|at| {
                !program.constructs.iter().any(|(_, construct)| {
                    range.contains_range(construct.range)
                        && construct.range != range
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

fn has_team_form(program: &Program, function: &Function) -> bool {
    function.class.is_none()
        && !function.is_template()
        && !function.name.starts_with("operator")
        && function.statics.is_empty()
        && !calls_itself(program, &function.name)
}

/// Whether a function reaches itself by calls.
fn calls_itself(program: &Program, name: &SmolStr) -> bool {
    let mut seen: BTreeSet<&SmolStr> = BTreeSet::new();
    let mut pending = vec![name];
    while let Some(next) = pending.pop() {
        let callees = program
            .functions
            .iter()
            .filter(|(_, function)| function.name == *next)
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
