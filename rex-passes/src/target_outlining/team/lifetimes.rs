//! Values that live as long as the object whose members refer to them: `struct View { const Range &range; } view{make(n)};`.

use rex_ir::kernel::{BodyText, Finder, Plan};
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

use super::objects::Referent;
use super::{Team, covering};

impl<'p> Team<'_, 'p> {
    /// The initializer of an object, with variables of the team in the place of values that its members refer to.
    pub(super) fn with_extended_values(
        &mut self,
        ty: TypeId,
        mut initializer: BodyText,
        plans: &mut Vec<Plan>,
    ) -> BodyText {
        let root = self.program().unit.tree.root();
        let node = covering(root.smallest_at(initializer.range), initializer.range);
        let mut bound = Vec::new();
        self.bind_members(ty, node, &mut bound);
        for (value, ty) in bound {
            let within = |(at, _): &(TextRange, Plan)| value.contains_range(*at);
            let replacements = initializer.replacements.iter().filter(|it| within(it));
            let text = BodyText {
                range: value,
                replacements: replacements.cloned().collect(),
            };
            let TypeKind::Reference(to) = self.program().types.get(ty).kind else {
                continue;
            };
            let name = self.planner.value_name();
            let plan = match self.referent(Some(text), to) {
                Referent::Value(text) => Plan::Shared {
                    name: name.clone(),
                    ty: to,
                    alignment: None,
                    initializer: text,
                    is_constant: false,
                    waits: true,
                },
                Referent::Found(text, finder @ Finder::LeaderOrTemporary) => Plan::Reference {
                    name: name.clone(),
                    ty,
                    initializer: text,
                    finder,
                },
                Referent::Found(..) => continue,
            };
            plans.push(plan);
            initializer.replacements.retain(|it| !within(it));
            initializer.replacements.push((value, Plan::Words(name)));
            initializer.replacements.sort_by_key(|(at, _)| at.start());
        }
        initializer
    }

    /// The parts of an initializer of an aggregate that its members which are references are bound to, with the types of those.
    fn bind_members(&self, ty: TypeId, node: Node<'p>, bound: &mut Vec<(TextRange, TypeId)>) {
        let types = &self.program().types;
        let list = match node.kind() {
            Kind::CompoundLiteralExpression => node.field(Field::Value),
            _ => Some(node),
        };
        let list = list.filter(|list| list.kind() == Kind::InitializerList);
        let record = types.record(ty).map(|record| &types.records[record]);
        let (Some(list), Some(record)) = (list, record) else {
            return;
        };
        if record.method(&record.name).is_some() {
            return;
        }
        let mut fields = record.fields.iter().filter(|field| !field.is_static);
        let elements = list.children().filter(|it| it.kind() != Kind::Comment);
        for element in elements.skip(record.bases.len()) {
            let (field, value) = match element.field(Field::Designator) {
                Some(designator) => {
                    let name = designator.text().trim_start_matches('.').trim();
                    let field = fields.find(|field| field.name == name);
                    (field, element.field(Field::Value))
                }
                None => (fields.next(), Some(element)),
            };
            let (Some(field), Some(value)) = (field, value) else {
                return;
            };
            match types.get(field.ty).kind {
                TypeKind::Reference(_) => bound.push((value.range(), field.ty)),
                _ => self.bind_members(field.ty, value, bound),
            }
        }
    }
}
