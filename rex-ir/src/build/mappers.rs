//! `declare mapper` directives, and the iterators of `map`, `to` and `from`.

use rex_syntax::TextRange;
use rex_syntax::cst::parse_fragment;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::directive::Directive;
use smol_str::SmolStr;

use super::Builder;
use super::constructs::{split_top_level, sub_range};
use super::names::{namespaces_around, squeeze};
use super::reductions::is_blank;
use super::types::declared_name;
use crate::map::{MapIterator, Mapper};
use crate::same_class::ClassComparison;
use crate::symbol::{Qualifier, Symbol, SymbolKind};
use crate::ty::{Category, TypeId};

impl Builder<'_> {
    /// `declare mapper(name : type variable) map(..)`
    pub(super) fn read_mapper(&mut self, directive: &Directive) {
        let Some(argument) = directive.argument else {
            self.report(
                Code::ClauseSyntax,
                directive.name_range,
                "`declare mapper` needs a type and a variable in parentheses",
                "write `declare mapper(struct s v) map(v, v.p[0:v.n])`",
            );
            return;
        };
        let text = self.text(argument);
        let parts = split_top_level(text, ':');
        let (name, declaration) = match parts.as_slice() {
            [declaration] => (None, *declaration),
            [name, declaration] => {
                let name = self.trimmed(sub_range(argument, name.0, name.1));
                (Some(self.text(name)), *declaration)
            }
            _ => (None, (0, 0)),
        };
        let declaration = sub_range(argument, declaration.0, declaration.1);
        let Some((variable, ty)) = self.mapper_variable(declaration) else {
            self.report(
                Code::ClauseSyntax,
                argument,
                "`declare mapper` needs a type and a variable, for instance `struct s v`",
                "write a type, a blank and the name of a variable",
            );
            return;
        };
        if self.types.category(ty) == Category::Unknown {
            self.report(
                Code::UnknownType,
                declaration,
                format!("the type of `{variable}` is not known"),
                "declare the type before the directive",
            );
            return;
        }
        let around = self.scopes.innermost(directive.range);
        let inner = self.scopes.open(around, directive.range);
        let symbol = self.symbols.alloc(Symbol {
            name: variable.clone(),
            kind: SymbolKind::Local,
            ty,
            declared_at: Some(declaration),
            initializer: None,
            declaration: None,
            qualifier: Qualifier::default(),
            spelled: None,
        });
        self.scopes.declare(&self.symbols, inner, variable, symbol);
        let items = self.read_map_clauses(&directive.clauses);
        let end = self.scopes.scope(around).range.end();
        let mapper = Mapper {
            name: name.filter(|name| *name != "default").map(SmolStr::from),
            ty,
            variable: symbol,
            items,
            at: argument,
            visible: TextRange::new(directive.range.end(), end.max(directive.range.end())),
            namespace: self.scope_names(directive.range),
            is_beside_type: self.is_beside_type(directive.range, ty),
        };
        self.add_mapper(mapper);
    }

    /// The namespaces and classes around a place: `a::b`.
    pub(super) fn scope_names(&self, at: TextRange) -> SmolStr {
        let node = self.unit.tree.root().smallest_at(at);
        let named = node.ancestors().filter(|outer| {
            matches!(
                outer.kind(),
                Kind::NamespaceDefinition | Kind::ClassSpecifier | Kind::StructSpecifier
            )
        });
        let names = named.filter_map(|outer| outer.field(Field::Name));
        let mut names: Vec<SmolStr> = names.map(|name| squeeze(name.text())).collect();
        names.reverse();
        names.join("::").into()
    }

    fn is_beside_type(&self, at: TextRange, ty: TypeId) -> bool {
        let record = self.types.record(ty);
        let body = record.and_then(|record| self.types.records[record].body);
        let Some(body) = body else {
            return false;
        };
        let root = self.unit.tree.root();
        let around = |at| namespaces_around(root.smallest_at(at));
        !around(at).is_empty() && around(at) == around(body)
    }

    fn add_mapper(&mut self, mapper: Mapper) {
        let classes = ClassComparison {
            types: &self.types,
            scopes: &self.scopes,
            symbols: &self.symbols,
        };
        let ours = (mapper.ty, mapper.at);
        let record = self.types.record(mapper.ty);
        let class = record.map(|record| self.types.records[record].name.clone());
        let alike = self.mappers_of.entry(class).or_default();
        let mut earlier = alike.iter().map(|idx| &self.mappers[*idx]);
        let earlier = earlier.find(|earlier| {
            earlier.name == mapper.name
                && earlier.visible.end() == mapper.visible.end()
                && earlier.visible.contains_range(mapper.visible)
                && classes.is_same((earlier.ty, earlier.at), ours) == Some(true)
        });
        if let Some(earlier) = earlier {
            let words = mapper.name.as_deref().unwrap_or("default");
            let diagnostic = Diagnostic::new(
                Code::DuplicateMapper,
                self.at(mapper.at),
                format!(
                    "there are two mappers `{words}` for `{}` here",
                    self.types.spell(mapper.ty)
                ),
            )
            .with_secondary(self.at(earlier.at), "the first is declared here")
            .with_help("give one of them another name, or declare it in an inner scope");
            self.diagnostics.push(diagnostic);
            return;
        }
        alike.push(self.mappers.len());
        self.mappers.push(mapper);
    }

    /// The name and type that `struct s v` declares.
    fn mapper_variable(&mut self, declaration: TextRange) -> Option<(SmolStr, TypeId)> {
        let text = format!("{};", self.text(declaration));
        let tree = parse_fragment(&text, self.unit.language);
        let node = tree
            .root()
            .descendants()
            .find(|node| node.kind() == Kind::Declaration)?;
        let declarator = node.field(Field::Declarator)?;
        let name = SmolStr::from(declared_name(declarator)?.text());
        self.fragment_depth += 1;
        let base = self.base_type(node, declaration);
        let ty = self.declarator(declarator, base, declaration).ty;
        self.fragment_depth -= 1;
        Some((name, ty))
    }

    /// `iterator(type i = begin : end : step, ..)`
    pub(super) fn read_iterators(&mut self, argument: TextRange) -> Option<Vec<MapIterator>> {
        let text = self.text(argument);
        let mut iterators = Vec::new();
        for (start, end) in split_top_level(text, ',') {
            let whole = sub_range(argument, start, end);
            match self.read_iterator(whole) {
                Some(iterator) => iterators.push(iterator),
                None => {
                    let words = self.text(whole).trim().to_string();
                    self.report(
                        Code::ClauseSyntax,
                        whole,
                        format!("`{words}` is no iterator"),
                        "write `i = 0 : n`, or `i = 0 : n : step`",
                    );
                    return None;
                }
            }
        }
        Some(iterators)
    }

    pub(super) fn read_iterator(&self, whole: TextRange) -> Option<MapIterator> {
        let text = self.text(whole);
        let (declaration, _) = text.split_once('=')?;
        let (before, name) = match declaration.trim().rsplit_once(|c: char| !is_word(c)) {
            Some((ty, name)) => (ty.trim(), name),
            None => ("", declaration.trim()),
        };
        let values = sub_range(whole, declaration.len() + 1, text.len());
        let parts: Vec<TextRange> = split_top_level(self.text(values), ':')
            .into_iter()
            .map(|(start, end)| self.trimmed(sub_range(values, start, end)))
            .collect();
        let (begin, end, step) = match parts.as_slice() {
            [begin, end] => (*begin, *end, None),
            [begin, end, step] => (*begin, *end, Some(*step)),
            _ => return None,
        };
        Some(MapIterator {
            ty: if before.is_empty() { "int" } else { before }.into(),
            name: name.into(),
            begin,
            end,
            step,
        })
    }

    /// The range without blanks and ends of lines that continue at its ends.
    pub(super) fn trimmed(&self, range: TextRange) -> TextRange {
        let text = self.text(range);
        let start = text.len() - text.trim_start_matches(is_blank).len();
        sub_range(
            range,
            start,
            text.trim_end_matches(is_blank).len().max(start),
        )
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
