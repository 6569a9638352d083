//! Indentation and line endings of inserted text.

/// Moves a block of lines to another indentation.
///
/// The first line is taken to start where the block starts. The common indentation of the other lines becomes `indent`; what is deeper stays deeper. Text with raw strings or line
/// continuations keeps its lines as they are.
pub(crate) fn reindent(text: &str, indent: &str) -> String {
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
    let rest: Vec<&str> = lines.map(|line| line.trim_end_matches('\r')).collect();
    let common = rest
        .iter()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| &line[..line.len() - line.trim_start().len()])
        .reduce(common_prefix)
        .unwrap_or("");
    for line in &rest {
        out.push('\n');
        if line.trim().is_empty() || line.starts_with('#') {
            out.push_str(line.trim_end());
        } else {
            out.push_str(indent);
            out.push_str(&line[common.len()..]);
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
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    joined
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("/*", "/ *")
        .replace("*/", "* /")
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
            reindent("{\n      a;\n        b;\n    }", "  "),
            "{\n    a;\n      b;\n  }"
        );
    }
}
