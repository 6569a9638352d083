//! Tokens of C and C++ text, without understanding it.
//!
//! A fast scanner that knows comments, strings, raw strings, character constants, numbers and line continuations. It serves pragma
//! scanning, clause parsing, macro bodies and free-name questions. It never fails: an unterminated string ends at its line, an
//! unterminated comment at the end of the range.
//!
//! A line continuation between tokens is blank space; one inside an identifier or operator ends it.

use std::borrow::Cow;

use text_size::{TextRange, TextSize};

/// Keywords of C++ that are ordinary names in C. The words for operators (`and`, `not`, ..) cannot be macros.
pub const CXX_KEYWORDS: &[&str] = &[
    "catch",
    "class",
    "delete",
    "explicit",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "operator",
    "private",
    "protected",
    "public",
    "template",
    "this",
    "throw",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
];

/// Operators of C++ in letters: names in C, where no macro of `<iso646.h>` has them. No macro of C++ can.
pub const CXX_OPERATORS: &[&str] = &[
    "and", "and_eq", "bitand", "bitor", "compl", "not", "not_eq", "or", "or_eq", "xor", "xor_eq",
];

/// Keywords of C++ that C has as types or macros of headers, or since C23: names only where a program declares them.
pub const CXX_KEYWORDS_OF_HEADERS: &[&str] = &[
    "alignas", "alignof", "bool", "char16_t", "char32_t", "char8_t", "false", "noexcept", "true",
    "wchar_t",
];

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A name or keyword.
    Identifier,
    /// A preprocessing number.
    Number,
    /// A string literal with its prefix, raw strings included.
    String,
    /// A character constant with its prefix.
    Char,
    /// An operator or punctuator; the longest one that fits.
    Punct,
    /// A comment.
    Comment,
    /// The end of a logical line.
    Newline,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub range: TextRange,
}

impl Token {
    /// The token's characters.
    pub fn text(self, text: &str) -> &str {
        slice(text, self.range)
    }

    /// The token as the compiler reads it: a string goes on behind a line continuation in it, unless it is a raw one.
    pub fn spelling(self, text: &str) -> Cow<'_, str> {
        let written = self.text(text);
        let is_raw = || {
            let prefix = written.split('"').next();
            prefix.is_some_and(|prefix| prefix.ends_with('R'))
        };
        if self.kind != TokenKind::String || !written.contains('\n') || is_raw() {
            return written.into();
        }
        written.replace("\\\r\n", "").replace("\\\n", "").into()
    }
}

/// Every token of a range, comments and ends of logical lines included.
pub fn tokens(text: &str, range: TextRange) -> impl Iterator<Item = Token> {
    Lexer::new(text, range)
}

/// The tokens of a range without comments and line ends.
pub fn significant_tokens(text: &str, range: TextRange) -> impl Iterator<Item = Token> {
    tokens(text, range)
        .filter(|token| !matches!(token.kind, TokenKind::Comment | TokenKind::Newline))
}

/// The free names of a range: identifiers that are not members (`.x`, `->x`) and not qualified (`A::x` yields only `A`).
///
/// Keywords are among them; a caller that looks names up in a scope finds none for those.
pub fn identifiers(text: &str, range: TextRange) -> impl Iterator<Item = TextRange> {
    let mut before_last = None;
    let mut last: Option<Token> = None;
    significant_tokens(text, range).filter_map(move |token| {
        let qualified = last.is_some_and(|last| match last.text(text) {
            "." | "->" => last.kind == TokenKind::Punct,
            "::" => before_last.is_some_and(|token: Token| {
                token.kind == TokenKind::Identifier || token.text(text) == ">"
            }),
            _ => false,
        });
        before_last = last;
        last = Some(token);
        (token.kind == TokenKind::Identifier && !qualified).then_some(token.range)
    })
}

/// The digits and the other letters of the suffix, in lower case, of an imaginary number of GNU C: `2.0` and `f` of `2.0fi`.
pub fn imaginary(number: &str) -> Option<(&str, String)> {
    let is_hexadecimal = number.starts_with("0x") || number.starts_with("0X");
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = number[digits.len()..].to_ascii_lowercase();
    let is_imaginary = !is_hexadecimal && suffix.contains(['i', 'j']);
    is_imaginary.then(|| (digits, suffix.replace(['i', 'j'], "")))
}

/// The text of a range; empty when the range does not lie in the text.
pub(crate) fn slice(text: &str, range: TextRange) -> &str {
    text.get(usize::from(range.start())..usize::from(range.end()))
        .unwrap_or("")
}

/// The range of a whole text.
///
/// # Panics
/// When the text is 4 GiB or longer, which no caller lets in.
pub fn whole(text: &str) -> TextRange {
    TextRange::up_to(TextSize::of(text))
}

