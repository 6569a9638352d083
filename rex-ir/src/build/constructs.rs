//! Constructs: directives with their statements, merged where nothing stands between them.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::clause::{Clause, ClauseName, Locator, Step};
use rex_syntax::omp::directive::{Association, Leaf};

use super::Builder;
use crate::places::constructs_around;
use crate::region::{Construct, DataSharing, SharingAttribute};
use crate::symbol::{SymbolId, SymbolKind};

impl<'u> Builder<'u> {
    /// `declare target`, `requires`, `declare mapper`, `declare reduction`.
    pub(super) fn read_declarative_directives(&mut self) {
        let unit = self.unit;
        let mut open = Vec::new();
        for directive in &unit.directives {
            match directive.first() {
                Some(Leaf::DeclareTarget | Leaf::BeginDeclareTarget | Leaf::EndDeclareTarget) => {
                    self.read_declare_target(directive, &mut open)
                }
                Some(Leaf::Groupprivate) => self.read_groupprivate(directive),
                Some(Leaf::Requires) => self.read_requires(directive),
                Some(Leaf::DeclareMapper) => self.read_mapper(directive),
                Some(Leaf::DeclareReduction) => {
                    if let Some(argument) = directive.argument {
                        let initializer = directive.clause(ClauseName::Initializer);
                        self.read_declared_reduction(directive.range, argument, initializer);
                    }
                }
                _ => {}
            }
        }
        self.report_open(&open);
        self.complete_declare_target();
    }

    pub(super) fn named_or_builtin_type(&mut self, text: &str, at: TextRange) -> crate::ty::TypeId {
        let declaration = format!("{text} rex_type;");
        let tree = rex_syntax::cst::parse_fragment(&declaration, self.unit.language);
        self.fragment_depth += 1;
        let declaration = tree
            .root()
            .descendants()
            .find(|node| node.kind() == Kind::Declaration);
        let ty = declaration.map(|node| {
            let base = self.base_type(node, at);
            let declarator = node.field(Field::Declarator);
            let pointer = declarator.filter(|it| it.kind() == Kind::PointerDeclarator);
            pointer.map_or(base, |it| self.declarator(it, base, at).ty)
        });
        self.fragment_depth -= 1;
        ty.unwrap_or_else(|| self.types.named(text, crate::ty::Meaning::Unknown))
    }

    /// Every executable directive of the unit, as constructs.
    pub(super) fn read_constructs(&mut self) {
        self.check_inductions();
        self.check_variants();
        let unit = self.unit;
        let mut merged = vec![false; unit.directives.len()];
        for first in 0..unit.directives.len() {
            let directive = &unit.directives[first];
            if merged[first]
                || directive.leaves.is_empty()
                || directive.association() == Association::Declarative
            {
                continue;
            }
            let mut directives = vec![first];
            let mut statement = unit.statement_of(first);
            while let Some(next) = statement
                .and_then(|node| self.mergeable(*directives.last().unwrap_or(&first), node))
            {
                merged[next] = true;
                directives.push(next);
                statement = unit.statement_of(next);
            }
            if directive.association() == Association::Statement && statement.is_none() {
                let diagnostic = Diagnostic::new(
                    Code::MissingStatement,
                    self.at(directive.range),
                    format!("`{}` must be followed by a statement", directive.name()),
                )
                .with_help("put the directive before the loop or block that it applies to");
                self.diagnostics.push(diagnostic);
                continue;
            }
            self.add_construct(&directives, statement);
        }
    }

    /// The directive that a statement consists of, if it may be merged with the one before it.
    fn mergeable(&self, outer: usize, statement: Node<'u>) -> Option<usize> {
        let mut node = statement;
        while node.kind() == Kind::CompoundStatement {
            let mut statements = node
                .children()
                .filter(|child| child.kind() != Kind::Comment);
            node = statements.next()?;
            if statements.next().is_some() {
                return None;
            }
        }
        let inner = self.unit.directive_of(node)?;
        let before = *self.unit.directives[outer].leaves.last()?;
        let after = self.unit.directives[inner].first()?;
        let joins = matches!(
            (before, after),
            (
                Leaf::Target,
                Leaf::Teams | Leaf::Parallel | Leaf::Simd | Leaf::Loop
            ) | (Leaf::Teams, Leaf::Distribute | Leaf::Loop)
                | (Leaf::Parallel, Leaf::For | Leaf::Loop)
        );
        joins.then_some(inner)
    }

