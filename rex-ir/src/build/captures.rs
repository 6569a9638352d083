//! Target regions: which variables they need, and how each reaches the kernel.

use indexmap::{IndexMap, IndexSet};
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;
use smol_str::SmolStr;

use super::Builder;
use super::implicit::ImplicitRules;
use super::scopes::last_component;
use crate::changes;
use crate::item::{DeviceStorage, FunctionId};
use crate::map::{MapItem, MapKind, MapModifiers, PathStep, StepKind};
use crate::namer;
use crate::region::{
    Call, Capture, CapturedObject, ConstructId, DataConstruct, DataConstructKind, Region,
    SharingAttribute, Transport,
};
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Category, Meaning, RecordId, TypeId, TypeKind};

/// What the body of a region was seen to use.
#[derive(Default)]
struct Uses {
    /// Objects in order of first appearance, with that place.
    objects: IndexMap<CapturedObject, Use>,
    declarations: IndexSet<(u32, u32)>,
    qualified_uses: Vec<(TextRange, SymbolId)>,
    member_uses: Vec<TextRange>,
    this_uses: Vec<TextRange>,
    /// Members of the own object that clauses turn into variables.
    member_variables: Vec<SymbolId>,
    calls: Vec<Call>,
    globals: IndexSet<SymbolId>,
}

#[derive(Clone, Copy)]
struct Use {
    at: TextRange,
    written: bool,
    explicit: bool,
    /// It may act as a function: it is called or passed on.
    called: bool,
}

/// A construct that was read.
enum Built {
    Region(Box<Region>),
    Data(DataConstruct),
}

/// A name in a piece of device code.
#[derive(Clone, Copy)]
struct Name<'t> {
    text: &'t str,
    at: TextRange,
    written: bool,
    called: bool,
}

impl<'u> Builder<'u> {
    /// Every target region and data construct.
    pub(super) fn read_regions(&mut self) {
        let ids: Vec<ConstructId> = self.constructs.iter().map(|(id, _)| id).collect();
        for id in ids {
            let leaf = self.constructs[id].leaves.first().copied();
            let range = self.constructs[id].range;
            let Some(leaf) = leaf.filter(|leaf| is_device_leaf(*leaf)) else {
                continue;
            };
            let Some(function) = self.innermost_function(range) else {
                self.report(
                    Code::DamagedConstruct,
                    super::loops::first_line(self.source, range),
                    "this construct is not inside a function that could be read",
                );
                continue;
            };
            if self.is_damaged(id) {
                continue;
            }
            // A construct with something unsupported in it stays on the host.
            let mut diagnostics = std::mem::take(&mut self.diagnostics);
            self.check_clauses(id);
            let built = match leaf {
                Leaf::Target => self.read_region(id, function),
                Leaf::TargetData => self.read_data_construct(id, function, DataConstructKind::Data),
                Leaf::TargetEnterData => {
                    self.read_data_construct(id, function, DataConstructKind::EnterData)
                }
                Leaf::TargetExitData => {
                    self.read_data_construct(id, function, DataConstructKind::ExitData)
                }
                _ => self.read_data_construct(id, function, DataConstructKind::Update),
            };
            let is_limited = self
                .diagnostics
                .iter()
                .any(|found| found.severity == Severity::Error && found.code.is_limit());
            match built {
                Some(Built::Region(region)) if !is_limited => {
                    self.regions.alloc(*region);
                }
                Some(Built::Data(data)) if !is_limited => {
                    self.data_constructs.alloc(data);
                }
                _ => {}
            }
            diagnostics.extend(std::mem::take(&mut self.diagnostics));
            self.diagnostics = diagnostics;
        }
        self.read_functions();
    }

    fn innermost_function(&self, range: TextRange) -> Option<FunctionId> {
        self.functions
            .iter()
            .filter(|(_, function)| function.body.contains_range(range))
            .min_by_key(|(_, function)| function.range.len())
            .map(|(id, _)| id)
    }

    /// Whether the syntax tree has an error inside the construct's statement.
    fn is_damaged(&mut self, id: ConstructId) -> bool {
        let construct = &self.constructs[id];
        if construct.leaves.first() != Some(&Leaf::Target) {
            return false;
        }
        let Some(statement) = construct.statement else {
            return false;
        };
        let unit = self.unit;
        let node = unit.tree.root().smallest_at(statement);
        let error = node.descendants().find(|inner| {
            statement.contains_range(inner.range())
                && (inner.is_error()
                    || (inner.is_missing()
                        && inner.text().is_empty()
                        && !self.is_after_call(*inner)))
        });
        let Some(error) = error else { return false };
        let pragma = unit.directives[construct.directives[0]].range;
        if self.is_declaration(statement) {
            let name = unit.directives[construct.directives[0]].name();
            let diagnostic = Diagnostic::new(
                Code::MissingStatement,
                self.at(super::loops::first_line(self.source, statement)),
                "a declaration is no statement that a directive applies to",
            )
            .with_secondary(self.at(pragma), format!("`{name}` needs a statement"))
            .with_help("put the declaration and what uses it in braces");
            self.diagnostics.push(diagnostic);
            return true;
        }
        let diagnostic = Diagnostic::new(
            Code::DamagedConstruct,
            self.at(super::loops::first_line(self.source, error.range())),
            "this part of a target region could not be read as C or C++",
        )
        .with_secondary(self.at(pragma), "in this region, which stays on the host")
        .with_help("expand the macro or rewrite the statement in plain syntax");
        self.diagnostics.push(diagnostic);
        true
    }

