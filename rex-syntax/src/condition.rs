//! Evaluates integer expressions: the condition of `#if` as far as the macros in it are known.

use std::cell::Cell;

use crate::lex::{self, Token, TokenKind, significant_tokens};
use crate::macros::MacroDef;
use crate::omp::locator::closing;

/// What is known of a name in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// An object-like macro with this body.
    Object(String),
    /// A function-like macro.
    Function,
    /// No macro.
    Undefined,
    /// Perhaps a macro.
    Unknown,
}

impl Lookup {
    pub(crate) fn of(def: MacroDef) -> Lookup {
        match def.parameters {
            Some(_) => Lookup::Function,
            None => Lookup::Object(def.body),
        }
    }

    /// Whether the name is defined, if that is known.
    pub(crate) fn is_defined(&self) -> Option<bool> {
        match self {
            Lookup::Object(_) | Lookup::Function => Some(true),
            Lookup::Undefined => Some(false),
            Lookup::Unknown => None,
        }
    }
}

/// The value of a condition; `None` when it depends on something unknown or is no expression.
pub(crate) fn evaluate(condition: &str, lookup: &dyn Fn(&str) -> Lookup) -> Option<i64> {
    let budget = Cell::new(MAX_MACROS);
    evaluate_at_depth(condition, lookup, 0, &budget)
}

/// The value of an integer expression without names; `None` when it is none.
pub fn integer_value(expression: &str) -> Option<i64> {
    evaluate(expression, &|_| Lookup::Unknown)
}

/// How many macros one condition may expand in all.
const MAX_MACROS: usize = 10_000;

/// How deep macros in conditions may refer to each other, and parentheses nest.
const MAX_DEPTH: usize = 64;

fn evaluate_at_depth(
    condition: &str,
    lookup: &dyn Fn(&str) -> Lookup,
    depth: usize,
    budget: &Cell<usize>,
) -> Option<i64> {
    let tokens: Vec<Token> = significant_tokens(condition, lex::whole(condition)).collect();
    let mut reader = Reader {
        text: condition,
        tokens: &tokens,
        at: 0,
        lookup,
        depth,
        budget,
    };
    let value = reader.conditional();
    if reader.at == tokens.len() {
        value
    } else {
        None
    }
}

struct Reader<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
    lookup: &'t dyn Fn(&str) -> Lookup,
    depth: usize,
    budget: &'t Cell<usize>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> &'t str {
        self.tokens
            .get(self.at)
            .map_or("", |token| token.text(self.text))
    }

    fn eat(&mut self, what: &str) -> bool {
        let found = self.peek() == what;
        self.at += usize::from(found);
        found
    }

    /// Gives up: nothing after this is read, so the value is unknown.
    fn fail(&mut self) -> Option<i64> {
        self.at = usize::MAX;
        None
    }

    fn conditional(&mut self) -> Option<i64> {
        let condition = self.binary(0);
        if !self.eat("?") {
            return condition;
        }
        if self.depth >= MAX_DEPTH {
            return self.fail();
        }
        self.depth += 1;
        let yes = self.conditional();
        if !self.eat(":") {
            return self.fail();
        }
        let no = self.conditional();
        self.depth -= 1;
        if condition? != 0 { yes } else { no }
    }

    fn binary(&mut self, min_precedence: u8) -> Option<i64> {
        let mut left = self.unary();
        loop {
            let op = self.peek();
            let Some(precedence) = precedence(op).filter(|found| *found >= min_precedence) else {
                return left;
            };
            self.at += 1;
            let right = self.binary(precedence + 1);
            left = apply(op, left, right);
        }
    }

    fn unary(&mut self) -> Option<i64> {
        let mut operators = Vec::new();
        while matches!(self.peek(), "!" | "-" | "+" | "~") {
            operators.push(self.peek());
            self.at += 1;
        }
        let mut value = self.primary();
        for op in operators.into_iter().rev() {
            value = value.map(|value| match op {
                "!" => i64::from(value == 0),
                "-" => value.wrapping_neg(),
                "~" => !value,
                _ => value,
            });
        }
        value
    }

    fn primary(&mut self) -> Option<i64> {
        let Some(&token) = self.tokens.get(self.at) else {
            return self.fail();
        };
        let text = token.text(self.text);
        self.at += 1;
        match token.kind {
            TokenKind::Number => integer(text),
            TokenKind::Char => match text.as_bytes() {
                [b'\'', byte, b'\''] => Some(i64::from(*byte)),
                _ => None,
            },
            TokenKind::Identifier => self.name(text),
            _ if text == "(" && self.depth < MAX_DEPTH => {
                self.depth += 1;
                let value = self.conditional();
                self.depth -= 1;
                if self.eat(")") { value } else { self.fail() }
            }
            _ => self.fail(),
        }
    }

    fn name(&mut self, name: &str) -> Option<i64> {
        if name == "defined" {
            let parenthesized = self.eat("(");
            let asked = self.peek();
            self.at += 1;
            if parenthesized && !self.eat(")") {
                return self.fail();
            }
            return (self.lookup)(asked).is_defined().map(i64::from);
        }
        let found = match name {
            "true" => return Some(1),
            "false" => return Some(0),
            _ => (self.lookup)(name),
        };
        if self.peek() == "(" {
            // A function-like macro or `__has_include(..)`: its value is not computed here.
            self.at = closing(self.text, self.tokens, self.at) + 1;
            return None;
        }
        match found {
            Lookup::Object(body) if self.depth < MAX_DEPTH && self.budget.get() > 0 => {
                self.budget.set(self.budget.get() - 1);
                // A macro that names itself stands for nothing further.
                let lookup = |inner: &str| match inner == name {
                    true => Lookup::Undefined,
                    false => (self.lookup)(inner),
                };
                evaluate_at_depth(&body, &lookup, self.depth + 8, self.budget)
            }
            Lookup::Undefined => Some(0),
            Lookup::Object(_) | Lookup::Function | Lookup::Unknown => None,
        }
    }
}

