//! Finds the host code that instantiates kernels of templates.
//!
//! Names carry it: the name of a function template with a region, of the member functions of a class template with regions, and of every template that mentions such a
//! name. Of a function that mentions one, the statements with the name stay, and the declarations that these statements need.

use indexmap::IndexSet;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::macros::MacroTable;
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::Builder;
use super::carriers::Carriers;
use super::names::squeeze;
use super::types::declared_name;
use crate::instance::{Instances, Instantiator};
use crate::item::{Function, FunctionId};
use crate::places::regions_in;
use crate::region::{Region, RegionId};

use crate::symbol::{SymbolId, SymbolKind};

impl<'u> Builder<'u> {
    /// Fills [`Instances`].
    pub(super) fn read_instances(&mut self) {
        let carriers = self.carriers();
        let is_needed = |(_, region): (RegionId, &Region)| !region.deduced.is_empty();
        if carriers.is_empty() && !self.regions.iter().any(is_needed) {
            return;
        }
        let functions: Vec<FunctionId> = self.functions.iter().map(|(id, _)| id).collect();
        let mut instances = Instances::default();
        for id in functions {
            let leads = self.mentions(id, &carriers) && !self.is_computed(id);
            if leads || self.holds_template_region(id) {
                instances.functions.insert(id, self.slice(id, &carriers));
            }
        }
        instances.initializers = self.initializers_with(&carriers);
        instances.explicit = self.explicit_instantiations(&carriers);
        self.add_used_names(&mut instances);
        self.add_called_templates(&carriers, &mut instances);
        instances
            .functions
            .sort_by_key(|function, _| self.functions[*function].range.start());
        let mut closures: Vec<TextRange> = instances
            .functions
            .values()
            .flat_map(|of| of.closures.iter().copied())
            .collect();
        closures.sort_by_key(|range| range.start());
        closures.dedup();
        for range in closures {
            instances.closures.extend(self.closure(range));
        }
        self.instances = instances;
    }

    /// Whether a function runs nothing that the compiler cannot compute: `constexpr`, and no template, of which that may be true for some arguments.
    fn is_computed(&self, id: FunctionId) -> bool {
        let function = &self.functions[id];
        let head = TextRange::new(function.range.start(), function.body.start());
        !function.is_template() && self.has_word(head, "constexpr")
    }

    fn holds_template_region(&self, id: FunctionId) -> bool {
        let is_template = self.functions[id].is_template();
        let range = self.functions[id].range;
        regions_in(&self.regions, &self.constructs, range)
            .any(|(_, region)| region.function == id && (is_template || !region.deduced.is_empty()))
    }

    fn initializers_with(&self, carriers: &Carriers) -> Vec<SymbolId> {
        let leads = |range: TextRange| {
            self.words()
                .of(range)
                .any(|(_, word)| carriers.contains(&word))
        };
        let mut found: Vec<SymbolId> = self
            .symbols
            .iter()
            .filter(|(_, symbol)| {
                // What the compiler computes runs nothing.
                let is_computed = |declaration| self.has_word(declaration, "constexpr");
                symbol.kind == SymbolKind::Global
                    && symbol
                        .declaration
                        .is_some_and(|declaration| leads(declaration) && !is_computed(declaration))
            })
            .map(|(id, _)| id)
            .collect();
        let mut seen = FxHashSet::default();
        found.retain(|id| seen.insert(self.symbols[*id].declaration));
        found
    }

    fn has_word(&self, range: TextRange, wanted: &str) -> bool {
        lex::identifiers(self.source, range).any(|at| &self.source[at] == wanted)
    }

    fn explicit_instantiations(&self, carriers: &Carriers) -> Vec<TextRange> {
        let unit = self.unit;
        let class_names: FxHashSet<&str> = self
            .regions
            .iter()
            .filter_map(|(_, region)| self.functions[region.function].class.as_deref())
            .collect();
        unit.tree
            .root()
            .descendants()
            .filter(|node| node.kind() == Kind::TemplateInstantiation)
            .filter(|node| {
                self.words().of(node.range()).any(|(_, word)| {
                    carriers.contains(&word) || class_names.contains(word.as_str())
                })
            })
            .map(|node| node.range())
            .collect()
    }

