//! OpenMP constructs of the unit as the user wrote them, resolved to symbols and types.

use la_arena::Idx;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use crate::item::FunctionId;
use crate::map::{MapItem, PathStep};
use crate::symbol::SymbolId;
use crate::ty::TypeId;

/// Index of a construct.
pub type ConstructId = Idx<Construct>;
/// Index of a target region.
pub type RegionId = Idx<Region>;
/// Index of a stand-alone or structured data construct.
pub type DataConstructId = Idx<DataConstruct>;
/// Index of a loop nest.
pub type LoopNestId = Idx<LoopNest>;

/// One or more directives that apply to one statement, with nothing between them.
///
/// `#pragma omp target` directly followed by `#pragma omp teams distribute` is one construct with three leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Construct {
    /// Indices into the unit's directives, outermost first.
    pub directives: Vec<usize>,
    /// The constructs they combine, outermost first.
    pub leaves: Vec<Leaf>,
    /// From the first pragma's `#` to the end of the statement.
    pub range: TextRange,
    /// The statement after the last pragma.
    pub statement: Option<TextRange>,
    /// The loops, for loop-associated constructs in canonical form.
    pub nest: Option<LoopNestId>,
    /// Explicit and predetermined data-sharing attributes.
    pub sharing: Vec<DataSharing>,
    /// Clauses and list items about sharing that name nothing known. They are errors in device code; the host compiler reads those of the host.
    pub unread: Vec<TextRange>,
    /// Alignments that its `allocate` clauses give private variables.
    pub alignments: Vec<Alignment>,
    /// The construct around it in the same region.
    pub parent: Option<ConstructId>,
    /// Constructs directly inside it, in source order.
    pub children: Vec<ConstructId>,
}

impl Construct {
    /// Whether it combines this leaf.
    pub fn has(&self, leaf: Leaf) -> bool {
        self.leaves.contains(&leaf)
    }

    /// The innermost of its constructs that makes a variable private.
    pub fn private_on(&self, symbol: SymbolId) -> Option<Leaf> {
        let copies = self.sharing.iter().filter(|sharing| {
            sharing.symbol == symbol && sharing.attribute != SharingAttribute::Shared
        });
        let place = |leaf: &Leaf| self.leaves.iter().position(|known| known == leaf);
        copies.map(|sharing| sharing.on).max_by_key(place)
    }

    /// Whether each thread has a copy of a variable: it is private inside `parallel`.
    pub fn is_private_to_threads(&self, symbol: SymbolId) -> bool {
        self.private_on(symbol)
            .is_some_and(|leaf| !matches!(leaf, Leaf::Target | Leaf::Teams | Leaf::Distribute))
    }

    /// Whether its threads are created or distributed by it.
    pub fn forks(&self) -> bool {
        self.has(Leaf::Parallel)
    }
}

/// The alignment of a construct's private variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// The variable.
    pub symbol: SymbolId,
    /// The value.
    pub value: TextRange,
}

/// An allocator that a region has by `uses_allocators`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedAllocator {
    /// The variable.
    pub allocator: SymbolId,
    /// The array with its traits, and where the clause names it.
    pub traits: Option<(SymbolId, TextRange)>,
    /// The memory space.
    pub memory_space: Option<TextRange>,
    /// Where the clause names the allocator.
    pub at: TextRange,
}

/// A data-sharing attribute of one variable on one construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSharing {
    /// The variable.
    pub symbol: SymbolId,
    /// The attribute.
    pub attribute: SharingAttribute,
    /// The innermost of the combined constructs that it is for.
    pub on: Leaf,
    /// Whether it is for the `target` among them, too.
    pub is_on_target: bool,
    /// The list item.
    pub at: TextRange,
}

/// A data-sharing attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharingAttribute {
    /// `shared`
    Shared,
    /// `private`
    Private,
    /// `firstprivate`
    Firstprivate,
    /// `lastprivate`
    Lastprivate,
    /// `linear` with its step, if not 1.
    Linear(Option<TextRange>),
    /// `copyprivate`
    Copyprivate,
    /// `reduction` of a whole variable or of sections of it.
    Reduction {
        /// The operation.
        operation: ReductionOperation,
        /// From the variable to the elements; empty for the whole variable, absent if that could not be read.
        section: Option<Vec<PathStep>>,
    },
}

/// The operation of a reduction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReductionOperation {
    /// `+` and `-`
    Add,
    /// `*`
    Multiply,
    /// `min`
    Min,
    /// `max`
    Max,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
    /// A user-declared reduction, by its [`key`](crate::program::DeclaredReduction::key).
    Declared(SmolStr),
}

