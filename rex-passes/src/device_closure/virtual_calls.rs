//! Calls of virtual functions on objects of the host: what an object says of its class is an address of the host's.

use indexmap::IndexSet;
use rex_ir::program::Program;
use rex_ir::region::{Call, Callee, CapturedObject, Region, Transport};
use rex_ir::ty::{Method, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Severity};
use rex_syntax::kind::{Field, Kind};
use rustc_hash::FxHashSet;

use crate::pass::PassCx;

/// Warns where a region calls a virtual function of an object that it has from the host.
pub(super) fn report(cx: &mut PassCx<'_>) {
    let program = &*cx.program;
    let functions = program.functions.values();
    let names: FxHashSet<&str> = functions
        .filter(|function| function.is_virtual())
        .map(|function| function.name.as_str())
        .collect();
    let calls = program.regions.values().flat_map(|region| {
        let calls = region.calls.iter();
        calls.filter_map(move |call| Some((call, object(program, region, call)?)))
    });
    let found: Vec<(TextRange, String)> = calls
        .filter(|(call, _)| names.contains(call.name.as_str()))
        .filter(|(call, (_, ty))| is_virtual(program, *ty, &call.name))
        .map(|(call, (object, _))| {
            let headline = format!(
                "`{}` is a virtual function, which the device does not find in `{object}` if the host made that",
                call.name
            );
            (call.at, headline)
        })
        .collect();
    for (at, headline) in found {
        let diagnostic = cx
            .diagnostic(Code::HostOnlyObject, at, headline)
            .with_severity(Severity::Warning)
            .with_note("an object says by an address what its class is, and that address is the host's")
            .with_help("name the class whose function is meant, as in `x.Class::f()`, or create the object in device code");
        cx.diagnostics.push(diagnostic);
    }
}

/// The captured object of a call, and its type.
fn object(program: &Program, region: &Region, call: &Call) -> Option<(String, TypeId)> {
    let before = &program.source()[..usize::from(call.at.start())];
    if before.trim_end().ends_with("::") || program.text(call.at) != call.name {
        return None;
    }
    let root = program.unit.tree.root();
    let object = match call.callee {
        Callee::Function => None,
        Callee::Member => Some(
            root.smallest_at(call.at)
                .ancestors()
                .find(|node| node.kind() == Kind::FieldExpression)?
                .field(Field::Argument)?,
        ),
    };
    let (name, captured) = match object {
        None => ("*this".to_string(), CapturedObject::This),
        Some(object) if object.text() == "this" => ("*this".to_string(), CapturedObject::This),
        Some(object) if object.kind() == Kind::Identifier => {
            let scopes = &program.scopes;
            let symbol = scopes.resolve(&program.symbols, object.text(), object.range())?;
            (object.text().to_string(), CapturedObject::Variable(symbol))
        }
        Some(_) => return None,
    };
    let mut captures = region.captures.iter();
    let capture = captures.find(|capture| capture.object == captured)?;
    let is_of_host = matches!(capture.transport, Transport::Storage | Transport::Pointee);
    is_of_host.then_some((name, capture.ty))
}

/// Whether the class of an object, of what a pointer points to or of the elements of an array has a virtual function of this name.
fn is_virtual(program: &Program, ty: TypeId, name: &str) -> bool {
    let types = &program.types;
    let mut ty = types.object_type(ty);
    while let TypeKind::Pointer(to) | TypeKind::Array { element: to, .. } = types.get(ty).kind {
        ty = types.object_type(to);
    }
    let Some(record) = types.record(ty) else {
        return false;
    };
    let mut classes = IndexSet::from([record]);
    let mut next = 0;
    while let Some(class) = classes.get_index(next).copied() {
        next += 1;
        let has = |method: &Method| method.name == name && method.is_marked_virtual;
        if types.records[class].methods.iter().any(has) {
            return true;
        }
        classes.extend(types.bases(class));
    }
    false
}