fn precedence(op: &str) -> Option<u8> {
    Some(match op {
        "||" => 0,
        "&&" => 1,
        "|" => 2,
        "^" => 3,
        "&" => 4,
        "==" | "!=" => 5,
        "<" | ">" | "<=" | ">=" => 6,
        "<<" | ">>" => 7,
        "+" | "-" => 8,
        "*" | "/" | "%" => 9,
        _ => return None,
    })
}

fn apply(op: &str, left: Option<i64>, right: Option<i64>) -> Option<i64> {
    match (op, left, right) {
        ("&&", Some(0), _) | ("&&", _, Some(0)) => return Some(0),
        ("||", Some(value), _) | ("||", _, Some(value)) if value != 0 => return Some(1),
        _ => {}
    }
    let (left, right) = (left?, right?);
    let shift = u32::try_from(right & 63).unwrap_or(0);
    Some(match op {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<<" => left.wrapping_shl(shift),
        ">>" => left.wrapping_shr(shift),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => return left.checked_div(right),
        "%" => return left.checked_rem(right),
        _ => return None,
    })
}

fn integer(text: &str) -> Option<i64> {
    let digits = text.replace('\'', "");
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L', 'z', 'Z']);
    let lower = digits.to_ascii_lowercase();
    let parse = |digits: &str, radix| i64::from_str_radix(digits, radix).ok();
    if let Some(hex) = lower.strip_prefix("0x") {
        parse(hex, 16)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        parse(binary, 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        parse(&lower, 8)
    } else {
        parse(&lower, 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(condition: &str, expected: Option<i64>) {
        let lookup = |name: &str| match name {
            "ONE" => Lookup::Object("1".into()),
            "SUM" => Lookup::Object("(ONE + 2)".into()),
            "LOOP" => Lookup::Object("LOOP".into()),
            "CALL" => Lookup::Function,
            "NO" => Lookup::Undefined,
            _ => Lookup::Unknown,
        };
        assert_eq!(evaluate(condition, &lookup), expected, "{condition}");
    }

    #[test]
    fn arithmetic_follows_precedence() {
        check("1 + 2 * 3 == 7 && 0x10 >> 2 == 4", Some(1));
        check("(ONE ? 5 : 6) - -2", Some(7));
        check("SUM == 3 && !NO && LOOP == 0", Some(1));
        check("201811L > 201511", Some(1));
    }

    #[test]
    fn expansion_without_bound_is_given_up() {
        let lookup = |name: &str| {
            let depth: usize = name.trim_start_matches('N').parse().unwrap_or(0);
            Lookup::Object(vec![format!("N{}", depth + 1); 10].join("+"))
        };
        assert_eq!(evaluate("N0", &lookup), None);
    }

    #[test]
    fn unknown_parts_matter_only_where_they_decide() {
        check("MAYBE", None);
        check("MAYBE && 0", Some(0));
        check("ONE || CALL(4, (9))", Some(1));
        check("CALL(4, 9) && ONE", None);
        check("defined(CALL) && defined ONE && !defined NO", Some(1));
        check("defined(MAYBE)", None);
        check("1 / 0", None);
        check("", None);
        check("1 +", None);
        check(&"(".repeat(1000), None);
    }
}
