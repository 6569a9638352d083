//! Which instances of a class template are the same class.

use la_arena::Arena;
use rex_syntax::TextRange;
use rex_syntax::lex::{self, TokenKind};

use crate::build::{qualifies, template_arguments};
use crate::symbol::{ScopeTree, Symbol, SymbolId, SymbolKind};
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
        let mut is_decided = ours.len() == theirs.len();
        for pair in ours.iter().zip(&theirs) {
            match is_same_argument(pair) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => is_decided = false,
            }
        }
        is_decided.then_some(true)
    }

    fn arguments(self, (ty, at): (TypeId, TextRange)) -> Vec<Option<Vec<Word>>> {
        let class = self.types.object_type(self.types.desugar(ty));
        let TypeKind::Named { spelling, .. } = &self.types.get(class).kind else {
            return Vec::new();
        };
        let arguments = template_arguments(spelling).into_iter();
        arguments
            .map(|argument| self.argument(argument, at))
            .collect()
    }

    /// The words of an argument; none where it is not known here.
    fn argument(self, text: &str, at: TextRange) -> Option<Vec<Word>> {
        let mut words: Vec<Word> = Vec::new();
        let mut arithmetic: Vec<&str> = Vec::new();
        let mut qualifier = String::new();
        let tokens: Vec<_> = lex::significant_tokens(text, lex::whole(text)).collect();
        for (idx, token) in tokens.iter().enumerate() {
            let word = token.text(text);
            let qualifies = tokens
                .get(idx + 1)
                .is_some_and(|next| next.text(text) == "::");
            match token.kind {
                _ if word == "::" => {}
                _ if ARITHMETIC.contains(&word) => arithmetic.push(word),
                TokenKind::Identifier if qualifies => {
                    if !qualifier.is_empty() {
                        qualifier.push_str("::");
                    }
                    qualifier.push_str(word);
                }
                TokenKind::Identifier => {
                    words.push(self.meaning(std::mem::take(&mut qualifier), word, at)?);
                }
                _ => words.push(Word::Token(word.to_owned())),
            }
        }
        if !arithmetic.is_empty() {
            words.insert(0, Word::Token(one_spelling(arithmetic)));
        }
        Some(words)
    }

    /// What a name means behind a qualifier, which may be empty; none if the place does not say what.
    fn meaning(self, qualifier: String, name: &str, at: TextRange) -> Option<Word> {
        let Some(found) = self.named(&qualifier, name, at) else {
            return Some(Word::Name {
                name: name.to_owned(),
                qualifier: (!qualifier.is_empty()).then_some(qualifier),
            });
        };
        let found = &self.symbols[found];
        let scope = found.named_qualifier();
        let scope = scope.trim_end_matches("::").to_owned();
        match found.kind {
            SymbolKind::Type => {}
            SymbolKind::Enumerator => {
                return Some(Word::Enumerator {
                    name: name.to_owned(),
                    qualifier: scope,
                });
            }
            _ => return None,
        }
        let meant = self.types.desugar(found.ty);
        let spelled = self.types.spell(meant);
        let tag = match &self.types.get(meant).kind {
            TypeKind::Named { meaning, .. } => match meaning {
                Meaning::Dependent | Meaning::Auto | Meaning::Unknown => return None,
                Meaning::Enum => spelled.split([' ', ':']).next_back(),
                _ => None,
            },
            _ => None,
        };
        let record = self.types.record(meant);
        let class = record.map(|record| self.types.records[record].name.as_str());
        Some(match class.or(tag) {
            Some(class) => Word::Name {
                name: class.to_owned(),
                qualifier: (class == name).then_some(scope),
            },
            None => Word::Token(one_spelling(spelled.split_whitespace().collect())),
        })
    }

    fn named(self, qualifier: &str, name: &str, at: TextRange) -> Option<SymbolId> {
        if qualifier.is_empty() {
            return self.scopes.resolve_type_word(self.symbols, name, at);
        }
        let everywhere = self.scopes.scope(self.scopes.root());
        let mut homonyms = everywhere.names.get(name)?.iter().copied();
        homonyms.find(|symbol| {
            let scope = self.symbols[*symbol].named_qualifier();
            qualifies(qualifier, scope.trim_end_matches("::"))
        })
    }
}

/// A word of a template's argument.
enum Word {
    /// A sign, a constant, or a type that is no class.
    Token(String),
    /// A class, or a name that nothing in the unit declares.
    Name {
        name: String,
        /// `a::b`, as far as it is known: for a written one, namespaces around it may be missing.
        qualifier: Option<String>,
    },
    /// A constant of an enumeration, and the namespace around it.
    Enumerator { name: String, qualifier: String },
}

/// Whether two arguments of a template are the same, if these words say so.
fn is_same_argument((one, other): (&Option<Vec<Word>>, &Option<Vec<Word>>)) -> Option<bool> {
    let (one, other) = (one.as_ref()?, other.as_ref()?);
    if one.len() != other.len() {
        return Some(false);
    }
    let mut is_decided = true;
    for pair in one.iter().zip(other) {
        match is_same_word(pair) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => is_decided = false,
        }
    }
    is_decided.then_some(true)
}

fn is_same_word(pair: (&Word, &Word)) -> Option<bool> {
    match pair {
        (Word::Token(one), Word::Token(other)) => Some(one == other),
        (
            Word::Enumerator { name, qualifier },
            Word::Enumerator {
                name: other_name,
                qualifier: other_qualifier,
            },
        ) => Some(name == other_name && qualifier == other_qualifier),
        (
            Word::Name { name, qualifier },
            Word::Name {
                name: other_name,
                qualifier: other_qualifier,
            },
        ) => {
            let is_one_scope = match (qualifier, other_qualifier) {
                (Some(one), Some(other)) => qualifies(one, other) || qualifies(other, one),
                _ => true,
            };
            Some(name == other_name && is_one_scope)
        }
        // The name of the enumeration may stand before its constant.
        (Word::Enumerator { name: one, .. }, Word::Name { name, .. })
        | (Word::Name { name, .. }, Word::Enumerator { name: one, .. }) => Some(one == name),
        // A number may be the enumerator's value.
        (Word::Enumerator { .. }, Word::Token(_)) | (Word::Token(_), Word::Enumerator { .. }) => {
            None
        }
        (Word::Token(_), Word::Name { .. }) | (Word::Name { .. }, Word::Token(_)) => Some(false),
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
