//! Types of variables in words that mean something else where a region stands, because a declaration between the two hides what they meant:
//! `T x; { typedef double T; .. }`, `double m[N]; { enum { N = 3 }; .. }`.

use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use crate::namer;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Category, Extent, Meaning, RecordId, Type, TypeId, TypeKind};

/// A variable, where it is declared, and a region where its type has hidden words.
#[derive(Clone, Copy)]
struct Hidden {
    variable: SymbolId,
    declared: TextRange,
    region: TextRange,
}

impl Builder<'_> {
    /// Writes the types of such variables in words that are not hidden: aliases as what they stand for, extents as numbers, or as extents
    /// of the variable's own.
    pub(super) fn write_hidden_words(&mut self) {
        let regions = self.target_regions();
        if regions.is_empty() {
            return;
        }
        // Nothing else hides a word.
        let inner_names = self.scopes.inner_names();
        let variables = self
            .symbols
            .iter()
            .filter(|(_, symbol)| symbol.kind.is_variable());
        let found: Vec<Hidden> = variables
            .filter_map(|(variable, symbol)| {
                let declared = symbol.declared_at?;
                let mut words = Vec::new();
                self.type_words(symbol.ty, &mut words);
                words.retain(|words| {
                    inner_names.contains(words.as_str())
                        || free_names(words).any(|name| inner_names.contains(&words[name]))
                });
                if words.is_empty() {
                    return None;
                }
                let scope = self.scopes.scope(self.scopes.innermost(declared)).range;
                let mut seeing = regions.iter().copied().filter(|region| {
                    scope.contains_range(*region) && region.start() > declared.start()
                });
                let region = seeing.find(|region| {
                    let mut words = words.iter();
                    words.any(|words| self.are_hidden(words, declared, *region))
                })?;
                Some(Hidden {
                    variable,
                    declared,
                    region,
                })
            })
            .collect();
        for hidden in found {
            let ty = self.symbols[hidden.variable].ty;
            self.symbols[hidden.variable].ty = self.in_plain_words(ty, hidden, 0);
        }
    }

    /// The first word of a type, as one place understands it, that means something else at another.
    pub(super) fn hidden_word(
        &self,
        ty: TypeId,
        declared: TextRange,
        at: TextRange,
    ) -> Option<SmolStr> {
        let mut words = Vec::new();
        self.type_words(ty, &mut words);
        words
            .into_iter()
            .find(|words| self.are_hidden(words, declared, at))
    }

    fn are_hidden(&self, words: &str, declared: TextRange, at: TextRange) -> bool {
        // `struct S` is one word.
        words.contains(' ') && self.is_hidden(words, declared, at)
            || free_names(words).any(|name| self.is_hidden(&words[name], declared, at))
    }

    /// Whether a declaration that a place sees hides what a name means at another.
    fn is_hidden(&self, name: &str, declared: TextRange, at: TextRange) -> bool {
        let at = TextRange::empty(at.start());
        let Some(meant) = self.scopes.resolve_type_word(&self.symbols, name, declared) else {
            return false;
        };
        let any = self.scopes.resolve(&self.symbols, name, at);
        let is_type = self.symbols[meant].kind == SymbolKind::Type;
        let seen = match any {
            // Functions of the name, a constructor for instance, hide no type.
            Some(seen) if is_type && !self.symbols[seen].kind.is_variable() => {
                self.scopes.resolve_type(&self.symbols, name, at)
            }
            seen => seen,
        };
        let Some(seen) = seen else {
            return false;
        };
        let scope = |symbol: SymbolId| {
            let declared = self.symbols[symbol].declared_at;
            declared.map_or(self.scopes.root(), |at| self.scopes.innermost(at))
        };
        // A class template and its members outside have each a head with the same parameters.
        let is_again = self.is_template_parameter(meant) && self.is_template_parameter(seen);
        // One thing may be declared several times in a scope.
        meant != seen
            && !is_again
            && scope(seen) != scope(meant)
            && scope(seen) != self.scopes.root()
    }

    fn is_template_parameter(&self, symbol: SymbolId) -> bool {
        let found = &self.symbols[symbol];
        match found.kind {
            SymbolKind::TemplateValue => true,
            SymbolKind::Type => {
                found.declaration.is_none() && self.types.category(found.ty) == Category::Dependent
            }
            _ => false,
        }
    }

    fn in_plain_words(&mut self, ty: TypeId, hidden: Hidden, dimension: u8) -> TypeId {
        let Hidden {
            declared, region, ..
        } = hidden;
        let whole = self.types.get(ty).clone();
        let kind = match whole.kind.clone() {
            TypeKind::Pointer(to) => TypeKind::Pointer(self.in_plain_words(to, hidden, dimension)),
            TypeKind::Reference(to) => {
                TypeKind::Reference(self.in_plain_words(to, hidden, dimension))
            }
            TypeKind::Array { element, extent } => TypeKind::Array {
                element: self.in_plain_words(element, hidden, dimension + 1),
                extent: match extent {
                    Extent::Constant(words) | Extent::Runtime(words)
                        if self.are_hidden(&words, declared, region) =>
                    {
                        self.plain_extent(words, hidden, dimension)
                    }
                    other => other,
                },
            },
            TypeKind::Named { spelling, meaning }
                if self.are_hidden(&spelling, declared, region) =>
            {
                return self.named_plainly(whole, (spelling, meaning), hidden);
            }
            kind => kind,
        };
        self.types.intern(Type { kind, ..whole })
    }

    /// A type whose name is hidden: with the namespaces around it, as what it is an alias of, or as the class it is.
    fn named_plainly(
        &mut self,
        whole: Type,
        (spelling, meaning): (SmolStr, Meaning),
        hidden: Hidden,
    ) -> TypeId {
        let Hidden {
            declared, region, ..
        } = hidden;
        let spelling = match (self.with_namespaces(&spelling, hidden), &meaning) {
            (Some(qualified), _) => qualified,
            (None, Meaning::Alias(target)) => {
                let target = self.in_plain_words(*target, hidden, 0);
                let plain = self.types.get(target).clone();
                return self.types.intern(Type {
                    is_const: whole.is_const || plain.is_const,
                    is_volatile: whole.is_volatile || plain.is_volatile,
                    kind: plain.kind,
                });
            }
            (None, Meaning::Record(Some(record))) if !spelling.contains('<') => {
                let tag = self.visible_tag(*record, declared, region);
                tag.unwrap_or(spelling)
            }
            _ => spelling,
        };
        self.types.intern(Type {
            kind: TypeKind::Named { spelling, meaning },
            ..whole
        })
    }

    /// Words with the namespaces of the names in them that are hidden, if all of these are names of the file.
    fn with_namespaces(&self, words: &str, hidden: Hidden) -> Option<SmolStr> {
        if self.unit.language != Language::Cxx {
            return None;
        }
        let names: Vec<TextRange> = free_names(words).collect();
        let mut written = words.to_string();
        for name in names.into_iter().rev() {
            let plain = &words[name];
            if !self.is_hidden(plain, hidden.declared, hidden.region) {
                continue;
            }
            let meant = self
                .scopes
                .resolve_type_word(&self.symbols, plain, hidden.declared)?;
            let qualified = format!("::{}{plain}", self.symbols[meant].named_qualifier());
            if self.find_qualified(&qualified, hidden.declared) != Some(meant) {
                return None;
            }
            written.replace_range(std::ops::Range::<usize>::from(name), &qualified);
        }
        Some(written.into())
    }

    /// An extent as a number, or as the variable's own.
    fn plain_extent(&self, words: SmolStr, hidden: Hidden, dimension: u8) -> Extent {
        let variable = &self.symbols[hidden.variable];
        let has_extents = matches!(variable.kind, SymbolKind::Local | SymbolKind::Parameter);
        match self.constant_in_words(&words, hidden.declared) {
            Some(value) => Extent::Constant(format_smolstr!("{value}")),
            None if has_extents => Extent::Runtime(namer::extent(&variable.name, dimension)),
            None => Extent::Runtime(words),
        }
    }

    /// How a class is named at a place where its name, or an alias of it, is hidden.
    fn visible_tag(
        &self,
        record: RecordId,
        declared: TextRange,
        region: TextRange,
    ) -> Option<SmolStr> {
        let name = &self.types.records[record].name;
        let is_found = |tag: &SmolStr| {
            let found = self.scopes.resolve_type(&self.symbols, tag, declared);
            found.is_some_and(|found| self.types.record(self.symbols[found].ty) == Some(record))
        };
        let tags = match self.unit.language {
            Language::C => vec![
                format_smolstr!("struct {name}"),
                format_smolstr!("union {name}"),
            ],
            Language::Cxx => vec![name.clone()],
        };
        tags.into_iter()
            .find(|tag| is_found(tag) && !self.are_hidden(tag, declared, region))
    }
}

/// The names in words of a type that declarations may hide.
fn free_names(words: &str) -> impl Iterator<Item = TextRange> {
    lex::identifiers(words, lex::whole(words))
        .filter(|name| !words[..usize::from(name.start())].ends_with("::"))
}