/// The brackets among tokens, each with the one that closes it.
///
/// The kinds of brackets are not compared, so that one wrong bracket does not spoil the rest.
#[derive(Clone, Debug, Default)]
pub struct Partners {
    /// The indices of opening brackets, in order, and of those that close them.
    pairs: Vec<(u32, u32)>,
}

impl Partners {
    /// Pairs the brackets of tokens. One that nothing closes is closed by what would be the token behind the last.
    pub fn of(text: &str, tokens: &[Token]) -> Partners {
        let index = |idx: usize| u32::try_from(idx).unwrap_or(u32::MAX);
        let mut pairs = Vec::new();
        let mut open = Vec::new();
        for (idx, token) in tokens.iter().enumerate() {
            if token.kind != TokenKind::Punct {
                continue;
            }
            match token.text(text) {
                "(" | "[" | "{" => {
                    open.push(pairs.len());
                    pairs.push((index(idx), index(tokens.len())));
                }
                ")" | "]" | "}" => {
                    if let Some(opener) = open.pop() {
                        pairs[opener].1 = index(idx);
                    }
                }
                _ => {}
            }
        }
        Partners { pairs }
    }

    /// The index of what closes the bracket that a token is; `None` if it opens nothing.
    pub fn closing(&self, open: usize) -> Option<usize> {
        let found = self
            .pairs
            .binary_search_by_key(&open, |(open, _)| *open as usize);
        found.ok().map(|at| self.pairs[at].1 as usize)
    }

    /// The index of what opens the bracket that a token closes.
    pub fn opening(&self, close: usize) -> Option<usize> {
        let before = self
            .pairs
            .partition_point(|(open, _)| (*open as usize) < close);
        let mut before = self.pairs[..before].iter().rev();
        before
            .find(|(_, closing)| *closing as usize == close)
            .map(|(open, _)| *open as usize)
    }
}

/// Where a piece of a text stands in it.
pub(crate) fn place_in(text: &str, piece: &str) -> TextRange {
    let start = piece.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    range(start, start + piece.len())
}

/// A range from two byte positions of a text that fits in memory of 4 GiB.
pub(crate) fn range(start: usize, end: usize) -> TextRange {
    let size = |at: usize| TextSize::new(u32::try_from(at).unwrap_or(u32::MAX));
    TextRange::new(size(start), size(end.max(start)))
}