    fn add_construct(&mut self, directives: &[usize], statement: Option<Node<'u>>) {
        let unit = self.unit;
        let Some(&first) = directives.first() else {
            return;
        };
        let pragma = unit.directives[first].range;
        // Blocks between merged directives belong to the construct, whose statement is the innermost one.
        let outermost = unit.statement_of(first).or(statement);
        let range = outermost.map_or(pragma, |statement| pragma.cover(statement.range()));
        let leaves: Vec<Leaf> = directives
            .iter()
            .flat_map(|idx| unit.directives[*idx].leaves.iter().copied())
            .collect();
        let loop_associated = leaves.last().is_some_and(|leaf| leaf.takes_loops());
        let is_of_host = !self.is_device_loop(&leaves, range);
        let mut sharing: Vec<DataSharing> = Vec::new();
        let mut unread = Vec::new();
        let mut depth = 1usize;
        for idx in directives {
            for clause in &unit.directives[*idx].clauses {
                let problems = self.read_quietly(is_of_host, |builder| {
                    builder.read_sharing(clause, &unit.directives[*idx].leaves, &mut sharing)
                });
                if is_of_host {
                    unread.extend(problems);
                }
            }
        }
        // What the clauses say about variables of the loops comes first.
        let collapse = directives
            .iter()
            .flat_map(|idx| unit.directives[*idx].clauses_named(ClauseName::Collapse));
        for expression in collapse.filter_map(Clause::expression) {
            if let Some(leaf) = leaves.last() {
                depth = depth.max(self.collapsed(expression, statement, *leaf, &mut sharing));
            }
        }
        if let Some(statement) = statement.filter(|_| !is_of_host) {
            self.check_ordered(directives, statement, depth);
        }
        // Merged directives may repeat a clause: `teams reduction(+: s)`, `distribute reduction(+: s)`. The copies of `target` are others than those inside it.
        let mut seen: Vec<(SymbolId, SharingAttribute, bool)> = Vec::new();
        sharing.retain(|listed| {
            let is_copy = matches!(
                listed.attribute,
                SharingAttribute::Private | SharingAttribute::Firstprivate
            );
            let key = (
                listed.symbol,
                listed.attribute.clone(),
                is_copy && listed.on == Leaf::Target,
            );
            let is_new = !seen.contains(&key);
            seen.push(key);
            is_new
        });
        let nest = match (loop_associated, statement) {
            (true, Some(statement)) => {
                let nest = self.read_quietly(is_of_host, |builder| {
                    builder.read_nest(statement, depth, pragma)
                });
                nest.map(|nest| self.nests.alloc(nest))
            }
            _ => None,
        };
        let parent = constructs_around(&self.constructs, range).next();
        let parent = parent.map(|(id, _)| id);
        let alignments = self.alignments_of(directives);
        let id = self.constructs.alloc(Construct {
            directives: directives.to_vec(),
            leaves,
            range,
            statement: statement.map(|statement| statement.range()),
            nest,
            sharing,
            unread,
            alignments,
            parent,
            children: Vec::new(),
        });
        if let Some(parent) = parent {
            self.constructs[parent].children.push(id);
        }
    }

    /// Reads something. What is wrong with it is not said where that is the host compiler's business, or said elsewhere.
    fn read_quietly<T>(&mut self, is_quiet: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = is_quiet.then(|| self.diagnostics.clone());
        let found = read(self);
        if let Some(before) = before {
            self.diagnostics = before;
        }
        found
    }

    fn is_device_loop(&self, leaves: &[Leaf], range: TextRange) -> bool {
        leaves.first() == Some(&Leaf::Target) || self.enclosing_target(range)
    }

    pub(super) fn enclosing_target(&self, range: TextRange) -> bool {
        constructs_around(&self.constructs, range)
            .any(|(_, construct)| construct.leaves.first() == Some(&Leaf::Target))
    }

