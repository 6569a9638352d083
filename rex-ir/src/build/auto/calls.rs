//! Types of calls: of functions, members and containers of the standard library.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;

use crate::build::Builder;
use crate::build::names::template_arguments;
use crate::symbol::{Symbol, SymbolId, SymbolKind};
use crate::ty::{Category, Meaning, TypeId, TypeKind};

impl Builder<'_> {
    pub(super) fn call_type(&mut self, node: Node<'_>, at: TextRange) -> Option<TypeId> {
        let function = node.field(Field::Function)?;
        match function.kind() {
            Kind::Identifier => {
                let Some(symbol) = self.scopes.resolve(&self.symbols, function.text(), at) else {
                    return self
                        .header_function_type(function.text())
                        .filter(|ty| !self.may_be_overloaded(*ty))
                        .or_else(|| self.builtin_type(function.text()));
                };
                let found = &self.symbols[symbol];
                match found.kind {
                    SymbolKind::Function => self.only_result(symbol),
                    SymbolKind::Type if self.lacks_template_arguments(function, at) => None,
                    SymbolKind::Type => Some(found.ty),
                    _ => None,
                }
            }
            Kind::TemplateFunction => {
                // static_cast<T>(x) and its relatives.
                let name = function.field(Field::Name)?.text();
                if !name.ends_with("_cast") {
                    return None;
                }
                let ty = function
                    .field(Field::Arguments)?
                    .children()
                    .find(|child| child.kind() == Kind::TypeDescriptor)?;
                Some(self.descriptor_type(ty, at))
            }
            Kind::PrimitiveType | Kind::Decltype => Some(self.specifier_type(function, at)),
            Kind::FieldExpression => self.member_call_type(function, at),
            Kind::LambdaExpression => self.lambda_result(function),
            _ => None,
        }
    }

    /// What a lambda returns that is called where it stands, if it says so or its first result does.
    fn lambda_result(&mut self, lambda: Node<'_>) -> Option<TypeId> {
        let said = lambda.field(Field::Declarator).and_then(|declarator| {
            let mut parts = declarator.children();
            parts.find(|part| part.kind() == Kind::TrailingReturnType)
        });
        if let Some(said) = said {
            let ty = said
                .children()
                .find(|child| child.kind() == Kind::TypeDescriptor)?;
            return Some(self.descriptor_type(ty, ty.range()));
        }
        let body = lambda.field(Field::Body)?;
        let is_own = |statement: &Node<'_>| {
            let mut around = statement.ancestors();
            let inner = around.find(|outer| outer.kind() == Kind::LambdaExpression);
            inner.is_some_and(|inner| inner.range() == lambda.range())
        };
        let mut results = body
            .descendants()
            .filter(|node| node.kind() == Kind::ReturnStatement);
        let value = results.find(is_own)?.only_child()?;
        let ty = self.expression_type(value, value.range(), 0)?;
        Some(self.types.unqualified(self.types.object_type(ty)))
    }

    /// What a function of GNU C returns that no header declares, if it is a pointer: `__builtin_alloca(n)`.
    fn builtin_type(&mut self, name: &str) -> Option<TypeId> {
        const GIVE_ADDRESSES: [&str; 10] = [
            "aligned_alloc",
            "alloca",
            "calloc",
            "malloc",
            "memchr",
            "memcpy",
            "memmove",
            "mempcpy",
            "memset",
            "realloc",
        ];
        let plain = name.strip_prefix("__builtin_").unwrap_or(name);
        let is_c = self.unit.language == Language::C;
        (is_c && GIVE_ADDRESSES.contains(&plain)).then(|| {
            let void = self.types.named("void", Meaning::Void);
            self.types.plain(TypeKind::Pointer(void))
        })
    }

    /// What a function returns, if all functions of its name return the same.
    fn only_result(&self, function: SymbolId) -> Option<TypeId> {
        let found = &self.symbols[function];
        let is_other = |(_, other): (SymbolId, &Symbol)| {
            other.kind == SymbolKind::Function
                && other.name == found.name
                && !self.types.is_same_object(other.ty, found.ty)
        };
        let is_known = self.types.category(found.ty) != Category::Dependent;
        (is_known && !self.symbols.iter().any(is_other)).then_some(found.ty)
    }

    /// Whether C++ has other functions of the name of one of a header that returns this type: `sqrt` of a `float` is a `float`.
    fn may_be_overloaded(&self, returns: TypeId) -> bool {
        self.unit.language == Language::Cxx
            && matches!(
                self.types.get(self.types.object_type(returns)).kind,
                TypeKind::Named {
                    meaning: Meaning::Float { .. } | Meaning::WideArithmetic,
                    ..
                }
            )
    }

    /// The type of `object.name()`.
    fn member_call_type(&mut self, function: Node<'_>, at: TextRange) -> Option<TypeId> {
        let object = self.expression_type(function.field(Field::Argument)?, at, 0)?;
        let object = self.object_of_member(function, object, at);
        self.result_of_member(object, function.field(Field::Field)?.text(), at)
    }

    /// What a member function of an object returns: `size`, `operator[]`.
    pub(super) fn result_of_member(
        &mut self,
        object: TypeId,
        name: &str,
        at: TextRange,
    ) -> Option<TypeId> {
        let Some(record) = self.types.record(object) else {
            return self.library_member_type(object, name, at);
        };
        let methods = &self.types.records[record].methods;
        let named = methods.iter().filter(|method| method.name == name);
        let returns: Vec<TypeId> = named.map(|method| method.returns).collect();
        // Of `T *data()` and `const T *data() const`, an object that is not constant has the first.
        let is_constant = self.types.get(self.types.object_type(object)).is_const;
        let fits = |ty: &&TypeId| is_constant == self.points_to_constant(**ty);
        let found = returns.iter().find(fits).or(returns.first()).copied()?;
        // Overloads that differ in more than in what the result points to.
        let is_only = returns.iter().all(|other| {
            self.types.is_same_object(*other, found)
                || self.points_to_constant(*other) != self.points_to_constant(found)
        });
        let is_known =
            self.types.category(found) != Category::Unknown && !self.types.mentions_auto(found);
        match is_only && is_known {
            true => self.seen_from(found, object, record, at),
            false => None,
        }
    }

    /// What a `for` over an object goes through, if that is an array, a container of the library, or a class whose `begin` gives a pointer.
    pub(in crate::build) fn range_element(
        &mut self,
        range: TypeId,
        at: TextRange,
    ) -> Option<TypeId> {
        let object = self.types.object_type(range);
        if let TypeKind::Array { element, .. } = self.types.get(self.types.desugar(object)).kind {
            return Some(element);
        }
        let is_own = self.types.record(object).is_some();
        if !is_own && let Some(element) = self.library_member_type(object, "front", at) {
            return Some(element);
        }
        let begin = self.result_of_member(object, "begin", at)?;
        self.types.element(begin).filter(|_| self.is_pointer(begin))
    }

    fn points_to_constant(&self, ty: TypeId) -> bool {
        match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.types.get(to).is_const,
            _ => false,
        }
    }

    /// The type of a member call of a class of the standard library.
    pub(super) fn library_member_type(
        &mut self,
        object: TypeId,
        name: &str,
        at: TextRange,
    ) -> Option<TypeId> {
        let object = self.types.object_type(object);
        let spelling = match &self.types.get(object).kind {
            TypeKind::Named { spelling, .. } => spelling.clone(),
            _ => return None,
        };
        let template = spelling.split('<').next()?.trim();
        let (qualifier, template) = template.rsplit_once("::").unwrap_or(("std", template));
        let (_, class) = LIBRARY_CLASSES
            .iter()
            .find(|(known, _)| *known == template)?;
        if qualifier.trim_start_matches("::") != "std" {
            return None;
        }
        let is_constant = self.types.get(object).is_const || template.ends_with("string_view");
        let arguments = template_arguments(&spelling);
        let first = match class {
            LibraryClass::Text => Some("char"),
            _ => arguments.first().copied(),
        };
        // The elements of `vector<bool>` are bits.
        let first = first.filter(|first| template != "vector" || *first != "bool");
        let second = arguments.get(1).copied();
        let result = match (class, name) {
            (LibraryClass::Pointer, "operator*" | "operator->" | "get" | "value") => {
                LibraryResult::Element(first?.trim_end().trim_end_matches("[]"))
            }
            (LibraryClass::Pointer, "operator[]") => {
                LibraryResult::Element(first?.trim_end().strip_suffix("[]")?)
            }
            (LibraryClass::Pointer, _) => return None,
            (_, "size" | "length" | "capacity" | "max_size") => LibraryResult::Value("size_t"),
            (_, "empty") => LibraryResult::Value("bool"),
            (LibraryClass::Map, "operator[]" | "at") => LibraryResult::Element(second?),
            (LibraryClass::Map | LibraryClass::Set, _) => return None,
            (_, "front" | "back" | "at" | "operator[]") => LibraryResult::Element(first?),
            (_, "data") => LibraryResult::Address(first?),
            (LibraryClass::Text, "c_str") => LibraryResult::Address("const char"),
            _ => return None,
        };
        let (LibraryResult::Element(words)
        | LibraryResult::Address(words)
        | LibraryResult::Value(words)) = result;
        let mut ty = self.type_of_text(words, at);
        let is_owner = !matches!(class, LibraryClass::Pointer | LibraryClass::View);
        if is_constant && is_owner && !matches!(result, LibraryResult::Value(_)) {
            let mut constant = self.types.get(ty).clone();
            constant.is_const = true;
            ty = self.types.intern(constant);
        }
        let is_address = matches!(result, LibraryResult::Address(_))
            || *class == LibraryClass::Pointer && matches!(name, "operator->" | "get");
        Some(match is_address {
            true => self.types.plain(TypeKind::Pointer(ty)),
            false => ty,
        })
    }
}

