//! The include of the runtime header, host keys and offload entries.

use rex_ir::abi::Requirements;
use rex_ir::entry::EntryKind;
use rex_ir::item::{DeviceStorage, Item, ItemKind};
use rex_ir::keywords;
use rex_ir::namer;
use rex_ir::symbol::SymbolId;
use rex_syntax::layout::{end_with_comment, indent_at};
use rex_syntax::{TextRange, TextSize, lex};

use super::{Host, rank};
use crate::common::text::with_newlines;
use crate::common::{cuda_names, guarded};

/// The header's words for what `requires` demands.
const REQUIREMENTS: [(Requirements, &str); 4] = [
    (Requirements::REVERSE_OFFLOAD, "REX_REVERSE_OFFLOAD"),
    (Requirements::UNIFIED_ADDRESS, "REX_UNIFIED_ADDRESS"),
    (
        Requirements::UNIFIED_SHARED_MEMORY,
        "REX_UNIFIED_SHARED_MEMORY",
    ),
    (Requirements::DYNAMIC_ALLOCATORS, "REX_DYNAMIC_ALLOCATORS"),
];

/// A namespace without a name in mangled names of GCC and clang.
const MANGLED_UNNAMED: &str = "_GLOBAL__N_1";

/// What an entry says of a variable.
struct HostObject {
    address: String,
    bytes: String,
}

impl HostObject {
    fn named(name: &str) -> HostObject {
        HostObject {
            address: format!("&{name}"),
            bytes: format!("sizeof({name})"),
        }
    }
}

