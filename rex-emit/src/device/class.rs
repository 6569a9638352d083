//! Types of the device file: classes with what device code needs of their members.
//!
//! Functions in class bodies can be called on both sides. One that launches kernels or moves data, or that needs what the device file has not, is host code: its declaration stays, and a region becomes a member function
//! of its own, so that private members, member types and calls of other members keep their meaning.

use std::collections::BTreeSet;

use rex_ir::item::FunctionId;
use rex_ir::program::{DeviceFunction, Program};
use rex_ir::symbol::SymbolId;
use rex_syntax::edit::{EditConflict, EditSet};
use rex_syntax::kind::Kind;
use rex_syntax::layout::indent_at;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex};

use super::{function, instances, kernel, references, statics};

/// Marks a function that host and device can call.
pub(super) const BOTH_SIDES: &str = "__host__ __device__ ";

/// The text of a type declaration.
pub(super) fn print(
    program: &Program,
    range: TextRange,
    virtuals_of_host: &BTreeSet<&str>,
) -> Result<String, EditConflict> {
    let mut edits = EditSet::new();
    let mut replaced = TextRange::empty(range.start());
    // Functions whose text is not copied as it stands.
    let mut covered: Vec<TextRange> = Vec::new();
    for (id, function) in program.functions.iter() {
        let is_inside = function.in_class && range.contains_range(function.range);
        if !is_inside || replaced.contains_range(function.range) {
            continue;
        }
        let start = function.specifiers.start() - range.start();
        let instantiator = program.instances.of_function(id);
        let is_of_host = is_of_host(program, id);
        let device = function::of(program, id);
        let has_replacements = |device: &&DeviceFunction| {
            !device.body.replacements.is_empty() || !device.words.is_empty()
        };
        if let Some(instantiator) = instantiator {
            replaced = function.range;
            covered.push(replaced);
            let text = instances::text(program, instantiator, replaced)?;
            edits.replace(replaced - range.start(), text);
        } else if is_of_host {
            replaced = TextRange::new(function.declarator_end, function.range.end());
            covered.push(replaced);
            edits.replace(replaced - range.start(), ";");
        } else if let Some(device) = device.filter(has_replacements) {
            replaced = function.range;
            covered.push(replaced);
            let text = function::print(program, device, BOTH_SIDES);
            edits.replace(replaced - range.start(), text);
        } else {
            if !virtuals_of_host.contains(&*function.name) {
                edits.insert(start, 0, BOTH_SIDES);
            }
            if let Some((at, lines)) = references::at_body(program, function) {
                edits.insert(at - range.start(), 0, lines);
            }
            covered.push(function.range);
            for (at, word) in references::unqualified(program, &function.globals, function.range) {
                edits.replace(at - range.start(), word.to_string());
            }
        }
        let team = device.and_then(|device| function::print_team_member(program, device));
        if let Some(text) = team {
            edits.insert(function.range.end() - range.start(), 0, text);
        }
    }
    let variables = &program.device_code.variables;
    let globals: Vec<SymbolId> = variables.iter().map(|(symbol, _)| *symbol).collect();
    for (place, text) in statics::definitions_of_templates(program, range) {
        edits.replace(place - range.start(), text);
        covered.push(place);
    }
    for left_out in statics::values_of_host(program, range) {
        edits.delete(left_out - range.start());
    }
    covered.extend(statics::declared_in(program, range));
    for (at, word) in statics::words(program, &globals, range) {
        if !covered.iter().any(|covered| covered.contains_range(at)) {
            edits.replace(at - range.start(), word.to_string());
        }
    }
    for method in &program.method_declarations {
        if range.contains_range(*method) && !replaced.contains_range(*method) {
            let is_of_host = !virtuals_of_host.is_empty()
                && lex::identifiers(program.source(), *method)
                    .any(|at| virtuals_of_host.contains(program.text(at)));
            if !is_of_host {
                edits.insert(method.start() - range.start(), 0, BOTH_SIDES);
            }
            if let Some((at, text)) = declared_team_form(program, *method) {
                edits.insert(at.end() - range.start(), 0, text);
            }
        }
    }
    if program.language() == Language::C {
        // Types inside are defined in front.
        for (at, word) in &program.conversions {
            if range.contains_range(*at) {
                let place = *at - range.start();
                match at.is_empty() {
                    true => edits.insert(place.start(), 0, word.to_string()),
                    false => edits.replace(place, word.to_string()),
                }
            }
        }
    }
    for (body, declarations) in members(program, range) {
        let end = body.end() - TextSize::of('}');
        let lines = declarations.join("\n");
        edits.insert(end - range.start(), 1, format!("\npublic:\n{lines}\n"));
    }
    let text = edits.apply(program.text(range).as_bytes())?;
    Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
}

