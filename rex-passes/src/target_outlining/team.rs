//! Team programs: sequential code of a team around parallel regions.
//!
//! Every thread of the block goes through the region. Statements without parallel regions inside are executed by the leader, followed by a barrier; control flow around parallel regions is decided by
//! all threads where they all can compute it, otherwise by the leader for all. Objects declared in sequential code and used inside a parallel region live in shared memory.

use rex_ir::kernel::{BodyText, Plan};
use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, ConstructId, Transport};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::TypeKind;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use super::plan::{Context, Planner};

/// Whether a parallel region stands inside a construct's statement.
pub(super) fn forks_inside(program: &Program, id: ConstructId) -> bool {
    program.constructs[id]
        .statement
        .is_some_and(|statement| forks_in(program, statement))
}

/// Whether a range holds a parallel region, or a `distribute` whose iterations do.
fn forks_in(program: &Program, range: TextRange) -> bool {
    program.constructs.iter().any(|(_, construct)| {
        range.contains_range(construct.range)
            && matches!(
                construct.leaves.first(),
                Some(Leaf::Parallel | Leaf::Distribute | Leaf::Loop)
            )
    })
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

struct Team<'a, 'p> {
    planner: &'a mut Planner<'p>,
}

impl<'p> Team<'_, 'p> {
    fn program(&self) -> &'p Program {
        self.planner.program
    }

    fn statement(&mut self, node: Node<'p>) -> Plan {
        if !self.is_fork(node) && !forks_in(self.program(), node.range()) {
            return self.leader(&[node]);
        }
        if let Some(id) = self.construct_of(node) {
            return self.planner.construct(id, Context::Sequential);
        }
        match node.kind() {
            Kind::CompoundStatement => self.block(node),
            Kind::IfStatement => self.conditional(node),
            Kind::ForStatement => self.for_loop(node),
            Kind::WhileStatement => self.while_loop(node, true),
            Kind::DoStatement => self.while_loop(node, false),
            Kind::ElseClause => {
                let inner = node.children().find(|child| child.kind() != Kind::Comment);
                inner.map_or(Plan::Nothing, |inner| self.statement(inner))
            }
            _ => {
                let diagnostic = rex_syntax::diag::Diagnostic::new(
                    rex_syntax::diag::Code::UnsupportedStatement,
                    self.program().at(node.range()),
                    "this statement around a parallel region is not supported in a target region yet",
                )
                .with_help("use blocks, `if`, `for`, `while` or `do` around the `parallel`");
                self.planner.errors.push(diagnostic);
                Plan::Nothing
            }
        }
    }

    fn construct_of(&self, node: Node<'p>) -> Option<ConstructId> {
        let program = self.program();
        let directive = program.unit.directive_of(node)?;
        program
            .constructs
            .iter()
            .find(|(_, construct)| construct.directives.first() == Some(&directive))
            .map(|(id, _)| id)
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
        let mut plans = Vec::new();
        let mut run: Vec<Node<'p>> = Vec::new();
        for child in node.children() {
            match child.kind() {
                Kind::Comment => continue,
                Kind::Declaration => {
                    self.flush(&mut run, &mut plans);
                    self.declaration(child, &mut plans);
                }
                Kind::TypeDefinition
                | Kind::StructSpecifier
                | Kind::EnumSpecifier
                | Kind::UsingDeclaration
                | Kind::AliasDeclaration => {
                    plans.push(Plan::Text(BodyText::verbatim(child.range())));
                }
                _ if self.is_fork(child) || forks_in(self.program(), child.range()) => {
                    self.flush(&mut run, &mut plans);
                    plans.push(self.statement(child));
                }
                _ => run.push(child),
            }
        }
        self.flush(&mut run, &mut plans);
        Plan::Sequence(plans)
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
        Plan::Leader(Box::new(body))
    }

    /// A declaration of sequential code: replicated, shared, or the leader's own.
    fn declaration(&mut self, node: Node<'p>, plans: &mut Vec<Plan>) {
        let program = self.program();
        let symbols: Vec<SymbolId> = program
            .symbols
            .iter()
            .filter(|(_, symbol)| {
                symbol.declaration == Some(node.range())
                    && matches!(symbol.kind, SymbolKind::Local | SymbolKind::StaticLocal)
            })
            .map(|(id, _)| id)
            .collect();
        let replicated = symbols.iter().all(|symbol| self.is_replicated(*symbol));
        if symbols.is_empty() || replicated {
            plans.push(Plan::Text(BodyText::verbatim(node.range())));
            return;
        }
        for symbol in symbols {
            let found = &program.symbols[symbol];
            let is_reference = matches!(program.types.get(found.ty).kind, TypeKind::Reference(_));
            if is_reference {
                plans.push(Plan::Text(BodyText::verbatim(node.range())));
                return;
            }
            let initializer = found.initializer.map(BodyText::verbatim);
            plans.push(Plan::Shared {
                name: found.name.clone(),
                ty: found.ty,
                initializer,
            });
        }
    }

    /// Every thread can compute the variable by itself and it keeps its first value.
    fn is_replicated(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let found = &program.symbols[symbol];
        let is_array = matches!(
            program.types.get(program.types.desugar(found.ty)).kind,
            TypeKind::Array { .. }
        );
        let Some(initializer) = found.initializer else {
            return false;
        };
        !is_array && self.is_uniform(initializer) && !self.is_assigned(symbol)
    }

    /// All threads get the same value from this expression, without side effects.
    fn is_uniform(&self, range: TextRange) -> bool {
        let program = self.program();
        let text = program.text(range);
        if text.contains("++")
            || text.contains("--")
            || text.contains('[')
            || text.contains("->")
            || text.contains('{')
        {
            return false;
        }
        let assigns = text.as_bytes().windows(3).any(|three| {
            three[1] == b'=' && three[2] != b'=' && !matches!(three[0], b'=' | b'<' | b'>' | b'!')
        });
        if assigns || text.trim_start().starts_with('*') || text.contains("(*") {
            return false;
        }
        lex::identifiers(program.source(), range).all(|at| {
            let name = program.text(at);
            if matches!(
                name,
                "omp_get_team_num" | "omp_get_num_teams" | "sizeof" | "min" | "max"
            ) {
                return true;
            }
            if program.macro_at(name, at).is_some() {
                return program.macro_names(name, at).iter().all(|inner| {
                    program
                        .scopes
                        .resolve(&program.symbols, inner, at)
                        .is_none_or(|symbol| self.is_uniform_name(symbol))
                });
            }
            match program.scopes.resolve(&program.symbols, name, at) {
                Some(symbol) => self.is_uniform_name(symbol),
                None => false,
            }
        })
    }

    fn is_uniform_name(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let found = &program.symbols[symbol];
        match found.kind {
            SymbolKind::Enumerator | SymbolKind::Type | SymbolKind::TemplateValue => return true,
            kind if !kind.is_variable() => return false,
            _ => {}
        }
        let Some(region) = self.planner.region() else {
            return false;
        };
        if let Some(capture) = region
            .captures
            .iter()
            .find(|capture| capture.object == CapturedObject::Variable(symbol))
        {
            return match capture.transport {
                Transport::Literal => !capture.may_be_written,
                Transport::Pointee | Transport::DevicePointer => true,
                _ => false,
            };
        }
        let statement = program.constructs[region.construct].statement;
        let inside = found
            .declared_at
            .zip(statement)
            .is_some_and(|(declared, statement)| statement.contains_range(declared));
        if !inside {
            // A copied constant.
            return found.initializer.is_some();
        }
        self.is_loop_variable(symbol) || self.is_replicated(symbol)
    }

    /// The variable of a loop whose iterations the teams share, or of a loop that all threads go through.
    fn is_loop_variable(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let name = &program.symbols[symbol].name;
        program.constructs.iter().any(|(_, construct)| {
            (construct.has(Leaf::Distribute) || construct.has(Leaf::Loop))
                && construct.nest.is_some_and(|nest| {
                    program.nests[nest].loops.iter().any(|canonical| {
                        canonical.variable == *name
                            && program.symbols[symbol]
                                .declared_at
                                .is_some_and(|declared| canonical.range.contains_range(declared))
                    })
                })
        }) || self.uniform_for(symbol)
    }

    fn uniform_for(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let Some(declaration) = program.symbols[symbol].declaration else {
            return false;
        };
        let root = program.unit.tree.root();
        let node = covering(root.smallest_at(declaration), declaration);
        node.parent().is_some_and(|parent| {
            parent.kind() == Kind::ForStatement
                && parent
                    .field(Field::Initializer)
                    .is_some_and(|initializer| initializer.range() == declaration)
                && self.is_uniform_loop(parent, symbol)
        })
    }

    /// `for (int k = ..; k < ..; k++)` where bounds are uniform and the body leaves `k` alone.
    fn is_uniform_loop(&self, node: Node<'p>, symbol: SymbolId) -> bool {
        let program = self.program();
        let name = program.symbols[symbol].name.as_str();
        let Some(initializer) = program.symbols[symbol].initializer else {
            return false;
        };
        let Some(condition) = node.condition() else {
            return false;
        };
        let uniform_but_self = |range: TextRange| {
            lex::identifiers(program.source(), range).all(|at| {
                program.text(at) == name
                    || program
                        .scopes
                        .resolve(&program.symbols, program.text(at), at)
                        .is_some_and(|other| other != symbol && self.is_uniform_name(other))
                    || program.macro_at(program.text(at), at).is_some()
            }) && !program.text(range).contains('[')
                && !program.text(range).contains("->")
        };
        let Some(body) = node.field(Field::Body) else {
            return false;
        };
        self.is_uniform(initializer)
            && uniform_but_self(condition.range())
            && node
                .field(Field::Update)
                .is_none_or(|update| uniform_but_self(update.range()))
            && !self.assigned_in(symbol, body.range())
    }

    fn is_assigned(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let statement = self
            .planner
            .region()
            .and_then(|region| program.constructs[region.construct].statement);
        statement.is_some_and(|statement| self.assigned_in(symbol, statement))
    }

    /// Whether any use inside a range may change the variable.
    fn assigned_in(&self, symbol: SymbolId, range: TextRange) -> bool {
        let program = self.program();
        let name = program.symbols[symbol].name.as_str();
        let root = program.unit.tree.root().smallest_at(range);
        root.descendants().any(|node| {
            node.kind() == Kind::Identifier
                && node.text() == name
                && range.contains_range(node.range())
                && program.symbols[symbol].declared_at != Some(node.range())
                && may_change(node)
                && program.scopes.resolve(&program.symbols, name, node.range()) == Some(symbol)
        })
    }

    fn conditional(&mut self, node: Node<'p>) -> Plan {
        let Some(condition) = node.condition() else {
            return Plan::Nothing;
        };
        let then = node
            .field(Field::Consequence)
            .map_or(Plan::Nothing, |then| self.statement(then));
        let otherwise = node
            .field(Field::Alternative)
            .map(|otherwise| Box::new(self.statement(otherwise)));
        if self.is_uniform(condition.range()) {
            return Plan::UniformIf {
                condition: BodyText::verbatim(condition.range()),
                then: Box::new(then),
                otherwise,
            };
        }
        Plan::TeamIf {
            condition: BodyText::verbatim(condition.range()),
            then: Box::new(then),
            otherwise,
        }
    }

    fn for_loop(&mut self, node: Node<'p>) -> Plan {
        let Some(body_node) = node.field(Field::Body) else {
            return Plan::Nothing;
        };
        let body = self.statement(body_node);
        let initializer = node.field(Field::Initializer);
        let symbol = initializer.and_then(|initializer| {
            let program = self.program();
            program
                .symbols
                .iter()
                .find(|(_, symbol)| symbol.declaration == Some(initializer.range()))
                .map(|(id, _)| id)
        });
        if let Some(symbol) = symbol
            && self.is_uniform_loop(node, symbol)
        {
            let head = TextRange::new(node.range().start(), body_node.range().start());
            return Plan::UniformLoop {
                head: BodyText::verbatim(head),
                body: Box::new(body),
            };
        }
        let mut plans = Vec::new();
        let init = match initializer {
            Some(initializer) if initializer.kind() == Kind::Declaration => {
                self.declaration(initializer, &mut plans);
                None
            }
            Some(initializer) => Some(Box::new(Plan::Leader(Box::new(Plan::Text(
                BodyText::verbatim(initializer.range()),
            ))))),
            None => None,
        };
        plans.push(Plan::TeamLoop {
            init,
            condition: node
                .condition()
                .map(|condition| BodyText::verbatim(condition.range())),
            step: node
                .field(Field::Update)
                .map(|update| BodyText::verbatim(update.range())),
            body: Box::new(body),
            tests_first: true,
        });
        Plan::Sequence(plans)
    }

    fn while_loop(&mut self, node: Node<'p>, tests_first: bool) -> Plan {
        let Some(body) = node.field(Field::Body) else {
            return Plan::Nothing;
        };
        let body = self.statement(body);
        Plan::TeamLoop {
            init: None,
            condition: node
                .condition()
                .map(|condition| BodyText::verbatim(condition.range())),
            step: None,
            body: Box::new(body),
            tests_first,
        }
    }
}

/// Whether this use of a name may change the variable.
fn may_change(node: Node<'_>) -> bool {
    let mut current = node;
    while let Some(parent) = current.parent() {
        match parent.kind() {
            Kind::ParenthesizedExpression => {}
            Kind::FieldExpression | Kind::SubscriptExpression
                if parent.field(Field::Argument) == Some(current) => {}
            Kind::AssignmentExpression => return parent.field(Field::Left) == Some(current),
            Kind::UpdateExpression => return true,
            Kind::PointerExpression => {
                return parent
                    .field(Field::Operator)
                    .is_some_and(|operator| operator.text() == "&");
            }
            Kind::ArgumentList => return true,
            _ => return false,
        }
        current = parent;
    }
    false
}
