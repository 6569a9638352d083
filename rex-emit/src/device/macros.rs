//! Macros whose meaning a kernel needs and that the file changes behind its region.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use rex_ir::program::Program;
use rex_syntax::lex;
use rex_syntax::{TextRange, TextSize};
use smol_str::SmolStr;

/// Which definition each macro has at the current place of the device file.
///
/// Kernels stand behind all macros of the file. One that the file defines anew or undefines after a region is given back its meaning before the region's kernel.
pub(super) struct MacroState<'p> {
    program: &'p Program,
    current: BTreeMap<SmolStr, Option<String>>,
}

impl<'p> MacroState<'p> {
    pub(super) fn new(program: &'p Program) -> MacroState<'p> {
        MacroState {
            program,
            current: BTreeMap::new(),
        }
    }

    fn definition(&self, name: &str, at: TextRange) -> Option<String> {
        let definition = self.program.macro_at(name, at)?;
        let parameters = definition
            .parameters
            .as_ref()
            .map_or(String::new(), |parameters| {
                let mut words: Vec<&str> = parameters.iter().map(SmolStr::as_str).collect();
                if definition.variadic && words.last() == Some(&"__VA_ARGS__") {
                    words.pop();
                    words.push("...");
                }
                format!("({})", words.join(", "))
            });
        Some(format!("#define {name}{parameters} {}", definition.body))
    }

    pub(super) fn definitions_for(&mut self, kernel: &rex_ir::kernel::Kernel) -> Vec<String> {
        let program = self.program;
        let region = &program.regions[kernel.region];
        let range = program.constructs[region.construct].range;
        let end = TextRange::empty(TextSize::of(program.source()));
        let mut names: IndexSet<SmolStr> = IndexSet::new();
        for place in std::iter::once(range).chain(region.local_declarations.iter().copied()) {
            for at in lex::identifiers(program.source(), place) {
                names.insert(program.text(at).into());
            }
        }
        // Macros in the bodies of macros.
        let mut next = 0;
        while let Some(definition) = names
            .get_index(next)
            .map(|name| program.macro_at(name, range))
        {
            next += 1;
            let Some(definition) = definition else {
                continue;
            };
            let body = definition.body.as_str();
            for at in lex::identifiers(body, TextRange::up_to(TextSize::of(body))) {
                names.insert(body[at].into());
            }
        }
        let mut lines = Vec::new();
        for name in names {
            let wanted = self.definition(&name, range);
            let known = self
                .current
                .get(&name)
                .cloned()
                .unwrap_or_else(|| self.definition(&name, end));
            if wanted == known {
                continue;
            }
            if known.is_some() {
                lines.push(format!("#undef {name}"));
            }
            lines.extend(wanted.clone());
            self.current.insert(name, wanted);
        }
        lines
    }
}

/// Whether a line defines what compilers of C++ define from the start, perhaps as another text.
pub(super) fn defines_feature_of_cxx(line: &str) -> bool {
    let words = line.trim_start().strip_prefix('#');
    let mut words = words.unwrap_or_default().split_whitespace();
    words.next() == Some("define") && words.next() == Some("_GNU_SOURCE")
}
