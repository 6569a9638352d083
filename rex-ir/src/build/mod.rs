//! Builds a [`Program`] from a unit: scopes and types first, then constructs, then captures.
//!
//! The builder is the only part of the compiler that reads the syntax tree. It reports what it cannot understand at the exact place and leaves that
//! construct out; everything else of the unit is still built.

mod allocators;
mod auto;
mod braced_lists;
mod c_functions;
mod c_initializers;
mod c_integers;
mod c_only;
mod carriers;
mod case_ranges;
mod clause_items;
mod clause_modifiers;
mod clause_numbers;
mod clause_rules;
mod clause_subscripts;
mod clauses;
mod closures;
mod collapse;
mod constant_values;
mod constructs;
mod contiguous;
mod conversions;
mod critical;
mod declare_target;
mod dependent_members;
mod designators;
mod extents;
mod foreign;
mod function_names;
mod hidden_words;
mod hoisted;
mod implicit;
mod implicit_conversions;
mod instances;
mod items;
mod leaving;
mod loops;
mod lvalues;
mod mappers;
mod maps;
mod names;
mod nesting_rules;
mod new_arrays;
mod packs;
mod qualified;
mod reductions;
mod regions;
mod repeated_items;
mod requires;
mod runtime_calls;
mod scopes;
mod selections;
mod sharing_rules;
mod specializations;
mod spelled;
mod static_members;
mod tasks;
mod type_information;
mod types;
mod undetermined;
mod views;

pub use implicit::defaultmap_behavior;

use std::collections::BTreeSet;
use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};
use la_arena::Arena;
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Diagnostics};
use rex_syntax::macros::MacroDef;
use rex_syntax::source::{FileRange, Language, SourceMap};
use rex_syntax::unit::Unit;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use specializations::PartialMembers;

use self::qualified::NamespaceAliases;
use self::regions::{LocalUsing, local_usings};
use crate::abi::Requirements;
use crate::function_index::FunctionIndex;
use crate::instance::Instances;
use crate::item::{DeviceStorage, Function, FunctionId, Item};
use crate::lifecycle::Lifecycle;
use crate::map::{Lvalue, Mapper};
pub(crate) use names::{qualifies, split_qualifier, template_arguments};

use crate::program::{DeclaredReduction, DeviceCode, Program, friends, weak_names};
use crate::region::{Construct, DataConstruct, LoopNest, Region};
use crate::starters::starters;
use crate::static_member::StaticMember;
use crate::symbol::{ScopeId, ScopeTree, Symbol, SymbolId, SymbolKind};
use crate::symbol_index::SymbolIndex;
use crate::ty::{RecordId, TypeId, TypeTable};
use crate::untranslatable::Untranslatable;

/// Builds the program of a unit.
pub fn build(sources: SourceMap, unit: Unit) -> (Program, Diagnostics) {
    let mut built = {
        let mut builder = Builder::new(&sources, &unit);
        builder.run();
        builder.finish()
    };
    let source = sources.file(unit.file).text();
    let weak_names = weak_names(&built.items, source);
    let starters = starters(&built.items, &built.functions, source);
    // They run where the kernel that begins the file's code calls them.
    let attributes = starters
        .iter()
        .map(|starter| (starter.at, SmolStr::default()));
    built.conversions.extend(attributes);
    built.conversions.sort_by_key(|(at, _)| at.start());
    let program = Program {
        starters,
        sources,
        unit,
        weak_names,
        items: built.items,
        functions: built.functions,
        function_index: built.function_index,
        friends: friends(&built.types),
        types: built.types,
        symbol_index: SymbolIndex::of(&built.symbols),
        symbols: built.symbols,
        scopes: built.scopes,
        constructs: built.constructs,
        nests: built.nests,
        regions: built.regions,
        data_constructs: built.data_constructs,
        declare_target: built.declare_target,
        requirements: built.requirements,
        declared_reductions: built.declared_reductions,
        mappers: built.mappers,
        method_declarations: built.method_declarations,
        device_functions: built.device_functions,
        external_device_functions: built.external_device_functions,
        conversions: built.conversions,
        lvalues: built.lvalues,
        static_members: built.static_members,
        extents: built.extents,
        static_member_instances: built.static_member_instances,
        static_member_uses: built.static_member_uses,
        packs: built.packs,
        alignments: built.alignments,
        untranslatable: built.untranslatable,
        instances: built.instances,
        kernels: Arena::new(),
        launches: Arena::new(),
        map_arrays: Arena::new(),
        device_code: DeviceCode::default(),
        entries: Vec::new(),
        lifecycle: Lifecycle::default(),
    };
    (program, built.diagnostics)
}

