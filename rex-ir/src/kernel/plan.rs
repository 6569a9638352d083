//! What a kernel does: plans over the user's text.

use rex_syntax::TextRange;
use smol_str::SmolStr;

use super::{
    AtomicPlan, IterationSpace, LastprivatePlan, LoopPlan, Prologue, ReductionPlan, ScanPlan,
};
use crate::expr::Expr;
use crate::ty::TypeId;

/// A range of the user's text with replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyText {
    /// The range.
    pub range: TextRange,
    /// Disjoint replacements in source order.
    pub replacements: Vec<(TextRange, Plan)>,
}

impl BodyText {
    /// A range as it is.
    pub fn verbatim(range: TextRange) -> BodyText {
        BodyText {
            range,
            replacements: Vec::new(),
        }
    }
}

/// How a piece of a body executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is left of it.
    Nothing,
    /// The user's text.
    Text(BodyText),
    /// Several pieces, one after the other, in a block of their own.
    Sequence(Vec<Plan>),
    /// Declarations at the head of a block.
    Declare(Vec<Prologue>),
    /// A loop nest shared among threads.
    Loop(Box<LoopPlan>),
    /// A loop nest shared among threads, with a scan in each iteration.
    Scan(Box<ScanPlan>),
    /// Threads of the block execute it, as OpenMP threads. Followed by a barrier of the block.
    Parallel(Box<ParallelPlan>),
    /// A parallel region that one thread executes.
    Serialized(Box<Plan>),
    /// Accumulators around a piece, combined after it.
    Reduce {
        /// The accumulators.
        reductions: Vec<ReductionPlan>,
        /// What happens between.
        body: Box<Plan>,
    },
    /// The first thread of the block executes it.
    Leader {
        /// What it executes.
        body: Box<Plan>,
        /// The other threads wait for it.
        waits: bool,
    },
    /// A declaration that every thread makes by itself, from what nobody changes.
    Replicated(BodyText),
    /// `if` on a condition that all threads compute alike.
    UniformIf {
        /// The condition.
        condition: BodyText,
        /// When true.
        then: Box<Plan>,
        /// When false.
        otherwise: Option<Box<Plan>>,
    },
    /// A `for` loop whose head all threads execute alike.
    UniformLoop {
        /// `for (..)`
        head: BodyText,
        /// The turn.
        body: Box<Plan>,
    },
    /// `if` on a condition of the team: the leader's value decides for all threads.
    TeamIf {
        /// The condition.
        condition: BodyText,
        /// When true.
        then: Box<Plan>,
        /// When false.
        otherwise: Option<Box<Plan>>,
    },
    /// A loop that the whole team goes through together.
    TeamLoop {
        /// Executed once before, as sequential code.
        init: Option<Box<Plan>>,
        /// Tested before each turn (absent: forever), or after it for `do`.
        condition: Option<BodyText>,
        /// Executed after each turn, as sequential code.
        step: Option<BodyText>,
        /// The turn.
        body: Box<Plan>,
        /// `do` loops test after the turn.
        tests_first: bool,
    },
    /// A range-based `for` loop that all threads go through.
    TeamRange(Box<RangePlan>),
    /// `switch` on the leader's value.
    TeamSwitch {
        /// The value.
        condition: BodyText,
        /// What follows each label.
        cases: Vec<CasePlan>,
    },
    /// `return`, by all threads, of the leader's value.
    TeamReturn(BodyText),
    /// `auto declarator = value;`
    Result {
        /// The name, or `&name`.
        declarator: SmolStr,
        /// Evaluated by all threads.
        value: BodyText,
    },
    /// A `conditional` lastprivate variable that the iteration (or without a space: the section) assigns.
    Assigned {
        /// The variable.
        name: SmolStr,
        /// Whose iteration.
        space: Option<IterationSpace>,
    },
    /// Words in place of an expression.
    Words(SmolStr),
    /// A value in place of an expression.
    Value(Expr),
    /// Team-local objects in shared memory: the declaration's text after `__shared__`, without initializer.
    Shared {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// The alignment that its declaration asks for.
        alignment: Option<TextRange>,
        /// Stored by the leader.
        initializer: Option<BodyText>,
        /// The initializer names nothing.
        is_constant: bool,
        /// The other threads wait for it.
        waits: bool,
    },
    /// A reference in sequential code.
    Reference {
        /// Its name.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
        /// What it refers to.
        initializer: BodyText,
        /// Who finds that.
        finder: Finder,
    },
    /// A barrier of the threads that execute the enclosing parallel.
    Barrier(Crew),
    /// An atomic update.
    Atomic(Box<AtomicPlan>),
    /// A critical section.
    Critical {
        /// The lock's identifier.
        lock: SmolStr,
        /// Its statement.
        body: Box<Plan>,
    },
    /// One thread executes it.
    Single {
        /// The threads it is one of.
        crew: Crew,
        /// Its number, if not 0.
        chosen: Option<Expr>,
        /// Its statement.
        body: Box<Plan>,
        /// Variables of its that the other threads get copies of.
        copied: Vec<SmolStr>,
        /// The other threads wait for it.
        waits: bool,
    },
    /// Threads share sections.
    Sections(Box<SectionsPlan>),
    /// A memory fence.
    Fence,
}