impl ReductionOperation {
    /// What an operator, or another word that the language has for numbers, means.
    pub fn of_operator(word: &str) -> Option<ReductionOperation> {
        Some(match word {
            "+" | "-" => ReductionOperation::Add,
            "*" => ReductionOperation::Multiply,
            "min" => ReductionOperation::Min,
            "max" => ReductionOperation::Max,
            "&" | "bitand" => ReductionOperation::BitAnd,
            "|" | "bitor" => ReductionOperation::BitOr,
            "^" | "xor" => ReductionOperation::BitXor,
            "&&" | "and" => ReductionOperation::LogicalAnd,
            "||" | "or" => ReductionOperation::LogicalOr,
            _ => return None,
        })
    }
}

/// A target region: what becomes one kernel and its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its outermost construct; the leaves begin with `target`.
    pub construct: ConstructId,
    /// The function it stands in.
    pub function: FunctionId,
    /// Items of its `map`, `is_device_ptr` and `has_device_addr` clauses.
    pub maps: Vec<MapItem>,
    /// Implicit behaviour per category of variable.
    pub defaultmaps: Vec<(DefaultmapCategory, DefaultmapBehavior)>,
    /// Allocators with traits of the region's own.
    pub allocators: Vec<UsedAllocator>,
    /// Variables the kernel needs, ordered by first appearance in clauses, then in the body.
    pub captures: Vec<Capture>,
    /// Declarations of the enclosing functions that the body needs (types, constants), in source order.
    pub local_declarations: Vec<TextRange>,
    /// What only the compiler knows, as parameters of a kernel template: types of captured variables, in the order of their captures, and
    /// names that the enclosing function gives to types of its variables.
    pub deduced: Vec<SymbolId>,
    /// Captured variables where they are named with a qualifier: `config::level`.
    pub qualified_uses: Vec<(TextRange, SymbolId)>,
    /// The words for the function around them, `__func__`, that macros in the region hold, and what they say.
    pub function_words: Vec<(SmolStr, SmolStr)>,
    /// Macro calls that name such variables.
    pub qualified_calls: Vec<MacroCall>,
    /// Uses of class members without `this->`, to be qualified in the kernel.
    pub member_uses: Vec<TextRange>,
    /// Uses of the word `this`.
    pub this_uses: Vec<TextRange>,
    /// Names of the functions it calls.
    pub calls: Vec<Call>,
    /// File-scope variables of the device it names (no capture).
    pub device_globals: Vec<SymbolId>,
}

impl Region {
    /// Gives back room that its lists have left: a file may have very many regions.
    pub(crate) fn compact(&mut self) {
        compact(&mut self.maps);
        self.captures.shrink_to_fit();
        self.local_declarations.shrink_to_fit();
        self.qualified_uses.shrink_to_fit();
        self.calls.shrink_to_fit();
    }
}

fn compact(maps: &mut Vec<MapItem>) {
    maps.shrink_to_fit();
    for item in maps {
        item.steps.shrink_to_fit();
    }
}

/// A macro call that names variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroCall {
    /// The call.
    pub range: TextRange,
    /// The call written out as far as these names.
    pub expansion: String,
    /// Where the names stand in that text, in order, and what they mean.
    pub names: Vec<(TextRange, SymbolId)>,
}

impl MacroCall {
    /// The call written out with other words for the variables that have some.
    pub fn written_with(&self, word: impl Fn(SymbolId) -> Option<String>) -> String {
        let mut text = self.expansion.clone();
        for (at, symbol) in self.names.iter().rev() {
            if let Some(word) = word(*symbol) {
                text.replace_range(std::ops::Range::<usize>::from(*at), &word);
            }
        }
        text
    }
}

/// A call in a region or a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The unqualified name called.
    pub name: SmolStr,
    /// The place of the name.
    pub at: TextRange,
    /// What is called.
    pub callee: Callee,
}

/// What a [`Call`] calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A function, or an object that acts as one.
    Function,
    /// A member of an object: `x.f()`, `p->f()`.
    Member,
}

impl Call {
    /// A call of a function.
    pub fn of_function(name: impl Into<SmolStr>, at: TextRange) -> Call {
        Call {
            name: name.into(),
            at,
            callee: Callee::Function,
        }
    }

    /// A call of a member of an object.
    pub fn of_member(name: impl Into<SmolStr>, at: TextRange) -> Call {
        Call {
            name: name.into(),
            at,
            callee: Callee::Member,
        }
    }
}

/// A variable a region needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The variable.
    pub object: CapturedObject,
    /// Its type.
    pub ty: TypeId,
    /// How its value or storage reaches the kernel.
    pub transport: Transport,
    /// No clause names it.
    pub is_implicit: bool,
    /// The region may assign to it or pass its address on.
    pub may_be_written: bool,
    /// An `atomic` or `critical` construct of the region names it: threads that share it take turns.
    pub is_updated_in_turn: bool,
    /// The region calls it as a function or passes it on, so it may be a lambda.
    pub may_be_called: bool,
    /// Its type cannot be named outside the function or class.
    pub has_local_type: bool,
    /// Its first use in the region, or the clause item.
    pub at: TextRange,
}

