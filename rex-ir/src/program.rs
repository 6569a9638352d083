//! The program: every arena of the IR and the unit it was built from.

use indexmap::{IndexMap, IndexSet};
use la_arena::Arena;
use rex_syntax::kind::Kind;
use rex_syntax::macros::MacroDef;
use rex_syntax::source::{FileRange, Language, SourceMap};
use rex_syntax::unit::Unit;
use rex_syntax::{TextRange, TextSize, lex};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::abi::Requirements;
use crate::entry::Entry;
use crate::function_index::FunctionIndex;
use crate::instance::Instances;
use crate::item::{DeviceStorage, Function, FunctionId, Item, ItemKind, is_unnamed_namespace};
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::lifecycle::Lifecycle;
use crate::map::{Lvalue, MapArrays, Mapper};
use crate::region::{Construct, DataConstruct, LoopNest, ReductionOperation, Region};
use crate::same_class::ClassComparison;
use crate::starters::Starter;
use crate::static_member::StaticMember;
use crate::symbol::{ScopeTree, Symbol, SymbolId, SymbolKind};
use crate::symbol_index::SymbolIndex;
use crate::ty::{Record, RecordId, TypeId, TypeTable};
use crate::untranslatable::Untranslatable;

/// A translation unit in the compiler.
///
/// The first group of fields is what the builder read from the source (facets [`Facet::BUILT`](crate::facet::Facet::BUILT)); passes fill the second.
#[derive(Debug)]
pub struct Program {
    /// All files.
    pub sources: SourceMap,
    /// Text, directives and syntax tree of the unit.
    pub unit: Unit,
    /// File-scope items in source order.
    pub items: Vec<Item>,
    /// Function definitions.
    pub functions: Arena<Function>,
    /// The functions by place and name.
    pub function_index: FunctionIndex,
    /// Names that pragmas make weak.
    pub weak_names: FxHashSet<SmolStr>,
    /// Functions that run before `main` or behind it.
    pub starters: Vec<Starter>,
    /// Types.
    pub types: TypeTable,
    /// The classes of the unit that make functions of a name their friends.
    pub friends: FxHashMap<SmolStr, Vec<RecordId>>,
    /// Symbols.
    pub symbols: Arena<Symbol>,
    /// The symbols by place and name.
    pub symbol_index: SymbolIndex,
    /// Scopes.
    pub scopes: ScopeTree,
    /// Constructs, in source order.
    pub constructs: Arena<Construct>,
    /// Loop nests.
    pub nests: Arena<LoopNest>,
    /// Target regions, in source order.
    pub regions: Arena<Region>,
    /// Data constructs, in source order.
    pub data_constructs: Arena<DataConstruct>,
    /// Variables that a `declare target` directive names, with all their declarations.
    pub declare_target: IndexMap<SymbolId, DeviceStorage>,
    /// What `requires` directives demand of the devices.
    pub requirements: Requirements,
    /// Functions of the unit that a `declare target` directive names or encloses: other files may call them.
    pub device_functions: IndexSet<FunctionId>,
    /// User-declared reductions by their keys, in source order.
    pub declared_reductions: IndexMap<SmolStr, DeclaredReduction>,
    /// User-declared mappers, in source order.
    pub mappers: Vec<Mapper>,
    /// Member functions that a class body declares without defining.
    pub method_declarations: Vec<TextRange>,
    /// Functions of other files that device code may call: a `declare target` directive names or encloses a declaration.
    pub external_device_functions: IndexSet<SmolStr>,
    /// Text that device code has in place of what only C takes, or inserts where C needs no word, in source order.
    pub conversions: Vec<(TextRange, SmolStr)>,
    /// The pointers that stand for list items which begin with no variable.
    pub lvalues: IndexMap<SymbolId, Lvalue>,
    /// Extents of variables and types that have names of their own, outermost first: the name, and the words that it stands for.
    pub extents: IndexMap<SymbolId, Vec<(SmolStr, SmolStr)>>,
    /// Static data members, in the order of their declarations.
    pub static_members: IndexMap<SymbolId, StaticMember>,
    /// Variables that are a static data member of one instantiation, `Box<int>::value`, with that of the template.
    pub static_member_instances: IndexMap<SymbolId, SymbolId>,
    /// Names in the unit that mean a static data member which is an object, in source order.
    pub static_member_uses: Vec<(TextRange, SymbolId)>,
    /// Parameters that are packs: `xs` of `Ts... xs`, with the pack of their types.
    pub packs: IndexMap<SymbolId, SmolStr>,
    /// Declarations that `allocate` directives give an alignment: where they begin, and the value.
    pub alignments: Vec<(TextRange, TextRange)>,
    /// Text that device code cannot have.
    pub untranslatable: Vec<Untranslatable>,
    /// Host code that instantiates kernels of templates.
    pub instances: Instances,

