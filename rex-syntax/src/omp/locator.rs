//! Reads list items: variables, paths from them, and array sections.

use text_size::TextRange;

use super::clause::{ListItem, Locator, Path, Section, Step};
use crate::lex::{Token, TokenKind};

/// Reads one list item from its tokens; anything that is no path is an expression.
pub(crate) fn list_item(text: &str, tokens: &[Token]) -> Option<ListItem> {
    let range = cover(tokens)?;
    let mut reader = PathReader {
        text,
        tokens,
        at: 0,
    };
    let locator = match reader.path(0) {
        Some(path) if reader.at == tokens.len() => Locator::Path(path),
        _ => match section_of(text, tokens) {
            Some((base, section)) => Locator::SectionOf(base, section),
            None => Locator::Expression(range),
        },
    };
    Some(ListItem { range, locator })
}

/// An expression and the section at its end.
fn section_of(text: &str, tokens: &[Token]) -> Option<(TextRange, Section)> {
    let opens = |idx: &usize| tokens[*idx].text(text) == "[";
    let open = (1..tokens.len())
        .filter(opens)
        .find(|open| closing(text, tokens, *open) + 1 == tokens.len())?;
    let mut reader = PathReader {
        text,
        tokens,
        at: open,
    };
    match reader.subscript()? {
        Step::Section(section) => Some((cover(&tokens[..open])?, section)),
        _ => None,
    }
}

/// From the first token to the last.
pub(crate) fn cover(tokens: &[Token]) -> Option<TextRange> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    Some(first.range.cover(last.range))
}

