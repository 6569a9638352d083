//! Data constructs: brackets around a statement, or a call.

use rex_ir::expr::Expr;
use rex_ir::map::{MapEntry, MapKind, MapOwner};
use rex_ir::region::{CapturedObject, DataConstruct, DataConstructId, DataConstructKind};
use rex_ir::ty::TypeKind;
use rex_syntax::TextRange;
use rex_syntax::omp::clause::{Clause, ClauseName};

use super::maps::ArrayNames;
use super::{Host, Rename, rank};
use crate::common::expr;
use crate::common::text::{one_line, with_newlines};

impl Host<'_> {
    pub(super) fn data_construct(&mut self, id: DataConstructId, data: &DataConstruct) {
        let construct = &self.program.constructs[data.construct];
        let pragma = self.pragma(data.construct);
        let place = construct.range;
        let indent = self.indent(data.construct);
        let margin = self.margin(data.construct, &indent);
        let step = self.unit_indent().to_string();
        let Some(arrays) = self.arrays_of(MapOwner::Data(id)) else {
            return;
        };
        let condition = self.condition(data).map(|range| self.renamed_text(range));
        let device = self.device(
            self.clause(data, ClauseName::Device)
                .and_then(Clause::expression),
        );
        let mut lines = vec![format!(
            "{{ /* {} */",
            one_line(&self.directive_words(data.construct))
        )];
        let mut body = self.temporaries(arrays, pragma);
        if self.clause(data, ClauseName::Depend).is_some() {
            body.insert(0, "#pragma omp taskwait".to_string());
        }
        let plain: Vec<MapEntry> = arrays
            .entries
            .iter()
            .filter(|entry| entry.repeats.is_empty())
            .cloned()
            .collect();
        let repeated: Vec<&MapEntry> = arrays
            .entries
            .iter()
            .filter(|entry| !entry.repeats.is_empty())
            .collect();
        if !plain.is_empty() {
            body.extend(self.arrays(&plain, pragma));
        }
        let call = |function: &str, count: usize| {
            format!(
                "{function}({device}, {count}, {}, {}, {}, {}, {});",
                ArrayNames::BASES,
                ArrayNames::BEGINS,
                ArrayNames::SIZES,
                ArrayNames::TYPES,
                ArrayNames::NAMES
            )
        };
        let guard = |call: String, name: &str| match &condition {
            Some(_) => format!("if ({name}) {call}"),
            None => call,
        };
        if data.kind == DataConstructKind::Data {
            let Some(statement) = construct.statement else {
                return;
            };
            if let Some(condition) = &condition {
                body.push(format!("const int rex_offload = !!({condition});"));
            }
            if !plain.is_empty() {
                body.push(guard(
                    call("__tgt_target_data_begin", plain.len()),
                    "rex_offload",
                ));
            }
            let declarations = self.device_addresses(data, &plain);
            let close = self.indented(&mut lines, body, &indent, &step);
            debug_assert!(close.is_empty());
            let opening = if declarations.is_empty() {
                String::new()
            } else {
                format!("\n{indent}{step}{{ {}", declarations.join(" "))
            };
            let open = format!("{margin}{}{opening}", lines.join(&format!("\n{indent}")));
            self.edits
                .replace(pragma, with_newlines(open, self.layout.newline));
            let mut closing = String::new();
            if !declarations.is_empty() {
                closing.push_str(&format!("\n{indent}{step}}}"));
            }
            if !plain.is_empty() {
                closing.push_str(&format!(
                    "\n{indent}{step}{}",
                    guard(call("__tgt_target_data_end", plain.len()), "rex_offload")
                ));
            }
            closing.push_str(&format!("\n{indent}}}"));
            // Of constructs that end at one place, the inner one (which begins later) closes first.
            let order = u32::MAX - u32::from(place.start());
            let close_rank = rank::CLOSE.saturating_add(order / 2);
            self.edits.insert(
                statement.end(),
                close_rank,
                with_newlines(closing, self.layout.newline),
            );
            return;
        }
        let function = match data.kind {
            DataConstructKind::EnterData => "__tgt_target_data_begin",
            DataConstructKind::ExitData => "__tgt_target_data_end",
            DataConstructKind::Data | DataConstructKind::Update => "__tgt_target_data_update",
        };
        let mut calls = Vec::new();
        if !plain.is_empty() {
            calls.push(call(function, plain.len()));
        }
        for entry in repeated {
            calls.extend(self.repeated_update(entry, &device, pragma, &step));
        }
        match &condition {
            Some(condition) => {
                body.push(format!("if ({condition}) {{"));
                body.extend(
                    calls
                        .into_iter()
                        .map(|call| format!("{step}{}", call.replace('\n', &format!("\n{step}")))),
                );
                body.push("}".to_string());
            }
            None => body.extend(calls),
        }
        let close = self.indented(&mut lines, body, &indent, &step);
        debug_assert!(close.is_empty());
        lines.push("}".to_string());
        let text = format!("{margin}{}", self.block(&lines, &indent));
        self.edits.replace(pragma, text);
    }

    fn indented(
        &self,
        lines: &mut Vec<String>,
        body: Vec<String>,
        indent: &str,
        step: &str,
    ) -> String {
        lines.extend(body.into_iter().map(|line| {
            if line.starts_with("#pragma") {
                line
            } else {
                format!("{step}{}", line.replace('\n', &format!("\n{indent}{step}")))
            }
        }));
        String::new()
    }

    /// Contiguous pieces of a strided or rectangular section, one call each.
    fn repeated_update(
        &self,
        entry: &MapEntry,
        device: &str,
        place: TextRange,
        step: &str,
    ) -> Vec<String> {
        let words = self.words(place);
        let print = |expr: &Expr| expr::print(self.program, &words, expr);
        let mut lines = vec!["{".to_string()];
        let mut depth = 1;
        let mut offset = Vec::new();
        for (idx, repeat) in entry.repeats.iter().enumerate() {
            lines.push(format!(
                "{}for (int64_t rex_{idx} = 0; rex_{idx} < (int64_t)({}); rex_{idx}++) {{",
                step.repeat(depth),
                print(&repeat.count)
            ));
            offset.push(format!(
                "rex_{idx} * (int64_t)({})",
                print(&repeat.stride_bytes)
            ));
            depth += 1;
        }
        let pad = step.repeat(depth);
        lines.push(format!(
            "{pad}void *rex_bases[] = {{(void *){}}};",
            expr::print_operand(self.program, &words, &entry.base)
        ));
        lines.push(format!(
            "{pad}void *rex_begins[] = {{(char *){} + {}}};",
            expr::print_operand(self.program, &words, &entry.begin),
            offset.join(" + ")
        ));
        lines.push(format!(
            "{pad}int64_t rex_sizes[] = {{(int64_t){}}};",
            print(&entry.size)
        ));
        lines.push(format!(
            "{pad}int64_t rex_types[] = {{{:#x}}};",
            entry.type_bits()
        ));
        lines.push(format!(
            "{pad}void *rex_names[] = {{REX_NAME(\"{}\")}};",
            crate::common::text::escaped(&entry.name)
        ));
        lines.push(format!(
            "{pad}__tgt_target_data_update({device}, 1, rex_bases, rex_begins, rex_sizes, rex_types, rex_names);"
        ));
        for closing in (0..depth).rev() {
            lines.push(format!("{}}}", step.repeat(closing)));
        }
        vec![lines.join("\n")]
    }

    fn clause<'a>(&'a self, data: &DataConstruct, name: ClauseName) -> Option<&'a Clause> {
        self.program.constructs[data.construct]
            .directives
            .iter()
            .find_map(|idx| self.program.unit.directives[*idx].clause(name))
    }

    fn condition(&self, data: &DataConstruct) -> Option<TextRange> {
        self.clause(data, ClauseName::If)
            .and_then(Clause::expression)
    }

    /// Declarations that make a variable's name mean its device address inside `target data`.
    fn device_addresses(&self, data: &DataConstruct, entries: &[MapEntry]) -> Vec<String> {
        let mut lines = Vec::new();
        for (idx, entry) in entries.iter().enumerate() {
            let Some(object @ CapturedObject::Variable(symbol)) = entry.device_address_of else {
                continue;
            };
            let name = self.object_name(object);
            let Some(item) = data.maps.iter().find(|item| {
                item.root == object
                    && matches!(item.kind, MapKind::UseDevicePtr | MapKind::UseDeviceAddr)
            }) else {
                continue;
            };
            let types = &self.program.types;
            let ty = types.object_type(self.program.symbols[symbol].ty);
            let target = match &types.get(ty).kind {
                TypeKind::Pointer(to) => *to,
                TypeKind::Array { element, .. } => *element,
                _ => ty,
            };
            let is_object = !matches!(
                types.get(ty).kind,
                TypeKind::Pointer(_) | TypeKind::Array { .. }
            );
            let declared = if is_object {
                format!("{name}__device")
            } else {
                name
            };
            let pointer = pointer_declarator(self.program, target, &declared);
            let cast = pointer_declarator(self.program, target, "");
            let _ = item;
            lines.push(format!("{pointer} = ({cast})rex_bases[{idx}];"));
        }
        lines
    }

    /// Scalars and structs cannot be rebound in C: their uses inside become `(*name__device)`.
    pub(super) fn collect_renames(&mut self) {
        let mut renames = Vec::new();
        for (_, data) in self.program.data_constructs.iter() {
            if data.kind != DataConstructKind::Data {
                continue;
            }
            let Some(statement) = self.program.constructs[data.construct].statement else {
                continue;
            };
            for item in &data.maps {
                let CapturedObject::Variable(symbol) = item.root else {
                    continue;
                };
                let types = &self.program.types;
                let ty = types.object_type(self.program.symbols[symbol].ty);
                let is_object = !matches!(
                    types.get(ty).kind,
                    TypeKind::Pointer(_) | TypeKind::Array { .. }
                );
                if matches!(item.kind, MapKind::UseDevicePtr | MapKind::UseDeviceAddr) && is_object
                {
                    let name = self.program.name(symbol).to_string();
                    renames.push(Rename {
                        inside: statement,
                        becomes: format!("(*{name}__device)"),
                        name,
                    });
                }
            }
        }
        self.renames = renames;
    }
}

fn pointer_declarator(
    program: &rex_ir::program::Program,
    target: rex_ir::ty::TypeId,
    name: &str,
) -> String {
    let types = &program.types;
    match types.get(target).kind {
        TypeKind::Array { .. } | TypeKind::Function { .. } => {
            types.declare(target, &format!("(*{name})"))
        }
        _ => types.declare(target, &format!("*{name}")),
    }
}