    /// What remains of a function.
    fn slice(&self, id: FunctionId, carriers: &Carriers) -> Instantiator {
        let function = &self.functions[id];
        let is_template = function.is_template();
        let mut regions: Vec<RegionId> = Vec::new();
        let mut region_ranges: Vec<TextRange> = Vec::new();
        let mut deduced: FxHashSet<SmolStr> = FxHashSet::default();
        for (region, found) in regions_in(&self.regions, &self.constructs, function.range) {
            // Those of its own classes, too.
            let is_around =
                |inner: FunctionId| function.body.contains_range(self.functions[inner].range);
            if found.function == id || is_around(found.function) {
                regions.push(region);
                region_ranges.push(self.constructs[found.construct].range);
                deduced.extend(
                    found
                        .deduced
                        .iter()
                        .map(|symbol| self.symbols[*symbol].name.clone()),
                );
            }
        }
        let mut slicer = Slicer {
            words: self.words(),
            carriers,
            objects: self.carrying_objects(id, carriers),
            regions: &region_ranges,
            keeps_regions: is_template || !deduced.is_empty(),
            needed: deduced,
            removed: Vec::new(),
            returns: Vec::new(),
            closures: Vec::new(),
            returns_decide_type: false,
        };
        let body = self.unit.tree.root().smallest_at(function.body);
        let is_called_by_name = is_template || function.class.is_some();
        slicer.returns_decide_type = is_called_by_name && has_deduced_return_type(body);
        // Declarations are found needed by statements, and by each other.
        const MAX_ROUNDS: usize = 64;
        for _ in 0..MAX_ROUNDS {
            let before = slicer.needed.len();
            slicer.removed.clear();
            slicer.returns.clear();
            slicer.closures.clear();
            slicer.compound(body);
            slicer.need_names_of(TextRange::new(
                function.declarator_end,
                body.range().start(),
            ));
            slicer.need_kept_names(body.range());
            if slicer.needed.len() == before {
                break;
            }
        }
        let mut removed = slicer.removed;
        removed.extend(handlers_of(body));
        let returns = slicer.returns;
        let closures = slicer.closures;
        // Other directives mean nothing there.
        for directive in &self.unit.directives {
            let is_inside = function.body.contains_range(directive.range);
            let is_covered = |range: &TextRange| range.contains_range(directive.range);
            if is_inside && !removed.iter().any(is_covered) && !region_ranges.iter().any(is_covered)
            {
                // The tree has a stand-in statement at a directive that has none of its own.
                removed.retain(|range| !directive.range.contains_range(*range));
                removed.push(directive.range);
            }
        }
        removed.sort_by_key(|range| range.start());
        regions.retain(|region| {
            let range = self.constructs[self.regions[*region].construct].range;
            !removed.iter().any(|removed| removed.contains_range(range))
        });
        Instantiator {
            function: id,
            removed,
            regions,
            closures,
            returns: if is_called_by_name {
                Vec::new()
            } else {
                returns
            },
        }
    }

    /// Templates that the kept code calls with objects whose use may lead to a kernel.
    fn add_called_templates(&self, carriers: &Carriers, instances: &mut Instances) {
        if !carriers.by_use() {
            return;
        }
        loop {
            let is_called = |(id, function): &(FunctionId, &Function)| {
                function.is_template()
                    && !function.in_class
                    && instances.names.contains(&function.name)
                    && instances.of_function(*id).is_none()
            };
            let called: Vec<FunctionId> = self
                .functions
                .iter()
                .filter(is_called)
                .map(|(id, _)| id)
                .collect();
            if called.is_empty() {
                return;
            }
            for id in called {
                instances.functions.insert(id, self.slice(id, carriers));
            }
            self.add_used_names(instances);
        }
    }

