//! Declarations of the enclosing function that device code needs a copy of.

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, Tree};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::source::Language;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::uses::{Name, Use, Uses};
use crate::build::Builder;
use crate::build::names::{last_component, squeeze};
use crate::places::constructs_in;
use crate::program::DeclaredReduction;
use crate::region::{Call, CapturedObject, ConstructId, ReductionOperation, SharingAttribute};
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Meaning, TypeId, TypeKind};

/// What a block says about names of namespaces.
#[derive(Clone, Copy, Debug)]
pub(in crate::build) struct LocalUsing<'u> {
    range: TextRange,
    /// The name that it brings; `None` if it brings all of a namespace.
    name: Option<&'u str>,
}

/// What the blocks of functions say about names of namespaces, by the blocks' nodes.
pub(in crate::build) fn local_usings(tree: &Tree) -> FxHashMap<u32, Vec<LocalUsing<'_>>> {
    let mut usings: FxHashMap<u32, Vec<LocalUsing<'_>>> = FxHashMap::default();
    for node in tree.nodes() {
        let name = match node.kind() {
            Kind::UsingDeclaration => node.children().last(),
            Kind::NamespaceAliasDefinition => node.field(Field::Name),
            _ => continue,
        };
        let block = node.parent();
        let block = block.filter(|block| block.kind() == Kind::CompoundStatement);
        let (Some(name), Some(block)) = (name, block) else {
            continue;
        };
        let is_directive = node.kind() == Kind::UsingDeclaration
            && node
                .tokens_and_children()
                .any(|token| matches!(token.token(), "namespace" | "enum"));
        usings.entry(block.index()).or_default().push(LocalUsing {
            range: node.range(),
            name: (!is_directive).then(|| last_component(name.text())),
        });
    }
    usings
}

impl<'u> Builder<'u> {
    /// The kernel declares every captured variable again: it needs the local types, constants and extents in their types.
    pub(super) fn use_types(
        &mut self,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let mut next = 0;
        while let Some((object, seen)) = uses
            .objects
            .get_index(next)
            .map(|(object, seen)| (*object, *seen))
        {
            next += 1;
            let symbol = match object {
                CapturedObject::Variable(symbol) => symbol,
                CapturedObject::This => {
                    self.use_own_class(statement, construct, uses);
                    continue;
                }
                CapturedObject::Extent(..) => continue,
            };
            self.use_extents(symbol, seen.at, uses);
            let mut words = Vec::new();
            self.type_words(self.symbols[symbol].ty, &mut words);
            for text in words {
                let whole = TextRange::up_to(rex_syntax::TextSize::of(text.as_str()));
                let names: Vec<SmolStr> = lex::identifiers(&text, whole)
                    .map(|at| SmolStr::from(&text[at]))
                    .collect();
                for name in names {
                    let name = Name {
                        text: &name,
                        at: seen.at,
                        written: false,
                        called: false,
                    };
                    self.use_name(name, statement, construct, uses, 0);
                }
                self.use_qualified_words(&text, seen.at, uses);
                if text.contains(' ') {
                    self.use_tag(&text, seen.at, statement, construct, uses);
                }
            }
        }
    }

    /// The extents of a variable or type that have names of their own.
    pub(super) fn use_extents(&self, symbol: SymbolId, at: TextRange, uses: &mut Uses) {
        for extent in self.named_extents(symbol) {
            let seen = Use {
                at,
                written: false,
                explicit: false,
                called: false,
            };
            uses.add(extent, seen);
        }
    }

    /// The class of the own object, if a function around the region defines it.
    fn use_own_class(&mut self, statement: TextRange, construct: ConstructId, uses: &mut Uses) {
        let at = self.constructs[construct].range;
        let Some(class) = self.this_type(at) else {
            return;
        };
        let mut words = Vec::new();
        self.type_words(class, &mut words);
        for word in words {
            if let Some(symbol) = self.scopes.resolve_type_word(&self.symbols, &word, at) {
                self.use_local_declaration(symbol, statement, construct, uses);
            }
        }
    }

    /// Whether a declaration is one of the functions around a place.
    pub(super) fn is_local_at(&self, declaration: TextRange, at: TextRange) -> bool {
        let function = self.innermost_function(declaration);
        let body = function.map(|function| self.functions[function].body);
        body.is_some_and(|body| body.contains_range(declaration) && body.contains_range(at))
    }

    /// The spellings and extents in a type.
    pub(in crate::build) fn type_words(&self, ty: TypeId, words: &mut Vec<SmolStr>) {
        match &self.types.get(ty).kind {
            TypeKind::Named { spelling, meaning } => {
                words.push(spelling.clone());
                if let Meaning::Record(Some(record)) = meaning
                    && self.types.records[*record].is_untagged
                {
                    for field in &self.types.records[*record].fields {
                        self.type_words(field.ty, words);
                    }
                }
            }
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.type_words(*to, words),
            TypeKind::Array { element, extent } => {
                if let crate::ty::Extent::Constant(text) | crate::ty::Extent::Runtime(text) = extent
                {
                    words.push(text.clone());
                }
                self.type_words(*element, words);
            }
            TypeKind::Function { returns, .. } => self.type_words(*returns, words),
        }
    }

