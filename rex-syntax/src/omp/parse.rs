//! Reads the text of a directive into the model.
//!
//! Recursive descent over tokens. Never stops at an error: a clause that cannot be read is reported and kept as text, so that later
//! clauses are still seen. It does not know macros: a macro in an argument stays an ordinary name.

use text_size::TextRange;

use super::allowed::{constructs_with, is_allowed};
use super::clause::{Argument, Clause, ClauseName, ListItem, Modifier};
use super::directive::{Directive, Leaf};
use super::locator::{closing, cover, list_item};
use super::name::directive_name;
use super::shape::{Shape, is_unique, shape, words};
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
        let (leaves, n_words) = directive_name(self.text, self.tokens);
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
        self.report_misplaced(&clauses);
        self.report_duplicates(&clauses);
        Directive {
            range: line.range,
            name_range,
            leaves: std::mem::take(&mut self.leaves),
            argument,
            clauses,
        }
    }

    fn unknown_directive(&mut self, line: &PragmaLine) -> Directive {
        let first = self.tokens.first().map_or(line.range, |token| token.range);
        let word = slice(self.text, first);
        let mut diagnostic = match self.tokens.first() {
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
        if let Some(meant) = closest(word, first_words) {
            diagnostic = diagnostic.with_help(format!("did you mean `{meant}`?"));
        }
        self.diagnostics.push(diagnostic);
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
            Leaf::Cancel | Leaf::CancellationPoint => {
                let word = self.tokens.get(self.at)?;
                let is_construct = word.kind == TokenKind::Identifier
                    && matches!(
                        self.peek(),
                        "parallel" | "for" | "do" | "sections" | "taskgroup"
                    );
                if !is_construct {
                    return None;
                }
                self.at += 1;
                Some(word.range)
            }
            _ if self.peek() == "(" => Some(self.parenthesized().0),
            _ => None,
        }
    }

    fn clause(&mut self) -> Option<Clause> {
        let token = *self.tokens.get(self.at)?;
        if token.kind != TokenKind::Identifier {
            if self.peek() != "," {
                self.push_error(
                    Code::ClauseSyntax,
                    token.range,
                    format!("expected a clause, found `{}`", self.peek()),
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
        let argument = self.argument(name, token.range, inner, inner_tokens);
        Some(Clause {
            range: token.range.cover(last),
            name_range: token.range,
            name,
            argument,
        })
    }

    fn clause_name(&mut self, token: Token) -> ClauseName {
        let word = token.text(self.text);
        let known = ClauseName::ALL.iter().find(|name| name.spelling() == word);
        if let Some(&name) = known {
            return name;
        }
        // `requires` takes extensions by this prefix.
        if word.starts_with("ext_") && self.leaves == [Leaf::Requires] {
            return ClauseName::Unknown;
        }
        let mut diagnostic = self.error(
            Code::UnknownClause,
            token.range,
            format!("`{word}` is no OpenMP clause"),
        );
        let names = ClauseName::ALL.iter().map(|name| name.spelling());
        if Leaf::ALL.iter().any(|leaf| leaf.spelling() == word) {
            diagnostic = diagnostic.with_note(format!(
                "`{word}` is a directive; it cannot be combined with what stands before it"
            ));
        } else if let Some(meant) = closest(word, names) {
            diagnostic = diagnostic.with_help(format!("did you mean `{meant}`?"));
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
            );
        }
        self.at = (close + 1).min(tokens.len());
        let inner = tokens.get(open + 1..close).unwrap_or_default();
        let empty = TextRange::empty(tokens[open].range.end());
        (cover(inner).unwrap_or(empty), inner)
    }

    fn argument(
        &mut self,
        name: ClauseName,
        name_range: TextRange,
        inner: Option<TextRange>,
        tokens: &'p [Token],
    ) -> Argument {
        let shape = self.shape_here(name);
        let Some(inner) = inner else {
            let optional = matches!(
                shape,
                Shape::Flag
                    | Shape::OptionalExpression
                    | Shape::OptionalList
                    | Shape::OptionalWords
            );
            if !optional && name != ClauseName::Unknown {
                let spelling = name.spelling();
                self.push_error(
                    Code::ClauseSyntax,
                    name_range,
                    format!("clause `{spelling}` needs an argument in parentheses"),
                );
            }
            return Argument::None;
        };
        if tokens.is_empty() && !matches!(shape, Shape::Raw) {
            let spelling = name.spelling();
            self.push_error(
                Code::ClauseSyntax,
                inner,
                format!("the parentheses of `{spelling}` are empty"),
            );
            return Argument::Raw(inner);
        }
        let argument = match shape {
            Shape::Flag | Shape::Expression | Shape::OptionalExpression => {
                self.expression(name, inner, tokens)
            }
            Shape::Schedule => self.schedule(name, inner, tokens),
            Shape::Words | Shape::OptionalWords => Some(Argument::List {
                modifiers: self.modifiers(tokens),
                items: Vec::new(),
            }),
            Shape::List | Shape::OptionalList => self.list(tokens),
            Shape::ListThenModifiers => self.list_then_modifiers(tokens),
            Shape::Dependence => self.dependence(tokens),
            Shape::Raw => Some(Argument::Raw(inner)),
        };
        let argument = argument.unwrap_or(Argument::Raw(inner));
        self.check_words(name, &argument);
        argument
    }

    /// The clause's grammar, which for two clauses depends on the directive.
    fn shape_here(&self, name: ClauseName) -> Shape {
        let first = self.leaves.first();
        let is_metadirective =
            matches!(first, Some(Leaf::Metadirective | Leaf::BeginMetadirective));
        match name {
            ClauseName::Default if is_metadirective => Shape::Raw,
            ClauseName::Update if first == Some(&Leaf::Atomic) => Shape::Flag,
            ClauseName::Linear if first == Some(&Leaf::DeclareSimd) => Shape::ListThenModifiers,
            _ => shape(name),
        }
    }

    fn expression(
        &mut self,
        name: ClauseName,
        inner: TextRange,
        tokens: &'p [Token],
    ) -> Option<Argument> {
        let Some(colon) = top_level_colon(self.text, tokens) else {
            return Some(Argument::Expression {
                modifiers: Vec::new(),
                expression: inner,
            });
        };
        let (before, after) = (&tokens[..colon], &tokens[colon + 1..]);
        let modifiers = match (name, cover(before)) {
            (_, None) => Vec::new(),
            (ClauseName::If | ClauseName::NumTeams, Some(range)) => vec![Modifier {
                range,
                word: range,
                argument: None,
            }],
            _ => self.modifiers(before),
        };
        match cover(after) {
            Some(expression) => Some(Argument::Expression {
                modifiers,
                expression,
            }),
            None => self.missing_after_colon(tokens[colon]),
        }
    }

    fn missing_after_colon(&mut self, colon: Token) -> Option<Argument> {
        self.push_error(
            Code::ClauseSyntax,
            colon.range,
            "nothing follows this colon",
        );
        None
    }

    fn schedule(
        &mut self,
        name: ClauseName,
        inner: TextRange,
        tokens: &'p [Token],
    ) -> Option<Argument> {
        let kind_start = top_level_colon(self.text, tokens).map_or(0, |colon| colon + 1);
        let comma = split_at_commas(self.text, &tokens[kind_start..])
            .first()
            .map_or(0, |kind| kind.len());
        let kind_end = kind_start + comma;
        let mut modifiers = self.modifiers(&tokens[..kind_start.saturating_sub(1)]);
        modifiers.extend(self.modifiers(&tokens[kind_start..kind_end]));
        if kind_end == kind_start {
            let spelling = name.spelling();
            self.push_error(
                Code::ClauseSyntax,
                inner,
                format!("`{spelling}` needs a kind"),
            );
        }
        let chunk = tokens.get(kind_end + 1..).and_then(cover);
        Some(match chunk {
            Some(expression) => Argument::Expression {
                modifiers,
                expression,
            },
            None => Argument::List {
                modifiers,
                items: Vec::new(),
            },
        })
    }

    fn list(&mut self, tokens: &'p [Token]) -> Option<Argument> {
        let (modifiers, list) = match top_level_colon(self.text, tokens) {
            Some(colon) => (self.modifiers(&tokens[..colon]), &tokens[colon + 1..]),
            None => (Vec::new(), tokens),
        };
        if list.is_empty() {
            return self.missing_after_colon(*tokens.last()?);
        }
        let items = self.items(list);
        Some(Argument::List { modifiers, items })
    }

    /// `list`, `list : modifiers`, or the older `modifier(list) : step`.
    fn list_then_modifiers(&mut self, tokens: &'p [Token]) -> Option<Argument> {
        let colon = top_level_colon(self.text, tokens);
        let (list, after) = match colon {
            Some(colon) => (&tokens[..colon], &tokens[colon + 1..]),
            None => (tokens, &[][..]),
        };
        let mut modifiers = Vec::new();
        let word = list.first().map_or("", |token| token.text(self.text));
        let wrapped = matches!(word, "val" | "ref" | "uval")
            && list
                .get(1)
                .is_some_and(|token| token.text(self.text) == "(")
            && closing(self.text, list, 1) + 1 == list.len();
        let items = if wrapped {
            modifiers.push(Modifier {
                range: list[0].range,
                word: list[0].range,
                argument: None,
            });
            self.items(&list[2..list.len() - 1])
        } else {
            self.items(list)
        };
        modifiers.extend(self.modifiers(after));
        Some(Argument::List { modifiers, items })
    }

    fn dependence(&mut self, tokens: &'p [Token]) -> Option<Argument> {
        match top_level_colon(self.text, tokens) {
            Some(colon) if colon + 1 < tokens.len() => self.list(tokens),
            colon => Some(Argument::List {
                modifiers: self.modifiers(&tokens[..colon.unwrap_or(tokens.len())]),
                items: Vec::new(),
            }),
        }
    }

    fn items(&mut self, tokens: &'p [Token]) -> Vec<ListItem> {
        let mut items = Vec::new();
        let mut after = tokens
            .first()
            .map(|token| TextRange::empty(token.range.start()));
        for part in split_at_commas(self.text, tokens) {
            match list_item(self.text, part) {
                Some(item) => {
                    after = Some(item.range);
                    items.push(item);
                }
                None => {
                    if let Some(range) = after {
                        self.push_error(
                            Code::ClauseSyntax,
                            range,
                            "a list item is missing beside this comma",
                        );
                    }
                }
            }
        }
        items
    }

    /// Words, calls and operators separated by commas, colons or blanks.
    fn modifiers(&mut self, tokens: &'p [Token]) -> Vec<Modifier> {
        let mut modifiers = Vec::new();
        for part in split_at(self.text, tokens, |text| matches!(text, "," | ":")) {
            self.modifiers_of_part(part, &mut modifiers);
        }
        modifiers
    }

    fn modifiers_of_part(&mut self, part: &'p [Token], modifiers: &mut Vec<Modifier>) {
        let mut at = 0;
        let mut found = Vec::new();
        while at < part.len() {
            let Some((modifier, length)) = self.modifier(&part[at..]) else {
                modifiers.extend(cover(part).map(|range| Modifier {
                    range,
                    word: range,
                    argument: None,
                }));
                return;
            };
            at += length;
            found.push(modifier);
        }
        modifiers.extend(found);
    }

    /// One word or operator with its parenthesized argument, and its length in tokens.
    fn modifier(&self, tokens: &[Token]) -> Option<(Modifier, usize)> {
        let first = tokens.first()?;
        let mut length = 1;
        match first.kind {
            TokenKind::Identifier if first.text(self.text) == "operator" => {
                length += usize::from(tokens.len() > 1);
            }
            TokenKind::Identifier => length = scoped_name(self.text, tokens)?,
            TokenKind::Punct if first.text(self.text) == "::" => {
                length = scoped_name(self.text, tokens)?;
            }
            TokenKind::Punct if tokens.len() == 1 => {}
            _ => return None,
        }
        let word = cover(&tokens[..length])?;
        let opens = tokens
            .get(length)
            .is_some_and(|token| token.text(self.text) == "(");
        if !opens {
            let single = Modifier {
                range: word,
                word,
                argument: None,
            };
            return Some((single, length));
        }
        let close = closing(self.text, tokens, length);
        let inner = tokens.get(length + 1..close)?;
        let empty = TextRange::empty(tokens[length].range.end());
        let call = Modifier {
            range: word.cover(tokens.get(close)?.range),
            word,
            argument: Some(cover(inner).unwrap_or(empty)),
        };
        Some((call, close + 1))
    }

    /// Reports words outside the closed set of a clause.
    fn check_words(&mut self, name: ClauseName, argument: &Argument) {
        let known = words(name);
        let (Argument::List { modifiers, .. } | Argument::Expression { modifiers, .. }) = argument
        else {
            return;
        };
        if known.is_empty() {
            return;
        }
        for modifier in modifiers {
            let word = slice(self.text, modifier.word);
            let is_construct = Leaf::ALL
                .iter()
                .any(|leaf| leaf.spelling().split(' ').any(|part| part == word));
            if known.contains(&word) || is_construct {
                continue;
            }
            let spelling = name.spelling();
            let mut diagnostic = self.error(
                Code::ClauseSyntax,
                modifier.word,
                format!("`{word}` means nothing to clause `{spelling}`"),
            );
            if let Some(meant) = closest(word, known.iter().copied()) {
                diagnostic = diagnostic.with_help(format!("did you mean `{meant}`?"));
            }
            self.diagnostics.push(diagnostic);
        }
    }

    fn report_misplaced(&mut self, clauses: &[Clause]) {
        for clause in clauses {
            if clause.name == ClauseName::Unknown || is_allowed(&self.leaves, clause.name) {
                continue;
            }
            let spelling = clause.name.spelling();
            let words: Vec<&str> = self.leaves.iter().map(|leaf| leaf.spelling()).collect();
            let directive = words.join(" ");
            let others: Vec<String> = constructs_with(clause.name)
                .into_iter()
                .map(|leaf| format!("`{}`", leaf.spelling()))
                .collect();
            let diagnostic = self
                .error(
                    Code::ClauseNotAllowed,
                    clause.name_range,
                    format!("`{directive}` takes no clause `{spelling}`"),
                )
                .with_note(format!("`{spelling}` belongs to {}", others.join(", ")));
            self.diagnostics.push(diagnostic);
        }
    }

    fn report_duplicates(&mut self, clauses: &[Clause]) {
        for (idx, clause) in clauses.iter().enumerate() {
            let Some(first) = clauses[..idx]
                .iter()
                .find(|earlier| earlier.name == clause.name)
                .filter(|_| is_unique(clause.name))
            else {
                continue;
            };
            let spelling = clause.name.spelling();
            let first = self.place(first.range);
            let diagnostic = self
                .error(
                    Code::DuplicateClause,
                    clause.range,
                    format!("clause `{spelling}` may appear once on a directive"),
                )
                .with_secondary(first, "first given here");
            self.diagnostics.push(diagnostic);
        }
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

    fn push_error(&mut self, code: Code, range: TextRange, headline: impl Into<String>) {
        let diagnostic = self.error(code, range, headline);
        self.diagnostics.push(diagnostic);
    }
}

/// How many tokens a scoped name takes.
fn scoped_name(text: &str, tokens: &[Token]) -> Option<usize> {
    let is = |idx: usize, what: &str| tokens.get(idx).is_some_and(|t| t.text(text) == what);
    let mut length = usize::from(is(0, "::"));
    loop {
        tokens
            .get(length)
            .filter(|token| token.kind == TokenKind::Identifier)?;
        length += 1;
        if !is(length, "::") {
            return Some(length);
        }
        length += 1;
    }
}

/// The first colon outside brackets that belongs to no `?:`.
fn top_level_colon(text: &str, tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    let mut n_questions = 0usize;
    for (idx, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Punct {
            continue;
        }
        match token.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "?" if depth == 0 => n_questions += 1,
            ":" if depth == 0 && n_questions > 0 => n_questions -= 1,
            ":" if depth == 0 => return Some(idx),
            _ => {}
        }
    }
    None
}

fn split_at_commas<'t>(text: &str, tokens: &'t [Token]) -> Vec<&'t [Token]> {
    split_at(text, tokens, |text| text == ",")
}

/// Splits at separators outside brackets. The parts include empty ones.
fn split_at<'t>(
    text: &str,
    tokens: &'t [Token],
    is_separator: impl Fn(&str) -> bool,
) -> Vec<&'t [Token]> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (idx, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Punct {
            continue;
        }
        match token.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            separator if depth == 0 && is_separator(separator) => {
                parts.push(&tokens[start..idx]);
                start = idx + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts
}

#[cfg(test)]
mod tests;
