//! Kernels whose bodies are functions of classes or friends of classes: the kernel calls them.

use rex_ir::kernel::{Home, Kernel, Parameter};
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::CapturedObject;
use rex_syntax::TextRange;
use smol_str::{SmolStr, format_smolstr};

use super::{STEP, body, declare, directives, function, indented, own_head};

/// Whether a member function is declared in its class or defined outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Inside,
    Outside,
}

/// The body of the class that has a kernel's body as a member function.
pub(in crate::device) fn class_body(program: &Program, kernel: &Kernel) -> Option<TextRange> {
    let membership = function(program, kernel).membership.as_ref()?;
    let record = membership.record.filter(|_| kernel.home == Home::Member)?;
    program.types.records[record].body
}

/// The declaration, in its class, of the member function that has a kernel's body.
pub(in crate::device) fn member_declaration(program: &Program, kernel: &Kernel) -> String {
    format!("{STEP}{};", member_head(program, kernel, At::Inside))
}

/// The definition, in its class, of the member function that has a kernel's body.
pub(in crate::device) fn member_definition(program: &Program, kernel: &Kernel) -> String {
    let mut lines = directives(program, kernel);
    lines.extend(member_function(program, kernel, At::Inside));
    lines
        .iter()
        .flat_map(|line| line.split('\n'))
        .map(|line| indented(line, STEP))
        .collect::<Vec<_>>()
        .join("\n")
}

pub(super) fn member_function(program: &Program, kernel: &Kernel, at: At) -> Vec<String> {
    let mut lines = vec![format!("{} {{", member_head(program, kernel, at))];
    lines.extend(body(program, kernel));
    lines.push("}".to_string());
    if at == At::Outside && is_of_specialized_function(program, kernel) {
        // No template is a function of C.
        lines.insert(0, "extern \"C++\" {".to_string());
        lines.push("}".to_string());
    }
    lines
}

/// The function object that has the body of a kernel, for classes to make it their friend.
pub(super) fn function_object(program: &Program, kernel: &Kernel) -> Vec<String> {
    let head = own_head(program, kernel).map_or(String::new(), |head| {
        format!("template <{}> ", head.parameters)
    });
    let parameters: Vec<String> = own_parameters(kernel)
        .map(|parameter| declare(program, parameter))
        .collect();
    let mut lines = vec![
        format!("struct {} {{", kernel.names.body()),
        format!(
            "{STEP}{head}__device__ void operator()({}) const {{",
            parameters.join(", ")
        ),
    ];
    let body = body(program, kernel);
    let body = body.iter().flat_map(|line| line.split('\n'));
    lines.extend(body.map(|line| indented(line, STEP)));
    lines.push(format!("{STEP}}}"));
    lines.push("};".to_string());
    lines
}

/// Declares the function object of a kernel, for classes of all namespaces to name it.
pub(in crate::device) fn object_declaration(program: &Program, kernel: &Kernel) -> Option<String> {
    let namespaces = &function(program, kernel).namespaces;
    (kernel.home == Home::Friend).then(|| {
        let open: String = namespaces
            .iter()
            .map(|name| format!("namespace {name} {{ "))
            .collect();
        let close = " }".repeat(namespaces.len());
        format!("{open}struct {};{close}", kernel.names.body())
    })
}

/// What a class says whose friend the function of a kernel is, so that the kernel's body is one, too.
pub(in crate::device) fn friend_declaration(
    program: &Program,
    kernel: &Kernel,
    class_body: TextRange,
) -> Option<String> {
    let function = function(program, kernel);
    let record = program
        .befriending(function)
        .find(|record| record.body == Some(class_body))?;
    let friend = record.friend(&function.name)?;
    match kernel.home {
        Home::Kernel => None,
        Home::Member => {
            let class = friend.qualifier.as_ref()?;
            Some(format!("{STEP}friend class {class};"))
        }
        Home::Friend => {
            let body = kernel.names.body();
            let namespaces = function.namespaces.iter().map(SmolStr::as_str);
            let path: Vec<&str> = namespaces.chain([body.as_str()]).collect();
            Some(format!("{STEP}friend struct ::{};", path.join("::")))
        }
    }
}

