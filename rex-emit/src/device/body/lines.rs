//! Lines of generated code: blocks, indentation, operands.

use rex_syntax::TextRange;
use rex_syntax::lex;

use super::STEP;

pub(super) fn block(lines: Vec<String>) -> Vec<String> {
    let mut wrapped = vec!["{".to_string()];
    wrapped.extend(lines.iter().map(|line| step_in(line)));
    wrapped.push("}".to_string());
    wrapped
}

/// `head { lines }`, braces of the lines' own reused.
pub(super) fn headed(head: &str, mut lines: Vec<String>) -> Vec<String> {
    if is_braced(&lines) {
        lines[0] = format!("{head} {}", lines[0]);
        return lines;
    }
    let mut wrapped = vec![format!("{head} {{")];
    wrapped.extend(lines.iter().map(|line| step_in(line)));
    wrapped.push("}".to_string());
    wrapped
}

/// The lines inside one block; others as they are.
pub(super) fn unbraced(lines: Vec<String>) -> Vec<String> {
    if !is_braced(&lines) {
        return lines;
    }
    let inner = &lines[1..lines.len() - 1];
    let step_out = |line: &String| line.strip_prefix(STEP).unwrap_or(line).to_string();
    inner.iter().map(step_out).collect()
}

pub(super) fn step_in(line: &str) -> String {
    if line.is_empty() || line.starts_with('#') {
        line.to_string()
    } else {
        format!("{STEP}{line}")
    }
}

/// Whether lines are one block from the first brace to the last.
pub(super) fn is_braced(lines: &[String]) -> bool {
    if lines.len() < 2
        || lines.first().is_none_or(|line| line != "{")
        || lines.last().is_none_or(|line| line != "}")
    {
        return false;
    }
    let text = lines.join("\n");
    let range = TextRange::up_to(rex_syntax::TextSize::of(text.as_str()));
    let mut depth = 0i32;
    let mut closed_at = None;
    for token in lex::tokens(&text, range) {
        match &text[token.range] {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 && closed_at.is_none() {
                    closed_at = Some(token.range.end());
                }
            }
            _ => {}
        }
    }
    closed_at == Some(range.end())
}

/// Text that stands next to an operator.
pub(super) fn operand(text: &str) -> String {
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'));
    if plain || is_wrapped(text) {
        text.to_string()
    } else {
        format!("({text})")
    }
}

pub(super) fn is_wrapped(text: &str) -> bool {
    if !text.starts_with('(') {
        return false;
    }
    let mut depth = 0;
    for (idx, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return idx == text.len() - 1;
                }
            }
            _ => {}
        }
    }
    false
}