    /// Kernels, one for each lowered region.
    pub kernels: Arena<Kernel>,
    /// Launches, one for each kernel.
    pub launches: Arena<Launch>,
    /// Map arrays of launches and data constructs.
    pub map_arrays: Arena<MapArrays>,
    /// What the device file needs besides the kernels.
    pub device_code: DeviceCode,
    /// The offload entry table.
    pub entries: Vec<Entry>,
    /// Registration and teardown.
    pub lifecycle: Lifecycle,
}

/// Functions and variables of the device file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCode {
    /// Functions that device code reaches, in source order.
    pub functions: Vec<DeviceFunction>,
    /// Variables of the device, in source order.
    pub variables: Vec<(SymbolId, DeviceStorage)>,
    /// Static variables of functions that running code begins, in source order.
    pub static_locals: Vec<SymbolId>,
    /// Static members of class templates that running code begins where it names them first, in source order.
    pub begun_members: Vec<SymbolId>,
    /// The names of the file's own variables at each use, in source order: of those whose name means something else in the file, too.
    pub own_names: Vec<(TextRange, SmolStr)>,
    /// Member functions of the unit's classes that stay host code.
    pub host_members: IndexSet<FunctionId>,
    /// Values that classes which no device makes give their members, and that only the host has, in source order.
    pub host_values: Vec<TextRange>,
    /// Declarations from headers of the project that device code reaches, in order.
    pub header_functions: Vec<SmolStr>,
    /// Functions of other files that device code calls.
    pub external_functions: IndexSet<SmolStr>,
    /// Functions that run when a device gets the file's code, before its variables are constructed, in the order of their calls: those with the attribute `constructor`.
    pub starters: Vec<FunctionId>,
    /// Functions that device code perhaps calls and that devices cannot have: they are declared.
    pub left_out: IndexSet<FunctionId>,
    /// Who executes a piece of code is not the same wherever the code asks for it, so that kernels keep account of it.
    pub tracks_threads: bool,
}

/// A function of the device file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFunction {
    /// The function.
    pub function: FunctionId,
    /// Replacements in its body for the directives it contains.
    pub body: crate::kernel::BodyText,
    /// Words that stand in place of others in it.
    pub words: Vec<(TextRange, SmolStr)>,
    /// The form that all threads of a block call together, if it begins parallel regions.
    pub team: Option<crate::kernel::TeamForm>,
}

/// `#pragma omp declare reduction(name : types : combiner) initializer(..)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredReduction {
    /// The identifier.
    pub name: SmolStr,
    /// What distinguishes it from others of this identifier, of other types or in other scopes: the identifier, or one with a number.
    pub key: SmolStr,
    /// The directive.
    pub at: TextRange,
    /// The namespaces around it: `geometry::`, or nothing.
    pub namespace: SmolStr,
    /// The namespaces and classes around it: `geometry::Point`, or nothing.
    pub scope: SmolStr,
    /// The types it is declared for.
    pub types: Vec<TypeId>,
    /// The combiner expression.
    pub combiner: TextRange,
    /// The initializer: the text after `omp_priv =`, or a call.
    pub initializer: Option<ReductionInitializer>,
    /// It is used for a type that only the compiler knows, and stands for those of its identifier before it as well.
    pub is_overloaded: bool,
}

/// How a private copy of a user-declared reduction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionInitializer {
    /// `omp_priv = text`
    Value(TextRange),
    /// `function(&omp_priv, ..)`
    Call(TextRange),
}

