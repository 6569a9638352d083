//! Functions that run before `main` or behind it: `__attribute__((constructor))`, `[[gnu::destructor]]`.

use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use crate::item::{Function, Item, ItemKind};

/// A function with such an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The function's name.
    pub name: SmolStr,
    /// The attribute's word, with the priority behind it.
    pub at: TextRange,
    /// When it runs.
    pub moment: Moment,
    /// `constructor(101)`: the lower, the earlier before `main`.
    pub priority: Option<u32>,
}

/// When a function runs that nothing calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before `main`.
    Start,
    /// Behind `main`.
    End,
}

/// The functions of a file with such attributes, in source order.
pub(crate) fn starters(
    items: &[Item],
    functions: &la_arena::Arena<Function>,
    source: &str,
) -> Vec<Starter> {
    if !["constructor", "destructor"]
        .iter()
        .any(|word| source.contains(word))
    {
        return Vec::new();
    }
    let mut heads = Vec::new();
    heads_of(items, functions, &mut heads);
    heads.sort_by_key(|(range, _)| range.start());
    let tokens: Vec<lex::Token> = lex::significant_tokens(source, lex::whole(source)).collect();
    let partners = lex::Partners::of(source, &tokens);
    let text = |idx: usize| tokens.get(idx).map_or("", |token| token.text(source));
    let mut found = Vec::new();
    let mut idx = 0;
    while idx < tokens.len() {
        let begin = match (text(idx), text(idx + 1), text(idx + 2)) {
            ("__attribute__" | "__attribute", "(", "(") => Some(idx + 2),
            ("[", "[", _) => Some(idx + 1),
            _ => None,
        };
        let Some(begin) = begin else {
            idx += 1;
            continue;
        };
        let end = partners.closing(begin).unwrap_or(tokens.len());
        for word in begin + 1..end {
            let moment = match text(word).trim_matches('_') {
                "constructor" => Moment::Start,
                "destructor" => Moment::End,
                _ => continue,
            };
            let at = tokens[word].range;
            let Some(name) = function_at(&heads, source, at) else {
                continue;
            };
            let last = match text(word + 1) {
                "(" => partners.closing(word + 1).unwrap_or(word),
                _ => word,
            };
            let is_qualified = text(word - 1) == "::" && word >= begin + 3;
            let first = if is_qualified { word - 2 } else { word };
            found.push(Starter {
                name,
                at: tokens[first]
                    .range
                    .cover(tokens[last.min(tokens.len() - 1)].range),
                moment,
                priority: text(word + 2).parse().ok().filter(|_| last > word),
            });
        }
        idx = end.max(idx) + 1;
    }
    found
}

/// The declarations of functions, with the ends of their heads.
fn heads_of(
    items: &[Item],
    functions: &la_arena::Arena<Function>,
    heads: &mut Vec<(TextRange, SmolStr)>,
) {
    for item in items {
        match &item.kind {
            ItemKind::Function(id) => {
                heads.push((head(&functions[*id]), functions[*id].name.clone()))
            }
            ItemKind::Prototype(name) => heads.push((item.range, name.clone())),
            ItemKind::Block { items, .. } => heads_of(items, functions, heads),
            _ => {}
        }
    }
}

fn head(function: &Function) -> TextRange {
    TextRange::new(function.range.start(), function.body.start())
}

/// The function whose declaration has an attribute in it or behind it.
fn function_at(heads: &[(TextRange, SmolStr)], source: &str, at: TextRange) -> Option<SmolStr> {
    let around = heads.iter().find(|(head, _)| head.contains_range(at));
    let behind = || {
        let next = heads.iter().find(|(head, _)| head.start() >= at.end())?;
        let between = TextRange::new(at.end(), next.0.start());
        (!source[between].contains([';', '{', '}'])).then_some(next)
    };
    around.or_else(behind).map(|(_, name)| name.clone())
}
