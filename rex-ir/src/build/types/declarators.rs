//! Declarators: the declared name and what stands around it.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::{SmolStr, format_smolstr};

use crate::build::Builder;
use crate::build::names::squeeze;
use crate::ty::{Extent, Meaning, Type, TypeId, TypeKind};

/// A declarator: the declared name and its type.
pub(in crate::build) struct Declared<'t> {
    pub(in crate::build) name: Option<Node<'t>>,
    pub(in crate::build) ty: TypeId,
    pub(in crate::build) parameters: Option<Node<'t>>,
}

/// `const` and `volatile` among the children of a declaration or declarator.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Qualifiers {
    pub(super) is_const: bool,
    pub(super) is_volatile: bool,
}

/// The name node inside a declarator.
pub(in crate::build) fn declared_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut current = node;
    while !is_name(current) {
        current = inner_declarator(current)?;
    }
    Some(current)
}

/// Whether a declarator is the declared name alone.
fn is_name(declarator: Node<'_>) -> bool {
    match declarator.kind() {
        Kind::QualifiedIdentifier => member_pointer(declarator).is_none(),
        Kind::Identifier
        | Kind::FieldIdentifier
        | Kind::TypeIdentifier
        | Kind::OperatorName
        | Kind::DestructorName
        | Kind::OperatorCast
        | Kind::TemplateFunction => true,
        _ => false,
    }
}

/// The declarator that a declarator adds something to.
fn inner_declarator(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        Kind::QualifiedIdentifier => member_pointer(node),
        Kind::ReferenceDeclarator | Kind::AbstractReferenceDeclarator => node.children().last(),
        Kind::ParenthesizedDeclarator
        | Kind::AbstractParenthesizedDeclarator
        | Kind::AttributedDeclarator => node.children().find(|child| {
            !matches!(
                child.kind(),
                Kind::MsCallModifier | Kind::AttributeDeclaration | Kind::Comment
            )
        }),
        _ => node.field(Field::Declarator),
    }
}

/// The value that a data member's declaration in the class gives this declarator.
pub(in crate::build) fn default_value<'t>(
    member: Node<'t>,
    declarator: Node<'t>,
) -> Option<Node<'t>> {
    let mut after = member
        .children()
        .skip_while(|child| child.range().start() < declarator.range().end());
    after
        .next()
        .filter(|child| child.role() == Some(Field::DefaultValue))
}

/// Whether a declaration has this storage class.
pub(in crate::build) fn has_storage(node: Node<'_>, class: &str) -> bool {
    node.children()
        .any(|child| child.kind() == Kind::StorageClassSpecifier && child.text() == class)
}

