//! Alignments beyond what a type's members need: those that declarations and `allocate` ask for.

use rex_syntax::kind::Kind;
use rex_syntax::lex::{self, Token};
use rex_syntax::{TextRange, TextSize};

use crate::program::Program;
use crate::symbol::SymbolId;
use crate::ty::{RecordId, TypeId};

/// What the runtime gives the bytes of a launch, in bytes.
const OF_RUNTIME: u64 = 16;

impl Program {
    /// The alignment that a variable's declaration, or an `allocate` directive for it, asks for.
    pub fn own_alignment(&self, symbol: SymbolId) -> Option<TextRange> {
        let found = &self.symbols[symbol];
        let (declaration, name) = (found.declaration?, found.declared_at?);
        let start = declaration.start();
        let mut allocated = self.alignments.iter();
        if let Some((_, value)) = allocated.find(|(at, _)| at.start() == start) {
            return Some(*value);
        }
        let values = values_in(self.source(), declaration);
        if values.is_empty() {
            return None;
        }
        let beside = self.declared_in(declaration);
        let first = beside
            .map(|other| &self.symbols[other])
            .filter(|other| other.declaration == Some(declaration))
            .find_map(|other| other.declared_at)?
            .start();
        let end = self.end_of_declarator(TextRange::new(name.end(), declaration.end()));
        let is_own = |value: &TextRange| {
            value.end() <= first || (value.start() >= name.end() && value.end() <= end)
        };
        values.into_iter().find(is_own)
    }

    /// Whether copies of a variable need more than the alignment that the runtime gives the bytes of a launch.
    pub fn is_over_aligned(&self, symbol: SymbolId, ty: TypeId) -> bool {
        let own = self.own_alignment(symbol);
        own.is_some_and(|value| self.exceeds_runtime(value)) || self.has_over_aligned(ty)
    }

    fn has_over_aligned(&self, ty: TypeId) -> bool {
        let mut classes = self.types.classes_of(ty).into_iter();
        classes.any(|class| self.is_class_over_aligned(class))
    }

    /// The same for what the declaration of a class says itself.
    fn is_class_over_aligned(&self, record: RecordId) -> bool {
        let Some(body) = self.types.records[record].body else {
            return false;
        };
        let around = self.unit.tree.root().smallest_at(body);
        let mut specifiers = around.ancestors().filter(|node| {
            matches!(
                node.kind(),
                Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier
            ) && node.range().contains_range(body)
        });
        let whole = specifiers.next().map_or(body, |node| node.range());
        let mut values = values_in(self.source(), whole).into_iter();
        values.any(|value| self.exceeds_runtime(value))
    }

    fn exceeds_runtime(&self, value: TextRange) -> bool {
        let number = self.text(value).trim().parse::<u64>();
        number.map_or(true, |bytes| bytes > OF_RUNTIME)
    }

    /// Where the declarator that goes on there ends: at a comma, an initializer or a semicolon.
    fn end_of_declarator(&self, rest: TextRange) -> TextSize {
        let source = self.source();
        let mut depth = 0usize;
        let end = lex::significant_tokens(source, rest).find(|token| {
            match token.text(source) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(token.text(source), "," | "=" | ";")
        });
        end.map_or(rest.end(), |token| token.range.start())
    }
}

/// The values of all alignments in a range: those of `alignas(..)`, `_Alignas(..)` and `__attribute__((aligned(..)))`.
fn values_in(source: &str, range: TextRange) -> Vec<TextRange> {
    let text = &source[range];
    if !text.contains("align") && !text.contains("_Align") {
        return Vec::new();
    }
    let tokens: Vec<Token> = lex::significant_tokens(source, range).collect();
    let is_word = |token: &Token| {
        matches!(
            token.text(source),
            "alignas" | "_Alignas" | "aligned" | "__aligned__"
        )
    };
    let mut values = Vec::new();
    for (idx, _) in tokens.iter().enumerate().filter(|(_, it)| is_word(it)) {
        let [open, inside @ ..] = &tokens[idx + 1..] else {
            continue;
        };
        if open.text(source) != "(" {
            continue;
        }
        let mut depth = 0usize;
        let close = inside.iter().find(|token| {
            match token.text(source) {
                "(" => depth += 1,
                ")" if depth == 0 => return true,
                ")" => depth -= 1,
                _ => {}
            }
            false
        });
        if let Some(close) = close {
            values.push(TextRange::new(open.range.end(), close.range.start()));
        }
    }
    values
}