fn has_object(kernel: &Kernel) -> bool {
    kernel
        .parameters
        .iter()
        .any(|parameter| parameter.object == CapturedObject::This)
}

/// The call, in a kernel, of the member function that has its body.
pub(super) fn call(program: &Program, kernel: &Kernel) -> String {
    let class = function(program, kernel)
        .membership
        .as_ref()
        .map_or("", |membership| &membership.class_path);
    let arguments: Vec<SmolStr> = own_parameters(kernel)
        .map(|parameter| match parameter.pack(program) {
            Some(_) => format_smolstr!("{}...", parameter.name),
            None => parameter.name.clone(),
        })
        .collect();
    let own = own_head(program, kernel).map(|head| head.arguments);
    if kernel.home == Home::Friend {
        let operator = own.map_or(String::new(), |own| format!(".template operator()<{own}>"));
        return format!(
            "{}(){operator}({});",
            kernel.names.body(),
            arguments.join(", ")
        );
    }
    let object = match (has_object(kernel), kernel.template.is_some()) {
        (true, false) => format!("{}->", namer::SELF_NAME),
        (false, false) => format!("{class}::"),
        (true, true) => format!(
            "reinterpret_cast<{} *>({})->",
            namer::CLASS_PARAMETER,
            namer::SELF_NAME
        ),
        (false, true) => format!("{}::", namer::CLASS_PARAMETER),
    };
    let name = match own {
        None => kernel.names.body().to_string(),
        Some(own) => format!("template {}<{own}>", kernel.names.body()),
    };
    format!("{object}{name}({});", arguments.join(", "))
}

/// Parameters without the object.
fn own_parameters(kernel: &Kernel) -> impl Iterator<Item = &Parameter> {
    kernel
        .parameters
        .iter()
        .filter(|parameter| parameter.object != CapturedObject::This)
}

/// Whether the function around a kernel is what a member of a class template is for some arguments: `template <> void Box<int>::fill() { .. }`.
fn is_of_specialized_function(program: &Program, kernel: &Kernel) -> bool {
    let function = function(program, kernel);
    let membership = function.membership.as_ref();
    membership.is_some_and(|membership| {
        let record = membership
            .record
            .map(|record| &program.types.records[record]);
        let qualifier = membership.qualifier.as_deref().unwrap_or_default();
        function.class_heads.is_empty()
            && qualifier.ends_with(">::")
            && record.is_some_and(|record| !record.is_specialization())
    })
}

fn member_head(program: &Program, kernel: &Kernel, at: At) -> String {
    let membership = function(program, kernel).membership.as_ref();
    let is_const = membership.is_some_and(|membership| membership.is_const);
    let qualifier = match (at, membership) {
        (At::Outside, Some(membership)) => match &membership.qualifier {
            Some(qualifier) => qualifier.to_string(),
            None => format!("{}::", membership.class_path),
        },
        _ => String::new(),
    };
    let function = function(program, kernel);
    let class_heads = match at {
        At::Inside => [].as_slice(),
        At::Outside => function.class_heads.as_slice(),
    };
    let heads: String = class_heads
        .iter()
        .chain(&own_head(program, kernel))
        .map(|head| format!("template <{}> ", head.parameters))
        .collect();
    let heads = match at == At::Outside && is_of_specialized_function(program, kernel) {
        true => format!("template <> {heads}"),
        false => heads,
    };
    let is_static = !has_object(kernel);
    let parameters: Vec<String> = own_parameters(kernel)
        .map(|parameter| declare(program, parameter))
        .collect();
    format!(
        "{heads}{}__device__ void {qualifier}{}({}){}",
        if is_static && at == At::Inside {
            "static "
        } else {
            ""
        },
        kernel.names.body(),
        parameters.join(", "),
        if is_const && !is_static { " const" } else { "" },
    )
}
