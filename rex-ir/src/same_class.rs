//! Which instances of a class template are the same class.

use la_arena::Arena;
use rex_syntax::TextRange;
use rex_syntax::lex::{self, TokenKind};

use crate::build::template_arguments;
use crate::symbol::{ScopeTree, Symbol, SymbolKind};
use crate::ty::{Meaning, TypeId, TypeKind, TypeTable};

/// What names in types mean.
#[derive(Clone, Copy)]
pub(crate) struct ClassComparison<'p> {
    pub(crate) types: &'p TypeTable,
    pub(crate) scopes: &'p ScopeTree,
    pub(crate) symbols: &'p Arena<Symbol>,
}

impl ClassComparison<'_> {
    /// Whether objects of two types, each as written at a place, are of the same class or unqualified type; none if parameters of
    /// templates or values of constants decide it.
    pub(crate) fn is_same(
        self,
        one: (TypeId, TextRange),
        other: (TypeId, TextRange),
    ) -> Option<bool> {
        if !self.types.is_same_object(one.0, other.0) {
            return Some(false);
        }
        let (ours, theirs) = (self.arguments(one), self.arguments(other));
        let mut pairs = ours.iter().zip(&theirs);
        let differs =
            |(a, b): (&Option<String>, &Option<String>)| a.is_some() && b.is_some() && a != b;
        if pairs.any(differs) {
            return Some(false);
        }
        let is_known = |arguments: &[Option<String>]| arguments.iter().all(Option::is_some);
        let is_decided = ours.len() == theirs.len() && is_known(&ours) && is_known(&theirs);
        is_decided.then_some(true)
    }

    fn arguments(self, (ty, at): (TypeId, TextRange)) -> Vec<Option<String>> {
        let class = self.types.object_type(self.types.desugar(ty));
        let TypeKind::Named { spelling, .. } = &self.types.get(class).kind else {
            return Vec::new();
        };
        let arguments = template_arguments(spelling).into_iter();
        arguments
            .map(|argument| self.argument(argument, at))
            .collect()
    }

    /// An argument in words that two spellings of one type share; none where it is not known here.
    fn argument(self, text: &str, at: TextRange) -> Option<String> {
        let mut words: Vec<String> = Vec::new();
        let mut arithmetic: Vec<&str> = Vec::new();
        let mut is_qualified = false;
        for token in lex::significant_tokens(text, lex::whole(text)) {
            let word = token.text(text);
            match token.kind {
                _ if ARITHMETIC.contains(&word) => arithmetic.push(word),
                TokenKind::Identifier if !is_qualified => words.push(self.meaning(word, at)?),
                _ => words.push(word.to_owned()),
            }
            is_qualified = word == "::";
        }
        if !arithmetic.is_empty() {
            words.insert(0, one_spelling(arithmetic));
        }
        Some(words.join(" "))
    }

    /// What a name means, in words: itself where nothing here declares it.
    fn meaning(self, name: &str, at: TextRange) -> Option<String> {
        let Some(found) = self.scopes.resolve_type_word(self.symbols, name, at) else {
            return Some(name.to_owned());
        };
        let found = &self.symbols[found];
        let meant = self.types.desugar(found.ty);
        match &self.types.get(meant).kind {
            _ if found.kind != SymbolKind::Type => None,
            TypeKind::Named {
                meaning: Meaning::Dependent | Meaning::Auto | Meaning::Unknown,
                ..
            } => None,
            _ => match self.types.record(meant) {
                Some(record) => Some(self.types.records[record].name.to_string()),
                None => Some(one_spelling(
                    self.types.spell(meant).split_whitespace().collect(),
                )),
            },
        }
    }
}

/// The words of arithmetic types.
const ARITHMETIC: [&str; 9] = [
    "unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool",
];

/// `long unsigned` of `unsigned long int`.
fn one_spelling(mut words: Vec<&str>) -> String {
    let is_char = words.contains(&"char");
    words.retain(|word| is_char || *word != "signed");
    if words.len() > 1 {
        words.retain(|word| *word != "int");
    }
    if words.is_empty() {
        words.push("int");
    }
    words.sort_unstable();
    words.join(" ")
}
