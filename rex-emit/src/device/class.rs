//! Types of the device file: classes with what device code needs of their members.
//!
//! Functions in class bodies can be called on both sides. One that launches kernels or moves data, or that needs what the device file has not, is host code: its declaration stays, and a region becomes a member function
//! of its own, so that private members, member types and calls of other members keep their meaning.

use rex_ir::item::FunctionId;
use rex_ir::program::Program;
use rex_syntax::edit::{EditConflict, EditSet};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize};

use super::body::BodyPrinter;
use super::{instances, kernel, references};

/// Marks a function that host and device can call.
pub(super) const BOTH_SIDES: &str = "__host__ __device__ ";

/// The text of a type declaration.
pub(super) fn print(program: &Program, range: TextRange) -> Result<String, EditConflict> {
    let mut edits = EditSet::new();
    let mut replaced = TextRange::empty(range.start());
    for (id, function) in program.functions.iter() {
        let is_inside = function.in_class && range.contains_range(function.range);
        if !is_inside || replaced.contains_range(function.range) {
            continue;
        }
        let start = function.specifiers.start() - range.start();
        let instantiator = program.instances.of_function(id);
        let is_of_host = program.holds_target_constructs(id) || lacks_something(program, id);
        let device = program
            .device_code
            .functions
            .iter()
            .find(|device| device.function == id && !device.body.replacements.is_empty());
        if let Some(instantiator) = instantiator {
            replaced = function.range;
            let text = instances::text(program, instantiator, replaced)?;
            edits.replace(replaced - range.start(), text);
        } else if is_of_host {
            replaced = TextRange::new(function.declarator_end, function.range.end());
            edits.replace(replaced - range.start(), ";");
        } else if let Some(device) = device {
            replaced = function.range;
            let printer = BodyPrinter::new(program, &[]);
            let mut text = printer.text(&device.body, "");
            let offset = usize::from(function.specifiers.start() - function.range.start());
            text.insert_str(offset.min(text.len()), BOTH_SIDES);
            edits.replace(replaced - range.start(), text);
        } else {
            edits.insert(start, 0, BOTH_SIDES);
            if let Some((at, lines)) = references::at_body(program, function) {
                edits.insert(at - range.start(), 0, lines);
                for (at, word) in references::unqualified(program, &function.globals, function.body)
                {
                    edits.replace(at - range.start(), word.to_string());
                }
            }
        }
    }
    for method in &program.method_declarations {
        if range.contains_range(*method) && !replaced.contains_range(*method) {
            edits.insert(method.start() - range.start(), 0, BOTH_SIDES);
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
        !variables.iter().any(|(variable, _)| variable == global) && !program.is_external(*global)
    });
    lacks_function || lacks_variable
}

/// Declarations of the member functions that have the bodies of kernels, by class body.
fn members(program: &Program, range: TextRange) -> Vec<(TextRange, Vec<String>)> {
    let mut members: Vec<(TextRange, Vec<String>)> = Vec::new();
    for (_, kernel) in program.kernels.iter() {
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
        match members.iter_mut().find(|(known, _)| *known == body) {
            Some((_, declarations)) => declarations.push(declaration),
            None => members.push((body, vec![declaration])),
        }
    }
    members
}
