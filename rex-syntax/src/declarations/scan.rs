//! The scan that fills the table of declarations.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use text_size::TextRange;

use super::{DeclKind, Entry, Index};
use crate::lex::{self, is_identifier_byte, slice};

impl Index {
    /// Scans text without comments and preprocessor lines.
    pub(crate) fn scan(code: &str) -> Index {
        let mut scanner = Scanner {
            code,
            bytes: code.as_bytes(),
            at: 0,
            scope: vec![0],
            scope_by_name: FxHashMap::from_iter([(SmolStr::default(), 0)]),
            index: Index {
                scopes: vec![SmolStr::default()],
                ..Index::default()
            },
        };
        scanner.scan();
        scanner.index.sort(code);
        scanner.index
    }

    fn add(&mut self, name: TextRange, kind: DeclKind, head: &Head<'_>, range: TextRange) {
        self.entries.push(Entry {
            kind,
            has_body: head.body.is_some(),
            scope: head.scope,
            name,
            range,
        });
    }

    fn sort(&mut self, code: &str) {
        let n_entries = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.shrink_to_fit();
        self.sorted = (0..n_entries).collect();
        let entries = &self.entries;
        let key = |idx: u32| (slice(code, entries[idx as usize].name), idx);
        self.sorted
            .sort_unstable_by(|one, other| key(*one).cmp(&key(*other)));
    }
}

/// What is known of the declaration being read.
#[derive(Clone, Debug, Default)]
struct Head<'t> {
    start: usize,
    scope: u32,
    is_typedef: bool,
    is_using: bool,
    /// The tag's name, empty for an anonymous one; `None` while no tag keyword was seen.
    tag: Option<&'t str>,
    is_enum: bool,
    /// The last word seen at this level, which may be the name that is declared.
    last_word: Option<&'t str>,
    /// Declared names, with what they are.
    names: Vec<(&'t str, DeclKind)>,
    /// A parameter list was seen after a name.
    has_parameters: bool,
    /// An `=` was seen: what follows, up to a comma, is an initializer.
    in_initializer: bool,
    body: Option<(usize, usize)>,
    is_extern: bool,
    is_namespace: bool,
}

struct Scanner<'t> {
    code: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// Indices into the scopes, innermost last.
    scope: Vec<u32>,
    scope_by_name: FxHashMap<SmolStr, u32>,
    index: Index,
}