/// What is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapturedObject {
    /// A variable.
    Variable(SymbolId),
    /// The object of the enclosing member function.
    This,
    /// The number of elements in a dimension of an array, or of the array that a pointer points to, whose own words for it may mean
    /// another number by then. Dimension 0 is the outermost one.
    Extent(SymbolId, u8),
}

impl CapturedObject {
    /// The variable, if it is one.
    pub fn variable(self) -> Option<SymbolId> {
        match self {
            CapturedObject::Variable(symbol) => Some(symbol),
            CapturedObject::This | CapturedObject::Extent(..) => None,
        }
    }
}

/// How a captured object reaches the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// By value in the argument itself: `firstprivate` scalars up to 8 bytes.
    Literal,
    /// By value through a copy made for the launch: wide scalars, arrays, structs.
    Copy,
    /// The device address of its storage: mapped variables.
    Storage,
    /// A pointer variable whose device counterpart is passed by value.
    Pointee,
    /// A device pointer, passed on as it is: `is_device_ptr`.
    DevicePointer,
    /// The storage is a device address already: `has_device_addr`.
    DeviceAddress,
    /// Nothing travels: `private`.
    Private,
    /// As the category of the type asks, which the instantiation of a template decides.
    ByCategory,
    /// The same for `firstprivate`: objects are copied.
    CopyByCategory,
}

/// A structured or stand-alone data construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataConstruct {
    /// The construct.
    pub construct: ConstructId,
    /// Which one.
    pub kind: DataConstructKind,
    /// The function it stands in.
    pub function: FunctionId,
    /// Items of `map`, `to`, `from`, `use_device_ptr`, `use_device_addr`.
    pub maps: Vec<MapItem>,
    /// The variables of its `use_device_ptr` and `use_device_addr` where its statement names them.
    pub address_uses: Vec<(TextRange, SymbolId)>,
    /// Macro calls in its statement that name such variables.
    pub address_calls: Vec<MacroCall>,
}

impl DataConstruct {
    /// Gives back room that its lists have left.
    pub(crate) fn compact(&mut self) {
        compact(&mut self.maps);
        self.address_uses.shrink_to_fit();
    }
}

/// The data constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataConstructKind {
    /// `target data`
    Data,
    /// `target enter data`
    EnterData,
    /// `target exit data`
    ExitData,
    /// `target update`
    Update,
}

/// Variable categories of `defaultmap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultmapCategory {
    /// Every category.
    All,
    /// Scalars.
    Scalar,
    /// Arrays and classes.
    Aggregate,
    /// Pointers.
    Pointer,
}

/// Implicit behaviours of `defaultmap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultmapBehavior {
    /// The rules without the clause.
    Default,
    /// `map(alloc)`
    Alloc,
    /// `map(to)`
    To,
    /// `map(from)`
    From,
    /// `map(tofrom)`
    Tofrom,
    /// `firstprivate`
    Firstprivate,
    /// `private`
    Private,
    /// No implicit attribute.
    None,
    /// Must be present.
    Present,
}

/// Loops in canonical form, outermost first, each the only statement of the one before (comments aside).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopNest {
    /// The loops.
    pub loops: Vec<CanonicalLoop>,
    /// The innermost body statement.
    pub body: TextRange,
}

impl LoopNest {
    /// Whether the first value, the bound or the step of a loop names the variable of one around it. `source` is the unit's text.
    pub fn depends_on_outer(&self, source: &str, idx: usize) -> bool {
        let canonical = &self.loops[idx];
        let step = match canonical.step {
            LoopStep::Add(range) | LoopStep::Subtract(range) => Some(range),
            LoopStep::Increment | LoopStep::Decrement => None,
        };
        let outer = &self.loops[..idx];
        [Some(canonical.lower), Some(canonical.bound), step]
            .into_iter()
            .flatten()
            .flat_map(|range| lex::identifiers(source, range))
            .any(|name| outer.iter().any(|it| it.variable == source[name]))
    }
}

/// One loop in OpenMP canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalLoop {
    /// The whole `for` statement.
    pub range: TextRange,
    /// The iteration variable.
    pub variable: SmolStr,
    /// Its type; of the reference's object if it is one.
    pub ty: TypeId,
    /// Whether the loop declares it.
    pub declares_variable: bool,
    /// The first value.
    pub lower: TextRange,
    /// The bound of the test.
    pub bound: TextRange,
    /// The test with the variable on its left.
    pub relation: Relation,
    /// The increment.
    pub step: LoopStep,
    /// The declaration in front of the range, if the loop goes over the elements of one: `auto &x`. [`Self::lower`] is the range.
    pub element: Option<TextRange>,
    /// The block around it, if it has other statements too.
    pub among: Option<TextRange>,
}

/// The test of a canonical loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `!=`
    NotEqual,
}

/// The increment of a canonical loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopStep {
    /// `++`
    Increment,
    /// `--`
    Decrement,
    /// `+= range`
    Add(TextRange),
    /// `-= range`
    Subtract(TextRange),
}
