//! What leads to kernels in headers that the device file includes as they are.

use rex_syntax::declarations::{DeclKind, members};
use rex_syntax::expansion::HeaderOrigin;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::Carriers;
use crate::build::Builder;
use crate::headers::names_of;

/// What a header of the project declares that may lead to a kernel.
pub(super) struct OfHeader<'t> {
    name: SmolStr,
    kind: Kind<'t>,
    words: FxHashSet<&'t str>,
}

enum Kind<'t> {
    /// A template of functions, or a member function of one of classes.
    Function {
        class: Option<&'t str>,
        is_virtual: bool,
    },
    /// An alias, or a class with bases and members.
    Type,
}

impl<'u> Builder<'u> {
    /// The templates and types in headers of the project whose text is none of the unit.
    pub(super) fn declared_by_headers(&self) -> Vec<OfHeader<'u>> {
        let Some(expansion) = self.unit.expansion.as_deref() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (name, kind, declared) in expansion.declarations().iter() {
            let text = declared.text;
            let is_template = text.starts_with("template");
            if !matches!(declared.origin, HeaderOrigin::User { .. }) {
                continue;
            }
            match kind {
                DeclKind::Function if is_template && name != "operator" => {
                    found.extend(OfHeader::function(name, None, text))
                }
                DeclKind::Typedef => found.push(OfHeader::type_of(name, [text])),
                DeclKind::Tag => {
                    let bases = text.find('{').map_or("", |body| &text[..body]);
                    let members_of = members(text);
                    let objects = members_of
                        .iter()
                        .filter(|(_, kind, _)| *kind == DeclKind::Variable);
                    let parts = objects.map(|(_, _, text)| *text).chain([bases]);
                    found.push(OfHeader::type_of(name, parts));
                    let members = members(text).into_iter().filter(|(_, kind, text)| {
                        *kind == DeclKind::Function && (is_template || text.starts_with("template"))
                    });
                    found.extend(members.filter_map(|(member, _, text)| {
                        OfHeader::function(&member, Some(name), text)
                    }));
                }
                _ => {}
            }
        }
        found
    }
}

impl<'t> OfHeader<'t> {
    /// `None` for what has no body.
    fn function(name: &str, class: Option<&'t str>, text: &'t str) -> Option<OfHeader<'t>> {
        let body = text.find('{')?;
        let is_virtual = |word: &str| matches!(word, "virtual" | "override" | "final");
        Some(OfHeader {
            // Which operator it is does not matter.
            name: match name {
                "operator" => "operator()".into(),
                _ => name.into(),
            },
            kind: Kind::Function {
                class,
                is_virtual: names_of(&text[..body]).any(is_virtual),
            },
            words: names_of(&text[body..]).collect(),
        })
    }

    fn type_of(name: &str, parts: impl IntoIterator<Item = &'t str>) -> OfHeader<'t> {
        let words = parts.into_iter().flat_map(names_of);
        OfHeader {
            name: name.into(),
            kind: Kind::Type,
            words: words.filter(|word| *word != name).collect(),
        }
    }

    fn leads(&self, carriers: &Carriers) -> bool {
        let mut words = self.words.iter().map(SmolStr::new);
        words.any(|word| match self.kind {
            Kind::Function { .. } => carriers.contains(&word),
            Kind::Type => carriers.classes.contains(&word),
        })
    }
}

impl Carriers {
    /// Takes what names a carrier, until no more does.
    pub(super) fn add_of_headers(&mut self, declared: &mut Vec<OfHeader<'_>>) {
        loop {
            let before = declared.len();
            declared.retain(|found| {
                let leads = found.leads(self);
                match found.kind {
                    _ if !leads => {}
                    Kind::Type => {
                        self.classes.insert(found.name.clone());
                    }
                    Kind::Function {
                        class: Some(class),
                        is_virtual,
                    } => self.add_member(&found.name, class, is_virtual),
                    Kind::Function { class: None, .. } => {
                        self.functions.insert(found.name.clone());
                    }
                }
                !leads
            });
            if declared.len() == before {
                return;
            }
        }
    }
}
