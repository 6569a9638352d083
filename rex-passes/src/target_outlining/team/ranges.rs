//! Range-based `for` loops around parallel regions: every thread goes through the range.

use rex_ir::kernel::{BodyText, Plan, RangeElement, RangePlan};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::TypeKind;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

use super::Team;

impl<'p> Team<'_, 'p> {
    pub(super) fn range_loop(&mut self, node: Node<'p>) -> Plan {
        let (Some(range), Some(body)) = (node.field(Field::Right), node.field(Field::Body)) else {
            return Plan::Nothing;
        };
        let is_known = node.field(Field::Initializer).is_none() && self.is_fixed_place(range);
        let variable = self.range_variable(node).filter(|_| is_known);
        let element = variable
            .and_then(|(symbol, declaration)| self.range_element(node, symbol, declaration));
        let Some(element) = element else {
            self.refuse(
                TextRange::new(node.range().start(), body.range().start()),
                "this range-based loop around a parallel region is not supported in a target region",
                "write a loop that counts, with the element as a variable of its body",
            );
            return Plan::Nothing;
        };
        if let (RangeElement::Shared { .. }, Some((symbol, _))) = (&element, variable) {
            self.planner.team_objects.insert(symbol);
        }
        Plan::TeamRange(Box::new(RangePlan {
            range: BodyText::verbatim(range.range()),
            reads_memory: !self.is_uniform(range.range()),
            element,
            body: self.statement(body),
        }))
    }

    /// The variable, and its declaration.
    fn range_variable(&self, node: Node<'p>) -> Option<(SymbolId, TextRange)> {
        let declarator = node.field(Field::Declarator)?;
        let first = node
            .children()
            .find(|child| child.kind() != Kind::Comment)?;
        let program = self.program();
        let symbol = program.declared_in(declarator.range()).next()?;
        let declaration = TextRange::new(first.range().start(), declarator.range().end());
        Some((symbol, declaration))
    }

    fn range_element(
        &self,
        node: Node<'p>,
        symbol: SymbolId,
        declaration: TextRange,
    ) -> Option<RangeElement> {
        let program = self.program();
        let types = &program.types;
        let found = &program.symbols[symbol];
        if matches!(types.get(found.ty).kind, TypeKind::Reference(_)) {
            return Some(RangeElement::Reference(declaration));
        }
        let body = node.field(Field::Body)?;
        if types.record(found.ty).is_none() && !self.assigned_in(symbol, body.range()) {
            return Some(RangeElement::Copy(declaration));
        }
        let has_type = !types
            .spell(found.ty)
            .split_whitespace()
            .any(|word| word == "auto");
        has_type.then(|| RangeElement::Shared {
            name: found.name.clone(),
            ty: found.ty,
        })
    }
}
