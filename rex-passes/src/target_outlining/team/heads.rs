//! Heads of statements around parallel regions: what they declare, and their conditions.

use rex_ir::kernel::{BodyText, Plan};
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::SmolStr;

use super::Team;

impl<'p> Team<'_, 'p> {
    /// The condition in the head of an `if` or `switch`; what the head does before goes to `plans`.
    pub(super) fn head(&mut self, node: Node<'p>, plans: &mut Vec<Plan>) -> Option<TextRange> {
        let first = node
            .field(Field::Condition)
            .and_then(|clause| clause.field(Field::Initializer));
        if let Some(first) = first {
            let inner = match first.kind() {
                Kind::InitStatement => first
                    .children()
                    .find(|child| child.kind() != Kind::Comment)?,
                _ => first,
            };
            plans.extend(self.statements(vec![inner]));
        }
        let condition = node.condition()?;
        match condition.kind() {
            Kind::Declaration => self.declared_condition(condition, plans),
            _ => Some(condition.range()),
        }
    }

    /// `T x = value` as a condition: the variable is declared before, and is the condition.
    fn declared_condition(
        &mut self,
        declaration: Node<'p>,
        plans: &mut Vec<Plan>,
    ) -> Option<TextRange> {
        self.declaration(declaration, plans);
        let program = self.program();
        let symbol = program.declared_by(declaration.range()).next()?;
        program.symbols[symbol].declared_at
    }

    /// `while (T x = value)`: the variable is a new one in every turn.
    pub(super) fn declaring_loop(&mut self, node: Node<'p>, body: Node<'p>) -> Plan {
        let mut turn = Vec::new();
        let Some(condition) = self.head(node, &mut turn) else {
            return Plan::Nothing;
        };
        turn.push(Plan::TeamIf {
            condition: BodyText::verbatim(condition),
            then: Box::new(self.statement(body)),
            otherwise: Some(Box::new(Plan::Words(SmolStr::new_static("break;")))),
        });
        Plan::TeamLoop {
            init: None,
            condition: None,
            step: None,
            body: Box::new(Plan::Sequence(turn)),
            tests_first: true,
        }
    }
}
