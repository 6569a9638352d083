//! The names that device code uses.

use indexmap::{IndexMap, IndexSet};
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::omp::clause::ClauseName;

use super::functions::{is_callee, is_copied};
use super::members::member_of_this;
use crate::build::Builder;
use crate::build::names::{last_component, squeeze};
use crate::build::qualified::{qualified_around, qualified_names};
use crate::changes;
use crate::headers::function_declaration;
use crate::region::{Call, CapturedObject, ConstructId, MacroCall};
use crate::static_member::uses_in;
use crate::symbol::{SymbolId, SymbolKind};

/// What the body of a region was seen to use.
#[derive(Default)]
pub(super) struct Uses {
    /// Objects in order of first appearance, with that place.
    pub(super) objects: IndexMap<CapturedObject, Use>,
    pub(super) declarations: IndexSet<(u32, u32)>,
    /// Names that the function gives to types of its variables.
    pub(super) named_types: IndexSet<SymbolId>,
    pub(super) qualified_uses: Vec<(TextRange, SymbolId)>,
    /// Macro calls that name such variables.
    pub(super) qualified_calls: Vec<MacroCall>,
    pub(super) member_uses: Vec<TextRange>,
    pub(super) this_uses: Vec<TextRange>,
    /// Members of the own object that clauses turn into variables.
    pub(super) member_variables: Vec<SymbolId>,
    pub(super) calls: Vec<Call>,
    pub(super) globals: IndexSet<SymbolId>,
}

#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) at: TextRange,
    pub(super) written: bool,
    pub(super) explicit: bool,
    /// It may act as a function: it is called or passed on.
    pub(super) called: bool,
}

/// A name in a piece of device code.
#[derive(Clone, Copy)]
pub(super) struct Name<'t> {
    pub(super) text: &'t str,
    pub(super) at: TextRange,
    pub(super) written: bool,
    pub(super) called: bool,
}

impl Uses {
    /// Whether a clause of the region names a variable: it is mapped, whatever else it is.
    pub(super) fn is_of_clause(&self, symbol: SymbolId) -> bool {
        let object = CapturedObject::Variable(symbol);
        self.objects.get(&object).is_some_and(|seen| seen.explicit)
    }

    pub(super) fn add(&mut self, object: CapturedObject, seen: Use) {
        let entry = self.objects.entry(object).or_insert(seen);
        entry.written |= seen.written;
        entry.explicit |= seen.explicit;
        entry.called |= seen.called;
    }
}

impl<'u> Builder<'u> {
    /// Walks device code and records every name that comes from outside `statement`.
    pub(super) fn collect(
        &mut self,
        root: Node<'u>,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let unit = self.unit;
        let nodes = root.descendants();
        for node in nodes.filter(|node| statement.contains_range(node.range())) {
            match node.kind() {
                Kind::Identifier | Kind::FieldIdentifier
                    if node.kind() == Kind::Identifier || is_member_pointer(node) =>
                {
                    let name = Name {
                        text: node.text(),
                        at: node.range(),
                        written: self.is_written(node),
                        called: is_callee(node) || is_copied(node),
                    };
                    if let Some(whole) = qualified_around(node) {
                        let name = Name {
                            written: name.written || self.is_written(whole),
                            ..name
                        };
                        self.use_qualified(name, whole.range(), construct, uses);
                    } else {
                        self.use_name(name, statement, construct, uses, 0);
                    }
                }
                Kind::TypeIdentifier => {
                    let name = Name {
                        text: node.text(),
                        at: node.range(),
                        written: false,
                        called: is_callee(node),
                    };
                    // Arguments of a constructor can read like parameters of a function.
                    match qualified_around(node) {
                        Some(whole) => self.use_qualified(name, whole.range(), construct, uses),
                        None => self.use_name(name, statement, construct, uses, 0),
                    }
                }
                Kind::StructSpecifier
                | Kind::UnionSpecifier
                | Kind::ClassSpecifier
                | Kind::EnumSpecifier => {
                    if let Some(tag) = node.field(Field::Name)
                        && node.field(Field::Body).is_none()
                    {
                        let text = squeeze(node.text());
                        self.use_tag(&text, tag.range(), statement, construct, uses);
                    }
                }
                Kind::FieldIdentifier if is_callee(node) => {
                    uses.calls.push(Call::of_member(node.text(), node.range()));
                }
                Kind::TemplateFunction => {
                    if let Some(name) = node.field(Field::Name) {
                        uses.calls
                            .push(Call::of_function(name.text(), name.range()));
                    }
                }
                Kind::This
                    if member_of_this(self.source, node.range()).is_some_and(|member| {
                        let whole = node.range().cover(member);
                        self.use_member_variable(member, whole, uses)
                    }) => {}
                Kind::This => {
                    uses.this_uses.push(node.range());
                    uses.add(
                        CapturedObject::This,
                        Use {
                            at: node.range(),
                            written: true,
                            explicit: false,
                            called: false,
                        },
                    );
                }
                _ => {}
            }
        }
        // Pragmas inside are masked in the tree: their operands are read as text.
        for directive in unit.directives_in(statement) {
            for clause in &directive.clauses {
                let expression = match clause.name {
                    ClauseName::Linear => self.linear_step(clause),
                    _ => clause.expression(),
                };
                if let Some(expression) = expression {
                    self.collect_text(expression, false, statement, construct, uses);
                }
                for item in clause.items() {
                    if !matches!(clause.name, ClauseName::Private) {
                        let written =
                            !matches!(clause.name, ClauseName::Firstprivate | ClauseName::Shared);
                        // The bounds of a section are only read.
                        let root = item.locator.root();
                        self.collect_text(root, written, statement, construct, uses);
                        let bounds = TextRange::new(root.end(), item.range.end());
                        self.collect_text(bounds, false, statement, construct, uses);
                    }
                }
            }
        }
    }

