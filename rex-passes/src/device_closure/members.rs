//! Member functions of the device file's classes that stay host code, and values of members that do.

use indexmap::IndexSet;
use rex_ir::item::FunctionId;
use rex_ir::program::Program;
use rex_ir::symbol::SymbolId;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashSet;

use super::constants::is_of_host_type;

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
                || globals.any(|global| !variables.contains(global)))
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

/// The values of members, with what stands before them, that name variables which no device has, in classes that `texts` of device code do not name.
pub(super) fn values_of_host(program: &Program, texts: &[TextRange]) -> Vec<TextRange> {
    if program.language() != Language::Cxx {
        return Vec::new();
    }
    let source = program.source();
    let members = program.unit.tree.nodes().filter(|node| {
        node.kind() == Kind::FieldDeclaration && !node.fields(Field::DefaultValue).is_empty()
    });
    let values = members.flat_map(|member| {
        let values = member.fields(Field::DefaultValue).into_iter();
        values.map(move |value| (member, value))
    });
    let is_of_host = |value: &Node<'_>| {
        let mut names = lex::identifiers(source, value.range());
        names.any(|at| is_of_host_type(program, at))
    };
    let of_host: Vec<(Node<'_>, Node<'_>)> =
        values.filter(|(_, value)| is_of_host(value)).collect();
    if of_host.is_empty() {
        return Vec::new();
    }
    let texts = texts
        .iter()
        .flat_map(|text| lex::identifiers(source, *text));
    let named: FxHashSet<&str> = texts.map(|at| program.text(at)).collect();
    let places = of_host.into_iter().filter_map(|(member, value)| {
        let class = member.parent()?.parent()?.field(Field::Name)?;
        let declarators = member.fields(Field::Declarator).into_iter();
        let end = declarators
            .map(|declarator| declarator.range().end())
            .filter(|end| *end <= value.range().start())
            .max()?;
        (!named.contains(class.text())).then(|| TextRange::new(end, value.range().end()))
    });
    places.collect()
}