/// Whether a member function cannot be device code.
fn is_of_host(program: &Program, id: FunctionId) -> bool {
    program.holds_target_constructs(id) || lacks_something(program, id)
}

/// The names of virtual functions of which some are host code: those that override each other must be of one kind.
pub(super) fn virtual_functions_of_host(program: &Program) -> BTreeSet<&str> {
    let is_of_host =
        |id: FunctionId| program.instances.of_function(id).is_some() || is_of_host(program, id);
    program
        .functions
        .iter()
        .filter(|(id, function)| function.is_virtual() && is_of_host(*id))
        .map(|(_, function)| &*function.name)
        .collect()
}

/// The place of a method's declaration, template head included, and the declaration of its form for a team.
fn declared_team_form(program: &Program, method: TextRange) -> Option<(TextRange, String)> {
    let (_, function) = program.functions.iter().find(|(_, function)| {
        let record = function.membership.as_ref().and_then(|it| it.record);
        let body = record.and_then(|record| program.types.records[record].body);
        body.is_some_and(|body| body.contains_range(method))
            && lex::identifiers(program.source(), method)
                .any(|at| *program.text(at) == *function.name)
    })?;
    let node = program.unit.tree.root().smallest_at(method);
    let whole = node
        .ancestors()
        .find(|around| around.kind() == Kind::TemplateDeclaration)
        .map(|template| template.range())
        .filter(|template| {
            let body = lex::tokens(program.source(), *template);
            body.into_iter()
                .all(|token| token.text(program.source()) != "{")
        })
        .unwrap_or(method);
    let text = function::declare_team_form(program, &function.name, whole)?;
    let indent = indent_at(program.source(), whole.start());
    Some((whole, format!("\n{indent}{text}")))
}

/// Whether nothing on the device is known to call a function that names functions or variables of the file that the device has not.
fn lacks_something(program: &Program, id: FunctionId) -> bool {
    let reached = &program.device_code.functions;
    let is_reached = |id| reached.iter().any(|device| device.function == id);
    if is_reached(id) {
        return false;
    }
    let function = &program.functions[id];
    let lacks_function = function.calls.iter().any(|call| {
        let mut named = program
            .functions
            .iter()
            .filter(|(_, other)| other.name == call.name && other.class.is_none())
            .peekable();
        named.peek().is_some() && !named.any(|(other, _)| is_reached(other))
    });
    let variables = &program.device_code.variables;
    let lacks_variable = function.globals.iter().any(|global| {
        let is_member = program.static_members.contains_key(global);
        !variables.iter().any(|(variable, _)| variable == global)
            && (is_member || !program.is_external(*global))
    });
    lacks_function || lacks_variable
}

/// What kernels need in class bodies: the member functions that have their bodies, and the rights of friends; and the objects of static members.
fn members(program: &Program, range: TextRange) -> Vec<(TextRange, Vec<String>)> {
    let mut members: Vec<(TextRange, Vec<String>)> = Vec::new();
    let mut add = |body: TextRange, declaration: String| match members
        .iter_mut()
        .find(|(known, _)| *known == body)
    {
        Some((_, declarations)) => declarations.push(declaration),
        None => members.push((body, vec![declaration])),
    };
    let records = program.types.records.values();
    let befriending: Vec<TextRange> = records
        .filter(|record| !record.friends.is_empty())
        .filter_map(|record| record.body.filter(|body| range.contains_range(*body)))
        .collect();
    for (_, kernel) in program.kernels.iter() {
        for body in &befriending {
            if let Some(declaration) = kernel::friend_declaration(program, kernel, *body) {
                add(*body, declaration);
            }
        }
        let Some(body) = kernel::class_body(program, kernel) else {
            continue;
        };
        if !range.contains_range(body) {
            continue;
        }
        let declaration = match kernel::is_defined_in_class(program, kernel) {
            true => kernel::member_definition(program, kernel),
            false => kernel::member_declaration(program, kernel),
        };
        add(body, declaration);
    }
    for (body, declarations) in statics::declarations(program, range) {
        for declaration in declarations {
            add(body, declaration);
        }
    }
    members
}
