//! Reads types from specifiers and declarators.

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Builder;
use crate::namer;
use crate::symbol::{Symbol, SymbolKind};
use crate::ty::{self, Category, Extent, Meaning, Record, Type, TypeId, TypeKind};

/// A declarator: the declared name and its type.
pub(super) struct Declared<'t> {
    pub(super) name: Option<Node<'t>>,
    pub(super) ty: TypeId,
    pub(super) parameters: Option<Node<'t>>,
}

/// Typedef names that are the same on every LP64 system, known without headers.
const WELL_KNOWN: &[(&str, Meaning)] = &[
    (
        "size_t",
        Meaning::Integer {
            bits: 64,
            signed: false,
        },
    ),
    (
        "ssize_t",
        Meaning::Integer {
            bits: 64,
            signed: true,
        },
    ),
    (
        "ptrdiff_t",
        Meaning::Integer {
            bits: 64,
            signed: true,
        },
    ),
    (
        "int8_t",
        Meaning::Integer {
            bits: 8,
            signed: true,
        },
    ),
    (
        "int16_t",
        Meaning::Integer {
            bits: 16,
            signed: true,
        },
    ),
    (
        "int32_t",
        Meaning::Integer {
            bits: 32,
            signed: true,
        },
    ),
    (
        "int64_t",
        Meaning::Integer {
            bits: 64,
            signed: true,
        },
    ),
    (
        "uint8_t",
        Meaning::Integer {
            bits: 8,
            signed: false,
        },
    ),
    (
        "uint16_t",
        Meaning::Integer {
            bits: 16,
            signed: false,
        },
    ),
    (
        "uint32_t",
        Meaning::Integer {
            bits: 32,
            signed: false,
        },
    ),
    (
        "uint64_t",
        Meaning::Integer {
            bits: 64,
            signed: false,
        },
    ),
    (
        "intptr_t",
        Meaning::Integer {
            bits: 64,
            signed: true,
        },
    ),
    (
        "uintptr_t",
        Meaning::Integer {
            bits: 64,
            signed: false,
        },
    ),
    (
        "wchar_t",
        Meaning::Integer {
            bits: 32,
            signed: true,
        },
    ),
    (
        "char8_t",
        Meaning::Integer {
            bits: 8,
            signed: false,
        },
    ),
    (
        "char16_t",
        Meaning::Integer {
            bits: 16,
            signed: false,
        },
    ),
    (
        "char32_t",
        Meaning::Integer {
            bits: 32,
            signed: false,
        },
    ),
    ("bool", Meaning::Bool),
    ("_Bool", Meaning::Bool),
    ("_Float16", Meaning::Float { bits: 16 }),
    ("__int128", Meaning::WideArithmetic),
    ("__float128", Meaning::WideArithmetic),
    ("_Complex", Meaning::WideArithmetic),
];