/// What [`Plan::visit`] comes by.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'p> {
    /// A plan.
    Plan(&'p Plan),
    /// A text of the user's.
    Text(&'p BodyText),
}

/// What the threads of a block do first in a piece of a team program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The leader writes something that depends on nothing of the team's, and the others wait for it.
    Leader,
    /// Somebody looks at what the team has. Where the leader alone does, compilers let the others read ahead with it.
    Everybody,
    /// Nobody looks at it; what follows decides.
    Nobody,
    /// Nothing follows any more.
    End,
}

impl Plan {
    /// Sequential code, with a barrier behind.
    pub fn leader(body: Plan) -> Plan {
        Plan::Leader {
            body: Box::new(body),
            waits: true,
        }
    }

    /// What the threads do first.
    pub fn beginning(&self) -> Beginning {
        match self {
            Plan::Nothing | Plan::Replicated(_) => Beginning::Nobody,
            Plan::Shared {
                initializer: None, ..
            } => Beginning::Nobody,
            Plan::Shared {
                is_constant: true, ..
            } => Beginning::Leader,
            // They begin with a barrier.
            Plan::TeamSwitch { .. } | Plan::TeamReturn(_) => Beginning::Leader,
            // The threads only take the address.
            Plan::Reference {
                finder: Finder::Everybody,
                ..
            } => Beginning::Nobody,
            Plan::Reference { .. } => Beginning::Leader,
            Plan::Sequence(plans) => Beginning::of(plans),
            _ => Beginning::Everybody,
        }
    }

    /// Whether the leader alone does something.
    fn is_leaders(&self) -> bool {
        matches!(self, Plan::Leader { .. } | Plan::Shared { .. })
    }

    /// Calls `see` for this plan and for all plans and texts inside it, outer ones first.
    pub fn visit<'p>(&'p self, see: &mut dyn FnMut(Piece<'p>)) {
        see(Piece::Plan(self));
        match self {
            Plan::Text(text) | Plan::Replicated(text) => text.visit(see),
            Plan::Sequence(plans) => plans.iter().for_each(|plan| plan.visit(see)),
            Plan::Loop(plan) => plan.body.visit(see),
            Plan::Scan(plan) => {
                plan.input.visit(see);
                plan.output.visit(see);
            }
            Plan::Parallel(plan) => plan.body.visit(see),
            Plan::Sections(plan) => plan.sections.iter().for_each(|plan| plan.visit(see)),
            Plan::Reduce { body, .. }
            | Plan::Critical { body, .. }
            | Plan::Single { body, .. }
            | Plan::Serialized(body)
            | Plan::Leader { body, .. } => body.visit(see),
            Plan::UniformLoop { head, body } => {
                head.visit(see);
                body.visit(see);
            }
            Plan::UniformIf {
                condition,
                then,
                otherwise,
            }
            | Plan::TeamIf {
                condition,
                then,
                otherwise,
            } => {
                condition.visit(see);
                then.visit(see);
                if let Some(otherwise) = otherwise {
                    otherwise.visit(see);
                }
            }
            Plan::TeamLoop {
                init,
                condition,
                step,
                body,
                ..
            } => {
                if let Some(init) = init {
                    init.visit(see);
                }
                for text in [condition, step].into_iter().flatten() {
                    text.visit(see);
                }
                body.visit(see);
            }
            Plan::Shared { initializer, .. } => {
                if let Some(initializer) = initializer {
                    initializer.visit(see);
                }
            }
            Plan::TeamSwitch { condition, cases } => {
                condition.visit(see);
                for case in cases {
                    case.body.iter().for_each(|plan| plan.visit(see));
                }
            }
            Plan::TeamRange(plan) => {
                plan.range.visit(see);
                plan.body.visit(see);
            }
            Plan::TeamReturn(text)
            | Plan::Result { value: text, .. }
            | Plan::Reference {
                initializer: text, ..
            } => text.visit(see),
            Plan::Atomic(_)
            | Plan::Nothing
            | Plan::Declare(_)
            | Plan::Barrier(_)
            | Plan::Fence
            | Plan::Assigned { .. }
            | Plan::Words(_)
            | Plan::Value(_) => {}
        }
    }
}