impl ReductionInitializer {
    /// The expression.
    pub fn text(self) -> TextRange {
        match self {
            ReductionInitializer::Value(text) | ReductionInitializer::Call(text) => text,
        }
    }
}

impl DeclaredReduction {
    /// The combiner, and the initializer if there is one.
    pub fn texts(&self) -> impl Iterator<Item = TextRange> + use<> {
        let initializer = self.initializer.map(ReductionInitializer::text);
        [Some(self.combiner), initializer].into_iter().flatten()
    }

    /// Whether private copies begin with something of the original.
    pub fn reads_original(&self, program: &Program) -> bool {
        let Some(initializer) = self.initializer.map(ReductionInitializer::text) else {
            return false;
        };
        lex::identifiers(program.source(), initializer).any(|at| program.text(at) == "omp_orig")
    }
}

impl Program {
    /// Whether private copies of a reduction begin with something of the original.
    pub fn reads_original(&self, operation: &ReductionOperation) -> bool {
        let declared = self.declared_reduction(operation);
        declared.is_some_and(|declared| declared.reads_original(self))
    }

    /// The reduction of an operation that the program declares.
    pub fn declared_reduction(&self, operation: &ReductionOperation) -> Option<&DeclaredReduction> {
        match operation {
            ReductionOperation::Declared(key) => self.declared_reductions.get(key),
            _ => None,
        }
    }

    /// Whether a reduction is declared where its types have names that the rest of the file does not know: in a template, or beside
    /// the type in a function.
    pub fn is_scoped(&self, declared: &DeclaredReduction) -> bool {
        let around = self.unit.tree.root().smallest_at(declared.at);
        self.is_for_local_type(declared)
            || around
                .ancestors()
                .any(|node| node.kind() == Kind::TemplateDeclaration)
    }

    /// The reductions with such types that are declared in a range.
    pub fn scoped_reductions_in(
        &self,
        range: TextRange,
    ) -> impl Iterator<Item = &DeclaredReduction> {
        let declared = self.declared_reductions.values();
        declared
            .filter(move |declared| range.contains_range(declared.at))
            .filter(|declared| self.is_scoped(declared))
    }

    /// Whether a reduction is declared for a type that its function defines.
    fn is_for_local_type(&self, declared: &DeclaredReduction) -> bool {
        let function = self.function_at(declared.at);
        let is_local = |ty: &TypeId| {
            let record = self.types.record(self.types.innermost_element(*ty));
            let body = record.and_then(|record| self.types.records[record].body);
            body.zip(function)
                .is_some_and(|(body, id)| self.functions[id].range.contains_range(body))
        };
        declared.types.iter().any(is_local)
    }

    /// The language of the unit.
    pub fn language(&self) -> Language {
        self.unit.language
    }

    /// The unit's text for a range.
    pub fn text(&self, range: TextRange) -> &str {
        self.sources.file(self.unit.file).slice(range)
    }

    /// The whole text of the unit.
    pub fn source(&self) -> &str {
        self.sources.file(self.unit.file).text()
    }

    /// A range of the unit with its file.
    pub fn at(&self, range: TextRange) -> FileRange {
        FileRange {
            file: self.unit.file,
            range,
        }
    }

    /// The 1-based line, in the file the user wrote, where a range of the unit begins.
    pub fn written_line(&self, range: TextRange) -> u32 {
        let written = self.sources.to_written(self.at(range));
        self.sources.file(written.file).line(written.range.start())
    }

    /// The macro a name is at a place of the unit.
    pub fn macro_at(&self, name: &str, at: TextRange) -> Option<&MacroDef> {
        self.unit.macros.lookup_at(name, at.start())
    }

    /// Every name that a macro's expansion may mention.
    pub fn macro_names(&self, name: &str, at: TextRange) -> Vec<SmolStr> {
        match self.text(at) == name {
            true => self.unit.macros.names_used_at(self.source(), at),
            false => self.unit.macros.names_used_by(name, at.start()),
        }
    }