/// State while building. Its result is everything but the references to the unit.
struct Builder<'u> {
    sources: &'u SourceMap,
    unit: &'u Unit,
    source: &'u str,
    types: TypeTable,
    symbols: Arena<Symbol>,
    scopes: ScopeTree,
    items: Vec<Item>,
    functions: Arena<Function>,
    /// The functions by place and name, once all are read.
    function_index: FunctionIndex,
    constructs: Arena<Construct>,
    nests: Arena<LoopNest>,
    regions: Arena<Region>,
    data_constructs: Arena<DataConstruct>,
    declare_target: indexmap::IndexMap<SymbolId, DeviceStorage>,
    requirements: Requirements,
    declared_reductions: IndexMap<SmolStr, DeclaredReduction>,
    mappers: Vec<Mapper>,
    /// Those of the classes with a name; those of other types under none.
    mappers_of: FxHashMap<Option<SmolStr>, Vec<usize>>,
    method_declarations: Vec<TextRange>,
    device_functions: IndexSet<FunctionId>,
    external_device_functions: IndexSet<SmolStr>,
    conversions: Vec<(TextRange, SmolStr)>,
    lvalues: indexmap::IndexMap<SymbolId, Lvalue>,
    static_members: indexmap::IndexMap<SymbolId, StaticMember>,
    extents: indexmap::IndexMap<SymbolId, Vec<(SmolStr, SmolStr)>>,
    static_member_instances: indexmap::IndexMap<SymbolId, SymbolId>,
    static_member_uses: Vec<(TextRange, SymbolId)>,
    packs: IndexMap<SymbolId, SmolStr>,
    alignments: Vec<(TextRange, TextRange)>,
    untranslatable: Vec<Untranslatable>,
    instances: Instances,
    diagnostics: Diagnostics,
    /// Types of headers by name, `None` while being read or when there is none.
    header_types: FxHashMap<SmolStr, Option<TypeId>>,
    /// Variables of headers by name.
    header_variables: FxHashMap<SmolStr, Option<SymbolId>>,
    /// Those of them that are constants.
    header_constants: FxHashSet<SymbolId>,
    /// Class definitions of the unit by place.
    records_by_range: FxHashMap<TextRange, RecordId>,
    /// The classes whose bodies are being read, outermost first.
    open_records: Vec<(SmolStr, RecordId)>,
    /// Types that texts of headers have declared where they are being read, outermost first: no scope knows them.
    outside_types: Vec<types::OutsideTypes>,
    /// Class templates.
    class_templates: FxHashSet<RecordId>,
    alias_templates: Vec<types::AliasTemplate>,
    /// Scopes of classes.
    class_scopes: FxHashMap<RecordId, ScopeId>,
    /// Static data members by class and name.
    static_fields: FxHashMap<(RecordId, SmolStr), SymbolId>,
    partial_members: PartialMembers,
    /// Symbols for what one name does not say: members of the own object as variables, static members of instantiations.
    spelled_symbols: FxHashMap<SmolStr, SymbolId>,
    /// Those of them that are constants of their class.
    constant_fields: FxHashMap<SymbolId, SmolStr>,
    /// What blocks say about names of namespaces, by their nodes.
    local_usings: FxHashMap<u32, Vec<LocalUsing<'u>>>,
    /// Further names of namespaces.
    namespace_aliases: NamespaceAliases<'u>,
    /// Greater than zero while nodes of a header's declaration are read: their ranges are not the unit's.
    fragment_depth: u32,
    /// The namespaces around that declaration, `a::b`.
    fragment_scope: SmolStr,
    /// The types of the parameters of functions that C calls, by name.
    parameters: FxHashMap<SmolStr, Rc<[Option<TypeId>]>>,
    /// Whether the unit may have attributes that make other types of those named.
    has_type_attributes: bool,
}

