//! What C chooses by types when it is compiled: `_Generic`, `__builtin_choose_expr`, `__builtin_types_compatible_p`. C++ has none of them.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, lex};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::names::template_arguments;
use crate::symbol::SymbolKind;
use crate::ty::{Category, Meaning, TypeId, TypeKind};

impl<'u> Builder<'u> {
    /// The expression that `_Generic` selects, in its place.
    pub(super) fn choose(&mut self, selection: Node<'u>) {
        match self.selected(selection, selection.range()) {
            Some(value) => self.keep_only(selection.range(), value.range()),
            None => self.cannot_write(selection.range(), "C++ has no `_Generic`, and the type of the selecting expression is not known", "give the value a variable with a type, and select by that, or write the chosen expression"),
        }
    }

    /// The expression that `_Generic` selects at a place.
    pub(super) fn selected<'n>(&mut self, selection: Node<'n>, at: TextRange) -> Option<Node<'n>> {
        let parts: Vec<Node<'n>> = selection
            .children()
            .filter(|child| child.kind() != Kind::Comment)
            .collect();
        let (selecting, choices) = parts.split_first()?;
        let found = match self.is_enumerator(*selecting, at) {
            true => self.types.named(
                "int",
                Meaning::Integer {
                    bits: 32,
                    signed: true,
                },
            ),
            false => self.expression_type(*selecting, at, 0)?,
        };
        let found = self.value_type(found);
        if self.types.category(found) == Category::Unknown {
            return None;
        }
        let mut default = None;
        for pair in choices.chunks_exact(2) {
            if pair[0].text() == "default" {
                default = Some(pair[1]);
                continue;
            }
            let wanted = self.descriptor_type(pair[0], at);
            if self.is_same_type(wanted, found)? {
                return Some(pair[1]);
            }
        }
        default
    }

    /// Whether an expression is an enumerator with the value of an `int`, which is one in C.
    fn is_enumerator(&mut self, expression: Node<'_>, at: TextRange) -> bool {
        let mut named = expression;
        while named.kind() == Kind::ParenthesizedExpression {
            let inner = named.children().find(|child| child.kind() != Kind::Comment);
            let Some(inner) = inner else { return false };
            named = inner;
        }
        let symbol = self.scopes.resolve(&self.symbols, named.text(), at);
        let is_enumerator = named.kind() == Kind::Identifier
            && symbol.is_some_and(|it| self.symbols[it].kind == SymbolKind::Enumerator);
        is_enumerator
            && self
                .constant_in_words(named.text(), at)
                .is_some_and(|value| i32::try_from(value).is_ok())
    }

    /// The type of a value: arrays decay, qualifiers go.
    fn value_type(&mut self, ty: TypeId) -> TypeId {
        let object = self.types.object_type(ty);
        match self.types.get(object).kind {
            TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
            _ => self.types.unqualified(object),
        }
    }

    /// Whether an enumeration of C is the integer type of these words: `int` if an enumerator is negative, else `unsigned`.
    fn is_integer_of(&self, enumeration: TypeId, spelling: &str) -> Option<bool> {
        let words = usual_words(spelling)?;
        if !matches!(words[..], [] | ["int"] | ["unsigned"]) {
            return Some(false);
        }
        // A `typedef` may be the only name of the type.
        let named = self.types.spell(enumeration);
        let types = self
            .symbols
            .iter()
            .filter(|(_, symbol)| symbol.kind == SymbolKind::Type && *symbol.name == *named);
        let declared: Vec<TextRange> = types.filter_map(|(_, symbol)| symbol.declaration).collect();
        let is_inside = |at: TextRange| declared.iter().any(|range| range.contains_range(at));
        let enumerators = self.symbols.iter().filter(|(_, symbol)| {
            symbol.kind == SymbolKind::Enumerator
                && (self.types.is_same_object(symbol.ty, enumeration)
                    || symbol.declared_at.is_some_and(is_inside))
        });
        let values: Option<Vec<i64>> = enumerators
            .map(|(_, symbol)| self.value_of_enumerator(symbol.declared_at?))
            .collect();
        let values = values.filter(|values| !values.is_empty())?;
        let is_signed = values.iter().any(|value| *value < 0);
        let fits = |value: &i64| match is_signed {
            true => i32::try_from(*value).is_ok(),
            false => u32::try_from(*value).is_ok(),
        };
        values
            .iter()
            .all(fits)
            .then_some(is_signed == (words != ["unsigned"]))
    }

    /// Whether two types of C are one, however they are spelled; `None` if that is not known.
    pub(super) fn is_same_type(&self, one: TypeId, other: TypeId) -> Option<bool> {
        let [one, other] = [one, other].map(|ty| self.types.desugar(ty));
        let [first, second] = [one, other].map(|ty| self.types.get(ty));
        if (first.is_const, first.is_volatile) != (second.is_const, second.is_volatile) {
            return Some(false);
        }
        match (&first.kind, &second.kind) {
            (TypeKind::Pointer(one), TypeKind::Pointer(other)) => self.is_same_type(*one, *other),
            (
                TypeKind::Named {
                    spelling: one,
                    meaning: first,
                },
                TypeKind::Named {
                    spelling: other,
                    meaning: second,
                },
            ) if is_arithmetic(first) && is_arithmetic(second) => {
                Some(usual_words(one)? == usual_words(other)?)
            }
            (
                TypeKind::Named {
                    meaning: Meaning::Enum,
                    ..
                },
                TypeKind::Named { spelling, meaning },
            ) if is_arithmetic(meaning) => self.is_integer_of(one, spelling),
            (
                TypeKind::Named { spelling, meaning },
                TypeKind::Named {
                    meaning: Meaning::Enum,
                    ..
                },
            ) if is_arithmetic(meaning) => self.is_integer_of(other, spelling),
            _ => Some(self.types.is_same_object(one, other)),
        }
    }

    /// `__builtin_choose_expr(c, a, b)` as the one that it is, `__builtin_types_compatible_p(T, U)` as its value.
    pub(super) fn choose_builtin(&mut self, call: Node<'u>) {
        let (Some(name), Some(list)) = (call.field(Field::Function), call.field(Field::Arguments))
        else {
            return;
        };
        let arguments: Vec<TextRange> = list
            .children()
            .filter(|child| child.kind() != Kind::Comment)
            .map(|child| child.range())
            .collect();
        let all = call.range();
        match (name.text(), arguments.as_slice()) {
            ("__builtin_types_compatible_p", [_, _]) => match self.are_compatible(list) {
                Some(value) => {
                    let value = format_smolstr!("{}", i32::from(value));
                    self.conversions.push((all, value));
                }
                None => self.cannot_write(
                    all,
                    "C++ has no `__builtin_types_compatible_p`, and the types are not known",
                    "write the value",
                ),
            },
            ("__builtin_choose_expr", [condition, first, second]) => {
                match self.value_of_choice(*condition) {
                    Some(value) => {
                        let chosen = if value == 0 { second } else { first };
                        self.keep_only(all, *chosen);
                    }
                    None => self.cannot_write(all, "C++ has no `__builtin_choose_expr`, and the value of the condition is not known", "write the chosen expression"),
                }
            }
            _ => {}
        }
    }

    /// Replaces an expression by a part of it.
    fn keep_only(&mut self, all: TextRange, part: TextRange) {
        let before = TextRange::new(all.start(), part.start());
        let after = TextRange::new(part.end(), all.end());
        self.conversions.push((before, SmolStr::new_static("(")));
        self.conversions.push((after, SmolStr::new_static(")")));
    }

    /// The value of a constant expression that may ask whether types are compatible.
    fn value_of_choice(&mut self, condition: TextRange) -> Option<i64> {
        let root = self.unit.tree.root();
        let node = root.smallest_at(condition);
        let asks = node.subtree().filter(|inner| {
            inner.kind() == Kind::CallExpression
                && inner
                    .field(Field::Function)
                    .is_some_and(|name| name.text() == "__builtin_types_compatible_p")
        });
        let asks: Vec<Node<'u>> = asks.collect();
        let mut words = self.text(condition).to_owned();
        for call in asks.into_iter().rev() {
            let value = self.are_compatible(call.field(Field::Arguments)?)?;
            let range = call.range() - condition.start();
            words.replace_range(
                std::ops::Range::<usize>::from(range),
                &i32::from(value).to_string(),
            );
        }
        self.constant_in_words(&words, condition)
    }

    /// Whether the types in `(T, U)` are one, qualifiers aside.
    fn are_compatible(&mut self, list: Node<'u>) -> Option<bool> {
        let inside = list.text().strip_prefix('(')?.strip_suffix(')')?;
        let inside = format!("<{inside}>");
        let [one, other] = template_arguments(&inside)[..] else {
            return None;
        };
        let at = list.range();
        let [one, other] = [one, other].map(|words| {
            let ty = self.type_of_text(words.trim(), at);
            let ty = self.types.desugar(ty);
            self.types.unqualified(ty)
        });
        let is_known = [one, other]
            .iter()
            .all(|ty| self.types.category(*ty) != Category::Unknown);
        match is_known {
            true => self.is_same_type(one, other),
            false => None,
        }
    }

    /// Macros that write `_Generic` cannot be read by C++.
    pub(super) fn refuse_selections_of_macros(&mut self) {
        let unit = self.unit;
        if !self.source.contains("_Generic") {
            return;
        }
        for token in lex::significant_tokens(self.source, lex::whole(self.source)) {
            let word = token.text(self.source);
            let is_macro = token.kind == lex::TokenKind::Identifier
                && unit.macros.lookup_at(word, token.range.start()).is_some();
            if is_macro
                && self
                    .macro_names(word, token.range)
                    .iter()
                    .any(|name| name == "_Generic")
            {
                self.cannot_write(
                    token.range,
                    "C++ has no `_Generic`, which this macro writes",
                    "write the chosen expression in place of the macro",
                );
            }
        }
    }
}