    pub(super) fn collect_text(
        &mut self,
        range: TextRange,
        written: bool,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        for at in lex::identifiers(self.source, range).collect::<Vec<_>>() {
            let name = Name {
                text: self.text(at),
                at,
                written,
                called: false,
            };
            self.use_name(name, statement, construct, uses, 0);
        }
        for whole in qualified_names(self.source, range) {
            let name = Name {
                text: last_component(self.text(whole)),
                at: whole,
                written,
                called: false,
            };
            self.use_qualified(name, whole, construct, uses);
        }
    }

    pub(super) fn use_name(
        &mut self,
        name: Name<'_>,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
        depth: u32,
    ) {
        if depth > 64 {
            return;
        }
        if depth == 0 && self.macro_at(name.text, name.at).is_some() {
            let qualified = self.use_qualified_in_macro(name, construct, uses);
            for inner in self.macro_names(name.text, name.at) {
                if qualified.contains(&inner) {
                    continue;
                }
                let inner = Name {
                    text: &inner,
                    at: name.at,
                    written: true,
                    called: true,
                };
                self.use_name(inner, statement, construct, uses, depth + 1);
            }
            if self
                .scopes
                .resolve(&self.symbols, name.text, name.at)
                .is_none()
            {
                return;
            }
        }
        let resolved = self.scopes.resolve(&self.symbols, name.text, name.at);
        if name.called
            && resolved.is_none_or(|symbol| self.symbols[symbol].kind == SymbolKind::Function)
            && self.calls_own_member(name.text, construct)
        {
            let seen = Use {
                at: name.at,
                written: true,
                explicit: false,
                called: false,
            };
            uses.add(CapturedObject::This, seen);
            if depth == 0 {
                uses.member_uses.push(name.at);
            }
        }
        let Some(symbol) = resolved else {
            let variable = self.header_variable(name.text);
            // What is called or copied can be a function or a variable.
            let is_function = name.called
                && (variable.is_none() || function_declaration(self.unit, name.text).is_some());
            if is_function {
                uses.calls.push(Call::of_function(name.text, name.at));
            } else if let Some(symbol) = variable
                && !self.is_header_constant(symbol)
            {
                let seen = Use {
                    at: name.at,
                    written: name.written,
                    explicit: false,
                    called: false,
                };
                uses.add(CapturedObject::Variable(symbol), seen);
            }
            return;
        };
        let declared_inside = self.symbols[symbol]
            .declared_at
            .is_some_and(|declared| statement.contains_range(declared));
        if declared_inside {
            return;
        }
        match self.symbols[symbol].kind {
            SymbolKind::Function => uses.calls.push(Call::of_function(name.text, name.at)),
            SymbolKind::Global if self.global_storage(symbol).is_some() => {
                self.use_global(symbol, uses)
            }
            SymbolKind::Field if self.is_in_local_class(name.at, statement) => {}
            SymbolKind::Field if self.use_member_variable(name.at, name.at, uses) => {}
            SymbolKind::Field => {
                if depth == 0 {
                    uses.member_uses.push(name.at);
                }
                uses.add(
                    CapturedObject::This,
                    Use {
                        at: name.at,
                        written: true,
                        explicit: false,
                        called: false,
                    },
                );
            }
            SymbolKind::StaticField
                if self.lives_on_device(symbol) && !uses.is_of_clause(symbol) =>
            {
                self.use_global(symbol, uses)
            }
            SymbolKind::StaticField if self.constant_fields.contains_key(&symbol) => {}
            SymbolKind::Local | SymbolKind::StaticLocal
                if self.is_constant(symbol)
                    && !uses.objects.contains_key(&CapturedObject::Variable(symbol)) =>
            {
                self.use_local_declaration(symbol, statement, construct, uses);
            }
            SymbolKind::Type if self.types.is_variably_modified(self.symbols[symbol].ty) => {
                self.use_extents(symbol, name.at, uses);
                let mut words = Vec::new();
                self.type_words(self.symbols[symbol].ty, &mut words);
                for word in words.iter().filter(|word| *word != name.text) {
                    let inner = Name { text: word, ..name };
                    self.use_name(inner, statement, construct, uses, depth + 1);
                }
            }
            SymbolKind::Enumerator | SymbolKind::Type => {
                self.use_local_declaration(symbol, statement, construct, uses);
            }
            kind if kind.is_variable() => {
                if depth == 0 && self.symbols[symbol].spelled.is_some() {
                    uses.qualified_uses.push((name.at, symbol));
                }
                let is_private = self.is_private_inside(symbol, name.at, construct);
                if !is_private {
                    let seen = Use {
                        at: name.at,
                        written: name.written,
                        explicit: false,
                        called: name.called || name.written,
                    };
                    uses.add(CapturedObject::Variable(symbol), seen);
                }
            }
            _ => {}
        }
    }

