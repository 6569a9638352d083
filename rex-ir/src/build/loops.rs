//! Canonical loop nests.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};

use super::Builder;
use super::types::declared_name;
use super::undetermined::is_evaluated;
use crate::branches::first_leaving_loop;
use crate::namer;
use crate::region::{CanonicalLoop, LoopNest, LoopStep, Relation};
use crate::ty::{Meaning, TypeId, TypeKind};

/// Why a statement is not a canonical loop.
struct NotCanonical {
    at: TextRange,
    why: &'static str,
}

impl<'u> Builder<'u> {
    /// Reads `depth` perfectly nested loops; reports the first thing that is not canonical.
    pub(super) fn read_nest(
        &mut self,
        statement: Node<'u>,
        depth: usize,
        pragma: TextRange,
    ) -> Option<LoopNest> {
        let mut loops: Vec<CanonicalLoop> = Vec::new();
        let mut outer: Vec<Node<'_>> = Vec::new();
        let mut current = statement;
        loop {
            let only = self.only_loop(current);
            let among = match only.is_some() || loops.is_empty() {
                true => None,
                false => self.loop_among_others(current),
            };
            let Some(node) = only.or(among) else {
                let (what, help) = if loops.is_empty() {
                    (
                        "must be followed by a `for` loop",
                        "put the directive directly before the loop, or leave its loop construct out",
                    )
                } else {
                    (
                        "needs more nested `for` loops",
                        "write a smaller number, or move what stands between the loops into the innermost one",
                    )
                };
                let diagnostic = Diagnostic::new(
                    Code::NotCanonicalLoop,
                    self.at(first_line(self.source, current.range())),
                    format!("the directive {what}"),
                )
                .with_secondary(self.at(pragma), "for this directive")
                .with_note(
                    "`collapse(n)` applies to n loops, each directly inside the one around it",
                )
                .with_help(help);
                self.diagnostics.push(diagnostic);
                return None;
            };
            let canonical = self.canonical_loop(node).and_then(|canonical| {
                match count_with(&outer, &canonical) {
                    Some(at) => Err(NotCanonical {
                        at,
                        why: "it depends on the variable of a loop inside it",
                    }),
                    None => Ok(canonical),
                }
            });
            match canonical {
                Ok(mut canonical) => {
                    outer.push(node);
                    canonical.among = among.map(|_| current.range());
                    loops.push(canonical);
                }
                Err(NotCanonical { at, why }) => {
                    let diagnostic = Diagnostic::new(Code::NotCanonicalLoop, self.at(at), "this loop is not in canonical form")
                        .with_label(why)
                        .with_secondary(self.at(pragma), "for this directive")
                        .with_help("write `for (T i = first; i < bound; i += step)` with a bound and step that do not change");
                    self.diagnostics.push(diagnostic);
                    return None;
                }
            }
            let body = node.field(Field::Body)?;
            if let Some(leaving) = first_leaving_loop(body) {
                let diagnostic = Diagnostic::new(
                    Code::NotCanonicalLoop,
                    self.at(leaving.range()),
                    "this statement leaves a loop whose iterations are divided among threads",
                )
                .with_secondary(self.at(pragma), "by this directive")
                .with_help("let the iterations that are not wanted do nothing: `if (wanted) { .. }`, or `continue`");
                self.diagnostics.push(diagnostic);
                return None;
            }
            if loops.len() == depth {
                return Some(LoopNest {
                    loops,
                    body: body.range(),
                });
            }
            current = body;
        }
    }

