//! Classes and their members.

use indexmap::IndexSet;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::Field;
use smol_str::{SmolStr, format_smolstr};

use super::{Context, Visit};
use crate::build::Builder;
use crate::build::names::{last_component, without_arguments};
use crate::symbol::{ScopeId, Symbol, SymbolKind};
use crate::ty::RecordId;

/// The class whose body surrounds a node.
#[derive(Clone)]
pub(super) struct ClassContext {
    pub(super) name: SmolStr,
    pub(super) record: Option<RecordId>,
    /// With the classes around it.
    pub(super) path: SmolStr,
}

impl<'u> Builder<'u> {
    pub(super) fn visit_class(
        &mut self,
        node: Node<'u>,
        scope: ScopeId,
        context: Context,
        stack: &mut Vec<Visit<'u>>,
    ) {
        let Some(body) = node.field(Field::Body) else {
            return;
        };
        let ty = self.record_type(node, node.range());
        let name = node.field(Field::Name);
        if let Some(name) = name {
            self.declare_tag(scope, node, name, ty);
        }
        let inner = self.scopes.open(scope, body.range());
        let class_name = name.map(|name| SmolStr::from(last_component(name.text())));
        let path = name.map(|name| match &context.class {
            Some(outer) => format_smolstr!("{}::{}", outer.path, name.text()),
            // Perhaps one of a namespace or class that has declared it.
            None => name.text().into(),
        });
        let record = self.types.record(ty);
        if let Some(record) = record {
            let qualifier = match &path {
                Some(path) => format_smolstr!("{}{path}::", context.namespaces),
                None => SmolStr::default(),
            };
            self.class_scopes.insert(record, inner);
            self.declare_members(record, inner, &qualifier, node.range());
            if let Some(path) = &path {
                let is_of_template = !context.heads.is_empty() || !context.class_heads.is_empty();
                self.read_static_members(node, record, path, is_of_template);
            }
        }
        let class = class_name
            .zip(path)
            .map(|(name, path)| ClassContext { name, record, path });
        let mut class_heads = context.class_heads;
        class_heads.extend(context.heads);
        let context = Context {
            class,
            template: None,
            heads: Vec::new(),
            class_heads,
            function_heads: context.function_heads,
            function: context.function,
            namespaces: context.namespaces,
        };
        stack.push(Visit {
            nodes: body.descendants(),
            scope: inner,
            context,
        });
    }

    /// Declares the data members of a class in its scope, and makes those of its bases visible there.
    fn declare_members(
        &mut self,
        record: RecordId,
        scope: ScopeId,
        qualifier: &SmolStr,
        at: TextRange,
    ) {
        for field in self.types.records[record].fields.clone() {
            let kind = if field.is_static {
                SymbolKind::StaticField
            } else {
                SymbolKind::Field
            };
            let symbol = self.symbols.alloc(Symbol {
                name: field.name.clone(),
                kind,
                ty: field.ty,
                declared_at: None,
                initializer: None,
                declaration: None,
                qualifier: qualifier.clone().into(),
                spelled: None,
            });
            if let Some(value) = field.constant {
                self.constant_fields.insert(symbol, value);
            }
            if field.is_static {
                self.static_fields
                    .insert((record, field.name.clone()), symbol);
            }
            self.scopes
                .declare(&self.symbols, scope, field.name, symbol);
        }
        for base in self.bases_of(record, at) {
            if let Some(class) = self.class_scope(base, at) {
                self.scopes.add_class(scope, class);
            }
        }
    }

    /// The base classes that can be read.
    fn bases_of(&mut self, record: RecordId, at: TextRange) -> Vec<RecordId> {
        let names: Vec<SmolStr> = {
            let bases = self.types.records[record].bases.iter();
            bases.map(|base| base.name.clone()).collect()
        };
        let mut all = Vec::new();
        for (idx, name) in names.iter().enumerate() {
            let found = self.specialization(name, at).or_else(|| {
                let ty = self.named_type(&without_arguments(name), at);
                self.types.record(ty)
            });
            self.types.records[record].bases[idx].classes = Vec::from_iter(found);
            all.extend(found);
        }
        all
    }

    /// A class and all its bases that can be read, the nearest first.
    pub(in crate::build) fn ancestry(
        &mut self,
        record: RecordId,
        at: TextRange,
    ) -> IndexSet<RecordId> {
        let mut found = IndexSet::from([record]);
        let mut next = 0;
        while let Some(class) = found.get_index(next).copied() {
            found.extend(self.bases_of(class, at));
            next += 1;
        }
        found
    }

    /// Whether a class or a base of it declares a virtual function of this name.
    pub(super) fn has_virtual(&mut self, record: RecordId, name: &str, at: TextRange) -> bool {
        let classes = self.ancestry(record, at);
        classes
            .iter()
            .flat_map(|class| &self.types.records[*class].methods)
            .any(|method| method.name == name && method.is_marked_virtual)
    }

    /// The scope of a class; made for a class of a header.
    pub(super) fn class_scope(&mut self, record: RecordId, at: TextRange) -> Option<ScopeId> {
        if let Some(scope) = self.class_scopes.get(&record) {
            return Some(*scope);
        }
        if self.types.records[record].body.is_some() {
            // A class of the unit that is still being read.
            return None;
        }
        let scope = self.scopes.open_outside();
        self.class_scopes.insert(record, scope);
        let qualifier = format_smolstr!("{}::", self.types.records[record].name);
        self.declare_members(record, scope, &qualifier, at);
        Some(scope)
    }
}