    /// The 1-based line and column, in the file the user wrote, where a range of the unit begins. Columns count bytes.
    pub fn written_position(&self, range: TextRange) -> (u32, u32) {
        let written = self.sources.to_written(self.at(range));
        let file = self.sources.file(written.file);
        let start = usize::from(written.range.start());
        let line_start = file.text()[..start].rfind('\n').map_or(0, |at| at + 1);
        let column = u32::try_from(start - line_start + 1).unwrap_or(u32::MAX);
        (file.line(written.range.start()), column)
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: SymbolId) -> &SmolStr {
        &self.symbols[symbol].name
    }

    /// The member of the class template, for a variable that is one of an instantiation; the variable itself otherwise.
    pub fn static_member_of(&self, variable: SymbolId) -> SymbolId {
        let member = self.static_member_instances.get(&variable);
        member.copied().unwrap_or(variable)
    }

    /// Whether a function launches kernels or moves data: it is the host's.
    pub fn holds_target_constructs(&self, function: FunctionId) -> bool {
        let range = self.functions[function].range;
        let mut regions = self.regions_in(range);
        let mut data = self.data_constructs_in(range);
        regions.any(|(_, region)| region.function == function)
            || data.any(|(_, construct)| construct.function == function)
    }

    /// The host's pointer to a `declare target link` variable, as it can be named everywhere.
    pub fn link_pointer(&self, symbol: SymbolId) -> Option<SmolStr> {
        let is_link = self.declare_target.get(&symbol) == Some(&DeviceStorage::Link);
        is_link.then(|| crate::namer::host_pointer(self, symbol))
    }

    /// Whether the unit only declares a variable.
    pub fn is_external(&self, symbol: SymbolId) -> bool {
        if let Some(member) = self.static_members.get(&symbol) {
            return !member.is_defined();
        }
        let found = &self.symbols[symbol];
        found.initializer.is_none()
            && found.declaration.is_some_and(|declaration| {
                self.text(declaration).split_whitespace().next() == Some("extern")
            })
    }