    /// Reads what a clause says about variables. What it names that is not known is reported, and given back.
    fn read_sharing(
        &mut self,
        clause: &Clause,
        leaves: &[Leaf],
        sharing: &mut Vec<DataSharing>,
    ) -> Vec<TextRange> {
        let mut unread = Vec::new();
        if clause.name == ClauseName::UsesAllocators {
            self.share_allocators(clause, sharing);
        }
        let attribute = match clause.name {
            ClauseName::Private => SharingAttribute::Private,
            ClauseName::Firstprivate => SharingAttribute::Firstprivate,
            ClauseName::Lastprivate => SharingAttribute::Lastprivate,
            ClauseName::Shared => SharingAttribute::Shared,
            ClauseName::Linear => SharingAttribute::Linear(self.linear_step(clause)),
            ClauseName::Copyprivate => SharingAttribute::Copyprivate,
            ClauseName::Reduction | ClauseName::InReduction | ClauseName::TaskReduction => {
                let Some(operation) = self.reduction_operation(clause) else {
                    return vec![clause.range];
                };
                SharingAttribute::Reduction {
                    operation,
                    section: Some(Vec::new()),
                }
            }
            _ => return unread,
        };
        let is_for = |leaf: &Leaf| clause.applies_to(*leaf);
        let takes = |leaf: &Leaf| is_for(leaf) && leaf.takes(clause.name);
        let mut inside_out = leaves.iter().rev().copied();
        let Some(on) = inside_out.find(takes) else {
            return unread;
        };
        // What leaves the construct is mapped by its `target`, whichever construct it is for.
        let leaves_construct = !matches!(
            attribute,
            SharingAttribute::Private | SharingAttribute::Firstprivate | SharingAttribute::Shared
        );
        let is_on_target =
            leaves.contains(&Leaf::Target) && (leaves_construct || is_for(&Leaf::Target));
        for item in clause.items() {
            let (root, is_section) = match &item.locator {
                Locator::Path(path) => match (self.text(path.root), path.steps.as_slice()) {
                    ("this", [Step::Arrow(member), rest @ ..]) => (*member, !rest.is_empty()),
                    _ => (path.root, !path.steps.is_empty()),
                },
                Locator::Expression(range) | Locator::SectionOf(range, _) => (*range, false),
            };
            let resolved = self.resolve_root(root).filter(|symbol| {
                let kind = self.symbols[*symbol].kind;
                kind.is_variable() || kind == SymbolKind::Field
            });
            let Some(symbol) = resolved else {
                if self.is_member_of_parameter(root) {
                    if attribute != SharingAttribute::Shared {
                        unread.push(item.range);
                        let diagnostic = self.static_member_listed(item.range);
                        self.diagnostics.push(diagnostic);
                    }
                    continue;
                }
                unread.push(item.range);
                let name = self.text(item.range).to_string();
                self.report(
                    Code::MapOfUnknownVariable,
                    item.range,
                    format!("`{name}` is not a variable that is visible here"),
                    "declare the variable before the construct, or correct its name",
                );
                continue;
            };
            let symbol = match (self.symbols[symbol].kind, &attribute) {
                (SymbolKind::Field, SharingAttribute::Private | SharingAttribute::Firstprivate)
                    if is_on_target =>
                {
                    let member = &self.symbols[symbol];
                    self.variable_of_member(member.name.clone(), member.ty)
                }
                _ => symbol,
            };
            let mut attribute = attribute.clone();
            if let SharingAttribute::Reduction { operation, .. } = &mut attribute {
                let of_pointers = match is_section {
                    true => None,
                    false => self.operation_of_pointers(clause, symbol),
                };
                let declared = of_pointers.or_else(|| self.declared_operation(clause, symbol));
                if let Some(declared) = declared {
                    *operation = declared;
                }
            }
            if let SharingAttribute::Reduction { section, .. } = &mut attribute
                && is_section
            {
                // What is wrong with it matters in device code only, and is said there.
                let path = self.read_quietly(true, |builder| {
                    builder.read_item_path(&item.locator, item.range)
                });
                *section = path.map(|(_, _, steps)| steps);
            }
            sharing.push(DataSharing {
                symbol,
                attribute,
                on,
                is_on_target,
                at: item.range,
            });
        }
        unread
    }

    /// `linear(x : 2)`, `linear(x : val, step(2))`, `linear(val(x) : 2)`
    pub(super) fn linear_step(&self, clause: &Clause) -> Option<TextRange> {
        clause.modifiers().iter().find_map(|modifier| {
            match (self.text(modifier.word), modifier.argument) {
                ("step", Some(step)) => Some(step),
                ("val" | "ref" | "uval", _) => None,
                _ => Some(modifier.range),
            }
        })
    }
}

/// Ranges of the parts of `text` between separators outside parentheses, brackets and braces. `::` is no `:`.
pub(super) fn split_top_level(text: &str, separator: char) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let mut depth = 0i32;
    let mut start = 0;
    let mut idx = 0;
    while idx < bytes.len() {
        match bytes[idx] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b':' if separator == ':' && bytes.get(idx + 1) == Some(&b':') => idx += 1,
            byte if depth == 0 && char::from(byte) == separator => {
                parts.push((start, idx));
                start = idx + 1;
            }
            _ => {}
        }
        idx += 1;
    }
    parts.push((start, bytes.len()));
    parts
}

pub(super) fn sub_range(whole: TextRange, start: usize, end: usize) -> TextRange {
    let at =
        |offset: usize| whole.start() + rex_syntax::TextSize::try_from(offset).unwrap_or_default();
    TextRange::new(at(start), at(end).min(whole.end()))
}
