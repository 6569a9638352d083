//! Classes, structs and unions with their members.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::SmolStr;

use super::declarators::{declared_name, default_value, function_declarator, has_storage};
use crate::build::Builder;
use crate::build::names::{function_name, squeeze};
use crate::namer;
use crate::ty;
use crate::ty::{Base, Meaning, Record, TypeId, TypeKind};

impl Builder<'_> {
    pub(in crate::build) fn record_type(&mut self, node: Node<'_>, at: TextRange) -> TypeId {
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
                if let Some(member) = self.outside_type(name) {
                    return member;
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
        let ty = self.types.named(spelling, Meaning::Record(record));
        if let Some(name) = name.filter(|_| node.field(Field::Body).is_some()) {
            self.add_outside_type(&name, ty);
        }
        ty
    }

    /// The class of this name whose body is being read: its members may point to its objects.
    pub(super) fn open_record(&self, name: &str) -> Option<ty::RecordId> {
        let mut inside_out = self.open_records.iter().rev();
        inside_out
            .find(|(open, _)| open == name && !name.is_empty())
            .map(|(_, record)| *record)
    }

    /// Whether a type is a class whose body is being read, or an array of it: no member can be such an object.
    fn is_unfinished(&self, ty: TypeId) -> bool {
        let record = self.types.record(self.types.innermost_element(ty));
        let mut open = self.open_records.iter();
        !self.types.is_reference(ty)
            && record.is_some_and(|record| open.any(|(_, other)| *other == record))
    }

    /// `struct name` in C and where C++ wrote it; an untagged type is its whole text.
    pub(super) fn tag_spelling(&self, node: Node<'_>, keyword: &str) -> SmolStr {
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
            has_virtual_bases: false,
            methods: Vec::new(),
            friends: Vec::new(),
            body: (self.fragment_depth == 0).then(|| body.range()),
            is_untagged: false,
            is_union: node.kind() == Kind::UnionSpecifier,
            is_reversed: self.is_reversed(node, body),
            unnamed: Vec::new(),
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
        let mut has_virtual_bases = false;
        for child in node.children() {
            if child.kind() == Kind::BaseClassClause {
                let mut words = child.tokens_and_children();
                has_virtual_bases |= words.any(|word| word.text() == "virtual");
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
                        .map(|base| Base::new(base.text())),
                );
            }
        }
        self.open_records.push((name.into(), id));
        self.open_outside_types(name);
        let mut fields = Vec::new();
        let mut methods = Vec::new();
        let mut unnamed = Vec::new();
        let friends = body.children().filter_map(befriended).collect();
        for member in body.children() {
            match member.kind() {
                Kind::FieldDeclaration => {
                    unnamed.extend(self.unnamed_member(member, at).map(|it| (fields.len(), it)));
                    self.read_field(member, at, &mut fields, &mut methods);
                }
                Kind::FunctionDefinition => methods.extend(self.method_of(member, at)),
                Kind::TypeDefinition | Kind::AliasDeclaration if self.fragment_depth > 0 => {
                    self.read_member_alias(member, at);
                }
                // Constructors, destructors and conversions have no type in front.
                Kind::Declaration => methods.extend(self.method_of(member, at)),
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
        self.close_outside_types();
        let record = &mut self.types.records[id];
        record.fields = fields;
        record.methods = methods;
        record.unnamed = unnamed;
        record.friends = friends;
        record.bases = bases;
        record.has_virtual_bases = has_virtual_bases;
        id
    }

    /// Whether attributes of a struct, perhaps by macros, give its scalars an order of their own; compilers of C++ ignore them.
    fn is_reversed(&self, node: Node<'_>, body: Node<'_>) -> bool {
        const WORD: &str = "scalar_storage_order";
        if self.unit.language != Language::C {
            return false;
        }
        // The tree's own text has no attribute macros.
        let (source, is_of_unit) = match self.fragment_depth {
            0 => (self.source, true),
            _ => (node.tree().text(), false),
        };
        let says_so = |text: &str| text.contains(WORD);
        let behind = TextRange::new(body.range().end(), TextSize::of(source));
        let end = lex::significant_tokens(source, behind)
            .find(|token| matches!(token.text(source), ";" | "=" | "{" | "}"));
        let outside = [
            TextRange::new(node.range().start(), body.range().start()),
            TextRange::new(
                behind.start(),
                end.map_or(behind.end(), |it| it.range.start()),
            ),
        ];
        outside.into_iter().any(|outside| {
            let is_macro_of_it = |at: TextRange| {
                let definition = self.macro_at(&source[at], at);
                definition.is_some_and(|it| says_so(&it.body))
            };
            says_so(&source[outside])
                // Macros of headers have been expanded.
                || is_of_unit && lex::identifiers(source, outside).any(is_macro_of_it)
        })
    }

    /// A `typedef` or alias among the members of a class outside the unit.
    fn read_member_alias(&mut self, member: Node<'_>, at: TextRange) {
        if let Some(alias) = member.field(Field::Name) {
            if let Some(aliased) = member.field(Field::Type) {
                let ty = self.descriptor_type(aliased, at);
                self.add_outside_type(alias.text(), ty);
            }
            return;
        }
        let base = self.base_type(member, at);
        for declarator in member.fields(Field::Declarator) {
            let declared = self.declarator(declarator, base, at);
            if let Some(name) = declared.name {
                self.add_outside_type(name.text(), declared.ty);
            }
        }
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
            is_marked_virtual: is_marked_virtual(member),
        })
    }

    /// The struct or union that a member without a name is.
    fn unnamed_member(&mut self, member: Node<'_>, at: TextRange) -> Option<ty::RecordId> {
        let is_unnamed = member.fields(Field::Declarator).is_empty()
            && member
                .field(Field::Type)
                .is_some_and(|ty| ty.field(Field::Name).is_none());
        let base = is_unnamed.then(|| self.base_type(member, at))?;
        self.types.record(base)
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
        let declarators = member.fields(Field::Declarator);
        let is_before_width = |declarator: Node<'_>| {
            let after = member
                .children()
                .find(|child| child.range().start() >= declarator.range().end());
            after.is_some_and(|child| child.kind() == Kind::BitfieldClause)
        };
        if let Some(record) = self.unnamed_member(member, at) {
            // Its members are members of the enclosing class.
            let inner = self.types.records[record].fields.clone();
            fields.extend(inner);
        }
        for declarator in declarators {
            let value = default_value(member, declarator).map(|value| squeeze(value.text()));
            let declared = self.declarator(declarator, base, at);
            let Some(name) = declared.name else { continue };
            if let TypeKind::Function { returns, .. } = self.types.get(declared.ty).kind
                && declared.parameters.is_some()
            {
                methods.push(ty::Method {
                    name: name.text().into(),
                    returns,
                    is_static,
                    is_marked_virtual: is_marked_virtual(member),
                });
            } else {
                let ty = match self.is_unfinished(declared.ty) && !is_static {
                    true => {
                        let spelling = self.types.spell(declared.ty);
                        self.types.named(spelling, Meaning::Unknown)
                    }
                    false => declared.ty,
                };
                fields.push(ty::Field {
                    name: name.text().into(),
                    ty,
                    is_static,
                    constant: value.filter(|_| is_static && is_const),
                    is_bit_field: is_before_width(declarator),
                });
            }
        }
    }
}

/// Whether the declaration of a member function says that calls choose among functions.
pub(in crate::build) fn is_marked_virtual(member: Node<'_>) -> bool {
    let declarator = member
        .field(Field::Declarator)
        .and_then(function_declarator);
    member
        .tokens_and_children()
        .any(|child| child.text() == "virtual")
        || declarator
            .into_iter()
            .flat_map(|declarator| declarator.children())
            .any(|child| child.kind() == Kind::VirtualSpecifier)
}

/// The function that a member of a class body makes a friend.
fn befriended(member: Node<'_>) -> Option<ty::Friend> {
    let friend = match member.kind() {
        Kind::TemplateDeclaration => member.children().last()?,
        _ => member,
    };
    let declaration =
        (friend.kind() == Kind::FriendDeclaration).then(|| friend.children().last())??;
    let name = declared_name(declaration.field(Field::Declarator)?)?;
    let name = squeeze(name.text());
    let function = function_name(&name);
    let qualifier = name.strip_suffix(function.as_str());
    Some(ty::Friend {
        qualifier: qualifier
            .and_then(|qualifier| qualifier.trim_end().strip_suffix("::"))
            .map(SmolStr::from),
        function,
    })
}
