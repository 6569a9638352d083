//! The lexical scopes of a unit, and what names mean in them.

use std::ops::Deref;

use indexmap::IndexMap;
use la_arena::Arena;
use rex_syntax::TextRange;
use rustc_hash::{FxBuildHasher, FxHashSet};
use smol_str::SmolStr;

use super::{ScopeId, Symbol, SymbolId, SymbolKind, without_unnamed};

/// A lexical scope: a range of the file and the names declared in it.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Where its names are visible (from their declaration on).
    pub range: TextRange,
    /// The enclosing scope.
    pub parent: Option<ScopeId>,
    /// Names in declaration order; a name declared twice (redeclaration, overload) keeps every symbol.
    pub names: Names,
    /// Inner scopes in source order.
    pub children: Vec<ScopeId>,
    /// Scopes of classes whose names are visible here too: of a member function's class, of a class's bases.
    pub classes: Vec<ScopeId>,
}

/// The names of a scope in the order of their first declarations. Most scopes have few or none.
#[derive(Clone, Debug)]
pub struct Names(Table);

#[derive(Clone, Debug)]
enum Table {
    Few(Vec<(SmolStr, Homonyms)>),
    Many(Box<IndexMap<SmolStr, Homonyms, FxBuildHasher>>),
}

impl Default for Names {
    fn default() -> Names {
        Names(Table::Few(Vec::new()))
    }
}

impl Names {
    /// So many are found as fast one by one.
    const MAX_FEW: usize = 8;

    /// What a name means.
    pub fn get(&self, name: &str) -> Option<&Homonyms> {
        match &self.0 {
            Table::Few(names) => {
                let found = names.iter().find(|(known, _)| known == name);
                found.map(|(_, homonyms)| homonyms)
            }
            Table::Many(names) => names.get(name),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Table::Few(names) if names.is_empty())
    }

    fn keys(&self) -> impl Iterator<Item = &SmolStr> {
        let (few, many) = match &self.0 {
            Table::Few(names) => (Some(names), None),
            Table::Many(names) => (None, Some(names)),
        };
        let few = few.into_iter().flatten().map(|(name, _)| name);
        few.chain(many.into_iter().flat_map(|names| names.keys()))
    }

    fn entry(&mut self, name: SmolStr) -> &mut Homonyms {
        if let Table::Few(names) = &mut self.0
            && names.len() == Names::MAX_FEW
            && names.iter().all(|(known, _)| *known != name)
        {
            self.0 = Table::Many(Box::new(std::mem::take(names).into_iter().collect()));
        }
        match &mut self.0 {
            Table::Few(names) => {
                let known = names.iter().position(|(known, _)| *known == name);
                let idx = known.unwrap_or_else(|| {
                    names.reserve_exact(1);
                    names.push((name, Homonyms::default()));
                    names.len() - 1
                });
                &mut names[idx].1
            }
            Table::Many(names) => names.entry(name).or_default(),
        }
    }
}

/// The symbols of one name in a scope, in the order of their declarations.
#[derive(Clone, Debug, Default)]
pub struct Homonyms {
    symbols: Symbols,
    /// Unless all are visible from their declarations on, and those stand in this order: one is then found without going through all.
    is_mixed: bool,
    has_types: bool,
}

/// Most names have one meaning.
#[derive(Clone, Debug, Default)]
enum Symbols {
    #[default]
    None,
    One(SymbolId),
    #[expect(clippy::box_collection, reason = "a name has a few bytes only")]
    Many(Box<Vec<SymbolId>>),
}

impl Deref for Symbols {
    type Target = [SymbolId];

    fn deref(&self) -> &[SymbolId] {
        match self {
            Symbols::None => &[],
            Symbols::One(symbol) => std::slice::from_ref(symbol),
            Symbols::Many(symbols) => symbols,
        }
    }
}

impl Symbols {
    fn push(&mut self, symbol: SymbolId) {
        match self {
            Symbols::None => *self = Symbols::One(symbol),
            Symbols::One(first) => *self = Symbols::Many(Box::new(vec![*first, symbol])),
            Symbols::Many(symbols) => symbols.push(symbol),
        }
    }
}

impl Deref for Homonyms {
    type Target = [SymbolId];

    fn deref(&self) -> &[SymbolId] {
        &self.symbols
    }
}

impl Homonyms {
    fn push(&mut self, symbols: &Arena<Symbol>, symbol: SymbolId) {
        let start = |symbol: SymbolId| match symbols[symbol].is_visible_throughout() {
            true => None,
            false => symbols[symbol].declared_at.map(TextRange::start),
        };
        let last = self.symbols.last().copied();
        let in_order = start(symbol).is_some_and(|at| {
            last.is_none_or(|last| start(last).is_some_and(|before| before <= at))
        });
        self.is_mixed |= !in_order;
        self.has_types |= symbols[symbol].kind == SymbolKind::Type;
        self.symbols.push(symbol);
    }

