//! Types as the lowering needs them: symbolic spellings with enough structure to classify and re-declare.
//!
//! A type keeps the words the user wrote (`size_t`, `struct cell`, `T`) and knows, where it could be found out, what they mean. Kernel signatures are
//! printed from the words; the meaning decides how a variable travels to the device.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use la_arena::{Arena, Idx};
use rex_syntax::TextRange;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::expr::Expr;

/// Index of an interned type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);

/// Index of a class, struct or union definition.
pub type RecordId = Idx<Record>;

/// A type: qualifiers and structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// `const` at this level.
    pub is_const: bool,
    /// `volatile` at this level.
    pub is_volatile: bool,
    /// The structure.
    pub kind: TypeKind,
}

/// The structure of a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// A type named by specifiers.
    Named {
        /// The specifiers without storage class and qualifiers: `unsigned long`, `struct cell`, `std::size_t`.
        spelling: SmolStr,
        /// What they mean.
        meaning: Meaning,
    },
    /// `T *`
    Pointer(TypeId),
    /// `T &` or `T &&`
    Reference(TypeId),
    /// `T [extent]`
    Array {
        /// The element type.
        element: TypeId,
        /// The number of elements.
        extent: Extent,
    },
    /// A function; the text is the parameter list with parentheses.
    Function {
        /// The return type.
        returns: TypeId,
        /// `(int, double)`
        parameters: SmolStr,
    },
}

/// What the specifiers of a [`TypeKind::Named`] mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// `void`
    Void,
    /// `bool`, `_Bool`
    Bool,
    /// An integer type. `bits` on an LP64 system.
    Integer {
        /// Width.
        bits: u8,
        /// Signedness; plain `char` counts as signed.
        signed: bool,
    },
    /// `float`, `double`, `_Float16`.
    Float {
        /// Width.
        bits: u8,
    },
    /// `long double`, `__float128`, complex types: arithmetic, wider than a kernel argument or without a device counterpart.
    WideArithmetic,
    /// An enumeration.
    Enum,
    /// A struct, class or union. The record is known when its definition was seen.
    Record(Option<RecordId>),
    /// A typedef or alias of another type.
    Alias(TypeId),
    /// A template parameter or a type that depends on one.
    Dependent,
    /// `auto` whose initializer does not decide it.
    Auto,
    /// Nothing is known.
    Unknown,
}

/// The number of elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// A constant expression, in the words of the source.
    Constant(SmolStr),
    /// An expression evaluated at run time (a variable length array).
    Runtime(SmolStr),
    /// `[]`, or decided by the initializer.
    Unknown,
}

/// A class, struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The tag, or the typedef name of an untagged one, or a name made for it.
    pub name: SmolStr,
    /// The name is made: the user's text has none.
    pub is_untagged: bool,
    /// It is a union.
    pub is_union: bool,
    /// Its scalars lie in memory in the order that `scalar_storage_order` gives.
    pub is_reversed: bool,
    /// Members that are structs or unions without a name: where their own members begin among the fields.
    pub unnamed: Vec<(usize, RecordId)>,
    /// Direct data members in declaration order.
    pub fields: Vec<Field>,
    /// Direct bases.
    pub bases: Vec<Base>,
    /// A direct base is declared `virtual`.
    pub has_virtual_bases: bool,
    /// Member functions.
    pub methods: Vec<Method>,
    /// Functions that may use its private members.
    pub friends: Vec<Friend>,
    /// The class body in the unit's file, braces included.
    pub body: Option<TextRange>,
}

impl Record {
    /// Whether it is what a class template is for some arguments: `template <> struct Box<int> { .. }`.
    pub fn is_specialization(&self) -> bool {
        self.name.contains('<')
    }

    /// Whether its objects point to a table of the class, as far as its own text says: for virtual functions or bases.
    pub fn has_table(&self) -> bool {
        self.has_virtual_bases || self.methods.iter().any(|method| method.is_marked_virtual)
    }