impl Host<'_> {
    /// What types in the names of kernels are called in device code, where they have other names there.
    fn names_on_device(&self) -> Option<String> {
        let names = cuda_names::in_headers(self.program);
        let types = cuda_names::own_types(self.program, &names);
        let renamed = types
            .into_iter()
            .map(|name| format!("{name}={}", keywords::device_name(name)));
        let unnamed = self.program.has_unnamed_namespace().then(|| {
            let file = self.program.sources.file(self.program.unit.file).name();
            format!("{MANGLED_UNNAMED}={}", namer::unnamed_namespace(file))
        });
        let renamed: Vec<String> = renamed.chain(unnamed).collect();
        let list = renamed.join(" ");
        (!renamed.is_empty()).then(|| format!("#define REX_RENAMED_TYPES \"{list}\""))
    }

    /// Header and kernel entries after the last top include; entries of variables at the end, where their names are known.
    pub(super) fn header(&mut self) {
        let written = self.program.sources.to_written(
            self.program
                .at(rex_syntax::TextRange::empty(TextSize::from(0))),
        );
        let file = self.program.sources.file(written.file).name();
        let mut lines = Vec::new();
        let names_of_members = self.names_of_members();
        let mut kernels = self.program.kernels.iter();
        let has_templates = kernels.any(|(_, kernel)| kernel.template.is_some());
        // Symbols that register_cubin.cpp makes of the names of types.
        if has_templates || !names_of_members.is_empty() {
            lines.extend(self.names_on_device());
        }
        // The header's own copies are declared for programs that have OpenMP's.
        if self.copies_asynchronously() {
            lines.push("#include <omp.h>".to_owned());
        }
        lines.extend(guarded::include(self.program, &["rex_kmp.h"]));
        lines.push(format!(
            "#define REX_SOURCE_FILE \"{}\"",
            crate::common::text::escaped(file)
        ));
        lines.extend(names_of_members);
        let mut kernels = Vec::new();
        let mut variables = Vec::new();
        let mut requires = Vec::new();
        for entry in &self.program.entries {
            match &entry.kind {
                EntryKind::Kernel(kernel) => {
                    let kernel = &self.program.kernels[*kernel];
                    if kernel.template.is_some() {
                        continue;
                    }
                    let names = &kernel.names;
                    kernels.push(format!("static char {};", names.key()));
                    kernels.push(format!(
                        "static struct __tgt_offload_entry {} REX_OFFLOAD_ENTRY =\n    REX_KERNEL_ENTRY({}, \"{}\");",
                        entry.name, names.key(), names.kernel()
                    ));
                }
                EntryKind::Variable {
                    symbol,
                    device_name,
                    storage,
                } => {
                    let object = match storage.is_behind_pointer() {
                        true => {
                            let pointer = namer::host_pointer(self.program, *symbol);
                            variables.extend(self.pointer_to_member(*symbol, &pointer));
                            HostObject::named(&pointer)
                        }
                        false => self.host_object(*symbol, &mut variables),
                    };
                    let flags = match storage {
                        DeviceStorage::Link => "REX_LINK",
                        DeviceStorage::Enter
                        | DeviceStorage::Shared
                        | DeviceStorage::Constructed
                        | DeviceStorage::Bound
                        | DeviceStorage::Constant
                        | DeviceStorage::Local
                        | DeviceStorage::Group => "0",
                    };
                    variables.push(format!(
                        "static struct __tgt_offload_entry {} REX_OFFLOAD_ENTRY =\n    REX_GLOBAL_ENTRY({}, \"{device_name}\", {}, {flags});",
                        entry.name, object.address, object.bytes
                    ));
                }
                EntryKind::Constructors(names) => {
                    kernels.push(format!("static char {};", names.key()));
                    kernels.push(format!(
                        "static struct __tgt_offload_entry {} REX_OFFLOAD_ENTRY =\n    REX_CONSTRUCTORS_ENTRY({}, \"{}\");",
                        entry.name, names.key(), names.kernel()
                    ));
                }
                EntryKind::Requirements(requirements) => {
                    let words: Vec<&str> = REQUIREMENTS
                        .iter()
                        .filter(|(flag, _)| requirements.contains(*flag))
                        .map(|(_, word)| *word)
                        .collect();
                    requires.push(format!(
                        "static struct __tgt_offload_entry {} REX_OFFLOAD_ENTRY =\n    REX_REQUIRES_ENTRY({});",
                        entry.name,
                        words.join(" | ")
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
        if !requires.is_empty() {
            lines.push(String::new());
            lines.push("/* What this file demands of every device. */".to_string());
            lines.extend(requires);
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

    /// The definition of the pointer to a static member, behind all classes of the file. Every file that defines the member defines it.
    fn pointer_to_member(&self, symbol: SymbolId, pointer: &str) -> Vec<String> {
        let Some(member) = self.program.static_members.get(&symbol) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        let address = self.host_object(symbol, &mut lines).address;
        let linkage = match member.is_shared_by_files() {
            true => "__attribute__((weak)) ",
            false => "",
        };
        lines.push(format!("{linkage}void *{pointer} = (void *){address};"));
        lines
    }

    /// How an entry names a variable; `lines` gets what it needs before it.
    fn host_object(&self, symbol: SymbolId, lines: &mut Vec<String>) -> HostObject {
        let name = self.program.symbols[symbol].qualified_name();
        let member = self.program.static_members.get(&symbol);
        if member.is_none_or(|member| member.is_public) {
            return HostObject::named(&name);
        }
        let tag = namer::private_member(&name);
        lines.push(format!("REX_PRIVATE_MEMBER({tag}, {name});"));
        HostObject {
            address: format!("REX_ADDRESS_OF_PRIVATE({tag})"),
            bytes: format!("REX_BYTES_OF_PRIVATE({tag})"),
        }
    }

    /// A pointer behind each variable that device code reaches through one: its host side, which maps and the runtime name.
    pub(super) fn reference_pointers(&mut self) {
        let mut places: Vec<(TextRange, Vec<String>)> = Vec::new();
        for (symbol, storage) in &self.program.device_code.variables {
            let found = &self.program.symbols[*symbol];
            let place = match self.program.static_members.get(symbol) {
                Some(member) => class_item(&self.program.items, member.in_class),
                None => found.declaration,
            };
            let has_pointer = storage.is_behind_pointer() && storage.has_entry();
            let (true, Some(declaration)) = (has_pointer, place) else {
                continue;
            };
            let line = self.reference_pointer(*symbol);
            match places.iter_mut().find(|(place, _)| *place == declaration) {
                Some((_, lines)) => lines.push(line),
                None => places.push((declaration, vec![line])),
            }
        }
        for (place, lines) in places {
            let indent = indent_at(self.program.source(), place.start());
            let text: String = lines
                .iter()
                .map(|line| format!("\n{indent}{line}"))
                .collect();
            let text = with_newlines(text, self.layout.newline);
            let at = end_with_comment(self.program.source(), place.end());
            self.edits.insert(at, rank::REFERENCE, text);
        }
    }

    fn reference_pointer(&self, symbol: SymbolId) -> String {
        let program = self.program;
        let found = &program.symbols[symbol];
        if program.static_members.contains_key(&symbol) {
            // The definition stands with the entry, behind that of the member.
            let pointer = namer::host_pointer(program, symbol);
            let name = pointer.rsplit("::").next().unwrap_or(&pointer);
            return format!("extern void *{name};");
        }
        let pointer = namer::reference_pointer(&found.name);
        if program.is_external(symbol) {
            return format!("extern void *{pointer};");
        }
        let linkage = if program.has_internal_linkage(symbol) {
            "static "
        } else if program.is_shared_by_files(symbol) {
            "__attribute__((weak)) "
        } else {
            ""
        };
        format!("{linkage}void *{pointer} = (void *)&{};", found.name)
    }

    /// A type for each kernel template, before the item that has its region: it stands for the kernel where an instantiation is launched.
    pub(super) fn kernel_templates(&mut self) {
        let mut texts = Vec::new();
        for (_, kernel) in self.program.kernels.iter() {
            let Some(template) = &kernel.template else {
                continue;
            };
            let construct = self.program.regions[kernel.region].construct;
            let range = self.program.constructs[construct].range;
            let Some(place) = item_around(&self.program.items, range) else {
                continue;
            };
            let name = &kernel.names.kernel();
            let has_pack = kernel.pack(self.program).is_some();
            let n_single = kernel.parameters.len() - usize::from(has_pack);
            let tag = match has_pack {
                true => format!(
                    "REX_KERNEL_TEMPLATE_OF_PACK(\"{name}\", {n_single}, \"{}\")",
                    namer::last_parameter(&template.parameters)
                ),
                false => format!("REX_KERNEL_TEMPLATE(\"{name}\", {n_single})"),
            };
            let text = format!(
                "template <{}> struct {name} {{\n  {tag}\n}};\n",
                template.parameters
            );
            texts.push((line_start(self.program.source(), place), text));
        }
        for (idx, (place, text)) in texts.into_iter().enumerate() {
            let order = u32::try_from(idx).unwrap_or(u32::MAX);
            let text = with_newlines(text, self.layout.newline);
            self.edits
                .insert(place, rank::TEMPLATE.saturating_add(order), text);
        }
    }

    fn copies_asynchronously(&self) -> bool {
        const COPIES: [&str; 2] = ["omp_target_memcpy_async", "omp_target_memcpy_rect_async"];
        let source = self.program.source();
        let expansion = self.program.unit.expansion.as_ref();
        expansion.is_some_and(|it| it.reads_header("omp.h"))
            && lex::identifiers(source, lex::whole(source))
                .any(|at| COPIES.contains(&self.program.text(at)))
    }

    /// Where the header goes, with the line breaks it needs before and after it.
    ///
    /// After the last include that stands at the top: before any function or variable, outside every conditional (or after the `#endif` of one that holds includes).
    fn header_place(&self) -> (TextSize, &'static str, &'static str) {
        let source = self.program.source();
        // Classes have code in them, too; and the header cannot stand in a block that an include stands in.
        let holds_construct = |item: &Item| {
            let mut constructs = self.program.constructs_in(item.range);
            constructs.next().is_some()
        };
        let lines = rex_syntax::pragma::directives(source);
        let holds_include = |item: &Item| {
            let mut includes = lines.iter().filter(|line| is_include(line.name(source)));
            matches!(item.kind, ItemKind::Block { .. })
                && includes.any(|line| item.range.contains_range(line.range))
        };
        let items = &self.program.items;
        let first_code = items
            .iter()
            .position(|item| has_code(item) || holds_construct(item) || holds_include(item))
            .map_or(TextSize::of(source), |idx| {
                let start = items[idx].range.start();
                // Attributes and pragmas in front are no part of the item; other directives are not for it.
                let before = lines
                    .iter()
                    .filter(|line| line.name(source) != "pragma")
                    .map(|line| line.range.end())
                    .chain(idx.checked_sub(1).map(|idx| items[idx].range.end()))
                    .filter(|end| *end <= start);
                let gap = TextRange::new(before.max().unwrap_or_default(), start);
                let attribute = lex::significant_tokens(source, gap).next();
                let first = attribute.map_or(start, |token| token.range.start());
                self.start_of_header(items[idx].range).unwrap_or(first)
            });
        let mut depth = 0u32;
        let mut pending = false;
        let mut place = None;
        let mut outermost = TextSize::of(source);
        for line in &lines {
            if line.range.start() >= first_code {
                // The first code stands inside a conditional: an include guard, whose header is a part of the file.
                if depth > 0 && place.is_none() {
                    return (outermost, "", "\n\n");
                }
                break;
            }
            match line.name(source) {
                "if" | "ifdef" | "ifndef" => {
                    if depth == 0 {
                        outermost = line.range.start();
                    }
                    depth += 1;
                }
                "endif" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && pending {
                        place = Some(line.range.end());
                        pending = false;
                    }
                }
                _ if self.header_around(line.range).is_some() => {}
                name if is_include(name) && depth == 0 => place = Some(line.range.end()),
                name if is_include(name) => pending = true,
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
                    .unwrap_or_default()
                    .min(first_code);
                (line_start(source, first), "", "\n\n")
            }
        }
    }

    /// The text of a header around a range, if a header stands written out in the file; in the written file.
    fn header_around(&self, range: TextRange) -> Option<TextRange> {
        let written = self.program.sources.to_written(self.program.at(range));
        let file = self.program.sources.file(written.file);
        file.header_around(written.range)
    }

    /// Where the header around a range begins.
    fn start_of_header(&self, range: TextRange) -> Option<TextSize> {
        let header = self.header_around(range)?;
        let source = self.program.source();
        let lines = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1));
        lines
            .filter_map(|at| TextSize::try_from(at).ok())
            .find(|at| {
                let place = self.program.at(TextRange::empty(*at));
                let written = self.program.sources.to_written(place);
                written.range.start() >= header.start()
            })
    }
}

fn is_include(directive: &str) -> bool {
    matches!(directive, "include" | "include_next" | "import")
}

/// The item of file or namespace scope with the class that a range stands in.
fn class_item(items: &[Item], in_class: Option<TextRange>) -> Option<TextRange> {
    let range = in_class?;
    let item = items.iter().find(|item| item.range.contains_range(range))?;
    match &item.kind {
        ItemKind::Block { items, .. } => class_item(items, in_class),
        _ => Some(item.range),
    }
}

/// The start of the line, where only blanks stand before a place.
fn line_start(source: &str, at: TextSize) -> TextSize {
    let before = &source[..usize::from(at)];
    let line = before.trim_end_matches([' ', '\t']);
    match line.is_empty() || line.ends_with('\n') {
        true => TextSize::of(line),
        false => at,
    }
}

/// Whether an item is or holds a function or a variable.
fn has_code(item: &Item) -> bool {
    match &item.kind {
        ItemKind::Function(_) | ItemKind::Variables(_) => true,
        ItemKind::Block { items, .. } => items.iter().any(has_code),
        _ => false,
    }
}

/// Where the item of file or namespace scope begins that has a range.
fn item_around(items: &[Item], range: TextRange) -> Option<TextSize> {
    let item = items.iter().find(|item| item.range.contains_range(range))?;
    match &item.kind {
        ItemKind::Block { items, .. } => item_around(items, range),
        _ => Some(item.range.start()),
    }
}
