//! How many loops `collapse` and `ordered` clauses take.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::Code;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::Leaf;

use super::Builder;
use crate::region::{DataSharing, SharingAttribute};

impl<'u> Builder<'u> {
    /// The number of loops whose iterations are divided among threads.
    ///
    /// Where each instantiation of a template has a number of its own, it is the least that all of them have: one. A thread then
    /// executes the loops inside its iteration by itself, with variables of its own.
    pub(super) fn collapsed(
        &mut self,
        expression: TextRange,
        statement: Option<Node<'u>>,
        leaf: Leaf,
        sharing: &mut Vec<DataSharing>,
    ) -> usize {
        let value = self.constant_value(expression);
        match value.map(usize::try_from) {
            Some(Ok(value @ 1..)) => value,
            None if self.has_value_per_instance(expression) => {
                self.share_inner_variables(expression, statement, leaf, sharing);
                1
            }
            _ => {
                self.report(
                    Code::ClauseSyntax,
                    expression,
                    "`collapse` needs a positive constant",
                    "write the number of loops, such as `collapse(2)`",
                );
                1
            }
        }
    }

    /// Reports an `ordered(n)` that counts fewer loops than `collapse`, or more than there are.
    pub(super) fn check_ordered(
        &mut self,
        directives: &[usize],
        statement: Node<'u>,
        collapsed: usize,
    ) {
        let unit = self.unit;
        let mut clauses = directives
            .iter()
            .filter_map(|idx| unit.directives[*idx].clause(ClauseName::Ordered));
        let Some(number) = clauses.find_map(Clause::expression) else {
            return;
        };
        let Some(n_ordered @ 1..) = self.constant_value(number) else {
            return;
        };
        let n_loops = self.nested_loops(Some(statement)).count();
        let n_needed = usize::try_from(n_ordered).unwrap_or(usize::MAX);
        if n_needed < collapsed {
            let headline = "`ordered` counts fewer loops than `collapse`";
            let help = format!("write `ordered({collapsed})`, or a smaller number in `collapse`");
            self.report(Code::ClauseSyntax, number, headline, help);
        } else if n_loops < n_needed && collapsed <= n_loops {
            let headline = format!("`ordered({n_needed})` needs that many nested `for` loops");
            let help = format!(
                "write `ordered({n_loops})`, or put each loop directly inside the one around it"
            );
            self.report(Code::NotCanonicalLoop, number, headline, help);
        }
    }

    /// A loop and those inside it, each of which is the only statement of the one around it.
    fn nested_loops(&self, statement: Option<Node<'u>>) -> impl Iterator<Item = Node<'u>> {
        let outermost = statement.and_then(|statement| self.only_loop(statement));
        let body = |outer: &Node<'u>| self.only_loop(outer.field(Field::Body)?);
        std::iter::successors(outermost, body)
    }

    /// Makes the variables of the loops inside a loop private that stand outside it.
    fn share_inner_variables(
        &self,
        expression: TextRange,
        statement: Option<Node<'u>>,
        leaf: Leaf,
        sharing: &mut Vec<DataSharing>,
    ) {
        let inner = self.nested_loops(statement).skip(1);
        let variables = inner.filter_map(|inner| {
            let initializer = inner.field(Field::Initializer)?;
            let assigns = initializer.kind() == Kind::AssignmentExpression;
            let variable = initializer.field(Field::Left).filter(|_| assigns)?;
            self.scopes
                .resolve(&self.symbols, variable.text(), variable.range())
        });
        for symbol in variables {
            if sharing.iter().all(|listed| listed.symbol != symbol) {
                sharing.push(DataSharing {
                    symbol,
                    attribute: SharingAttribute::Private,
                    on: leaf,
                    is_on_target: false,
                    at: expression,
                });
            }
        }
    }
}
