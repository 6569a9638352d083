//! What a context selector says: sets of traits that OpenMP knows, each given once, with the properties that they take.

use super::Parser;
use super::arguments::{split_at_commas, top_level_colon};
use crate::diag::{Code, Severity};
use crate::lex::{Token, TokenKind};
use crate::omp::clause::ClauseName;
use crate::omp::locator::{closing, cover};
use crate::omp::suggest::closest;

/// What stands in the parentheses behind a trait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Properties {
    /// No parentheses.
    None,
    /// Names or strings.
    Names,
    /// Something else that the trait needs.
    Other,
    /// What it likes.
    Optional,
}

/// A set of traits, and the traits that it knows.
struct Set {
    name: &'static str,
    traits: &'static [(&'static str, Properties)],
    /// Compilers may know more.
    is_open: bool,
}

const DEVICE: &[(&str, Properties)] = &[
    ("kind", Properties::Names),
    ("isa", Properties::Names),
    ("arch", Properties::Names),
    ("uid", Properties::Names),
];

/// # Source
/// OpenMP 5.2, section 7.1; 6.0 for `uid`.
const SETS: [Set; 5] = [
    Set {
        name: "construct",
        traits: &[
            ("target", Properties::None),
            ("teams", Properties::None),
            ("parallel", Properties::None),
            ("for", Properties::None),
            ("simd", Properties::Optional),
            ("dispatch", Properties::None),
            ("loop", Properties::None),
        ],
        is_open: false,
    },
    Set {
        name: "device",
        traits: DEVICE,
        is_open: true,
    },
    Set {
        name: "target_device",
        traits: &[
            DEVICE[0],
            DEVICE[1],
            DEVICE[2],
            DEVICE[3],
            ("device_num", Properties::Other),
        ],
        is_open: true,
    },
    Set {
        name: "implementation",
        traits: &[
            ("vendor", Properties::Names),
            ("extension", Properties::Names),
            ("requires", Properties::Other),
            ("atomic_default_mem_order", Properties::Names),
            ("dynamic_allocators", Properties::None),
            ("reverse_offload", Properties::None),
            ("self_maps", Properties::None),
            ("unified_address", Properties::None),
            ("unified_shared_memory", Properties::None),
        ],
        is_open: true,
    },
    Set {
        name: "user",
        traits: &[("condition", Properties::Other)],
        is_open: false,
    },
];

impl<'p> Parser<'p> {
    /// Reports what is wrong with the selector of `match` or `when`.
    pub(super) fn check_selector(&mut self, name: ClauseName, tokens: &'p [Token]) {
        let tokens = match name {
            ClauseName::Match => tokens,
            ClauseName::When => &tokens[..top_level_colon(self.text, tokens).unwrap_or(0)],
            _ => return,
        };
        let mut seen: Vec<&str> = Vec::new();
        for part in split_at_commas(self.text, tokens) {
            if let Some(set) = self.check_set(part, &seen) {
                seen.push(set);
            }
        }
    }

    /// `name = { traits }`
    fn check_set(&mut self, tokens: &'p [Token], seen: &[&str]) -> Option<&'static str> {
        let first = tokens.first()?;
        let word = first.text(self.text);
        let names = SETS.iter().map(|set| set.name);
        let Some(set) = SETS.iter().find(|set| set.name == word) else {
            let help = match closest(word, names.clone()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                    format!("the sets are {}", names.join(", "))
                }
            };
            let headline = format!("`{word}` is no set of traits");
            self.push_error(Code::ClauseSyntax, first.range, headline, help);
            return None;
        };
        let text = |idx: usize| tokens.get(idx).map_or("", |token| token.text(self.text));
        let is_whole = text(1) == "="
            && text(2) == "{"
            && closing(self.text, tokens, 2) + 1 == tokens.len()
            && tokens.len() > 4;
        if !is_whole {
            let headline = format!("`{word}` needs traits in braces");
            let help = format!("write `{word} = {{{}}}`", example(set));
            self.push_error(Code::ClauseSyntax, cover(tokens)?, headline, help);
            return Some(set.name);
        }
        if seen.contains(&set.name) {
            let headline = format!("the set `{word}` is given twice");
            let help = format!("write all its traits in one `{word} = {{..}}`");
            self.push_error(Code::ClauseSyntax, first.range, headline, help);
        }
        let inner = &tokens[3..tokens.len() - 1];
        let mut traits: Vec<&str> = Vec::new();
        for part in split_at_commas(self.text, inner) {
            let Some(name) = part.first().map(|token| token.text(self.text)) else {
                continue;
            };
            if traits.contains(&name) {
                let headline = format!("the trait `{name}` is given twice");
                let help = format!("write it once in `{word}`");
                self.push_error(Code::ClauseSyntax, part[0].range, headline, help);
            }
            traits.push(name);
            self.check_trait(set, part);
        }
        Some(set.name)
    }