/// The index of the bracket that closes the one at `open`, or the number of tokens.
pub(crate) fn closing(text: &str, tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (idx, token) in tokens.iter().enumerate().skip(open) {
        if token.kind != TokenKind::Punct {
            continue;
        }
        match token.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return idx;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Nesting of `(*(*(..` that is still read as a path.
const MAX_PAREN_DEPTH: usize = 32;

/// Words that are expressions of their own in a list.
const RESERVED: [&str; 2] = ["omp_all_memory", "omp_cur_iteration"];

struct PathReader<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
}

impl PathReader<'_> {
    fn peek(&self) -> &str {
        self.tokens
            .get(self.at)
            .map_or("", |token| token.text(self.text))
    }

    fn eat(&mut self, what: &str) -> bool {
        let found = self.peek() == what;
        self.at += usize::from(found);
        found
    }

    /// The name of a member behind `.` or `->`.
    fn member(&mut self) -> Option<TextRange> {
        self.eat("template");
        self.identifier()
    }

    fn identifier(&mut self) -> Option<TextRange> {
        let token = self.tokens.get(self.at)?;
        if token.kind != TokenKind::Identifier {
            return None;
        }
        self.at += 1;
        Some(token.range)
    }

    fn path(&mut self, depth: usize) -> Option<Path> {
        let mut n_derefs = 0;
        while self.eat("*") {
            n_derefs += 1;
        }
        if let Some(extents) = self.shape() {
            if depth == MAX_PAREN_DEPTH {
                return None;
            }
            let mut path = self.path(depth + 1)?;
            path.steps.push(Step::Shape(extents));
            path.steps
                .extend(std::iter::repeat_n(Step::Deref, n_derefs));
            return Some(path);
        }
        let mut path = if self.peek() == "(" {
            if depth == MAX_PAREN_DEPTH {
                return None;
            }
            self.at += 1;
            let mut inner = self.path(depth + 1)?;
            let offset = self.offset();
            if !self.eat(")") {
                return None;
            }
            if let Some(offset) = offset {
                inner.steps.push(Step::Index(offset));
                // `(p + i)->x` is `p[i].x`, `*(p + i)` is `p[i]`.
                if self.eat("->") {
                    inner.steps.push(Step::Member(self.member()?));
                } else if n_derefs > 0 && !matches!(self.peek(), "." | "[") {
                    n_derefs -= 1;
                } else {
                    return None;
                }
            }
            inner
        } else {
            Path {
                root: self.root()?,
                steps: Vec::new(),
            }
        };
        while let Some(step) = self.step()? {
            path.steps.push(step);
        }
        path.steps
            .extend(std::iter::repeat_n(Step::Deref, n_derefs));
        path.steps.shrink_to_fit();
        Some(path)
    }

    /// What stands after `+`, up to the parenthesis that closes.
    fn offset(&mut self) -> Option<TextRange> {
        if !self.eat("+") {
            return None;
        }
        let start = self.at;
        let mut depth = 0usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token.text(self.text) {
                ")" if depth == 0 => break,
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        cover(self.tokens.get(start..self.at)?)
    }

    /// `([n][m])` before a pointer.
    fn shape(&mut self) -> Option<Vec<TextRange>> {
        let text = |at: usize| self.tokens.get(at).map(|token| token.text(self.text));
        if text(self.at) != Some("(") || text(self.at + 1) != Some("[") {
            return None;
        }
        let mut extents = Vec::new();
        let mut at = self.at + 1;
        while text(at) == Some("[") {
            let close = closing(self.text, self.tokens, at);
            extents.push(cover(self.tokens.get(at + 1..close)?)?);
            at = close + 1;
        }
        if text(at) != Some(")") {
            return None;
        }
        self.at = at + 1;
        Some(extents)
    }

    /// An identifier or a scoped name, with template arguments between the scopes.
    fn root(&mut self) -> Option<TextRange> {
        let start = self.tokens.get(self.at)?.range;
        self.eat("::");
        let mut range = self.identifier()?;
        if RESERVED.contains(&crate::lex::slice(self.text, range)) {
            return None;
        }
        loop {
            let before = self.at;
            if self.peek() == "<" && !self.skip_template_arguments() {
                break;
            }
            if !self.eat("::") {
                self.at = before;
                break;
            }
            range = self.identifier()?;
        }
        Some(start.cover(range))
    }

    fn skip_template_arguments(&mut self) -> bool {
        let before = self.at;
        let mut depth = 0i32;
        while let Some(token) = self.tokens.get(self.at) {
            match token.text(self.text) {
                "<" => depth += 1,
                ">" => depth -= 1,
                ">>" => depth -= 2,
                _ => {}
            }
            self.at += 1;
            if depth <= 0 {
                return true;
            }
        }
        self.at = before;
        false
    }

    /// The next step; the outer `None` says that the text is no path.
    fn step(&mut self) -> Option<Option<Step>> {
        let arrow = match self.peek() {
            "." => false,
            "->" => true,
            "[" => return Some(Some(self.subscript()?)),
            _ => return Some(None),
        };
        self.at += 1;
        let name = self.member()?;
        Some(Some(if arrow {
            Step::Arrow(name)
        } else {
            Step::Member(name)
        }))
    }

    fn subscript(&mut self) -> Option<Step> {
        let open = self.at;
        let close = closing(self.text, self.tokens, open);
        let range = self.tokens[open].range.cover(self.tokens.get(close)?.range);
        let inner = &self.tokens[open + 1..close];
        self.at = close + 1;
        let colons = section_colons(self.text, inner);
        let Some(&first) = colons.first() else {
            return Some(Step::Index(cover(inner)?));
        };
        let parts = |from: Colon, to: Option<Colon>| {
            let end = to.map_or(inner.len(), |colon| colon.token);
            inner.get(from.after..end).and_then(cover)
        };
        let second = colons.get(1).copied();
        if colons.len() > 2 {
            return None;
        }
        Some(Step::Section(Section {
            range,
            lower: cover(&inner[..first.token]),
            length: parts(first, second),
            stride: second.and_then(|colon| parts(colon, None)),
        }))
    }
}

/// A colon of a section: the token that holds it, and the first token after it.
#[derive(Clone, Copy)]
struct Colon {
    token: usize,
    after: usize,
}

/// The colons that separate the parts of a section. `::` is two of them unless it stands between two names.
fn section_colons(text: &str, tokens: &[Token]) -> Vec<Colon> {
    let mut colons = Vec::new();
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
            ":" if depth == 0 => colons.push(Colon {
                token: idx,
                after: idx + 1,
            }),
            "::" if depth == 0 && !between_names(tokens, idx) => {
                colons.push(Colon {
                    token: idx,
                    after: idx,
                });
                colons.push(Colon {
                    token: idx,
                    after: idx + 1,
                });
            }
            _ => {}
        }
    }
    colons
}

fn between_names(tokens: &[Token], idx: usize) -> bool {
    let is_name = |token: Option<&Token>| token.is_some_and(|t| t.kind == TokenKind::Identifier);
    is_name(idx.checked_sub(1).and_then(|before| tokens.get(before)))
        && is_name(tokens.get(idx + 1))
}
