//! Host code that makes the compiler instantiate the kernels of templates.
//!
//! A region in a template has one kernel for each instantiation that the file uses. No list of them is made here: the device file keeps the calls, declarations and
//! templates that lead to one, and its compiler finds the instantiations as the host's compiler does. That code is never executed.

use indexmap::{IndexMap, IndexSet};
use rex_syntax::TextRange;
use smol_str::SmolStr;

use crate::item::FunctionId;
use crate::kernel::BodyText;
use crate::region::{Call, RegionId};
use crate::symbol::SymbolId;

/// What leads to the instantiations of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instances {
    /// Functions that lead to one, in source order.
    pub functions: IndexMap<FunctionId, Instantiator>,
    /// Variables of file scope whose initializers do.
    pub initializers: Vec<SymbolId>,
    /// Every name in the kept code.
    pub names: IndexSet<SmolStr>,
    /// Explicit instantiations.
    pub explicit: Vec<TextRange>,
    /// Lambdas in the kept code, in source order: kernels may call them.
    pub closures: Vec<Closure>,
}

impl Instances {
    /// Whether nothing has to be instantiated.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// What is kept of a function, if it leads to an instantiation.
    pub fn of_function(&self, function: FunctionId) -> Option<&Instantiator> {
        self.functions.get(&function)
    }
}

/// A lambda that device code may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The lambda expression.
    pub range: TextRange,
    /// Arguments of the templates and generic lambdas around it, as types.
    pub around: Vec<SmolStr>,
    /// Expressions for the addresses that captured pointers and references hold.
    pub targets: Vec<SmolStr>,
    /// What its body calls.
    pub calls: Vec<Call>,
    /// Variables of file scope that its body names.
    pub globals: Vec<SymbolId>,
    /// The lambda with replacements for the directives in it.
    pub body: BodyText,
}

/// A function that leads to instantiations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instantiator {
    /// The function.
    pub function: FunctionId,
    /// Statements of its body that do not matter, in order and disjoint.
    pub removed: Vec<TextRange>,
    /// Regions in what remains. Those of a template give place to the name of their kernel, others to nothing.
    pub regions: Vec<RegionId>,
    /// Lambdas in what remains that stay as they are.
    pub closures: Vec<TextRange>,
    /// `return` statements, with the returned expression, of a function whose type does not matter.
    pub returns: Vec<(TextRange, TextRange)>,
}