fn is_arithmetic(meaning: &Meaning) -> bool {
    matches!(
        meaning,
        Meaning::Bool | Meaning::Integer { .. } | Meaning::Float { .. } | Meaning::WideArithmetic
    )
}

/// The words of an arithmetic type, in order and without those that go without saying: `long` and `unsigned` of `unsigned long int`.
fn usual_words(spelling: &str) -> Option<Vec<&str>> {
    const NAMES: [(&str, &str); 19] = [
        ("size_t", "unsigned long"),
        ("ssize_t", "long"),
        ("ptrdiff_t", "long"),
        ("int8_t", "signed char"),
        ("int16_t", "short"),
        ("int32_t", "int"),
        ("int64_t", "long"),
        ("uint8_t", "unsigned char"),
        ("uint16_t", "unsigned short"),
        ("uint32_t", "unsigned"),
        ("uint64_t", "unsigned long"),
        ("intptr_t", "long"),
        ("uintptr_t", "unsigned long"),
        ("wchar_t", "int"),
        ("char8_t", "unsigned char"),
        ("char16_t", "unsigned short"),
        ("char32_t", "unsigned"),
        ("bool", "_Bool"),
        ("__complex__", "_Complex"),
    ];
    const WORDS: [&str; 13] = [
        "unsigned",
        "signed",
        "int",
        "long",
        "short",
        "char",
        "float",
        "double",
        "_Complex",
        "_Bool",
        "_Float16",
        "__int128",
        "__float128",
    ];
    let name = |word| NAMES.iter().find(|(name, _)| *name == word);
    let words = spelling.split_whitespace();
    let mut words: Vec<&str> = words
        .flat_map(|word| name(word).map_or(word, |it| it.1).split(' '))
        .collect();
    if words.iter().any(|word| !WORDS.contains(word)) {
        return None;
    }
    let is_character = words.contains(&"char");
    let is_unsigned = words.contains(&"unsigned");
    words.retain(|word| *word != "signed" || is_character);
    let alone = |word: &&str| matches!(*word, "long" | "short" | "char" | "__int128");
    if is_unsigned || words.iter().any(alone) {
        words.retain(|word| *word != "int");
    }
    words.sort_unstable();
    Some(words)
}
