//! Variables of the device with references to temporaries inside.
//!
//! `struct A { int x; int &&r = 7; }; A a{3};` makes a variable without a name for 7, which lasts as long as `a`. What running code constructs
//! has no such variables, and compilers for GPUs take none.

use rex_ir::item::DeviceStorage;
use rex_ir::names;
use rex_ir::program::Program;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Record, RecordId};
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;

use super::construction::data_members;
use super::static_locals;
use crate::pass::PassCx;

/// Reports the variables, and the static variables in `texts` of device code, with such references.
pub(super) fn report(
    cx: &mut PassCx<'_>,
    variables: &[(SymbolId, DeviceStorage)],
    texts: &[TextRange],
) {
    let program = &*cx.program;
    if program.language() != Language::Cxx {
        return;
    }
    let variables = variables.iter().map(|(symbol, _)| symbol);
    let static_locals = static_locals::inside(program, &static_locals::all(program), texts);
    let found: Vec<Diagnostic> = variables
        .chain(&static_locals)
        .filter_map(|symbol| diagnostic(cx, *symbol))
        .collect();
    for diagnostic in found {
        cx.diagnostics.push(diagnostic);
    }
}

fn diagnostic(cx: &PassCx<'_>, symbol: SymbolId) -> Option<Diagnostic> {
    let program = &*cx.program;
    let found = &program.symbols[symbol];
    if program.types.is_reference(found.ty) || program.is_external(symbol) {
        return None;
    }
    let classes = program.types.classes_of(found.ty);
    let value = classes
        .into_iter()
        .find_map(|class| temporary_of(program, class))
        .or_else(|| temporary_in_list(program, symbol))?;
    let name = &found.name;
    let headline = format!(
        "the device variable `{name}` with a reference to a temporary inside is not supported"
    );
    let diagnostic = cx
        .diagnostic(Code::UnsupportedCapture, found.declared_at?, headline)
        .with_secondary(program.at(value), "the temporary that a member refers to");
    Some(diagnostic.with_help("make the member an object, or let it refer to a variable"))
}

/// The value that a class without constructors gives one of its references, if that is no variable.
fn temporary_of(program: &Program, id: RecordId) -> Option<TextRange> {
    let class: &Record = &program.types.records[id];
    if class.method(&class.name).is_some() {
        return None;
    }
    let is_reference = |name: &str| {
        let field = class.fields.iter().find(|field| field.name == name);
        field.is_some_and(|field| program.types.is_reference(field.ty))
    };
    let members = data_members(program, class);
    let own =
        members.filter(|(body, member)| member.parent().is_some_and(|it| it.range() == *body));
    own.flat_map(|(_, member)| {
        let declarators = member.fields(Field::Declarator);
        declarators
            .into_iter()
            .zip(member.fields(Field::DefaultValue))
    })
    .find(|(declarator, value)| {
        let text = declarator.text();
        let name = text.trim_start_matches(['&', '*', ' ']);
        is_reference(name) && !is_variable(program, value.range())
    })
    .map(|(_, value)| value.range())
}

/// The value that the list of a variable gives a reference, if that is no object.
fn temporary_in_list(program: &Program, symbol: SymbolId) -> Option<TextRange> {
    let found = &program.symbols[symbol];
    let class = &program.types.records[program.types.record(found.ty)?];
    let list = program.unit.tree.root().smallest_at(found.initializer?);
    if list.kind() != Kind::InitializerList
        || class.method(&class.name).is_some()
        || !class.bases.is_empty()
    {
        return None;
    }
    let fields = class.fields.iter().filter(|field| !field.is_static);
    let mut values = fields.zip(list.children());
    let is_temporary = |kind: Kind| {
        matches!(
            kind,
            Kind::CallExpression
                | Kind::BinaryExpression
                | Kind::UnaryExpression
                | Kind::NumberLiteral
        )
    };
    let found = values.find(|(field, value)| {
        program.types.is_reference(field.ty)
            && is_temporary(value.kind())
            && !gives_reference(program, *value)
    });
    found.map(|(_, value)| value.range())
}

/// Whether an expression calls a function that may return a reference.
fn gives_reference(program: &Program, value: Node<'_>) -> bool {
    let callee = value.field(Field::Function).map_or("", |it| it.text());
    let name = callee.rsplit(['.', '>', ':']).next().unwrap_or(callee);
    let mut named = program.functions_named(name).peekable();
    let is_known = named.peek().is_some();
    let returns_reference = named.any(|(_, function)| program.may_return_reference(function));
    value.kind() == Kind::CallExpression && (!is_known || returns_reference)
}

/// Whether a value is the name of a variable or of another member.
fn is_variable(program: &Program, value: TextRange) -> bool {
    let text = program.text(value);
    let inside = text
        .trim_start_matches(['=', '{', ' '])
        .trim_end_matches(['}', ' ']);
    let names = names::in_text(program.source(), value);
    let [name] = names.as_slice() else {
        return false;
    };
    program.text(name.whole()) == inside
        && names::meaning(program, *name).is_some_and(|meant| {
            let kind = program.symbols[meant].kind;
            kind.is_variable() || kind == SymbolKind::Field
        })
}