/// What a class of the standard library is to its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LibraryClass {
    /// It has elements of its first argument.
    Sequence,
    /// The same; those of another object.
    View,
    /// It has elements of type `char`.
    Text,
    /// Its elements are constants.
    Set,
    /// From the first argument to the second.
    Map,
    /// It leads to an object of its first argument.
    Pointer,
}

/// What a member function of the library returns, by the words of the type.
#[derive(Clone, Copy)]
enum LibraryResult<'w> {
    Element(&'w str),
    Address(&'w str),
    Value(&'w str),
}

/// Classes of the standard library with members whose types are known.
const LIBRARY_CLASSES: [(&str, LibraryClass); 19] = [
    ("array", LibraryClass::Sequence),
    ("basic_string", LibraryClass::Sequence),
    ("basic_string_view", LibraryClass::Sequence),
    ("deque", LibraryClass::Sequence),
    ("forward_list", LibraryClass::Sequence),
    ("initializer_list", LibraryClass::Sequence),
    ("list", LibraryClass::Sequence),
    ("map", LibraryClass::Map),
    ("optional", LibraryClass::Pointer),
    ("set", LibraryClass::Set),
    ("shared_ptr", LibraryClass::Pointer),
    ("span", LibraryClass::View),
    ("string", LibraryClass::Text),
    ("string_view", LibraryClass::Text),
    ("unique_ptr", LibraryClass::Pointer),
    ("unordered_map", LibraryClass::Map),
    ("unordered_set", LibraryClass::Set),
    ("valarray", LibraryClass::Sequence),
    ("vector", LibraryClass::Sequence),
];
