//! Declarations of sequential code: replicated, shared, or the leader's own.

use rex_ir::kernel::{BodyText, Crew, Plan, Prologue};
use rex_ir::region::CapturedObject;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::TypeKind;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, lex};
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
            let mut text = BodyText::verbatim(node.range());
            // A condition ends without one.
            if !node.text().ends_with(';') {
                let end = TextRange::empty(node.range().end());
                let semicolon = SmolStr::new_static(";");
                text.replacements.push((end, Plan::Words(semicolon)));
            }
            plans.push(Plan::Text(text));
            return;
        }
        let lambdas: Vec<Node<'p>> = node
            .fields(Field::Declarator)
            .iter()
            .filter_map(|declarator| declarator.field(Field::Value))
            .filter(|value| value.kind() == Kind::LambdaExpression)
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
            let name = found.name.clone();
            plans.push(match program.types.get(found.ty).kind {
                TypeKind::Reference(to) => match self.referent(initializer, to) {
                    Referent::Everybodys(initializer) => Plan::Reference {
                        name,
                        ty: found.ty,
                        initializer,
                        is_alike: true,
                    },
                    Referent::Leaders(initializer) => Plan::Reference {
                        name,
                        ty: found.ty,
                        initializer,
                        is_alike: false,
                    },
                    Referent::Value(initializer) => Plan::Shared {
                        name,
                        ty: to,
                        initializer,
                    },
                },
                _ => Plan::Shared {
                    name,
                    ty: found.ty,
                    initializer,
                },
            });
        }
    }

    /// Every thread has its own lambda, which refers to objects of the team or has copies of them.
    fn lambdas(&mut self, node: Node<'p>, lambdas: &[Node<'p>], plans: &mut Vec<Plan>) {
        let program = self.program();
        let mut text = BodyText::verbatim(node.range());
        for lambda in lambdas {
            let Some(captures) = lambda.field(Field::Captures) else {
                continue;
            };
            let is_listed = |at: TextRange| captures.range().contains_range(at);
            let copies_all = program
                .text(captures.range())
                .trim_start_matches('[')
                .trim_start()
                .starts_with('=');
            // What the list names is not captured by `=`.
            let mut known: Vec<&str> = Vec::new();
            let mut appended = String::new();
            for at in lex::identifiers(program.source(), lambda.range()) {
                let name = program.text(at);
                let is_captured = match is_listed(at) {
                    true => {
                        let before = &program.source()[..usize::from(at.start())];
                        let after = &program.source()[usize::from(at.end())..];
                        let before = before.trim_end().trim_end_matches('&').trim_end();
                        before.ends_with(['[', ',']) && after.trim_start().starts_with([']', ','])
                    }
                    false => copies_all,
                };
                if !is_captured || known.contains(&name) {
                    continue;
                }
                let Some(object) = self.shared_object_at(at, *lambda) else {
                    continue;
                };
                let before = &program.source()[..usize::from(at.start())];
                let is_reference = is_listed(at) && before.trim_end().ends_with('&');
                let words = match object {
                    SharedObject::Array if !is_reference => {
                        format_smolstr!("{name} = rex_array_copy<decltype({name})>({name})")
                    }
                    SharedObject::Array | SharedObject::One => format_smolstr!("{name} = {name}"),
                };
                known.push(name);
                match is_listed(at) {
                    true => text.replacements.push((at, Plan::Words(words))),
                    false => appended.push_str(&format!(", {words}")),
                }
            }
            if !appended.is_empty() {
                let start = captures.range().start();
                let equals = program.text(captures.range()).find('=').unwrap_or(0);
                let Ok(equals) = u32::try_from(equals) else {
                    continue;
                };
                let at = TextRange::at(start + rex_syntax::TextSize::new(equals), 1.into());
                let words = format_smolstr!("={appended}");
                text.replacements.push((at, Plan::Words(words)));
            }
        }
        text.replacements.sort_by_key(|(at, _)| at.start());
        let copies = !text.replacements.is_empty();
        plans.push(Plan::Text(text));
        // The leader changes the originals after all have copied.
        plans.extend(copies.then_some(Plan::Barrier(Crew::Block)));
    }

    /// What a name in a lambda means, if it is an object of the team around the lambda, in shared memory.
    fn shared_object_at(&self, at: TextRange, lambda: Node<'p>) -> Option<SharedObject> {
        let program = self.program();
        let symbol = program
            .scopes
            .resolve(&program.symbols, program.text(at), at)?;
        let found = &program.symbols[symbol];
        let is_outside = found
            .declared_at
            .is_some_and(|declared| !lambda.range().contains_range(declared));
        if !is_outside
            || !matches!(found.kind, SymbolKind::Local | SymbolKind::Parameter)
            || program.types.is_variably_modified(found.ty)
        {
            return None;
        }
        let captures = self.planner.region().map(|region| &region.captures);
        let capture = captures.and_then(|captures| {
            captures
                .iter()
                .find(|capture| capture.object == CapturedObject::Variable(symbol))
        });
        let (object, is_shared) = match program.types.get(program.types.desugar(found.ty)).kind {
            TypeKind::Reference(_) => return None,
            // Arrays around the region are references in the kernel.
            TypeKind::Array { .. } => {
                let is_own = capture.is_none() && found.kind == SymbolKind::Local;
                (SharedObject::Array, is_own)
            }
            _ => {
                let is_shared = match (capture, found.kind) {
                    (Some(capture), _) => capture.may_be_written,
                    (None, SymbolKind::Parameter) => self.is_assigned(symbol),
                    (None, _) => !self.is_replicated(symbol),
                };
                (SharedObject::One, is_shared)
            }
        };
        is_shared.then_some(object)
    }

    /// What a reference of sequential code refers to.
    fn referent(&self, initializer: Option<BodyText>, to: rex_ir::ty::TypeId) -> Referent {
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
            return Referent::Value(Some(initializer));
        }
        match self.is_same_place(node) {
            true => Referent::Everybodys(initializer),
            false => Referent::Leaders(initializer),
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

/// An object of the team that a lambda captures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharedObject {
    /// A scalar or class object.
    One,
    Array,
}

/// What a reference refers to.
enum Referent {
    /// An object that every thread can name.
    Everybodys(BodyText),
    /// An object that the leader finds.
    Leaders(BodyText),
    /// A value without a place of its own.
    Value(Option<BodyText>),
}