impl Builder<'_> {
    /// The type that the specifiers of a declaration name.
    pub(super) fn base_type(&mut self, declaration: Node<'_>, at: TextRange) -> TypeId {
        let qualifiers = Qualifiers::of(declaration);
        let ty = match declaration.field(Field::Type) {
            Some(specifier) => self.specifier_type(specifier, at),
            // K&R: `static n;`, or a constructor.
            None => self.types.named(
                "int",
                Meaning::Integer {
                    bits: 32,
                    signed: true,
                },
            ),
        };
        self.qualify(ty, qualifiers)
    }

    fn qualify(&mut self, ty: TypeId, qualifiers: Qualifiers) -> TypeId {
        if qualifiers == Qualifiers::default() {
            return ty;
        }
        let mut qualified = self.types.get(ty).clone();
        qualified.is_const |= qualifiers.is_const;
        qualified.is_volatile |= qualifiers.is_volatile;
        self.types.intern(qualified)
    }

    /// The type that one type specifier names.
    pub(super) fn specifier_type(&mut self, node: Node<'_>, at: TextRange) -> TypeId {
        let text = squeeze(node.text());
        match node.kind() {
            Kind::PrimitiveType | Kind::SizedTypeSpecifier => {
                let meaning = arithmetic_meaning(&text);
                self.types.named(text, meaning)
            }
            Kind::StructSpecifier | Kind::UnionSpecifier | Kind::ClassSpecifier => {
                self.record_type(node, at)
            }
            Kind::EnumSpecifier => {
                let spelling = match first_enumerator(node) {
                    // Named by what it declares: its text would declare it again.
                    Some(first) if node.field(Field::Name).is_none() => {
                        format!("REX_ENUM_OF({first})").into()
                    }
                    _ => self.tag_spelling(node, "enum"),
                };
                self.types.named(spelling, Meaning::Enum)
            }
            Kind::TypeIdentifier | Kind::QualifiedIdentifier | Kind::Identifier => {
                match self.open_record(&text) {
                    Some(open) => self.types.named(text, Meaning::Record(Some(open))),
                    None => self.named_type(&text, at),
                }
            }
            Kind::TemplateType => {
                let name = node
                    .field(Field::Name)
                    .map_or("", |name| name.text())
                    .to_string();
                let meaning = if self.depends_on_template(node, at) {
                    Meaning::Dependent
                } else {
                    match self
                        .scopes
                        .resolve(&self.symbols, &name, at)
                        .map(|id| self.symbols[id].ty)
                    {
                        Some(ty) => match self.types.record(ty) {
                            Some(record) => Meaning::Record(Some(record)),
                            None => Meaning::Record(None),
                        },
                        None => Meaning::Record(None),
                    }
                };
                self.types.named(text, meaning)
            }
            Kind::PlaceholderTypeSpecifier | Kind::Auto => self.types.named(text, Meaning::Auto),
            Kind::Decltype => self.declared_type_of(node, &text, at),
            Kind::DependentType => self.types.named(text, Meaning::Dependent),
            _ => self.types.named(text, Meaning::Unknown),
        }
    }

    /// `decltype(x)`, `typeof` is not one: where the type of its operand is not known, the compiler tells.
    fn declared_type_of(&mut self, node: Node<'_>, text: &str, at: TextRange) -> TypeId {
        let operand = node.only_child();
        let known = operand
            .filter(|operand| operand.kind() == Kind::Identifier)
            .and_then(|operand| self.scopes.resolve(&self.symbols, operand.text(), at))
            .map(|symbol| &self.symbols[symbol])
            .filter(|symbol| symbol.kind.is_variable())
            .map(|symbol| symbol.ty);
        match known {
            Some(ty) if self.types.category(ty) != Category::Unknown => ty,
            _ => self.types.named(text, Meaning::Auto),
        }
    }

    /// Whether a type specifier names a class template, whose arguments the initializer decides.
    pub(super) fn lacks_template_arguments(&self, specifier: Node<'_>, at: TextRange) -> bool {
        let is_name = matches!(
            specifier.kind(),
            Kind::TypeIdentifier | Kind::Identifier | Kind::QualifiedIdentifier
        );
        if !is_name || self.unit.language != Language::Cxx || specifier.text().ends_with('>') {
            return false;
        }
        let name = super::scopes::last_component(specifier.text()).trim();
        let Some(symbol) = self.scopes.resolve_type(&self.symbols, name, at) else {
            return crate::headers::type_declaration(self.unit, name)
                .is_some_and(|text| text.starts_with("template"));
        };
        let Some(record) = self.types.record(self.symbols[symbol].ty) else {
            return false;
        };
        // Inside the class, its name means the class with its own parameters.
        let is_inside = |node: Node<'_>| match node.kind() {
            Kind::FunctionDefinition => node
                .field(Field::Declarator)
                .and_then(declared_name)
                .is_some_and(|declared| declared.text().contains("::")),
            _ => Some(node.range()) == self.types.records[record].body,
        };
        self.class_templates.contains(&record) && !specifier.ancestors().any(is_inside)
    }

    /// Whether a node names a template parameter in scope.
    fn depends_on_template(&self, node: Node<'_>, at: TextRange) -> bool {
        node.descendants().any(|inner| {
            matches!(inner.kind(), Kind::TypeIdentifier | Kind::Identifier)
                && self
                    .scopes
                    .resolve(&self.symbols, inner.text(), at)
                    .is_some_and(|id| {
                        self.symbols[id].kind == SymbolKind::TemplateValue
                            || matches!(
                                self.types.get(self.symbols[id].ty).kind,
                                TypeKind::Named {
                                    meaning: Meaning::Dependent,
                                    ..
                                }
                            )
                    })
        })
    }

    /// The type a name means; its spelling stays the name.
    pub(super) fn named_type(&mut self, name: &str, at: TextRange) -> TypeId {
        if let Some(symbol) = self.scopes.resolve_type(&self.symbols, name, at) {
            return self.alias(name, self.symbols[symbol].ty);
        }
        let unqualified = name.rsplit("::").next().unwrap_or(name).trim();
        if let Some((_, meaning)) = WELL_KNOWN.iter().find(|(known, _)| *known == unqualified) {
            return self.types.named(name, meaning.clone());
        }
        if let Some(symbol) = self.member_type_name(name, at) {
            return self.alias(name, self.symbols[symbol].ty);
        }
        if unqualified != name
            && let Some(symbol) = self.scopes.resolve_type(&self.symbols, unqualified, at)
        {
            return self.alias(name, self.symbols[symbol].ty);
        }
        if let Some(text) = self.macro_type(name, at) {
            let ty = self.named_or_builtin_type(&text, at);
            return self.alias(name, ty);
        }
        match self.header_type(unqualified) {
            Some(ty) => self.alias(name, ty),
            None if self.is_in_template(at) => self.types.named(name, Meaning::Dependent),
            None => self.types.named(name, Meaning::Unknown),
        }
    }

    /// Whether a place of the unit is in a template: a type that is not known there may come from a base class that depends on the parameters.
    fn is_in_template(&self, at: TextRange) -> bool {
        let root = self.unit.tree.root();
        self.fragment_depth == 0
            && self.unit.language == Language::Cxx
            && !at.is_empty()
            && root
                .smallest_at(at)
                .ancestors()
                .any(|outer| outer.kind() == Kind::TemplateDeclaration)
    }

    /// What a macro writes where a type is named: `double`, for `#define REAL double`.
    fn macro_type(&self, name: &str, at: TextRange) -> Option<String> {
        const MAX_DEPTH: u32 = 16;
        // A macro may name itself.
        if self.fragment_depth > MAX_DEPTH {
            return None;
        }
        let definition = self.macro_at(name, at)?;
        let body = definition.body.trim();
        (definition.parameters.is_none() && !body.is_empty() && body != name)
            .then(|| body.to_owned())
    }

    /// The type that a class declares: `Table::value_type`.
    fn member_type_name(&self, name: &str, at: TextRange) -> Option<crate::symbol::SymbolId> {
        let (qualifier, member) = name.rsplit_once("::")?;
        let class = super::scopes::without_arguments(qualifier);
        let class = super::scopes::last_component(&class);
        let class = self.scopes.resolve_type(&self.symbols, class, at)?;
        let record = self.types.record(self.symbols[class].ty)?;
        let scope = self.scopes.scope(*self.class_scopes.get(&record)?);
        let found = scope.names.get(member.trim())?.last().copied()?;
        (self.symbols[found].kind == SymbolKind::Type).then_some(found)
    }

    /// A name for a type: records and enums keep their meaning, everything else becomes an alias.
    fn alias(&mut self, name: &str, ty: TypeId) -> TypeId {
        let target = self.types.get(ty).clone();
        match target.kind {
            TypeKind::Named { spelling, .. } if spelling == name => ty,
            TypeKind::Named {
                meaning: meaning @ (Meaning::Record(_) | Meaning::Enum | Meaning::Dependent),
                ..
            } if !target.is_const && !target.is_volatile => self.types.named(name, meaning),
            _ => self.types.named(name, Meaning::Alias(ty)),
        }
    }

    /// A type that a header of the translation unit declares.
    pub(super) fn header_type(&mut self, name: &str) -> Option<TypeId> {
        if let Some(known) = self.header_types.get(name) {
            return *known;
        }
        // Entered first: a declaration that mentions itself ends here.
        self.header_types.insert(name.into(), None);
        let text = crate::headers::type_declaration(self.unit, name)?;
        let ty = self.fragment_type(&text, name);
        self.header_types.insert(name.into(), ty);
        ty
    }

    /// A struct, union, class or enum that a header of the translation unit defines.
    fn header_tag(&mut self, tag: &str) -> Option<TypeId> {
        let key: SmolStr = format!("struct {tag}").into();
        if let Some(known) = self.header_types.get(&key) {
            return *known;
        }
        self.header_types.insert(key.clone(), None);
        let text = crate::headers::tag_declaration(self.unit, tag)?;
        let ty = self.fragment_type(&text, tag);
        self.header_types.insert(key, ty);
        ty
    }

    /// The type that a declaration from a header gives to `name`.
    fn fragment_type(&mut self, text: &str, name: &str) -> Option<TypeId> {
        let tree = parse_fragment(text, self.unit.language);
        let nowhere = TextRange::empty(0.into());
        self.fragment_depth += 1;
        let mut found = None;
        for node in tree.root().descendants() {
            match node.kind() {
                Kind::TypeDefinition => {
                    let base = self.base_type(node, nowhere);
                    for declarator in node.fields(Field::Declarator) {
                        let declared = self.declarator(declarator, base, nowhere);
                        if declared
                            .name
                            .is_some_and(|declared| declared.text() == name)
                        {
                            found = Some(declared.ty);
                        }
                    }
                }
                Kind::AliasDeclaration
                    if node
                        .field(Field::Name)
                        .is_some_and(|alias| alias.text() == name) =>
                {
                    found = node
                        .field(Field::Type)
                        .map(|ty| self.descriptor_type(ty, nowhere));
                }
                Kind::StructSpecifier
                | Kind::UnionSpecifier
                | Kind::ClassSpecifier
                | Kind::EnumSpecifier
                    if node
                        .field(Field::Name)
                        .is_some_and(|tag| tag.text() == name) =>
                {
                    found = Some(self.specifier_type(node, nowhere));
                }
                _ => {}
            }
            if found.is_some() {
                break;
            }
        }
        self.fragment_depth -= 1;
        found
    }

    pub(super) fn record_type(&mut self, node: Node<'_>, at: TextRange) -> TypeId {
        let keyword = match node.kind() {
            Kind::UnionSpecifier => "union",
            Kind::ClassSpecifier => "class",
            _ => "struct",
        };
        let mut spelling = self.tag_spelling(node, keyword);
        let name = node.field(Field::Name).map(|name| squeeze(name.text()));
        let record = match node.field(Field::Body) {
            Some(body) => {
                let record = self.record_of(node, body, name.as_deref().unwrap_or_default(), at);
                if self.types.records[record].is_untagged {
                    spelling = format!("{keyword} {}", self.types.records[record].name).into();
                }
                Some(record)
            }
            None => {
                let name = name.as_deref().unwrap_or_default();
                if let Some(open) = self.open_record(name) {
                    return self.types.named(spelling, Meaning::Record(Some(open)));
                }
                let known = self
                    .scopes
                    .resolve(&self.symbols, &format!("{keyword} {name}"), at)
                    .or_else(|| self.scopes.resolve(&self.symbols, name, at))
                    .map(|symbol| self.symbols[symbol].ty)
                    .or_else(|| self.header_tag(name));
                known.and_then(|ty| self.types.record(ty))
            }
        };
        self.types.named(spelling, Meaning::Record(record))
    }

    /// The class of this name whose body is being read: its members may point to its objects.
    fn open_record(&self, name: &str) -> Option<ty::RecordId> {
        let mut inside_out = self.open_records.iter().rev();
        inside_out
            .find(|(open, _)| open == name && !name.is_empty())
            .map(|(_, record)| *record)
    }

    /// `struct name` in C and where C++ wrote it; an untagged type is its whole text.
    fn tag_spelling(&self, node: Node<'_>, keyword: &str) -> SmolStr {
        match node.field(Field::Name) {
            Some(name) => format!("{keyword} {}", squeeze(name.text())).into(),
            None => squeeze(node.text()),
        }
    }

    /// Reads a class body once; later calls for the same text give the same record.
    fn record_of(
        &mut self,
        node: Node<'_>,
        body: Node<'_>,
        name: &str,
        at: TextRange,
    ) -> ty::RecordId {
        let key = node.range();
        if self.fragment_depth == 0
            && let Some(record) = self.records_by_range.get(&key)
        {
            return *record;
        }
        let id = self.types.records.alloc(Record {
            name: name.into(),
            fields: Vec::new(),
            bases: Vec::new(),
            methods: Vec::new(),
            body: (self.fragment_depth == 0).then(|| body.range()),
            is_untagged: false,
        });
        if name.is_empty() && self.fragment_depth == 0 {
            let record = &mut self.types.records[id];
            record.name = namer::untagged(id.into_raw().into_u32() as usize);
            record.is_untagged = true;
        }
        if self.fragment_depth == 0 {
            self.records_by_range.insert(key, id);
        }
        let mut bases = Vec::new();
        for child in node.children() {
            if child.kind() == Kind::BaseClassClause {
                bases.extend(
                    child
                        .children()
                        .filter(|base| {
                            matches!(
                                base.kind(),
                                Kind::TypeIdentifier
                                    | Kind::QualifiedIdentifier
                                    | Kind::TemplateType
                            )
                        })
                        .map(|base| SmolStr::from(base.text())),
                );
            }
        }
        self.open_records.push((name.into(), id));
        let mut fields = Vec::new();
        let mut methods = Vec::new();
        for member in body.children() {
            match member.kind() {
                Kind::FieldDeclaration => self.read_field(member, at, &mut fields, &mut methods),
                Kind::FunctionDefinition => methods.extend(self.method_of(member, at)),
                Kind::TemplateDeclaration => {
                    let inner = member.children().find(|inner| {
                        matches!(
                            inner.kind(),
                            Kind::FunctionDefinition | Kind::Declaration | Kind::FieldDeclaration
                        )
                    });
                    methods.extend(inner.and_then(|inner| self.method_of(inner, at)));
                }
                _ => {}
            }
        }
        self.open_records.pop();
        let record = &mut self.types.records[id];
        record.fields = fields;
        record.methods = methods;
        record.bases = bases;
        id
    }

    /// A member function from its definition or declaration.
    fn method_of(&mut self, member: Node<'_>, at: TextRange) -> Option<ty::Method> {
        let declarator = member.field(Field::Declarator)?;
        let name = declared_name(declarator)?.text().into();
        let base = self.base_type(member, at);
        let declared = self.declarator(declarator, base, at).ty;
        let returns = match self.types.get(declared).kind {
            TypeKind::Function { returns, .. } => returns,
            _ => declared,
        };
        Some(ty::Method {
            name,
            returns,
            is_static: has_storage(member, "static"),
        })
    }

    fn read_field(
        &mut self,
        member: Node<'_>,
        at: TextRange,
        fields: &mut Vec<ty::Field>,
        methods: &mut Vec<ty::Method>,
    ) {
        let base = self.base_type(member, at);
        let is_static = has_storage(member, "static");
        let is_const = self.types.get(base).is_const
            || member.children().any(|child| child.text() == "constexpr");
        let has_value = member.field(Field::DefaultValue).is_some();
        let declarators = member.fields(Field::Declarator);
        let is_before_width = |declarator: Node<'_>| {
            let after = member
                .children()
                .find(|child| child.range().start() >= declarator.range().end());
            after.is_some_and(|child| child.kind() == Kind::BitfieldClause)
        };
        if declarators.is_empty()
            && let Some(record) = self.types.record(base)
            && member
                .field(Field::Type)
                .is_some_and(|ty| ty.field(Field::Name).is_none())
        {
            // An anonymous struct or union: its members are members of the enclosing class.
            let inner = self.types.records[record].fields.clone();
            fields.extend(inner);
        }
        for declarator in declarators {
            let declared = self.declarator(declarator, base, at);
            let Some(name) = declared.name else { continue };
            if let TypeKind::Function { returns, .. } = self.types.get(declared.ty).kind
                && declared.parameters.is_some()
            {
                methods.push(ty::Method {
                    name: name.text().into(),
                    returns,
                    is_static,
                });
            } else {
                fields.push(ty::Field {
                    name: name.text().into(),
                    ty: declared.ty,
                    is_static,
                    is_constant: is_static && is_const && has_value,
                    is_bit_field: is_before_width(declarator),
                });
            }
        }
    }

    /// Applies a declarator to a base type.
    pub(super) fn declarator<'t>(
        &mut self,
        node: Node<'t>,
        base: TypeId,
        at: TextRange,
    ) -> Declared<'t> {
        let mut ty = base;
        let mut current = node;
        let mut parameters = None;
        loop {
            let next = match current.kind() {
                Kind::PointerDeclarator | Kind::ReferenceDeclarator
                    if lacks_parentheses(current) =>
                {
                    // `(*a)[N]`: the array comes first.
                    let is_pointer = current.kind() == Kind::PointerDeclarator;
                    let inner = match is_pointer {
                        true => current.field(Field::Declarator),
                        false => current.children().last(),
                    };
                    let Some(inner) = inner else {
                        return Declared {
                            name: None,
                            ty,
                            parameters,
                        };
                    };
                    let array = self.declarator(inner, ty, at);
                    let kind = match is_pointer {
                        true => TypeKind::Pointer(array.ty),
                        false => TypeKind::Reference(array.ty),
                    };
                    return Declared {
                        ty: self.types.plain(kind),
                        ..array
                    };
                }
                Kind::PointerDeclarator
                | Kind::AbstractPointerDeclarator
                | Kind::PointerTypeDeclarator => {
                    let qualifiers = Qualifiers::of(current);
                    ty = self.types.intern(Type {
                        is_const: qualifiers.is_const,
                        is_volatile: qualifiers.is_volatile,
                        kind: TypeKind::Pointer(ty),
                    });
                    current.field(Field::Declarator)
                }
                Kind::ReferenceDeclarator | Kind::AbstractReferenceDeclarator => {
                    ty = self.types.plain(TypeKind::Reference(ty));
                    current.children().last()
                }
                Kind::ArrayDeclarator | Kind::AbstractArrayDeclarator => {
                    let extent = match current.field(Field::Size) {
                        Some(size) => self.extent(size, at),
                        None => Extent::Unknown,
                    };
                    ty = self.types.plain(TypeKind::Array {
                        element: ty,
                        extent,
                    });
                    current.field(Field::Declarator)
                }
                Kind::QualifiedIdentifier if member_pointer(current).is_some() => {
                    // `T C::*p`: the compiler tells how wide it is.
                    ty = self.types.named(squeeze(node.text()), Meaning::Auto);
                    current = member_pointer(current).unwrap_or(current);
                    current.field(Field::Declarator)
                }
                Kind::FunctionDeclarator | Kind::AbstractFunctionDeclarator => {
                    let list = current.field(Field::Parameters);
                    let text = list.map_or("()".into(), |list| squeeze(list.text()));
                    ty = self.types.plain(TypeKind::Function {
                        returns: ty,
                        parameters: text,
                    });
                    parameters = list;
                    current.field(Field::Declarator)
                }
                Kind::ParenthesizedDeclarator | Kind::AttributedDeclarator => {
                    current.children().find(|child| {
                        !matches!(
                            child.kind(),
                            Kind::MsCallModifier | Kind::AttributeDeclaration | Kind::Comment
                        )
                    })
                }
                Kind::InitDeclarator => current.field(Field::Declarator),
                Kind::Identifier
                | Kind::FieldIdentifier
                | Kind::TypeIdentifier
                | Kind::QualifiedIdentifier
                | Kind::OperatorName
                | Kind::DestructorName
                | Kind::TemplateFunction => {
                    return Declared {
                        name: Some(current),
                        ty,
                        parameters,
                    };
                }
                _ => {
                    return Declared {
                        name: None,
                        ty,
                        parameters,
                    };
                }
            };
            match next {
                Some(next) => current = next,
                None => {
                    return Declared {
                        name: None,
                        ty,
                        parameters,
                    };
                }
            }
        }
    }

    /// The type of a `type_descriptor` (casts, template arguments).
    pub(super) fn descriptor_type(&mut self, node: Node<'_>, at: TextRange) -> TypeId {
        let base = self.base_type(node, at);
        match node.field(Field::Declarator) {
            Some(declarator) => self.declarator(declarator, base, at).ty,
            None => base,
        }
    }

    /// Constant, or decided at run time: whether any name in it is a variable that is not a constant.
    fn extent(&mut self, size: Node<'_>, at: TextRange) -> Extent {
        let text = squeeze(size.text());
        let whole = size.text();
        let names: Vec<&str> =
            lex::identifiers(whole, TextRange::up_to(rex_syntax::TextSize::of(whole)))
                .map(|range| &whole[range])
                .collect();
        let runtime = names.iter().any(|name| {
            self.scopes
                .resolve(&self.symbols, name, at)
                .is_some_and(|id| match self.symbols[id].kind {
                    // Functions of C++ may be constant expressions.
                    SymbolKind::Function => self.unit.language == rex_syntax::source::Language::C,
                    kind => kind.is_variable() && !self.is_constant(id),
                })
        });
        if runtime {
            Extent::Runtime(text)
        } else {
            Extent::Constant(text)
        }
    }

    /// Whether a variable is a constant that can be copied to where it is used: const, arithmetic, initialized by constants.
    pub(super) fn is_constant(&self, id: crate::symbol::SymbolId) -> bool {
        let symbol: &Symbol = &self.symbols[id];
        let ty = self.types.get(symbol.ty);
        let constant = ty.is_const
            || symbol.declaration.is_some_and(|declaration| {
                self.text(declaration).trim_start().starts_with("constexpr")
                    || self
                        .text(declaration)
                        .trim_start()
                        .starts_with("static constexpr")
            });
        let scalar = matches!(self.types.category(symbol.ty), ty::Category::Scalar);
        let Some(initializer) = symbol.initializer else {
            return false;
        };
        constant
            && scalar
            && self.is_constant_text(initializer, symbol.declared_at.unwrap_or(initializer))
    }

    /// Whether `Base::member` stands there, with the name of a data member that every object has.
    fn qualifies_data_member(&self, class: crate::symbol::SymbolId, at: TextRange) -> bool {
        let rest = TextRange::new(at.end(), rex_syntax::TextSize::of(self.source));
        let mut tokens = lex::significant_tokens(self.source, rest);
        if tokens.next().map(|token| token.text(self.source)) != Some("::") {
            return false;
        }
        let Some(member) = tokens.next().map(|token| token.text(self.source)) else {
            return false;
        };
        let symbol = &self.symbols[class];
        // An alias of a class with template arguments has only its text.
        let words = symbol.declaration.into_iter().flat_map(|declaration| {
            lex::identifiers(self.source, declaration).filter_map(move |at| {
                let named = self.scopes.resolve_type(&self.symbols, self.text(at), at)?;
                Some(self.symbols[named].ty)
            })
        });
        std::iter::once(symbol.ty)
            .chain(words)
            .filter_map(|ty| self.types.field(ty, member))
            .any(|field| !field.is_static)
    }

    /// Whether an expression names nothing but constants.
    pub(super) fn is_constant_text(&self, range: TextRange, at: TextRange) -> bool {
        let source = self.source;
        lex::identifiers(source, range).all(|name| {
            let text = &source[name];
            match self.scopes.resolve(&self.symbols, text, at) {
                Some(id) => match self.symbols[id].kind {
                    SymbolKind::Enumerator => true,
                    SymbolKind::Type => !self.qualifies_data_member(id, name),
                    kind if kind.is_variable() => {
                        self.symbols[id].declared_at != Some(at) && self.is_constant(id)
                    }
                    _ => false,
                },
                None => {
                    text == "sizeof"
                        || is_keyword(text)
                        || self.macro_at(text, range).is_some_and(|definition| {
                            definition.parameters.is_none()
                                && self.macro_names(text, range).iter().all(|inner| {
                                    self.scopes
                                        .resolve(&self.symbols, inner, at)
                                        .is_none_or(|id| {
                                            self.symbols[id].kind == SymbolKind::Enumerator
                                        })
                                })
                        })
                }
            }
        })
    }
}

