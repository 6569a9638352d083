//! Attributes in front of declarations, which no node of the tree has: `__attribute__((aligned(64))) char buffer[64];`, perhaps by macros.

use rex_syntax::lex::{self, Token, TokenKind};
use rex_syntax::unit::Unit;
use rex_syntax::{TextRange, TextSize};

/// How far back attributes of a declaration are looked for.
const MAX_BYTES: usize = 1024;

/// Words of attributes that say how objects lie in memory.
const OF_LAYOUT: [&str; 6] = [
    "aligned",
    "packed",
    "vector_size",
    "ext_vector_type",
    "mode",
    "scalar_storage_order",
];

/// The attributes in front of a declaration that say how its objects lie in memory, if there are some.
pub fn of_layout(unit: &Unit, source: &str, declaration: TextRange) -> Option<TextRange> {
    let found = in_front(unit, source, declaration.start())?;
    let says_layout = |text: &str| {
        words(text, lex::whole(text)).any(|at| OF_LAYOUT.contains(&text[at].trim_matches('_')))
    };
    let says = words(source, found).any(|at| {
        let word = &source[at];
        let definition = unit.macros.lookup_at(word, at.start());
        says_layout(word) || definition.is_some_and(|it| says_layout(&it.body))
    });
    says.then_some(found)
}

/// Every word of a range, with those behind `::`.
fn words(text: &str, range: TextRange) -> impl Iterator<Item = TextRange> {
    lex::significant_tokens(text, range)
        .filter(|token| token.kind == TokenKind::Identifier)
        .map(|token| token.range)
}

/// The attributes right in front of a place.
fn in_front(unit: &Unit, source: &str, place: TextSize) -> Option<TextRange> {
    let end = usize::from(place);
    let from = source[..end]
        .char_indices()
        .rev()
        .take_while(|(at, _)| end - at < MAX_BYTES)
        .filter(|(_, c)| *c == '\n')
        .last()
        .map_or(0, |(at, _)| if end < MAX_BYTES { 0 } else { at });
    let range = TextRange::new(TextSize::try_from(from).ok()?, place);
    let tokens: Vec<Token> = lex::significant_tokens(source, range).collect();
    let text = |idx: usize| tokens.get(idx).map_or("", |token| token.text(source));
    let partners = lex::Partners::of(source, &tokens);
    let makes_attributes = |idx: usize| {
        let token = tokens[idx];
        let definition = (token.kind == TokenKind::Identifier).then(|| {
            unit.macros
                .lookup_at(token.text(source), token.range.start())
        });
        definition.flatten().is_some_and(|definition| {
            let body = definition.body.trim_start();
            body.starts_with("__attribute") || body.starts_with("[[")
        })
    };
    let mut first = tokens.len();
    while let Some(last) = first.checked_sub(1) {
        if is_in_directive(source, tokens[last]) {
            break;
        }
        first = match text(last) {
            ")" => match partners.opening(last).and_then(|open| open.checked_sub(1)) {
                Some(name)
                    if matches!(text(name), "__attribute__" | "__attribute")
                        || makes_attributes(name) =>
                {
                    name
                }
                _ => break,
            },
            "]" => match partners.opening(last) {
                Some(open) if text(open + 1) == "[" => open,
                _ => break,
            },
            _ if makes_attributes(last) => last,
            _ => break,
        };
    }
    let first = tokens.get(first)?;
    let last = tokens.last()?;
    Some(first.range.cover(last.range))
}

/// Whether a token stands in a line of the preprocessor.
fn is_in_directive(source: &str, token: Token) -> bool {
    let mut before = &source[..usize::from(token.range.start())];
    loop {
        let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
        if !above.trim_end_matches('\r').ends_with('\\') {
            return line.trim_start().starts_with('#');
        }
        before = above;
    }
}
