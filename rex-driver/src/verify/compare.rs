//! Whether two outputs say the same.
//!
//! Text must be equal. Floating-point numbers may differ by a tolerance, whole numbers may not. On a line
//! that speaks of time or speed numbers are not compared, nor in columns of a table whose headings do; addresses never are.

use super::table::Columns;

/// The first place where two outputs differ.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The 1-based line.
    pub line: usize,
    /// What the first output has there; empty if it ends before.
    pub expected: String,
    /// What the second has.
    pub found: String,
}

/// Compares two outputs line by line; `tolerance` is relative.
pub fn first_difference(expected: &str, found: &str, tolerance: f64) -> Option<Difference> {
    let (mut left, mut right) = (expected.lines(), found.lines());
    let mut columns = Columns::default();
    for line in 1.. {
        let (expected, found) = match (left.next(), right.next()) {
            (None, None) => return None,
            (expected, found) => (expected.unwrap_or(""), found.unwrap_or("")),
        };
        let agree = match (columns.row(expected), columns.row(found)) {
            (Some(expected), Some(found)) => rows_agree(&expected, &found, tolerance),
            _ => lines_agree(expected, found, tolerance, false),
        };
        columns = columns.below(expected, speaks_of_time);
        if !agree {
            let (expected, found) = (expected.to_owned(), found.to_owned());
            return Some(Difference {
                line,
                expected,
                found,
            });
        }
    }
    None
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Whole(&'a str),
    Real(f64),
    Address,
}

/// Compares rows of a table cell by cell; of each it is known whether it is a time.
fn rows_agree(expected: &[(&str, bool)], found: &[(&str, bool)], tolerance: f64) -> bool {
    let mut pairs = expected.iter().zip(found);
    pairs.all(|((expected, is_time), (found, _))| lines_agree(expected, found, tolerance, *is_time))
}

fn lines_agree(expected: &str, found: &str, tolerance: f64, is_time: bool) -> bool {
    if expected == found {
        return true;
    }
    let (left, right) = (pieces(expected), pieces(found));
    let timing = is_time || (speaks_of_time(expected) && speaks_of_time(found));
    left.len() == right.len()
        && left.iter().zip(&right).all(|pair| match pair {
            (Piece::Text(a), Piece::Text(b)) => a == b,
            (Piece::Text(_), _) | (_, Piece::Text(_)) => false,
            (Piece::Address, other) | (other, Piece::Address) => *other == Piece::Address,
            _ if timing => true,
            (Piece::Whole(a), Piece::Whole(b)) => a == b,
            (a, b) => numbers_agree(value(a), value(b), tolerance),
        })
}

fn value(piece: &Piece<'_>) -> f64 {
    match piece {
        Piece::Real(value) => *value,
        Piece::Whole(digits) => digits.parse().unwrap_or(f64::NAN),
        Piece::Text(_) | Piece::Address => f64::NAN,
    }
}

fn numbers_agree(a: f64, b: f64, tolerance: f64) -> bool {
    let difference = (a - b).abs();
    a == b
        || (a.is_nan() && b.is_nan())
        || difference <= tolerance * a.abs().max(b.abs())
        || difference < 1e-12
}

fn speaks_of_time(line: &str) -> bool {
    const PARTS: &[&str] = &[
        "time",
        "timing",
        "second",
        "elapsed",
        "bandwidth",
        "throughput",
        "flop",
        "b/s",
        "speed",
        "per sec",
    ];
    const WORDS: &[&str] = &[
        "s", "sec", "secs", "ms", "us", "ns", "msec", "usec", "gbps", "fps",
    ];
    let line = line.to_lowercase();
    PARTS.iter().any(|part| line.contains(part))
        || line
            .split(|c: char| !c.is_ascii_alphabetic())
            .any(|word| WORDS.contains(&word))
}

/// Splits a line into numbers and the text between them, whose blanks count as one.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = line;
    let mut inside_word = false;
    let mut text_start = 0;
    while !rest.is_empty() {
        let at = line.len() - rest.len();
        match number(rest).filter(|_| !inside_word) {
            Some((piece, n_bytes)) => {
                push_text(&mut pieces, &line[text_start..at]);
                pieces.push(piece);
                rest = &rest[n_bytes..];
                text_start = at + n_bytes;
            }
            None => {
                let c = rest.chars().next().unwrap_or(' ');
                inside_word = c.is_alphanumeric() || c == '_';
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    push_text(&mut pieces, &line[text_start..]);
    pieces
}

fn push_text<'a>(pieces: &mut Vec<Piece<'a>>, text: &'a str) {
    pieces.extend(text.split_whitespace().map(Piece::Text));
}

/// The number at the start of a text and its length.
fn number(text: &str) -> Option<(Piece<'_>, usize)> {
    let bytes = text.as_bytes();
    if let Some(hex) = text.strip_prefix("0x") {
        let n_digits = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        return (n_digits > 0).then_some((Piece::Address, 2 + n_digits));
    }
    let digits_from = |start: usize| {
        bytes[start..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    for special in ["nan", "inf"] {
        if text
            .get(sign..sign + 3)
            .is_some_and(|word| word.eq_ignore_ascii_case(special))
        {
            let value = text[..sign + 3].parse().ok()?;
            return Some((Piece::Real(value), sign + 3));
        }
    }
    let n_whole = digits_from(sign);
    let mut end = sign + n_whole;
    let has_point = bytes.get(end) == Some(&b'.');
    let n_fraction = if has_point { digits_from(end + 1) } else { 0 };
    if n_whole + n_fraction == 0 {
        return None;
    }
    let mut is_real = false;
    if has_point && n_fraction > 0 {
        is_real = true;
        end += 1 + n_fraction;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let start = (end + 1 + exponent_sign).min(bytes.len());
        let n_exponent = digits_from(start);
        if n_exponent > 0 {
            is_real = true;
            end = start + n_exponent;
        }
    }
    let piece = if is_real {
        Piece::Real(text[..end].parse().ok()?)
    } else {
        Piece::Whole(&text[..end])
    };
    Some((piece, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(a: &str, b: &str) -> bool {
        first_difference(a, b, 1e-5).is_none()
    }

    #[test]
    fn text_and_whole_numbers_must_be_equal() {
        assert!(agree("a 1\nb", "a 1\nb\n"));
        assert!(agree("a   1", "a 1"));
        assert!(!agree("PASS", "FAIL"));
        assert!(!agree("count 1000000", "count 1000001"));
        assert!(!agree("a\nb", "a"));
    }

    #[test]
    fn real_numbers_may_differ_a_little() {
        assert!(agree("x=1.000001e3,", "x=1000.0014,"));
        assert!(!agree("x=1.01", "x=1.02"));
        assert!(agree("nan -inf", "nan -inf"));
        assert!(!agree("inf", "nan"));
        assert!(agree("sum 10", "sum 10.00000001"));
    }

    #[test]
    fn times_and_addresses_are_not_compared() {
        assert!(agree("Elapsed time: 1.5 s", "Elapsed time: 9.25 s"));
        assert!(agree("done in 3 ms", "done in 5 ms"));
        assert!(agree("at 0x7f00", "at 0x7e01"));
        assert!(!agree("done in 3 ms", "failed in 3 ms"));
    }

    #[test]
    fn columns_of_times_are_not_compared() {
        let table = |time: &str, error: &str| {
            format!(
                "Kernel:\t\tRuntime (ms)\t MFLOPS \tError\n----\naxpy 1:\t{time}\t{time}\t{error}\nscal 2:\t{time}\t7\t{error}\nError (compared to base):\naxpy 1:\t\t{error}\n"
            )
        };
        assert!(agree(&table("1.5", "0.25"), &table("2.5", "0.25")));
        assert!(!agree(&table("1.5", "0.25"), &table("1.5", "0.5")));
        assert!(agree("n  time\n8  1.5\n", "n  time\n8  2.5\n"));
        assert!(!agree("n  time\n8  1.5\n", "n  time\n9  1.5\n"));
        assert!(!agree("n  time\n\n8  1.5\n", "n  time\n\n8  2.5\n"));
    }

    #[test]
    fn the_place_is_reported() {
        let difference = first_difference("a\nx1 2", "a\nx2 2", 0.0).unwrap();
        let expected = Difference {
            line: 2,
            expected: "x1 2".into(),
            found: "x2 2".into(),
        };
        assert_eq!(difference, expected);
    }
}