/// `const` and `volatile` among the children of a declaration or declarator.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Qualifiers {
    is_const: bool,
    is_volatile: bool,
}

impl Qualifiers {
    fn of(node: Node<'_>) -> Qualifiers {
        let mut qualifiers = Qualifiers::default();
        for child in node.children() {
            if child.kind() == Kind::TypeQualifier {
                match child.text() {
                    "const" | "__const" | "constexpr" => qualifiers.is_const = true,
                    "volatile" => qualifiers.is_volatile = true,
                    _ => {}
                }
            }
        }
        qualifiers
    }
}

/// The name node inside a declarator.
pub(super) fn declared_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut current = node;
    loop {
        current = match current.kind() {
            Kind::QualifiedIdentifier if member_pointer(current).is_some() => {
                member_pointer(current)?
            }
            Kind::Identifier
            | Kind::FieldIdentifier
            | Kind::TypeIdentifier
            | Kind::QualifiedIdentifier
            | Kind::OperatorName
            | Kind::DestructorName
            | Kind::OperatorCast
            | Kind::TemplateFunction => return Some(current),
            Kind::ReferenceDeclarator => current.children().last()?,
            Kind::ParenthesizedDeclarator | Kind::AttributedDeclarator => {
                current.children().next()?
            }
            _ => current.field(Field::Declarator)?,
        };
    }
}