    fn add_used_names(&self, instances: &mut Instances) {
        let mut names: IndexSet<SmolStr> = IndexSet::new();
        let mut add = |range: TextRange, removed: &[TextRange]| {
            for (at, word) in self.words().of(range) {
                if !removed.iter().any(|range| range.contains_range(at)) {
                    names.insert(word);
                }
            }
        };
        for instantiator in instances.functions.values() {
            let function = &self.functions[instantiator.function];
            let mut hidden = instantiator.removed.clone();
            hidden.extend(
                instantiator
                    .regions
                    .iter()
                    .map(|region| self.constructs[self.regions[*region].construct].range),
            );
            add(
                TextRange::new(function.parameters.start(), function.range.end()),
                &hidden,
            );
        }
        for symbol in &instances.initializers {
            if let Some(declaration) = self.symbols[*symbol].declaration {
                add(declaration, &[]);
            }
        }
        for range in &instances.explicit {
            add(*range, &[]);
        }
        instances.names = names;
    }
}

/// Removes the statements of a body that do not matter.
struct Slicer<'a> {
    words: Words<'a>,
    carriers: &'a Carriers,
    /// Local variables whose use may lead to a kernel.
    objects: FxHashSet<SmolStr>,
    /// Target regions of the function.
    regions: &'a [TextRange],
    /// Regions stay, as the places where kernels are named.
    keeps_regions: bool,
    /// Names that kept statements use.
    needed: FxHashSet<SmolStr>,
    removed: Vec<TextRange>,
    returns: Vec<(TextRange, TextRange)>,
    /// Lambdas that stay as they are: they may be device code.
    closures: Vec<TextRange>,
    /// Inside a lambda or a function whose type its `return` statements decide.
    returns_decide_type: bool,
}

