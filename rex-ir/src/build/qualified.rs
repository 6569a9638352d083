//! Qualified names: `config::level`, `Shape::Inner::count`, `::x`.

use indexmap::IndexSet;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::names::{last_component, split_qualifier, without_arguments};
use crate::namer;
use crate::region::MacroCall;
use crate::symbol::{Symbol, SymbolId, SymbolKind};

/// What the names of a qualifier stand for: `namespace short_name = config::inner;`.
pub(super) type NamespaceAliases<'u> = FxHashMap<&'u str, &'u str>;

impl<'u> Builder<'u> {
    /// The namespaces that the unit gives further names, by those names.
    pub(super) fn namespace_aliases(&self) -> NamespaceAliases<'u> {
        let nodes = self.unit.tree.nodes();
        nodes
            .filter(|node| node.kind() == Kind::NamespaceAliasDefinition)
            .filter_map(|node| {
                let name = node.field(Field::Name)?;
                let meant = node.children().last().filter(|last| *last != name)?;
                Some((name.text(), meant.text()))
            })
            .collect()
    }

    /// The variable or member that the root of a list item names.
    pub(super) fn resolve_root(&mut self, root: TextRange) -> Option<SymbolId> {
        let name = self.text(root);
        let unqualified = last_component(name);
        let found = match unqualified == name {
            true => self.scopes.resolve(&self.symbols, name, root),
            false => self
                .resolve_qualified(name, root)
                .or_else(|| self.find_field(name, root)),
        };
        found
            .or_else(|| self.header_variable(unqualified))
            .or_else(|| self.declared_by_macro(name, root))
    }

    /// The variable that is declared by the name of a macro which stands for this one: `m` of `#define n m`, `int n;`.
    fn declared_by_macro(&self, name: &str, at: TextRange) -> Option<SymbolId> {
        let macros = &self.unit.macros;
        let stands_for = |word: &&SmolStr| {
            let def = macros.lookup_at(word, at.start());
            def.is_some_and(|def| def.parameters.is_none() && def.body == name)
        };
        let words = macros.names_of_program().filter(stands_for);
        words
            .filter_map(|word| self.scopes.resolve(&self.symbols, word, at))
            .min()
    }

    /// The data member that a name means which is qualified with its class or one derived from that: `Base::member`.
    pub(super) fn find_field(&mut self, text: &str, at: TextRange) -> Option<SymbolId> {
        let (qualifier, name) = split_qualifier(text)?;
        let class = self.class_named(qualifier, at)?;
        let name = name.trim();
        self.ancestry(class, at).into_iter().find_map(|class| {
            let scope = self.scopes.scope(*self.class_scopes.get(&class)?);
            let mut members = scope.names.get(name)?.iter().rev().copied();
            members.find(|member| self.symbols[*member].kind == SymbolKind::Field)
        })
    }

    /// How a member of the own object is named in an expression: with its class, if another member hides it.
    pub(super) fn member_name(&self, member: SymbolId, root: TextRange) -> SmolStr {
        let name = self.text(root);
        let unqualified = last_component(name);
        let plain = self.scopes.resolve(&self.symbols, unqualified, root);
        match plain == Some(member) {
            true => unqualified.into(),
            false => name.into(),
        }
    }

    /// The declaration behind a qualified name.
    pub(super) fn find_qualified(&self, text: &str, at: TextRange) -> Option<SymbolId> {
        let plain = without_arguments(text);
        let (qualifier, name) = plain.rsplit_once("::")?;
        let (of_class, _) = split_qualifier(text)?;
        if let Some(class) = self.class_named(of_class, at) {
            let declared = self.static_field(class, name, at, 0);
            return declared.or_else(|| self.members_of_specializations(class, name).next());
        }
        let candidates = self.scopes.scope(self.scopes.root()).names.get(name)?;
        let of = |symbol: SymbolId| self.symbols[symbol].named_qualifier();
        let last = |is_wanted: &dyn Fn(&str) -> bool| {
            let mut candidates = candidates.iter().rev().copied();
            candidates.find(|symbol| is_wanted(&of(*symbol)))
        };
        let qualifier = self.without_aliases(qualifier);
        if let Some(whole) = qualifier.strip_prefix("::") {
            return last(&|of| of.strip_suffix("::").unwrap_or(of) == whole);
        }
        if qualifier.is_empty() {
            return last(&|of| of.is_empty());
        }
        // From the innermost namespace outwards.
        let mut around = self.scopes.namespace_at(at);
        loop {
            let whole = format!("{around}{qualifier}::");
            if let Some(found) = last(&|of| of == whole) {
                return Some(found);
            }
            if around.is_empty() {
                break;
            }
            let outer = around.trim_end_matches("::");
            around = &around[..outer.rfind("::").map_or(0, |end| end + 2)];
        }
        // Inline namespaces and directives may stand between.
        let suffix = format!("::{qualifier}::");
        last(&|of| of.ends_with(&suffix)).or(candidates.last().copied())
    }

    /// A qualifier with the namespaces that its first name stands for.
    fn without_aliases(&self, qualifier: &str) -> String {
        const MAX_ALIASES: usize = 16;
        let mut meant = qualifier.to_string();
        for _ in 0..MAX_ALIASES {
            let (first, rest) = match meant.split_once("::") {
                Some((first, rest)) => (first, format!("::{rest}")),
                None => (meant.as_str(), String::new()),
            };
            let Some(alias) = self.namespace_aliases.get(first) else {
                break;
            };
            meant = format!("{}{rest}", without_arguments(alias));
        }
        meant
    }

    /// Gives variables that regions name with qualifiers a name of their own, where others have theirs.
    ///
    /// In a kernel all of them are local names, so that `config::level` cannot be `level` beside another `level`.
    pub(super) fn separate_homonyms(&mut self) {
        if !self.source.contains("::") {
            return;
        }
        let mut named: IndexSet<SymbolId> = IndexSet::new();
        let constructs = self.constructs.iter();
        let regions: Vec<TextRange> = constructs
            .filter(|(_, construct)| {
                construct
                    .leaves
                    .first()
                    .is_some_and(|leaf| leaf.is_device())
            })
            .map(|(_, construct)| construct.range)
            .collect();
        for range in regions {
            for name in qualified_names(self.source, range) {
                named.extend(self.find_qualified(self.text(name), name));
            }
            for word in lex::identifiers(self.source, range) {
                if let Some(call) = self.qualified_in_macro(word) {
                    named.extend(call.names.into_iter().map(|(_, symbol)| symbol));
                }
            }
        }
        named.retain(|symbol| self.has_homonym(*symbol));
        for symbol in named {
            self.rename(symbol);
        }
    }

    /// The macro call that begins at a place, if it names variables with qualifiers that regions capture.
    pub(super) fn qualified_in_macro(&mut self, name: TextRange) -> Option<MacroCall> {
        if self.unit.language != Language::Cxx {
            return None;
        }
        let root = self.scopes.scope(self.scopes.root());
        let is_of_namespace = |symbol: &SymbolId| self.symbols[*symbol].kind == SymbolKind::Global;
        let is_wanted = |word: &SmolStr| {
            let homonyms = root.names.get(word);
            homonyms.is_some_and(|it| it.iter().any(is_of_namespace))
                || self.static_fields.keys().any(|(_, field)| field == word)
        };
        let (range, expansion) = self.written_out(name, is_wanted)?;
        let mut names = self.qualified_in(&expansion, name);
        names.retain(|(_, symbol)| {
            self.symbols[*symbol].kind.is_variable()
                && self.global_storage(*symbol).is_none()
                && !self.constant_fields.contains_key(symbol)
        });
        (!names.is_empty()).then_some(MacroCall {
            range,
            expansion,
            names,
        })
    }

    /// What names with qualifiers in a text mean that stands for one at a place.
    pub(super) fn qualified_in(&mut self, text: &str, at: TextRange) -> Vec<(TextRange, SymbolId)> {
        let names = qualified_names(text, lex::whole(text)).into_iter();
        names
            .filter_map(|name| Some((name, self.resolve_qualified(&text[name], at)?)))
            .collect()
    }

    /// The range of the macro call that begins at a place, and its text as far as the names in it that are `wanted`.
    pub(super) fn written_out(
        &self,
        name: TextRange,
        is_wanted: impl Fn(&SmolStr) -> bool,
    ) -> Option<(TextRange, String)> {
        self.macro_at(self.text(name), name)?;
        let mut words = self.macro_names(self.text(name), name);
        words.retain(is_wanted);
        if words.is_empty() {
            return None;
        }
        self.unit.macros.expand_to(self.source, name, &words)
    }

    /// Whether another variable has the name of one of a namespace or class that regions capture.
    fn has_homonym(&self, symbol: SymbolId) -> bool {
        let found = &self.symbols[symbol];
        let is_reached = match found.kind {
            SymbolKind::Global => true,
            SymbolKind::StaticField => {
                let member = self.static_members.get(&symbol);
                member.is_none_or(|member| !member.has_arguments())
            }
            _ => false,
        };
        let differs = |other: &Symbol| {
            let is_again = other.kind == found.kind && other.qualifier == found.qualifier;
            other.name == found.name && other.kind.is_variable() && !is_again
        };
        // A loop has the name that its text has.
        let mut loops = self.nests.values().flat_map(|nest| &nest.loops);
        let counts = loops.any(|it| it.variable == found.name && !it.declares_variable);
        is_reached
            && !counts
            && found.spelled.is_none()
            && self.global_storage(symbol).is_none()
            && self.symbols.values().any(differs)
    }

    fn rename(&mut self, symbol: SymbolId) {
        let (name, qualifier) = (
            self.symbols[symbol].name.clone(),
            self.symbols[symbol].qualifier.clone(),
        );
        let kind = self.symbols[symbol].kind;
        let plain = self.symbols[symbol].named_qualifier();
        let own = match plain.is_empty() {
            true => format!("global__{name}"),
            false => namer::identifier(&format!("{plain}{name}")).to_string(),
        };
        let spelled: SmolStr = match plain.is_empty() {
            true => format_smolstr!("::{name}"),
            false => format_smolstr!("{plain}{name}"),
        };
        for (_, other) in self.symbols.iter_mut() {
            if other.kind == kind && other.name == name && other.qualifier == qualifier {
                other.name = own.as_str().into();
                other.spelled = Some(Box::new(spelled.clone()));
            }
        }
    }
}

/// The names with qualifiers in a range.
pub(super) fn qualified_names(source: &str, range: TextRange) -> Vec<TextRange> {
    let mut names: Vec<TextRange> = Vec::new();
    let mut name: Option<TextRange> = None;
    let mut is_open = false;
    for token in lex::significant_tokens(source, range) {
        let is_colons = token.text(source) == "::";
        let is_word = token.kind == lex::TokenKind::Identifier;
        name = match name {
            Some(so_far) if is_colons || (is_word && is_open) => Some(so_far.cover(token.range)),
            _ if is_colons || is_word => Some(token.range),
            _ => None,
        };
        is_open = is_colons;
        if let Some(whole) = name.filter(|_| is_word)
            && whole != token.range
        {
            // `a::b` is a part of `a::b::c`.
            names.pop_if(|before| before.start() == whole.start());
            names.push(whole);
        }
    }
    names
}

/// The whole qualified name whose last component a node is.
pub(super) fn qualified_around(node: Node<'_>) -> Option<Node<'_>> {
    let mut whole = node;
    while let Some(parent) = whole
        .parent()
        .filter(|parent| parent.kind() == Kind::QualifiedIdentifier)
    {
        whole = parent;
    }
    (whole != node).then_some(whole)
}
