//! Members and elements of objects whose type a template's parameter gives, or only the compiler deduces.

use rex_syntax::kind::Kind;
use rex_syntax::{TextRange, TextSize, lex};

use super::Builder;
use super::names::template_arguments;
use super::scopes::{parameter_name, with_default};
use crate::item::Membership;
use crate::ty::{Category, Meaning, Record, RecordId, TypeId, TypeKind};

impl Builder<'_> {
    /// The type of a member, if it is the same in all classes of the unit that the object could be of.
    ///
    /// These are the classes with every member that the function around `object` names in it.
    pub(super) fn member_of_classes(
        &self,
        class: TypeId,
        member: &str,
        object: TextRange,
    ) -> Option<TypeId> {
        let is_deduced = matches!(
            self.types.get(self.types.object_type(class)).kind,
            TypeKind::Named {
                meaning: Meaning::Auto,
                ..
            }
        );
        if !is_deduced && self.types.category(class) != Category::Dependent {
            return None;
        }
        let named = self.members_named_in(object);
        let has = |record: &Record, name: &str| record.fields.iter().any(|it| it.name == name);
        let all: Vec<&Record> = self.types.records.values().collect();
        let fitting = all
            .iter()
            .copied()
            .filter(|record| has(record, member) && named.iter().all(|name| has(record, name)));
        let mut found = types_of(fitting, member);
        if found.is_empty() {
            // The class of a member of the object, or one with bases.
            found = types_of(all.into_iter(), member);
        }
        let first = *found.first()?;
        let is_known = self.types.category(first) != Category::Dependent;
        (is_known && found.iter().all(|other| *other == first)).then_some(first)
    }

    /// The type of a member as the compiler knows it when the template is instantiated.
    pub(super) fn dependent_member(&mut self, class: TypeId, member: TextRange) -> Option<TypeId> {
        let class = self.types.object_type(class);
        if self.types.category(class) != Category::Dependent {
            return None;
        }
        let class = self.types.spell(class);
        let member = self.text(member);
        let spelling = format!("decltype(rex_object_of<{class}>().{member})");
        Some(self.types.named(spelling, Meaning::Dependent))
    }

    /// The type of a member as code at a place sees it.
    pub(super) fn member_seen_at(
        &mut self,
        at: TextRange,
        class: TypeId,
        member: &str,
    ) -> Option<TypeId> {
        let declared = self.member_type(class, member)?;
        let record = self.types.record(class);
        let seen = record.and_then(|record| self.seen_from(declared, class, record, at));
        Some(seen.unwrap_or(declared))
    }

    /// What a type that a class says of its members is outside the class: arguments of an instantiation stand in the place of parameters, and types
    /// that the class declares are qualified.
    ///
    /// `None` if it names something else that only the class knows.
    pub(super) fn seen_from(
        &mut self,
        ty: TypeId,
        object: TypeId,
        class: RecordId,
        at: TextRange,
    ) -> Option<TypeId> {
        let body = self.types.records[class].body;
        let Some(body) = body.filter(|body| !body.contains_range(at)) else {
            return Some(ty);
        };
        let is_of_class = |membership: &Membership| membership.record == Some(class);
        let function = self.innermost_function(at);
        let membership = function.and_then(|id| self.functions[id].membership.as_ref());
        if membership.is_some_and(is_of_class) {
            return Some(ty);
        }
        let inside = TextRange::empty(body.end() - TextSize::of('}'));
        let spelling = self.types.declare(ty, "rex_object");
        let foreign = self.names_that_differ(&spelling, inside, at);
        if foreign.is_empty() {
            return Some(ty);
        }
        let arguments = self.template_arguments(object, body);
        // Which type that is depends on the arguments at hand.
        let is_plain =
            self.types.record(object).is_some() && !self.class_templates.contains(&class);
        let place = self.unit.tree.root().smallest_at(at);
        let mut around = place.ancestors();
        let keyword =
            match !is_plain && around.any(|outer| outer.kind() == Kind::TemplateDeclaration) {
                true => "typename ",
                false => "",
            };
        let mut seen = spelling.clone();
        for name in foreign.into_iter().rev() {
            let word = &spelling[name];
            let argument = arguments.iter().find(|(parameter, _)| parameter == word);
            let (place, written) = match argument {
                Some((_, argument)) => (name, argument.clone()),
                None => {
                    let member = self.declared_in(word, inside, body)?;
                    let class = self.types.spell(self.types.object_type(object));
                    (
                        with_keyword(&spelling, name),
                        format!("{keyword}{}::{member}", without_keyword(&class)),
                    )
                }
            };
            seen.replace_range(std::ops::Range::<usize>::from(place), &written);
        }
        Some(self.type_declared_by(&seen, at))
    }

    /// The name of a type, if it is declared in this body itself.
    fn declared_in<'n>(&self, name: &'n str, at: TextRange, body: TextRange) -> Option<&'n str> {
        let symbol = self.scopes.resolve_type(&self.symbols, name, at)?;
        let declared = self.symbols[symbol].declared_at?;
        body.contains_range(declared).then_some(name)
    }

    /// The names in a type that mean something else, or nothing, at another place.
    fn names_that_differ(
        &self,
        spelling: &str,
        one: TextRange,
        other: TextRange,
    ) -> Vec<TextRange> {
        let meaning = |name: &str, at| self.scopes.resolve_type_word(&self.symbols, name, at);
        lex::identifiers(spelling, lex::whole(spelling))
            .filter(|name| meaning(&spelling[*name], one) != meaning(&spelling[*name], other))
            .collect()
    }

    /// The parameters of a class template, with the arguments that the type of an object gives them.
    fn template_arguments(&self, object: TypeId, body: TextRange) -> Vec<(String, String)> {
        let class = self.unit.tree.root().smallest_at(body);
        let lists = class.ancestors().filter_map(|around| {
            let mut children = around.children();
            children.find(|it| it.kind() == Kind::TemplateParameterList)
        });
        let Some(list) = lists.last() else {
            return Vec::new();
        };
        let object = self.types.spell(self.types.object_type(object));
        let mut given = template_arguments(&object)
            .into_iter()
            .filter(|argument| !argument.is_empty());
        let mut arguments: Vec<(String, String)> = Vec::new();
        for parameter in list.children().filter(|it| it.kind() != Kind::Comment) {
            let argument = match given.next() {
                Some(argument) => argument.to_owned(),
                None => match with_default(parameter).1 {
                    Some(value) => with_words(value, &arguments),
                    None => break,
                },
            };
            if let Some(name) = parameter_name(parameter) {
                arguments.push((name.text().to_owned(), argument));
            }
        }
        arguments
    }

    /// The type of an object whose elements or target an item names: what a template gives is a pointer then, or an array, unless it is
    /// a member, whose pointer is mapped too.
    pub(super) fn with_elements(&mut self, ty: TypeId) -> TypeId {
        let TypeKind::Named {
            spelling,
            meaning: Meaning::Dependent,
        } = &self.types.get(self.types.object_type(ty)).kind
        else {
            return ty;
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let element = match spelling.as_str() {
            member if member.starts_with("decltype(") => "rex_pointee",
            nested if nested.starts_with("typename ") => "rex_element",
            parameter if parameter.chars().all(is_word) => "rex_element",
            _ => return ty,
        };
        let element = format!("typename {element}<{spelling}>::rex_type");
        let element = self.types.named(element, Meaning::Dependent);
        self.types.plain(TypeKind::Pointer(element))
    }

    /// The names behind `object.` and `object->` in the function around it; calls are left out.
    fn members_named_in(&self, object: TextRange) -> Vec<&str> {
        let Some(function) = self.innermost_function(object) else {
            return Vec::new();
        };
        let name = self.text(object);
        let body = self.functions[function].body;
        let tokens: Vec<&str> = lex::significant_tokens(self.source, body)
            .map(|token| token.text(self.source))
            .filter(|text| *text != "template")
            .collect();
        let mut named: Vec<&str> = tokens
            .windows(4)
            .filter(|window| {
                window[0] == name && matches!(window[1], "." | "->") && window[3] != "("
            })
            .map(|window| window[2])
            .collect();
        named.sort_unstable();
        named.dedup();
        named
    }
}