    /// Whether the text of a damaged statement is a declaration, where the grammar wants none.
    fn is_declaration(&self, statement: TextRange) -> bool {
        let rest = &self.source[usize::from(statement.start())..];
        let text = rest.split_inclusive(';').next().unwrap_or(rest);
        let tree = rex_syntax::cst::parse_fragment(text, self.unit.language);
        let mut inner = tree.root().descendants();
        let is_whole = !inner.any(|node| node.is_error() || node.is_missing());
        let mut items = tree.root().children();
        is_whole
            && items
                .next()
                .is_some_and(|item| item.kind() == Kind::Declaration)
    }

    /// A macro call without `;` is a missing semicolon to the grammar, and fine.
    fn is_after_call(&self, missing: Node<'_>) -> bool {
        let before = &self.source[..usize::from(missing.range().start())];
        before.trim_end().ends_with([')', '}'])
    }

    fn read_data_construct(
        &mut self,
        construct: ConstructId,
        function: FunctionId,
        kind: DataConstructKind,
    ) -> Option<Built> {
        let unit = self.unit;
        let mut maps = Vec::new();
        for idx in self.constructs[construct].directives.clone() {
            maps.extend(self.read_map_clauses(&unit.directives[idx].clauses));
        }
        Some(Built::Data(DataConstruct {
            construct,
            kind,
            function,
            maps,
        }))
    }

    fn read_region(&mut self, construct: ConstructId, function: FunctionId) -> Option<Built> {
        let unit = self.unit;
        let directives = self.constructs[construct].directives.clone();
        let statement = self.constructs[construct].statement?;
        let mut maps = Vec::new();
        for idx in &directives {
            maps.extend(self.read_map_clauses(&unit.directives[*idx].clauses));
        }
        let rules = self.implicit_rules(construct);
        self.add_reduction_sections(construct, &mut maps);

        let mut uses = Uses::default();
        for item in &maps {
            if let CapturedObject::Variable(symbol) = item.root
                && self.symbols[symbol].kind == SymbolKind::Local
                && self.symbols[symbol].spelled.is_some()
            {
                uses.member_variables.push(symbol);
            }
            uses.add(
                item.root,
                Use {
                    at: item.at,
                    // A section of what a pointer points to leaves the pointer alone.
                    written: !self.holds_pointer(item.root),
                    explicit: true,
                    called: false,
                },
            );
        }
        for sharing in self.constructs[construct].sharing.clone() {
            if matches!(sharing.attribute, SharingAttribute::Shared) {
                continue;
            }
            let written = !matches!(sharing.attribute, SharingAttribute::Firstprivate);
            uses.add(
                CapturedObject::Variable(sharing.symbol),
                Use {
                    at: sharing.at,
                    written,
                    explicit: true,
                    called: false,
                },
            );
        }
        let node = unit.tree.root().smallest_at(statement);
        self.collect(node, statement, construct, &mut uses);
        for idx in &directives {
            for clause in &unit.directives[*idx].clauses {
                let expression = match clause.name {
                    ClauseName::Schedule | ClauseName::DistSchedule => clause.expression(),
                    ClauseName::Linear => self.linear_step(clause),
                    _ => None,
                };
                if let Some(expression) = expression {
                    self.collect_text(expression, false, statement, construct, &mut uses);
                }
            }
        }

        self.use_types(statement, construct, &mut uses);
        self.add_used_members(statement, &uses, &mut maps);
        let mut captures = Vec::new();
        for (object, seen) in std::mem::take(&mut uses.objects) {
            if let Some(capture) = self.capture(object, seen, construct, &maps, &rules) {
                captures.push(capture);
            }
        }
        let deduced = self.deduced_variables(&captures);
        self.add_local_usings(node, statement, &mut uses);
        uses.declarations.sort();
        let local_declarations = uses
            .declarations
            .iter()
            .map(|(start, end)| TextRange::new((*start).into(), (*end).into()))
            .collect();
        uses.member_uses.sort_by_key(|range| range.start());
        uses.this_uses.sort_by_key(|range| range.start());
        Some(Built::Region(Box::new(Region {
            construct,
            function,
            maps,
            defaultmaps: rules.defaultmaps,
            allocators: self.allocators_of(construct),
            captures,
            local_declarations,
            deduced,
            qualified_uses: uses.qualified_uses,
            member_uses: uses.member_uses,
            this_uses: uses.this_uses,
            calls: uses.calls,
            device_globals: uses.globals.into_iter().collect(),
        })))
    }

    /// The captured variables whose types are parameters of the kernel for that reason.
    fn deduced_variables(&self, captures: &[Capture]) -> Vec<SymbolId> {
        captures
            .iter()
            .filter_map(|capture| match capture.object {
                CapturedObject::Variable(symbol) if capture.ty != self.symbols[symbol].ty => {
                    Some(symbol)
                }
                _ => None,
            })
            .collect()
    }