    /// A type, enumerator or constant of the enclosing function: its declaration is copied, with what it needs.
    pub(super) fn use_local_declaration(
        &mut self,
        symbol: SymbolId,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let Some(declaration) = self.symbols[symbol].declaration else {
            return;
        };
        let is_local = self.is_local_at(declaration, self.constructs[construct].range);
        if !is_local || statement.contains_range(declaration) {
            return;
        }
        if self.names_type_of_variable(symbol, declaration) {
            uses.named_types.insert(symbol);
            return;
        }
        if !uses
            .declarations
            .insert((declaration.start().into(), declaration.end().into()))
        {
            return;
        }
        // A class around the region has that function without its body.
        let at = self.constructs[construct].range;
        let function = self.innermost_function(at);
        let own = function
            .filter(|_| declaration.contains_range(at))
            .map(|function| self.functions[function].body);
        for at in lex::identifiers(self.source, declaration).collect::<Vec<_>>() {
            if own.is_some_and(|body| body.contains_range(at)) {
                continue;
            }
            let text = self.text(at);
            let inner = self.scopes.resolve(&self.symbols, text, at);
            let is_inside = |inner: SymbolId| {
                let declared = self.symbols[inner].declaration;
                inner == symbol
                    || declared
                        .is_some_and(|it| it != declaration && declaration.contains_range(it))
            };
            let Some(inner) = inner.filter(|inner| !is_inside(*inner)) else {
                continue;
            };
            match self.symbols[inner].kind {
                SymbolKind::Type
                | SymbolKind::Enumerator
                | SymbolKind::Local
                | SymbolKind::StaticLocal => {
                    self.use_local_declaration(inner, statement, construct, uses);
                }
                SymbolKind::Function => uses.calls.push(Call::of_function(text, at)),
                SymbolKind::Global if self.global_storage(inner).is_some() => {
                    self.use_global(inner, uses);
                }
                _ => {}
            }
        }
        self.use_qualified_words(self.text(declaration), declaration, uses);
        let text = squeeze(self.text(declaration));
        for keyword in ["struct ", "union ", "enum "] {
            for (position, _) in text.match_indices(keyword) {
                let tag: String = text[position + keyword.len()..]
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                let full = format!("{keyword}{tag}");
                if let Some(inner) = self.scopes.resolve(&self.symbols, &full, declaration)
                    && inner != symbol
                {
                    self.use_local_declaration(inner, statement, construct, uses);
                }
            }
        }
    }

    /// Whether a declaration is an alias of a type that follows from variables of the function: `using T = decltype(x);`.
    fn names_type_of_variable(&self, symbol: SymbolId, declaration: TextRange) -> bool {
        let is_variable = |at: TextRange| {
            let found = self.scopes.resolve(&self.symbols, self.text(at), at);
            found.is_some_and(|found| {
                matches!(
                    self.symbols[found].kind,
                    SymbolKind::Local | SymbolKind::StaticLocal | SymbolKind::Parameter
                )
            })
        };
        self.unit.language == Language::Cxx
            && self.symbols[symbol].kind == SymbolKind::Type
            && self.text(declaration).contains("decltype")
            && !self.text(declaration).contains('{')
            && lex::identifiers(self.source, declaration).any(is_variable)
    }

    /// The operations of reductions stand in front of the body: they need what they name of the enclosing function.
    pub(super) fn use_operations(
        &mut self,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let range = self.constructs[construct].range;
        let sharings = constructs_in(&self.constructs, range).flat_map(|(_, found)| &found.sharing);
        let texts: Vec<TextRange> = sharings
            .filter_map(|sharing| match &sharing.attribute {
                SharingAttribute::Reduction {
                    operation: ReductionOperation::Declared(key),
                    ..
                } => self.declared_reductions.get(key),
                _ => None,
            })
            .filter(|declared| !statement.contains_range(declared.at))
            .flat_map(DeclaredReduction::texts)
            .collect();
        let words = texts
            .into_iter()
            .flat_map(|text| lex::identifiers(self.source, text))
            .collect::<Vec<_>>();
        for at in words {
            let Some(symbol) = self.scopes.resolve(&self.symbols, self.text(at), at) else {
                continue;
            };
            let is_needed = match self.symbols[symbol].kind {
                SymbolKind::Type | SymbolKind::Enumerator => true,
                SymbolKind::Local | SymbolKind::StaticLocal => {
                    self.is_constant(symbol)
                        && !uses.objects.contains_key(&CapturedObject::Variable(symbol))
                }
                _ => false,
            };
            if is_needed {
                self.use_local_declaration(symbol, statement, construct, uses);
            }
        }
    }

    /// Whether a block around a node says something about names of namespaces.
    pub(in crate::build) fn is_below_local_using(&self, node: Node<'u>) -> bool {
        !self.local_usings.is_empty()
            && node
                .ancestors()
                .any(|block| self.local_usings.contains_key(&block.index()))
    }

    /// What the blocks around a region say about names of namespaces: `using namespace a;`, `using a::b;`, `namespace b = a;`.
    pub(super) fn add_local_usings(&self, node: Node<'u>, statement: TextRange, uses: &mut Uses) {
        let blocks = node
            .ancestors()
            .filter_map(|block| self.local_usings.get(&block.index()));
        for using in blocks.flatten() {
            // A captured variable is a local name of the kernel.
            let is_variable = using.name.is_some_and(|name| {
                let found = self.scopes.resolve(&self.symbols, name, statement);
                found.is_some_and(|found| self.symbols[found].kind == SymbolKind::Global)
            });
            let is_before = using.range.end() <= statement.start() && !is_variable;
            let is_named = || {
                lex::significant_tokens(self.source, statement)
                    .any(|token| Some(token.text(self.source)) == using.name)
            };
            if is_before && (using.name.is_none() || is_named()) {
                let range = using.range;
                uses.declarations
                    .insert((range.start().into(), range.end().into()));
            }
        }
    }

    pub(super) fn use_tag(
        &mut self,
        tag: &str,
        at: TextRange,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        if let Some(symbol) = self.scopes.resolve(&self.symbols, tag, at) {
            self.use_local_declaration(symbol, statement, construct, uses);
        }
    }
}
