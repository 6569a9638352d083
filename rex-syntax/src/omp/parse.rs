//! Reads the text of a directive into the model.
//!
//! Recursive descent over tokens. Never stops at an error: a clause that cannot be read is reported and kept as text, so that later
//! clauses are still seen. It does not know macros: a macro in an argument stays an ordinary name.

mod argument_rules;
mod arguments;
mod rules;
mod selectors;

use text_size::TextRange;

use super::clause::{Clause, ClauseName};
use super::directive::{Directive, Leaf};
use super::locator::{closing, cover};
use super::misspelt::meant_name;
use super::name::directive_name;
use super::suggest::closest;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::lex::{Token, TokenKind, significant_tokens, slice};
use crate::pragma::PragmaLine;
use crate::source::{FileId, FileRange};

/// Reads one directive. Problems go into `diagnostics`; the result holds whatever could be read.
pub fn parse_directive(
    text: &str,
    line: &PragmaLine,
    at: FileId,
    diagnostics: &mut Diagnostics,
) -> Directive {
    let tokens: Vec<Token> = significant_tokens(text, line.body).collect();
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
        file: at,
        diagnostics,
        leaves: Vec::new(),
    };
    parser.directive(line)
}

struct Parser<'p> {
    text: &'p str,
    tokens: &'p [Token],
    at: usize,
    file: FileId,
    diagnostics: &'p mut Diagnostics,
    leaves: Vec<Leaf>,
}

impl<'p> Parser<'p> {
    fn directive(&mut self, line: &PragmaLine) -> Directive {
        let (leaves, n_words) = self.name();
        if leaves.is_empty() {
            return self.unknown_directive(line);
        }
        self.leaves = leaves;
        self.at = n_words;
        let name_range =
            cover(&self.tokens[..n_words]).unwrap_or_else(|| TextRange::empty(line.body.start()));
        let mut argument = self.directive_argument();
        let mut clauses = Vec::new();
        while self.at < self.tokens.len() {
            if self.peek() == "(" && argument.is_none() && self.leaves == [Leaf::Flush] {
                argument = Some(self.parenthesized().0);
                continue;
            }
            clauses.extend(self.clause());
        }
        clauses.shrink_to_fit();
        self.report_misplaced(&clauses);
        self.report_duplicates(&clauses);
        self.report_restrictions(name_range, &clauses);
        Directive {
            range: line.range,
            name_range,
            leaves: std::mem::take(&mut self.leaves),
            argument,
            clauses,
        }
    }

    /// The directive's name; a misspelt word in it is reported and read as what it was meant to be.
    fn name(&mut self) -> (Vec<Leaf>, usize) {
        let (leaves, n_words) = directive_name(self.text, self.tokens);
        let next = self.tokens.get(n_words);
        let is_clause = next.is_some_and(|token| clause_named(token.text(self.text)).is_some());
        let meant = match is_clause {
            true => None,
            false => meant_name(self.text, self.tokens, n_words),
        };
        let (Some(meant), Some(misspelt)) = (meant, next) else {
            return (leaves, n_words);
        };
        let word = misspelt.text(self.text);
        let diagnostic = self
            .error(
                Code::UnknownDirective,
                misspelt.range,
                format!("`{word}` is no OpenMP directive"),
            )
            .with_help(format!("did you mean `{}`?", meant.word));
        self.diagnostics.push(diagnostic);
        (meant.leaves, meant.n_words)
    }

