//! Kernels: signature, prologue, body, and the macro that ties a kernel to the runtime.

mod member;

use rex_ir::formats::Format;
use rex_ir::item::{Function, TemplateHead};
use rex_ir::kernel::{Beginning, Home, Kernel, Parameter, ParameterType, Prologue, Threading};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::CapturedObject;
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{Meaning, TypeId, TypeKind, TypeTable};
use rex_syntax::TextRange;
use rex_syntax::omp::directive::Leaf;
use smol_str::format_smolstr;

use self::member::{At, call, function_object, member_function};
pub(super) use self::member::{
    class_body, friend_declaration, member_declaration, member_definition, object_declaration,
};
use super::body::{BLOCK_BARRIER, BodyPrinter};
use super::{reductions, references};
use crate::common::text::one_line;

/// Indentation of generated device code.
pub(super) const STEP: &str = "  ";

/// Kernels of templates whose regions stand in a range.
pub(super) fn templates_in(program: &Program, range: TextRange) -> Vec<(&Kernel, &TemplateHead)> {
    program
        .kernels_in(range)
        .filter_map(|(_, kernel)| Some((kernel, kernel.template.as_ref()?)))
        .collect()
}

/// The declaration of a kernel template, for the code that names it before its definition.
pub(super) fn template_declaration(
    program: &Program,
    kernel: &Kernel,
    template: &TemplateHead,
) -> String {
    let signature = signature(program, kernel);
    let declared = signature.trim_end_matches(" {");
    format!(
        "template <{}>\n{declared};\nREX_KERNEL_TEMPLATE_DECLARED({}, ({}))",
        template.parameters,
        kernel.names.kernel(),
        template.parameters
    )
}

/// A kernel template, behind the item that has its region.
pub(super) fn template_definition(
    program: &Program,
    kernel: &Kernel,
    template: &TemplateHead,
) -> String {
    let mut lines = Vec::new();
    if kernel.home == Home::Member && !is_defined_in_class(program, kernel) {
        lines.extend(directives(program, kernel));
        lines.extend(member_function(program, kernel, At::Outside));
    } else if kernel.home == Home::Kernel {
        lines.extend(directives(program, kernel));
    } else if kernel.home == Home::Friend {
        lines.extend(directives(program, kernel));
        lines.extend(function_object(program, kernel));
    }
    lines.push(format!("template <{}>", template.parameters));
    lines.push(signature(program, kernel));
    match kernel.home {
        Home::Kernel => lines.extend(body(program, kernel)),
        Home::Member | Home::Friend => lines.push(format!("{STEP}{}", call(program, kernel))),
    }
    lines.push("}".to_string());
    lines.push(format!(
        "REX_KERNEL_TEMPLATE({}, ({}), ({}), {}, {})",
        kernel.names.kernel(),
        template.parameters,
        own_arguments(program, kernel),
        count(program, kernel),
        threading_word(kernel),
    ));
    lines.join("\n")
}

/// The number of a kernel's parameters.
fn count(program: &Program, kernel: &Kernel) -> String {
    let n_parameters = kernel.parameters.len();
    match kernel.pack(program) {
        Some(types) => format!("{} + sizeof...({types})", n_parameters - 1),
        None => n_parameters.to_string(),
    }
}

/// The arguments of a kernel template inside itself.
fn own_arguments(program: &Program, kernel: &Kernel) -> String {
    let class = match kernel.home {
        Home::Kernel | Home::Friend => function(program, kernel).class_heads.clone(),
        Home::Member => vec![TemplateHead {
            parameters: format_smolstr!("typename {}", namer::CLASS_PARAMETER),
            arguments: namer::CLASS_PARAMETER.into(),
        }],
    };
    let heads: Vec<TemplateHead> = class.into_iter().chain(own_head(program, kernel)).collect();
    TemplateHead::joined(&heads).map_or(String::new(), |head| head.arguments.to_string())
}