/// The part of a declarator that has the parameter list.
pub(in crate::build) fn function_declarator(declarator: Node<'_>) -> Option<Node<'_>> {
    declarator
        .subtree()
        .find(|inner| inner.kind() == Kind::FunctionDeclarator)
}

/// Whether a declarator declares a function rather than a pointer to one.
pub(in crate::build) fn declares_function(declarator: Node<'_>) -> bool {
    function_declarator(declarator)
        .and_then(|function| function.field(Field::Declarator))
        .is_some_and(|name| name.kind() != Kind::ParenthesizedDeclarator)
}

impl Qualifiers {
    pub(super) fn of(node: Node<'_>) -> Qualifiers {
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

impl Builder<'_> {
    /// Applies a declarator to a base type.
    pub(in crate::build) fn declarator<'t>(
        &mut self,
        node: Node<'t>,
        base: TypeId,
        at: TextRange,
    ) -> Declared<'t> {
        let mut ty = base;
        let mut current = node;
        let mut parameters = None;
        while !is_name(current) {
            let is_to_function = takes_nothing(current);
            if is_to_function {
                ty = self.types.plain(TypeKind::Function {
                    returns: ty,
                    parameters: "()".into(),
                });
            }
            match current.kind() {
                Kind::PointerDeclarator | Kind::ReferenceDeclarator
                    if lacks_parentheses(current) && !is_to_function =>
                {
                    // `(*a)[N]`, `(*&a)[N]`: the array comes first.
                    let mut around = Vec::new();
                    let mut inner = Some(current);
                    while let Some(next) = inner.filter(|inner| is_indirection(*inner)) {
                        around.push(next.kind());
                        inner = inner_declarator(next);
                    }
                    let Some(inner) = inner else { break };
                    let array = self.declarator(inner, ty, at);
                    let ty = around.into_iter().fold(array.ty, |ty, kind| {
                        self.types.plain(match kind {
                            Kind::PointerDeclarator => TypeKind::Pointer(ty),
                            _ => TypeKind::Reference(ty),
                        })
                    });
                    return Declared { ty, ..array };
                }
                Kind::PointerDeclarator if lacks_class(current) => {
                    ty = self.types.named(squeeze(node.text()), Meaning::Auto);
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
                }
                Kind::ReferenceDeclarator | Kind::AbstractReferenceDeclarator => {
                    ty = self.types.plain(TypeKind::Reference(ty));
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
                }
                Kind::QualifiedIdentifier => {
                    // `T C::*p`: the compiler tells how wide it is.
                    let spelling = self.spelled_member_pointer(ty, current);
                    ty = self.types.named(spelling, Meaning::Auto);
                    current = member_pointer(current).unwrap_or(current);
                }
                Kind::FunctionDeclarator | Kind::AbstractFunctionDeclarator => {
                    let list = current.field(Field::Parameters);
                    let text = list.map_or("()".into(), |list| squeeze(list.text()));
                    ty = self.types.plain(TypeKind::Function {
                        returns: ty,
                        parameters: text,
                    });
                    parameters = list;
                }
                _ => {}
            }
            match inner_declarator(current) {
                Some(inner) => current = inner,
                None => break,
            }
        }
        Declared {
            name: Some(current).filter(|name| is_name(*name)),
            ty,
            parameters,
        }
    }

    /// The type of a pointer to members of this type, which a name may follow: `int C::*`, `__typeof__(int (C::*)(int) const)`.
    fn spelled_member_pointer(&self, member: TypeId, qualified: Node<'_>) -> SmolStr {
        let pointer = member_pointer(qualified).unwrap_or(qualified);
        let text = qualified.tree().text();
        let class =
            squeeze(&text[TextRange::new(qualified.range().start(), pointer.range().start())]);
        let TypeKind::Function {
            returns,
            parameters,
        } = &self.types.get(member).kind
        else {
            return format_smolstr!("{} {class}*", self.types.spell(member));
        };
        let mut around = qualified.ancestors();
        let function = around.find(|outer| outer.kind() == Kind::FunctionDeclarator);
        let qualifiers = function.and_then(|function| {
            let list = function.field(Field::Parameters)?;
            Some(&text[TextRange::new(list.range().end(), function.range().end())])
        });
        format_smolstr!(
            "__typeof__({} ({class}*){parameters}{})",
            self.types.spell(*returns),
            qualifiers.unwrap_or_default()
        )
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

fn is_indirection(declarator: Node<'_>) -> bool {
    matches!(
        declarator.kind(),
        Kind::PointerDeclarator | Kind::ReferenceDeclarator
    )
}

/// Whether the class of a pointer to members was blanked for the grammar: `typedef int (C::*F)();`.
fn lacks_class(declarator: Node<'_>) -> bool {
    let before = &declarator.tree().text()[..usize::from(declarator.range().start())];
    before.trim_end().ends_with("::")
}

/// Whether a declarator is one of pointers to functions whose parentheses were blanked for the grammar: `(*f)()`, `(C::*f[N])()`.
fn takes_nothing(declarator: Node<'_>) -> bool {
    let behind = &declarator.tree().text()[usize::from(declarator.range().end())..];
    let mut behind = behind.bytes().filter(|byte| !byte.is_ascii_whitespace());
    lacks_parentheses(declarator) && b")()".iter().all(|byte| behind.next() == Some(*byte))
}

/// Whether a declarator stands in parentheses that were blanked for the grammar.
fn lacks_parentheses(declarator: Node<'_>) -> bool {
    let before = &declarator.tree().text()[..usize::from(declarator.range().start())];
    let is_own = |parent: Node<'_>| {
        parent.kind() == Kind::ParenthesizedDeclarator
            || parent.range().start() < declarator.range().start()
                && !matches!(
                    parent.kind(),
                    Kind::Declaration
                        | Kind::InitDeclarator
                        | Kind::FieldDeclaration
                        | Kind::ParameterDeclaration
                        | Kind::OptionalParameterDeclaration
                )
    };
    before.trim_end().ends_with('(') && !declarator.parent().is_some_and(is_own)
}
