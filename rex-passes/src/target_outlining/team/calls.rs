//! Calls, in sequential code, of functions that begin parallel regions: all threads make them, in front of the statement that uses the result.

use rex_ir::item::FunctionId;
use rex_ir::kernel::{BodyText, Plan, Prologue};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::TypeKind;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, lex};
use smol_str::{SmolStr, format_smolstr};

use super::{Team, covering, sequential};
use crate::target_outlining::plan::Planner;

/// The plan of the form of a function that all threads of a block call together, in sequential code.
pub(crate) fn function_body(planner: &mut Planner<'_>, function: FunctionId) -> Plan {
    let program = planner.program;
    let found = &program.functions[function];
    let team = Team { planner };
    // Sequential code changes the leader's copy of a parameter only: the team needs one.
    let shared: Vec<SymbolId> = program
        .declared_in(found.parameters)
        .filter(|id| {
            let symbol = &program.symbols[*id];
            symbol.kind == SymbolKind::Parameter
                && !program.packs.contains_key(id)
                && !matches!(
                    program.types.get(symbol.ty).kind,
                    TypeKind::Reference(_) | TypeKind::Array { .. }
                )
                && team.is_assigned(*id)
        })
        .collect();
    planner.team_objects.extend(&shared);
    let body = sequential(planner, found.body);
    let copies: Vec<Prologue> = shared
        .into_iter()
        .map(|id| Prologue::SharedCopyOfOuter {
            name: program.name(id).clone(),
            ty: program.symbols[id].ty,
        })
        .collect();
    match copies.is_empty() {
        true => body,
        false => Plan::Sequence(vec![Plan::Sequence(vec![Plan::Declare(copies), body])]),
    }
}

/// Plans one after the other, in a block if there are several.
pub(super) fn together(mut plans: Vec<Plan>) -> Plan {
    match plans.len() {
        1 => plans.remove(0),
        _ => Plan::Sequence(plans),
    }
}

/// A call that all threads can make.
struct TeamCall<'p> {
    /// `f(x)`
    node: Node<'p>,
    /// `f` or `n::f`; of a member, its name.
    callee: TextRange,
    /// What stands there instead.
    form: SmolStr,
    /// The name called.
    name: &'p str,
}

impl TeamCall<'_> {
    fn whole(&self) -> TextRange {
        self.node.range()
    }
}