    /// `name` or `name(properties)`
    fn check_trait(&mut self, set: &Set, tokens: &'p [Token]) {
        let (Some(first), Some(whole)) = (tokens.first(), cover(tokens)) else {
            return;
        };
        let word = first.text(self.text);
        let known = set.traits.iter().find(|(name, _)| *name == word);
        let Some((_, properties)) = known else {
            return self.report_unknown_trait(set, *first);
        };
        let has_parentheses = tokens.get(1).is_some_and(|it| it.text(self.text) == "(");
        let inner = tokens.get(2..tokens.len().saturating_sub(1));
        let inner = inner.filter(|_| has_parentheses).unwrap_or_default();
        let (headline, help) = match properties {
            Properties::None if tokens.len() > 1 => (
                format!("the trait `{word}` has no properties"),
                format!("write `{word}` alone"),
            ),
            Properties::Names | Properties::Other if inner.is_empty() => (
                format!("the trait `{word}` needs a property in parentheses"),
                format!("write `{}`, or leave `{word}` out", example_of(word)),
            ),
            Properties::Names if !self.are_names(inner) => (
                format!("the properties of `{word}` are names"),
                format!(
                    "write names or strings, for instance `{}`",
                    example_of(word)
                ),
            ),
            Properties::Other
                if split_at_commas(self.text, inner).len() > 1 && word == "condition" =>
            {
                (
                    "`condition` takes one expression".to_owned(),
                    "combine the conditions with `&&`".to_owned(),
                )
            }
            _ => return,
        };
        self.push_error(Code::ClauseSyntax, whole, headline, help);
    }

    /// A trait that compilers may know only matches nowhere.
    fn report_unknown_trait(&mut self, set: &Set, at: Token) {
        let (word, name) = (at.text(self.text), set.name);
        let names = set.traits.iter().map(|(name, _)| *name);
        let help = match closest(word, names.clone()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                format!("its traits are {}", names.join(", "))
            }
        };
        let headline = format!("`{word}` is no trait of `{name}`");
        let diagnostic = self.error(Code::ClauseSyntax, at.range, headline);
        let diagnostic = match set.is_open {
            true => diagnostic
                .with_severity(Severity::Warning)
                .with_note("the selector matches nowhere"),
            false => diagnostic,
        };
        self.diagnostics.push(diagnostic.with_help(help));
    }

    /// Names or strings, behind a score: `score(2): gnu, "llvm"`.
    fn are_names(&self, tokens: &[Token]) -> bool {
        let names = match top_level_colon(self.text, tokens) {
            Some(colon) => &tokens[colon + 1..],
            None => tokens,
        };
        split_at_commas(self.text, names).iter().all(|part| {
            matches!(part, [name] if matches!(name.kind, TokenKind::Identifier | TokenKind::String))
        })
    }
}

fn example(set: &Set) -> &'static str {
    match set.name {
        "construct" => "target",
        "user" => "condition(..)",
        "implementation" => "vendor(llvm)",
        _ => "kind(nohost)",
    }
}

fn example_of(word: &str) -> String {
    let property = match word {
        "kind" => "nohost",
        "vendor" => "llvm",
        "atomic_default_mem_order" => "relaxed",
        _ => "..",
    };
    format!("{word}({property})")
}
