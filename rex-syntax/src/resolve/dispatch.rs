//! `dispatch`: the call that follows, of the variant that its clauses choose.

use text_size::TextRange;

use super::context::Context;
use super::metadirective::inside;
use super::variant::{self, Variant, Variants};
use super::{one_line, split, whole_lines};
use crate::cst::Node;
use crate::edit::EditSet;
use crate::kind::{Field, Kind};
use crate::layout::indent_at;
use crate::omp::clause::ClauseName;
use crate::omp::directive::{Directive, Leaf};
use crate::unit::Unit;

/// Every `dispatch` construct that can be written out.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    let known = Variants::of(unit);
    for (idx, directive) in unit.directives.iter().enumerate() {
        if directive.first() != Some(Leaf::Dispatch) {
            continue;
        }
        if let Some((range, text)) = written_out(unit, idx, &known) {
            edits.replace(range, text);
        }
    }
    edits
}

fn written_out(unit: &Unit, idx: usize, known: &Variants<'_>) -> Option<(TextRange, String)> {
    let source = unit.tree.text();
    let directive = &unit.directives[idx];
    let statement = unit.statement_of(idx)?;
    let call = statement
        .subtree()
        .find(|node| node.kind() == Kind::CallExpression)?;
    let function = call.field(Field::Function)?;
    let base = function.text();
    let clause_text = |name| Some(one_line(inside(source, directive.clause(name)?)));

    let context = Context::of(unit, statement);
    let mut plain_context = context.clone();
    let own = plain_context
        .constructs
        .iter()
        .rposition(|construct| *construct == Leaf::Dispatch.spelling());
    own.map(|own| plain_context.constructs.remove(own));
    let chosen = variant::chosen(known, base, function.range(), &context);
    let mut words = variant::words(&chosen, base).to_string();
    if let Some(condition) = clause_text(ClauseName::Nocontext) {
        let plain = variant::chosen(known, base, function.range(), &plain_context);
        words = format!(
            "(({condition}) ? {} : {words})",
            variant::words(&plain, base)
        );
    }
    if let Some(condition) = clause_text(ClauseName::Novariants) {
        words = format!("(({condition}) ? {base} : {words})");
    }
    // Calls in parentheses are what they say.
    let is_conditional = words.starts_with('(');
    if !is_conditional && words == base {
        words = format!("({base})");
    }

    let mut pointers = Vec::new();
    for (variant, _) in &chosen {
        if variant.appends || (is_conditional && !variant.device_pointers.is_empty()) {
            return None;
        }
        pointers = device_pointers(directive, source, variant, call)?;
    }

    let indent = indent_at(source, directive.range.start());
    let (before, after) = around(statement, function);
    let mut lines = vec![format!("{before}{words}{after}")];
    if !pointers.is_empty() {
        lines.insert(
            0,
            format!(
                "#pragma omp target data use_device_ptr({})",
                pointers.join(", ")
            ),
        );
    }
    if let Some(device) = clause_text(ClauseName::Device) {
        lines.insert(0, format!("omp_set_default_device({device});"));
        lines.insert(
            0,
            "const int rex_default_device = omp_get_default_device();".to_string(),
        );
        lines.push("omp_set_default_device(rex_default_device);".to_string());
    }
    let depends: Vec<String> = directive
        .clauses_named(ClauseName::Depend)
        .map(|clause| one_line(crate::lex::slice(source, clause.range)))
        .collect();
    if !depends.is_empty() {
        lines.insert(0, format!("#pragma omp taskwait {}", depends.join(" ")));
    }
    let text = match lines.as_slice() {
        [only] => only.clone(),
        _ => {
            let inner: Vec<String> = lines
                .iter()
                .map(|line| format!("{indent}  {line}\n"))
                .collect();
            format!("{{\n{}{indent}}}", inner.concat())
        }
    };
    let start = whole_lines(source, directive.range).start();
    let range = TextRange::new(start, statement.range().end());
    Some((range, format!("{indent}{text}")))
}

/// The text of a statement before and behind the name of the function that it calls.
fn around<'t>(statement: Node<'t>, function: Node<'t>) -> (&'t str, &'t str) {
    let whole = statement.text();
    let start = usize::from(function.range().start() - statement.range().start());
    let end = usize::from(function.range().end() - statement.range().start());
    (&whole[..start], &whole[end..])
}

/// The arguments that the variant wants as addresses of the device; `None` for those that are no names.
fn device_pointers(
    directive: &Directive,
    source: &str,
    variant: &Variant<'_>,
    call: Node<'_>,
) -> Option<Vec<String>> {
    let parameters = variant::parameters(variant.declaration);
    let already: Vec<&str> = directive
        .clauses_named(ClauseName::IsDevicePtr)
        .flat_map(|clause| split(inside(source, clause), ','))
        .map(str::trim)
        .collect();
    let arguments: Vec<Node<'_>> = call
        .field(Field::Arguments)?
        .children()
        .filter(|child| child.kind() != Kind::Comment)
        .collect();
    let mut pointers = Vec::new();
    for (parameter, argument) in parameters.iter().zip(arguments) {
        if !variant.device_pointers.contains(parameter) || already.contains(&argument.text()) {
            continue;
        }
        if argument.kind() != Kind::Identifier {
            return None;
        }
        pointers.push(argument.text().to_string());
    }
    Some(pointers)
}