    /// The member function of this name; the first of several.
    pub fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// The declaration that makes functions of this name friends.
    pub fn friend(&self, function: &str) -> Option<&Friend> {
        self.friends
            .iter()
            .find(|friend| friend.function == function)
    }
}

/// A base of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// As the class writes it: `lib::Box<T>`.
    pub name: SmolStr,
    /// The classes that it may be: the one that scopes find, else all with its name.
    pub classes: Vec<RecordId>,
}

impl Base {
    /// A base that is known by name.
    pub fn new(name: impl Into<SmolStr>) -> Base {
        Base {
            name: name.into(),
            classes: Vec::new(),
        }
    }

    /// The name without namespaces and arguments: `Box`.
    pub fn plain_name(&self) -> &str {
        let plain = self.name.split('<').next().unwrap_or_default();
        plain.rsplit("::").next().unwrap_or_default().trim()
    }
}

/// A function that a class makes its friend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Friend {
    /// Its plain name.
    pub function: SmolStr,
    /// What stands before the name: the class or the namespace it is of.
    pub qualifier: Option<SmolStr>,
}

/// A member function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: SmolStr,
    /// What it returns.
    pub returns: TypeId,
    /// It has no object.
    pub is_static: bool,
    /// It is declared `virtual`, `override` or `final`.
    pub is_marked_virtual: bool,
}

/// A data member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: SmolStr,
    /// Its type.
    pub ty: TypeId,
    /// Whether it is a static member.
    pub is_static: bool,
    /// The constant value that the class itself gives a static member.
    pub constant: Option<SmolStr>,
    /// Whether it has a width in bits, and so no address.
    pub is_bit_field: bool,
}

/// All types of a program, interned.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: IndexSet<Type>,
    /// Names of classes that variables or functions have too, so that only `struct` says which is meant.
    pub(crate) hidden: BTreeSet<SmolStr>,
    /// The records.
    pub records: Arena<Record>,
}

