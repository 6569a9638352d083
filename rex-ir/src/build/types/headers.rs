//! Types that headers of the translation unit declare.

use rex_syntax::TextRange;
use rex_syntax::cst::parse_fragment;
use rex_syntax::declarations::DeclKind;
use rex_syntax::expansion::HeaderOrigin;
use rex_syntax::kind::{Field, Kind};
use smol_str::{SmolStr, format_smolstr};

use crate::build::Builder;
use crate::build::dependent_members::with_words;
use crate::build::names::{last_component, split_qualifier, template_arguments, without_arguments};
use crate::build::scopes::{parameter_name, with_default};
use crate::build::specializations::class_name;
use crate::headers::{self, TypeName};
use crate::ty::{Category, TypeId};

/// Whether a template has another definition for some arguments.
enum Specialized {
    No,
    /// For some that only the compiler compares.
    Perhaps,
    /// This class.
    As(String),
}

impl Builder<'_> {
    /// A type that a header of the translation unit declares. A name with arguments is one of a template.
    pub(in crate::build) fn header_type(&mut self, name: &str, at: TextRange) -> Option<TypeId> {
        let plain = without_arguments(name);
        let unqualified = last_component(&plain);
        let has_arguments = name.trim_end().ends_with('>');
        // Only a name that means one type wherever it stands is known by itself.
        if !has_arguments && let Some(known) = self.header_types.get(unqualified) {
            return *known;
        }
        let is_ambiguous = headers::is_ambiguous(self.unit, unqualified);
        let namespace = match is_ambiguous || has_arguments {
            true => self.namespace_of_types(at),
            false => SmolStr::default(),
        };
        let key: SmolStr = match (is_ambiguous, has_arguments) {
            (false, false) => unqualified.into(),
            _ => format_smolstr!("{name} in {namespace}"),
        };
        if let Some(known) = self.header_types.get(&key) {
            return *known;
        }
        // Entered first: a declaration that mentions itself ends here.
        self.header_types.insert(key.clone(), None);
        let asked = TypeName {
            qualifier: split_qualifier(&plain).map(|(qualifier, _)| qualifier),
            name: unqualified,
            namespace: &namespace,
        };
        let found = headers::find_type(self.unit, asked)?;
        let (text, scope) = (found.text.to_string(), found.scope.clone());
        let ty = match has_arguments {
            true if found.origin == HeaderOrigin::System => None,
            true => match self.header_specialization(name, unqualified) {
                Specialized::No => self.header_instance(&text, name, &scope, at),
                Specialized::Perhaps => None,
                Specialized::As(text) => self.fragment_type(&text, unqualified, &scope),
            },
            false => self.fragment_type(&text, unqualified, &scope),
        };
        self.header_types.insert(key, ty);
        ty
    }

    /// The namespaces around a place, `a::b`: those of its header where a declaration of one is read.
    fn namespace_of_types(&self, at: TextRange) -> SmolStr {
        match self.fragment_depth > 0 && at.is_empty() {
            true => self.fragment_scope.clone(),
            false => self.scopes.namespace_at(at).trim_end_matches("::").into(),
        }
    }

    /// Whether a class template is something else for the arguments of a name.
    fn header_specialization(&self, name: &str, unqualified: &str) -> Specialized {
        let wanted = class_name(name);
        let mut is_perhaps = false;
        for found in headers::specializations(self.unit, unqualified) {
            let arguments = &found.arguments;
            if found.is_full && class_name(&format!("{unqualified}{arguments}")) == wanted {
                return Specialized::As(found.text);
            }
            // The value of an expression is not known here.
            is_perhaps |= !found.is_full || wanted.contains(['+', '-', '/', '(', '?']);
        }
        match is_perhaps {
            true => Specialized::Perhaps,
            false => Specialized::No,
        }
    }

    /// What a class template of a header is with some arguments.
    fn header_instance(
        &mut self,
        text: &str,
        name: &str,
        scope: &SmolStr,
        at: TextRange,
    ) -> Option<TypeId> {
        const MAX_DEPTH: u32 = 16;
        // A template may have members of itself with other arguments.
        if !text.starts_with("template") || self.fragment_depth > MAX_DEPTH {
            return None;
        }
        let tree = parse_fragment(text, self.unit.language);
        let list = tree
            .root()
            .descendants()
            .find(|node| node.kind() == Kind::TemplateParameterList)?;
        let mut given = template_arguments(name)
            .into_iter()
            .filter(|argument| !argument.is_empty());
        let mut types: Vec<(SmolStr, TypeId)> = Vec::new();
        let mut values: Vec<(String, String)> = Vec::new();
        for parameter in list.children().filter(|it| it.kind() != Kind::Comment) {
            let argument = given.next();
            let (parameter_name, default) = (parameter_name(parameter), with_default(parameter).1);
            match parameter.kind() {
                Kind::TypeParameterDeclaration | Kind::OptionalTypeParameterDeclaration => {
                    let ty = match argument {
                        Some(argument) => self.type_of_text(argument, at),
                        None => {
                            let words: Vec<(String, String)> = types
                                .iter()
                                .map(|(name, ty)| (name.to_string(), self.types.spell(*ty)))
                                .collect();
                            self.type_of_text(&with_words(default?, &words), at)
                        }
                    };
                    // What is not known yet is a matter of the compiler.
                    if matches!(
                        self.types.category(ty),
                        Category::Unknown | Category::Dependent
                    ) {
                        return None;
                    }
                    if let Some(name) = parameter_name {
                        types.push((name.text().into(), ty));
                    }
                }
                Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration => {
                    let value = argument.map_or_else(|| default, Some)?;
                    let value = with_words(value, &values);
                    if let Some(name) = parameter_name {
                        values.push((name.text().to_owned(), value));
                    }
                }
                // Packs, and templates as arguments.
                _ => return None,
            }
        }
        let body = &text[usize::from(list.range().end())..];
        let body = body.trim_start().strip_prefix('>').unwrap_or(body);
        let text = with_words(body, &values);
        let plain = without_arguments(name);
        self.open_instance(name, types);
        let found = self.fragment_type(&text, last_component(&plain), scope);
        self.close_outside_types();
        found
    }

    /// A struct, union, class or enum that a header of the translation unit defines.
    pub(super) fn header_tag(&mut self, tag: &str) -> Option<TypeId> {
        let key: SmolStr = format!("struct {tag}").into();
        if let Some(known) = self.header_types.get(&key) {
            return *known;
        }
        self.header_types.insert(key.clone(), None);
        let found = headers::find(self.unit, tag, DeclKind::Tag)?;
        let (text, scope) = (found.text.to_string(), found.scope.clone());
        let ty = self.fragment_type(&text, tag, &scope);
        self.header_types.insert(key, ty);
        ty
    }

    /// The type that a declaration from a header gives to `name`. `scope` are the namespaces around it.
    fn fragment_type(&mut self, text: &str, name: &str, scope: &SmolStr) -> Option<TypeId> {
        let outer_scope = std::mem::replace(&mut self.fragment_scope, scope.clone());
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
        self.fragment_scope = outer_scope;
        found
    }
}
