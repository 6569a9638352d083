//! Declarations of sequential code: replicated, shared, or the leader's own.

use rex_ir::headers;
use rex_ir::kernel::{BodyText, Crew, Finder, Plan, Prologue};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::{SmolStr, format_smolstr};

use super::{Team, covering};

impl<'p> Team<'_, 'p> {
    /// The type that a declaration of variables defines: `struct S { int x; } s;`.
    fn type_in(&self, node: Node<'p>) -> Option<Plan> {
        let defined = node.field(Field::Type)?;
        let has_body = defined.field(Field::Body).is_some();
        let program = self.program();
        let record = program
            .types
            .records
            .iter()
            .find(|(_, record)| {
                record.is_untagged
                    && record
                        .body
                        .is_some_and(|body| defined.range().contains_range(body))
            })
            .map(|(id, _)| id);
        has_body.then(|| {
            Plan::Declare(vec![match record {
                Some(record) => Prologue::Untagged(record),
                None => Prologue::Declaration(defined.range()),
            }])
        })
    }

    /// A declaration of sequential code.
    pub(super) fn declaration(&mut self, node: Node<'p>, plans: &mut Vec<Plan>) {
        let program = self.program();
        let symbols: Vec<SymbolId> = program
            .declared_by(node.range())
            .filter(|id| {
                let kind = program.symbols[*id].kind;
                matches!(kind, SymbolKind::Local | SymbolKind::StaticLocal)
            })
            .collect();
        // All teams share what is static, which each thread may begin.
        let is_static = |symbol: SymbolId| program.symbols[symbol].kind == SymbolKind::StaticLocal;
        let replicated = symbols
            .iter()
            .all(|symbol| is_static(*symbol) || self.is_replicated(*symbol));
        if symbols.is_empty() || replicated {
            let mut text = self.body_text(node.range());
            // A condition ends without one.
            if !node.text().ends_with(';') {
                let end = TextRange::empty(node.range().end());
                let semicolon = SmolStr::new_static(";");
                text.replacements.push((end, Plan::Words(semicolon)));
            }
            plans.push(Plan::Replicated(text));
            return;
        }
        let lambdas: Vec<(SymbolId, Node<'p>)> = symbols
            .iter()
            .copied()
            .zip(node.fields(Field::Declarator))
            .filter_map(|(symbol, declarator)| Some((symbol, declarator.field(Field::Value)?)))
            .filter(|(_, value)| value.kind() == Kind::LambdaExpression)
            .collect();
        if lambdas.len() == symbols.len() {
            return self.lambdas(node, &lambdas, plans);
        }
        plans.extend(self.type_in(node));
        for symbol in symbols {
            let found = &program.symbols[symbol];
            if let Some(array) = self.planner.sized_array(symbol) {
                plans.push(Plan::Declare(vec![array]));
                continue;
            }
            let initializer = found.initializer.map(|initializer| {
                let (initializer, before) = self.with_results(initializer);
                plans.extend(before);
                initializer
            });
            let is_constant = found
                .initializer
                .is_some_and(|value| lex::identifiers(program.source(), value).next().is_none());
            let name = found.name.clone();
            let plan = match program.types.get(found.ty).kind {
                TypeKind::Reference(to) => match self.referent(initializer, to) {
                    Referent::Found(initializer, finder) => Plan::Reference {
                        name,
                        ty: found.ty,
                        initializer,
                        finder,
                    },
                    Referent::Value(initializer) => Plan::Shared {
                        name,
                        ty: to,
                        alignment: None,
                        initializer,
                        is_constant,
                        waits: true,
                    },
                },
                _ => Plan::Shared {
                    name,
                    ty: found.ty,
                    alignment: program.own_alignment(symbol),
                    initializer: initializer
                        .map(|text| self.with_extended_values(found.ty, text, plans)),
                    is_constant,
                    waits: true,
                },
            };
            if matches!(plan, Plan::Shared { .. }) {
                self.planner.team_objects.insert(symbol);
            }
            plans.push(plan);
        }
    }

    /// Every thread has its own lambda, which refers to objects of the team or has copies of them. One that changes its copies is an object of the team.
    fn lambdas(&mut self, node: Node<'p>, lambdas: &[(SymbolId, Node<'p>)], plans: &mut Vec<Plan>) {
        let program = self.program();
        let copies = !self.planner.capture_lists(node.range()).is_empty();
        let mut text = self.body_text(node.range());
        let mut shared = Vec::new();
        for (symbol, lambda) in lambdas {
            let found = &program.symbols[*symbol];
            if let (Some(at), true) = (found.declared_at, is_mutable(*lambda)) {
                let name = &found.name;
                let own = Plan::Words(format_smolstr!("{name}__own"));
                text.replacements.push((at, own));
                shared.push(Plan::Words(format_smolstr!(
                    "auto &{name} = rex_team_object({name}__own);"
                )));
            }
        }
        text.replacements.sort_by_key(|(at, _)| at.start());
        plans.push(Plan::Text(text));
        // The leader changes the originals after all have copied.
        plans.extend((copies && shared.is_empty()).then_some(Plan::Barrier(Crew::Block)));
        plans.extend(shared);
    }

    /// What a reference of sequential code refers to.
    pub(super) fn referent(&self, initializer: Option<BodyText>, to: TypeId) -> Referent {
        let program = self.program();
        let Some(initializer) = initializer else {
            return Referent::Value(None);
        };
        let root = program.unit.tree.root();
        let mut node = covering(root.smallest_at(initializer.range), initializer.range);
        while node.kind() == Kind::InitializerList
            && let Some(inner) = node.children().next()
        {
            node = inner;
        }
        let is_constant = program.types.get(to).is_const;
        let names_object = matches!(
            node.kind(),
            Kind::Identifier
                | Kind::QualifiedIdentifier
                | Kind::FieldExpression
                | Kind::SubscriptExpression
                | Kind::PointerExpression
                | Kind::ParenthesizedExpression
        );
        if is_constant && !names_object {
            if !self.may_give_object(node, to) {
                return Referent::Value(Some(initializer));
            }
            let mut inner = initializer;
            inner.range = node.range();
            return Referent::Found(inner, Finder::LeaderOrTemporary);
        }
        let finder = match self.is_same_place(node) {
            true => Finder::Everybody,
            false => Finder::Leader,
        };
        Referent::Found(initializer, finder)
    }

    /// Whether an expression that a reference to constants is bound to may be an object, or one of a derived class: what calls and choices give.
    fn may_give_object(&self, node: Node<'p>, to: TypeId) -> bool {
        match node.kind() {
            Kind::ConditionalExpression | Kind::AssignmentExpression | Kind::CommaExpression => {
                true
            }
            Kind::CallExpression => {
                let callee = node.field(Field::Function).map_or("", |it| it.text());
                let program = self.program();
                let types = &program.types;
                let name = callee.rsplit(['.', '>', ':']).next().unwrap_or(callee);
                match types.record(to).map(|record| &types.records[record]) {
                    Some(class) => class.name != *name,
                    None => {
                        let mut named = program.functions_named(name);
                        named.any(|(_, function)| program.may_return_reference(function))
                            || callee.ends_with('>')
                            || headers::function_declarations(&program.unit, name)
                                .iter()
                                .any(|text| text.split('(').next().unwrap_or("").contains('&'))
                    }
                }
            }
            _ => false,
        }
    }

    /// Whether all threads find the same object by themselves, whenever they look.
    fn is_same_place(&self, node: Node<'p>) -> bool {
        match node.kind() {
            Kind::Identifier | Kind::QualifiedIdentifier => true,
            Kind::FieldExpression => {
                node.field(Field::Operator)
                    .is_none_or(|operator| operator.text() == ".")
                    && node
                        .field(Field::Argument)
                        .is_some_and(|object| self.is_same_place(object))
            }
            _ => false,
        }
    }
}

fn is_mutable(lambda: Node<'_>) -> bool {
    let head = lambda
        .children()
        .take_while(|child| child.kind() != Kind::CompoundStatement);
    head.skip(1).any(|part| {
        let text = part.text();
        let whole = TextRange::up_to(TextSize::of(text));
        lex::identifiers(text, whole).any(|at| &text[at] == "mutable")
    })
}

/// What a reference refers to.
pub(super) enum Referent {
    /// What this expression gives.
    Found(BodyText, Finder),
    /// A value without a place of its own.
    Value(Option<BodyText>),
}