    fn unknown_directive(&mut self, line: &PragmaLine) -> Directive {
        let first = self.tokens.first().map_or(line.range, |token| token.range);
        let word = slice(self.text, first);
        let diagnostic = match self.tokens.first() {
            None => self.error(
                Code::UnknownDirective,
                first,
                "`#pragma omp` names no directive",
            ),
            Some(_) => self.error(
                Code::UnknownDirective,
                first,
                format!("`{word}` is no OpenMP directive"),
            ),
        };
        let first_words = Leaf::ALL
            .iter()
            .map(|leaf| leaf.spelling().split(' ').next().unwrap_or_default());
        let help = match closest(word, first_words) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "write the name of a directive behind `omp`, or remove the line".to_owned(),
        };
        self.diagnostics.push(diagnostic.with_help(help));
        Directive {
            range: line.range,
            name_range: first,
            leaves: Vec::new(),
            argument: None,
            clauses: Vec::new(),
        }
    }

    /// The argument that some directives take before their clauses.
    fn directive_argument(&mut self) -> Option<TextRange> {
        match self.leaves.first()? {
            Leaf::Cancel | Leaf::CancellationPoint => self.cancelled_construct(),
            _ if self.peek() == "(" => Some(self.parenthesized().0),
            Leaf::DeclareVariant => {
                self.push_error(
                    Code::ClauseSyntax,
                    cover(&self.tokens[..self.at])?,
                    "`declare variant` names no function",
                    "write its name in parentheses: `declare variant(name) match(..)`",
                );
                None
            }
            _ => None,
        }
    }

    /// The construct that `cancel` and `cancellation point` name.
    fn cancelled_construct(&mut self) -> Option<TextRange> {
        let word = self.tokens.get(self.at).filter(|_| {
            matches!(
                self.peek(),
                "parallel" | "for" | "do" | "sections" | "taskgroup"
            )
        });
        let Some(word) = word else {
            let directive = name_of(&self.leaves);
            let at = cover(&self.tokens[..self.at])?;
            self.push_error(
                Code::ClauseSyntax,
                at,
                format!("`{directive}` names no construct"),
                "write `parallel`, `for`, `sections` or `taskgroup` behind it",
            );
            return None;
        };
        self.at += 1;
        Some(word.range)
    }

    fn clause(&mut self) -> Option<Clause> {
        let token = *self.tokens.get(self.at)?;
        if token.kind != TokenKind::Identifier {
            if self.peek() != "," {
                self.push_error(
                    Code::ClauseSyntax,
                    token.range,
                    format!("expected a clause, found `{}`", self.peek()),
                    "remove it, or write the clause that is meant",
                );
                if self.peek() == "(" {
                    let close = closing(self.text, self.tokens, self.at);
                    self.at = close.min(self.tokens.len() - 1);
                }
            }
            self.at += 1;
            return None;
        }
        self.at += 1;
        let name = self.clause_name(token);
        // `flush acq_rel (a, b)`: the list belongs to the directive.
        let takes_argument = self.leaves != [Leaf::Flush] || name == ClauseName::Unknown;
        let (inner, inner_tokens) = match self.peek() {
            "(" if takes_argument => {
                let (inner, tokens) = self.parenthesized();
                (Some(inner), tokens)
            }
            _ => (None, &[][..]),
        };
        let last = self.tokens[self.at - 1].range;
        let applies_to = self.applies_to(name, inner_tokens);
        let argument = self.argument(name, token.range, inner, inner_tokens, applies_to.as_ref());
        Some(Clause {
            range: token.range.cover(last),
            name_range: token.range,
            name,
            argument,
            applies_to,
        })
    }

    fn clause_name(&mut self, token: Token) -> ClauseName {
        let word = token.text(self.text);
        if let Some(name) = clause_named(word) {
            return name;
        }
        // Requirements and assumptions of a compiler's own have this prefix (OpenMP 5.2, 8.2 and 8.3.1).
        let takes_extensions = matches!(
            self.leaves[..],
            [Leaf::Requires | Leaf::Assume | Leaf::Assumes | Leaf::BeginAssumes]
        );
        if word.starts_with("ext_") && takes_extensions {
            return ClauseName::Unknown;
        }
        let mut diagnostic = self.error(
            Code::UnknownClause,
            token.range,
            format!("`{word}` is no OpenMP clause"),
        );
        let names = ClauseName::ALL.iter().map(|name| name.spelling());
        if Leaf::ALL.iter().any(|leaf| leaf.spelling() == word) {
            diagnostic = diagnostic
                .with_note(format!(
                    "`{word}` is a directive; it cannot be combined with what stands before it"
                ))
                .with_help("write it on a line of its own");
        } else {
            diagnostic = diagnostic.with_help(match closest(word, names) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("remove `{word}`, or write the clause that is meant"),
            });
        }
        self.diagnostics.push(diagnostic);
        ClauseName::Unknown
    }

    /// Reads from `(` to the matching `)`: the range inside, without surrounding blanks, and its tokens.
    fn parenthesized(&mut self) -> (TextRange, &'p [Token]) {
        let open = self.at;
        let close = closing(self.text, self.tokens, open);
        let tokens: &'p [Token] = self.tokens;
        if close == tokens.len() {
            self.push_error(
                Code::ClauseSyntax,
                tokens[open].range,
                "this parenthesis is never closed",
                "close it on the line of the directive; lines that go on end with `\\`",
            );
        }
        self.at = (close + 1).min(tokens.len());
        let inner = tokens.get(open + 1..close).unwrap_or_default();
        let empty = TextRange::empty(tokens[open].range.end());
        (cover(inner).unwrap_or(empty), inner)
    }

    fn peek(&self) -> &'p str {
        self.tokens
            .get(self.at)
            .map_or("", |token| token.text(self.text))
    }

    fn place(&self, range: TextRange) -> FileRange {
        FileRange {
            file: self.file,
            range,
        }
    }

    fn error(&self, code: Code, range: TextRange, headline: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.place(range), headline)
    }

    fn push_error(
        &mut self,
        code: Code,
        range: TextRange,
        headline: impl Into<String>,
        help: impl Into<String>,
    ) {
        let diagnostic = self.error(code, range, headline).with_help(help);
        self.diagnostics.push(diagnostic);
    }
}

fn name_of(leaves: &[Leaf]) -> String {
    let words: Vec<&str> = leaves.iter().map(|leaf| leaf.spelling()).collect();
    words.join(" ")
}

fn clause_named(word: &str) -> Option<ClauseName> {
    ClauseName::ALL
        .iter()
        .copied()
        .find(|name| name.spelling() == word)
}

#[cfg(test)]
mod tests;