impl Slicer<'_> {
    /// Goes through the statements of a block.
    fn compound(&mut self, block: Node<'_>) {
        let mut end = block.range().start();
        for statement in block.children() {
            let range = statement.range();
            let decides_type =
                self.returns_decide_type && statement.kind() == Kind::ReturnStatement;
            if range.start() < end || decides_type || self.ends_another(range) {
                continue;
            }
            let region = self.region_at(range);
            if let Some(region) = region.filter(|region| region.contains_range(range)) {
                end = region.end();
                if !self.keeps_regions {
                    self.removed.push(region);
                }
            } else if (region.is_some() && self.keeps_regions) || self.matters(statement) {
                self.statement(statement);
            } else {
                self.removed.push(range);
            }
        }
    }

    /// Whether a statement may be the end of one that the tree did not know: brackets and a semicolon, or the arguments of a macro.
    fn ends_another(&self, statement: TextRange) -> bool {
        let source = self.words.source;
        let text = &source[statement];
        let before = source[..usize::from(statement.start())].trim_end();
        text.bytes().all(|byte| b");".contains(&byte))
            || text.starts_with('(')
                && before.ends_with(|c: char| c == '_' || c.is_ascii_alphanumeric())
    }

    /// The region that shares text with a statement.
    fn region_at(&self, range: TextRange) -> Option<TextRange> {
        let shares =
            |region: &&TextRange| region.intersect(range).is_some_and(|both| !both.is_empty());
        self.regions.iter().find(shares).copied()
    }

    fn carries(&self, word: &SmolStr) -> bool {
        self.carriers.contains(word) || self.objects.contains(word)
    }

    /// Whether a lambda is host code: it has a region, or leads to one.
    fn leads_on(&self, lambda: Node<'_>) -> bool {
        self.region_at(lambda.range()).is_some()
            || self
                .words
                .of(lambda.range())
                .any(|(_, word)| self.carries(&word))
    }

    /// Whether a lambda that leads on may be device code as well, as one that calls a form of its caller for one thread: it has no region itself, takes
    /// arguments, as the iterations of a loop, and refers to nothing of the host.
    fn may_be_called_on_device(&self, lambda: Node<'_>) -> bool {
        let of_kind = |kind: Kind| lambda.children().find(|child| child.kind() == kind);
        let captures = of_kind(Kind::LambdaCaptureSpecifier);
        let declarator = lambda.field(Field::Declarator);
        let parameters = declarator.and_then(|it| it.field(Field::Parameters));
        self.region_at(lambda.range()).is_none()
            && captures.is_some_and(|it| !it.text().contains('&'))
            && parameters.is_some_and(|it| !it.text().trim_matches(['(', ')', ' ']).is_empty())
    }

    fn matters(&self, statement: Node<'_>) -> bool {
        let has_carrier = || {
            self.words.of(statement.range()).any(|(at, word)| {
                let in_region = self.regions.iter().any(|region| region.contains_range(at));
                !in_region && self.carries(&word)
            })
        };
        match statement.kind() {
            Kind::Comment => false,
            Kind::UsingDeclaration | Kind::NamespaceAliasDefinition => true,
            Kind::Declaration => {
                declared_names(statement).any(|name| self.needed.contains(name)) || has_carrier()
            }
            Kind::TypeDefinition
            | Kind::AliasDeclaration
            | Kind::StructSpecifier
            | Kind::ClassSpecifier
            | Kind::UnionSpecifier
            | Kind::EnumSpecifier => statement
                .descendants()
                .filter(|node| matches!(node.kind(), Kind::TypeIdentifier | Kind::Identifier))
                .any(|node| self.needed.contains(node.text())),
            _ => (self.returns_decide_type && has_return(statement)) || has_carrier(),
        }
    }

    /// Goes through the blocks inside a statement that stays.
    fn statement(&mut self, statement: Node<'_>) {
        match statement.kind() {
            Kind::CompoundStatement => return self.compound(statement),
            Kind::ReturnStatement if self.returns_decide_type => {}
            Kind::ReturnStatement => {
                let value = statement
                    .children()
                    .find(|child| child.kind() != Kind::Comment);
                if let Some(value) = value {
                    self.returns.push((statement.range(), value.range()));
                }
            }
            Kind::CaseStatement => {
                let label = statement.field(Field::Value);
                let (kept, removed): (Vec<Node<'_>>, Vec<Node<'_>>) = statement
                    .children()
                    .filter(|child| Some(*child) != label)
                    .partition(|child| self.matters(*child));
                if kept.is_empty() {
                    // A label wants a statement behind it.
                    return self.removed.push(statement.range());
                }
                self.removed
                    .extend(removed.iter().map(|child| child.range()));
                for child in kept {
                    self.statement(child);
                }
                return;
            }
            _ => {}
        }
        let mut stack: Vec<Node<'_>> = statement.children().collect();
        while let Some(node) = stack.pop() {
            match node.kind() {
                Kind::LambdaExpression if !self.leads_on(node) => {
                    self.closures.push(node.range());
                    self.closures.extend(returned_lambdas(node));
                }
                Kind::LambdaExpression if self.may_be_called_on_device(node) => {
                    self.closures.push(node.range());
                    let inner = node.descendants().skip(1);
                    self.closures.extend(
                        inner
                            .filter(|inner| inner.kind() == Kind::LambdaExpression)
                            .map(|inner| inner.range()),
                    );
                }
                Kind::LambdaExpression => {
                    let outer = std::mem::replace(&mut self.returns_decide_type, true);
                    if let Some(body) = node.field(Field::Body) {
                        self.compound(body);
                    }
                    self.returns_decide_type = outer;
                }
                Kind::CompoundStatement => self.compound(node),
                Kind::CaseStatement | Kind::ReturnStatement => self.statement(node),
                _ => stack.extend(node.children()),
            }
        }
    }

    fn need_names_of(&mut self, range: TextRange) {
        self.needed
            .extend(self.words.of(range).map(|(_, word)| word));
    }

    fn need_kept_names(&mut self, body: TextRange) {
        let mut names: Vec<SmolStr> = Vec::new();
        for (at, word) in self.words.of(body) {
            let is_hidden = |range: &TextRange| range.contains_range(at);
            let in_region = self.regions.iter().any(is_hidden);
            if !in_region && !self.removed.iter().any(is_hidden) {
                names.push(word);
            }
        }
        self.needed.extend(names);
    }
}

