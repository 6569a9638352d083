//! Attributes that make another type of the one that is named: `vector_size`, `ext_vector_type`, `mode`.

use std::borrow::Cow;

use rex_syntax::cst::Node;
use rex_syntax::lex::{self, Token, TokenKind};
use smol_str::format_smolstr;

use crate::attributes;
use crate::build::Builder;
use crate::build::names::squeeze;
use crate::build::types::arithmetic::arithmetic_meaning;
use crate::ty::{Meaning, TypeId, TypeKind};

/// The modes that GCC and clang have for numbers, with the signed type of each.
const MODES: &[(&str, &str)] = &[
    ("QI", "signed char"),
    ("byte", "signed char"),
    ("HI", "short"),
    ("SI", "int"),
    ("DI", "long"),
    ("word", "long"),
    ("pointer", "long"),
    ("TI", "__int128"),
    ("HF", "_Float16"),
    ("SF", "float"),
    ("DF", "double"),
    ("XF", "long double"),
    ("TF", "__float128"),
];

/// An attribute and what it makes of a type.
struct Attribute<'t> {
    /// `__attribute__((vector_size(16)))`, or with one pair of brackets in C++'s spelling.
    text: &'t str,
    effect: Effect,
}

enum Effect {
    Vector,
    Mode(&'static str),
}

impl Builder<'_> {
    /// The type that a declaration's attributes make of the arithmetic type that its specifiers name.
    pub(in crate::build) fn attributed(&mut self, base: TypeId, declaration: Node<'_>) -> TypeId {
        if self.fragment_depth == 0 && !self.has_type_attributes {
            return base;
        }
        let TypeKind::Named { meaning, .. } = &self.types.get(self.types.desugar(base)).kind else {
            return base;
        };
        let is_unsigned = match meaning {
            Meaning::Integer { signed, .. } => !signed,
            Meaning::Float { .. } | Meaning::WideArithmetic => false,
            _ => return base,
        };
        let text = self.with_attributes_in_front(declaration);
        let Some(attribute) = type_attribute(&text) else {
            return base;
        };
        match attribute.effect {
            // No scalar of OpenMP: all its elements travel, as those of a class do.
            Effect::Vector => {
                let text = squeeze(attribute.text);
                let spelling = format_smolstr!("{} {text}", self.types.spell(base));
                self.types.named(spelling, Meaning::Record(None))
            }
            Effect::Mode(signed) => {
                let spelling = match signed.strip_prefix("signed ") {
                    _ if !is_unsigned => signed.to_owned(),
                    plain => format!("unsigned {}", plain.unwrap_or(signed)),
                };
                let meaning = arithmetic_meaning(&spelling);
                self.types.named(spelling, meaning)
            }
        }
    }
}

impl Builder<'_> {
    /// The text of a declaration behind the attributes in front of it, which macros may write.
    fn with_attributes_in_front<'t>(&self, declaration: Node<'t>) -> Cow<'t, str> {
        let text = declaration.text();
        let is_of_unit = self.fragment_depth == 0;
        let front = is_of_unit
            .then(|| attributes::of_layout(self.unit, self.source, declaration.range()))
            .flatten();
        let Some(front) = front else {
            return Cow::Borrowed(text);
        };
        let mut written = self.text(front).to_owned();
        for word in lex::identifiers(self.source, front) {
            let definition = self.macro_at(self.text(word), word);
            if let Some(definition) = definition.filter(|it| it.parameters.is_none()) {
                written = written.replace(self.text(word), &definition.body);
            }
        }
        Cow::Owned(format!("{written} {text}"))
    }
}

/// Whether a text has a word of these attributes at all.
pub(in crate::build) fn has_type_attributes(text: &str) -> bool {
    ["vector_size", "ext_vector_type", "mode"]
        .iter()
        .any(|word| text.contains(word))
}

/// The first of these attributes of a declaration, beside its specifiers or behind its declarator.
fn type_attribute(declaration: &str) -> Option<Attribute<'_>> {
    if !has_type_attributes(declaration) {
        return None;
    }
    let ends = |token: &Token| matches!(token.text(declaration), "{" | ";");
    let tokens: Vec<Token> = lex::significant_tokens(declaration, lex::whole(declaration))
        .take_while(|token| !ends(token))
        .collect();
    let partners = lex::Partners::of(declaration, &tokens);
    let mut idx = 0;
    while let Some(token) = tokens.get(idx) {
        let open = match token.text(declaration) {
            "__attribute__" | "__attribute" => idx + 1,
            _ => idx,
        };
        let close = partners.closing(open).unwrap_or(0);
        let is_list = open > idx
            || token.text(declaration) == "["
                && tokens
                    .get(idx + 1)
                    .is_some_and(|next| next.text(declaration) == "[");
        if is_list
            && let Some(last) = tokens.get(close).filter(|_| close > open)
            && let Some(effect) = effect_of(declaration, &tokens[open..close])
        {
            let text = &declaration[token.range.cover(last.range)];
            return Some(Attribute { text, effect });
        }
        idx = close.max(open) + 1;
    }
    None
}

/// What a list of attributes makes of a type.
fn effect_of(declaration: &str, list: &[Token]) -> Option<Effect> {
    let word = |token: Token| {
        (token.kind == TokenKind::Identifier).then(|| {
            token
                .text(declaration)
                .trim_start_matches("__")
                .trim_end_matches("__")
        })
    };
    list.iter()
        .enumerate()
        .find_map(|(idx, token)| match word(*token)? {
            "vector_size" | "ext_vector_type" => Some(Effect::Vector),
            "mode" => {
                let name = word(*list.get(idx + 2)?)?;
                let (_, mode) = MODES.iter().find(|(known, _)| *known == name)?;
                Some(Effect::Mode(mode))
            }
            _ => None,
        })
}
