//! Team programs: sequential code of a team around parallel regions.
//!
//! Every thread of the block goes through the region. Statements without parallel regions inside are executed by the leader, followed by a barrier; control flow around parallel regions is decided by
//! all threads where they all can compute it, otherwise by the leader for all. Objects declared in sequential code and used inside a parallel region live in shared memory.

mod arguments;
pub(super) mod barriers;
mod calls;
mod heads;
mod lifetimes;
mod objects;
mod ranges;
mod uniform;

use rex_ir::branches;
use rex_ir::kernel::{BodyText, CasePlan, Plan};
use rex_ir::program::Program;
use rex_ir::region::ConstructId;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::significant_tokens;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, TextSize};
use smol_str::format_smolstr;

use super::plan::{Context, Planner};
use crate::analysis::forks::Forks;
pub(super) use calls::function_body;
use calls::together;

/// Whether a region's sequential code begins parallel regions: by itself, or in a function that it calls.
pub(super) fn forks_inside(program: &Program, forks: &Forks, id: ConstructId) -> bool {
    program.constructs[id]
        .statement
        .is_some_and(|statement| forks_in(program, forks, statement))
}

/// Whether a range holds a parallel region, a `distribute` whose iterations do, or a call of a function that begins one.
fn forks_in(program: &Program, forks: &Forks, range: TextRange) -> bool {
    let begins = program.constructs_in(range).any(|(_, construct)| {
        matches!(
            construct.leaves.first(),
            Some(Leaf::Parallel | Leaf::Distribute | Leaf::Loop)
        )
    });
    begins || forks.calls_in(program, range).next().is_some()
}

/// The plan of a statement of sequential code.
pub(super) fn sequential(planner: &mut Planner<'_>, statement: TextRange) -> Plan {
    let node = planner.program.unit.tree.root().smallest_at(statement);
    let node = covering(node, statement);
    Team { planner }.statement(node)
}