/// Whether a statement has a `return` of the function or lambda that it is part of.
fn has_return(statement: Node<'_>) -> bool {
    let mut stack = vec![statement];
    while let Some(node) = stack.pop() {
        match node.kind() {
            Kind::ReturnStatement => return true,
            Kind::LambdaExpression => {}
            _ => stack.extend(node.children()),
        }
    }
    false
}

/// Whether the function of a body is declared `auto` or `decltype(auto)` and no more.
fn has_deduced_return_type(body: Node<'_>) -> bool {
    let function = body
        .ancestors()
        .find(|outer| outer.kind() == Kind::FunctionDefinition);
    let is_placeholder = |ty: Node<'_>| {
        match ty.kind() {
            // Perhaps with a constraint.
            Kind::PlaceholderTypeSpecifier => true,
            Kind::Auto | Kind::Decltype => {
                matches!(&*squeeze(ty.text()), "auto" | "decltype(auto)")
            }
            _ => false,
        }
    };
    function.is_some_and(|function| {
        function.field(Field::Type).is_some_and(is_placeholder)
            && function
                .field(Field::Declarator)
                .is_some_and(|declarator| !declarator.text().contains("->"))
    })
}

/// The lambdas that a lambda returns.
fn returned_lambdas(lambda: Node<'_>) -> impl Iterator<Item = TextRange> {
    let is_lambda = |node: &Node<'_>| node.kind() == Kind::LambdaExpression;
    let is_returned = |node: Node<'_>| {
        node.ancestors()
            .take_while(|outer| outer.kind() != Kind::CompoundStatement)
            .any(|outer| outer.kind() == Kind::ReturnStatement)
    };
    lambda
        .descendants()
        .filter(is_lambda)
        .filter(move |inner| *inner != lambda && is_returned(*inner))
        .map(|inner| inner.range())
}

/// `try` and its handlers, round the block of a function.
fn handlers_of(body: Node<'_>) -> Vec<TextRange> {
    let Some(parent) = body
        .parent()
        .filter(|parent| parent.kind() == Kind::TryStatement)
    else {
        return Vec::new();
    };
    parent
        .tokens_and_children()
        .filter(|child| child.token() == "try" || child.kind() == Kind::CatchClause)
        .map(|child| child.range())
        .collect()
}

/// Identifiers of a piece of text, members of objects included, and what macros among them expand to.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) source: &'a str,
    pub(super) macros: &'a MacroTable,
}

impl<'a> Words<'a> {
    pub(super) fn of(
        self,
        range: TextRange,
    ) -> impl Iterator<Item = (TextRange, SmolStr)> + use<'a> {
        lex::significant_tokens(self.source, range)
            .filter(|token| token.kind == lex::TokenKind::Identifier)
            .flat_map(move |token| {
                let word = token.text(self.source);
                let hidden = self.macros.names_used_by(word, token.range.start());
                std::iter::once(SmolStr::from(word))
                    .chain(hidden)
                    .map(move |name| (token.range, name))
            })
    }
}

/// Names that a declaration statement declares.
pub(super) fn declared_names<'t>(declaration: Node<'t>) -> impl Iterator<Item = &'t str> {
    declaration
        .fields(Field::Declarator)
        .into_iter()
        .flat_map(|declarator| match declared_name(declarator) {
            Some(name) => vec![name.text()],
            // A structured binding.
            None => declarator
                .descendants()
                .filter(|node| node.kind() == Kind::Identifier)
                .map(|node| node.text())
                .collect(),
        })
}
