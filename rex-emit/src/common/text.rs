//! Indentation and line endings of inserted text.

/// Moves a block of lines from the indentation `own` of its first line to another one.
///
/// What is deeper than the first line stays deeper by as much. Text with raw strings or line continuations keeps its lines as they are.
pub(crate) fn reindent(text: &str, own: &str, indent: &str) -> String {
    if !text.contains('\n')
        || text.contains("R\"")
        || text.contains("\\\n")
        || text.contains("\\\r\n")
    {
        return text.to_string();
    }
    let mut lines = text.split('\n');
    let mut out = lines
        .next()
        .unwrap_or("")
        .trim_end_matches('\r')
        .to_string();
    for line in lines.map(|line| line.trim_end_matches('\r')) {
        out.push('\n');
        if line.trim().is_empty() || line.starts_with('#') {
            out.push_str(line.trim_end());
        } else {
            let shared = common_prefix(own, &line[..line.len() - line.trim_start().len()]).len();
            out.push_str(indent);
            out.push_str(&line[shared..]);
        }
    }
    out
}

fn common_prefix<'a>(a: &'a str, b: &'a str) -> &'a str {
    let length = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    &a[..length]
}

/// Text on one line, for comments: blanks squeezed, comment ends defused.
pub(crate) fn one_line(text: &str) -> String {
    joined(text).replace("/*", "/ *").replace("*/", "* /")
}

/// Text on one line: continuations and line ends become blanks.
pub(crate) fn joined(text: &str) -> String {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A string literal's inside.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', " ")
        .replace(';', ",")
}

/// Uses the file's own line ending.
pub(crate) fn with_newlines(text: String, newline: &str) -> String {
    if newline == "\n" {
        text
    } else {
        text.replace("\r\n", "\n").replace('\n', newline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_move_together() {
        assert_eq!(
            reindent("{\n      a;\n        b;\n    }", "    ", "  "),
            "{\n    a;\n      b;\n  }"
        );
    }
}
