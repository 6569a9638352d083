//! Alias templates: `template <class T> using Ptr = T *;`.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

use crate::build::Builder;
use crate::build::dependent_members::with_words;
use crate::build::names::{last_component, template_arguments, without_arguments};
use crate::build::scopes::{parameter_name, with_default};
use crate::ty::{Category, TypeId};

/// An alias template of the unit.
#[derive(Debug)]
pub(in crate::build) struct AliasTemplate {
    name: String,
    /// The names of the parameters, with their default arguments.
    parameters: Vec<(String, Option<String>)>,
    target: String,
}

impl AliasTemplate {
    /// `None` for one whose arguments cannot be counted.
    pub(in crate::build) fn of(parameters: Node<'_>, alias: Node<'_>) -> Option<AliasTemplate> {
        let list = parameters.children();
        let parameters = list
            .filter(|it| it.kind() != Kind::Comment)
            .map(|parameter| {
                let is_pack = matches!(
                    parameter.kind(),
                    Kind::VariadicTypeParameterDeclaration | Kind::VariadicParameterDeclaration
                );
                let name = parameter_name(parameter).filter(|_| !is_pack)?;
                let value = with_default(parameter).1;
                Some((name.text().to_owned(), value.map(str::to_owned)))
            })
            .collect::<Option<Vec<_>>>()?;
        Some(AliasTemplate {
            name: alias.field(Field::Name)?.text().to_owned(),
            parameters,
            target: alias.field(Field::Type)?.text().to_owned(),
        })
    }

    /// The type that it stands for with the arguments of a name.
    fn with_arguments_of(&self, name: &str) -> Option<String> {
        let mut given = template_arguments(name)
            .into_iter()
            .filter(|argument| !argument.is_empty());
        let mut arguments: Vec<(String, String)> = Vec::new();
        for (parameter, value) in &self.parameters {
            let argument = match (given.next(), value) {
                (Some(argument), _) => argument.to_owned(),
                (None, Some(value)) => with_words(value, &arguments),
                (None, None) => return None,
            };
            arguments.push((parameter.clone(), argument));
        }
        Some(with_words(&self.target, &arguments))
    }
}

impl Builder<'_> {
    /// What a name with arguments means, if it is that of an alias template of the unit for a type that is known.
    pub(in crate::build) fn type_of_alias_template(
        &mut self,
        name: &str,
        at: TextRange,
    ) -> Option<TypeId> {
        const MAX_DEPTH: u32 = 16;
        // One may stand for itself.
        if self.fragment_depth > MAX_DEPTH {
            return None;
        }
        let plain = without_arguments(last_component(name));
        let template = self.alias_templates.iter().rev();
        let target = template
            .filter(|template| template.name == plain)
            .find_map(|template| template.with_arguments_of(last_component(name)))?;
        let ty = self.type_of_text(&target, at);
        let is_known = !matches!(
            self.types.category(ty),
            Category::Unknown | Category::Dependent
        );
        if !is_known {
            return None;
        }
        match self.types.is_reference(ty) {
            true => Some(ty),
            false => Some(self.alias(name, ty)),
        }
    }
}