/// Whether a byte can begin or continue an identifier (digits aside).
pub(crate) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The scanner behind [`tokens`]; it works on bytes and can be restarted anywhere between tokens.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Lexer<'t> {
    /// Starts at the beginning of a range and stops at its end.
    pub(crate) fn new(text: &'t str, range: TextRange) -> Lexer<'t> {
        let end = usize::from(range.end()).min(text.len());
        Lexer {
            bytes: &text.as_bytes()[..end],
            at: usize::from(range.start()).min(end),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The length of a line continuation at a position, or 0.
    fn continuation(&self, at: usize) -> usize {
        match self.bytes.get(at..) {
            Some([b'\\', b'\n', ..]) => 2,
            Some([b'\\', b'\r', b'\n', ..]) => 3,
            _ => 0,
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\\' => match self.continuation(self.at) {
                    0 if self.at + 1 == self.bytes.len() => self.at += 1,
                    0 => return,
                    length => self.at += length,
                },
                _ => return,
            }
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += self.continuation(self.at).max(1);
        }
        if self.at > 0 && self.bytes.get(self.at - 1) == Some(&b'\r') {
            self.at -= 1;
        }
    }

    fn block_comment(&mut self) {
        self.at += 2;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest
            .windows(2)
            .position(|pair| pair == b"*/")
            .map_or(rest.len(), |length| length + 2);
    }

    /// A string or character constant; `self.at` is at the quote.
    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\\' => self.at += self.continuation(self.at).max(2),
                b'\n' => break,
                _ if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        if self.bytes.get(self.at - 1) == Some(&b'\r') {
            self.at -= 1;
        }
    }

    /// A raw string; `self.at` is at the quote. Returns whether it is one.
    fn raw_string(&mut self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let Some(open) = rest.iter().take(17).position(|&byte| byte == b'(') else {
            return false;
        };
        let delimiter = &rest[..open];
        if delimiter
            .iter()
            .any(|byte| matches!(byte, b' ' | b')' | b'\\' | b'\t' | b'\n' | b'"'))
        {
            return false;
        }
        let body = &rest[open + 1..];
        let mut from = 0;
        let length = loop {
            let Some(close) = body[from..].iter().position(|&byte| byte == b')') else {
                break body.len();
            };
            let after = &body[from + close + 1..];
            if after.starts_with(delimiter) && after.get(open) == Some(&b'"') {
                break from + close + 1 + open + 1;
            }
            from += close + 1;
        };
        self.at += 1 + open + 1 + length;
        true
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_identifier_byte(byte) && !byte.is_ascii_digit() {
                break;
            }
            self.at += 1;
        }
        match (self.peek(0), &self.bytes[start..self.at]) {
            (b'"', b"R" | b"LR" | b"uR" | b"UR" | b"u8R") => {
                if self.raw_string() {
                    return TokenKind::String;
                }
                TokenKind::Identifier
            }
            (b'"', b"L" | b"u" | b"U" | b"u8") => {
                self.quoted(b'"');
                TokenKind::String
            }
            (b'\'', b"L" | b"u" | b"U" | b"u8") => {
                self.quoted(b'\'');
                TokenKind::Char
            }
            _ => TokenKind::Identifier,
        }
    }

    fn number(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            let next = self.peek(1);
            match byte {
                b'e' | b'E' | b'p' | b'P' if matches!(next, b'+' | b'-') => self.at += 2,
                b'\'' if next.is_ascii_alphanumeric() => self.at += 2,
                b'.' => self.at += 1,
                _ if is_identifier_byte(byte) || byte.is_ascii_digit() => self.at += 1,
                _ => return,
            }
        }
    }

    fn punctuator(&mut self) {
        let length = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'%', b':', b'%') if self.peek(3) == b':' => 4,
            // `f<::g>` is no digraph.
            (b'<', b':', b':') if !matches!(self.peek(3), b':' | b'>') => 1,
            (b'.', b'.', b'.')
            | (b'<', b'<', b'=')
            | (b'>', b'>', b'=')
            | (b'-', b'>', b'*')
            | (b'<', b'=', b'>') => 3,
            (b'-', b'>', _)
            | (b'<', b':' | b'%', _)
            | (b'%', b':' | b'>', _)
            | (b':', b'>', _)
            | (b'.', b'*', _)
            | (
                b'<' | b'>' | b'=' | b'!' | b'*' | b'/' | b'%' | b'+' | b'-' | b'&' | b'^' | b'|',
                b'=',
                _,
            ) => 2,
            (first @ (b'+' | b'-' | b'<' | b'>' | b'&' | b'|' | b'#' | b':'), second, _)
                if first == second =>
            {
                2
            }
            _ => 1,
        };
        self.at += length;
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip_blanks();
        let start = self.at;
        let &byte = self.bytes.get(start)?;
        let kind = match (byte, self.peek(1)) {
            (b'\n', _) => {
                self.at += 1;
                TokenKind::Newline
            }
            (b'/', b'/') => {
                self.line_comment();
                TokenKind::Comment
            }
            (b'/', b'*') => {
                self.block_comment();
                TokenKind::Comment
            }
            (b'"', _) => {
                self.quoted(b'"');
                TokenKind::String
            }
            (b'\'', _) => {
                self.quoted(b'\'');
                TokenKind::Char
            }
            (b'0'..=b'9', _) | (b'.', b'0'..=b'9') => {
                self.number();
                TokenKind::Number
            }
            _ if is_identifier_byte(byte) => self.word(),
            _ => {
                self.punctuator();
                TokenKind::Punct
            }
        };
        Some(Token {
            kind,
            range: range(start, self.at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = significant_tokens(text, whole(text))
            .map(|token| token.text(text))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_are_single_tokens() {
        check(
            r#"x = "a\"b" + 'c' + L"w" + 1'000.5e-3f;"#,
            &[
                "x",
                "=",
                r#""a\"b""#,
                "+",
                "'c'",
                "+",
                r#"L"w""#,
                "+",
                "1'000.5e-3f",
                ";",
            ],
        );
    }

    #[test]
    fn raw_strings_hide_quotes() {
        check(r##"R"x( " )" )x" y"##, &[r##"R"x( " )" )x""##, "y"]);
    }

    #[test]
    fn continuations_are_blanks() {
        check("a \\\n b \\\r\n c // d \\\n e\nf", &["a", "b", "c", "f"]);
    }

    #[test]
    fn unterminated_literals_end_at_the_line() {
        check("a 'b\nc \"d\r\ne", &["a", "'b", "c", "\"d", "e"]);
        check("/* x", &[]);
        check("\"\\", &["\"\\"]);
    }

    #[test]
    fn free_names_exclude_members() {
        let text = "a.b + c->d[e] + std::max(f, ::g) /* h */ + \"i\" + 0x1f";
        let found: Vec<&str> = identifiers(text, whole(text))
            .map(|range| slice(text, range))
            .collect();
        assert_eq!(found, ["a", "c", "e", "std", "f", "g"]);
    }
}