impl Beginning {
    /// What the threads do first in plans that follow each other.
    pub fn of(plans: &[Plan]) -> Beginning {
        for (idx, plan) in plans.iter().enumerate() {
            match plan.beginning() {
                Beginning::Nobody => {}
                Beginning::Leader if plan.is_leaders() => {
                    // Its pieces stand together, also those that look at something.
                    let mut pieces = plans[idx..].iter().take_while(|plan| plan.is_leaders());
                    return match pieces.any(|plan| plan.beginning() == Beginning::Everybody) {
                        true => Beginning::Everybody,
                        false => Beginning::Leader,
                    };
                }
                known => return known,
            }
        }
        Beginning::Nobody
    }

    /// What holds in front of this when `next` follows it.
    pub fn before(self, next: Beginning) -> Beginning {
        match self {
            Beginning::Nobody => next,
            known => known,
        }
    }

    /// Whether the others need not wait for what the leader did before.
    pub fn is_free(self) -> bool {
        matches!(self, Beginning::Leader | Beginning::End)
    }
}

impl BodyText {
    /// Calls `see` for this text and for all plans and texts that stand in place of parts of it.
    pub fn visit<'p>(&'p self, see: &mut dyn FnMut(Piece<'p>)) {
        see(Piece::Text(self));
        for (_, plan) in &self.replacements {
            plan.visit(see);
        }
    }
}

/// A range-based `for` loop of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePlan {
    /// What it goes over.
    pub range: BodyText,
    /// Finding its ends reads memory that sequential code may change.
    pub reads_memory: bool,
    /// Its variable.
    pub element: RangeElement,
    /// The turn.
    pub body: Plan,
}

/// The variable of a range-based `for` loop of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeElement {
    /// A reference: `int &x`.
    Reference(TextRange),
    /// A copy that every thread has, since nothing changes it: `int x`.
    Copy(TextRange),
    /// A copy of the team.
    Shared {
        /// The variable.
        name: SmolStr,
        /// Its type.
        ty: TypeId,
    },
}

/// A label of a `switch` and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CasePlan {
    /// The value; absent for `default`.
    pub value: Option<BodyText>,
    /// The statements.
    pub body: Vec<Plan>,
}

/// The OpenMP threads that execute a piece of code together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Crew {
    /// All threads of the block.
    Block,
    /// The first threads of the block: as many as the enclosing [`ParallelPlan`] says.
    Part,
    /// Those that execute the parallel region from which the function is called.
    Caller,
    /// One thread alone.
    One,
}

/// A parallel region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelPlan {
    /// Who executes it.
    pub crew: Crew,
    /// How many threads a [`Crew::Part`] has.
    pub threads: Option<Expr>,
    /// Copies each thread has of its own.
    pub privates: Vec<Prologue>,
    /// Private accumulators combined at its end.
    pub reductions: Vec<ReductionPlan>,
    /// What they execute.
    pub body: Plan,
}

/// The form of a device function that all threads of a block call together, in sequential code of the team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamForm {
    /// Its body.
    pub body: Plan,
    /// Words that stand in place of others wherever a range of the body is printed.
    pub words: Vec<(TextRange, SmolStr)>,
}

/// A `sections` construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionsPlan {
    /// Who shares the sections.
    pub crew: Crew,
    /// Copies each thread has of its own.
    pub privates: Vec<Prologue>,
    /// Private accumulators combined at the end.
    pub reductions: Vec<ReductionPlan>,
    /// Variables whose value of the last section is kept.
    pub lastprivates: Vec<LastprivatePlan>,
    /// The sections.
    pub sections: Vec<Plan>,
    /// The threads wait for each other at the end.
    pub waits: bool,
}

/// Who finds what a reference of sequential code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finder {
    /// Each thread by itself.
    Everybody,
    /// The leader.
    Leader,
    /// The leader, or it makes a temporary that lasts as long as the reference.
    LeaderOrTemporary,
}
