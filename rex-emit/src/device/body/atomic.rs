//! Atomic constructs as calls of the device header.

use rex_ir::kernel::{AtomicCapture, AtomicForm, AtomicPlan, BodyText, CapturedValue};

use super::BodyPrinter;
use super::lines::{block, is_wrapped, operand};

impl BodyPrinter<'_> {
    pub(super) fn atomic(&self, atomic: &AtomicPlan, indent: &str) -> Vec<String> {
        let location = self.text(&atomic.location, indent);
        let address = address_of(location.trim());
        let text = |body: &BodyText| self.text(body, indent).trim().to_string();
        let captured = atomic.captured.as_ref();
        let into = captured.and_then(|capture| Some((text(capture.into.as_ref()?), capture.value)));
        let assign = |call: String| match &into {
            None => vec![format!("{call};")],
            Some((into, _)) => vec![format!("{into} = {call};")],
        };
        let part = |value| match value {
            CapturedValue::After => "after",
            CapturedValue::Before | CapturedValue::OnFailure => "before",
        };
        match &atomic.form {
            AtomicForm::Read => assign(format!("rex_atomic_read({address})")),
            AtomicForm::Write(value) => match &into {
                None => vec![format!("rex_atomic_write({address}, {});", text(value))],
                Some((into, _)) => vec![format!(
                    "{into} = rex_atomic_exchange({address}, {});",
                    text(value)
                )],
            },
            AtomicForm::Update {
                operator,
                operand: value,
                reversed,
            } => {
                let value = value.as_ref().map_or("1".to_string(), text);
                let function = (!reversed || is_commutative(operator))
                    .then(|| atomic_function(operator))
                    .flatten();
                let after = matches!(into, Some((_, CapturedValue::After)));
                match function {
                    Some(function) if !after => assign(format!("{function}({address}, {value})")),
                    _ => {
                        let expression = if *reversed {
                            format!("({value}) {operator} rex_old")
                        } else {
                            format!("rex_old {operator} ({value})")
                        };
                        let call = format!(
                            "rex_atomic_apply({address}, [&](decltype({}) rex_old) {{ return {expression}; }})",
                            value_of(location.trim())
                        );
                        match &into {
                            None => vec![format!("{call};")],
                            Some((into, value)) => {
                                vec![format!("{into} = {call}.{};", part(*value))]
                            }
                        }
                    }
                }
            }
            AtomicForm::MinMax {
                keeps_smaller,
                operand: value,
            } => {
                let function = if *keeps_smaller {
                    "rex_atomic_min"
                } else {
                    "rex_atomic_max"
                };
                let value = text(value);
                match &into {
                    Some((into, CapturedValue::After)) => {
                        let pick = if *keeps_smaller { "<" } else { ">" };
                        vec![format!(
                            "{into} = rex_atomic_apply({address}, [&](decltype({}) rex_old) {{ return {value} {pick} rex_old ? {value} : rex_old; }}).after;",
                            value_of(location.trim())
                        )]
                    }
                    _ => assign(format!("{function}({address}, {value})")),
                }
            }
            AtomicForm::CompareExchange { expected, desired } => {
                let (expected, desired) = (text(expected), text(desired));
                let call = format!(
                    "rex_atomic_apply({address}, [&](decltype({}) rex_old) {{ return rex_old == ({expected}) ? ({desired}) : rex_old; }})",
                    value_of(location.trim())
                );
                match captured {
                    None => vec![format!("{call};")],
                    Some(AtomicCapture {
                        into: Some(into),
                        value: value @ (CapturedValue::Before | CapturedValue::After),
                        success: None,
                    }) => vec![format!("{} = {call}.{};", text(into), part(*value))],
                    Some(capture) => {
                        let mut lines = vec![format!("const auto rex_old = {call}.before;")];
                        if let Some(success) = &capture.success {
                            lines.push(format!("{} = rex_old == ({expected});", text(success)));
                        }
                        if let Some(into) = &capture.into {
                            lines.push(format!(
                                "if (rex_old != ({expected})) {} = rex_old;",
                                text(into)
                            ));
                        }
                        block(lines)
                    }
                }
            }
        }
    }
}

/// The value type of an lvalue expression, for a lambda's parameter.
fn value_of(location: &str) -> String {
    format!("rex_value_of({location})")
}

fn atomic_function(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "+" => "rex_atomic_add",
        "-" => "rex_atomic_sub",
        "*" => "rex_atomic_mul",
        "/" => "rex_atomic_div",
        "&" => "rex_atomic_and",
        "|" => "rex_atomic_or",
        "^" => "rex_atomic_xor",
        "<<" => "rex_atomic_shl",
        ">>" => "rex_atomic_shr",
        "&&" => "rex_atomic_land",
        "||" => "rex_atomic_lor",
        _ => return None,
    })
}

fn is_commutative(operator: &str) -> bool {
    matches!(operator, "+" | "*" | "&" | "|" | "^" | "&&" | "||")
}

/// The address of an lvalue.
fn address_of(location: &str) -> String {
    let inner = if is_wrapped(location) {
        location[1..location.len() - 1].trim()
    } else {
        location
    };
    if let Some(pointer) = inner.strip_prefix('*')
        && pointer
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return pointer.to_string();
    }
    if is_postfix(location) {
        format!("&{location}")
    } else {
        format!("&{}", operand(location))
    }
}

/// A name followed by subscripts, members and calls.
fn is_postfix(text: &str) -> bool {
    let mut depth = 0i32;
    let starts_with_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_with_name
        && text.replace("->", ".").chars().all(|c| {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth -= 1,
                _ => return depth > 0 || c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'),
            }
            depth >= 0
        })
}