/// The template head of a kernel's body: that of the function, and the types of variables.
fn own_head(program: &Program, kernel: &Kernel) -> Option<TemplateHead> {
    let heads = function(program, kernel).heads.iter().cloned();
    let types = kernel.deduced.iter().map(|name| TemplateHead {
        parameters: format_smolstr!("typename {name}"),
        arguments: name.clone(),
    });
    TemplateHead::joined(&heads.chain(types).collect::<Vec<_>>())
}

/// Whether a kernel's body is defined inside its class: that of a member function which is itself, of a class template.
pub(super) fn is_defined_in_class(program: &Program, kernel: &Kernel) -> bool {
    let function = function(program, kernel);
    kernel.home == Home::Member && function.in_class && !function.class_heads.is_empty()
}

/// Prints one kernel.
pub(super) fn print(program: &Program, kernel: &Kernel) -> String {
    let namespaces = &function(program, kernel).namespaces;
    let mut lines: Vec<String> = namespaces
        .iter()
        .map(|name| format!("namespace {name} {{"))
        .collect();
    for capture in program.shared_in(kernel.region, Format::LongDouble) {
        let name = rex_ir::print::object_name(program, capture.object);
        lines.push(format!("REX_LONG_DOUBLE(\"{name}\");"));
    }
    lines.extend(directives(program, kernel));
    match kernel.home {
        Home::Kernel => {
            lines.push(signature(program, kernel));
            lines.extend(body(program, kernel));
        }
        Home::Member => {
            lines.extend(member_function(program, kernel, At::Outside));
            lines.push(signature(program, kernel));
            lines.push(format!("{STEP}{}", call(program, kernel)));
        }
        Home::Friend => {
            lines.extend(function_object(program, kernel));
            lines.push(signature(program, kernel));
            lines.push(format!("{STEP}{}", call(program, kernel)));
        }
    }
    lines.push("}".to_string());
    lines.push(format!(
        "REX_KERNEL({}, {}, {})",
        kernel.names.kernel(),
        kernel.parameters.len(),
        threading_word(kernel)
    ));
    lines.extend(namespaces.iter().map(|_| "}".to_string()));
    lines.join("\n")
}

fn threading_word(kernel: &Kernel) -> &'static str {
    match kernel.threading {
        Threading::Independent => "REX_LOOP",
        Threading::Barriers => "REX_TEAM",
    }
}

fn function<'p>(program: &'p Program, kernel: &Kernel) -> &'p Function {
    &program.functions[program.regions[kernel.region].function]
}

fn directives(program: &Program, kernel: &Kernel) -> Vec<String> {
    let construct = &program.constructs[program.regions[kernel.region].construct];
    construct
        .directives
        .iter()
        .map(|directive| {
            let text = program.text(program.unit.directives[*directive].range);
            format!("/* {} */", one_line(text))
        })
        .collect()
}

/// Prologue and plan.
fn body(program: &Program, kernel: &Kernel) -> Vec<String> {
    // A parameter is nearer than a pointer of the file.
    let is_parameter = |symbol: &SymbolId| {
        let object = CapturedObject::Variable(*symbol);
        kernel
            .parameters
            .iter()
            .any(|parameter| parameter.object == object)
    };
    let mut globals = program.regions[kernel.region].device_globals.clone();
    globals.retain(|symbol| !is_parameter(symbol));
    let construct = &program.constructs[program.regions[kernel.region].construct];
    let mut words = kernel.words.clone();
    words.extend(references::unqualified(program, &globals, construct.range));
    let printer = BodyPrinter::new(program, &words);
    let mut lines: Vec<String> = references::of_globals(program, &globals)
        .into_iter()
        .map(|line| format!("{STEP}{line}"))
        .collect();
    if program.device_code.tracks_threads {
        // All threads of a block begin together, or one of them with sequential code.
        let threads = match construct.has(Leaf::Parallel) || construct.has(Leaf::Loop) {
            true => "blockDim.x",
            false => "0",
        };
        lines.push(format!("{STEP}rex_begin({threads});"));
    }
    // What it declares may be of a type that the region's function has.
    let is_declaration =
        |line: &Prologue| matches!(line, Prologue::Declaration(_) | Prologue::Untagged(_));
    let n_declarations = kernel
        .prologue
        .iter()
        .take_while(|line| is_declaration(line))
        .count();
    let (declarations, rest) = kernel.prologue.split_at(n_declarations);
    let mut prologue = printer.prologue(declarations);
    let construct = program.regions[kernel.region].construct;
    prologue.extend(reductions::scoped_in(
        program,
        program.constructs[construct].range,
    ));
    prologue.extend(printer.prologue(rest));
    // The leader goes on alone.
    if kernel.body.beginning() == Beginning::Leader
        && prologue.last().is_some_and(|line| line == BLOCK_BARRIER)
    {
        prologue.pop();
    }
    let pack = kernel.prologue.iter().find_map(|line| printer.pack(line));
    lines.extend(prologue.iter().map(|line| indented(line, STEP)));
    lines.extend(pack.iter().map(|[open, _]| indented(open, STEP)));
    let inner = STEP.repeat(1 + pack.iter().count());
    lines.extend(
        printer
            .plan(&kernel.body, STEP)
            .into_iter()
            .map(|line| indented(&line, &inner)),
    );
    lines.extend(pack.iter().map(|[_, close]| indented(close, STEP)));
    let words = &program.regions[kernel.region].function_words;
    let defined = words
        .iter()
        .map(|(word, name)| format!("#define {word} \"{name}\""));
    lines.splice(0..0, defined);
    lines.extend(words.iter().map(|(word, _)| format!("#undef {word}")));
    lines
}

