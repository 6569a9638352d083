//! The include of the runtime header, host keys and offload entries.

use rex_ir::entry::EntryKind;
use rex_ir::item::ItemKind;
use rex_syntax::TextSize;

use super::{Host, rank};
use crate::common::text::with_newlines;

impl Host<'_> {
    /// Header and kernel entries after the last top include; entries of variables at the end, where their names are known.
    pub(super) fn header(&mut self) {
        let written = self.program.sources.to_written(
            self.program
                .at(rex_syntax::TextRange::empty(TextSize::from(0))),
        );
        let file = self.program.sources.file(written.file).name();
        let mut lines = vec![
            "#include \"rex_kmp.h\"".to_string(),
            format!(
                "#define REX_SOURCE_FILE \"{}\"",
                crate::common::text::escaped(file)
            ),
        ];
        let mut kernels = Vec::new();
        let mut variables = Vec::new();
        for entry in &self.program.entries {
            match &entry.kind {
                EntryKind::Kernel(kernel) => {
                    let names = &self.program.kernels[*kernel].names;
                    kernels.push(format!("static char {};", names.key));
                    kernels.push(format!(
                        "static struct __tgt_offload_entry {} REX_OFFLOAD_ENTRY =\n    REX_KERNEL_ENTRY({}, \"{}\");",
                        entry.name, names.key, names.kernel
                    ));
                }
                EntryKind::Variable {
                    symbol,
                    device_name,
                } => {
                    let name = self.program.symbols[*symbol].qualified_name();
                    variables.push(format!(
                        "static struct __tgt_offload_entry {} REX_OFFLOAD_ENTRY =\n    REX_GLOBAL_ENTRY(&{name}, \"{device_name}\", sizeof({name}), 0);",
                        entry.name
                    ));
                }
            }
        }
        if !kernels.is_empty() {
            lines.push(String::new());
            lines.push(
                "/* Kernels of this file: a host key and an offload entry for each. */".to_string(),
            );
            lines.extend(kernels);
        }
        let (at, before, after) = self.header_place();
        let text = format!("{before}{}{after}", lines.join("\n"));
        self.edits
            .insert(at, rank::HEADER, with_newlines(text, self.layout.newline));
        if !variables.is_empty() {
            let source = self.program.source();
            let newline = if source.ends_with('\n') { "" } else { "\n" };
            let text = format!(
                "{newline}\n/* Variables of this file that live on the device. */\n{}\n",
                variables.join("\n")
            );
            let end = TextSize::of(source);
            self.edits.insert(
                end,
                rank::END_OF_FILE,
                with_newlines(text, self.layout.newline),
            );
        }
    }

    /// Where the header goes, with the line breaks it needs before and after it.
    ///
    /// After the last include that stands at the top: before any function or variable, outside every conditional (or after the `#endif` of one that holds includes).
    fn header_place(&self) -> (TextSize, &'static str, &'static str) {
        let source = self.program.source();
        let first_code = self
            .program
            .items
            .iter()
            .find(|item| matches!(item.kind, ItemKind::Function(_) | ItemKind::Variables(_)))
            .map_or(TextSize::of(source), |item| item.range.start());
        let mut depth = 0u32;
        let mut pending = false;
        let mut place = None;
        for line in rex_syntax::pragma::directives(source) {
            if line.range.start() >= first_code && depth == 0 {
                break;
            }
            match line.name(source) {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && pending {
                        place = Some(line.range.end());
                        pending = false;
                    }
                }
                "include" | "include_next" | "import" if depth == 0 => {
                    place = Some(line.range.end())
                }
                "include" | "include_next" | "import" => pending = true,
                _ => {}
            }
        }
        match place {
            Some(at) => (at, "\n", ""),
            None => {
                // No include: before the first item that is not a comment, at the start of its line.
                let first = self
                    .program
                    .items
                    .iter()
                    .map(|item| item.range.start())
                    .min()
                    .unwrap_or_default();
                (first, "", "\n\n")
            }
        }
    }
}
