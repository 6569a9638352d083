//! What leads to kernels in headers that the device file includes as they are.

use rex_syntax::declarations::{DeclKind, members};
use rex_syntax::expansion::HeaderOrigin;
use rex_syntax::lex::{self, TokenKind};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::Carriers;
use crate::build::Builder;

/// A template of functions in a header of the project, or a member function of one of classes.
pub(super) struct OfHeader<'t> {
    name: SmolStr,
    class: Option<&'t str>,
    is_virtual: bool,
    words: FxHashSet<&'t str>,
}

impl<'u> Builder<'u> {
    /// The templates in headers of the project whose text is none of the unit.
    pub(super) fn functions_of_headers(&self) -> Vec<OfHeader<'u>> {
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
                    found.extend(OfHeader::new(name, None, text))
                }
                DeclKind::Tag => {
                    let members = members(text).into_iter().filter(|(_, kind, text)| {
                        *kind == DeclKind::Function && (is_template || text.starts_with("template"))
                    });
                    found.extend(members.filter_map(|(member, _, text)| {
                        OfHeader::new(&member, Some(name.as_str()), text)
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
    fn new(name: &SmolStr, class: Option<&'t str>, text: &'t str) -> Option<OfHeader<'t>> {
        let body = text.find('{')?;
        let words = |text: &'t str| {
            lex::significant_tokens(text, lex::whole(text))
                .filter(|token| token.kind == TokenKind::Identifier)
                .map(|token| token.text(text))
        };
        let is_virtual = |word: &str| matches!(word, "virtual" | "override" | "final");
        Some(OfHeader {
            // Which operator it is does not matter.
            name: match name.as_str() {
                "operator" => "operator()".into(),
                _ => name.clone(),
            },
            class,
            is_virtual: words(&text[..body]).any(is_virtual),
            words: words(&text[body..]).collect(),
        })
    }
}

impl Carriers {
    /// Takes the functions that name a carrier, until no more do.
    pub(super) fn add_of_headers(&mut self, functions: &mut Vec<OfHeader<'_>>) {
        loop {
            let before = functions.len();
            functions.retain(|function| {
                let mut words = function.words.iter();
                let leads = words.any(|word| self.contains(&SmolStr::new(word)));
                if leads {
                    match function.class {
                        Some(class) => self.add_member(&function.name, class, function.is_virtual),
                        None => {
                            self.functions.insert(function.name.clone());
                        }
                    }
                }
                !leads
            });
            if functions.len() == before {
                return;
            }
        }
    }
}
