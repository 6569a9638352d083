//! Launches in place of target regions.

use rex_ir::launch::{Launch, LaunchId};
use rex_ir::map::MapOwner;
use rex_ir::region::{CapturedObject, Region};
use rex_syntax::TextRange;
use rex_syntax::omp::clause::ClauseName;

use super::Host;
use super::maps::ArrayNames;
use crate::common::expr;
use crate::common::text::one_line;

impl Host<'_> {
    /// Replaces a region by its launch, with the region's own statement as what the host does if the launch did not happen.
    pub(super) fn launch(&mut self, _id: LaunchId, launch: &Launch) {
        let region = &self.program.regions[launch.region];
        let construct = &self.program.constructs[region.construct];
        let place = construct.range;
        let indent = self.indent(region.construct);
        let step = self.unit_indent().to_string();
        let Some(arrays) = self.arrays_of(MapOwner::Launch(launch.region)) else {
            return;
        };

        let mut body = Vec::new();
        if self.has_clause(region.construct, ClauseName::Depend) {
            body.push("#pragma omp taskwait".to_string());
        }
        body.extend(self.temporaries(arrays, place));
        let count = arrays.entries.len();
        if count > 0 {
            body.extend(self.arrays(&arrays.entries, place));
        }
        let words = self.words(place);
        let trips = launch.trips.as_ref().map_or("0".to_string(), |trips| {
            expr::print(self.program, &words, trips)
        });
        body.push(if count > 0 {
            format!(
                "struct __tgt_kernel_arguments rex_launch = REX_KERNEL_ARGUMENTS(\n    {count}, {}, {}, {}, {}, {}, {trips});",
                ArrayNames::BASES, ArrayNames::BEGINS, ArrayNames::SIZES, ArrayNames::TYPES, ArrayNames::NAMES
            )
        } else {
            format!("struct __tgt_kernel_arguments rex_launch = REX_KERNEL_ARGUMENTS(0, 0, 0, 0, 0, 0, {trips});")
        });
        let number = |expression: &Option<rex_ir::expr::Expr>| {
            expression.as_ref().map_or("0".to_string(), |expression| {
                expr::print(self.program, &words, expression)
            })
        };
        let device = self.device(launch.device);
        let key = &self.program.kernels[launch.kernel].names.key;
        let call = format!(
            "__tgt_target_kernel({device}, {}, {}, &{key}, &rex_launch) != 0",
            number(&launch.teams),
            number(&launch.threads)
        );
        body.push(match launch.condition {
            Some(condition) => format!("if (!({}) || {call}) {{", self.renamed_text(condition)),
            None => format!("if ({call}) {{"),
        });
        let fallback_indent = format!("{indent}{step}{step}");
        let fallback = self.fallback(launch.region, &fallback_indent, &step);

        let mut lines = vec![format!(
            "{{ /* {} */",
            one_line(&self.directive_words(region.construct))
        )];
        lines.extend(body.into_iter().map(|line| {
            if line.starts_with("#pragma") {
                line
            } else {
                format!("{step}{}", line.replace('\n', &format!("\n{indent}{step}")))
            }
        }));
        lines.push(format!("{step}{step}{fallback}"));
        lines.push(format!("{step}}}"));
        lines.push("}".to_string());
        for partner in crate::common::conditionals::partners_outside(self.program, place) {
            self.delete_once(partner);
        }
        let names = self.names_of_untagged(region, &mut lines);
        if !names.is_empty() {
            lines.splice(1..1, names.into_iter().map(|line| format!("{step}{line}")));
        }
        let margin = self.margin(region.construct, &indent);
        let text = format!("{margin}{}", self.block(&lines, &indent));
        self.edits.replace(place, text);
    }

    /// Gives the structs without a tag a name that the lines use: `typedef __typeof__(x) rex_untagged_1;`.
    fn names_of_untagged(&self, region: &Region, lines: &mut [String]) -> Vec<String> {
        let types = &self.program.types;
        let mut names = Vec::new();
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
            let is_used = lines.iter().any(|line| line.contains(&*record.name));
            let name = format!("typedef __typeof__({object}) {};", record.name);
            if record.is_untagged && is_used && !names.contains(&name) {
                for line in lines.iter_mut() {
                    for keyword in ["struct", "union"] {
                        *line = line.replace(&format!("{keyword} {}", record.name), &record.name);
                    }
                }
                names.push(name);
            }
        }
        names
    }

    pub(super) fn device(&self, device: Option<TextRange>) -> String {
        match device {
            Some(device) => self.renamed_text(device),
            None => "REX_DEVICE_DEFAULT".to_string(),
        }
    }

    pub(super) fn has_clause(
        &self,
        construct: rex_ir::region::ConstructId,
        name: ClauseName,
    ) -> bool {
        self.program.constructs[construct]
            .directives
            .iter()
            .any(|idx| self.program.unit.directives[*idx].clause(name).is_some())
    }

    /// The directives of a construct without `#pragma omp`, for a comment.
    pub(super) fn directive_words(&self, construct: rex_ir::region::ConstructId) -> String {
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