fn indented(line: &str, indent: &str) -> String {
    if line.is_empty() || line.starts_with('#') {
        line.to_string()
    } else {
        format!("{indent}{line}")
    }
}

fn signature(program: &Program, kernel: &Kernel) -> String {
    let name = &kernel.names.kernel();
    if kernel.parameters.is_empty() {
        return format!("__global__ void {name}(REX_LAUNCH_ENVIRONMENT_ALONE) {{");
    }
    let parameters: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter.object {
            CapturedObject::This if kernel.home == Home::Member && kernel.template.is_some() => {
                format!("uint64_t {}", namer::SELF_NAME)
            }
            CapturedObject::This if kernel.home == Home::Member => self_parameter(program, kernel),
            _ => declare(program, parameter),
        })
        .collect();
    format!(
        "__global__ void {name}(REX_LAUNCH_ENVIRONMENT {}) {{",
        parameters.join(", ")
    )
}

fn self_parameter(program: &Program, kernel: &Kernel) -> String {
    let membership = function(program, kernel).membership.as_ref();
    let is_const = membership.is_some_and(|membership| membership.is_const);
    let class = membership.map_or("", |membership| &membership.class_path);
    format!(
        "{}{class} *{}",
        if is_const { "const " } else { "" },
        namer::SELF_NAME
    )
}

fn declare(program: &Program, parameter: &Parameter) -> String {
    if let Some(types) = parameter.pack(program) {
        return format!(
            "typename rex_packed<{types}>::rex_type... {}",
            parameter.name
        );
    }
    declare_pointer(&program.types, parameter.ty, &parameter.name)
}

/// A parameter or a pointer that is unpacked from one; an empty name gives the type alone.
pub(super) fn declare_pointer(types: &TypeTable, ty: ParameterType, name: &str) -> String {
    match ty {
        ParameterType::Slot => format!("uint64_t {name}"),
        ParameterType::Untyped => format!("void *{name}"),
        ParameterType::Restricted(ty) if !name.is_empty() => {
            types.declare(ty, &format!("__restrict__ {name}"))
        }
        ParameterType::Declared(ty) | ParameterType::Restricted(ty) => types.declare(ty, name),
        ParameterType::PointerTo(ty) => pointer_to(types, ty, name),
    }
}

fn pointer_to(types: &TypeTable, ty: TypeId, name: &str) -> String {
    match types.get(ty).kind {
        TypeKind::Array { .. } | TypeKind::Function { .. } => {
            types.declare(ty, &format!("(*{name})"))
        }
        // It may turn out to be a reference.
        TypeKind::Named {
            meaning: Meaning::Dependent,
            ..
        } => format!("rex_pointer<{}> {name}", types.spell(ty)),
        _ => types.declare(ty, &format!("*{name}")),
    }
}
