//! Target regions: which variables they need, and how each reaches the kernel.

mod addresses;
mod captures;
mod damage;
mod functions;
mod implied_maps;
mod local_declarations;
mod members;
mod placement;
mod qualified_uses;
mod storage;
mod transport;
mod uses;

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Severity};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf;

use super::Builder;
use crate::item::FunctionId;
use crate::map::MapItem;
use crate::namer;
use crate::places::constructs_in;
use crate::region::{
    Capture, CapturedObject, ConstructId, DataConstruct, DataConstructKind, Region,
    SharingAttribute,
};
use crate::symbol::SymbolId;
use crate::ty::Meaning;
pub(super) use local_declarations::{LocalUsing, local_usings};
use uses::{Use, Uses};

/// A construct that was read.
enum Built {
    Region(Box<Region>),
    Data(DataConstruct),
}

impl Builder<'_> {
    /// Every target region and data construct.
    pub(in crate::build) fn read_regions(&mut self) {
        let ids: Vec<ConstructId> = self.constructs.iter().map(|(id, _)| id).collect();
        for id in ids {
            let leaf = self.constructs[id].leaves.first().copied();
            let range = self.constructs[id].range;
            let Some(leaf) = leaf.filter(|leaf| leaf.is_device()) else {
                continue;
            };
            let Some(function) = self.innermost_function(range) else {
                self.report(
                    Code::DamagedConstruct,
                    crate::build::loops::first_line(self.source, range),
                    "this construct is not inside a function that could be read",
                    "a brace before it may be missing, or a macro may hide one: write the head and the braces of the function out",
                );
                continue;
            };
            if self.is_inside_region(range) {
                if self.constructs[id].parent.is_none() {
                    self.report(
                        Code::DamagedConstruct,
                        crate::build::loops::first_line(self.source, range),
                        "the statement around this construct could not be read",
                        "expand the macros in that statement by hand, and look for a missing brace or semicolon",
                    );
                }
                continue;
            }
            if self.is_damaged(id) || self.declares_for_file(id) {
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
                Some(Built::Region(mut region)) if !is_limited => {
                    region.compact();
                    self.regions.alloc(*region);
                }
                Some(Built::Data(mut data)) if !is_limited => {
                    data.compact();
                    self.data_constructs.alloc(data);
                }
                _ => {}
            }
            diagnostics.extend(std::mem::take(&mut self.diagnostics));
            self.diagnostics = diagnostics;
        }
        self.read_functions();
    }

    pub(super) fn innermost_function(&self, range: TextRange) -> Option<FunctionId> {
        self.function_index.around(range)
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
        let addressed = self.address_uses(construct, &maps);
        Some(Built::Data(DataConstruct {
            construct,
            kind,
            function,
            maps,
            address_uses: addressed.names,
            address_calls: addressed.calls,
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
        let is_lvalue = |item: &&MapItem| match item.root {
            CapturedObject::Variable(symbol) => self.lvalues.contains_key(&symbol),
            _ => false,
        };
        for item in maps.iter().filter(|item| !is_lvalue(item)) {
            if let CapturedObject::Variable(symbol) = item.root {
                uses.member_variables.extend(self.own_member(symbol));
            }
            uses.add(
                item.root,
                Use {
                    at: item.at,
                    // A section of what a pointer points to leaves the pointer alone.
                    written: !self.holds_pointer(item.root) && !self.is_pointer(item.root_ty),
                    explicit: true,
                    called: false,
                },
            );
        }
        for sharing in self.constructs[construct].sharing.clone() {
            if matches!(sharing.attribute, SharingAttribute::Shared) {
                continue;
            }
            uses.member_variables
                .extend(self.own_member(sharing.symbol));
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
        self.use_members_of_objects(statement, &mut uses);
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
                // The kernel has accumulators for the elements of a section.
                let sections = match clause.name {
                    ClauseName::Reduction | ClauseName::InReduction => clause.items(),
                    _ => &[],
                };
                for item in sections {
                    let bounds = TextRange::new(item.locator.root().end(), item.range.end());
                    self.collect_text(bounds, false, statement, construct, &mut uses);
                }
            }
        }

        self.use_types(statement, construct, &mut uses);
        self.use_operations(statement, construct, &mut uses);
        self.add_used_members(statement, &uses, &mut maps);
        let mut captures = Vec::new();
        for (object, seen) in std::mem::take(&mut uses.objects) {
            if let Some(capture) = self.capture(object, seen, construct, &maps, &rules) {
                captures.push(capture);
            }
        }
        // The parameters of kernels end with a pack.
        captures.sort_by_key(|capture: &Capture| {
            let variable = capture.object.variable();
            variable.is_some_and(|it| self.packs.contains_key(&it))
        });
        self.check_copies_of_lvalues(&maps, &captures);
        let mut deduced = self.deduced_variables(&captures);
        deduced.extend(self.deduced_loop_variables(construct, &deduced));
        deduced.extend(std::mem::take(&mut uses.named_types));
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
            function_words: Vec::new(),
            qualified_calls: uses.qualified_calls,
            member_uses: uses.member_uses,
            this_uses: uses.this_uses,
            calls: uses.calls,
            device_globals: uses.globals.into_iter().collect(),
        })))
    }

    /// A variable, if it stands for a member of the own object.
    fn own_member(&self, symbol: SymbolId) -> Option<SymbolId> {
        self.symbols[symbol].is_own_member().then_some(symbol)
    }

    /// The variables outside the region with which its loops count, and whose types are parameters of the kernel as only the compiler
    /// knows them. `known` are such parameters already.
    fn deduced_loop_variables(
        &mut self,
        construct: ConstructId,
        known: &[SymbolId],
    ) -> Vec<SymbolId> {
        let range = self.constructs[construct].range;
        let nests: Vec<_> = constructs_in(&self.constructs, range)
            .filter_map(|(_, inner)| inner.nest)
            .collect();
        let mut found = Vec::new();
        for nest in nests {
            for idx in 0..self.nests[nest].loops.len() {
                let canonical = &self.nests[nest].loops[idx];
                let name = canonical.variable.clone();
                let is_declared = canonical.declares_variable;
                let symbol = self.scopes.resolve(&self.symbols, &name, canonical.bound);
                let Some(symbol) = symbol.filter(|it| !is_declared && self.is_deduced(*it)) else {
                    continue;
                };
                let declared = self.symbols[symbol].declared_at;
                if declared.is_some_and(|at| range.contains_range(at)) {
                    continue;
                }
                let name = namer::deduced_type(&name);
                self.nests[nest].loops[idx].ty = self.types.named(name, Meaning::Dependent);
                if !known.contains(&symbol) && !found.contains(&symbol) {
                    found.push(symbol);
                }
            }
        }
        found
    }

    /// The captured variables whose types are parameters of the kernel for that reason.
    fn deduced_variables(&self, captures: &[Capture]) -> Vec<SymbolId> {
        captures
            .iter()
            .filter_map(|capture| match capture.object {
                CapturedObject::Variable(symbol) if self.is_deduced(symbol) => Some(symbol),
                _ => None,
            })
            .collect()
    }
}
