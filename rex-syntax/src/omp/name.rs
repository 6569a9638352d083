//! Reads the words that name a directive.

use super::directive::Leaf;
use crate::lex::{Token, TokenKind};

/// The constructs named by the first tokens, and how many tokens name them.
///
/// Words may be joined by `_`, as OpenMP 6.0 spells some names (`target_data`).
pub(crate) fn directive_name(text: &str, tokens: &[Token]) -> (Vec<Leaf>, usize) {
    let mut leaves = Vec::new();
    let mut at = 0;
    while let Some((leaf, length)) = longest_leaf(text, &tokens[at..]) {
        let combines = leaves
            .last()
            .is_none_or(|&last| combinable(last).contains(&leaf));
        if !combines {
            break;
        }
        leaves.push(leaf);
        at += length;
    }
    (leaves, at)
}

fn longest_leaf(text: &str, tokens: &[Token]) -> Option<(Leaf, usize)> {
    let word = tokens.first()?.text(text).as_bytes();
    Leaf::ALL
        .iter()
        .filter(|leaf| leaf.spelling().as_bytes().first() == word.first())
        .filter_map(|&leaf| Some((leaf, matches_words(text, tokens, leaf.spelling())?)))
        .max_by_key(|(leaf, _)| leaf.spelling().len())
}

/// How many tokens spell these words, if the tokens begin with them.
fn matches_words(text: &str, tokens: &[Token], spelling: &str) -> Option<usize> {
    let mut words = spelling.split(' ').peekable();
    let mut n_tokens = 0;
    while words.peek().is_some() {
        let token = tokens
            .get(n_tokens)
            .filter(|token| token.kind == TokenKind::Identifier)?;
        let mut rest = token.text(text);
        loop {
            rest = rest.strip_prefix(words.next()?)?;
            match rest.strip_prefix('_') {
                Some(after) => rest = after,
                None => break,
            }
        }
        if !rest.is_empty() {
            return None;
        }
        n_tokens += 1;
    }
    Some(n_tokens)
}

/// The constructs that may follow this one in a combined directive.
///
/// # Source
/// OpenMP 5.2, section 17 (combined and composite directive names); `target loop` and `parallel single` as in 6.0.
fn combinable(leaf: Leaf) -> &'static [Leaf] {
    use Leaf::*;
    match leaf {
        Target => &[Teams, Parallel, Simd, Loop, Distribute, For, Task, Taskloop],
        Teams => &[Distribute, Loop, Parallel],
        Distribute => &[Parallel, Simd, For],
        Parallel => &[
            For, Sections, Loop, Master, Masked, Workshare, Single, Taskloop,
        ],
        For | Taskloop => &[Simd],
        Master | Masked => &[Taskloop],
        _ => &[],
    }
}