    /// The one `for` statement among other statements of a block.
    fn loop_among_others(&self, block: Node<'u>) -> Option<Node<'u>> {
        if block.kind() != Kind::CompoundStatement {
            return None;
        }
        let mut loops = block
            .children()
            .filter(|child| matches!(child.kind(), Kind::ForStatement | Kind::ForRangeLoop));
        let only = loops.next()?;
        loops.next().is_none().then_some(only)
    }

    /// The `for` statement that is the only statement here, braces and loop transformation hints aside.
    pub(super) fn only_loop(&self, node: Node<'u>) -> Option<Node<'u>> {
        let mut current = node;
        loop {
            match current.kind() {
                Kind::ForStatement | Kind::ForRangeLoop => return Some(current),
                Kind::CompoundStatement => {
                    current = current.only_child()?;
                }
                Kind::WhileStatement => {
                    let directive = self.unit.directive_of(current)?;
                    use rex_syntax::omp::directive::Leaf;
                    let is_hint = matches!(
                        self.unit.directives[directive].first(),
                        Some(Leaf::Unroll | Leaf::Simd)
                    );
                    if !is_hint {
                        return None;
                    }
                    current = self.unit.statement_of(directive)?;
                }
                _ => return None,
            }
        }
    }

    fn canonical_loop(&mut self, node: Node<'u>) -> Result<CanonicalLoop, NotCanonical> {
        let err = |at: TextRange, why| NotCanonical { at, why };
        if node.kind() == Kind::ForRangeLoop {
            return self.range_loop(node).ok_or(err(
                first_line(self.source, node.range()),
                "its variable must be one name",
            ));
        }
        let header = first_line(self.source, node.range());
        let initializer = node
            .field(Field::Initializer)
            .ok_or(err(header, "it has no initialization"))?;
        let (variable, lower, declares_variable) = match initializer.kind() {
            Kind::Declaration => {
                let declarators = initializer.fields(Field::Declarator);
                let [declarator] = declarators.as_slice() else {
                    return Err(err(
                        initializer.range(),
                        "it declares more than one variable",
                    ));
                };
                let name = declared_name(*declarator)
                    .ok_or(err(initializer.range(), "no variable is declared"))?;
                let value = declarator
                    .field(Field::Value)
                    .ok_or(err(initializer.range(), "the variable has no first value"))?;
                (name, self.value_in_braces(initializer, value), true)
            }
            Kind::AssignmentExpression
                if initializer
                    .field(Field::Operator)
                    .is_some_and(|op| op.text() == "=") =>
            {
                let left = initializer
                    .field(Field::Left)
                    .and_then(without_parentheses)
                    .ok_or(err(initializer.range(), "not an assignment"))?;
                let right = initializer
                    .field(Field::Right)
                    .ok_or(err(initializer.range(), "not an assignment"))?;
                (left, right, false)
            }
            _ => return Err(err(initializer.range(), "it must initialize one variable")),
        };
        if variable.kind() != Kind::Identifier {
            return Err(err(
                variable.range(),
                "the iteration variable must be a plain variable",
            ));
        }
        let name = variable.text();
        let condition = node.condition().ok_or(err(header, "it has no test"))?;
        let (relation, bound) = self.test(condition, name).ok_or(err(
            condition.range(),
            "the test must compare the iteration variable with `<`, `<=`, `>`, `>=` or `!=`",
        ))?;
        let update = node
            .field(Field::Update)
            .ok_or(err(header, "it has no increment"))?;
        let step = step(update, name).ok_or(err(
            update.range(),
            "the increment must be `++`, `--`, `+= step`, `-= step`, `i = i + step` or `i = i - step`",
        ))?;
        if !declares_variable && mentions(lower, lower.range(), name) {
            return Err(err(
                lower.range(),
                "its first value depends on the variable",
            ));
        }
        if mentions(condition, bound, name) {
            return Err(err(condition.range(), "its bound depends on the variable"));
        }
        if let LoopStep::Add(by) | LoopStep::Subtract(by) = step {
            if mentions(update, by, name) {
                return Err(err(update.range(), "its step depends on the variable"));
            }
            let value = self.constant_value(by);
            if value == Some(0) {
                return Err(err(update.range(), "the increment changes nothing"));
            }
            let may_be_one = match value {
                Some(value) => matches!(value, 1 | -1),
                None => self.has_value_per_instance(by) || self.has_macros(by),
            };
            if relation == Relation::NotEqual && !may_be_one {
                return Err(err(
                    update.range(),
                    "with `!=`, the increment must be 1 or -1: other steps may miss the bound",
                ));
            }
        }
        let symbol = self
            .scopes
            .resolve(&self.symbols, name, bound)
            .ok_or(err(variable.range(), "the variable is not declared"))?;
        let mut ty = self.types.object_type(self.symbols[symbol].ty);
        if !declares_variable && self.is_deduced(symbol) {
            ty = self.types.named(namer::type_of(name), Meaning::Dependent);
        } else if matches!(
            self.types.get(ty).kind,
            TypeKind::Named {
                meaning: Meaning::Auto,
                ..
            }
        ) && let Some(found) = self.expression_type(lower, lower.range(), 0)
        {
            ty = found;
        } else {
            ty = self.symbols[symbol].ty;
            if let TypeKind::Reference(to) = self.types.get(ty).kind {
                ty = to;
            }
        }
        let ty = self.types.unqualified(ty);
        if self.has_fractions(ty) {
            return Err(err(
                variable.range(),
                "its variable must be an integer, a pointer or an iterator",
            ));
        }
        Ok(CanonicalLoop {
            range: node.range(),
            variable: name.into(),
            ty,
            declares_variable,
            lower: lower.range(),
            bound,
            relation,
            step,
            element: None,
            among: None,
        })
    }

    fn has_fractions(&self, ty: TypeId) -> bool {
        let kind = &self.types.get(self.types.object_type(ty)).kind;
        matches!(
            kind,
            TypeKind::Named {
                meaning: Meaning::Float { .. },
                ..
            }
        )
    }

    /// The only value in the braces of an initialization, `i{0}`, unless an object may be made of it as a whole.
    fn value_in_braces(&self, declaration: Node<'u>, value: Node<'u>) -> Node<'u> {
        let is_of_builtin_type = declaration.field(Field::Type).is_some_and(|ty| {
            matches!(
                ty.kind(),
                Kind::PrimitiveType | Kind::SizedTypeSpecifier | Kind::PlaceholderTypeSpecifier
            )
        });
        match value.kind() {
            Kind::InitializerList if is_of_builtin_type => value.only_child().unwrap_or(value),
            _ => value,
        }
    }

    /// `for (T x : range)`
    fn range_loop(&mut self, node: Node<'u>) -> Option<CanonicalLoop> {
        let declarator = node.field(Field::Declarator)?;
        let variable = declared_name(declarator).filter(|name| name.kind() == Kind::Identifier)?;
        let range = node.field(Field::Right)?;
        let open = node.text().find('(')?;
        let start = node.range().start() + rex_syntax::TextSize::try_from(open + 1).ok()?;
        let name = variable.text();
        let body = node.field(Field::Body)?;
        let symbol = self.scopes.resolve(&self.symbols, name, body.range())?;
        Some(CanonicalLoop {
            range: node.range(),
            variable: name.into(),
            ty: self.symbols[symbol].ty,
            declares_variable: true,
            lower: range.range(),
            bound: range.range(),
            relation: Relation::Less,
            step: LoopStep::Increment,
            element: Some(TextRange::new(start, declarator.range().end())),
            among: None,
        })
    }

    fn test(&self, condition: Node<'u>, variable: &str) -> Option<(Relation, TextRange)> {
        let condition = without_parentheses(condition)?;
        if condition.kind() != Kind::BinaryExpression {
            return None;
        }
        let left = condition.field(Field::Left)?;
        let right = condition.field(Field::Right)?;
        let operator = condition.field(Field::Operator)?.text();
        let (relation, mirrored) = match operator {
            "<" => (Relation::Less, Relation::Greater),
            "<=" => (Relation::LessEqual, Relation::GreaterEqual),
            ">" => (Relation::Greater, Relation::Less),
            ">=" => (Relation::GreaterEqual, Relation::LessEqual),
            "!=" => (Relation::NotEqual, Relation::NotEqual),
            _ => return None,
        };
        if is_name(left, variable) {
            Some((relation, right.range()))
        } else if is_name(right, variable) {
            Some((mirrored, left.range()))
        } else {
            None
        }
    }
}

/// Where the head of one of the loops around another one evaluates its variable.
fn count_with(outer: &[Node<'_>], inner: &CanonicalLoop) -> Option<TextRange> {
    let heads = outer
        .iter()
        .filter(|_| !inner.declares_variable)
        .flat_map(|it| {
            let (initializer, update) = (it.field(Field::Initializer), it.field(Field::Update));
            [initializer, it.condition(), update]
        });
    let mut heads = heads.flatten();
    heads
        .find(|it| mentions(*it, it.range(), &inner.variable))
        .map(Node::range)
}

/// Whether a part of an expression evaluates a variable.
fn mentions(node: Node<'_>, part: TextRange, variable: &str) -> bool {
    node.subtree()
        .filter(|it| it.kind() == Kind::Identifier && it.text() == variable)
        .filter(|it| part.contains_range(it.range()))
        .any(|name| is_evaluated(name, part))
}

/// What stands in the parentheses of an expression, however many there are.
fn without_parentheses(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    while node.kind() == Kind::ParenthesizedExpression {
        node = node
            .children()
            .find(|child| child.kind() != Kind::Comment)?;
    }
    Some(node)
}

fn is_name(node: Node<'_>, name: &str) -> bool {
    without_parentheses(node)
        .is_some_and(|node| node.kind() == Kind::Identifier && node.text() == name)
}

fn step(update: Node<'_>, variable: &str) -> Option<LoopStep> {
    let update = without_parentheses(update)?;
    match update.kind() {
        Kind::UpdateExpression => {
            if !is_name(update.field(Field::Argument)?, variable) {
                return None;
            }
            match update.field(Field::Operator)?.text() {
                "++" => Some(LoopStep::Increment),
                _ => Some(LoopStep::Decrement),
            }
        }
        Kind::AssignmentExpression => {
            if !is_name(update.field(Field::Left)?, variable) {
                return None;
            }
            let right = update.field(Field::Right)?;
            match update.field(Field::Operator)?.text() {
                "+=" => Some(LoopStep::Add(right.range())),
                "-=" => Some(LoopStep::Subtract(right.range())),
                "=" if right.kind() == Kind::BinaryExpression => {
                    let (a, b) = (right.field(Field::Left)?, right.field(Field::Right)?);
                    match right.field(Field::Operator)?.text() {
                        "+" if is_name(a, variable) => Some(LoopStep::Add(b.range())),
                        "+" if is_name(b, variable) => Some(LoopStep::Add(a.range())),
                        "-" if is_name(a, variable) => Some(LoopStep::Subtract(b.range())),
                        _ => None,
                    }
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The first line of a range: what a message about a whole statement points at.
pub(super) fn first_line(source: &str, range: TextRange) -> TextRange {
    let text = &source[range];
    let length = text.find(['\n', '\r']).unwrap_or(text.len());
    TextRange::at(
        range.start(),
        rex_syntax::TextSize::try_from(length).unwrap_or(range.len()),
    )
}