struct Built {
    types: TypeTable,
    symbols: Arena<Symbol>,
    scopes: ScopeTree,
    items: Vec<Item>,
    functions: Arena<Function>,
    function_index: FunctionIndex,
    constructs: Arena<Construct>,
    nests: Arena<LoopNest>,
    regions: Arena<Region>,
    data_constructs: Arena<DataConstruct>,
    declare_target: indexmap::IndexMap<SymbolId, DeviceStorage>,
    requirements: Requirements,
    declared_reductions: IndexMap<SmolStr, DeclaredReduction>,
    mappers: Vec<Mapper>,
    method_declarations: Vec<TextRange>,
    device_functions: IndexSet<FunctionId>,
    external_device_functions: IndexSet<SmolStr>,
    conversions: Vec<(TextRange, SmolStr)>,
    lvalues: indexmap::IndexMap<SymbolId, Lvalue>,
    static_members: indexmap::IndexMap<SymbolId, StaticMember>,
    extents: indexmap::IndexMap<SymbolId, Vec<(SmolStr, SmolStr)>>,
    static_member_instances: indexmap::IndexMap<SymbolId, SymbolId>,
    static_member_uses: Vec<(TextRange, SymbolId)>,
    packs: IndexMap<SymbolId, SmolStr>,
    alignments: Vec<(TextRange, TextRange)>,
    untranslatable: Vec<Untranslatable>,
    instances: Instances,
    diagnostics: Diagnostics,
}

/// The symbols for which room is made at once.
const MANY_SYMBOLS: usize = 1 << 20;

