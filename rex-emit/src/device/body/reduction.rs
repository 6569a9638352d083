//! Private accumulators and how they are combined.

use rex_ir::expr::Expr;
use rex_ir::kernel::{Crew, ReductionExtent, ReductionPlan, ReductionTarget};
use rex_ir::program::Program;
use rex_ir::region::ReductionOperation;
use rex_ir::ty::{TypeId, TypeKind};

use super::leader::leader_block;
use super::team::barrier;
use super::{BLOCK_BARRIER, BodyPrinter};
use crate::common::expr;

impl BodyPrinter<'_> {
    /// Declarations of accumulators, at their identities; they hide the variables around them.
    pub(super) fn accumulators(&self, reductions: &[ReductionPlan]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut leader = Vec::new();
        for reduction in reductions {
            match &reduction.extent {
                ReductionExtent::Whole => {
                    lines.extend(self.whole_accumulator(reduction));
                    leader.extend(shared_start(self.program, reduction));
                }
                ReductionExtent::Elements {
                    element,
                    offset,
                    count,
                    view,
                } => {
                    lines.extend(self.element_accumulator(
                        reduction,
                        *element,
                        [offset, count],
                        view.as_deref(),
                    ));
                }
            }
        }
        lines.extend(leader_block(&mut leader));
        lines.extend(original_is_read(reductions));
        lines
    }

    fn whole_accumulator(&self, reduction: &ReductionPlan) -> Vec<String> {
        let types = &self.program.types;
        let name = &reduction.name;
        let operation = operation(self.program, &reduction.operation);
        let declared = self.declare_mutable(reduction.ty, name);
        if let ReductionTarget::Team(_) = reduction.target {
            return vec![format!("__shared__ {declared};")];
        }
        let mut lines = Vec::new();
        if let ReductionTarget::Crew(_) = reduction.target {
            let outer = self.declare_reference(reduction.ty, &format!("{name}__outer"));
            lines.push(format!("{outer} = {name};"));
        }
        let is_array = matches!(
            types.get(types.desugar(reduction.ty)).kind,
            TypeKind::Array { .. }
        );
        if is_array {
            let element = types.spell(types.innermost_element(reduction.ty));
            let original = original(reduction)
                .map(|original| format!(", rex_first<{element}>({original})"))
                .unwrap_or_default();
            lines.push(format!("{declared};"));
            lines.push(format!("rex_fill<{operation}>({name}{original});"));
        } else {
            // Only the compiler knows what `auto` is.
            let ty = match reduction.target {
                ReductionTarget::Crew(_) if types.mentions_auto(reduction.ty) => {
                    format!("REX_TYPE_OF({name}__outer)")
                }
                _ => self.value_type(reduction.ty),
            };
            let identity = self.identity(&reduction.operation);
            let value = match (&reduction.target, original(reduction)) {
                (_, None) => String::new(),
                (ReductionTarget::Crew(_), Some(original)) => original,
                (_, Some(parameter)) => format!("*{parameter}"),
            };
            lines.push(format!(
                "{declared} = {operation}::{identity}<{ty}>({value});"
            ));
        }
        lines
    }

    /// The name of the function that gives the first value: in a template, the operation may depend on its parameters.
    pub(super) fn identity(&self, operation: &ReductionOperation) -> &'static str {
        match self.program.declared_reduction(operation) {
            Some(declared) if self.program.is_scoped(declared) => "template identity",
            _ => "identity",
        }
    }

    fn element_accumulator(
        &self,
        reduction: &ReductionPlan,
        element: TypeId,
        bounds: [&Expr; 2],
        view: Option<&[Expr]>,
    ) -> Vec<String> {
        let types = &self.program.types;
        let name = &reduction.name;
        let operation = operation(self.program, &reduction.operation);
        let value = types.spell(element);
        let print = |expr: &Expr| expr::print(self.program, self, expr);
        let [offset, count] = bounds.map(print);
        let class = match reduction.target {
            ReductionTarget::Team(_) => "rex_team_elements",
            ReductionTarget::Grid(_) | ReductionTarget::Crew(_) => "rex_elements",
        };
        let mut lines = Vec::new();
        if let ReductionTarget::Crew(_) = reduction.target {
            lines.push(format!(
                "{value} *{name}__outer = rex_first<{value}>({name});"
            ));
        }
        let original = original(reduction)
            .map(|original| format!(", rex_first<{value}>({original})"))
            .unwrap_or_default();
        lines.push(format!(
            "{class}<{operation}, {value}> {name}__own({offset}, {count}{original});"
        ));
        let base = format!("{name}__own.rex_base()");
        let desugared = types.desugar(reduction.ty);
        lines.push(match (view, &types.get(desugared).kind) {
            (Some(extents), _) => {
                let extents: Vec<String> = extents.iter().map(print).collect();
                format!(
                    "rex_view<{value}, {}> {name}({base}, {});",
                    extents.len(),
                    extents.join(", ")
                )
            }
            (None, TypeKind::Array { .. }) => format!(
                "{} = *reinterpret_cast<{}>({base});",
                self.declare_reference(reduction.ty, name),
                types.declare(reduction.ty, "(*)")
            ),
            (None, _) => format!(
                "{} = reinterpret_cast<{}>({base});",
                self.declare_mutable(reduction.ty, name),
                self.value_type(reduction.ty)
            ),
        });
        lines
    }

    /// What combines the accumulators.
    pub(super) fn combine(&self, reductions: &[ReductionPlan]) -> Vec<String> {
        let combination = |reduction| combination(self.program, reduction);
        reductions.iter().map(combination).collect()
    }
}

