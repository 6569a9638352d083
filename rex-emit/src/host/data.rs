//! Data constructs: brackets around a statement, or a call.

use rex_ir::abi::MapFlags;
use rex_ir::map::{MapArrays, MapItem, MapOwner};
use rex_ir::region::{CapturedObject, DataConstruct, DataConstructId, DataConstructKind};
use rex_ir::ty::TypeId;
use rex_syntax::TextRange;
use rex_syntax::layout::end_with_comment;
use rex_syntax::omp::clause::{Clause, ClauseName};

use super::code::Code;
use super::maps::MapCode;
use super::renames::Binding;
use super::task::Settled;
use super::{Host, rank};
use crate::common::text::{one_line, with_newlines};

impl Host<'_> {
    /// The arrays of a construct for the runtime, and the text that declares them.
    fn declared_maps(&self, id: DataConstructId, data: &DataConstruct) -> Option<(MapCode, Code)> {
        let pragma = self.pragma(data.construct);
        let indent = self.indent(data.construct);
        let arrays = self.arrays_of(MapOwner::Data(id))?;
        let mut code = Code::new(&indent, self.unit_indent());
        code.open(format!(
            "{{ /* {} */",
            one_line(&self.directive_words(data.construct))
        ));
        let maps = self.map_code(arrays, pragma);
        code.lines(self.members_on_device(&data.maps));
        code.lines(&maps.setup);
        Some((maps, code))
    }

    /// `target data`: a call before its statement and one after it.
    pub(super) fn bracket(&mut self, id: DataConstructId, data: &DataConstruct) {
        let construct = &self.program.constructs[data.construct];
        let arrays = self.arrays_of(MapOwner::Data(id));
        let (Some(statement), Some(arrays), Some((maps, mut code))) =
            (construct.statement, arrays, self.declared_maps(id, data))
        else {
            return;
        };
        let pragma = self.pragma(data.construct);
        let place = construct.range;
        let margin = self.margin(data.construct, &self.indent(data.construct));
        let mut settled = Settled {
            in_task: true,
            variables: Vec::new(),
        };
        let device = self.device_of(data);
        let device = settled.settle(&mut code, "int64_t", "rex_device", device);
        let guard = self.condition(data).map(|condition| {
            let value = format!("!!({})", self.renamed_text(condition));
            settled.always(&mut code, "int", "rex_offload", &value)
        });
        let call = |function: &str| {
            let call = format!("{function}({device}, {});", maps.arguments);
            match &guard {
                Some(guard) => format!("if ({guard}) {call}"),
                None => call,
            }
        };
        code.line(call("__tgt_target_data_begin"));
        let inner = code.margin();
        let declarations = self.device_addresses(data, arrays, &maps);
        let mut closing = String::new();
        if !declarations.is_empty() {
            code.open("{");
            code.lines(&declarations);
            closing.push_str(&format!("\n{inner}}}"));
        }
        let mut entries = arrays.entries.iter();
        if entries.any(|entry| entry.flags.contains(MapFlags::PRESENT))
            && let Some((count, types)) = maps.count_and_types()
        {
            closing.push_str(&format!("\n{inner}rex_forget_present({count}, {types});"));
        }
        closing.push_str(&format!("\n{inner}{}", call("__tgt_target_data_end")));
        for line in &maps.cleanup {
            closing.push_str(&format!("\n{inner}{line}"));
        }
        closing.push_str(&format!("\n{}}}", self.indent(data.construct)));
        let opening = format!("{margin}{}", code.finish());
        self.edits
            .replace(pragma, with_newlines(opening, self.layout.newline));
        // Of constructs that end at one place, the inner one (which begins later) closes first.
        let order = u32::MAX - u32::from(place.start());
        let close_rank = rank::CLOSE.saturating_add(order / 2);
        self.edits.insert(
            end_with_comment(self.program.source(), statement.end()),
            close_rank,
            with_newlines(closing, self.layout.newline),
        );
    }

    /// `target enter data`, `target exit data`, `target update`: one call.
    pub(super) fn stand_alone(&self, id: DataConstructId, data: &DataConstruct) -> Option<String> {
        let (maps, mut code) = self.declared_maps(id, data)?;
        let margin = self.margin(data.construct, &self.indent(data.construct));
        let mut settled = Settled {
            in_task: self.is_task(data.construct),
            variables: maps.variables.clone(),
        };
        let device = self.device_of(data);
        let device = settled.settle(&mut code, "int64_t", "rex_device", device);
        let guard = self.condition(data).map(|condition| {
            let value = self.renamed_text(condition);
            if settled.in_task {
                settled.always(&mut code, "int", "rex_offload", &format!("!!({value})"))
            } else {
                value
            }
        });
        let function = match data.kind {
            DataConstructKind::EnterData => "__tgt_target_data_begin",
            DataConstructKind::ExitData => "__tgt_target_data_end",
            DataConstructKind::Data | DataConstructKind::Update => "__tgt_target_data_update",
        };
        self.wait_for_all_memory(&mut code, data.construct);
        if settled.in_task {
            code.line(self.task_directive(data.construct, &settled.variables));
            code.open("{");
        }
        let call = format!("{function}({device}, {});", maps.arguments);
        code.line(match guard {
            Some(guard) => format!("if ({guard}) {call}"),
            None => call,
        });
        code.lines(&maps.cleanup);
        if settled.in_task {
            code.close("}");
        }
        code.close("}");
        Some(format!("{margin}{}", code.finish()))
    }

    fn clause<'a>(&'a self, data: &DataConstruct, name: ClauseName) -> Option<&'a Clause> {
        self.clauses(data.construct, name).next()
    }

    fn device_of(&self, data: &DataConstruct) -> String {
        self.device(
            self.clause(data, ClauseName::Device)
                .and_then(Clause::expression),
        )
    }

    fn condition(&self, data: &DataConstruct) -> Option<TextRange> {
        self.clause(data, ClauseName::If)
            .and_then(Clause::expression)
    }

    /// Declarations that make a variable's name mean its device address inside `target data`.
    fn device_addresses(
        &self,
        data: &DataConstruct,
        arrays: &MapArrays,
        maps: &MapCode,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for (idx, address) in &maps.device_addresses {
            let Some(object @ CapturedObject::Variable(symbol)) =
                arrays.entries[*idx].device_address_of
            else {
                continue;
            };
            let mut items = data.maps.iter();
            let asks = |item: &&MapItem| item.root == object && item.asks_for_address();
            let Some(item) = items.find(asks) else {
                continue;
            };
            let name = self.object_name(object);
            let ty = self
                .program
                .types
                .object_type(self.program.symbols[symbol].ty);
            let words = |sign, declared: &str| self.declared_as(ty, &name, sign, declared);
            lines.push(match self.binding(item) {
                Binding::Pointer => {
                    format!("{} = ({}){address};", words("", &name), words("", ""))
                }
                Binding::Reference => {
                    format!("{} = *({}){address};", words("&", &name), words("*", ""))
                }
                Binding::Object => {
                    let declared = words("*", &format!("{name}__device"));
                    format!("{declared} = ({}){address};", words("*", ""))
                }
            });
        }
        lines
    }

    /// Declares `declared` as what `variable` is of type `ty`, or as a pointer or reference to that (`sign`).
    fn declared_as(&self, ty: TypeId, variable: &str, sign: &str, declared: &str) -> String {
        let types = &self.program.types;
        match types.has_name(ty) {
            true => types.declare_behind(sign, ty, declared),
            false => format!("__typeof__({variable}) {sign}{declared}")
                .trim_end()
                .into(),
        }
    }
}
