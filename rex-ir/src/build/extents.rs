//! Arrays whose extents are words that may mean another number after the declaration: regions capture the number of elements itself.

use rex_syntax::TextRange;
use rex_syntax::lex;
use rex_syntax::omp::directive::Leaf;
use smol_str::SmolStr;

use super::Builder;
use crate::namer;
use crate::region::CapturedObject;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Extent, Type, TypeId, TypeKind};

impl Builder<'_> {
    /// Gives such extents of variables that regions may capture names of their own.
    pub(super) fn name_extents(&mut self) {
        let regions = self.target_regions();
        let candidates: Vec<(SymbolId, TextRange, TextRange)> = self
            .symbols
            .iter()
            .filter(|(_, symbol)| {
                matches!(symbol.kind, SymbolKind::Local | SymbolKind::Parameter)
                    && self.types.is_variably_modified(symbol.ty)
            })
            .filter_map(|(id, symbol)| {
                let at = symbol.declared_at?;
                let scope = self.scopes.scope(self.scopes.innermost(at)).range;
                let is_before = |region: &TextRange| {
                    scope.contains_range(*region) && region.start() > at.start()
                };
                let is_inside = regions.iter().any(|region| region.contains_range(at));
                (!is_inside && regions.iter().any(is_before)).then_some((id, at, scope))
            })
            .collect();
        for (id, at, scope) in candidates {
            let scope = TextRange::new(at.end(), scope.end());
            let ty = self.symbols[id].ty;
            let whole = self.types.get(ty).clone();
            self.symbols[id].ty = match whole.kind {
                TypeKind::Pointer(to) => {
                    let to = self.with_named_extents(to, id, scope, 0);
                    self.types.intern(Type {
                        kind: TypeKind::Pointer(to),
                        ..whole
                    })
                }
                _ => self.with_named_extents(ty, id, scope, 0),
            };
        }
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

    fn with_named_extents(
        &mut self,
        ty: TypeId,
        variable: SymbolId,
        scope: TextRange,
        dimension: u8,
    ) -> TypeId {
        let whole = self.types.get(ty).clone();
        let TypeKind::Array { element, extent } = whole.kind else {
            return ty;
        };
        let element = self.with_named_extents(element, variable, scope, dimension + 1);
        let extent = match extent {
            Extent::Runtime(words) if !self.is_settled(&words, scope) => {
                Extent::Runtime(namer::extent(&self.symbols[variable].name, dimension))
            }
            other => other,
        };
        self.types.intern(Type {
            kind: TypeKind::Array { element, extent },
            ..whole
        })
    }

    /// Whether an expression has the value that it has now in the whole scope behind it.
    fn is_settled(&self, words: &str, scope: TextRange) -> bool {
        let here = TextRange::empty(scope.start());
        let whole = TextRange::up_to(rex_syntax::TextSize::of(words));
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
                SymbolKind::Local | SymbolKind::Parameter => !self.changes(symbol, name, scope),
                SymbolKind::Global | SymbolKind::StaticLocal | SymbolKind::StaticField => {
                    self.is_constant(symbol)
                }
                SymbolKind::Field | SymbolKind::Function => false,
                SymbolKind::Enumerator | SymbolKind::Type | SymbolKind::TemplateValue => true,
            }
        })
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