    /// Those that may be visible at a place.
    fn up_to(&self, symbols: &Arena<Symbol>, at: TextRange) -> &[SymbolId] {
        match !self.is_mixed {
            true => {
                let n_visible = self
                    .symbols
                    .partition_point(|symbol| symbols[*symbol].is_visible(at));
                &self.symbols[..n_visible]
            }
            false => &self.symbols,
        }
    }

    /// The first one whose name is declared exactly there.
    pub fn declared_at(&self, symbols: &Arena<Symbol>, at: TextRange) -> Option<SymbolId> {
        let is_here = |symbol: &&SymbolId| symbols[**symbol].declared_at == Some(at);
        match !self.is_mixed {
            true => {
                let from = self.symbols.partition_point(|symbol| {
                    let declared = symbols[*symbol].declared_at;
                    declared.is_some_and(|declared| declared.start() < at.start())
                });
                let same = self.symbols[from..].iter();
                same.take_while(|symbol| symbols[**symbol].is_visible(at))
                    .find(is_here)
                    .copied()
            }
            false => self.symbols.iter().find(is_here).copied(),
        }
    }
}

/// What a name is looked up as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Anything,
    Type,
}

/// All scopes of a unit. The root covers the file, namespaces included.
#[derive(Clone, Debug)]
pub struct ScopeTree {
    scopes: Arena<Scope>,
    root: ScopeId,
    namespaces: Vec<NamespaceBody>,
    usings: Vec<Using>,
}

/// The body of a namespace.
#[derive(Clone, Debug)]
struct NamespaceBody {
    range: TextRange,
    /// `a::b::`
    qualifier: SmolStr,
}

/// `using a::b::name;`, or `using namespace a::b;`
#[derive(Clone, Debug)]
pub struct Using {
    /// Where it holds.
    pub range: TextRange,
    /// `a::b::` as written.
    pub qualifier: SmolStr,
    /// The name; none if it brings all of them.
    pub name: Option<SmolStr>,
}

impl ScopeTree {
    /// A tree with the file scope only.
    pub fn new(file: TextRange) -> ScopeTree {
        let mut scopes = Arena::new();
        let root = scopes.alloc(Scope {
            range: file,
            parent: None,
            names: Names::default(),
            children: Vec::new(),
            classes: Vec::new(),
        });
        ScopeTree {
            scopes,
            root,
            namespaces: Vec::new(),
            usings: Vec::new(),
        }
    }

    /// Records what a block or namespace says about names of others.
    pub fn add_using(&mut self, using: Using) {
        self.usings.push(using);
    }

    /// Records the body of a namespace; `qualifier` is `a::b::`.
    pub fn add_namespace(&mut self, range: TextRange, qualifier: SmolStr) {
        self.namespaces.push(NamespaceBody { range, qualifier });
    }

    /// `a::b::` of the namespaces around a place.
    pub fn namespace_at(&self, at: TextRange) -> &str {
        let around = self.namespaces.iter();
        let around = around.filter(|body| body.range.contains_range(at));
        around
            .min_by_key(|body| body.range.len())
            .map_or("", |body| body.qualifier.as_str())
    }

    /// Of the variables or types of one name in several namespaces, the one that a place means; `found` if nothing says so.
    fn nearest(
        &self,
        symbols: &Arena<Symbol>,
        homonyms: &[SymbolId],
        (name, found): (&str, SymbolId),
        at: TextRange,
    ) -> SymbolId {
        let kind = symbols[found].kind;
        if homonyms.len() == 1 || !matches!(kind, SymbolKind::Global | SymbolKind::Type) {
            return found;
        }
        let qualifier = |id: SymbolId| symbols[id].named_qualifier();
        let is_named = |using: &Using| using.name.as_deref() == Some(name);
        let around = without_unnamed(self.namespace_at(at));
        let mut usings = self.usings.iter();
        let is_brought = usings.any(|using| is_named(using) && using.range.contains_range(at));
        // The last one that is visible, in the innermost namespace.
        if !is_brought && qualifier(found) == around {
            return found;
        }
        let is_candidate = |id: SymbolId| symbols[id].kind == kind && symbols[id].is_visible(at);
        let candidates: Vec<SymbolId> = homonyms
            .iter()
            .copied()
            .filter(|id| is_candidate(*id))
            .collect();
        let own = &symbols[found].qualifier;
        if !candidates.iter().any(|id| symbols[*id].qualifier != *own) {
            return found;
        }
        let brought = |is_wanted: &dyn Fn(&Using) -> bool| {
            let usings = self.usings.iter().rev();
            usings
                .filter(|using| using.range.contains_range(at) && is_wanted(using))
                .find_map(|using| {
                    let mut candidates = candidates.iter().rev();
                    candidates.find(|id| qualifier(**id).ends_with(&*using.qualifier))
                })
                .copied()
        };
        let enclosing = || {
            let candidates = candidates.iter().copied();
            candidates
                .filter(|id| around.starts_with(&qualifier(*id)))
                .max_by_key(|id| qualifier(*id).len())
        };
        brought(&is_named)
            .or_else(enclosing)
            .or_else(|| brought(&|using| using.name.is_none()))
            .unwrap_or(found)
    }

