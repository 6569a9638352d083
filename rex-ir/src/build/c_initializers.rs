//! Initializers that the device's C++ wants otherwise: constants without one, and texts that fill an array up to the last character.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::SmolStr;

use super::Builder;
use super::types::{declared_name, has_storage};
use crate::symbol::SymbolKind;
use crate::ty::{Extent, TypeId, TypeKind};

impl<'u> Builder<'u> {
    /// `const int n[3];` as `const int n[3] = {};`: C++ has no constants without a value.
    pub(super) fn initialize_constants(&mut self, declaration: Node<'u>) {
        if has_storage(declaration, "extern") || !declaration.text().contains("const") {
            return;
        }
        for declarator in declaration.fields(Field::Declarator) {
            let Some(name) = declared_name(declarator) else {
                continue;
            };
            let symbol = self
                .scopes
                .resolve(&self.symbols, name.text(), name.range());
            let Some(symbol) = symbol.map(|it| &self.symbols[it]) else {
                continue;
            };
            let is_object = matches!(
                symbol.kind,
                SymbolKind::Global | SymbolKind::Local | SymbolKind::StaticLocal
            );
            let has_value = declarator.kind() == Kind::InitDeclarator;
            if is_object && !has_value && self.types.is_constant(symbol.ty) {
                let end = TextRange::empty(declarator.range().end());
                self.conversions.push((end, SmolStr::new_static(" = {}")));
            }
        }
    }

    /// `"ab"` for a `char[2]` as `{'a', 'b'}`: C++ wants room for the character that ends a text.
    pub(super) fn characters(&self, value: Node<'u>, ty: TypeId) -> Option<String> {
        let TypeKind::Array {
            extent: Extent::Constant(extent),
            ..
        } = &self.types.get(self.types.desugar(ty)).kind
        else {
            return None;
        };
        let pieces: Vec<Node<'u>> = match value.kind() {
            Kind::StringLiteral => vec![value],
            Kind::ConcatenatedString => value.children().collect(),
            _ => return None,
        };
        let mut units = Vec::new();
        for piece in pieces {
            let text = piece.text().strip_prefix('"')?.strip_suffix('"')?;
            if !text.is_ascii() {
                return None;
            }
            units.extend(units_of(text));
        }
        let room = self.constant_in_words(extent, value.range())?;
        (usize::try_from(room) == Ok(units.len())).then(|| {
            let quoted = units.iter().map(|unit| match *unit {
                "'" => "'\\''".to_owned(),
                unit => format!("'{unit}'"),
            });
            format!("{{{}}}", quoted.collect::<Vec<_>>().join(", "))
        })
    }
}

/// The characters of a text as they are written: `\n` and `\x1b` are one each.
fn units_of(text: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = |from: usize, most: usize, is_digit: fn(&u8) -> bool| {
            let digits = rest.as_bytes()[from.min(rest.len())..].iter();
            digits.take(most).take_while(|byte| is_digit(byte)).count()
        };
        let octal: fn(&u8) -> bool = |byte| (b'0'..b'8').contains(byte);
        let length = match (first, rest.as_bytes().get(1)) {
            ('\\', Some(b'x')) => 2 + digits(2, usize::MAX, u8::is_ascii_hexdigit),
            ('\\', Some(byte)) if octal(byte) => 1 + digits(1, 3, octal),
            ('\\', Some(_)) => 2,
            _ => first.len_utf8(),
        };
        let (unit, behind) = rest.split_at(length.min(rest.len()));
        units.push(unit);
        rest = behind;
    }
    units
}

#[cfg(test)]
mod tests {
    use super::units_of;

    #[test]
    fn characters_of_a_text() {
        assert_eq!(
            units_of(r#"a\n\x1bg\0127\"'"#),
            ["a", r"\n", r"\x1b", "g", r"\012", "7", "\\\"", "'"]
        );
    }
}
