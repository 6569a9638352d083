//! Arrays whose extents are words that may mean another number after the declaration: regions capture the number of elements itself.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::omp::directive::Leaf;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::Builder;
use super::types::declared_name;
use crate::namer;
use crate::region::CapturedObject;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Extent, Type, TypeId, TypeKind};

impl<'u> Builder<'u> {
    /// Gives such extents of variables and types names of their own: regions capture these, and device code declares them.
    pub(super) fn name_extents(&mut self) {
        let regions = self.target_regions();
        let mut candidates: Vec<(SymbolId, TextRange)> = self
            .symbols
            .iter()
            .filter(|(_, symbol)| {
                matches!(
                    symbol.kind,
                    SymbolKind::Local | SymbolKind::Parameter | SymbolKind::Type
                ) && self.types.is_variably_modified(symbol.ty)
            })
            .filter_map(|(id, symbol)| Some((id, symbol.declared_at?)))
            .collect();
        candidates.sort_by_key(|(_, at)| at.start());
        for (id, at) in candidates {
            let scope = self.scopes.scope(self.scopes.innermost(at)).range;
            let is_seen_from =
                |region: &TextRange| scope.contains_range(*region) && region.start() > at.start();
            // What a type is made of has other names in a region.
            let naming = Naming {
                symbol: id,
                scope: TextRange::new(at.end(), scope.end()),
                is_of_type: self.symbols[id].kind == SymbolKind::Type
                    && regions.iter().any(is_seen_from),
            };
            let ty = self.type_with_names(id, at).unwrap_or(self.symbols[id].ty);
            let whole = self.types.get(ty).clone();
            self.symbols[id].ty = match whole.kind {
                TypeKind::Pointer(to) => {
                    let to = self.with_named_extents(to, naming, 0);
                    self.types.intern(Type {
                        kind: TypeKind::Pointer(to),
                        ..whole
                    })
                }
                _ => self.with_named_extents(ty, naming, 0),
            };
        }
    }

    /// Gives arrays that are declared without a number of elements the type that another declaration says: `extern S a[]; S a[3];`.
    pub(super) fn complete_arrays(&mut self) {
        let mut known: FxHashMap<SmolStr, TypeId> = FxHashMap::default();
        let mut open: Vec<SymbolId> = Vec::new();
        for (id, symbol) in self.symbols.iter() {
            match &self.types.get(symbol.ty).kind {
                _ if symbol.kind != SymbolKind::Global => {}
                TypeKind::Array { extent, .. } if *extent == Extent::Unknown => open.push(id),
                TypeKind::Array { .. } => {
                    known.insert(symbol.qualified_name(), symbol.ty);
                }
                _ => {}
            }
        }
        for id in open {
            if let Some(ty) = known.get(&self.symbols[id].qualified_name()) {
                self.symbols[id].ty = *ty;
            }
        }
    }

