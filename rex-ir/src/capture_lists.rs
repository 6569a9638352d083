//! Capture lists of lambdas in device code.
//!
//! What the host's lambdas capture and what they only name depends on where the variables live, and in device code some live elsewhere: an object of a team lies in shared memory, which CUDA's lambdas
//! do not capture, and a variable of static storage duration may be a reference or parameter of the kernel, which they do. The edits here make a list say what the host's lambda means.

use indexmap::IndexMap;
use rex_syntax::cst::Node;
use rex_syntax::kind::Kind;
use rex_syntax::lex::{self, Token};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize};
use smol_str::{SmolStr, format_smolstr};

use crate::program::Program;
use crate::region::MacroCall;
use crate::symbol::SymbolId;

/// How a lambda of device code must list an object of its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// `&x`, though the host's lambda names it without capturing it.
    NotCaptured,
    /// `x = x`, where the host's lambda copies it.
    Copied,
    /// The same for an array, whose name alone would be a pointer.
    CopiedArray,
}

/// What a list says about the objects that it does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unnamed {
    NotCaptured,
    /// `=`, at its place.
    Copied(TextRange),
    /// `&`
    ReferredTo,
}

/// `x` or `&x` in a list.
struct Item {
    name: TextRange,
    is_reference: bool,
}

struct CaptureList {
    range: TextRange,
    unnamed: Unnamed,
    items: Vec<Item>,
    is_empty: bool,
}

/// Where variables are named with qualifiers, `Grid::cells` or `this->cells`, that have their plain names there in the generated code.
pub fn uses_with_qualifiers<'a>(
    uses: &'a [(TextRange, SymbolId)],
    calls: &'a [MacroCall],
) -> Vec<(TextRange, SymbolId)> {
    let in_call = |call: &'a MacroCall| call.names.iter().map(|(_, symbol)| (call.range, *symbol));
    uses.iter()
        .copied()
        .chain(calls.iter().flat_map(in_call))
        .collect()
}

/// Edits of the capture lists of all lambdas in a range, in no particular order; `listing` tells of an object, which is named by the lambda, how it must be listed.
/// `uses` are those [with qualifiers](uses_with_qualifiers).
pub fn edits(
    program: &Program,
    range: TextRange,
    uses: &[(TextRange, SymbolId)],
    listing: &dyn Fn(SymbolId, TextRange) -> Option<Listing>,
) -> Vec<(TextRange, SmolStr)> {
    if program.language() == Language::C {
        return Vec::new();
    }
    let root = program.unit.tree.root();
    let lambdas = root
        .smallest_at(range)
        .subtree()
        .filter(|node| node.kind() == Kind::LambdaExpression && range.contains_range(node.range()));
    let mut edits = Vec::new();
    let mut copied: Vec<(TextRange, SymbolId)> = Vec::new();
    for lambda in lambdas {
        let listing = |symbol| {
            // Inside another lambda it is that one's copy.
            let is_copy = copied
                .iter()
                .any(|(outer, known)| *known == symbol && outer.contains_range(lambda.range()));
            let found = listing(symbol, lambda.range())?;
            (found == Listing::NotCaptured || !is_copy).then_some(found)
        };
        let of_lambda = edits_of(program, lambda, uses, &listing);
        copied.extend(
            of_lambda
                .copied
                .iter()
                .map(|symbol| (lambda.range(), *symbol)),
        );
        edits.extend(of_lambda.edits);
    }
    edits
}

/// What one lambda's list becomes, and the objects that the lambda has copies of by that.
#[derive(Default)]
struct Edits {
    edits: Vec<(TextRange, SmolStr)>,
    copied: Vec<SymbolId>,
}