/// How the leader gives an accumulator of the team its first value.
fn shared_start(program: &Program, reduction: &ReductionPlan) -> Option<String> {
    let ReductionTarget::Team(_) = reduction.target else {
        return None;
    };
    let operation = operation(program, &reduction.operation);
    let original = original(reduction)
        .map(|original| format!(", {original}"))
        .unwrap_or_default();
    Some(format!(
        "rex_fill<{operation}>({}{original});",
        reduction.name
    ))
}

/// The variable around the accumulator, or a pointer to it, if the accumulator begins with something of it.
fn original(reduction: &ReductionPlan) -> Option<String> {
    reduction.reads_original.then(|| match &reduction.target {
        ReductionTarget::Grid(parameter) | ReductionTarget::Team(parameter) => {
            parameter.to_string()
        }
        ReductionTarget::Crew(_) => format!("{}__outer", reduction.name),
    })
}

/// Nobody combines into a variable before all have read it.
fn original_is_read(reductions: &[ReductionPlan]) -> Option<String> {
    let reads = reductions
        .iter()
        .find(|reduction| reduction.reads_original)?;
    match reads.target {
        ReductionTarget::Grid(_) => Some(BLOCK_BARRIER.to_string()),
        ReductionTarget::Crew(crew) => barrier(crew),
        // The leader reads and combines.
        ReductionTarget::Team(_) => None,
    }
}

fn combination(program: &Program, reduction: &ReductionPlan) -> String {
    let operation = operation(program, &reduction.operation);
    let name = &reduction.name;
    // The function that combines, and its last argument.
    let across = |crew: Crew| match crew {
        Crew::Block => ("reduce_block", ""),
        Crew::Part => ("reduce_block", ", rex_threads"),
        Crew::Caller => ("reduce_team", ""),
        Crew::One => ("reduce_own", ""),
    };
    match (&reduction.target, &reduction.extent) {
        (ReductionTarget::Grid(parameter), ReductionExtent::Whole) => {
            format!("rex_reduce<{operation}>({parameter}, {name});")
        }
        (ReductionTarget::Team(parameter), ReductionExtent::Whole) => {
            format!("if (threadIdx.x == 0) rex_combine<{operation}>({parameter}, {name});")
        }
        (ReductionTarget::Crew(crew), ReductionExtent::Whole) => {
            let (function, threads) = across(*crew);
            format!("rex_{function}<{operation}>({name}__outer, {name}{threads});")
        }
        (
            ReductionTarget::Grid(parameter) | ReductionTarget::Team(parameter),
            ReductionExtent::Elements { .. },
        ) => format!("{name}__own.reduce({parameter});"),
        (ReductionTarget::Crew(crew), ReductionExtent::Elements { .. }) => {
            let (function, threads) = across(*crew);
            format!("{name}__own.{function}({name}__outer{threads});")
        }
    }
}

pub(in crate::device) fn operation(program: &Program, operation: &ReductionOperation) -> String {
    match operation {
        ReductionOperation::Add => "rex_add".into(),
        ReductionOperation::Multiply => "rex_mul".into(),
        ReductionOperation::Min => "rex_min".into(),
        ReductionOperation::Max => "rex_max".into(),
        ReductionOperation::BitAnd => "rex_and".into(),
        ReductionOperation::BitOr => "rex_or".into(),
        ReductionOperation::BitXor => "rex_xor".into(),
        ReductionOperation::LogicalAnd => "rex_land".into(),
        ReductionOperation::LogicalOr => "rex_lor".into(),
        ReductionOperation::Declared(key) => {
            let declared = program.declared_reduction(operation);
            let declared = declared.filter(|declared| !program.is_scoped(declared));
            let namespace = declared.map_or("", |declared| declared.namespace.as_str());
            format!("{namespace}{}", declared_operation(key))
        }
    }
}

/// The struct that implements a user-declared reduction.
pub(in crate::device) fn declared_operation(key: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        ("&&", "logical_and"),
        ("||", "logical_or"),
        ("+", "plus"),
        ("-", "minus"),
        ("*", "times"),
        ("&", "bitand"),
        ("|", "bitor"),
        ("^", "bitxor"),
    ];
    let word = WORDS.iter().find_map(|(operator, word)| {
        let number = key.strip_prefix(operator)?;
        Some(format!("{word}{number}"))
    });
    let word = word.unwrap_or_else(|| rex_ir::namer::identifier(key).to_string());
    format!("rex_reduction_{word}")
}