    /// Whether a place is in a class that a statement defines: it sees no members of the object around the statement.
    fn is_in_local_class(&self, at: TextRange, statement: TextRange) -> bool {
        let node = self.unit.tree.root().smallest_at(at);
        let mut around = node
            .ancestors()
            .take_while(|outer| statement.contains_range(outer.range()));
        around.any(|outer| outer.kind() == Kind::FieldDeclarationList)
    }

    /// `object.count`, where `count` is a static member.
    pub(super) fn use_members_of_objects(&mut self, statement: TextRange, uses: &mut Uses) {
        let unit = self.unit;
        let inside: Vec<(TextRange, SymbolId)> =
            uses_in(&self.static_member_uses, statement).collect();
        for (at, symbol) in inside {
            let node = unit.tree.root().smallest_at(at);
            let whole = node
                .parent()
                .filter(|parent| parent.kind() == Kind::FieldExpression);
            let Some(whole) = whole.filter(|_| node.kind() == Kind::FieldIdentifier) else {
                continue;
            };
            if self.lives_on_device(symbol) && !uses.is_of_clause(symbol) {
                self.use_global(symbol, uses);
                continue;
            }
            uses.qualified_uses.push((whole.range(), symbol));
            let seen = Use {
                at: whole.range(),
                written: true,
                explicit: false,
                called: false,
            };
            uses.add(CapturedObject::Variable(symbol), seen);
        }
    }

    pub(super) fn use_global(&self, symbol: SymbolId, uses: &mut Uses) {
        uses.globals.insert(symbol);
        uses.globals.extend(self.specializations_of_member(symbol));
    }

    /// Whether a use may change the variable.
    pub(in crate::build) fn is_written(&self, node: Node<'u>) -> bool {
        let variable = || {
            let found = self
                .scopes
                .resolve(&self.symbols, node.text(), node.range());
            changes::Variable {
                is_pointer: found
                    .is_some_and(|found| self.holds_pointer(CapturedObject::Variable(found))),
                is_automatic: found.is_some_and(|found| self.symbols[found].kind.is_automatic()),
            }
        };
        changes::may_change(
            node,
            &variable,
            &self.function_index,
            &self.unit.macros,
            self.unit.language,
        )
    }
}

/// Whether a node is `m` of `object.*m`: a variable, not a member.
fn is_member_pointer(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        parent
            .tokens_and_children()
            .any(|child| child.token() == ".*")
    })
}