impl<'p> Team<'_, 'p> {
    /// A statement whose expression calls a function that begins parallel regions.
    pub(super) fn expression_statement(&mut self, node: Node<'p>) -> Plan {
        let calls = self.team_calls(node.range());
        let expression = node.children().find(|child| child.kind() != Kind::Comment);
        if let ([call], Some(expression)) = (calls.as_slice(), expression)
            && call.whole() == expression.range()
        {
            return self.call_by_all(node.range(), call, Plan::Text);
        }
        let (text, mut before) = self.with_results(node.range());
        before.push(Plan::leader(Plan::Text(text)));
        together(before)
    }

    /// `return` in a function of the team: all threads return the leader's value.
    pub(super) fn return_statement(&mut self, node: Node<'p>) -> Plan {
        let Some(value) = node.children().find(|child| child.kind() != Kind::Comment) else {
            return Plan::Text(BodyText::verbatim(node.range()));
        };
        let calls = self.team_calls(value.range());
        if let [call] = calls.as_slice()
            && call.whole() == value.range()
        {
            return self.call_by_all(node.range(), call, Plan::Text);
        }
        if self.is_uniform(value.range()) {
            return Plan::Text(BodyText::verbatim(node.range()));
        }
        let (value, mut before) = self.with_results(value.range());
        before.push(Plan::TeamReturn(value));
        together(before)
    }

    /// A text of the leader's with the results of calls in it, and the calls.
    pub(super) fn with_results(&mut self, range: TextRange) -> (BodyText, Vec<Plan>) {
        let mut text = self.body_text(range);
        let mut before = Vec::new();
        for call in self.team_calls(range) {
            let name = self.planner.result_name();
            let (value, arguments) = self.with_arguments(call.whole(), &call);
            before.extend(arguments);
            before.push(Plan::Result {
                declarator: name.clone(),
                value,
            });
            text.replacements.push((call.whole(), Plan::Words(name)));
        }
        text.replacements.sort_by_key(|(at, _)| at.start());
        (text, before)
    }

    /// A text with a call in it that all threads make, and what must be computed before.
    fn with_arguments(&mut self, range: TextRange, call: &TeamCall<'p>) -> (BodyText, Vec<Plan>) {
        let (mut replacements, before) = self.arguments_of_all(call.node, call.name);
        replacements.push((call.callee, Plan::Words(call.form.clone())));
        replacements.sort_by_key(|(at, _)| at.start());
        let text = BodyText {
            range,
            replacements,
        };
        (text, before)
    }

    fn call_by_all(
        &mut self,
        range: TextRange,
        call: &TeamCall<'p>,
        plan: fn(BodyText) -> Plan,
    ) -> Plan {
        let (text, mut plans) = self.with_arguments(range, call);
        plans.push(plan(text));
        together(plans)
    }

    /// The calls in a range that are made exactly once and whose arguments have no side effects; the leader makes all others alone.
    fn team_calls(&self, range: TextRange) -> Vec<TeamCall<'p>> {
        let program = self.program();
        let root = program.unit.tree.root();
        let calls: Vec<TeamCall<'p>> = self
            .planner
            .facts
            .forks
            .calls_in(program, range)
            .filter_map(|name| {
                let call = covering(root.smallest_at(name), name)
                    .ancestors()
                    .find(|node| node.range() != name && !is_part_of_callee(node.kind()))
                    .filter(|call| call.kind() == Kind::CallExpression)?;
                let callee = call.field(Field::Function)?;
                let arguments = call.field(Field::Arguments)?;
                let is_plain = is_unconditional(call, range)
                    && !self.has_effects(arguments.range())
                    && !self.has_effects(callee.range());
                let word = program.text(name);
                let is_member = self
                    .planner
                    .facts
                    .forks
                    .named(program, word)
                    .any(|function| function.class.is_some());
                let form = self.planner.facts.forks.form(program, word)?;
                let start = match is_member {
                    true => name.start(),
                    false => callee.range().start(),
                };
                (is_plain && callee.range().contains_range(name)).then(|| TeamCall {
                    node: call,
                    callee: TextRange::new(start, name.end()),
                    form,
                    name: word,
                })
            })
            .collect();
        let is_nested = |inner: &TeamCall<'_>| {
            calls.iter().any(|outer| {
                outer.whole() != inner.whole() && outer.whole().contains_range(inner.whole())
            })
        };
        match calls.iter().any(is_nested) {
            true => Vec::new(),
            false => calls,
        }
    }

    /// Whether evaluating an expression once for each thread is something else than evaluating it once.
    fn has_effects(&self, range: TextRange) -> bool {
        let program = self.program();
        let node = covering(program.unit.tree.root().smallest_at(range), range);
        node.subtree().any(|inner| {
            range.contains_range(inner.range())
                && matches!(
                    inner.kind(),
                    Kind::AssignmentExpression
                        | Kind::UpdateExpression
                        | Kind::CallExpression
                        | Kind::LambdaExpression
                        | Kind::CompoundStatement
                        | Kind::NewExpression
                )
        }) || lex::identifiers(program.source(), range).any(|at| {
            program
                .macro_at(program.text(at), at)
                .is_some_and(|definition| definition.parameters.is_some())
        })
    }
}

/// Whether a node of this kind around a name is still part of what is called.
fn is_part_of_callee(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::QualifiedIdentifier
            | Kind::TemplateFunction
            | Kind::TemplateMethod
            | Kind::FieldExpression
    )
}

/// Whether a call is made exactly once when the range is evaluated.
fn is_unconditional(call: Node<'_>, range: TextRange) -> bool {
    call.ancestors()
        .take_while(|node| range.contains_range(node.range()))
        .all(|node| match node.kind() {
            Kind::ConditionalExpression | Kind::LambdaExpression => false,
            Kind::BinaryExpression => node
                .field(Field::Operator)
                .is_none_or(|operator| !matches!(operator.text(), "&&" | "||" | "and" | "or")),
            kind => {
                kind.is_expression()
                    || matches!(
                        kind,
                        Kind::ArgumentList | Kind::InitializerList | Kind::ExpressionStatement
                    )
            }
        })
}

impl Planner<'_> {
    /// A name for the result of a call.
    fn result_name(&mut self) -> SmolStr {
        self.results += 1;
        format_smolstr!("rex_result_{}", self.results)
    }

    /// A name for a value that members of an object refer to.
    pub(super) fn value_name(&mut self) -> SmolStr {
        self.results += 1;
        format_smolstr!("rex_value_{}", self.results)
    }

    /// A name for what a call gets.
    pub(super) fn argument_name(&mut self) -> SmolStr {
        self.results += 1;
        format_smolstr!("rex_argument_{}", self.results)
    }
}