/// The outermost node with exactly this range.
fn covering(node: Node<'_>, range: TextRange) -> Node<'_> {
    let mut current = node;
    while let Some(parent) = current.parent() {
        if parent.range() != range {
            break;
        }
        current = parent;
    }
    current
}

pub(super) struct Team<'a, 'p> {
    pub(super) planner: &'a mut Planner<'p>,
}

impl<'p> Team<'_, 'p> {
    pub(super) fn program(&self) -> &'p Program {
        self.planner.program
    }

    /// Whether all threads must go through a statement: parallel regions begin in it, or control leaves or enters it by a jump.
    fn is_common(&self, node: Node<'p>) -> bool {
        self.is_fork(node)
            || forks_in(self.program(), &self.planner.facts.forks, node.range())
            || branches::first_leaving(node).is_some()
            || branches::is_entered(node)
    }

    fn statement(&mut self, node: Node<'p>) -> Plan {
        if node.kind() == Kind::ElseClause {
            let inner = node.children().find(|child| child.kind() != Kind::Comment);
            return inner.map_or(Plan::Nothing, |inner| self.statement(inner));
        }
        if !self.is_common(node) {
            return self.leader(&[node]);
        }
        if let Some(id) = self.construct_of(node) {
            return self.planner.construct(id, Context::Sequential);
        }
        match node.kind() {
            Kind::CompoundStatement => self.block(node),
            Kind::IfStatement => self.conditional(node),
            Kind::ForStatement => self.for_loop(node),
            Kind::ForRangeLoop => self.range_loop(node),
            Kind::WhileStatement => self.while_loop(node, true),
            Kind::DoStatement => self.while_loop(node, false),
            Kind::BreakStatement | Kind::ContinueStatement | Kind::GotoStatement => {
                Plan::Text(BodyText::verbatim(node.range()))
            }
            Kind::LabeledStatement => self.labeled(node),
            Kind::ReturnStatement => self.return_statement(node),
            Kind::SwitchStatement => self.switch(node),
            Kind::ExpressionStatement => self.expression_statement(node),
            _ => {
                let diagnostic = rex_syntax::diag::Diagnostic::new(
                    rex_syntax::diag::Code::UnsupportedStatement,
                    self.program().at(node.range()),
                    "this statement around a parallel region is not supported in a target region yet",
                )
                .with_help("use blocks, `if`, `switch`, `for`, `while`, `do` or `goto` around the `parallel`");
                self.planner.errors.push(diagnostic);
                Plan::Nothing
            }
        }
    }

    /// A label for all threads: they get to every jump together.
    fn labeled(&mut self, node: Node<'p>) -> Plan {
        let Some(label) = node.field(Field::Label) else {
            return Plan::Nothing;
        };
        let inner = node.children().filter(|child| *child != label);
        let mut plans = vec![Plan::Words(format_smolstr!("{}:;", label.text()))];
        plans.extend(self.statements(inner.collect()));
        together(plans)
    }

    /// `switch` on the leader's value, gone through by all threads.
    fn switch(&mut self, node: Node<'p>) -> Plan {
        let mut before = Vec::new();
        let (Some(condition), Some(body)) = (self.head(node, &mut before), node.field(Field::Body))
        else {
            return Plan::Nothing;
        };
        let mut cases = Vec::new();
        for case in body.children() {
            if case.kind() == Kind::Comment {
                continue;
            }
            if case.kind() != Kind::CaseStatement {
                self.refuse(
                    case.range(),
                    "this statement stands in front of every `case`",
                    "move it before the `switch`, or behind a `case`",
                );
                return Plan::Nothing;
            }
            let value = case.field(Field::Value);
            let statements: Vec<Node<'p>> = case
                .children()
                .filter(|child| Some(*child) != value)
                .collect();
            cases.push(CasePlan {
                value: value.map(|value| BodyText::verbatim(value.range())),
                body: self.statements(statements),
            });
        }
        let (condition, results) = self.with_results(condition);
        before.extend(results);
        before.push(Plan::TeamSwitch { condition, cases });
        together(before)
    }

    pub(super) fn refuse(&mut self, at: TextRange, what: &str, help: &str) {
        let diagnostic = rex_syntax::diag::Diagnostic::new(
            rex_syntax::diag::Code::UnsupportedStatement,
            self.program().at(at),
            what,
        );
        self.planner.errors.push(diagnostic.with_help(help));
    }

    /// The user's text for one thread, with the directives inside it replaced.
    pub(super) fn body_text(&mut self, range: TextRange) -> BodyText {
        self.planner.body_text(range, Context::Thread)
    }

    fn construct_of(&self, node: Node<'p>) -> Option<ConstructId> {
        let program = self.program();
        let directive = program.unit.directive_of(node)?;
        program.construct_of(directive)
    }

    fn is_fork(&self, node: Node<'p>) -> bool {
        self.construct_of(node).is_some_and(|id| {
            matches!(
                self.program().constructs[id].leaves.first(),
                Some(Leaf::Parallel | Leaf::Distribute | Leaf::Loop)
            )
        })
    }

    fn block(&mut self, node: Node<'p>) -> Plan {
        Plan::Sequence(self.statements(node.children().collect()))
    }

    fn statements(&mut self, nodes: Vec<Node<'p>>) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut run: Vec<Node<'p>> = Vec::new();
        let block = nodes.first().and_then(|first| first.parent());
        let mut end = block.map_or(TextSize::default(), |block| block.range().start());
        for child in nodes {
            let between = TextRange::new(end, child.range().start().max(end));
            for declared in self.program().scoped_reductions_in(between) {
                self.flush(&mut run, &mut plans);
                plans.push(Plan::Replicated(BodyText::verbatim(declared.at)));
            }
            end = child.range().end();
            match child.kind() {
                Kind::Comment => continue,
                Kind::Declaration => {
                    self.flush(&mut run, &mut plans);
                    self.declaration(child, &mut plans);
                }
                Kind::TypeDefinition | Kind::UsingDeclaration | Kind::AliasDeclaration => {
                    plans.push(Plan::Replicated(self.body_text(child.range())));
                }
                // Its semicolon is no part of it.
                Kind::StructSpecifier
                | Kind::ClassSpecifier
                | Kind::UnionSpecifier
                | Kind::EnumSpecifier => {
                    let source = self.program().source();
                    let rest = TextRange::new(child.range().end(), TextSize::of(source));
                    let end = significant_tokens(source, rest).next();
                    let end = end.filter(|token| token.text(source) == ";");
                    let range = end.map_or(child.range(), |end| child.range().cover(end.range));
                    plans.push(Plan::Replicated(self.body_text(range)));
                }
                _ if self.is_common(child) => {
                    self.flush(&mut run, &mut plans);
                    plans.push(self.statement(child));
                }
                _ => run.push(child),
            }
        }
        self.flush(&mut run, &mut plans);
        plans
    }

    fn flush(&mut self, run: &mut Vec<Node<'p>>, plans: &mut Vec<Plan>) {
        if !run.is_empty() {
            plans.push(self.leader(run));
            run.clear();
        }
    }

    /// Consecutive statements for the leader.
    fn leader(&mut self, nodes: &[Node<'p>]) -> Plan {
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
            return Plan::Nothing;
        };
        let range = first.range().cover(last.range());
        let body = self.planner.text(range, Context::Thread);
        Plan::leader(body)
    }

    fn conditional(&mut self, node: Node<'p>) -> Plan {
        let mut before = Vec::new();
        let Some(condition) = self.head(node, &mut before) else {
            return Plan::Nothing;
        };
        let then = node
            .field(Field::Consequence)
            .map_or(Plan::Nothing, |then| self.statement(then));
        let otherwise = node
            .field(Field::Alternative)
            .map(|otherwise| Box::new(self.statement(otherwise)));
        if self.is_uniform(condition) {
            before.push(Plan::UniformIf {
                condition: BodyText::verbatim(condition),
                then: Box::new(then),
                otherwise,
            });
            return together(before);
        }
        let (condition, results) = self.with_results(condition);
        before.extend(results);
        before.push(Plan::TeamIf {
            condition,
            then: Box::new(then),
            otherwise,
        });
        together(before)
    }

    fn for_loop(&mut self, node: Node<'p>) -> Plan {
        let Some(body_node) = node.field(Field::Body) else {
            return Plan::Nothing;
        };
        let initializer = node.field(Field::Initializer);
        let symbol = initializer.and_then(|initializer| {
            let program = self.program();
            program.declared_by(initializer.range()).next()
        });
        if let Some(symbol) = symbol
            && self.is_uniform_loop(node, symbol)
        {
            let head = TextRange::new(node.range().start(), body_node.range().start());
            return Plan::UniformLoop {
                head: BodyText::verbatim(head),
                body: Box::new(self.statement(body_node)),
            };
        }
        let mut plans = Vec::new();
        let init = match initializer {
            Some(initializer) if initializer.kind() == Kind::Declaration => {
                self.declaration(initializer, &mut plans);
                None
            }
            Some(initializer) => {
                let text = self.body_text(initializer.range());
                Some(Box::new(Plan::leader(Plan::Text(text))))
            }
            None => None,
        };
        plans.push(Plan::TeamLoop {
            init,
            condition: node
                .condition()
                .map(|condition| self.body_text(condition.range())),
            step: node
                .field(Field::Update)
                .map(|update| self.body_text(update.range())),
            body: Box::new(self.statement(body_node)),
            tests_first: true,
        });
        Plan::Sequence(plans)
    }

    fn while_loop(&mut self, node: Node<'p>, tests_first: bool) -> Plan {
        let Some(body) = node.field(Field::Body) else {
            return Plan::Nothing;
        };
        if node
            .condition()
            .is_some_and(|condition| condition.kind() == Kind::Declaration)
        {
            return self.declaring_loop(node, body);
        }
        Plan::TeamLoop {
            init: None,
            condition: node
                .condition()
                .map(|condition| self.body_text(condition.range())),
            step: None,
            body: Box::new(self.statement(body)),
            tests_first,
        }
    }
}
