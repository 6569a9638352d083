//! Reads types from specifiers and declarators.

mod arithmetic;
mod attributes;
mod constants;
mod declarators;
mod headers;
mod named;
mod outside;
mod records;
mod templates;

pub(super) use attributes::has_type_attributes;
pub(super) use declarators::{
    declared_name, declares_function, default_value, function_declarator, has_storage,
};
pub(super) use outside::OutsideTypes;
pub(super) use records::is_marked_virtual;
pub(super) use templates::AliasTemplate;

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Builder;
use crate::build::names::{last_component, squeeze};
use crate::symbol::SymbolKind;
use crate::ty::{Category, Meaning, TypeId, TypeKind};
use arithmetic::arithmetic_meaning;
use declarators::Qualifiers;

impl Builder<'_> {
    /// The type that the specifiers of a declaration name.
    pub(in crate::build) fn base_type(&mut self, declaration: Node<'_>, at: TextRange) -> TypeId {
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
        let ty = self.attributed(ty, declaration);
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
    pub(in crate::build) fn specifier_type(&mut self, node: Node<'_>, at: TextRange) -> TypeId {
        let text = squeeze(node.text());
        match node.kind() {
            Kind::PrimitiveType | Kind::SizedTypeSpecifier => {
                // `long const`, `unsigned const char`: the qualifiers stand inside.
                let words = text.split_whitespace();
                let plain = words.filter(|word| !matches!(*word, "const" | "volatile"));
                let plain = SmolStr::from(plain.collect::<Vec<_>>().join(" "));
                let meaning = arithmetic_meaning(&plain);
                let ty = self.types.named(plain, meaning);
                self.qualify(ty, Qualifiers::of(node))
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
                let ty = self.types.named(spelling, Meaning::Enum);
                if let Some(name) = node.field(Field::Name) {
                    self.add_outside_type(name.text(), ty);
                }
                ty
            }
            _ if is_typeof(&text) => self.type_of_operand(&text, at),
            Kind::TypeIdentifier if matches!(&*text, "__auto_type" | "auto") => {
                self.types.named(text, Meaning::Auto)
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
                let class = self.specialization(&text, at).or_else(|| {
                    let template = self.scopes.resolve(&self.symbols, &name, at)?;
                    self.types.record(self.symbols[template].ty)
                });
                // Named by what a kernel may not have yet: the compiler tells.
                if self.names_variable_in_decltype(node, at) {
                    return self.types.named(text, Meaning::Auto);
                }
                if class.is_none()
                    && let Some(ty) = self.type_of_alias_template(&text, at)
                {
                    return ty;
                }
                let is_dependent = self.depends_on_template(node, at);
                if class.is_none()
                    && !is_dependent
                    && let Some(ty) = self.header_type(&text, at)
                {
                    return self.alias(&text, ty);
                }
                let meaning = match class {
                    None if is_dependent => Meaning::Dependent,
                    class => Meaning::Record(class),
                };
                self.types.named(text, meaning)
            }
            Kind::PlaceholderTypeSpecifier | Kind::Auto => self.types.named(text, Meaning::Auto),
            Kind::Decltype => self.declared_type_of(&text, at),
            Kind::DependentType => self.types.named(text, Meaning::Dependent),
            _ => self.types.named(text, Meaning::Unknown),
        }
    }

    /// `decltype(x)`, `typeof` is not one: where the type of its operand is not known, the compiler tells.
    fn declared_type_of(&mut self, text: &str, at: TextRange) -> TypeId {
        let known = named_by_decltype(text)
            .and_then(|operand| self.scopes.resolve(&self.symbols, operand, at))
            .map(|symbol| &self.symbols[symbol])
            .filter(|symbol| symbol.kind.is_variable())
            .map(|symbol| symbol.ty);
        match known {
            Some(ty) if self.types.category(ty) != Category::Unknown => ty,
            _ => self.types.named(text, Meaning::Auto),
        }
    }

    /// Writes out the type that `typeof` of an expression is: its variables are not in the kernel if nothing else uses them.
    pub(in crate::build) fn write_out_typeof(&mut self, node: Node<'_>) {
        let text = node.text().to_owned();
        if !is_typeof(&text) {
            return;
        }
        let ty = self.type_of_operand(&text, node.range());
        let is_word = !matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Array { .. } | TypeKind::Pointer(_) | TypeKind::Function { .. }
        );
        if is_word && self.types.category(ty) != Category::Unknown {
            let spelled = self.types.spell(ty);
            self.conversions.push((node.range(), spelled.into()));
        }
    }

    /// `typeof(x)` of a type, a variable, or what a variable points to.
    pub(in crate::build) fn type_of_operand(&mut self, text: &str, at: TextRange) -> TypeId {
        let operand = text
            .split_once('(')
            .and_then(|(_, rest)| rest.strip_suffix(')'))
            .unwrap_or("");
        if let Some(ty) = self.type_of_object(operand, at) {
            return ty;
        }
        let tree = parse_fragment(&format!("{operand} x;"), self.unit.language);
        let declaration = tree.root().children().next();
        let is_whole = !tree.root().has_error();
        self.fragment_depth += 1;
        let found = declaration
            .filter(|_| is_whole && !operand.contains("typeof"))
            .and_then(|declaration| {
                let base = self.base_type(declaration, at);
                let declarator = declaration.field(Field::Declarator)?;
                Some(self.declarator(declarator, base, at).ty)
            });
        let found = found.filter(|ty| self.types.category(*ty) != Category::Unknown);
        let found = found.or_else(|| self.type_of_words(operand, at));
        let found = found.or_else(|| self.type_in_words(operand, at));
        self.fragment_depth -= 1;
        found.unwrap_or_else(|| self.types.named(text, Meaning::Unknown))
    }

    /// The type of an expression in words.
    fn type_of_words(&mut self, words: &str, at: TextRange) -> Option<TypeId> {
        let tree = parse_fragment(&format!("int x = {words};"), self.unit.language);
        let root = tree.root();
        let value = root
            .descendants()
            .find(|node| node.kind() == Kind::InitDeclarator)?
            .field(Field::Value)?;
        match root.has_error() {
            true => None,
            false if self.is_int_in_c_at(value, at) => Some(self.int_type()),
            false => self.expression_type(value, at, 0),
        }
    }

    /// The type that words name without a declared name: `int[4]`.
    fn type_in_words(&mut self, words: &str, at: TextRange) -> Option<TypeId> {
        let tree = parse_fragment(&format!("int x = sizeof({words});"), self.unit.language);
        let root = tree.root();
        let ty = root
            .descendants()
            .find(|node| node.kind() == Kind::TypeDescriptor)?;
        match root.has_error() {
            true => None,
            false => Some(self.descriptor_type(ty, at)),
        }
    }

    /// The type of `x`, `*x` or `x[0]`.
    fn type_of_object(&self, operand: &str, at: TextRange) -> Option<TypeId> {
        let operand = operand.trim();
        if let Some(pointer) = operand.strip_prefix('*') {
            return self.types.element(self.type_of_object(pointer, at)?);
        }
        if operand.ends_with(']') {
            let (array, _) = operand.rsplit_once('[')?;
            return self.types.element(self.type_of_object(array, at)?);
        }
        let symbol = self.scopes.resolve(&self.symbols, operand, at)?;
        let symbol = &self.symbols[symbol];
        symbol.kind.is_variable().then_some(symbol.ty)
    }

    /// Whether a type specifier names a class template, whose arguments the initializer decides.
    pub(in crate::build) fn lacks_template_arguments(
        &self,
        specifier: Node<'_>,
        at: TextRange,
    ) -> bool {
        let is_name = matches!(
            specifier.kind(),
            Kind::TypeIdentifier | Kind::Identifier | Kind::QualifiedIdentifier
        );
        if !is_name || self.unit.language != Language::Cxx || specifier.text().ends_with('>') {
            return false;
        }
        let name = last_component(specifier.text()).trim();
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
        // An alias has them.
        self.types.records[record].name == name
            && self.class_templates.contains(&record)
            && !specifier.ancestors().any(is_inside)
    }

    /// Whether a node has a `decltype` in it of a variable of a function or class.
    fn names_variable_in_decltype(&self, node: Node<'_>, at: TextRange) -> bool {
        let is_own = |name: Node<'_>| {
            let found = self.scopes.resolve(&self.symbols, name.text(), at);
            found.is_some_and(|id| {
                let kind = self.symbols[id].kind;
                kind.is_automatic() || kind == SymbolKind::Field
            })
        };
        node.descendants()
            .filter(|inner| inner.kind() == Kind::Decltype)
            .any(|ty| {
                let mut names = ty.descendants();
                names.any(|name| name.kind() == Kind::Identifier && is_own(name))
            })
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

    /// The type of a `type_descriptor` (casts, template arguments).
    pub(in crate::build) fn descriptor_type(&mut self, node: Node<'_>, at: TextRange) -> TypeId {
        let base = self.base_type(node, at);
        match node.field(Field::Declarator) {
            Some(declarator) => self.declarator(declarator, base, at).ty,
            None => base,
        }
    }
}

fn first_enumerator<'t>(specifier: Node<'t>) -> Option<&'t str> {
    let body = specifier.field(Field::Body)?;
    let first = body
        .children()
        .find(|child| child.kind() == Kind::Enumerator)?;
    first.field(Field::Name).map(|name| name.text())
}

/// The name that a `decltype` is of, if it is of one.
pub(super) fn named_by_decltype(text: &str) -> Option<&str> {
    let operand = text.strip_prefix("decltype")?.trim_start();
    let name = operand.strip_prefix('(')?.strip_suffix(')')?.trim();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

pub(super) fn is_typeof(text: &str) -> bool {
    let word = text.split('(').next().unwrap_or("").trim();
    matches!(word, "typeof" | "__typeof__" | "__typeof" | "typeof_unqual")
}
