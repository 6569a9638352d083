//! Why an `induction` clause is not written out.

use super::{Construct, takes_inductions};
use crate::diag::Code;
use crate::unit::Unit;

/// What keeps the `induction` clauses of a directive from being written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No `step(..)`.
    NoStep,
    /// No operation.
    NoIdentifier,
    /// The operation is none of OpenMP's and not declared.
    Unknown(String),
    /// The declaration of the operation does not say what it does.
    NoInductor(String),
    /// The operation is declared for steps of several types.
    StepTypes(String),
    /// A list item is no variable.
    Item(String),
    /// The loops are not canonical, form no rectangle, or have something between them.
    Loops,
    /// Another region would have to run after one that nobody waits for.
    Nowait,
    /// `teams` stands on a line of its own in `target`.
    TeamsApart,
}

impl Refusal {
    /// The code that it is reported with.
    pub fn code(&self) -> Code {
        match self {
            Refusal::NoStep | Refusal::NoIdentifier => Code::ClauseSyntax,
            Refusal::Unknown(_) | Refusal::NoInductor(_) => Code::ReductionOperand,
            Refusal::StepTypes(_)
            | Refusal::Item(_)
            | Refusal::Loops
            | Refusal::Nowait
            | Refusal::TeamsApart => Code::UnsupportedClause,
        }
    }

    /// What is wrong.
    pub fn headline(&self) -> String {
        match self {
            Refusal::NoStep => "`induction` needs a step".into(),
            Refusal::NoIdentifier => "`induction` needs an operation".into(),
            Refusal::Unknown(name) => {
                format!("`{name}` is neither `+` nor `*` nor declared by `declare induction`")
            }
            Refusal::NoInductor(name) => {
                format!("the `declare induction` of `{name}` has no `inductor`")
            }
            Refusal::StepTypes(name) => {
                format!("`{name}`, declared for steps of several types, is not supported")
            }
            Refusal::Item(text) => format!("`induction` of `{text}` is not supported"),
            Refusal::Loops => "`induction` is not supported on these loops".into(),
            Refusal::Nowait => {
                "`induction` together with `nowait` is not supported on this construct".into()
            }
            Refusal::TeamsApart => {
                "`induction` on `teams` apart from its `target` is not supported".into()
            }
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Refusal::NoStep => "write `step(..)` before the operation: `induction(step(s), + : x)`",
            Refusal::NoIdentifier => {
                "write `+`, `*` or a declared operation before the colon: `induction(step(s), + : x)`"
            }
            Refusal::Unknown(_) => {
                "use `+` or `*`, or declare the operation where the construct sees it"
            }
            Refusal::NoInductor(_) => "say what an iteration does: `inductor(omp_var = ..)`",
            Refusal::StepTypes(_) => "declare an operation for each type of step",
            Refusal::Item(_) => "name a variable that holds the value",
            Refusal::Loops => {
                "write canonical loops with bounds of their own and nothing between them, and a number in `collapse`"
            }
            Refusal::Nowait => "leave out `nowait`",
            Refusal::TeamsApart => "write `target` and `teams` in one directive",
        }
    }
}

/// Why the `induction` clauses that a directive may have are still there.
pub fn refused_induction(unit: &Unit, directive_idx: usize) -> Option<Refusal> {
    let directive = unit.directives.get(directive_idx)?;
    let is_left = takes_inductions(directive);
    is_left.then(|| Construct::of(unit, directive_idx).err())?
}