impl TypeTable {
    /// Interns a type.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        let (idx, _) = self.types.insert_full(ty);
        TypeId(u32::try_from(idx).expect("fewer than 2^32 types"))
    }

    /// Interns an unqualified type.
    pub fn plain(&mut self, kind: TypeKind) -> TypeId {
        self.intern(Type {
            is_const: false,
            is_volatile: false,
            kind,
        })
    }

    /// Interns a named type.
    pub fn named(&mut self, spelling: impl Into<SmolStr>, meaning: Meaning) -> TypeId {
        self.plain(TypeKind::Named {
            spelling: spelling.into(),
            meaning,
        })
    }

    /// The type behind an id.
    pub fn get(&self, id: TypeId) -> &Type {
        self.types
            .get_index(id.0 as usize)
            .expect("ids come from this table")
    }

    /// Number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are no types.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Follows aliases.
    pub fn desugar(&self, mut id: TypeId) -> TypeId {
        while let TypeKind::Named {
            meaning: Meaning::Alias(next),
            ..
        } = &self.get(id).kind
        {
            id = *next;
        }
        id
    }

    /// Follows aliases and references.
    pub fn object_type(&self, id: TypeId) -> TypeId {
        let id = self.desugar(id);
        match &self.get(id).kind {
            TypeKind::Reference(to) => self.desugar(*to),
            _ => id,
        }
    }

    /// Whether a type is a reference or an alias of one.
    pub fn is_reference(&self, id: TypeId) -> bool {
        matches!(self.get(self.desugar(id)).kind, TypeKind::Reference(_))
    }

    /// Whether objects of the type have no bytes, as GNU C has arrays of no elements and structs of no members.
    pub fn is_empty_object(&self, id: TypeId) -> bool {
        self.has_no_bytes(id, &mut BTreeSet::new())
    }

    /// The same, given classes that have none: a class may have many parts of another one.
    fn has_no_bytes(&self, id: TypeId, empty: &mut BTreeSet<RecordId>) -> bool {
        match &self.get(self.desugar(id)).kind {
            TypeKind::Array { element, extent } => {
                matches!(extent, Extent::Constant(words) if words == "0")
                    || self.has_no_bytes(*element, empty)
            }
            TypeKind::Named {
                meaning: Meaning::Record(Some(record)),
                ..
            } => {
                self.records[*record].body.is_some()
                    && (!empty.insert(*record)
                        || self
                            .parts(*record)
                            .all(|part| self.has_no_bytes(part, empty)))
            }
            _ => false,
        }
    }

    /// The type without `const` and `volatile` at its top level.
    pub fn unqualified(&mut self, id: TypeId) -> TypeId {
        let ty = self.get(id);
        if !ty.is_const && !ty.is_volatile {
            return id;
        }
        let kind = ty.kind.clone();
        self.plain(kind)
    }

    /// What a variable of the type is to the data environment.
    pub fn category(&self, id: TypeId) -> Category {
        match &self.get(self.object_type(id)).kind {
            TypeKind::Pointer(_) => Category::Pointer,
            TypeKind::Array { .. } => Category::Aggregate,
            TypeKind::Function { .. } => Category::Function,
            TypeKind::Reference(_) => Category::Unknown,
            TypeKind::Named { meaning, .. } => match meaning {
                Meaning::Bool | Meaning::Integer { .. } | Meaning::Float { .. } | Meaning::Enum => {
                    Category::Scalar
                }
                Meaning::WideArithmetic => Category::WideScalar,
                Meaning::Record(_) => Category::Aggregate,
                Meaning::Dependent => Category::Dependent,
                Meaning::Void | Meaning::Alias(_) | Meaning::Auto | Meaning::Unknown => {
                    Category::Unknown
                }
            },
        }
    }

    /// Whether a type is `auto`, or a pointer or reference to it, and no initializer that rex can read decides it.
    pub fn mentions_auto(&self, id: TypeId) -> bool {
        match &self.get(id).kind {
            TypeKind::Named { meaning, .. } => *meaning == Meaning::Auto,
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.mentions_auto(*to),
            TypeKind::Array { .. } | TypeKind::Function { .. } => false,
        }
    }

    /// The element type of an array or the pointee of a pointer, aliases followed.
    pub fn element(&self, id: TypeId) -> Option<TypeId> {
        match &self.get(self.object_type(id)).kind {
            TypeKind::Array { element, .. } => Some(*element),
            TypeKind::Pointer(to) => Some(*to),
            TypeKind::Named { .. } | TypeKind::Reference(_) | TypeKind::Function { .. } => None,
        }
    }

    /// The element type after all array dimensions are removed.
    pub fn innermost_element(&self, mut id: TypeId) -> TypeId {
        while let TypeKind::Array { element, .. } = &self.get(self.object_type(id)).kind {
            id = *element;
        }
        id
    }

    /// Whether an object of the type is `const`, or the elements of an array are, aliases followed.
    pub fn is_constant(&self, id: TypeId) -> bool {
        self.is_qualified(id, |ty| ty.is_const)
    }

    /// Whether a type says so of its objects, or of the elements of an array, aliases followed.
    pub fn is_qualified(&self, mut id: TypeId, says: impl Fn(&Type) -> bool) -> bool {
        loop {
            let ty = self.get(id);
            match &ty.kind {
                _ if says(ty) => return true,
                TypeKind::Named {
                    meaning: Meaning::Alias(next),
                    ..
                } => id = *next,
                TypeKind::Array { element, .. } => id = *element,
                _ => return false,
            }
        }
    }

    /// Whether an array type has a dimension known only at run time, at any level, also behind a pointer.
    pub fn is_variably_modified(&self, id: TypeId) -> bool {
        match &self.get(self.object_type(id)).kind {
            TypeKind::Array { element, extent } => {
                matches!(extent, Extent::Runtime(_)) || self.is_variably_modified(*element)
            }
            TypeKind::Pointer(to) => self.is_variably_modified(*to),
            TypeKind::Named { .. } | TypeKind::Reference(_) | TypeKind::Function { .. } => false,
        }
    }

    /// Extents of an array type, outermost first.
    pub fn extents(&self, id: TypeId) -> Vec<Expr> {
        let mut extents = Vec::new();
        let mut current = id;
        while let TypeKind::Array { element, extent } = &self.get(self.object_type(current)).kind {
            extents.push(match extent {
                Extent::Constant(text) | Extent::Runtime(text) => Expr::Words(text.clone()),
                Extent::Unknown => Expr::Int(0),
            });
            current = *element;
        }
        extents
    }

    /// The member of a record type with this name; direct members only.
    pub fn field(&self, id: TypeId, name: &str) -> Option<&Field> {
        let record = self.record(id)?;
        self.records[record]
            .fields
            .iter()
            .find(|field| field.name == name)
    }

    /// The types of the objects that an object of a class holds: its members, but not static ones and references.
    ///
    /// No class holds itself: such a member of a program that is wrong has no known type.
    pub fn parts(&self, record: RecordId) -> impl Iterator<Item = TypeId> {
        let own = self.records[record].fields.iter();
        own.filter(|field| !field.is_static && !self.is_reference(field.ty))
            .map(|field| field.ty)
    }

    /// The base classes of a class, itself in damaged text too.
    pub fn bases(&self, record: RecordId) -> impl Iterator<Item = RecordId> {
        let bases = self.records[record].bases.iter();
        bases.flat_map(|base| &base.classes).copied()
    }

    /// Gives bases that no scope has found, such as those of classes of headers, the classes of their names.
    pub(crate) fn find_bases_by_name(&mut self) {
        let mut named: FxHashMap<SmolStr, Vec<RecordId>> = FxHashMap::default();
        for (id, record) in self.records.iter() {
            named.entry(record.name.clone()).or_default().push(id);
        }
        let bases = self.records.values_mut().flat_map(|it| &mut it.bases);
        for base in bases.filter(|base| base.classes.is_empty()) {
            if let Some(classes) = named.get(base.plain_name()) {
                base.classes.clone_from(classes);
            }
        }
    }

    /// A class, its bases and the classes of its members, and theirs in turn: each once, as damaged text has them in circles.
    pub fn classes_in(&self, record: RecordId) -> IndexSet<RecordId> {
        reached_from(record, |class, found| {
            found.extend(self.bases(class));
            let parts = self.parts(class);
            found.extend(parts.filter_map(|part| self.record(self.innermost_element(part))));
        })
    }

    /// The same for the class of objects of a type, or of elements of it; none for other types.
    pub fn classes_of(&self, id: TypeId) -> IndexSet<RecordId> {
        let record = self.record(self.innermost_element(id));
        record.map_or_else(IndexSet::new, |record| self.classes_in(record))
    }

    /// A class, its bases, and theirs in turn: each once.
    pub fn with_bases(&self, record: RecordId) -> IndexSet<RecordId> {
        reached_from(record, |class, found| found.extend(self.bases(class)))
    }

    /// Whether objects of the two types are of the same class, or of the same unqualified type.
    ///
    /// A class may have two records: its definition, and what a header or its own members say about it.
    pub fn is_same_object(&self, a: TypeId, b: TypeId) -> bool {
        match (self.record(a), self.record(b)) {
            (Some(a), Some(b)) => self.records[a].name == self.records[b].name,
            (None, None) => {
                self.get(self.object_type(a)).kind == self.get(self.object_type(b)).kind
            }
            _ => false,
        }
    }

    /// Whether `.x` of an object may mean something, as far as the type is known.
    pub fn may_have_members(&self, id: TypeId) -> bool {
        match self.category(id) {
            Category::Scalar | Category::WideScalar | Category::Pointer | Category::Function => {
                false
            }
            Category::Aggregate => !matches!(
                self.get(self.object_type(self.desugar(id))).kind,
                TypeKind::Array { .. }
            ),
            Category::Dependent | Category::Unknown => true,
        }
    }

    /// The record behind a type.
    pub fn record(&self, id: TypeId) -> Option<RecordId> {
        match &self.get(self.object_type(id)).kind {
            TypeKind::Named {
                meaning: Meaning::Record(record),
                ..
            } => *record,
            _ => None,
        }
    }

    /// Whether text can name the type: it is not `auto`, and made of no class without a tag.
    pub fn has_name(&self, id: TypeId) -> bool {
        match &self.get(id).kind {
            TypeKind::Named { meaning, .. } => match meaning {
                Meaning::Auto => false,
                Meaning::Record(Some(record)) => !self.records[*record].is_untagged,
                _ => true,
            },
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.has_name(*to),
            TypeKind::Array { element, .. } => self.has_name(*element),
            TypeKind::Function { .. } => true,
        }
    }

    /// Declares `name` with this type, in C.
    ///
    /// `declare(double[4], "x")` is `double x[4]`; a pointer to an array gets its parentheses. An empty name gives the type alone.
    pub fn declare(&self, id: TypeId, name: &str) -> String {
        self.declarator(id, name.to_string())
    }

    /// Declares `name` with this type, or as a pointer or reference to it: `sign` is empty, `*` or `&`.
    pub fn declare_behind(&self, sign: &str, to: TypeId, name: &str) -> String {
        match sign.is_empty() {
            true => self.declare(to, name),
            false => self.declarator(to, self.prefixed(to, sign, "", name.to_string())),
        }
    }

    /// Declares `name` with this type without `const` and `volatile` at its top level (of the elements, for an array).
    pub fn declare_mutable(&self, id: TypeId, name: &str) -> String {
        let ty = self.get(id);
        match &ty.kind {
            TypeKind::Named { spelling, meaning } => {
                let gap = if name.is_empty() { "" } else { " " };
                format!("{}{spelling}{gap}{name}", self.keyword(spelling, meaning))
            }
            TypeKind::Pointer(to) => {
                self.declarator(*to, self.prefixed(*to, "*", "", name.to_string()))
            }
            TypeKind::Array { element, extent } => {
                let extent = match extent {
                    Extent::Constant(text) | Extent::Runtime(text) => text.as_str(),
                    Extent::Unknown => "",
                };
                self.declare_mutable(*element, &format!("{name}[{extent}]"))
            }
            TypeKind::Reference(_) | TypeKind::Function { .. } => self.declare(id, name),
        }
    }

    /// The type as written in a cast.
    pub fn spell(&self, id: TypeId) -> String {
        self.declarator(id, String::new())
    }

    /// What stands in front of the name of a hidden class.
    fn keyword(&self, spelling: &SmolStr, meaning: &Meaning) -> &'static str {
        let Meaning::Record(record) = meaning else {
            return "";
        };
        let is_union = record.is_some_and(|record| self.records[record].is_union);
        match (self.hidden.contains(spelling), is_union) {
            (false, _) => "",
            (true, false) => "struct ",
            (true, true) => "union ",
        }
    }

    fn declarator(&self, id: TypeId, inner: String) -> String {
        let ty = self.get(id);
        let qualifiers = match (ty.is_const, ty.is_volatile) {
            (false, false) => "",
            (true, false) => "const ",
            (false, true) => "volatile ",
            (true, true) => "const volatile ",
        };
        match &ty.kind {
            TypeKind::Named { spelling, meaning } => {
                let gap = if inner.is_empty() { "" } else { " " };
                let keyword = self.keyword(spelling, meaning);
                format!("{qualifiers}{keyword}{spelling}{gap}{inner}")
            }
            TypeKind::Pointer(to) => {
                self.declarator(*to, self.prefixed(*to, "*", qualifiers, inner))
            }
            TypeKind::Reference(to) => {
                self.declarator(*to, self.prefixed(*to, "&", qualifiers, inner))
            }
            TypeKind::Array { element, extent } => {
                let extent = match extent {
                    Extent::Constant(text) | Extent::Runtime(text) => text.as_str(),
                    Extent::Unknown => "",
                };
                self.declarator(*element, format!("{inner}[{extent}]"))
            }
            TypeKind::Function {
                returns,
                parameters,
            } => self.declarator(*returns, format!("{inner}{parameters}")),
        }
    }

    fn prefixed(&self, to: TypeId, sign: &str, qualifiers: &str, inner: String) -> String {
        let marked = match (qualifiers.is_empty(), inner.is_empty()) {
            (true, _) => format!("{sign}{inner}"),
            (false, true) => format!("{sign}{}", qualifiers.trim_end()),
            (false, false) => format!("{sign}{qualifiers}{inner}"),
        };
        match self.get(to).kind {
            TypeKind::Array { .. } | TypeKind::Function { .. } => format!("({marked})"),
            TypeKind::Named { .. } | TypeKind::Pointer(_) | TypeKind::Reference(_) => marked,
        }
    }
}