    /// The kernel declares every captured variable again: it needs the local types, constants and extents in their types.
    fn use_types(&mut self, statement: TextRange, construct: ConstructId, uses: &mut Uses) {
        let mut next = 0;
        while let Some((object, seen)) = uses
            .objects
            .get_index(next)
            .map(|(object, seen)| (*object, *seen))
        {
            next += 1;
            let CapturedObject::Variable(symbol) = object else {
                continue;
            };
            for extent in self.named_extents(symbol) {
                uses.add(
                    extent,
                    Use {
                        at: seen.at,
                        written: false,
                        explicit: false,
                        called: false,
                    },
                );
            }
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
                if text.contains(' ') {
                    self.use_tag(&text, seen.at, statement, construct, uses);
                }
            }
        }
    }

    /// The spellings and extents in a type.
    fn type_words(&self, ty: TypeId, words: &mut Vec<SmolStr>) {
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

    /// Members that a region uses are mapped along with those that its clauses map.
    fn add_used_members(&mut self, statement: TextRange, uses: &Uses, maps: &mut Vec<MapItem>) {
        let member = |step: Option<&PathStep>| match &step?.kind {
            StepKind::Member(name) => Some(name.clone()),
            _ => None,
        };
        // A member of the object, and the member of that one, if only that is mapped.
        let of_this: Vec<(Option<SmolStr>, Option<SmolStr>)> = maps
            .iter()
            .filter(|item| item.root == CapturedObject::This && !item.steps.is_empty())
            .map(|item| (member(item.steps.get(1)), member(item.steps.get(2))))
            .collect();
        let maps_object = of_this.iter().any(|(member, _)| member.is_none());
        if of_this.is_empty() || maps_object {
            return;
        }
        let Some(root_ty) = maps
            .iter()
            .find(|item| item.root == CapturedObject::This)
            .map(|item| item.root_ty)
        else {
            return;
        };
        let Some(class) = self.types.element(root_ty) else {
            return;
        };
        let mut used: IndexMap<SmolStr, TextRange> = IndexMap::new();
        let mut whole = None;
        let mut members: Vec<TextRange> = uses.member_uses.clone();
        for at in uses.this_uses.iter().copied() {
            match member_of_this(self.source, at) {
                Some(member) => members.push(member),
                None => whole = Some(at),
            }
        }
        for at in members {
            let name = SmolStr::from(self.text(at));
            let inner = inner_member(self.source, at).map(|inner| self.text(inner));
            let is_mapped = of_this.iter().any(|(member, part)| {
                member.as_ref() == Some(&name)
                    && part
                        .as_ref()
                        .is_none_or(|part| Some(part.as_str()) == inner)
            });
            if !is_mapped && statement.contains_range(at) {
                used.entry(name).or_insert(at);
            }
        }
        let object = PathStep {
            kind: StepKind::Deref,
            ty: class,
            follows_pointer: true,
        };
        let item = |at: TextRange, steps: Vec<PathStep>| MapItem {
            at,
            kind: MapKind::Tofrom,
            modifiers: MapModifiers::empty(),
            mapper: None,
            iterators: Vec::new(),
            root: CapturedObject::This,
            root_ty,
            steps,
        };
        for (name, at) in used {
            let is_static = self
                .types
                .field(class, &name)
                .is_some_and(|field| field.is_static);
            match self.member_type(class, &name) {
                Some(_) if is_static => {}
                Some(ty) => {
                    let member = PathStep {
                        kind: StepKind::Member(name),
                        ty,
                        follows_pointer: false,
                    };
                    maps.push(item(at, vec![object.clone(), member]));
                }
                // A member function may use every member.
                None => whole = Some(at),
            }
        }
        if let Some(at) = whole {
            maps.push(item(at, vec![object]));
        }
    }

    /// A reduction over a section maps that section.
    fn add_reduction_sections(&mut self, construct: ConstructId, maps: &mut Vec<MapItem>) {
        let unit = self.unit;
        for idx in self.constructs[construct].directives.clone() {
            if !unit.directives[idx].has(Leaf::Target) {
                continue;
            }
            let reductions = unit.directives[idx].clauses.iter().filter(|clause| {
                matches!(clause.name, ClauseName::Reduction | ClauseName::InReduction)
            });
            for clause in reductions {
                for item in clause.items() {
                    let Some((root, root_ty, steps)) =
                        self.read_item_path(&item.locator, item.range)
                    else {
                        continue;
                    };
                    if !steps.is_empty() && !maps.iter().any(|map| map.root == root) {
                        maps.push(MapItem {
                            at: item.range,
                            kind: MapKind::Tofrom,
                            modifiers: MapModifiers::empty(),
                            mapper: None,
                            iterators: Vec::new(),
                            root,
                            root_ty,
                            steps,
                        });
                    }
                }
            }
        }
    }

    /// Walks device code and records every name that comes from outside `statement`.
    fn collect(
        &mut self,
        root: Node<'u>,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let unit = self.unit;
        let nodes: Vec<Node<'u>> = root
            .descendants()
            .filter(|node| statement.contains_range(node.range()))
            .collect();
        for node in nodes {
            match node.kind() {
                Kind::Identifier | Kind::FieldIdentifier
                    if node.kind() == Kind::Identifier || is_member_pointer(node) =>
                {
                    let name = Name {
                        text: node.text(),
                        at: node.range(),
                        written: self.is_written(node),
                        called: is_callee(node),
                    };
                    if let Some(whole) = qualified_around(node) {
                        self.use_qualified(name, whole, construct, uses);
                    } else {
                        self.use_name(name, statement, construct, uses, 0);
                    }
                }
                Kind::TypeIdentifier => {
                    let name = Name {
                        text: node.text(),
                        at: node.range(),
                        written: false,
                        called: false,
                    };
                    self.use_name(name, statement, construct, uses, 0);
                }
                Kind::StructSpecifier
                | Kind::UnionSpecifier
                | Kind::ClassSpecifier
                | Kind::EnumSpecifier => {
                    if let Some(tag) = node.field(Field::Name)
                        && node.field(Field::Body).is_none()
                    {
                        let text = super::types::squeeze(node.text());
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
        for directive in &unit.directives {
            if statement.contains_range(directive.range) {
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
                            let written = !matches!(
                                clause.name,
                                ClauseName::Firstprivate | ClauseName::Shared
                            );
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
    }

    fn collect_text(
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
    }

    /// `A::b`: never a local variable.
    fn use_qualified(
        &mut self,
        name: Name<'_>,
        whole: Node<'u>,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        match self.resolve_qualified(whole.text(), name.at) {
            Some(symbol)
                if self.symbols[symbol].kind == SymbolKind::Global
                    && self.global_storage(symbol).is_some() =>
            {
                self.use_global(symbol, uses)
            }
            Some(symbol) if self.constant_fields.contains(&symbol) => {}
            Some(symbol) if self.symbols[symbol].kind.is_variable() => {
                if self.is_private_inside(symbol, name.at, construct) {
                    return;
                }
                uses.qualified_uses.push((whole.range(), symbol));
                let seen = Use {
                    at: whole.range(),
                    written: name.written || self.is_written(whole),
                    explicit: false,
                    called: false,
                };
                uses.add(CapturedObject::Variable(symbol), seen);
            }
            _ if name.called => uses.calls.push(Call::of_function(name.text, name.at)),
            _ => {}
        }
    }

    /// The declaration behind a qualified name.
    pub(super) fn find_qualified(&self, text: &str, at: TextRange) -> Option<SymbolId> {
        let plain = super::scopes::without_arguments(text);
        let (qualifier, name) = plain.rsplit_once("::")?;
        let class = self
            .scopes
            .resolve_type(&self.symbols, last_component(qualifier), at)
            .and_then(|class| self.types.record(self.symbols[class].ty));
        if let Some(class) = class {
            return self.static_fields.get(&(class, name.into())).copied();
        }
        let candidates = self.scopes.scope(self.scopes.root()).names.get(name)?;
        let is_named = |symbol: &&SymbolId| {
            let of_symbol = &self.symbols[**symbol].qualifier;
            of_symbol.trim_end_matches("::").ends_with(qualifier)
        };
        let exact = candidates.iter().rev().find(is_named);
        exact.or(candidates.last()).copied()
    }

    /// Whether a name that is called, without an object, is a member function of the object that surrounds a construct.
    fn calls_own_member(&mut self, name: &str, construct: ConstructId) -> bool {
        let at = self.constructs[construct].range;
        let is_member = self.innermost_function(at).is_some_and(|function| {
            let membership = &self.functions[function].membership;
            membership.as_ref().is_some_and(|of| !of.is_static)
        });
        if !is_member {
            return false;
        }
        let class = self
            .this_type(at)
            .and_then(|class| self.types.record(class));
        class.is_some_and(|class| self.has_object_method(class, name, at, 0))
    }

    fn has_object_method(
        &mut self,
        class: RecordId,
        name: &str,
        at: TextRange,
        depth: u32,
    ) -> bool {
        if let Some(method) = self.types.records[class].method(name) {
            return !method.is_static;
        }
        let bases = self.types.records[class].bases.clone();
        depth < 32
            && bases.iter().any(|base| {
                let base = self.named_type(&super::scopes::without_arguments(base), at);
                self.types
                    .record(base)
                    .is_some_and(|base| self.has_object_method(base, name, at, depth + 1))
            })
    }

    /// A member that is a variable in this region; `at` is its name, `whole` what stands for it.
    fn use_member_variable(&self, at: TextRange, whole: TextRange, uses: &mut Uses) -> bool {
        let name = self.text(at);
        let known = uses.member_variables.iter().copied();
        let Some(symbol) = known
            .into_iter()
            .find(|symbol| self.symbols[*symbol].name == name)
        else {
            return false;
        };
        uses.qualified_uses.push((whole, symbol));
        let seen = Use {
            at: whole,
            written: true,
            explicit: true,
            called: false,
        };
        uses.add(CapturedObject::Variable(symbol), seen);
        true
    }

    fn use_tag(
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

    fn use_name(
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
            for inner in self.macro_names(name.text, name.at) {
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
            if name.called {
                uses.calls.push(Call::of_function(name.text, name.at));
            } else if let Some(symbol) = self.header_variable(name.text)
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
            SymbolKind::StaticField if self.constant_fields.contains(&symbol) => {}
            SymbolKind::Local | SymbolKind::StaticLocal
                if self.is_constant(symbol)
                    && !uses.objects.contains_key(&CapturedObject::Variable(symbol)) =>
            {
                self.use_local_declaration(symbol, statement, construct, uses);
            }
            SymbolKind::Enumerator | SymbolKind::Type => {
                self.use_local_declaration(symbol, statement, construct, uses);
            }
            kind if kind.is_variable() => {
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

    /// A type, enumerator or constant of the enclosing function: its declaration is copied, with what it needs.
    fn use_local_declaration(
        &mut self,
        symbol: SymbolId,
        statement: TextRange,
        construct: ConstructId,
        uses: &mut Uses,
    ) {
        let Some(declaration) = self.symbols[symbol].declaration else {
            return;
        };
        let Some(function) = self.innermost_function(self.constructs[construct].range) else {
            return;
        };
        let is_local = self.functions[function].body.contains_range(declaration);
        if !is_local || statement.contains_range(declaration) {
            return;
        }
        if !uses
            .declarations
            .insert((declaration.start().into(), declaration.end().into()))
        {
            return;
        }
        for at in lex::identifiers(self.source, declaration).collect::<Vec<_>>() {
            let text = self.text(at);
            if let Some(inner) = self.scopes.resolve(&self.symbols, text, at)
                && inner != symbol
                && matches!(
                    self.symbols[inner].kind,
                    SymbolKind::Type
                        | SymbolKind::Enumerator
                        | SymbolKind::Local
                        | SymbolKind::StaticLocal
                )
            {
                self.use_local_declaration(inner, statement, construct, uses);
            }
        }
        let text = super::types::squeeze(self.text(declaration));
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

    /// What the blocks around a region say about names of namespaces: `using namespace a;`, `using a::b;`, `namespace b = a;`.
    fn add_local_usings(&self, node: Node<'u>, statement: TextRange, uses: &mut Uses) {
        let blocks = node
            .ancestors()
            .filter(|outer| outer.kind() == Kind::CompoundStatement);
        let found = blocks
            .flat_map(|block| block.children())
            .filter(|child| child.range().end() <= statement.start());
        for child in found {
            let name = match child.kind() {
                Kind::UsingDeclaration => child.children().last(),
                Kind::NamespaceAliasDefinition => child.field(Field::Name),
                _ => continue,
            };
            let Some(name) = name else { continue };
            let name = super::scopes::last_component(name.text());
            let is_directive = child
                .tokens_and_children()
                .any(|token| token.token() == "namespace")
                && child.kind() == Kind::UsingDeclaration;
            let is_named = || {
                lex::significant_tokens(self.source, statement)
                    .any(|token| token.text(self.source) == name)
            };
            if is_directive || is_named() {
                let range = child.range();
                uses.declarations
                    .insert((range.start().into(), range.end().into()));
            }
        }
    }

    fn use_global(&mut self, symbol: SymbolId, uses: &mut Uses) {
        uses.globals.insert(symbol);
    }

    /// How a file-scope variable lives on the device without a map, if it does.
    fn global_storage(&self, symbol: SymbolId) -> Option<DeviceStorage> {
        match self.declare_target.get(&symbol) {
            // Mapped like any other variable.
            Some(DeviceStorage::Link) => return None,
            Some(storage) => return Some(*storage),
            None => {}
        }
        let found = &self.symbols[symbol];
        if self.is_constant(symbol) {
            return Some(DeviceStorage::Constant);
        }
        // A table of constants.
        let element = self.types.innermost_element(found.ty);
        let constant_table = self.types.get(element).is_const
            && matches!(
                self.types.get(self.types.desugar(found.ty)).kind,
                TypeKind::Array { .. }
            )
            && found.initializer.is_some_and(|initializer| {
                self.is_constant_text(initializer, found.declared_at.unwrap_or(initializer))
            });
        constant_table.then_some(DeviceStorage::Constant)
    }

    /// Whether a construct inside the region gives each thread its own copy at this place.
    fn is_private_inside(&self, symbol: SymbolId, at: TextRange, region: ConstructId) -> bool {
        let whole = self.constructs[region].range;
        self.constructs.iter().any(|(id, construct)| {
            let contains_use = |statement: TextRange| statement.contains_range(at);
            if !construct.statement.is_some_and(contains_use)
                || !whole.contains_range(construct.range)
            {
                return false;
            }
            let listed = id != region
                && construct.sharing.iter().any(|sharing| {
                    sharing.symbol == symbol && sharing.attribute == SharingAttribute::Private
                });
            let name = &self.symbols[symbol].name;
            let iterates = construct.nest.is_some_and(|nest| {
                self.nests[nest].loops.iter().any(|canonical| {
                    canonical.variable == *name && canonical.range.contains_range(at)
                })
            });
            listed || iterates
        })
    }

    /// Whether it is a pointer, whose elements are other objects.
    fn holds_pointer(&self, object: CapturedObject) -> bool {
        let CapturedObject::Variable(symbol) = object else {
            return true;
        };
        self.is_pointer(self.symbols[symbol].ty)
    }

    /// Whether a use may change the variable.
    pub(super) fn is_written(&self, node: Node<'u>) -> bool {
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
        changes::may_change(node, &variable, &self.functions, self.unit.language)
    }

    fn capture(
        &mut self,
        object: CapturedObject,
        seen: Use,
        construct: ConstructId,
        maps: &[MapItem],
        rules: &ImplicitRules,
    ) -> Option<Capture> {
        let ty = match object {
            CapturedObject::Variable(symbol) => self.captured_type(symbol),
            CapturedObject::This => {
                let class = self.this_type(self.constructs[construct].range)?;
                self.types.plain(TypeKind::Pointer(class))
            }
            CapturedObject::Extent(..) => self.types.named(
                "int64_t",
                Meaning::Integer {
                    bits: 64,
                    signed: true,
                },
            ),
        };
        let transport = match object {
            CapturedObject::Extent(..) => Some(Transport::Literal),
            _ => self.transport(object, ty, construct, maps, rules, seen.at),
        };
        let Some(transport) = transport else {
            self.report_untyped(object, ty, seen.at);
            return None;
        };
        let is_updated_in_turn = match object {
            CapturedObject::Variable(symbol) => self.is_updated_in_turn(symbol, construct),
            CapturedObject::This | CapturedObject::Extent(..) => false,
        };
        // Threads that update it in turn update one object, which all of them see.
        let transport = match object {
            CapturedObject::Variable(symbol)
                if transport == Transport::Literal
                    && seen.written
                    && is_updated_in_turn
                    && matches!(
                        self.constructs[construct].private_on(symbol),
                        None | Some(Leaf::Target)
                    ) =>
            {
                Transport::Copy
            }
            _ => transport,
        };
        Some(Capture {
            object,
            ty,
            transport,
            is_implicit: !seen.explicit,
            may_be_written: seen.written && object != CapturedObject::This,
            is_updated_in_turn,
            may_be_called: seen.called,
            has_local_type: self.is_local_type(ty, construct),
            at: seen.at,
        })
    }

    /// The type of a captured variable. One that only the compiler knows is a parameter of the kernel.
    fn captured_type(&mut self, symbol: SymbolId) -> TypeId {
        let found = &self.symbols[symbol];
        let is_of_function = matches!(
            found.kind,
            SymbolKind::Local | SymbolKind::StaticLocal | SymbolKind::Parameter
        );
        let can_be_deduced = is_of_function
            && found.spelled.is_none()
            && found.declared_at.is_some()
            && self.unit.language == rex_syntax::source::Language::Cxx
            && self.mentions_auto(found.ty);
        if !can_be_deduced {
            return found.ty;
        }
        let name = namer::deduced_type(&found.name);
        self.types.named(name, Meaning::Dependent)
    }

    /// What is known of a variable whose type only the compiler knows: `auto *p` is a pointer, and so is `auto p` whose elements are mapped.
    fn deduced_category(&self, symbol: SymbolId, maps: &[&MapItem]) -> Category {
        let ty = self.symbols[symbol].ty;
        let is_reference = matches!(self.types.get(ty).kind, TypeKind::Reference(_));
        let has_elements = maps.iter().any(|item| {
            let first = item.steps.first().map(|step| &step.kind);
            matches!(
                first,
                Some(StepKind::Section(_) | StepKind::Index(_) | StepKind::Deref)
            )
        });
        match self.types.category(ty) {
            Category::Unknown if has_elements && !is_reference => Category::Pointer,
            Category::Unknown => Category::Dependent,
            category => category,
        }
    }

    /// Whether an `atomic` or `critical` construct of a region names a variable.
    fn is_updated_in_turn(&self, symbol: SymbolId, construct: ConstructId) -> bool {
        let region = self.constructs[construct].range;
        let name = &self.symbols[symbol].name;
        self.constructs.iter().any(|(_, inner)| {
            region.contains_range(inner.range)
                && matches!(inner.leaves.first(), Some(Leaf::Atomic | Leaf::Critical))
                && lex::identifiers(self.source, inner.range).any(|at| {
                    self.text(at) == name.as_str()
                        && self.scopes.resolve(&self.symbols, name, at) == Some(symbol)
                })
        })
    }

    /// Whether a type has no name outside the function or class around a construct.
    fn is_local_type(&self, ty: TypeId, construct: ConstructId) -> bool {
        let at = self.constructs[construct].range;
        let function = self.innermost_function(at);
        let inside = |declaration: TextRange| {
            function.is_some_and(|function| {
                let function = &self.functions[function];
                let class = function
                    .membership
                    .as_ref()
                    .and_then(|membership| self.types.records[membership.record?].body);
                function.body.contains_range(declaration)
                    || class.is_some_and(|class| class.contains_range(declaration))
            })
        };
        let mut words = Vec::new();
        self.type_words(ty, &mut words);
        words.iter().any(|text| {
            let whole = TextRange::up_to(rex_syntax::TextSize::of(text.as_str()));
            let is_local = |name: &str| {
                let named = self.scopes.resolve_type(&self.symbols, name, at);
                let enumerator = || {
                    let found = self.scopes.resolve(&self.symbols, name, at)?;
                    (self.symbols[found].kind == SymbolKind::Enumerator).then_some(found)
                };
                named
                    .or_else(enumerator)
                    .and_then(|id| self.symbols[id].declaration)
                    .is_some_and(inside)
            };
            is_local(text)
                || lex::identifiers(text, whole).any(|name| is_local(&text[name]))
                || text.contains(namer::UNTAGGED_PREFIX)
        })
    }

    fn transport(
        &mut self,
        object: CapturedObject,
        ty: TypeId,
        construct: ConstructId,
        maps: &[MapItem],
        rules: &ImplicitRules,
        at: TextRange,
    ) -> Option<Transport> {
        let category = match self.types.category(ty) {
            Category::Unknown if self.is_nameable(ty) => Category::Dependent,
            category => category,
        };
        let mine: Vec<&MapItem> = maps.iter().filter(|item| item.root == object).collect();
        let category = match object {
            CapturedObject::Variable(symbol) if ty != self.symbols[symbol].ty => {
                self.deduced_category(symbol, &mine)
            }
            _ => category,
        };
        if mine.iter().any(|item| item.kind == MapKind::IsDevicePtr) {
            let is_array = matches!(
                self.types.get(self.types.object_type(ty)).kind,
                TypeKind::Array { .. }
            );
            return Some(if is_array {
                Transport::DeviceAddress
            } else {
                Transport::DevicePointer
            });
        }
        if let Some(item) = mine.iter().find(|item| item.kind == MapKind::HasDeviceAddr) {
            // What a section of a pointer has an address of is the pointer's target.
            let through = item.steps.first().is_some_and(|step| step.follows_pointer);
            return Some(match through {
                true => Transport::DevicePointer,
                false => Transport::DeviceAddress,
            });
        }
        if object == CapturedObject::This {
            return Some(Transport::Pointee);
        }
        if !mine.is_empty() {
            let whole = mine.iter().any(|item| item.steps.is_empty());
            return match category {
                Category::Pointer if whole => Some(Transport::Storage),
                Category::Pointer => Some(Transport::Pointee),
                Category::Unknown if whole => Some(Transport::Storage),
                Category::Unknown | Category::Function => None,
                _ => Some(Transport::Storage),
            };
        }
        let CapturedObject::Variable(symbol) = object else {
            return None;
        };
        if let Some(transport) = self.listed_transport(symbol, category, construct) {
            return Some(transport);
        }
        self.implicit_transport(object, category, construct, rules, at)
    }

    /// Whether the compiler can tell what rex does not know of a type: its name can be used in C++.
    fn is_nameable(&self, ty: TypeId) -> bool {
        self.unit.language == rex_syntax::source::Language::Cxx
            && matches!(
                self.types.get(self.types.object_type(ty)).kind,
                TypeKind::Named {
                    meaning: Meaning::Unknown | Meaning::Auto,
                    ..
                }
            )
    }

    /// What the data-sharing clauses of the region's own construct say.
    fn listed_transport(
        &self,
        symbol: SymbolId,
        category: Category,
        construct: ConstructId,
    ) -> Option<Transport> {
        let construct = &self.constructs[construct];
        let mut result = None;
        for sharing in construct
            .sharing
            .iter()
            .filter(|sharing| sharing.symbol == symbol)
        {
            let found = match (&sharing.attribute, sharing.is_on_target) {
                (SharingAttribute::Private, true) => Transport::Private,
                (SharingAttribute::Firstprivate, true) => match category {
                    Category::Scalar | Category::Pointer => Transport::Literal,
                    Category::Dependent => Transport::CopyByCategory,
                    _ => Transport::Copy,
                },
                (
                    SharingAttribute::Reduction { .. }
                    | SharingAttribute::Lastprivate
                    | SharingAttribute::Linear(_),
                    true,
                ) => match category {
                    Category::Pointer => Transport::Pointee,
                    _ => Transport::Storage,
                },
                (SharingAttribute::Private, false) => Transport::Private,
                (SharingAttribute::Shared | SharingAttribute::Copyprivate, _) | (_, false) => {
                    continue;
                }
            };
            // `firstprivate` and `lastprivate` together: the storage is needed.
            if result != Some(Transport::Storage) {
                result = Some(found);
            }
        }
        result
    }

    fn report_untyped(&mut self, object: CapturedObject, ty: TypeId, at: TextRange) {
        let name = match object {
            CapturedObject::Variable(symbol) => self.symbols[symbol].name.clone(),
            CapturedObject::This => SmolStr::new_static("this"),
            CapturedObject::Extent(symbol, dimension) => {
                namer::extent(&self.symbols[symbol].name, dimension)
            }
        };
        let spelled = self.types.spell(ty);
        let mut diagnostic = Diagnostic::new(
            Code::UnknownType,
            self.at(at),
            format!("the type of `{name}` is not known"),
        )
        .with_note(format!("it is declared as `{spelled}`"))
        .with_help(format!(
            "declare `{name}` with a type that is written out in this file"
        ));
        if let CapturedObject::Variable(symbol) = object
            && let Some(declared) = self.symbols[symbol].declared_at
        {
            diagnostic = diagnostic.with_secondary(self.at(declared), "declared here");
        }
        self.diagnostics.push(diagnostic);
    }

    /// Calls and file-scope variables of every function, for the device closure.
    fn read_functions(&mut self) {
        let unit = self.unit;
        if self.regions.is_empty() && self.device_functions.is_empty() {
            return;
        }
        let ids: Vec<FunctionId> = self.functions.iter().map(|(id, _)| id).collect();
        for id in ids {
            let node = unit.tree.root().smallest_at(self.functions[id].body);
            let mut calls = Vec::new();
            let mut globals: IndexSet<SymbolId> = IndexSet::new();
            self.collect_function_uses(node, &mut calls, &mut globals);
            // What a constructor says in front of its body.
            let beside = node.parent().into_iter().flat_map(|whole| whole.children());
            for list in beside.filter(|beside| beside.kind() == Kind::FieldInitializerList) {
                self.collect_function_uses(list, &mut calls, &mut globals);
            }
            self.functions[id].calls = calls;
            self.functions[id].globals = globals.into_iter().collect();
        }
    }

    /// Calls and file-scope variables of the body of a function or lambda.
    pub(super) fn collect_function_uses(
        &self,
        body: Node<'u>,
        calls: &mut Vec<Call>,
        globals: &mut IndexSet<SymbolId>,
    ) {
        for name in body.descendants() {
            match name.kind() {
                Kind::FieldIdentifier if is_callee(name) => {
                    calls.push(Call::of_member(name.text(), name.range()));
                }
                Kind::Identifier => {
                    let called = is_callee(name);
                    self.function_name_use(name.text(), name.range(), called, calls, globals, 0);
                }
                _ => {}
            }
        }
    }

    fn function_name_use(
        &self,
        text: &str,
        at: TextRange,
        called: bool,
        calls: &mut Vec<Call>,
        globals: &mut IndexSet<SymbolId>,
        depth: u32,
    ) {
        if depth == 0 && self.macro_at(text, at).is_some() {
            for inner in self.macro_names(text, at) {
                self.function_name_use(&inner, at, true, calls, globals, 1);
            }
        }
        match self.scopes.resolve(&self.symbols, text, at) {
            Some(symbol) => match self.symbols[symbol].kind {
                SymbolKind::Function => calls.push(Call::of_function(text, at)),
                SymbolKind::Global => {
                    globals.insert(symbol);
                }
                _ => {}
            },
            None if called && depth == 0 => calls.push(Call::of_function(last_component(text), at)),
            None => {}
        }
    }
}

impl Uses {
    fn add(&mut self, object: CapturedObject, seen: Use) {
        let entry = self.objects.entry(object).or_insert(seen);
        entry.written |= seen.written;
        entry.explicit |= seen.explicit;
        entry.called |= seen.called;
    }
}

/// `n` of `s.n`, given `s`.
fn inner_member(source: &str, outer: TextRange) -> Option<TextRange> {
    let rest = TextRange::new(outer.end(), rex_syntax::TextSize::of(source));
    let mut tokens = lex::significant_tokens(source, rest);
    (tokens.next()?.text(source) == ".").then_some(tokens.next()?.range)
}

/// The member named in `this->member`, from the place of `this`.
fn member_of_this(source: &str, this: TextRange) -> Option<TextRange> {
    let after = TextRange::new(this.end(), rex_syntax::TextSize::of(source));
    let mut tokens = lex::significant_tokens(source, after);
    let arrow = tokens.next()?;
    let member = tokens.next()?;
    (arrow.text(source) == "->" && member.kind == lex::TokenKind::Identifier)
        .then_some(member.range)
}

/// The whole qualified name whose last component a node is.
fn qualified_around(node: Node<'_>) -> Option<Node<'_>> {
    let mut whole = node;
    while let Some(parent) = whole
        .parent()
        .filter(|parent| parent.kind() == Kind::QualifiedIdentifier)
    {
        whole = parent;
    }
    (whole != node).then_some(whole)
}

/// Whether a node is `m` of `object.*m`: a variable, not a member.
fn is_member_pointer(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        parent
            .tokens_and_children()
            .any(|child| child.token() == ".*")
    })
}

fn is_callee(node: Node<'_>) -> bool {
    let mut current = node;
    while let Some(parent) = current.parent() {
        match parent.kind() {
            Kind::CallExpression => return parent.field(Field::Function) == Some(current),
            Kind::QualifiedIdentifier | Kind::TemplateFunction | Kind::TemplateMethod => {
                current = parent
            }
            Kind::FieldExpression if parent.field(Field::Field) == Some(current) => {
                current = parent
            }
            _ => return false,
        }
    }
    false
}

fn is_device_leaf(leaf: Leaf) -> bool {
    matches!(
        leaf,
        Leaf::Target
            | Leaf::TargetData
            | Leaf::TargetEnterData
            | Leaf::TargetExitData
            | Leaf::TargetUpdate
    )
}
