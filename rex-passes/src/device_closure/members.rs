//! Member functions of the device file's classes that stay host code.

use indexmap::IndexSet;
use rex_ir::item::FunctionId;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolId;
use rustc_hash::FxHashSet;

/// The member functions that launch kernels or move data, or that need what the device file has not.
pub(super) fn of_host(
    program: &Program,
    functions: &IndexSet<FunctionId>,
    variables: &IndexSet<SymbolId>,
) -> IndexSet<FunctionId> {
    let reached_names: FxHashSet<&str> = functions
        .iter()
        .map(|id| &program.functions[*id])
        .filter(|function| function.class.is_none())
        .map(|function| function.name.as_str())
        .collect();
    let is_defined = |name: &str| {
        let mut named = program.functions_named(name);
        named.any(|(_, function)| function.class.is_none())
    };
    // Whether nothing on the device is known to call a function that names functions or variables of the file which the device has not.
    let lacks_something = |id: FunctionId| {
        let function = &program.functions[id];
        let mut calls = function.calls.iter();
        let mut globals = function.globals.iter();
        !functions.contains(&id)
            && (calls.any(|call| is_defined(&call.name) && !reached_names.contains(&*call.name))
                || globals.any(|global| {
                    let is_member = program.static_members.contains_key(global);
                    !variables.contains(global) && (is_member || !program.is_external(*global))
                }))
    };
    program
        .functions
        .iter()
        .filter(|(_, function)| function.class.is_some())
        .map(|(id, _)| id)
        .filter(|id| {
            let launches = program.holds_target_constructs(*id) && !functions.contains(id);
            launches || lacks_something(*id)
        })
        .collect()
}
