//! Launches in place of target regions.

use rex_ir::effects::has_effects;
use rex_ir::expr::Expr;
use rex_ir::kernel::KernelId;
use rex_ir::launch::Launch;
use rex_ir::map::MapOwner;
use rex_ir::namer;
use rex_ir::region::{CapturedObject, ConstructId, Region, Transport};
use rex_ir::symbol::SymbolId;
use rex_syntax::TextRange;

use super::code::Code;
use super::task::Settled;
use super::{At, Host};
use crate::common::expr;
use crate::common::text::one_line;

impl Host<'_> {
    /// The launch that replaces a region, with the region's own statement as what the host does if the launch did not happen.
    pub(super) fn launch(&self, launch: &Launch) -> Option<String> {
        let region = &self.program.regions[launch.region];
        let place = self.program.constructs[region.construct].range;
        let indent = self.indent(region.construct);
        let step = self.unit_indent().to_string();
        let arrays = self.arrays_of(MapOwner::Launch(launch.region))?;
        let mut code = Code::new(&indent, &step);
        code.open(format!(
            "{{ /* {} */",
            one_line(&self.directive_words(region.construct))
        ));
        let maps = self.map_code(arrays, place);
        code.lines(self.members_on_device(&region.maps));
        code.lines(&maps.setup);
        let mut settled = Settled {
            in_task: self.is_task(region.construct),
            variables: maps.variables,
        };
        let mut words =
            self.words_computed_once(launch, place, arrays.temporaries.len(), &mut code);
        let number = |value: &Option<Expr>| match value {
            Some(value) => expr::print(self.program, &words, value),
            None => "0".to_string(),
        };
        let trips = settled.settle(&mut code, "uint64_t", "rex_n_trips", number(&launch.trips));
        let teams = settled.settle(&mut code, "int32_t", "rex_n_teams", number(&launch.teams));
        let threads = settled.settle(
            &mut code,
            "int32_t",
            "rex_n_threads",
            number(&launch.threads),
        );
        let shared_bytes = launch.shared_bytes.as_ref().map(|bytes| {
            let value = expr::print(self.program, &words, bytes);
            settled.settle(&mut code, "uint32_t", "rex_n_shared_bytes", value)
        });
        let device = self.device(launch.device);
        let device = settled.settle(&mut code, "int64_t", "rex_device", device);
        let condition = launch.condition.map(|condition| {
            let value = format!("!({})", self.renamed_text(condition));
            if !has_effects(self.program, condition) {
                return settled.settle(&mut code, "int", "rex_on_host", value);
            }
            let name = settled.always(&mut code, "int", "rex_on_host", &value);
            words.known.push((condition, format!("!{name}")));
            name
        });
        self.wait_for_all_memory(&mut code, region.construct);
        if settled.in_task {
            let mut copies = settled.variables;
            copies.extend(words.known.iter().map(|(_, name)| name.clone()));
            copies.extend(self.values_of(region));
            code.line(self.task_directive(region.construct, &copies));
            code.open("{");
        }
        code.line(format!(
            "struct __tgt_kernel_arguments rex_launch = REX_KERNEL_ARGUMENTS(\n{step}{}, {trips});",
            maps.arguments
        ));
        if let Some(bytes) = shared_bytes {
            code.line(format!("rex_launch.DynCGroupMem = {bytes};"));
        }
        let key = self.kernel_key(launch.kernel);
        let call =
            format!("__tgt_target_kernel({device}, {teams}, {threads}, {key}, &rex_launch) != 0");
        code.open(match condition {
            Some(condition) => format!("if ({condition} || {call}) {{"),
            None => format!("if ({call}) {{"),
        });
        let fallback = self.fallback(launch.region, &words.known, &code.margin(), &step);
        code.verbatim(&fallback);
        code.close("}");
        code.lines(&maps.cleanup);
        if self.is_task(region.construct) {
            code.close("}");
        }
        code.close("}");
        let mut text = code.finish();
        let names = self.names_of_types(region, &mut text);
        if let (Some(end), false) = (text.find('\n'), names.is_empty()) {
            let lines: Vec<String> = names
                .into_iter()
                .map(|line| format!("\n{indent}{step}{line}"))
                .collect();
            text.insert_str(end, &lines.concat());
        }
        let margin = self.margin(region.construct, &indent);
        let task = self.participating_task(region.construct);
        let task = task.map_or(String::new(), |directive| format!("{directive}\n{indent}"));
        Some(format!("{margin}{task}{text}"))
    }

    /// A kernel's host key.
    fn kernel_key(&self, kernel: KernelId) -> String {
        let kernel = &self.program.kernels[kernel];
        match &kernel.template {
            // In parentheses: a macro takes it.
            Some(template) => format!(
                "(rex_instance<{}<{}> >::rex_key())",
                kernel.names.kernel(),
                template.arguments
            ),
            None => format!("&{}", kernel.names.key()),
        }
    }

    /// Names that the text uses for types which have none: `typedef __typeof__(x) rex_untagged_1;`, `typedef REX_TYPE_OF(x) x__type;`.
    fn names_of_types(&self, region: &Region, text: &mut String) -> Vec<String> {
        let types = &self.program.types;
        let is_variable = |symbol: &&SymbolId| self.program.symbols[**symbol].kind.is_variable();
        let deduced = region.deduced.iter().filter(is_variable).map(|symbol| {
            let variable = self.program.name(*symbol);
            (namer::deduced_type(variable), variable)
        });
        let mut names: Vec<String> = deduced
            .filter(|(name, _)| text.contains(name.as_str()))
            .map(|(name, variable)| format!("typedef REX_TYPE_OF({variable}) {name};"))
            .collect();
        for capture in &region.captures {
            let CapturedObject::Variable(symbol) = capture.object else {
                continue;
            };
            let mut object = self.program.symbols[symbol].qualified_name().to_string();
            let mut ty = capture.ty;
            while let Some(element) = types.element(ty) {
                object = format!("*{object}");
                ty = element;
            }
            let Some(record) = types.record(ty) else {
                continue;
            };
            let record = &types.records[record];
            let is_used = text.contains(&*record.name);
            let name = format!("typedef __typeof__({object}) {};", record.name);
            if record.is_untagged && is_used && !names.contains(&name) {
                for keyword in ["struct", "union"] {
                    *text = text.replace(&format!("{keyword} {}", record.name), &record.name);
                }
                names.push(name);
            }
        }
        names
    }

    /// Words in which every operand of the geometry that has effects is a variable, computed here.
    fn words_computed_once(
        &self,
        launch: &Launch,
        place: TextRange,
        n_before: usize,
        code: &mut Code,
    ) -> At<'_, '_> {
        let mut words = self.words(place);
        let mut ranges = Vec::new();
        for value in [&launch.trips, &launch.teams, &launch.threads]
            .into_iter()
            .flatten()
        {
            value.sources(&mut ranges);
        }
        for range in ranges {
            let known = words.known.iter().any(|(known, _)| *known == range);
            if !known && has_effects(self.program, range) {
                let name = format!("rex_value_{}", n_before + words.known.len());
                code.line(format!(
                    "const int64_t {name} = (int64_t)({});",
                    self.renamed_text(range)
                ));
                words.known.push((range, name));
            }
        }
        words
    }

    /// The variables that a region has the values of.
    fn values_of(&self, region: &Region) -> Vec<String> {
        region
            .captures
            .iter()
            .filter(|capture| {
                matches!(
                    capture.transport,
                    Transport::Literal
                        | Transport::Copy
                        | Transport::Pointee
                        | Transport::DevicePointer
                )
            })
            .filter_map(|capture| match capture.object {
                // What takes more than a name to say is no variable that a task could copy.
                CapturedObject::Variable(symbol)
                    if self.program.symbols[symbol].spelled.is_none() =>
                {
                    Some(self.program.name(symbol).to_string())
                }
                CapturedObject::Variable(_) | CapturedObject::This | CapturedObject::Extent(..) => {
                    None
                }
            })
            .collect()
    }

    /// The directives of a construct without `#pragma omp`, for a comment.
    pub(super) fn directive_words(&self, construct: ConstructId) -> String {
        let words: Vec<String> = self.program.constructs[construct]
            .directives
            .iter()
            .map(|idx| {
                let directive = &self.program.unit.directives[*idx];
                let rest = TextRange::new(directive.name_range.start(), directive.range.end());
                self.program.text(rest).to_string()
            })
            .collect();
        words.join(", ")
    }
}
