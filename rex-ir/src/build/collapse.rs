//! How many loops a `collapse` clause takes.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::Code;
use rex_syntax::kind::{Field, Kind};
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

    /// Makes the variables of the loops inside a loop private that stand outside it.
    fn share_inner_variables(
        &self,
        expression: TextRange,
        statement: Option<Node<'u>>,
        leaf: Leaf,
        sharing: &mut Vec<DataSharing>,
    ) {
        let outermost = statement.and_then(|statement| self.only_loop(statement));
        let body = |outer: &Node<'u>| self.only_loop(outer.field(Field::Body)?);
        let inner = std::iter::successors(outermost, body).skip(1);
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