fn edits_of(
    program: &Program,
    lambda: Node<'_>,
    uses: &[(TextRange, SymbolId)],
    listing: &dyn Fn(SymbolId) -> Option<Listing>,
) -> Edits {
    let mut found = Edits::default();
    let Some(list) = capture_list(program, lambda) else {
        return found;
    };
    for item in &list.items {
        let name = program.text(item.name);
        let Some(symbol) = program.scopes.resolve(&program.symbols, name, item.name) else {
            continue;
        };
        let words = match (listing(symbol), item.is_reference) {
            (None | Some(Listing::NotCaptured), _) => continue,
            // Behind the `&` that is there.
            (_, true) | (Some(Listing::Copied), _) => format_smolstr!("{name} = {name}"),
            (Some(Listing::CopiedArray), _) => copied_array(name),
        };
        found.edits.push((item.name, words));
        found.copied.push(symbol);
    }
    // Whatever it names, the list says so already.
    if matches!(list.unnamed, Unnamed::ReferredTo) {
        return found;
    }
    let (mut copies, mut references) = (String::new(), String::new());
    let is_listed = |name: &str| {
        let mut names = list.items.iter().map(|item| program.text(item.name));
        names.any(|listed| listed == name)
    };
    for (name, symbol) in named_inside(program, lambda, list.range.end(), uses) {
        if is_listed(&name) {
            continue;
        }
        match (listing(symbol), list.unnamed) {
            (None, _) | (_, Unnamed::ReferredTo) => {}
            (Some(Listing::NotCaptured), _) => references.push_str(&format!(", &{name}")),
            (Some(Listing::Copied), Unnamed::Copied(_)) => {
                copies.push_str(&format!(", {name} = {name}"));
                found.copied.push(symbol);
            }
            (Some(Listing::CopiedArray), Unnamed::Copied(_)) => {
                copies.push_str(&format!(", {}", copied_array(&name)));
                found.copied.push(symbol);
            }
            (Some(Listing::Copied | Listing::CopiedArray), Unnamed::NotCaptured) => {}
        }
    }
    if let (Unnamed::Copied(at), false) = (list.unnamed, copies.is_empty()) {
        found.edits.push((at, format_smolstr!("={copies}")));
    }
    if !references.is_empty() {
        let close = TextRange::new(list.range.end() - TextSize::of(']'), list.range.end());
        let references = match list.is_empty {
            true => references.trim_start_matches(", "),
            false => references.as_str(),
        };
        found.edits.push((close, format_smolstr!("{references}]")));
    }
    found
}

fn copied_array(name: &str) -> SmolStr {
    format_smolstr!("{name} = rex_array_copy<decltype({name})>({name})")
}

fn capture_list(program: &Program, lambda: Node<'_>) -> Option<CaptureList> {
    let list = lambda.children().find(|child| {
        child.kind() == Kind::LambdaCaptureSpecifier
            && child.text().len() > 1
            && child.text().ends_with(']')
    });
    let range = list?.range();
    let source = program.source();
    let bracket = TextSize::of('[');
    let inside = TextRange::new(range.start() + bracket, range.end() - bracket);
    let items = items(source, inside);
    let mut list = CaptureList {
        range,
        unnamed: Unnamed::NotCaptured,
        items: Vec::new(),
        is_empty: items.is_empty(),
    };
    for item in items {
        let words: Vec<&str> = item.iter().map(|token| token.text(source)).collect();
        match words.as_slice() {
            ["="] => list.unnamed = Unnamed::Copied(item[0].range),
            ["&"] => list.unnamed = Unnamed::ReferredTo,
            [_] => list.items.push(Item {
                name: item[0].range,
                is_reference: false,
            }),
            ["&", _] => list.items.push(Item {
                name: item[1].range,
                is_reference: true,
            }),
            // With an initializer, which is computed outside, or a pack.
            _ => {}
        }
    }
    Some(list)
}

/// The items of a list without its brackets, but for empty ones.
pub(crate) fn items(text: &str, inside: TextRange) -> Vec<Vec<Token>> {
    let tokens: Vec<Token> = lex::significant_tokens(text, inside).collect();
    let mut depth = 0usize;
    tokens
        .split(|token| {
            match token.text(text) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.text(text) == ","
        })
        .filter(|item| !item.is_empty())
        .map(<[Token]>::to_vec)
        .collect()
}

/// The variables outside a lambda that it names behind its list, by themselves, with qualifiers or in macros, in order.
fn named_inside(
    program: &Program,
    lambda: Node<'_>,
    start: TextSize,
    uses: &[(TextRange, SymbolId)],
) -> IndexMap<SmolStr, SymbolId> {
    let mut found = IndexMap::new();
    let body = TextRange::new(start, lambda.range().end());
    for at in lex::identifiers(program.source(), body) {
        let name = program.text(at);
        let names = match program.macro_at(name, at) {
            Some(_) => program.macro_names(name, at),
            None => vec![SmolStr::from(name)],
        };
        for name in names {
            let Some(symbol) = program.scopes.resolve(&program.symbols, &name, at) else {
                continue;
            };
            let declared = &program.symbols[symbol];
            let is_inside = declared
                .declared_at
                .is_some_and(|declared| lambda.range().contains_range(declared));
            if declared.kind.is_variable() && !is_inside {
                found.entry(name).or_insert(symbol);
            }
        }
    }
    for (_, symbol) in uses.iter().filter(|(at, _)| body.contains_range(*at)) {
        let name = program.name(*symbol).clone();
        found.entry(name).or_insert(*symbol);
    }
    found
}
