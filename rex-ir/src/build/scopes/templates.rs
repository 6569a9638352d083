//! Template heads and what they are in front of.

use rex_syntax::TextSize;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::format_smolstr;

use crate::build::Builder;
use crate::build::names::squeeze;
use crate::build::types::declared_name;
use crate::item::TemplateHead;
use crate::symbol::{ScopeId, SymbolKind};
use crate::ty::Meaning;

impl<'u> Builder<'u> {
    pub(super) fn declare_template_parameters(&mut self, list: Node<'u>, scope: ScopeId) {
        for parameter in list.children() {
            match parameter.kind() {
                Kind::TypeParameterDeclaration
                | Kind::OptionalTypeParameterDeclaration
                | Kind::VariadicTypeParameterDeclaration
                | Kind::TemplateTemplateParameterDeclaration => {
                    let name = parameter.field(Field::Name).or_else(|| {
                        parameter
                            .children()
                            .find(|child| child.kind() == Kind::TypeIdentifier)
                    });
                    if let Some(name) = name {
                        let ty = self.types.named(name.text(), Meaning::Dependent);
                        self.declare_type(scope, name, ty, None);
                    }
                }
                _ => {
                    let base = self.base_type(parameter, parameter.range());
                    if let Some(declarator) = parameter.field(Field::Declarator)
                        && let Some(name) = declared_name(declarator)
                    {
                        self.declare(scope, name, SymbolKind::TemplateValue, base, None, None);
                    }
                }
            }
        }
    }

    /// A templated class or function is also visible outside its template head.
    pub(super) fn declare_templated(&mut self, node: Node<'u>, scope: ScopeId) {
        let specifier = match node.kind() {
            Kind::ClassSpecifier | Kind::StructSpecifier | Kind::UnionSpecifier => Some(node),
            _ => None,
        };
        if let Some(specifier) = specifier
            && let Some(name) = specifier.field(Field::Name)
        {
            let ty = self.record_type(specifier, specifier.range());
            self.declare_tag(scope, specifier, name, ty);
            self.class_templates.extend(self.types.record(ty));
        }
        if node.kind() == Kind::FunctionDefinition
            && let Some(name) = node.field(Field::Declarator).and_then(declared_name)
        {
            let dependent = self.types.named("auto", Meaning::Auto);
            self.declare(
                scope,
                name,
                SymbolKind::Function,
                dependent,
                None,
                Some(node.range()),
            );
        }
    }
}

/// The parameters of a template head; none for `template <>`.
pub(in crate::build) fn template_head(list: Node<'_>) -> Option<TemplateHead> {
    let mut parameters = Vec::new();
    let mut arguments = Vec::new();
    for parameter in list.children() {
        let is_pack = matches!(
            parameter.kind(),
            Kind::VariadicTypeParameterDeclaration | Kind::VariadicParameterDeclaration
        );
        // Nothing can depend on a parameter without a name.
        let Some(name) = parameter_name(parameter) else {
            continue;
        };
        let (declared, _) = with_default(parameter);
        parameters.push(squeeze(declared.trim()));
        arguments.push(if is_pack {
            format_smolstr!("{}...", name.text())
        } else {
            name.text().into()
        });
    }
    (!parameters.is_empty()).then(|| TemplateHead {
        parameters: parameters.join(", ").into(),
        arguments: arguments.join(", ").into(),
    })
}

/// A parameter of a template, and its default argument.
pub(in crate::build) fn with_default(parameter: Node<'_>) -> (&str, Option<&str>) {
    let text = parameter.text();
    let may_have = matches!(
        parameter.kind(),
        Kind::OptionalTypeParameterDeclaration | Kind::OptionalParameterDeclaration
    );
    match text.split_once('=').filter(|_| may_have) {
        Some((declared, value)) => (declared, Some(value.trim())),
        None => (text, None),
    }
}

/// The name of a parameter of a template.
pub(in crate::build) fn parameter_name(parameter: Node<'_>) -> Option<Node<'_>> {
    let (declared, _) = with_default(parameter);
    // The default value may have names of its own.
    let value = parameter.range().start() + TextSize::of(declared);
    let has_type = parameter
        .field(Field::Declarator)
        .or(parameter.field(Field::Type));
    parameter
        .field(Field::Declarator)
        .and_then(declared_name_of_pack)
        .or_else(|| parameter.field(Field::Name))
        .or_else(|| {
            parameter
                .descendants()
                .find(|inner| inner.kind() == Kind::TypeIdentifier)
                .filter(|inner| inner.range().start() < value && has_type.is_none())
        })
}

fn declared_name_of_pack(declarator: Node<'_>) -> Option<Node<'_>> {
    declared_name(declarator).or_else(|| {
        declarator
            .descendants()
            .find(|inner| inner.kind() == Kind::Identifier)
    })
}
