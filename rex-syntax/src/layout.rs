//! The layout habits of a file: its line ends and its indentation.
//!
//! Generated text follows them, so that an edited file still looks like its author's.

use text_size::{TextRange, TextSize};

use crate::lex::{self, TokenKind};

/// How a file ends lines and indents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `"\n"` or `"\r\n"`, whichever the file uses more.
    pub newline: &'static str,
    /// One level of indentation: a tab, or 2, 4 or 8 spaces.
    pub indent_unit: String,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout::detect("")
    }
}

impl Layout {
    /// Detects the habits of a text. A text without indented lines counts as indented by 2 spaces.
    pub fn detect(text: &str) -> Layout {
        let n_lines = text.bytes().filter(|&byte| byte == b'\n').count();
        let n_crlf = text.matches("\r\n").count();
        Layout {
            newline: if n_crlf * 2 > n_lines { "\r\n" } else { "\n" },
            indent_unit: indent_unit(text),
        }
    }
}

/// The blanks at the start of the line that holds an offset.
pub fn indent_at(text: &str, offset: TextSize) -> &str {
    let before = text.get(..usize::from(offset)).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    let length = line
        .bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    &line[..length]
}

/// The blanks at the start of the next line that has a statement.
pub fn indent_after(text: &str, offset: TextSize) -> &str {
    let rest = text.get(usize::from(offset)..).unwrap_or_default();
    let line = rest
        .lines()
        .skip(1)
        .find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .unwrap_or_default();
    &line[..line.len() - line.trim_start().len()]
}

/// Where the line of what ends at an offset ends, if only comments follow there; the offset itself otherwise.
///
/// Lines inserted here leave a comment with what it speaks of.
pub fn end_with_comment(text: &str, offset: TextSize) -> TextSize {
    let rest = TextRange::new(offset, TextSize::of(text).max(offset));
    let mut tokens = lex::tokens(text, rest);
    let next =
        tokens.find(|token| token.kind != TokenKind::Comment || token.text(text).contains('\n'));
    match next {
        Some(token) if token.kind == TokenKind::Newline => {
            let line = &text[..usize::from(token.range.start())];
            TextSize::of(line.strip_suffix('\r').unwrap_or(line))
        }
        Some(_) => offset,
        None => rest.end(),
    }
}

/// The step by which indentation grows most often from one line to the next.
fn indent_unit(text: &str) -> String {
    let mut n_tabs = 0usize;
    let mut n_steps = [0usize; 9];
    let mut previous = 0usize;
    for line in text.lines() {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        if blanks == line.len() {
            continue;
        }
        if line.starts_with('\t') {
            n_tabs += 1;
            continue;
        }
        if let Some(count) = blanks
            .checked_sub(previous)
            .filter(|step| *step > 0)
            .and_then(|step| n_steps.get_mut(step))
        {
            *count += 1;
        }
        previous = blanks;
    }
    let unit = [2usize, 4, 8, 3]
        .into_iter()
        .rev()
        .max_by_key(|&step| n_steps[step])
        .filter(|&step| n_steps[step] > 0);
    match unit {
        _ if n_tabs > n_steps.iter().sum() => "\t".to_owned(),
        Some(step) => " ".repeat(step),
        None => "  ".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, newline: &str, indent_unit: &str) {
        let layout = Layout::detect(text);
        assert_eq!(
            (layout.newline, &*layout.indent_unit),
            (newline, indent_unit)
        );
    }

    #[test]
    fn habits_are_detected() {
        check("", "\n", "  ");
        check("f() {\r\n\tx;\r\n\t\ty;\r\n}\n", "\r\n", "\t");
        check("f() {\n    if (x)\n        y;\n    z;\n}\n", "\n", "    ");
        check("f() {\n  if (x)\n    y;\n  z;\n}\n", "\n", "  ");
    }

    #[test]
    fn comments_stay_with_what_they_follow() {
        for (text, end) in [
            ("a; // b\nc", 7),
            ("a; /* b */ // c\r\nd", 15),
            ("a;  \n", 4),
            ("a; // b", 7),
            ("a; b; // c\n", 2),
            ("a; /* b\n */\n", 2),
        ] {
            assert_eq!(end_with_comment(text, 2.into()), end.into(), "{text}");
        }
    }

    #[test]
    fn indentation_of_a_line() {
        assert_eq!(indent_at("a\n \tb c", 6.into()), " \t");
        assert_eq!(indent_at("a\n \tb c", 0.into()), "");
        assert_eq!(indent_at("a", 9.into()), "");
    }
}
