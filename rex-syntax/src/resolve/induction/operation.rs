//! What an iteration does to an induction variable, and what many do.

use text_size::TextRange;

use super::refusal::Refusal;
use crate::kind::Kind;
use crate::lex::slice;
use crate::omp::clause::ClauseName;
use crate::omp::directive::{Directive, Leaf};
use crate::resolve::metadirective::inside;
use crate::resolve::{one_line, split};
use crate::unit::Unit;

/// The operation that an identifier of an `induction` clause names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// `+`
    Sum,
    /// `*`
    Product,
    /// That of a `declare induction`.
    Declared {
        /// The statement that makes `omp_var` the next value, of `omp_var` and `omp_step`.
        inductor: String,
        /// The type of `omp_step`, if not that of `omp_var`.
        step_type: Option<String>,
    },
}

impl Operation {
    /// What an identifier means at a place.
    pub(super) fn of(unit: &Unit, at: TextRange, identifier: &str) -> Result<Operation, Refusal> {
        match identifier {
            "+" => Ok(Operation::Sum),
            "*" => Ok(Operation::Product),
            name => {
                let visible = unit
                    .directives
                    .iter()
                    .rev()
                    .filter(|declared| is_visible(unit, declared, at));
                let mut found = visible.filter_map(|declared| {
                    let argument = slice(unit.tree.text(), declared.argument?);
                    let (declared_name, types) = name_and_types(argument)?;
                    (declared_name == name).then_some((declared, types))
                });
                let (declared, types) =
                    (found.next()).ok_or_else(|| Refusal::Unknown(name.to_string()))?;
                declared_operation(unit, declared, types, name)
            }
        }
    }

    /// Statements that declare `result` with what `number` iterations make of `start`, a value of the type of `name`.
    ///
    /// A declared operation is done as often as there are iterations: its inductor says what it is, with any collector.
    pub(super) fn applied(
        &self,
        name: &str,
        result: &str,
        start: &str,
        step: &str,
        number: &str,
    ) -> Vec<String> {
        let ty = format!("__typeof__({name})");
        match self {
            Operation::Sum => vec![format!("{ty} {result} = {start} + {number} * {step};")],
            // Powers of the step with exponents 1, 2, 4, ..., none of them larger than the product needs.
            Operation::Product => {
                let wide = format!("__typeof__({name} * {step})");
                let (product, power, left) = (
                    format!("{name}__product"),
                    format!("{name}__power"),
                    format!("{name}__left"),
                );
                vec![
                    format!("{wide} {product} = {start}, {power} = {step};"),
                    format!(
                        "for (unsigned long long {left} = {number}; {left} > 0; {left} /= 2) {{"
                    ),
                    format!("  if ({left} % 2 == 1) {product} *= {power};"),
                    format!("  if ({left} > 1) {power} *= {power};"),
                    "}".to_string(),
                    format!("{ty} {result} = {product};"),
                ]
            }
            Operation::Declared {
                inductor,
                step_type,
            } => {
                let step_type = step_type.as_deref().unwrap_or(&ty);
                let left = format!("{name}__left");
                vec![
                    format!("{ty} {result} = {start};"),
                    format!("for (long long {left} = {number}; {left} > 0; {left}--) {{"),
                    format!("  {ty} omp_var = {result};"),
                    format!("  {step_type} omp_step = {step};"),
                    format!("  {inductor};"),
                    format!("  {result} = omp_var;"),
                    "}".to_string(),
                ]
            }
        }
    }
}

/// Whether a `declare induction` is seen from a place: it stands before it, in a block around it.
fn is_visible(unit: &Unit, declared: &Directive, at: TextRange) -> bool {
    let is_before =
        declared.first() == Some(Leaf::DeclareInduction) && declared.range.end() <= at.start();
    is_before && {
        let inside = unit.tree.root().smallest_at(declared.range);
        let mut around = inside.ancestors();
        let block = around.find(|node| {
            matches!(
                node.kind(),
                Kind::CompoundStatement | Kind::FieldDeclarationList | Kind::DeclarationList
            )
        });
        block.is_none_or(|block| block.range().contains_range(at))
    }
}

/// `name : types`
fn name_and_types(argument: &str) -> Option<(&str, &str)> {
    let name = *split(argument, ':').first()?;
    let types = argument.get(name.len() + 1..)?;
    Some((name.trim(), types))
}

fn declared_operation(
    unit: &Unit,
    declared: &Directive,
    types: &str,
    name: &str,
) -> Result<Operation, Refusal> {
    let inductor = declared.clause(ClauseName::Inductor);
    let inductor = inductor.ok_or_else(|| Refusal::NoInductor(name.to_string()))?;
    // `(type, type of the step)`, or one type for both.
    let mut step_types: Vec<Option<String>> = Vec::new();
    for ty in split(types, ',') {
        let pair = ty.trim();
        let pair = pair.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
        let of_step = pair.map(|pair| one_line(split(pair, ',').last().unwrap_or(&"")));
        if !step_types.contains(&of_step) {
            step_types.push(of_step);
        }
    }
    match step_types.as_slice() {
        [step_type] => Ok(Operation::Declared {
            inductor: one_line(inside(unit.tree.text(), inductor)),
            step_type: step_type.clone(),
        }),
        _ => Err(Refusal::StepTypes(name.to_string())),
    }
}
