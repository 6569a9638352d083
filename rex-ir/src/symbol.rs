//! Names: variables, functions, types, and the scopes in which they are visible.

mod scopes;

use std::ops::Deref;

use la_arena::Idx;
use rex_syntax::TextRange;
use smol_str::{SmolStr, format_smolstr};

pub use self::scopes::{Homonyms, Names, Scope, ScopeTree, Using};

use crate::namer;
use crate::ty::TypeId;

/// Index of a symbol.
pub type SymbolId = Idx<Symbol>;
/// Index of a scope.
pub type ScopeId = Idx<Scope>;

/// A named entity of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its unqualified name.
    pub name: SmolStr,
    /// What it is.
    pub kind: SymbolKind,
    /// Its type; functions have their return type.
    pub ty: TypeId,
    /// Where its declarator stands in the unit's file; absent for names from headers.
    pub declared_at: Option<TextRange>,
    /// The initializer in the unit's file.
    pub initializer: Option<TextRange>,
    /// The whole declaration statement it came from, in the unit's file.
    pub declaration: Option<TextRange>,
    /// The namespaces or classes around a variable that outlives its function: `config::`, `A::B::`.
    pub qualifier: Qualifier,
    /// What the host calls it where its name says too little: `this->v`, `Box<int>::count`.
    pub spelled: Option<Box<SmolStr>>,
}

/// What stands before a name: empty for most, which then takes little room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qualifier(Option<Box<SmolStr>>);

impl From<SmolStr> for Qualifier {
    fn from(text: SmolStr) -> Qualifier {
        Qualifier((!text.is_empty()).then(|| Box::new(text)))
    }
}

impl Deref for Qualifier {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_deref().map_or("", SmolStr::as_str)
    }
}

impl Symbol {
    /// The name by which it can be reached from everywhere.
    pub fn qualified_name(&self) -> SmolStr {
        if let Some(spelled) = &self.spelled {
            return (**spelled).clone();
        }
        format_smolstr!("{}{}", self.named_qualifier(), self.name)
    }

    /// The name that its declaration gives it: where others have that, too, kernels call it otherwise.
    pub fn declared_name(&self) -> &str {
        match &self.spelled {
            Some(spelled) if matches!(self.kind, SymbolKind::Global | SymbolKind::StaticField) => {
                spelled.rsplit("::").next().unwrap_or(spelled)
            }
            _ => &self.name,
        }
    }

    /// Its qualifier without the namespaces that have no name.
    pub fn named_qualifier(&self) -> String {
        without_unnamed(&self.qualifier)
    }

    /// Whether it stands for a member of the function's own object: `v` of `this->v`.
    pub fn is_own_member(&self) -> bool {
        self.kind == SymbolKind::Local && self.spelled.is_some()
    }

    /// Whether its scope sees it before its declaration, too.
    fn is_visible_throughout(&self) -> bool {
        matches!(
            self.kind,
            SymbolKind::Field | SymbolKind::StaticField | SymbolKind::Function
        ) || self.declared_at.is_none()
    }

    /// Whether its scope sees it at a place.
    fn is_visible(&self, at: TextRange) -> bool {
        let is_declared = |declared: TextRange| declared.start() <= at.start();
        self.is_visible_throughout() || self.declared_at.is_some_and(is_declared)
    }
}

fn without_unnamed(qualifier: &str) -> String {
    qualifier.replace(&format!("{}::", namer::UNNAMED_NAMESPACE), "")
}

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A block-scope variable.
    Local,
    /// A block-scope `static` or `thread_local` variable.
    StaticLocal,
    /// A function parameter.
    Parameter,
    /// A namespace-scope or file-scope variable.
    Global,
    /// A non-static data member, inside its class.
    Field,
    /// A static data member, inside its class.
    StaticField,
    /// A function.
    Function,
    /// An enumerator.
    Enumerator,
    /// A typedef, class, enum or template type parameter.
    Type,
    /// A template value parameter.
    TemplateValue,
}

impl SymbolKind {
    /// Whether it is an object a region may capture.
    pub fn is_variable(self) -> bool {
        match self {
            SymbolKind::Local
            | SymbolKind::StaticLocal
            | SymbolKind::Parameter
            | SymbolKind::Global
            | SymbolKind::StaticField => true,
            SymbolKind::Field
            | SymbolKind::Function
            | SymbolKind::Enumerator
            | SymbolKind::Type
            | SymbolKind::TemplateValue => false,
        }
    }

    /// Whether a call of its function has an object of its own.
    pub fn is_automatic(self) -> bool {
        matches!(self, SymbolKind::Local | SymbolKind::Parameter)
    }
}