impl<'u> Builder<'u> {
    fn new(sources: &'u SourceMap, unit: &'u Unit) -> Builder<'u> {
        let source = sources.file(unit.file).text();
        Builder {
            sources,
            unit,
            source,
            types: TypeTable::default(),
            // Room that is not used costs nothing, an arena that grows is copied.
            symbols: Arena::with_capacity((source.len() / 8).min(MANY_SYMBOLS)),
            scopes: ScopeTree::new(TextRange::up_to(rex_syntax::TextSize::of(source))),
            items: Vec::new(),
            functions: Arena::new(),
            function_index: FunctionIndex::default(),
            constructs: Arena::new(),
            nests: Arena::new(),
            regions: Arena::new(),
            data_constructs: Arena::new(),
            declare_target: indexmap::IndexMap::new(),
            requirements: Requirements::empty(),
            declared_reductions: IndexMap::new(),
            mappers: Vec::new(),
            mappers_of: FxHashMap::default(),
            method_declarations: Vec::new(),
            device_functions: IndexSet::new(),
            external_device_functions: IndexSet::new(),
            conversions: Vec::new(),
            lvalues: indexmap::IndexMap::new(),
            static_members: indexmap::IndexMap::new(),
            extents: indexmap::IndexMap::new(),
            static_member_instances: indexmap::IndexMap::new(),
            static_member_uses: Vec::new(),
            packs: IndexMap::new(),
            alignments: Vec::new(),
            untranslatable: Vec::new(),
            instances: Instances::default(),
            diagnostics: Diagnostics::new(),
            header_types: FxHashMap::default(),
            header_variables: FxHashMap::default(),
            header_constants: FxHashSet::default(),
            records_by_range: FxHashMap::default(),
            open_records: Vec::new(),
            outside_types: Vec::new(),
            class_templates: FxHashSet::default(),
            alias_templates: Vec::new(),
            class_scopes: FxHashMap::default(),
            static_fields: FxHashMap::default(),
            partial_members: PartialMembers::default(),
            spelled_symbols: FxHashMap::default(),
            constant_fields: FxHashMap::default(),
            local_usings: FxHashMap::default(),
            namespace_aliases: NamespaceAliases::default(),
            fragment_depth: 0,
            fragment_scope: SmolStr::default(),
            parameters: FxHashMap::default(),
            has_type_attributes: types::has_type_attributes(source),
        }
    }

    fn run(&mut self) {
        if self.unit.directives.is_empty() {
            return;
        }
        self.local_usings = local_usings(&self.unit.tree);
        self.namespace_aliases = self.namespace_aliases();
        self.read_scopes();
        self.function_index = FunctionIndex::of(&self.functions);
        self.read_items();
        self.read_static_member_uses();
        self.read_declarative_directives();
        self.write_hidden_words();
        self.name_extents();
        self.complete_arrays();
        self.read_constructs();
        self.check_branches();
        self.check_nesting();
        self.check_runtime_calls();
        self.check_sharing_of_variables();
        self.check_sharing_of_worksharing();
        self.check_undetermined();
        self.check_arguments();
        self.separate_homonyms();
        self.read_regions();
        self.share_in_tasks();
        self.read_instances();
        self.read_conversions();
    }

    fn finish(mut self) -> Built {
        self.symbols.shrink_to_fit();
        self.types.hidden = self.hidden_classes();
        self.types.find_bases_by_name();
        Built {
            types: self.types,
            symbols: self.symbols,
            scopes: self.scopes,
            items: self.items,
            functions: self.functions,
            function_index: self.function_index,
            constructs: self.constructs,
            nests: self.nests,
            regions: self.regions,
            data_constructs: self.data_constructs,
            declare_target: self.declare_target,
            requirements: self.requirements,
            declared_reductions: self.declared_reductions,
            mappers: self.mappers,
            method_declarations: self.method_declarations,
            device_functions: self.device_functions,
            external_device_functions: self.external_device_functions,
            conversions: self.conversions,
            lvalues: self.lvalues,
            static_members: self.static_members,
            extents: self.extents,
            static_member_instances: self.static_member_instances,
            static_member_uses: self.static_member_uses,
            packs: self.packs,
            alignments: self.alignments,
            untranslatable: self.untranslatable,
            instances: self.instances,
            diagnostics: self.diagnostics,
        }
    }

    /// The names of classes that variables or functions of the file have too: `struct stat` and `stat()`.
    fn hidden_classes(&self) -> BTreeSet<SmolStr> {
        let names = &self.scopes.scope(self.scopes.root()).names;
        let hides = |symbol: &SymbolId| {
            let kind = self.symbols[*symbol].kind;
            matches!(kind, SymbolKind::Global | SymbolKind::Function)
        };
        let records = self.types.records.values().map(|record| &record.name);
        let is_hidden = |name: &&SmolStr| {
            names
                .get(name.as_str())
                .is_some_and(|found| found.iter().any(hides))
        };
        match self.unit.language {
            Language::C => BTreeSet::new(),
            Language::Cxx => records.filter(is_hidden).cloned().collect(),
        }
    }

    fn text(&self, range: TextRange) -> &'u str {
        let source: &'u str = self.source;
        source
            .get(usize::from(range.start())..usize::from(range.end()))
            .unwrap_or("")
    }

    /// The macro a name is at a place of the unit.
    fn macro_at(&self, name: &str, at: TextRange) -> Option<&'u MacroDef> {
        self.unit.macros.lookup_at(name, at.start())
    }

    /// Every name that a macro's expansion may mention.
    fn macro_names(&self, name: &str, at: TextRange) -> Vec<SmolStr> {
        match self.text(at) == name {
            true => self.unit.macros.names_used_at(self.source, at),
            false => self.unit.macros.names_used_by(name, at.start()),
        }
    }

    fn at(&self, range: TextRange) -> FileRange {
        FileRange {
            file: self.unit.file,
            range,
        }
    }

    /// Notes text that device code cannot have, with the reason and what to write instead.
    fn cannot_write(&mut self, at: TextRange, reason: &'static str, help: &'static str) {
        self.untranslatable.push(Untranslatable {
            at,
            reason: SmolStr::new_static(reason),
            help: SmolStr::new_static(help),
        });
    }

    fn report(
        &mut self,
        code: Code,
        range: TextRange,
        headline: impl Into<String>,
        help: impl Into<String>,
    ) {
        let diagnostic = Diagnostic::new(code, self.at(range), headline).with_help(help);
        self.diagnostics.push(diagnostic);
    }
}
