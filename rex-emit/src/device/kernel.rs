//! Kernels: signature, prologue, body, and the macro that ties a kernel to the runtime.

use rex_ir::kernel::{Kernel, Parameter, ParameterType, Threading};
use rex_ir::program::Program;
use rex_ir::ty::TypeKind;

use super::body::BodyPrinter;

/// Indentation of generated device code.
pub(super) const STEP: &str = "  ";

/// Prints one kernel.
pub(super) fn print(program: &Program, kernel: &Kernel) -> String {
    let construct = &program.constructs[program.regions[kernel.region].construct];
    let namespaces = &program.functions[program.regions[kernel.region].function].namespaces;
    let mut lines: Vec<String> = namespaces
        .iter()
        .map(|name| format!("namespace {name} {{"))
        .collect();
    for directive in &construct.directives {
        let text = program.text(program.unit.directives[*directive].range);
        lines.push(format!("/* {} */", crate::common::text::one_line(text)));
    }
    lines.push(signature(program, kernel));
    let printer = BodyPrinter::new(program, &kernel.words);
    for line in &kernel.prologue {
        lines.extend(
            printer
                .prologue(line)
                .into_iter()
                .map(|line| format!("{STEP}{line}")),
        );
    }
    lines.extend(
        printer
            .plan(&kernel.body, STEP)
            .into_iter()
            .map(|line| indented(&line, STEP)),
    );
    lines.push("}".to_string());
    let kind = match kernel.threading {
        Threading::Independent => "REX_LOOP",
        Threading::Barriers => "REX_TEAM",
    };
    lines.push(format!(
        "REX_KERNEL({}, {}, {kind})",
        kernel.names.kernel,
        kernel.parameters.len()
    ));
    lines.extend(namespaces.iter().map(|_| "}".to_string()));
    lines.join("\n")
}

fn indented(line: &str, indent: &str) -> String {
    if line.is_empty() || line.starts_with('#') {
        line.to_string()
    } else {
        format!("{indent}{line}")
    }
}

fn signature(program: &Program, kernel: &Kernel) -> String {
    let name = &kernel.names.kernel;
    if kernel.parameters.is_empty() {
        return format!("__global__ void {name}(REX_LAUNCH_ENVIRONMENT_ALONE) {{");
    }
    let parameters: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| declare(program, parameter))
        .collect();
    format!(
        "__global__ void {name}(REX_LAUNCH_ENVIRONMENT {}) {{",
        parameters.join(", ")
    )
}

fn declare(program: &Program, parameter: &Parameter) -> String {
    let types = &program.types;
    match parameter.ty {
        ParameterType::Slot => format!("uint64_t {}", parameter.name),
        ParameterType::Declared(ty) => types.declare(ty, &parameter.name),
        ParameterType::PointerTo(ty) => match types.get(ty).kind {
            TypeKind::Array { .. } | TypeKind::Function { .. } => {
                types.declare(ty, &format!("(*{})", parameter.name))
            }
            _ => types.declare(ty, &format!("*{}", parameter.name)),
        },
    }
}
