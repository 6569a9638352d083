//! Reads what stands between the parentheses of a clause.

use text_size::TextRange;

use super::{Parser, name_of};
use crate::diag::Code;
use crate::lex::{Token, TokenKind, slice};
use crate::omp::clause::{AppliesTo, Argument, ClauseName, ListItem, Modifier};
use crate::omp::directive::Leaf;
use crate::omp::locator::{closing, cover, list_item};
use crate::omp::name::directive_name;
use crate::omp::shape::{Shape, shape};

impl<'p> Parser<'p> {
    pub(super) fn argument(
        &mut self,
        name: ClauseName,
        name_range: TextRange,
        inner: Option<TextRange>,
        tokens: &'p [Token],
        applies_to: Option<&AppliesTo>,
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
                    format!("write `{spelling}(..)`, or leave the clause out"),
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
                "write an argument between them, or leave the clause out",
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
        let mut argument = argument.unwrap_or(Argument::Raw(inner));
        if let Some(applies_to) = applies_to
            && let Argument::Expression { modifiers, .. } | Argument::List { modifiers, .. } =
                &mut argument
        {
            modifiers.retain(|modifier| !applies_to.range.contains_range(modifier.range));
        }
        self.check_selector(name, tokens);
        self.check_words(name, &argument);
        self.check_reduction(name, &argument);
        self.check_variables(name, &argument);
        argument
    }

    /// The directive's name among a clause's modifiers.
    pub(super) fn applies_to(
        &mut self,
        name: ClauseName,
        tokens: &'p [Token],
    ) -> Option<AppliesTo> {
        let shape = self.shape_here(name);
        if shape == Shape::Raw {
            return None;
        }
        let colon = top_level_colon(self.text, tokens)?;
        let modifiers = match shape {
            Shape::ListThenModifiers => &tokens[colon + 1..],
            _ => &tokens[..colon],
        };
        for part in split_at_commas(self.text, modifiers) {
            let (leaves, n_words) = directive_name(self.text, part);
            if leaves.is_empty() || n_words != part.len() || self.means_its_own(name, &leaves) {
                continue;
            }
            let range = cover(part)?;
            if leaves.iter().any(|leaf| !self.leaves.contains(leaf)) {
                let word = slice(self.text, range);
                let directive = name_of(&self.leaves);
                self.push_error(
                    Code::ClauseSyntax,
                    range,
                    format!("`{word}` is no construct of `{directive}`"),
                    "name a construct that the directive is made of, or none for all of them",
                );
            }
            return Some(AppliesTo { range, leaves });
        }
        None
    }

    /// Whether the name of a construct has another meaning among the modifiers of a clause.
    fn means_its_own(&self, name: ClauseName, leaves: &[Leaf]) -> bool {
        let is_identifier = || leaves.iter().any(|leaf| !self.leaves.contains(leaf));
        match name {
            _ if matches!(leaves, [leaf] if name.takes_word(leaf.spelling())) => true,
            ClauseName::Reduction | ClauseName::InReduction | ClauseName::TaskReduction => {
                leaves == [Leaf::Task] || is_identifier()
            }
            _ => false,
        }
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
            self.check_single(name, tokens);
            return Some(Argument::Expression {
                modifiers: Vec::new(),
                expression: inner,
            });
        };
        let (before, after) = (&tokens[..colon], &tokens[colon + 1..]);
        let whole = |range| Modifier {
            range,
            word: range,
            argument: None,
        };
        let modifiers = match name {
            ClauseName::If | ClauseName::NumTeams => split_at_commas(self.text, before)
                .into_iter()
                .filter_map(|part| cover(part).map(whole))
                .collect(),
            _ => self.modifiers(before),
        };
        self.check_single(name, after);
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
            "write what the clause applies to behind the colon",
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
                "write a kind first, such as `static`",
            );
        }
        let after = tokens.get(kind_end + 1..).unwrap_or_default();
        let chunk = cover(after);
        self.check_single(name, after);
        if let (Some(chunk), Some(kind)) = (chunk, modifiers.last())
            && let kind @ ("auto" | "runtime") = slice(self.text, kind.word)
        {
            self.push_error(
                Code::ClauseSyntax,
                chunk,
                format!("`{kind}` takes no size of chunks"),
                "remove it, or choose another kind",
            );
        }
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
                            "remove the comma or write the item",
                        );
                    }
                }
            }
        }
        items.shrink_to_fit();
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
pub(super) fn top_level_colon(text: &str, tokens: &[Token]) -> Option<usize> {
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

pub(super) fn split_at_commas<'t>(text: &str, tokens: &'t [Token]) -> Vec<&'t [Token]> {
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
    let mut behind_arguments = 0;
    for (idx, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Punct || idx < behind_arguments {
            continue;
        }
        match token.text(text) {
            "<" => behind_arguments = template_arguments(text, tokens, idx).unwrap_or(0),
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

/// Where the template arguments end that open at a token: those of a scope, `Box<int, 3>::value`, as others are no part of a list.
fn template_arguments(text: &str, tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (idx, token) in tokens.iter().enumerate().skip(open) {
        match token.text(text) {
            "<" => depth += 1,
            ">" => depth -= 1,
            ">>" => depth -= 2,
            _ => {}
        }
        if depth <= 0 {
            let after = tokens.get(idx + 1)?;
            return (after.text(text) == "::").then_some(idx + 1);
        }
    }
    None
}