/// OpenMP's categories of variables, as `defaultmap` counts them, and what lies outside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Arithmetic or enumeration, at most 8 bytes.
    Scalar,
    /// Arithmetic, wider than 8 bytes.
    WideScalar,
    /// Array, struct, class, union.
    Aggregate,
    /// A pointer.
    Pointer,
    /// A function.
    Function,
    /// Depends on a template parameter.
    Dependent,
    /// Not known.
    Unknown,
}

/// A class and those that it leads to, by what each adds.
fn reached_from(
    record: RecordId,
    add: impl Fn(RecordId, &mut IndexSet<RecordId>),
) -> IndexSet<RecordId> {
    let mut found = IndexSet::from([record]);
    let mut next = 0;
    while let Some(class) = found.get_index(next).copied() {
        next += 1;
        add(class, &mut found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;

    #[test]
    fn bases_are_found_by_scopes() {
        let program = program(
            "namespace a { struct Box { int a; }; template <class T> struct List {}; }
             namespace b { struct Box { int b; }; }
             struct First : a::Box {};
             struct Second : private virtual b::Box, public a::List<int> {};
             template <class T> struct Third : a::List<T>, T {};
             template <class T> struct Fourth : Third<Second>, First {};
             void f() {
             #pragma omp target
             ;
             }",
        );
        let types = &program.types;
        let named = |name: &str| {
            let mut records = types.records.iter();
            let found = records.find(|(_, record)| record.name == name);
            found.expect("it is defined").0
        };
        let bases = |name: &str| {
            let bases = types.bases(named(name));
            bases.map(|base| &types.records[base]).collect::<Vec<_>>()
        };
        let names = |name: &str| {
            let bases = bases(name).into_iter();
            bases.map(|base| base.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("First"), ["Box"]);
        assert_eq!(bases("First")[0].fields[0].name, "a");
        assert_eq!(names("Second"), ["Box", "List"]);
        assert_eq!(bases("Second")[0].fields[0].name, "b");
        assert_eq!(names("Third"), ["List"]);
        assert_eq!(names("Fourth"), ["Third", "First"]);
        let all = types.with_bases(named("Fourth"));
        assert_eq!(all.len(), 5);
        assert!(all.contains(&named("List")));
    }

    #[test]
    fn declarators_keep_their_parentheses() {
        let mut types = TypeTable::default();
        let double = types.named("double", Meaning::Float { bits: 64 });
        let row = types.plain(TypeKind::Array {
            element: double,
            extent: Extent::Constant("M".into()),
        });
        let rows = types.plain(TypeKind::Pointer(row));
        assert_eq!(types.declare(rows, "a"), "double (*a)[M]");
        let matrix = types.plain(TypeKind::Array {
            element: row,
            extent: Extent::Constant("N".into()),
        });
        assert_eq!(types.declare(matrix, "a"), "double a[N][M]");
        let reference = types.plain(TypeKind::Reference(matrix));
        assert_eq!(types.declare(reference, "a"), "double (&a)[N][M]");
        let constant = types.intern(Type {
            is_const: true,
            is_volatile: false,
            kind: TypeKind::Pointer(double),
        });
        assert_eq!(types.declare(constant, "p"), "double *const p");
    }
}