/// The types of a member in the classes that have it.
fn types_of<'r>(records: impl Iterator<Item = &'r Record>, member: &str) -> Vec<TypeId> {
    records
        .flat_map(|record| &record.fields)
        .filter(|field| field.name == member)
        .map(|field| field.ty)
        .collect()
}

/// The words that may stand before the name of a class or enumeration.
const KEYWORDS: [&str; 4] = ["struct ", "union ", "class ", "enum "];

/// A name in a type with the keyword before it.
fn with_keyword(spelling: &str, name: TextRange) -> TextRange {
    let before = &spelling[..usize::from(name.start())];
    let keyword = KEYWORDS.iter().find(|keyword| before.ends_with(**keyword));
    let start = keyword.map_or(name.start(), |keyword| {
        name.start() - TextSize::of(*keyword)
    });
    TextRange::new(start, name.end())
}

/// The name of a class without qualifiers of its objects and without a keyword.
fn without_keyword(class: &str) -> &str {
    let words = ["const ", "volatile "].into_iter().chain(KEYWORDS);
    words.fold(class, |class, word| {
        class.strip_prefix(word).unwrap_or(class)
    })
}

/// A text with other words in the place of some.
pub(super) fn with_words(text: &str, words: &[(String, String)]) -> String {
    let mut written = text.to_owned();
    let names: Vec<TextRange> = lex::identifiers(text, lex::whole(text)).collect();
    for name in names.into_iter().rev() {
        if let Some((_, becomes)) = words.iter().find(|(word, _)| *word == text[name]) {
            written.replace_range(std::ops::Range::<usize>::from(name), becomes);
        }
    }
    written
}
