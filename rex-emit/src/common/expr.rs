//! Expressions in C, with the parentheses they need.

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::program::Program;
use rex_syntax::TextRange;

/// How ranges of the user's text and names are printed.
pub(crate) trait Words {
    /// The user's text for a range.
    fn source(&self, range: TextRange) -> String;
    /// A name.
    fn name(&self, name: &str) -> String;
}

/// Precedence levels of C that matter here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Conditional,
    And,
    Equality,
    Relational,
    Additive,
    Multiplicative,
    Unary,
    Postfix,
    Primary,
}

/// Prints an expression.
pub(crate) fn print(program: &Program, words: &dyn Words, expr: &Expr) -> String {
    Printer { program, words }.at(expr, Level::Conditional)
}

/// Prints an expression so that it can stand next to any operator.
pub(crate) fn print_operand(program: &Program, words: &dyn Words, expr: &Expr) -> String {
    Printer { program, words }.at(expr, Level::Unary)
}

struct Printer<'a> {
    program: &'a Program,
    words: &'a dyn Words,
}

impl Printer<'_> {
    fn at(&self, expr: &Expr, wanted: Level) -> String {
        let (text, level) = self.expr(expr);
        if level < wanted {
            format!("({text})")
        } else {
            text
        }
    }

    fn expr(&self, expr: &Expr) -> (String, Level) {
        match expr {
            Expr::Int(value) if *value < 0 => (value.to_string(), Level::Unary),
            Expr::Int(value) => (value.to_string(), Level::Primary),
            Expr::Name(name) => {
                let text = self.words.name(name);
                let level = level_of_words(&text);
                (text, level)
            }
            Expr::Source(range) => {
                let text = self.words.source(*range);
                let level = level_of_words(&text);
                (text, level)
            }
            Expr::Bound(bound) => {
                let text = self.bound(bound.range, &bound.name, &bound.value);
                let level = level_of_words(&text);
                (text, level)
            }
            Expr::Words(words) => (words.to_string(), level_of_words(words)),
            Expr::AddressOf(operand) => {
                (format!("&{}", self.at(operand, Level::Unary)), Level::Unary)
            }
            Expr::Deref(operand) => (format!("*{}", self.at(operand, Level::Unary)), Level::Unary),
            Expr::Index(base, index) => (
                format!(
                    "{}[{}]",
                    self.at(base, Level::Postfix),
                    self.at(index, Level::Conditional)
                ),
                Level::Postfix,
            ),
            Expr::Member(base, name) => (
                format!("{}.{name}", self.at(base, Level::Postfix)),
                Level::Postfix,
            ),
            Expr::Arrow(base, name) => (
                format!("{}->{name}", self.at(base, Level::Postfix)),
                Level::Postfix,
            ),
            Expr::SizeOf(operand) => (
                format!("sizeof({})", self.at(operand, Level::Conditional)),
                Level::Postfix,
            ),
            Expr::SizeOfType(ty) => (
                format!("sizeof({})", self.program.types.spell(*ty)),
                Level::Postfix,
            ),
            Expr::Cast(ty, operand) => (
                format!(
                    "({}){}",
                    self.program.types.spell(*ty),
                    self.at(operand, Level::Unary)
                ),
                Level::Unary,
            ),
            Expr::Bytes(address) => (
                format!("(char *){}", self.at(address, Level::Unary)),
                Level::Unary,
            ),
            Expr::ToInt64(operand) => (
                format!("(int64_t){}", self.at(operand, Level::Unary)),
                Level::Unary,
            ),
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::Conditional(condition, then, otherwise) => (
                format!(
                    "{} ? {} : {}",
                    self.at(condition, Level::And),
                    self.at(then, Level::Conditional),
                    self.at(otherwise, Level::Conditional)
                ),
                Level::Conditional,
            ),
            Expr::Call(function, arguments) => {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|argument| self.at(argument, Level::Conditional))
                    .collect();
                (
                    format!("{function}({})", arguments.join(", ")),
                    Level::Postfix,
                )
            }
        }
    }

    /// The user's words with `value` in place of `name`; `(*p).x` becomes `p->x`.
    fn bound(&self, range: TextRange, name: &str, value: &Expr) -> String {
        let source = self.program.source();
        let mut text = String::new();
        let mut end = range.start();
        for at in rex_syntax::lex::identifiers(source, range) {
            if &source[at] != name {
                continue;
            }
            text.push_str(&source[TextRange::new(end, at.start())]);
            end = at.end();
            let rest = &source[usize::from(at.end())..usize::from(range.end())];
            match (value, rest.trim_start().strip_prefix('.')) {
                (Expr::Deref(pointer), Some(member)) => {
                    text.push_str(&format!("{}->", self.at(pointer, Level::Postfix)));
                    let skipped = rest.len() - member.len();
                    end += rex_syntax::TextSize::try_from(skipped).unwrap_or_default();
                }
                _ => text.push_str(&self.at(value, Level::Postfix)),
            }
        }
        text.push_str(&source[TextRange::new(end, range.end())]);
        text
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> (String, Level) {
        let (word, level, right_level) = match op {
            BinaryOp::Add => ("+", Level::Additive, Level::Additive),
            BinaryOp::Sub => ("-", Level::Additive, Level::Multiplicative),
            BinaryOp::Mul => ("*", Level::Multiplicative, Level::Multiplicative),
            BinaryOp::Div => ("/", Level::Multiplicative, Level::Unary),
            BinaryOp::Less => ("<", Level::Relational, Level::Additive),
            BinaryOp::Greater => (">", Level::Relational, Level::Additive),
            BinaryOp::NotEqual => ("!=", Level::Equality, Level::Relational),
            BinaryOp::And => ("&&", Level::And, Level::Equality),
        };
        (
            format!(
                "{} {word} {}",
                self.at(left, level),
                self.at(right, right_level)
            ),
            level,
        )
    }
}

/// The user's words bind as tightly as a name only if they are one.
fn level_of_words(words: &str) -> Level {
    let plain = words
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':' || c == '.');
    let wrapped = words.starts_with('(') && matching_close(words) == Some(words.len() - 1);
    if plain || wrapped {
        Level::Primary
    } else if is_path(words) {
        Level::Postfix
    } else {
        Level::Conditional
    }
}

/// Whether the words are a name and members or elements of it: `a[i].n`, `p->q`.
fn is_path(words: &str) -> bool {
    let mut rest = words;
    let mut needs_name = true;
    loop {
        if needs_name {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            if end == 0 {
                return false;
            }
            rest = &rest[end..];
        }
        if let Some(member) = rest.strip_prefix('.').or_else(|| rest.strip_prefix("->")) {
            rest = member;
            needs_name = true;
        } else if let Some(close) = rest.strip_prefix('[').and_then(|_| matching_close(rest)) {
            rest = &rest[close + 1..];
            needs_name = false;
        } else {
            return rest.is_empty();
        }
    }
}

fn matching_close(words: &str) -> Option<usize> {
    let mut depth = 0;
    for (idx, c) in words.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(idx);
                }
            }
            _ => {}
        }
    }
    None
}