impl<'t> Scanner<'t> {
    fn scan(&mut self) {
        while self.at < self.bytes.len() {
            self.skip_blanks();
            match self.peek() {
                0 if self.at >= self.bytes.len() => return,
                b';' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    if self.scope.len() > 1 {
                        self.scope.pop();
                    }
                }
                _ => self.declaration(),
            }
        }
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn word(&mut self) -> &'t str {
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_identifier_byte(byte) && !byte.is_ascii_digit() {
                break;
            }
            self.at += 1;
        }
        self.code.get(start..self.at).unwrap_or("")
    }

    /// Reads one declaration, or the head of a namespace or linkage block.
    fn declaration(&mut self) {
        let mut head = Head {
            start: self.at,
            scope: self.scope.last().copied().unwrap_or(0),
            ..Head::default()
        };
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b';' => {
                    self.at += 1;
                    break;
                }
                b'}' => break,
                b'{' => {
                    if self.brace(&mut head) {
                        return;
                    }
                    if head.body.is_some() && head.has_parameters {
                        break;
                    }
                }
                b'(' => self.parenthesis(&mut head),
                b'[' => self.skip_group(),
                b'<' if head.last_word.is_some() && !head.in_initializer => self.skip_angles(),
                b'=' => {
                    self.at += 1;
                    self.name_ends(&mut head);
                    head.in_initializer = true;
                }
                b',' => {
                    self.at += 1;
                    self.name_ends(&mut head);
                    head.in_initializer = false;
                }
                b'"' | b'\'' => self.skip_literal(byte),
                b'0'..=b'9' => {
                    self.word();
                }
                _ if is_identifier_byte(byte) => self.take_word(&mut head),
                _ => self.at += 1,
            }
        }
        self.name_ends(&mut head);
        self.record(&head);
    }

    fn take_word(&mut self, head: &mut Head<'t>) {
        let word = self.word();
        match word {
            "typedef" => head.is_typedef = true,
            "using" => head.is_using = true,
            "namespace" => head.is_namespace = true,
            "extern" => head.is_extern = true,
            "struct" | "union" | "class" | "enum" if head.tag.is_none() => {
                head.is_enum = word == "enum";
                head.tag = Some("");
            }
            "template" => {
                self.skip_blanks();
                if self.peek() == b'<' {
                    self.skip_angles();
                }
            }
            "__attribute__" | "__attribute" | "__asm__" | "__asm" | "asm" | "alignas"
            | "__declspec" | "_Alignas" | "decltype" | "__typeof__" | "typeof" | "noexcept"
            | "__typeof" | "requires" => {
                self.skip_blanks();
                if self.peek() == b'(' {
                    self.skip_group();
                }
            }
            "const" | "volatile" | "static" | "inline" | "__inline" | "__inline__" | "final"
            | "__extension__" | "__restrict" | "constexpr" | "struct" | "union" | "class"
            | "enum" | "typename" => {}
            _ if head.in_initializer => {}
            "operator" => {
                self.skip_operator();
                head.last_word = Some(word);
            }
            _ => {
                if head.tag == Some("") && head.last_word.is_none() && head.body.is_none() {
                    head.tag = Some(word);
                }
                head.last_word = Some(word);
            }
        }
    }

    /// The last word was a declared name, unless it was part of the type.
    fn name_ends(&mut self, head: &mut Head<'t>) {
        let Some(word) = head.last_word.take() else {
            return;
        };
        let is_tag_name = head.tag == Some(word) && head.names.is_empty() && head.body.is_none();
        if head.in_initializer || is_tag_name || head.is_namespace {
            return;
        }
        let kind = match head.is_typedef || head.is_using {
            true => DeclKind::Typedef,
            false => DeclKind::Variable,
        };
        head.names.push((word, kind));
    }

    /// A parameter list, or a declarator in parentheses.
    fn parenthesis(&mut self, head: &mut Head<'t>) {
        let start = self.at;
        self.skip_group();
        if head.in_initializer {
            return;
        }
        let inner = self
            .code
            .get(start + 1..self.at.max(start + 2) - 1)
            .unwrap_or("");
        let is_declarator = inner.trim_start().starts_with(['*', '^', '&'])
            || inner
                .trim_start()
                .split("::")
                .nth(1)
                .is_some_and(|rest| rest.starts_with('*'));
        if is_declarator && !head.has_parameters {
            let mut words = lex::identifiers(inner, lex::whole(inner))
                .map(|range| slice(inner, range))
                .filter(|word| !matches!(*word, "const" | "volatile" | "__restrict"));
            if let Some(word) = words.next() {
                head.last_word = None;
                let kind = match head.is_typedef {
                    true => DeclKind::Typedef,
                    false => DeclKind::Variable,
                };
                head.names.push((word, kind));
                head.has_parameters = true;
            }
            return;
        }
        if let Some(word) = head.last_word.take() {
            let kind = match head.is_typedef {
                true => DeclKind::Typedef,
                false => DeclKind::Function,
            };
            head.names.push((word, kind));
            head.has_parameters = true;
        }
    }

    /// Handles `{`. Returns whether it opened a scope whose content is scanned like file scope.
    fn brace(&mut self, head: &mut Head<'t>) -> bool {
        if head.is_namespace {
            let name = head.last_word.unwrap_or("");
            self.at += 1;
            self.open_scope(name);
            return true;
        }
        let is_linkage = head.is_extern && head.tag.is_none() && head.last_word.is_none();
        if is_linkage && head.names.is_empty() {
            self.at += 1;
            self.scope.push(head.scope);
            return true;
        }
        let start = self.at;
        self.skip_group();
        if head.in_initializer {
            return false;
        }
        if head.tag.is_some() && head.body.is_none() && !head.has_parameters {
            head.last_word = None;
        }
        head.body = head.body.or(Some((start, self.at)));
        false
    }

    fn open_scope(&mut self, name: &str) {
        let outer = self.scope.last().copied().unwrap_or(0);
        let outer_name = self
            .index
            .scopes
            .get(outer as usize)
            .cloned()
            .unwrap_or_default();
        let full: SmolStr = match (outer_name.is_empty(), name.is_empty()) {
            (_, true) => outer_name,
            (true, false) => name.into(),
            (false, false) => format!("{outer_name}::{name}").into(),
        };
        let scopes = &mut self.index.scopes;
        let idx = *self.scope_by_name.entry(full).or_insert_with_key(|name| {
            scopes.push(name.clone());
            u32::try_from(scopes.len() - 1).unwrap_or(0)
        });
        self.scope.push(idx);
    }

    fn record(&mut self, head: &Head<'t>) {
        let range = lex::range(head.start, self.at);
        if let Some(tag) = head.tag.filter(|tag| !tag.is_empty()) {
            let declares_tag = head.body.is_some() || head.names.is_empty();
            if declares_tag && !head.has_parameters {
                let name = lex::place_in(self.code, tag);
                self.index.add(name, DeclKind::Tag, head, range);
            }
        }
        if let Some((start, end)) = head.body.filter(|_| head.is_enum && !head.has_parameters) {
            self.enumerators(head, start + 1, end.saturating_sub(1), range);
        }
        // `using A = B;` names a type; `using std::max;` and `using namespace std;` declare nothing here.
        if head.is_using && !head.in_initializer {
            return;
        }
        for (name, kind) in &head.names {
            let name = lex::place_in(self.code, name);
            self.index.add(name, *kind, head, range);
        }
    }

    fn enumerators(&mut self, head: &Head<'t>, start: usize, end: usize, range: TextRange) {
        let code = self.code;
        let mut depth = 0usize;
        let mut expects_name = true;
        for token in lex::significant_tokens(code, lex::range(start, end)) {
            match token.text(code) {
                "(" | "{" | "[" => depth += 1,
                ")" | "}" | "]" => depth = depth.saturating_sub(1),
                "," if depth == 0 => expects_name = true,
                _ if expects_name && token.kind == lex::TokenKind::Identifier => {
                    expects_name = false;
                    self.index
                        .add(token.range, DeclKind::Enumerator, head, range);
                }
                _ => {}
            }
        }
    }

    /// Skips the symbol of an operator, which opens no brackets: `<<`, `()`, `->*`.
    fn skip_operator(&mut self) {
        self.skip_blanks();
        match self.peek() {
            b'(' | b'[' => self.skip_group(),
            _ => {
                let is_symbol = |byte: &u8| b"+-*/%^&|~!=<>,".contains(byte);
                while self.bytes.get(self.at).is_some_and(is_symbol) {
                    self.at += 1;
                }
            }
        }
    }

    fn skip_literal(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\n' => return,
                _ if byte == quote => return,
                _ => {}
            }
        }
    }

    /// Skips from an opening bracket to after the one that closes it.
    fn skip_group(&mut self) {
        let mut depth = 0usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b'"' => {
                    self.skip_literal(byte);
                    continue;
                }
                // A digit separator is no quote.
                b'\''
                    if !self
                        .at
                        .checked_sub(1)
                        .is_some_and(|before| self.bytes[before].is_ascii_alphanumeric()) =>
                {
                    self.skip_literal(byte);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_angles(&mut self) {
        let mut depth = 0usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'<' => depth += 1,
                b'>' if self.bytes.get(self.at.wrapping_sub(1)) != Some(&b'-') => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b'(' | b'[' | b'{' => {
                    self.skip_group();
                    continue;
                }
                b';' | b'}' => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}