/// `*p` of `C::*p`, the declarator of a pointer to a member.
fn member_pointer(qualified: Node<'_>) -> Option<Node<'_>> {
    let mut node = qualified;
    while node.kind() == Kind::QualifiedIdentifier {
        node = node.field(Field::Name)?;
    }
    (node.kind() == Kind::PointerTypeDeclarator).then_some(node)
}

/// Whether a declarator stands in parentheses that were blanked for the grammar.
fn lacks_parentheses(declarator: Node<'_>) -> bool {
    let before = &declarator.tree().text()[..usize::from(declarator.range().start())];
    let is_own = |parent: Node<'_>| {
        parent.kind() == Kind::ParenthesizedDeclarator
            || parent.range().start() < declarator.range().start()
                && !matches!(parent.kind(), Kind::Declaration | Kind::InitDeclarator)
    };
    before.trim_end().ends_with('(') && !declarator.parent().is_some_and(is_own)
}

fn first_enumerator<'t>(specifier: Node<'t>) -> Option<&'t str> {
    let body = specifier.field(Field::Body)?;
    let first = body
        .children()
        .find(|child| child.kind() == Kind::Enumerator)?;
    first.field(Field::Name).map(|name| name.text())
}

/// Whether a declaration has this storage class.
pub(super) fn has_storage(node: Node<'_>, class: &str) -> bool {
    node.children()
        .any(|child| child.kind() == Kind::StorageClassSpecifier && child.text() == class)
}

