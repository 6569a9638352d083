//! Map arrays in C.

use rex_ir::expr::Expr;
use rex_ir::map::{MapArrays, MapEntry, MapOwner, Temporary, TemporaryValue};
use rex_syntax::TextRange;

use super::Host;
use crate::common::expr;
use crate::common::text::escaped;

/// Names of the arrays of a construct.
pub(super) struct ArrayNames;

impl ArrayNames {
    pub(super) const BASES: &'static str = "rex_bases";
    pub(super) const BEGINS: &'static str = "rex_begins";
    pub(super) const SIZES: &'static str = "rex_sizes";
    pub(super) const TYPES: &'static str = "rex_types";
    pub(super) const NAMES: &'static str = "rex_names";
}

/// Longest line of an array's initializer before it is broken into several.
const LINE_WIDTH: usize = 100;

impl Host<'_> {
    pub(super) fn arrays_of(&self, owner: MapOwner) -> Option<&MapArrays> {
        self.program
            .map_arrays
            .iter()
            .map(|(_, arrays)| arrays)
            .find(|arrays| arrays.owner == owner)
    }

    /// Declarations of the values that the arrays use.
    pub(super) fn temporaries(&self, arrays: &MapArrays, place: TextRange) -> Vec<String> {
        arrays
            .temporaries
            .iter()
            .map(|temporary| self.temporary(temporary, place))
            .collect()
    }

    fn temporary(&self, temporary: &Temporary, place: TextRange) -> String {
        let name = &temporary.name;
        let print = |expr: &Expr| expr::print(self.program, &self.words(place), expr);
        match &temporary.value {
            TemporaryValue::Literal(object) => {
                let object = expr::print_operand(self.program, &self.words(place), object);
                format!("void *{name} = rex_literal(&{object}, sizeof({object}));")
            }
            TemporaryValue::Int64(value) => {
                let value = expr::print_operand(self.program, &self.words(place), value);
                format!("const int64_t {name} = (int64_t){value};")
            }
            TemporaryValue::LowestAddress(addresses) => {
                let addresses: Vec<String> = addresses
                    .iter()
                    .map(|address| format!("(char *)({})", print(address)))
                    .collect();
                let folded = addresses
                    .into_iter()
                    .reduce(|low, next| format!("rex_lower({low}, {next})"));
                format!(
                    "char *{name} = {};",
                    folded.unwrap_or_else(|| "0".to_string())
                )
            }
            TemporaryValue::HighestEnd(pieces) => {
                let ends: Vec<String> = pieces
                    .chunks(2)
                    .filter_map(|piece| match piece {
                        [begin, size] => Some(format!(
                            "(char *)({}) + {}",
                            print(begin),
                            expr::print_operand(self.program, &self.words(place), size)
                        )),
                        _ => None,
                    })
                    .collect();
                let folded = ends
                    .into_iter()
                    .reduce(|high, next| format!("rex_higher({high}, {next})"));
                format!(
                    "char *{name} = {};",
                    folded.unwrap_or_else(|| "0".to_string())
                )
            }
        }
    }

    /// Declarations of the five arrays.
    pub(super) fn arrays(&self, entries: &[MapEntry], place: TextRange) -> Vec<String> {
        let words = self.words(place);
        let address = |expr: &Expr| {
            let text = expr::print_operand(self.program, &words, expr);
            let plain =
                matches!(expr, Expr::Name(name) if name.ends_with(rex_ir::namer::ARGUMENT_SUFFIX));
            if plain {
                text
            } else {
                format!("(void *){text}")
            }
        };
        let size = |expr: &Expr| match expr {
            Expr::Int(value) => value.to_string(),
            other => format!(
                "(int64_t){}",
                in_parentheses(expr::print(self.program, &words, other))
            ),
        };
        let column = |values: Vec<String>, declaration: &str| initializer(declaration, &values);
        vec![
            column(
                entries.iter().map(|entry| address(&entry.base)).collect(),
                "void *rex_bases[]",
            ),
            column(
                entries.iter().map(|entry| address(&entry.begin)).collect(),
                "void *rex_begins[]",
            ),
            column(
                entries.iter().map(|entry| size(&entry.size)).collect(),
                "int64_t rex_sizes[]",
            ),
            column(
                entries
                    .iter()
                    .map(|entry| format!("{:#x}", entry.type_bits()))
                    .collect(),
                "int64_t rex_types[]",
            ),
            column(
                entries
                    .iter()
                    .map(|entry| format!("REX_NAME(\"{}\")", escaped(&entry.name)))
                    .collect(),
                "void *rex_names[]",
            ),
        ]
    }
}

fn in_parentheses(text: String) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let call = text.starts_with("sizeof(") && text.find(')') == Some(text.len() - 1);
    if plain || call {
        text
    } else {
        format!("({text})")
    }
}

fn initializer(declaration: &str, values: &[String]) -> String {
    let line = format!("{declaration} = {{{}}};", values.join(", "));
    if line.len() <= LINE_WIDTH {
        return line;
    }
    format!("{declaration} = {{\n    {}}};", values.join(",\n    "))
}
