//! Types of calls: of functions, members and containers of the standard library.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use smol_str::SmolStr;

use crate::build::Builder;
use crate::build::names::template_arguments;
use crate::symbol::{Symbol, SymbolId, SymbolKind};
use crate::ty::{Category, Meaning, RecordId, TypeId, TypeKind};

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
            Kind::PrimitiveType => Some(self.specifier_type(function, at)),
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
        let object = self.behind_arrow(object);
        let name = function.field(Field::Field)?.text();
        if let Some(record) = self
            .types
            .record(object)
            .or_else(|| self.header_class(object))
        {
            let returns: Vec<TypeId> = self.types.records[record]
                .methods
                .iter()
                .filter(|method| method.name == name)
                .map(|method| method.returns)
                .collect();
            // Of `T *data()` and `const T *data() const`, an object that is not constant has the first.
            let is_constant = self.types.get(self.types.object_type(object)).is_const;
            let fits = |ty: &&TypeId| is_constant || !self.points_to_constant(**ty);
            let found = returns.iter().find(fits).or(returns.first()).copied();
            // Overloads that differ in more than in what the result points to.
            let is_only = |found: &TypeId| {
                returns.iter().all(|other| {
                    self.types.is_same_object(*other, *found)
                        || self.points_to_constant(*other) != self.points_to_constant(*found)
                })
            };
            let found = found.filter(is_only);
            let is_known = |found: &TypeId| {
                self.types.category(*found) != Category::Unknown
                    && !self.types.mentions_auto(*found)
            };
            if let Some(found) = found.filter(is_known) {
                return self.seen_from(found, object, record, at);
            }
        }
        self.container_member_type(object, name, at)
    }

    fn points_to_constant(&self, ty: TypeId) -> bool {
        match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.types.get(to).is_const,
            _ => false,
        }
    }

    /// The class template of a header that the type of an object instantiates. What depends on its parameters has no known type.
    fn header_class(&mut self, object: TypeId) -> Option<RecordId> {
        let object = self.types.object_type(object);
        let TypeKind::Named { spelling, .. } = &self.types.get(object).kind else {
            return None;
        };
        let (template, _) = spelling.split_once('<')?;
        let name: SmolStr = template.rsplit("::").next()?.trim().into();
        let ty = self.header_type(&name)?;
        self.types.record(ty)
    }

    /// The type of a member call of a container of the standard library.
    pub(super) fn container_member_type(
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
        let template = template.rsplit("::").next()?;
        let is_container = matches!(
            template,
            "vector"
                | "array"
                | "string"
                | "valarray"
                | "deque"
                | "list"
                | "map"
                | "set"
                | "span"
                | "basic_string"
                | "string_view"
        );
        if !is_container {
            return None;
        }
        let element = |builder: &mut Self| match template {
            "string" => Some(builder.type_of_text("char", at)),
            _ => {
                let first = template_arguments(&spelling).first().copied()?;
                Some(builder.type_of_text(first, at))
            }
        };
        match name {
            "size" | "length" | "capacity" | "max_size" => Some(self.type_of_text("size_t", at)),
            "empty" => Some(self.type_of_text("bool", at)),
            "front" | "back" | "at" => element(self),
            "data" | "c_str" => {
                let element = element(self)?;
                let mut pointee = self.types.get(element).clone();
                pointee.is_const |= self.types.get(object).is_const || name == "c_str";
                let pointee = self.types.intern(pointee);
                Some(self.types.plain(TypeKind::Pointer(pointee)))
            }
            _ => None,
        }
    }
}
