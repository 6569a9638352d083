//! Map arrays in C: five braced arrays, or a list that is filled at run time.

use rex_ir::expr::Expr;
use rex_ir::map::{MapArrays, MapEntry, MapLoop, MapOwner, Temporary, TemporaryValue};
use rex_syntax::TextRange;

use super::Host;
use crate::common::expr;
use crate::common::text::escaped;

/// Longest line of an array's initializer before it is broken into several.
const LINE_WIDTH: usize = 100;

/// The code around the calls of a construct.
pub(super) struct MapCode {
    /// Statements before the first call.
    pub(super) setup: Vec<String>,
    /// What every call passes: the count and the five arrays.
    pub(super) arguments: String,
    /// Variables that must live until the last call.
    pub(super) variables: Vec<String>,
    /// Statements after the last call.
    pub(super) cleanup: Vec<String>,
    /// The elements of the base array that receive device addresses, by entry.
    pub(super) device_addresses: Vec<(usize, String)>,
}

impl MapCode {
    /// The count and the array of types among the arguments.
    pub(super) fn count_and_types(&self) -> Option<(&str, &str)> {
        let mut arguments = self.arguments.split(", ");
        Some((arguments.next()?, arguments.nth(3)?))
    }
}

impl<'p> Host<'p> {
    pub(super) fn arrays_of(&self, owner: MapOwner) -> Option<&'p MapArrays> {
        let id = self.arrays.get(&owner)?;
        Some(&self.program.map_arrays[*id])
    }

    /// The code for the arrays of a construct.
    pub(super) fn map_code(&self, arrays: &MapArrays, place: TextRange) -> MapCode {
        let mut setup = Vec::new();
        for temporary in &arrays.temporaries {
            setup.push(self.temporary(arrays, temporary, place));
        }
        if arrays.is_dynamic() {
            return self.filled(arrays, setup, place);
        }
        let device_addresses = arrays
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.device_address_of.is_some())
            .map(|(idx, _)| (idx, format!("rex_bases[{idx}]")))
            .collect();
        let count = arrays.entries.len();
        if count == 0 {
            return MapCode {
                setup,
                arguments: "0, NULL, NULL, NULL, NULL, NULL".into(),
                variables: Vec::new(),
                cleanup: Vec::new(),
                device_addresses,
            };
        }
        setup.extend(self.braced(&arrays.entries, place));
        let names = [
            "rex_bases",
            "rex_begins",
            "rex_sizes",
            "rex_types",
            "rex_names",
        ];
        MapCode {
            setup,
            arguments: format!("{count}, {}", names.join(", ")),
            variables: names.map(String::from).to_vec(),
            cleanup: Vec::new(),
            device_addresses,
        }
    }

    fn temporary(&self, arrays: &MapArrays, temporary: &Temporary, place: TextRange) -> String {
        let name = &temporary.name;
        let operand = |value: &Expr| expr::print_operand(self.program, &self.words(place), value);
        match &temporary.value {
            TemporaryValue::Literal(object) => {
                let object = operand(object);
                format!("void *{name} = rex_literal(&{object}, sizeof({object}));")
            }
            TemporaryValue::Int64(value) => {
                format!("const int64_t {name} = (int64_t){};", operand(value))
            }
            TemporaryValue::Address { ty, of, is_pointer } => {
                let declared = self.program.types.declare(*ty, name);
                let first = if *is_pointer { "[0]" } else { "" };
                let of = expr::print(self.program, &self.words(place), of);
                format!("{declared} = &({of}){first};")
            }
            TemporaryValue::Span(pieces) => {
                let mut lines = vec![format!("struct rex_span {name} = REX_NO_SPAN;")];
                let mut open: Vec<usize> = Vec::new();
                for piece in pieces {
                    self.enter_loops(arrays, &mut open, &piece.loops, place, &mut lines);
                    let pad = self.unit_indent().repeat(open.len());
                    lines.push(format!(
                        "{pad}rex_span_add(&{name}, (void *){}, {});",
                        operand(&piece.begin),
                        self.size(&piece.size, place)
                    ));
                }
                self.enter_loops(arrays, &mut open, &[], place, &mut lines);
                lines.join("\n")
            }
        }
    }

    /// Declarations of the five arrays.
    fn braced(&self, entries: &[MapEntry], place: TextRange) -> Vec<String> {
        let column = |declaration: &str, value: &dyn Fn(&MapEntry) -> String| {
            let values: Vec<String> = entries.iter().map(value).collect();
            initializer(declaration, &values)
        };
        vec![
            column("void *rex_bases[]", &|entry| {
                self.address(&entry.base, place)
            }),
            column("void *rex_begins[]", &|entry| {
                self.address(&entry.begin, place)
            }),
            column("int64_t rex_sizes[]", &|entry| {
                self.size(&entry.size, place)
            }),
            column("int64_t rex_types[]", &|entry| {
                self.type_word(entry, entry.type_bits(), place)
            }),
            column("void *rex_names[]", &|entry| self.entry_name(entry)),
        ]
    }

    /// Statements that fill a list, entry by entry.
    fn filled(&self, arrays: &MapArrays, mut setup: Vec<String>, place: TextRange) -> MapCode {
        let mut device_addresses = Vec::new();
        setup.push("struct rex_maps rex_maps = REX_NO_MAPS;".into());
        let mut open: Vec<usize> = Vec::new();
        for (idx, entry) in arrays.entries.iter().enumerate() {
            self.enter_loops(arrays, &mut open, &entry.loops, place, &mut setup);
            let pad = self.unit_indent().repeat(open.len());
            if entry.device_address_of.is_some() {
                let at = format!("rex_at_{idx}");
                setup.push(format!("const int32_t {at} = rex_maps.rex_count;"));
                device_addresses.push((idx, format!("rex_maps.rex_bases[{at}]")));
            }
            if entry.is_pack
                && let Some(values) = &entry.lambda
            {
                let values = expr::print(self.program, &self.words(place), values);
                let name = self.entry_name(entry);
                setup.push(format!("{pad}rex_map_all(&rex_maps, {name}, {values}...);"));
                continue;
            }
            let is_parent = entry.lambda.is_some()
                || arrays
                    .entries
                    .iter()
                    .any(|other| other.member_of == Some(idx));
            let result = if is_parent {
                format!("const int64_t rex_member_of_{idx} = ")
            } else {
                String::new()
            };
            let member = entry
                .member_of
                .map_or(String::new(), |parent| format!(" | rex_member_of_{parent}"));
            setup.push(format!(
                "{pad}{result}rex_map(&rex_maps, {}, {}, {}, {}{member}, {});",
                self.address(&entry.base, place),
                self.address(&entry.begin, place),
                self.size(&entry.size, place),
                self.type_word(entry, entry.flags.bits(), place),
                self.entry_name(entry)
            ));
            if let Some(lambda) = &entry.lambda {
                let object = expr::print(self.program, &self.words(place), lambda);
                setup.push(format!(
                    "{pad}rex_map_pointers(&rex_maps, rex_member_of_{idx}, {object});"
                ));
            }
        }
        self.enter_loops(arrays, &mut open, &[], place, &mut setup);
        let fields = ["count", "bases", "begins", "sizes", "types", "names"];
        MapCode {
            setup,
            arguments: fields
                .map(|field| format!("rex_maps.rex_{field}"))
                .join(", "),
            variables: vec!["rex_maps".into()],
            cleanup: vec!["rex_maps_free(&rex_maps);".into()],
            device_addresses,
        }
    }

    /// Leaves and enters loops until exactly those of `wanted` are open.
    fn enter_loops(
        &self,
        arrays: &MapArrays,
        open: &mut Vec<usize>,
        wanted: &[usize],
        place: TextRange,
        lines: &mut Vec<String>,
    ) {
        let step = self.unit_indent();
        let common = open.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        while open.len() > common {
            open.pop();
            lines.push(format!("{}}}", step.repeat(open.len())));
        }
        for id in &wanted[common..] {
            lines.push(format!(
                "{}{}",
                step.repeat(open.len()),
                self.loop_head(&arrays.loops[*id], place)
            ));
            open.push(*id);
        }
    }

    fn loop_head(&self, map_loop: &MapLoop, place: TextRange) -> String {
        match map_loop {
            MapLoop::Count { name, count } => {
                let count = self.size(count, place);
                format!("for (int64_t {name} = 0; {name} < {count}; {name}++) {{")
            }
            MapLoop::Iterator {
                ty,
                name,
                begin,
                end,
                step,
            } => {
                let words = self.words(place);
                let print = |value: &Expr| expr::print(self.program, &words, value);
                let (begin, end) = (print(begin), print(end));
                let head = format!("for ({ty} {name} = {begin};");
                match step.as_ref().map(print) {
                    None => format!("{head} {name} < ({end}); {name}++) {{"),
                    Some(step) => format!(
                        "{head} ({step}) > 0 ? {name} < ({end}) : {name} > ({end}); {name} += ({step})) {{"
                    ),
                }
            }
        }
    }

    fn address(&self, value: &Expr, place: TextRange) -> String {
        let text = expr::print_operand(self.program, &self.words(place), value);
        let plain =
            matches!(value, Expr::Name(name) if name.ends_with(rex_ir::namer::ARGUMENT_SUFFIX));
        if plain {
            text
        } else {
            format!("(void *){text}")
        }
    }

    fn size(&self, value: &Expr, place: TextRange) -> String {
        match value {
            Expr::Int(value) => value.to_string(),
            other => format!(
                "(int64_t){}",
                in_parentheses(expr::print(self.program, &self.words(place), other))
            ),
        }
    }

    fn type_word(&self, entry: &MapEntry, bits: u64, place: TextRange) -> String {
        match &entry.types {
            Some(types) => expr::print(self.program, &self.words(place), types),
            None => format!("{bits:#x}"),
        }
    }

    /// The user's words and where they stand.
    fn entry_name(&self, entry: &MapEntry) -> String {
        let words = escaped(&entry.name);
        match entry.at {
            Some(at) => {
                let (line, column) = self.program.written_position(at);
                format!("REX_ITEM(\"{words}\", {line}, {column})")
            }
            None => format!("REX_NAME(\"{words}\")"),
        }
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
