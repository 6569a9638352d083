//! Same-length spellings of constructs that the grammars do not know.
//!
//! A respelled node answers with the user's text; only its shape comes from the respelling. [`crate::cst`] puts right the kind of a type
//! whose name had to be spelled like another type.

use super::{Mask, Scan};
use crate::lex::{self, TokenKind};
use crate::source::Language;

/// Words for which the grammar has another spelling.
const SPELLINGS: [(&str, &str); 11] = [
    ("_Thread_local", "__thread"),
    ("__signed__", "signed"),
    ("__signed", "signed"),
    ("__const__", "const"),
    ("__const", "const"),
    ("__volatile", "volatile"),
    ("__alignof", "alignof"),
    ("__imag__", "+"),
    ("__real__", "+"),
    ("__imag", "+"),
    ("__real", "+"),
];

/// Words that only a device compiler knows and that do not change what is declared.
const DEVICE_WORDS: [&str; 9] = [
    "__global__",
    "__device__",
    "__host__",
    "__constant__",
    "__shared__",
    "__managed__",
    "__forceinline__",
    "__noinline__",
    "__grid_constant__",
];

impl Scan<'_> {
    /// Respells the construct that begins at a word; returns how many tokens it takes, 0 if there is none.
    pub(super) fn respell(&self, idx: usize, mask: &mut Mask) -> usize {
        let Some(token) = self.tokens.get(idx) else {
            return 0;
        };
        let text = token.text(self.text);
        if let Some((_, spelling)) = SPELLINGS.iter().find(|(word, _)| *word == text) {
            self.blank_tokens(idx, idx, mask);
            mask.put(token.range.start(), spelling);
            return 1;
        }
        if DEVICE_WORDS.contains(&text) {
            self.blank_tokens(idx, idx, mask);
            return 1;
        }
        // The grammars do not know the suffix.
        if token.kind == TokenKind::Number && lex::imaginary(text).is_some() {
            mask.put(token.range.start(), &"0".repeat(text.len()));
            return 1;
        }
        match text {
            // A word of the grammar only; a function or variable may have the name.
            "noreturn" if self.opens(idx + 1) => {
                mask.put(token.range.start(), "no_retur");
                1
            }
            "_Pragma" | "__pragma" | "__launch_bounds__" if self.opens(idx + 1) => {
                let length = self.call_length(idx);
                if length > 0 {
                    self.blank_tokens(idx, idx + length - 1, mask);
                }
                length
            }
            "decltype" | "__typeof__" | "__typeof"
                if self.language == Language::Cxx && self.begins_decltype_temporary(idx) =>
            {
                self.join(idx, self.call_length(idx), mask)
            }
            "__typeof__" | "__typeof" if self.language == Language::Cxx && self.opens(idx + 1) => {
                self.blank_tokens(idx, idx, mask);
                mask.put(token.range.start(), "decltype");
                1
            }
            "operator" if matches!(self.before(idx), "." | "->") => self.join_operator(idx, mask),
            "typeof" | "__typeof__" | "__typeof" | "typeof_unqual"
                if self.language == Language::C && self.opens(idx + 1) =>
            {
                self.join_typeof(idx, mask)
            }
            "_Atomic" if self.opens(idx + 1) => {
                self.blank_tokens(idx + 1, idx + 1, mask);
                let close = self.closing(idx + 1);
                self.blank_tokens(close, close, mask);
                2
            }
            "goto" if self.token_text(idx + 1) == "*" => {
                self.blank_tokens(idx + 1, idx + 1, mask);
                2
            }
            "case" => self.respell_case_range(idx, mask),
            "template" if matches!(self.before(idx), "." | "->") => {
                self.blank_tokens(idx, idx, mask);
                1
            }
            "typename" if self.begins_temporary(idx) => {
                self.blank_tokens(idx, idx, mask);
                1
            }
            "extern" if self.token_text(idx + 1) == "template" => {
                self.blank_to_semicolon(idx, mask)
            }
            "va_arg"
            | "__builtin_va_arg"
            | "__builtin_offsetof"
            | "__builtin_types_compatible_p"
                if self.opens(idx + 1) =>
            {
                self.repair_type_arguments(idx + 1, mask);
                1
            }
            "offsetof" if self.opens(idx + 1) => {
                self.blank_inner_members(idx + 1, mask);
                1
            }
            _ if is_complex_word(text) || is_arithmetic_word(text) => self.join_complex(idx, mask),
            _ => match self.respell_member_pointer(idx, mask) {
                0 => self.respell_string_macro(idx, mask),
                length => length,
            },
        }
    }

    /// A macro with statements for arguments is spelled like a block: `STMT(x += 2;)` like `{ x += 2; }`, and so is `STMT((x += 2;))`.
    /// Returns its last token.
    pub(super) fn respell_statements(&self, idx: usize, mask: &mut Mask) -> Option<usize> {
        let open = idx + 1;
        let last = self.closing(open);
        let is_wrapped = self.opens(open + 1) && self.closing(open + 1) + 1 == last;
        let (first, end) = match is_wrapped {
            true => (open + 2, last - 1),
            false => (open + 1, last),
        };
        let begins_statement = matches!(
            self.token_text(first),
            "if" | "for" | "while" | "switch" | "do" | "try"
        );
        let (mut at, mut commas, mut has_statement) = (first, Vec::new(), begins_statement);
        while at < end {
            match self.token_text(at) {
                "(" | "[" | "{" => at = self.closing(at),
                "," if !is_wrapped => commas.push(at),
                ";" => has_statement = true,
                _ => {}
            }
            at += 1;
        }
        self.tokens.get(last).filter(|_| has_statement)?;
        self.blank_tokens(idx, idx, mask);
        if is_wrapped {
            self.blank_tokens(open + 1, open + 1, mask);
            self.blank_tokens(last - 1, last - 1, mask);
        }
        let spellings = [(open, "{"), (last, "}")].into_iter();
        for (at, spelling) in spellings.chain(commas.into_iter().map(|at| (at, ";"))) {
            mask.put(self.tokens[at].range.start(), spelling);
        }
        Some(last)
    }

    fn opens(&self, idx: usize) -> bool {
        self.token_text(idx) == "("
    }

    /// Whether `typename` begins an object in an expression, `f(typename T::type{}, n)`, where the grammar wants a declaration.
    fn begins_temporary(&self, idx: usize) -> bool {
        let name = idx + 1 + usize::from(self.token_text(idx + 1) == "::");
        let end = self.type_name_end(name);
        self.is_value_place(idx) && end.is_some_and(|end| self.is_value_list(end))
    }

    /// The same of `decltype(x)`, which the grammar has in declarations only: `decltype(n){0}`, `decltype(n)(0)`.
    fn begins_decltype_temporary(&self, idx: usize) -> bool {
        self.opens(idx + 1)
            && self.is_value_place(idx)
            && self.is_value_list(self.closing(idx + 1) + 1)
    }

    /// Whether what begins at a token is a value, for what is in front of it.
    fn is_value_place(&self, idx: usize) -> bool {
        matches!(
            self.before(idx),
            "(" | ","
                | "="
                | "{"
                | "["
                | "?"
                | ":"
                | "return"
                | "+"
                | "-"
                | "*"
                | "/"
                | "%"
                | "<<"
                | ">>"
                | "&&"
                | "||"
                | "|"
                | "^"
                | "!"
                | "=="
                | "!="
                | "<="
                | ">="
                | "+="
                | "-="
                | "*="
                | "/="
                | "%="
        )
    }

    /// Whether a list of values begins at a token: `{0}` or `(0)`, and not the `(*` of a declarator.
    fn is_value_list(&self, idx: usize) -> bool {
        match self.token_text(idx) {
            "{" => true,
            "(" => !matches!(self.token_text(idx + 1), "*" | "&" | "&&"),
            _ => false,
        }
    }

    /// `case 1 ... 5:` keeps its first value.
    fn respell_case_range(&self, idx: usize, mask: &mut Mask) -> usize {
        const MAX_TOKENS: usize = 64;
        let mut dots = None;
        for at in idx + 1..(idx + MAX_TOKENS).min(self.tokens.len()) {
            match (self.token_text(at), dots) {
                ("...", None) => dots = Some(at),
                (":", Some(dots)) => {
                    self.blank_tokens(dots, at - 1, mask);
                    return 1;
                }
                (":" | ";" | "{" | "}", _) => return 1,
                _ => {}
            }
        }
        1
    }

    fn blank_to_semicolon(&self, idx: usize, mask: &mut Mask) -> usize {
        const MAX_TOKENS: usize = 256;
        let end = (idx..(idx + MAX_TOKENS).min(self.tokens.len()))
            .find(|&at| matches!(self.token_text(at), ";" | "{" | "}"));
        match end {
            Some(end) if self.token_text(end) == ";" => {
                self.blank_tokens(idx, end, mask);
                end + 1 - idx
            }
            _ => 0,
        }
    }

    /// `typeof(*p)` and `typeof(a[0])`, whose operand is no type, become one name.
    fn join_typeof(&self, idx: usize, mask: &mut Mask) -> usize {
        let length = self.call_length(idx);
        let first = self.token_text(idx + 2);
        let begins_type = first.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_call = self.opens(idx + 3) && !matches!(self.token_text(idx + 4), "*" | "^" | ")");
        let is_expression = is_call
            || first == "sizeof"
            || (idx + 2..idx + length.max(2)).any(|at| self.is_operator_of_values(at));
        if length == 0 || (begins_type && !is_expression) {
            return 0;
        }
        self.join(idx, length, mask)
    }

    /// Makes one name of some tokens. Returns how many they are.
    fn join(&self, idx: usize, n_tokens: usize, mask: &mut Mask) -> usize {
        let last = (idx + n_tokens).checked_sub(1);
        let ends = [Some(idx), last].map(|at| Some(self.tokens.get(at?)?.range));
        if let [Some(start), Some(end)] = ends {
            mask.join(start.cover(end));
        }
        n_tokens
    }

    /// `a.operator+(b)`: the operator's name becomes one name.
    fn join_operator(&self, idx: usize, mask: &mut Mask) -> usize {
        let symbol = idx + 1;
        let end = match (self.token_text(symbol), self.token_text(symbol + 1)) {
            ("(", ")") | ("[", "]") => symbol + 2,
            // `operator int()`
            (word, _) if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                let opens = |at: &usize| matches!(self.token_text(*at), "(" | "" | ";");
                (symbol..).find(opens).unwrap_or(symbol)
            }
            _ => symbol + 1,
        };
        self.join(idx, end - idx, mask)
    }

    /// Whether a token is an operator that no type without declared names has.
    fn is_operator_of_values(&self, at: usize) -> bool {
        match self.token_text(at) {
            // `T *const`, and not `a * b`
            "*" => {
                let next = self.token_text(at + 1);
                let is_word = next.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                is_word
                    && !matches!(
                        next.trim_matches('_'),
                        "const" | "volatile" | "restrict" | "Atomic"
                    )
            }
            "[" | "." | "->" | "+" | "-" | "/" | "%" | "==" | "!=" | "<" | ">" | "<=" | ">="
            | "&&" | "||" | "!" | "?" | "&" | "|" | "<<" | ">>" | "~" => true,
            _ => false,
        }
    }

    /// `offsetof(T, a.b[2])`: the grammars take one name.
    fn blank_inner_members(&self, open: usize, mask: &mut Mask) {
        let close = self.closing(open);
        let mut at = open + 1;
        while at < close && self.token_text(at) != "," {
            at = match self.token_text(at) {
                "(" | "[" | "{" => self.closing(at) + 1,
                _ => at + 1,
            };
        }
        if close < self.tokens.len() && at + 2 < close {
            self.blank_tokens(at + 2, close - 1, mask);
        }
    }

    /// `double _Complex`: the words of a type become one name.
    fn join_complex(&self, idx: usize, mask: &mut Mask) -> usize {
        let words = (idx..self.tokens.len()).take_while(|&at| {
            let word = self.token_text(at);
            is_arithmetic_word(word) || is_complex_word(word) || self.is_complex_macro(at)
        });
        let words: Vec<usize> = words.collect();
        if !words
            .iter()
            .any(|&at| is_complex_word(self.token_text(at)) || self.is_complex_macro(at))
        {
            return self.blank_unnamed_bit_field(idx, words.len(), mask);
        }
        let ranges = words
            .iter()
            .filter_map(|&at| self.tokens.get(at))
            .map(|token| token.range);
        if let Some(range) = ranges.reduce(|all, range| all.cover(range)) {
            mask.join(range);
        }
        words.len()
    }

    /// `complex` of `<complex.h>`.
    fn is_complex_macro(&self, at: usize) -> bool {
        let is_macro = |at: usize| {
            let start = self.tokens.get(at)?.range.start();
            Some(
                self.macros
                    .lookup_at("complex", start)?
                    .body
                    .contains("omplex"),
            )
        };
        self.token_text(at) == "complex"
            && is_macro(at).unwrap_or(self.language == Language::C && !self.macros.is_complete())
    }

    /// `unsigned : 0;` declares nothing; returns how many tokens were read.
    fn blank_unnamed_bit_field(&self, idx: usize, n_words: usize, mask: &mut Mask) -> usize {
        let colon = idx + n_words;
        let is_unnamed = self.token_text(colon) == ":"
            && self.token_text(colon + 2) == ";"
            && matches!(self.before(idx), ";" | "{" | "}");
        if !is_unnamed {
            return n_words;
        }
        self.blank_tokens(idx, colon + 2, mask);
        n_words + 3
    }

    /// `"%" PRIu64`: in C++ the grammar wants a literal after the first one.
    fn respell_string_macro(&self, idx: usize, mask: &mut Mask) -> usize {
        let (Some(before), Some(token)) = (
            idx.checked_sub(1)
                .and_then(|before| self.tokens.get(before)),
            self.tokens.get(idx),
        ) else {
            return 0;
        };
        let follows_string = before.kind == TokenKind::String
            && before.range.end() < token.range.start()
            && !matches!(self.before(idx - 1), "extern" | "operator");
        let is_last = matches!(self.token_text(idx + 1), "," | ")" | ";")
            || self
                .tokens
                .get(idx + 1)
                .is_some_and(|next| next.kind == TokenKind::String);
        let length = usize::from(token.range.len());
        if self.language != Language::Cxx || !follows_string || !is_last || length < 2 {
            return 0;
        }
        let literal = format!("\"{}\"", "_".repeat(length - 2));
        mask.put(token.range.start(), &literal);
        1
    }
}

fn is_complex_word(word: &str) -> bool {
    matches!(
        word,
        "_Complex" | "__complex__" | "__complex" | "_Imaginary"
    )
}

fn is_arithmetic_word(word: &str) -> bool {
    matches!(
        word,
        "double" | "float" | "int" | "long" | "short" | "char" | "unsigned" | "signed" | "_Float16"
    )
}