    /// The variables of the device that begin with what a kernel of this file computes, in the order of their definitions.
    pub fn begun_in_kernel(&self) -> impl Iterator<Item = (SymbolId, DeviceStorage)> + '_ {
        let variables = self.device_code.variables.iter().copied();
        // What is declared first and defined later begins where it is defined.
        variables.filter(|(symbol, storage)| match storage {
            DeviceStorage::Bound => !self.is_external(*symbol),
            DeviceStorage::Constructed => {
                !self.is_external(*symbol) || self.definition(*symbol).is_none()
            }
            _ => false,
        })
    }

    /// Whether a variable is the file's own: `static`, or of a namespace without a name.
    pub fn has_internal_linkage(&self, symbol: SymbolId) -> bool {
        let qualifier = &self.symbols[symbol].qualifier;
        self.is_static(symbol) || qualifier.contains(crate::namer::UNNAMED_NAMESPACE)
    }

    /// Whether several files may define a variable, as one object: `inline`, or with the attribute or pragma `weak`.
    pub fn is_shared_by_files(&self, symbol: SymbolId) -> bool {
        let declares_shared = |id: &SymbolId| {
            let found = &self.symbols[*id];
            found.declaration.is_some_and(|declaration| {
                let name = found.declared_at.unwrap_or(declaration);
                let words = TextRange::new(declaration.start(), name.start());
                let is_inline = lex::identifiers(self.source(), words)
                    .any(|at| matches!(self.text(at), "inline" | "__inline__" | "__inline"));
                let value = found.initializer.unwrap_or(declaration);
                let is_attribute = |at: TextRange| {
                    matches!(self.text(at), "weak" | "__weak__") && !value.contains_range(at)
                };
                let mut attributes = lex::identifiers(self.source(), declaration);
                is_inline
                    || self.attributes_before(declaration).contains("weak")
                    || attributes.any(is_attribute)
            })
        };
        self.redeclarations(symbol).iter().any(declares_shared)
            || self.weak_names.contains(self.name(symbol))
    }

    /// `__attribute__((..))` in front of a declaration.
    fn attributes_before(&self, declaration: TextRange) -> &str {
        let before = &self.source()[..usize::from(declaration.start())];
        let before = before.trim_end();
        let start = before
            .ends_with("))")
            .then(|| before.rfind("__attribute__"));
        start.flatten().map_or("", |start| &before[start..])
    }

    /// The attributes in front of a declaration that say how its objects lie in memory, and a blank.
    pub fn layout_in_front(&self, declaration: TextRange) -> String {
        let found = crate::attributes::of_layout(&self.unit, self.source(), declaration);
        found.map_or(String::new(), |at| format!("{} ", self.text(at)))
    }

    /// Whether the file has a namespace without a name.
    pub fn has_unnamed_namespace(&self) -> bool {
        let mut stack: Vec<&Item> = self.items.iter().collect();
        while let Some(item) = stack.pop() {
            if let ItemKind::Block { open, items } = &item.kind {
                if is_unnamed_namespace(self.text(*open)) {
                    return true;
                }
                stack.extend(items);
            }
        }
        false
    }

    /// Whether a variable is declared `static`.
    pub fn is_static(&self, symbol: SymbolId) -> bool {
        let found = &self.symbols[symbol];
        // C++ makes constants the file's own unless they say otherwise.
        let is_constant = || {
            self.language() == Language::Cxx
                && found.kind == SymbolKind::Global
                && self.types.is_constant(found.ty)
                && !self.redeclarations(symbol).into_iter().any(|declared| {
                    let mut words = ["extern", "inline"].into_iter();
                    words.any(|word| self.is_declared(declared, word))
                })
        };
        self.is_declared(symbol, "static") || is_constant()
    }

    /// Whether a variable is declared `constexpr` or `constinit`: the compiler computes what it begins with.
    pub fn is_constexpr(&self, symbol: SymbolId) -> bool {
        let found = &self.symbols[symbol];
        found.declaration.is_some_and(|declaration| {
            let name = found.declared_at.map_or(declaration.end(), |at| at.start());
            let words = TextRange::new(declaration.start(), name.max(declaration.start()));
            lex::identifiers(self.source(), words)
                .any(|at| matches!(self.text(at), "constexpr" | "constinit"))
        })
    }

    /// Whether a function is declared `constexpr` or `consteval` where it is defined.
    pub fn is_constexpr_function(&self, function: &Function) -> bool {
        let head = TextRange::new(function.range.start(), function.body.start());
        lex::identifiers(self.source(), head)
            .any(|at| matches!(self.text(at), "constexpr" | "consteval"))
    }

    /// Whether a function says that it returns a reference, or leaves that to the compiler.
    pub fn may_return_reference(&self, function: &Function) -> bool {
        let before = TextRange::new(function.specifiers.start(), function.parameters.start());
        let behind = TextRange::new(function.parameters.end(), function.body.start());
        let says = |range: TextRange, word: &str| self.text(range).contains(word);
        says(before, "&") || says(before, "decltype") || says(behind, "&")
    }

    /// Where this file defines a variable that it declares, perhaps elsewhere.
    pub fn definition(&self, symbol: SymbolId) -> Option<SymbolId> {
        let mut all = self.redeclarations(symbol).into_iter();
        all.find(|declared| !self.is_external(*declared))
    }

    /// Whether a variable has no address: C's `register`.
    pub fn is_register(&self, symbol: SymbolId) -> bool {
        self.language() == Language::C && self.is_declared(symbol, "register")
    }

    fn is_declared(&self, symbol: SymbolId, word: &str) -> bool {
        self.symbols[symbol].declaration.is_some_and(|declaration| {
            let mut words = self.text(declaration).split_whitespace().take(4);
            words.any(|other| other == word)
        })
    }

    /// How a variable of file scope lives on the device, if it does.
    pub fn device_storage(&self, symbol: SymbolId) -> Option<DeviceStorage> {
        let place = |symbol: SymbolId| device_place(&self.symbols[symbol]);
        let variables = &self.device_code.variables;
        let first = variables.partition_point(|(known, _)| place(*known) < place(symbol));
        let mut same = variables[first..]
            .iter()
            .take_while(|(known, _)| place(*known) == place(symbol));
        let found = same.find(|(known, _)| *known == symbol);
        found.map(|(_, storage)| *storage)
    }

    /// Whether each use of a variable is written with the name that it has on the device.
    pub fn is_written_out(&self, symbol: SymbolId) -> bool {
        let names = &self.device_code.own_names;
        let declared = self.symbols[symbol].declared_at;
        declared.is_some_and(|at| {
            names
                .binary_search_by_key(&at.start(), |it| it.0.start())
                .is_ok()
        })
    }

    /// The mapper with a name (or the default one) for objects of a type, as a directive at `at` sees it.
    ///
    /// # Errors
    /// Two mappers of one scope, if the arguments of a template decide which of them is meant.
    pub fn mapper(
        &self,
        name: Option<&SmolStr>,
        ty: TypeId,
        at: TextRange,
    ) -> Result<Option<usize>, [usize; 2]> {
        let classes = ClassComparison {
            types: &self.types,
            scopes: &self.scopes,
            symbols: &self.symbols,
        };
        let mappers = self.mappers.iter().enumerate();
        let mut found: Vec<(usize, &Mapper, bool)> = mappers
            .filter(|(_, mapper)| mapper.is_found_as(name.map(SmolStr::as_str), at))
            .filter_map(|(idx, mapper)| {
                let is_same = classes.is_same((mapper.ty, mapper.at), (ty, at));
                (is_same != Some(false)).then_some((idx, mapper, is_same.is_some()))
            })
            .collect();
        found.sort_by_key(|(_, mapper, _)| mapper.visible.len());
        match found.as_slice() {
            [(one, nearest, false), (other, next, false), ..]
                if nearest.visible.end() == next.visible.end() =>
            {
                Err([*one, *other])
            }
            // One for the very class hides one whose class a template decides.
            _ => {
                let known = found.iter().find(|(_, _, is_known)| *is_known);
                Ok(known.or(found.first()).map(|(idx, ..)| *idx))
            }
        }
    }

    /// The default mapper for objects of a type, or for the elements of arrays of them.
    ///
    /// # Errors
    /// As [`mapper`](Self::mapper) has.
    pub fn default_mapper(&self, ty: TypeId, at: TextRange) -> Result<Option<usize>, [usize; 2]> {
        if self.mappers.is_empty() {
            return Ok(None);
        }
        self.mapper(None, self.types.innermost_element(ty), at)
    }

    /// The classes of the unit that make a function their friend.
    pub fn befriending<'p>(&'p self, function: &'p Function) -> impl Iterator<Item = &'p Record> {
        let records = self.friends.get(&function.name).into_iter().flatten();
        records.map(|record| &self.types.records[*record])
    }

    /// Whether the unit has anything to lower.
    pub fn has_device_constructs(&self) -> bool {
        !self.regions.is_empty()
            || !self.data_constructs.is_empty()
            || !self.declare_target.is_empty()
            || !self.device_functions.is_empty()
    }

    /// All declarations of a variable of file or namespace scope, in source order; only itself for others.
    pub fn redeclarations(&self, symbol: SymbolId) -> Vec<SymbolId> {
        self.symbol_index.redeclarations(&self.symbols, symbol)
    }
}

/// The classes of the unit by the names of the functions that they make friends.
pub(crate) fn friends(types: &TypeTable) -> FxHashMap<SmolStr, Vec<RecordId>> {
    let mut friends: FxHashMap<SmolStr, Vec<RecordId>> = FxHashMap::default();
    let records = types.records.iter();
    for (id, record) in records.filter(|(_, record)| record.body.is_some()) {
        for friend in &record.friends {
            let classes = friends.entry(friend.function.clone()).or_default();
            if classes.last() != Some(&id) {
                classes.push(id);
            }
        }
    }
    friends
}

/// The names in `#pragma weak name`.
pub(crate) fn weak_names(items: &[Item], source: &str) -> FxHashSet<SmolStr> {
    let directives = items
        .iter()
        .filter(|item| item.kind == ItemKind::OtherDirective);
    directives
        .filter_map(|item| {
            let mut words = source[item.range].split_whitespace();
            words.find(|word| *word == "weak")?;
            words.next().map(SmolStr::from)
        })
        .collect()
}

/// What variables of device code are sorted by.
pub fn device_place(symbol: &Symbol) -> TextSize {
    symbol.declared_at.map_or(0.into(), |range| range.start())
}