    /// The type of a declaration whose specifiers name another such type, with the names that its extents have.
    fn type_with_names(&mut self, symbol: SymbolId, at: TextRange) -> Option<TypeId> {
        let name = self.unit.tree.root().smallest_at(at);
        let declaration = name.ancestors().find(|node| {
            matches!(
                node.kind(),
                Kind::Declaration | Kind::TypeDefinition | Kind::ParameterDeclaration
            )
        })?;
        let base = self.base_type(declaration, declaration.range());
        let declarators = declaration.fields(Field::Declarator);
        let is_own = |declarator: &Node<'u>| {
            declared_name(*declarator).is_some_and(|name| name.range() == at)
        };
        let declarator = declarators.into_iter().find(is_own)?;
        if !self.types.is_variably_modified(base)
            || self.symbols[symbol].kind == SymbolKind::Parameter
        {
            return None;
        }
        Some(self.declarator(declarator, base, declaration.range()).ty)
    }

    /// The regions of the unit, with their directives.
    pub(super) fn target_regions(&self) -> Vec<TextRange> {
        let directives = self.unit.directives.iter().enumerate();
        directives
            .filter(|(_, directive)| directive.has(Leaf::Target))
            .map(|(idx, directive)| {
                let statement = self.unit.statement_of(idx);
                statement.map_or(directive.range, |it| directive.range.cover(it.range()))
            })
            .collect()
    }

    fn with_named_extents(&mut self, ty: TypeId, naming: Naming, dimension: u8) -> TypeId {
        let whole = self.types.get(ty).clone();
        let TypeKind::Array { element, extent } = whole.kind else {
            return ty;
        };
        let extent = match extent {
            Extent::Runtime(words)
                if naming.is_of_type || !self.is_settled(&words, naming.scope) =>
            {
                let name = namer::extent(&self.symbols[naming.symbol].name, dimension);
                let named = self.extents.entry(naming.symbol).or_default();
                named.push((name.clone(), words));
                Extent::Runtime(name)
            }
            other => other,
        };
        let element = self.with_named_extents(element, naming, dimension + 1);
        self.types.intern(Type {
            kind: TypeKind::Array { element, extent },
            ..whole
        })
    }

    /// Whether an expression has the value that it has now in the whole scope behind it.
    fn is_settled(&self, words: &str, scope: TextRange) -> bool {
        let here = TextRange::empty(scope.start());
        let whole = TextRange::up_to(rex_syntax::TextSize::of(words));
        if reads_objects_or_changes(words) {
            return false;
        }
        let mut names: Vec<SmolStr> = Vec::new();
        for at in lex::identifiers(words, whole) {
            let name = &words[at];
            match self.macro_at(name, here) {
                Some(_) => names.extend(self.macro_names(name, here)),
                None => names.push(name.into()),
            }
        }
        names.iter().all(|name| {
            let Some(symbol) = self.scopes.resolve(&self.symbols, name, here) else {
                return true;
            };
            match self.symbols[symbol].kind {
                SymbolKind::Local | SymbolKind::Parameter => {
                    !self.changes(symbol, name, scope) && !self.has_address_taken(symbol)
                }
                SymbolKind::Global | SymbolKind::StaticLocal | SymbolKind::StaticField => {
                    self.is_constant(symbol)
                }
                SymbolKind::Field | SymbolKind::Function => false,
                SymbolKind::Enumerator | SymbolKind::Type | SymbolKind::TemplateValue => true,
            }
        })
    }

    /// Whether a pointer or reference may lead to a variable.
    fn has_address_taken(&self, symbol: SymbolId) -> bool {
        let Some(at) = self.symbols[symbol].declared_at else {
            return true;
        };
        let scope = self.scopes.scope(self.scopes.innermost(at)).range;
        let root = self.unit.tree.root();
        let is_operand = |at: TextRange| {
            let mut parents = root.smallest_at(at).ancestors().skip(1);
            let outer = parents.find(|node| node.kind() != Kind::ParenthesizedExpression);
            outer.is_some_and(|outer| match outer.kind() {
                Kind::PointerExpression => outer.text().starts_with('&'),
                Kind::InitDeclarator => outer
                    .field(Field::Declarator)
                    .is_some_and(|it| it.kind() == Kind::ReferenceDeclarator),
                _ => false,
            })
        };
        let name = self.symbols[symbol].name.as_str();
        lex::identifiers(self.source, scope)
            .filter(|at| self.text(*at) == name)
            .any(is_operand)
    }

    fn changes(&self, symbol: SymbolId, name: &str, scope: TextRange) -> bool {
        let root = self.unit.tree.root();
        lex::identifiers(self.source, scope)
            .filter(|at| self.text(*at) == name)
            .any(|at| {
                self.scopes.resolve(&self.symbols, name, at) == Some(symbol)
                    && self.is_written(root.smallest_at(at))
            })
    }

    /// The named extents of a variable.
    pub(super) fn named_extents(&self, variable: SymbolId) -> Vec<CapturedObject> {
        let symbol = &self.symbols[variable];
        let mut ty = match self.types.get(symbol.ty).kind {
            TypeKind::Pointer(to) => to,
            _ => symbol.ty,
        };
        let mut found = Vec::new();
        let mut dimension = 0;
        while let TypeKind::Array { element, extent } = &self.types.get(ty).kind {
            if let Extent::Runtime(words) = extent
                && *words == namer::extent(&symbol.name, dimension)
            {
                found.push(CapturedObject::Extent(variable, dimension));
            }
            ty = *element;
            dimension += 1;
        }
        found
    }
}

/// What gets names for its extents.
#[derive(Clone, Copy)]
struct Naming {
    symbol: SymbolId,
    /// Where its type may be asked for.
    scope: TextRange,
    /// It is a type, and all extents have names.
    is_of_type: bool,
}

/// Whether an expression reads what pointers lead to, or members, or changes something.
fn reads_objects_or_changes(words: &str) -> bool {
    let mut is_operand_next = true;
    for token in lex::significant_tokens(words, lex::whole(words)) {
        match token.text(words) {
            "->" | "." | "[" | "++" | "--" | "=" => return true,
            "*" if is_operand_next => return true,
            text if text.ends_with('=') && !matches!(text, "==" | "!=" | "<=" | ">=") => {
                return true;
            }
            text => {
                let ends_operand = token.kind != TokenKind::Punct || text == ")";
                is_operand_next = !ends_operand;
            }
        }
    }
    false
}
