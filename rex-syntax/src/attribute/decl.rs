//! `[[omp::decl(..)]]`: a declarative directive that stands in the declaration it is about, written out around that.

use text_size::{TextRange, TextSize};

use super::{lines, names_its_entities, one_line, split_at_commas};
use crate::lex::{Token, TokenKind, significant_tokens, whole};
use crate::omp::locator::closing;

/// What stands for the `decl` attributes of one attribute list.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Directives in front of the declaration.
    pub(super) front: Vec<String>,
    /// Directives behind it.
    behind: Vec<String>,
}

impl Written {
    /// The lines in front of a declaration, if the attribute does not stand there itself, and those behind it.
    pub(super) fn around(
        self,
        text: &str,
        declaration: &Declaration<'_>,
    ) -> Vec<(TextRange, String)> {
        let mut edits = Vec::new();
        let mut add = |at: TextSize, directives: &[String]| {
            if !directives.is_empty() {
                let at = TextRange::empty(at);
                edits.push((at, lines(text, at, directives, &[])));
            }
        };
        if !declaration.is_leading {
            add(declaration.range.start(), &self.front);
        }
        add(declaration.range.end(), &self.behind);
        edits
    }
}

/// The declaration that an attribute list is part of.
pub(super) struct Declaration<'t> {
    range: TextRange,
    /// The list stands in front of it, and so is about all that it declares.
    pub(super) is_leading: bool,
    /// What the list is about.
    names: Vec<&'t str>,
    /// It declares more than one thing.
    has_several: bool,
}

impl<'t> Declaration<'t> {
    /// The declaration around the attribute list from token `open` to token `close`.
    pub(super) fn around(
        text: &'t str,
        tokens: &[Token],
        open: usize,
        close: usize,
    ) -> Option<Declaration<'t>> {
        let word = |at: usize| tokens.get(at).map_or("", |token| token.text(text));
        let first = (0..open)
            .rev()
            .find(|at| {
                let is_access = word(*at) == ":"
                    && at.checked_sub(1).is_some_and(|before| {
                        matches!(word(before), "public" | "protected" | "private")
                    });
                is_access || matches!(word(*at), ";" | "{" | "}")
            })
            .map_or(0, |at| at + 1);
        let mut at = close + 1;
        let mut declared: Vec<&str> = Vec::new();
        let mut commas = 0;
        loop {
            let is_name = |at: usize| {
                at.checked_sub(1)
                    .and_then(|before| tokens.get(before))
                    .is_some_and(|token| token.kind == TokenKind::Identifier)
            };
            let mut declare = |at: usize| {
                if declared.len() == commas && is_name(at) {
                    declared.push(word(at - 1));
                }
            };
            match word(at) {
                "" => return None,
                ";" => {
                    declare(at);
                    break;
                }
                "," => {
                    declare(at);
                    commas += 1;
                }
                "=" => declare(at),
                "(" | "[" => {
                    declare(at);
                    at = closing(text, tokens, at);
                }
                "{" => {
                    declare(at);
                    at = closing(text, tokens, at);
                    if !matches!(word(at + 1), ";" | ",") {
                        break;
                    }
                }
                "}" | ")" => return None,
                _ => {}
            }
            at += 1;
        }
        let is_leading = first == open;
        let name = open.checked_sub(1).map(word).filter(|_| !is_leading);
        let is_several_before = (first..open).any(|at| word(at) == ",");
        Some(Declaration {
            range: TextRange::new(
                tokens.get(first)?.range.start(),
                tokens.get(at)?.range.end(),
            ),
            is_leading,
            names: name.map_or(declared, |name| vec![name]),
            has_several: commas > 0 || is_several_before,
        })
    }

    /// Writes out one directive; false for what is no declarative directive.
    pub(super) fn write(&self, directive: &str, written: &mut Written) -> bool {
        let tokens: Vec<Token> = significant_tokens(directive, whole(directive)).collect();
        let word = |at: usize| tokens.get(at).map_or("", |token| token.text(directive));
        if names_its_entities(directive, &tokens) {
            written.front.push(directive.to_string());
            return true;
        }
        let names = self.names.join(", ");
        let (name, behind) = match (word(0), word(1)) {
            ("declare_target", _) => ("declare target", 1),
            ("declare", "target") => ("declare target", 2),
            (name @ ("threadprivate" | "groupprivate" | "allocate"), _) => (name, 1),
            _ => return false,
        };
        let clauses: Vec<String> = split_at_commas(directive, &tokens[behind..])
            .into_iter()
            .map(|part| one_line(directive, part))
            .filter(|clause| !clause.is_empty())
            .collect();
        if name != "declare target" {
            let clauses = clauses.join(" ");
            written
                .behind
                .push(format!("{name}({names}) {clauses}").trim_end().into());
            return !names.is_empty();
        }
        let is_list =
            |clause: &&String| matches!(clause.as_str(), "link" | "enter" | "to" | "local");
        let list = clauses.iter().find(is_list).map(String::as_str);
        let others: Vec<&str> = clauses
            .iter()
            .filter(|clause| !is_list(clause))
            .map(String::as_str)
            .collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(" {}", others.join(" ")),
        };
        let is_about_part = self.has_several && !self.is_leading;
        match list.filter(|list| *list != "enter" && *list != "to") {
            None if !is_about_part => {
                written.front.push(format!("begin declare target{others}"));
                written.behind.push("end declare target".into());
            }
            list => {
                let list = list.unwrap_or("enter");
                written
                    .behind
                    .push(format!("declare target {list}({names}){others}"));
            }
        }
        !names.is_empty()
    }
}