    /// The names that a scope inside the file scope declares.
    pub fn inner_names(&self) -> FxHashSet<&str> {
        let inner = self.scopes.iter().filter(|(id, _)| *id != self.root);
        inner
            .flat_map(|(_, scope)| scope.names.keys().map(SmolStr::as_str))
            .collect()
    }

    /// The file scope.
    pub fn root(&self) -> ScopeId {
        self.root
    }

    /// Opens a scope inside another.
    pub fn open(&mut self, parent: ScopeId, range: TextRange) -> ScopeId {
        let id = self.scopes.alloc(Scope {
            range,
            parent: Some(parent),
            names: Names::default(),
            children: Vec::new(),
            classes: Vec::new(),
        });
        let start = self.scopes[id].range.start();
        let at = self.scopes[parent]
            .children
            .partition_point(|child| self.scopes[*child].range.start() <= start);
        self.scopes[parent].children.insert(at, id);
        id
    }

    /// Opens the scope of a class that is not in the file.
    pub fn open_outside(&mut self) -> ScopeId {
        self.scopes.alloc(Scope {
            range: TextRange::default(),
            parent: None,
            names: Names::default(),
            children: Vec::new(),
            classes: Vec::new(),
        })
    }

    /// Makes the names of a class visible in a scope.
    pub fn add_class(&mut self, scope: ScopeId, class: ScopeId) {
        if scope != class && !self.scopes[scope].classes.contains(&class) {
            self.scopes[scope].classes.push(class);
        }
    }

    /// The symbol a name means in a scope itself or in the classes it shows.
    fn find_in(
        &self,
        symbols: &Arena<Symbol>,
        scope: ScopeId,
        name: &str,
        at: TextRange,
        wanted: Wanted,
    ) -> Option<SymbolId> {
        const MAX_BASES: usize = 64;
        let mut pending = vec![scope];
        let mut seen = 0;
        while let Some(id) = pending.pop() {
            let found = self.scopes[id].names.get(name).and_then(|homonyms| {
                if wanted == Wanted::Type && !homonyms.has_types {
                    return None;
                }
                let candidates = match id == scope {
                    true => homonyms.up_to(symbols, at),
                    false => homonyms,
                };
                let found = candidates.iter().rev().copied().find(|candidate| {
                    let symbol = &symbols[*candidate];
                    (wanted == Wanted::Anything || symbol.kind == SymbolKind::Type)
                        && (id != scope || symbol.is_visible(at))
                })?;
                match id == self.root {
                    true => Some(self.nearest(symbols, candidates, (name, found), at)),
                    false => Some(found),
                }
            });
            if found.is_some() || seen > MAX_BASES {
                return found;
            }
            seen += 1;
            pending.extend(self.scopes[id].classes.iter().rev());
        }
        None
    }

    /// Declares a name.
    pub fn declare(
        &mut self,
        symbols: &Arena<Symbol>,
        scope: ScopeId,
        name: SmolStr,
        symbol: SymbolId,
    ) {
        let homonyms = self.scopes[scope].names.entry(name);
        homonyms.push(symbols, symbol);
    }

    /// A scope.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id]
    }

    /// The innermost scope around a range.
    pub fn innermost(&self, at: TextRange) -> ScopeId {
        let mut current = self.root;
        loop {
            let children = &self.scopes[current].children;
            let after =
                children.partition_point(|child| self.scopes[*child].range.start() <= at.start());
            match after.checked_sub(1).map(|idx| children[idx]) {
                Some(child) if self.scopes[child].range.contains_range(at) => current = child,
                _ => return current,
            }
        }
    }

    /// The symbol a name means at a place: the last one declared before it in the innermost scope that has one.
    ///
    /// Class scopes and function names are visible throughout; `declared_at` decides for the rest.
    pub fn resolve(&self, symbols: &Arena<Symbol>, name: &str, at: TextRange) -> Option<SymbolId> {
        self.find(symbols, name, at, Wanted::Anything)
    }

    /// The type a name means at a place, whatever functions and variables hide it: a constructor has the name of its class.
    pub fn resolve_type(
        &self,
        symbols: &Arena<Symbol>,
        name: &str,
        at: TextRange,
    ) -> Option<SymbolId> {
        self.find(symbols, name, at, Wanted::Type)
    }

    /// What a word of a type means at a place: a type, else whatever has the name.
    pub fn resolve_type_word(
        &self,
        symbols: &Arena<Symbol>,
        name: &str,
        at: TextRange,
    ) -> Option<SymbolId> {
        let found = self.resolve_type(symbols, name, at);
        found.or_else(|| self.resolve(symbols, name, at))
    }

    fn find(
        &self,
        symbols: &Arena<Symbol>,
        name: &str,
        at: TextRange,
        wanted: Wanted,
    ) -> Option<SymbolId> {
        let mut scope = Some(self.innermost(at));
        while let Some(id) = scope {
            let inner = &self.scopes[id];
            // Most scopes declare nothing, and code may be nested deeply.
            if !inner.names.is_empty() || !inner.classes.is_empty() {
                let found = self.find_in(symbols, id, name, at, wanted);
                if found.is_some() {
                    return found;
                }
            }
            scope = inner.parent;
        }
        None
    }
}