/// One blank between words.
pub(super) fn squeeze(text: &str) -> SmolStr {
    if !text.contains(['\n', '\t', '\r']) && !text.contains("  ") && !text.contains("/*") {
        return text.into();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

fn arithmetic_meaning(text: &str) -> Meaning {
    if text == "void" {
        return Meaning::Void;
    }
    if let Some((_, meaning)) = WELL_KNOWN.iter().find(|(known, _)| *known == text) {
        return meaning.clone();
    }
    let count = |word: &str| {
        text.split_whitespace()
            .filter(|other| *other == word)
            .count()
    };
    let longs = count("long");
    if count("_Complex") > 0 || count("__complex__") > 0 || count("complex") > 0 {
        return Meaning::WideArithmetic;
    }
    if count("double") > 0 {
        return if longs > 0 {
            Meaning::WideArithmetic
        } else {
            Meaning::Float { bits: 64 }
        };
    }
    if count("float") > 0 {
        return Meaning::Float { bits: 32 };
    }
    let signed = count("unsigned") == 0;
    let bits = if count("char") > 0 {
        8
    } else if count("short") > 0 {
        16
    } else if longs > 0 {
        64
    } else {
        32
    };
    Meaning::Integer { bits, signed }
}

/// Words that are no names in a constant expression.
fn is_keyword(text: &str) -> bool {
    matches!(
        text,
        "int"
            | "long"
            | "short"
            | "char"
            | "unsigned"
            | "signed"
            | "float"
            | "double"
            | "bool"
            | "true"
            | "false"
            | "const"
            | "static"
            | "constexpr"
            | "struct"
            | "enum"
            | "static_cast"
            | "_Bool"
            | "NULL"
            | "nullptr"
    )
}
