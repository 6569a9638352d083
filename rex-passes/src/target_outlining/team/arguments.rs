//! What calls that all threads make are given.
//!
//! The function that is called may change what its arguments are computed from, and some threads may be slower than that. So an argument is either something that no thread can change, or it is computed before, with a barrier
//! behind.

use rex_ir::kernel::{BodyText, Crew, Plan};
use rex_ir::symbol::SymbolKind;
use rex_ir::ty::TypeKind;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::format_smolstr;

use super::Team;

impl<'p> Team<'_, 'p> {
    /// What stands in place of the object and the arguments of a call, and the plans that compute it.
    pub(super) fn arguments_of_all(
        &mut self,
        call: Node<'p>,
        name: &str,
    ) -> (Vec<(TextRange, Plan)>, Vec<Plan>) {
        let mut replacements = Vec::new();
        let mut before = Vec::new();
        let mut computed = |team: &mut Self, node: Node<'p>, declarator: &str| {
            let name = team.planner.argument_name();
            before.push(Plan::Result {
                declarator: format_smolstr!("{declarator}{name}"),
                value: BodyText::verbatim(node.range()),
            });
            replacements.push((node.range(), Plan::Words(name)));
        };
        if let Some(object) = call.field(Field::Function).and_then(object_of) {
            let is_known = match object.is_behind_pointer {
                true => self.is_fixed_value(object.node),
                false => self.is_fixed_place(object.node),
            };
            if !is_known {
                let declarator = match object.is_behind_pointer {
                    true => "",
                    false => "&",
                };
                computed(self, object.node, declarator);
            }
        }
        let arguments = call.field(Field::Arguments);
        let arguments = arguments.into_iter().flat_map(|list| list.children());
        let arguments = arguments.filter(|node| node.kind() != Kind::Comment);
        for (position, argument) in arguments.enumerate() {
            let is_reference = is_place(argument) && self.takes_reference(name, position);
            let (is_known, declarator) = match is_reference {
                true => (self.is_fixed_place(argument), "&"),
                false => (self.is_fixed_value(argument), ""),
            };
            if !is_known {
                computed(self, argument, declarator);
            }
        }
        if !before.is_empty() {
            before.push(Plan::Barrier(Crew::Block));
        }
        (replacements, before)
    }

    /// Whether a function of this name takes a reference at this position.
    fn takes_reference(&self, name: &str, position: usize) -> bool {
        let program = self.program();
        self.planner
            .facts
            .forks
            .named(program, name)
            .any(|function| {
                let mut parameters = program
                    .declared_in(function.parameters)
                    .map(|id| &program.symbols[id])
                    .filter(|symbol| symbol.kind == SymbolKind::Parameter);
                parameters.nth(position).is_some_and(|symbol| {
                    matches!(program.types.get(symbol.ty).kind, TypeKind::Reference(_))
                })
            })
    }

    /// Whether all threads get the same value at any time until the call is over.
    fn is_fixed_value(&self, node: Node<'p>) -> bool {
        if self.is_uniform(node.range()) {
            return true;
        }
        match node.kind() {
            Kind::This => true,
            Kind::PointerExpression => {
                let is_address = node
                    .field(Field::Operator)
                    .is_some_and(|operator| operator.text() == "&");
                let of = node.field(Field::Argument);
                is_address && of.is_some_and(|of| self.is_fixed_place(of))
            }
            Kind::BinaryExpression => [Field::Left, Field::Right].into_iter().all(|side| {
                node.field(side)
                    .is_some_and(|side| self.is_fixed_value(side))
            }),
            Kind::ParenthesizedExpression => node
                .children()
                .find(|child| child.kind() != Kind::Comment)
                .is_some_and(|inner| self.is_fixed_value(inner)),
            _ => false,
        }
    }

    /// Whether all threads find the same object at any time until the call is over.
    pub(super) fn is_fixed_place(&self, node: Node<'p>) -> bool {
        match node.kind() {
            Kind::Identifier | Kind::QualifiedIdentifier => true,
            Kind::ParenthesizedExpression => node
                .children()
                .find(|child| child.kind() != Kind::Comment)
                .is_some_and(|inner| self.is_fixed_place(inner)),
            Kind::FieldExpression => {
                object_of(node).is_some_and(|object| match object.is_behind_pointer {
                    true => self.is_fixed_value(object.node),
                    false => self.is_fixed_place(object.node),
                })
            }
            Kind::SubscriptExpression => {
                node.field(Field::Argument)
                    .is_some_and(|array| self.is_fixed_value(array))
                    && node
                        .subscript_index()
                        .is_some_and(|index| self.is_fixed_value(index))
            }
            Kind::PointerExpression => {
                let is_object = node
                    .field(Field::Operator)
                    .is_some_and(|operator| operator.text() == "*");
                let pointer = node.field(Field::Argument);
                is_object && pointer.is_some_and(|pointer| self.is_fixed_value(pointer))
            }
            _ => false,
        }
    }
}

/// The object of a member.
struct Object<'p> {
    node: Node<'p>,
    is_behind_pointer: bool,
}

fn object_of(member: Node<'_>) -> Option<Object<'_>> {
    if member.kind() != Kind::FieldExpression {
        return None;
    }
    Some(Object {
        node: member.field(Field::Argument)?,
        is_behind_pointer: member
            .field(Field::Operator)
            .is_some_and(|operator| operator.text() == "->"),
    })
}

/// Whether an expression can name an object.
fn is_place(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::ParenthesizedExpression => node
            .children()
            .find(|child| child.kind() != Kind::Comment)
            .is_some_and(is_place),
        Kind::PointerExpression => node
            .field(Field::Operator)
            .is_some_and(|operator| operator.text() == "*"),
        kind => matches!(
            kind,
            Kind::Identifier
                | Kind::QualifiedIdentifier
                | Kind::FieldExpression
                | Kind::SubscriptExpression
        ),
    }
}
