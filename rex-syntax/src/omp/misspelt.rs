//! Directive names with a misspelt word.

use super::directive::Leaf;
use super::name::directive_name;
use super::suggest::closest;
use crate::lex::{Token, TokenKind, significant_tokens, whole};

/// The name of a directive with one word put right.
pub(crate) struct Meant {
    /// The right word.
    pub(crate) word: &'static str,
    /// The constructs that the name combines then.
    pub(crate) leaves: Vec<Leaf>,
    /// How many tokens spell it.
    pub(crate) n_words: usize,
}

/// A longer name than the first `at` tokens spell, if the next one is taken for a misspelt word of it.
pub(crate) fn meant_name(text: &str, tokens: &[Token], at: usize) -> Option<Meant> {
    const MAX_WORDS: usize = 16;
    let misspelt = tokens.get(at)?;
    let takes_argument = tokens
        .get(at + 1)
        .is_some_and(|next| next.text(text) == "(");
    if misspelt.kind != TokenKind::Identifier || takes_argument {
        return None;
    }
    let spelled = |word: &'static str| {
        let words: Vec<&str> = tokens
            .iter()
            .take(MAX_WORDS)
            .enumerate()
            .map(|(idx, token)| if idx == at { word } else { token.text(text) })
            .collect();
        let name = words.join(" ");
        let tokens: Vec<Token> = significant_tokens(&name, whole(&name)).collect();
        let (leaves, n_words) = directive_name(&name, &tokens);
        (n_words > at).then_some(Meant {
            word,
            leaves,
            n_words,
        })
    };
    let words = Leaf::ALL
        .iter()
        .flat_map(|leaf| leaf.spelling().split(' '))
        .filter(|word| closest(misspelt.text(text), [*word]).is_some())
        .filter(|word| spelled(word).is_some());
    spelled(closest(misspelt.text(text), words)?)
}
