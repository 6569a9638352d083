//! The host file: the user's text with ordered, disjoint edits.
//!
//! Every construct is replaced or bracketed in place; everything else keeps its bytes. Inserted text follows the file's indentation and line endings.

mod code;
mod data;
mod entries;
mod fallback;
mod launch;
mod lines;
mod maps;
mod members;
mod newer;
mod remains;
mod renames;
mod task;
mod unused;

use std::cell::OnceCell;

use crate::common::closures::wrapped;
use crate::common::conditionals::partners_outside;
use rex_ir::launch::LaunchId;
use rex_ir::map::{MapArraysId, MapOwner};
use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, ConstructId, DataConstructId, DataConstructKind, RegionId};
use rex_ir::symbol::SymbolId;
use rex_syntax::edit::{EditConflict, EditSet, TextEdit};
use rex_syntax::layout::{Layout, indent_at};
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::{Directive, Leaf};
use rex_syntax::resolve::VARIANT_SUFFIX;
use rex_syntax::{TextRange, TextSize};
use rustc_hash::FxHashMap;

use self::lines::CodeLines;
use crate::common::expr::Words;
use crate::common::text::with_newlines;

/// Ranks of insertions at one place.
pub(crate) mod rank {
    pub(crate) const INIT: u32 = 0;
    pub(crate) const HEADER: u32 = 1;
    pub(crate) const REFERENCE: u32 = 2;
    pub(crate) const TEMPLATE: u32 = 100;
    /// Closing brackets of inner constructs come first.
    pub(crate) const CLOSE: u32 = 3;
    pub(crate) const LAMBDA: u32 = 500;
    pub(crate) const END_OF_FILE: u32 = 1000;
}

/// Whether a file has directives that host compilers may refuse: variants of functions for `dispatch` and of `begin declare variant`, and `requires`.
pub(crate) fn has_refused_directives(program: &Program) -> bool {
    program.unit.directives.iter().any(|directive| {
        let text = program.text(directive.range);
        directive.first() == Some(Leaf::Requires)
            || directive.first() == Some(Leaf::DeclareVariant)
                && (text.contains(Leaf::Dispatch.spelling()) || text.contains(VARIANT_SUFFIX))
    })
}

/// Prints a file without device constructs, whose calls mean what the host calls.
pub(crate) fn emit_without_devices(program: &Program) -> Result<Vec<u8>, EditConflict> {
    let mut host = Host::new(program);
    host.remove_declarative_directives();
    host.apply_newer_words();
    let needs_header = |edit: &TextEdit| edit.insert.contains("REX_");
    if host.edits.edits().iter().any(needs_header) {
        host.header();
    }
    host.finish()
}

/// Prints the host file.
pub(crate) fn emit(program: &Program) -> Result<Vec<u8>, EditConflict> {
    let mut host = Host::new(program);
    host.collect_renames();
    host.header();
    host.kernel_templates();
    host.reference_pointers();
    host.remove_declarative_directives();
    host.init();
    host.constructs();
    host.closures();
    host.apply_renames();
    host.share_keys();
    host.apply_newer_words();
    host.finish()
}

struct Host<'p> {
    program: &'p Program,
    layout: Layout,
    lines: OnceCell<CodeLines>,
    edits: EditSet,
    /// Variables that mean something else in statements, those of inner statements first.
    renames: Vec<renames::Rename>,
    /// Where the user's text gets other names, in source order.
    renamed_places: EditSet,
    arrays: FxHashMap<MapOwner, MapArraysId>,
    /// What replaces whole constructs, by their places. The texts, many times as long as the constructs, are made when they are written.
    calls: FxHashMap<TextRange, Call>,
    /// Variables that only regions with copies of their own name.
    unused: FxHashMap<RegionId, Vec<SymbolId>>,
}

/// A call of the runtime in the place of a construct.
#[derive(Clone, Copy)]
enum Call {
    Launch(LaunchId),
    Data(DataConstructId),
}

/// The device of a construct without a `device` clause.
const DEFAULT_DEVICE: &str = "REX_DEVICE_DEFAULT";

/// Prints names as they are called at one place.
struct At<'h, 'p> {
    host: &'h Host<'p>,
    place: TextRange,
    /// Operands that variables hold.
    known: Vec<(TextRange, String)>,
}

impl Words for At<'_, '_> {
    fn source(&self, range: TextRange) -> String {
        let known = self.known.iter().find(|(known, _)| *known == range);
        match known {
            Some((_, name)) => name.clone(),
            None => self.host.renamed_text(range),
        }
    }

    fn name(&self, name: &str) -> String {
        let renamed = self.host.renamed(name, self.place);
        renamed.unwrap_or(name).to_string()
    }
}

impl<'p> Host<'p> {
    fn new(program: &'p Program) -> Host<'p> {
        let arrays = program.map_arrays.iter();
        Host {
            program,
            arrays: arrays.map(|(id, arrays)| (arrays.owner, id)).collect(),
            layout: Layout::detect(program.source()),
            lines: OnceCell::new(),
            edits: EditSet::new(),
            renames: Vec::new(),
            calls: FxHashMap::default(),
            unused: unused::unused_variables(program),
            renamed_places: EditSet::new(),
        }
    }

    /// The text that stands in the place of a construct alone.
    fn call_text(&self, call: Call) -> String {
        let text = match call {
            Call::Launch(launch) => self.launch(&self.program.launches[launch]),
            Call::Data(data) => self.stand_alone(data, &self.program.data_constructs[data]),
        };
        with_newlines(text.unwrap_or_default(), self.layout.newline)
    }

    fn finish(self) -> Result<Vec<u8>, EditConflict> {
        let file = self.program.sources.file(self.program.unit.file);
        let mut host = self;
        let mut edits = std::mem::take(&mut host.edits);
        // With all that was changed in them.
        let device_functions = &host.program.unit.for_devices_only;
        edits.drop_inside(device_functions);
        for function in device_functions {
            edits.delete(host.whole_line(*function));
        }
        edits.into_applied(file.bytes(), |range| {
            host.calls.get(&range).map(|call| host.call_text(*call))
        })
    }

    fn words(&self, place: TextRange) -> At<'_, 'p> {
        At {
            host: self,
            place,
            known: Vec::new(),
        }
    }

    /// Blanks before a construct: those of its statement where the pragma stands at the margin.
    fn indent(&self, construct: ConstructId) -> String {
        let source = self.program.source();
        let construct = &self.program.constructs[construct];
        let pragma = indent_at(source, construct.range.start());
        let statement = match construct.statement {
            Some(statement) => indent_at(source, statement.start()),
            None => {
                let lines = self.lines.get_or_init(|| CodeLines::of(source));
                lines.indent_around(source, construct.range)
            }
        };
        if pragma.is_empty() {
            statement.to_string()
        } else {
            pragma.to_string()
        }
    }

    fn unit_indent(&self) -> &str {
        &self.layout.indent_unit
    }

    /// What moves generated lines of a construct to its indentation when its pragma stands at the margin.
    fn margin(&self, construct: ConstructId, indent: &str) -> String {
        let own = indent_at(
            self.program.source(),
            self.program.constructs[construct].range.start(),
        );
        if own.is_empty() {
            indent.to_string()
        } else {
            String::new()
        }
    }

    fn remove_declarative_directives(&mut self) {
        for directive in &self.program.unit.directives {
            if directive.declares_for_devices() {
                self.edits.delete(self.whole_line(directive.range));
            } else if directive.first() == Some(Leaf::Requires) {
                self.host_requires(directive);
            }
        }
    }

    /// The order of atomic operations concerns the host too; the rest is said to the runtime, and host compilers refuse it.
    fn host_requires(&mut self, directive: &Directive) {
        let Some(order) = directive.clause(ClauseName::AtomicDefaultMemOrder) else {
            self.edits.delete(self.whole_line(directive.range));
            return;
        };
        for clause in &directive.clauses {
            if clause.range != order.range {
                self.edits.delete(clause.range);
            }
        }
    }

    /// Deletes a range that several constructs may ask to delete.
    fn delete_once(&mut self, range: TextRange) {
        if !self
            .edits
            .edits()
            .iter()
            .any(|edit| edit.range.contains_range(range))
        {
            self.edits.delete(range);
        }
    }

    /// The range with its indentation and line ending, when nothing else stands on its lines.
    fn whole_line(&self, range: TextRange) -> TextRange {
        let source = self.program.source();
        let start = usize::from(range.start());
        let end = usize::from(range.end());
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        if !source[line_start..start].trim().is_empty() {
            return range;
        }
        let rest = &source[end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        let after = if rest[blanks..].starts_with('\n') {
            end + blanks + 1
        } else {
            return range;
        };
        let size = |at: usize| rex_syntax::TextSize::try_from(at).unwrap_or_default();
        TextRange::new(size(line_start), size(after))
    }

    fn init(&mut self) {
        let Some(init) = self.program.lifecycle.init else {
            return;
        };
        let source = self.program.source();
        let at = usize::from(init.at);
        let line_indent = indent_at(source, init.at).to_string();
        let inner = format!("{line_indent}{}", self.unit_indent());
        let rest = &source[at..];
        let same_line = !rest
            .trim_start_matches([' ', '\t'])
            .starts_with(['\n', '\r']);
        let text = if same_line {
            " rex_offload_init();".to_string()
        } else {
            format!("\n{inner}rex_offload_init();")
        };
        self.edits.insert(
            init.at,
            rank::INIT,
            with_newlines(text, self.layout.newline),
        );
    }

    fn constructs(&mut self) {
        for (id, launch) in self.program.launches.iter() {
            let construct = self.program.regions[launch.region].construct;
            let place = self.program.constructs[construct].range;
            for partner in partners_outside(self.program, place) {
                self.delete_once(partner);
            }
            if self.arrays_of(MapOwner::Launch(launch.region)).is_some() {
                self.replace_by(place, Call::Launch(id));
            }
        }
        for (id, data) in self.program.data_constructs.iter() {
            match data.kind {
                DataConstructKind::Data => self.bracket(id, data),
                _ if self.arrays_of(MapOwner::Data(id)).is_some() => {
                    self.replace_by(self.pragma(data.construct), Call::Data(id));
                }
                _ => {}
            }
        }
    }

    fn replace_by(&mut self, place: TextRange, call: Call) {
        self.calls.insert(place, call);
        self.edits.replace(place, String::new());
    }

    /// Lambdas that kernels call get names that the device file has, too.
    fn closures(&mut self) {
        let whole = TextRange::up_to(TextSize::of(self.program.source()));
        for (range, [before, after]) in wrapped(self.program, whole) {
            self.edits.insert(range.start(), rank::LAMBDA, before);
            self.edits.insert(range.end(), rank::CLOSE, after);
        }
    }

    /// The pragma of a construct's first directive.
    fn pragma(&self, construct: ConstructId) -> TextRange {
        let construct = &self.program.constructs[construct];
        construct.directives.first().map_or(construct.range, |idx| {
            self.program.unit.directives[*idx].range
        })
    }

    fn object_name(&self, object: CapturedObject) -> String {
        rex_ir::print::object_name(self.program, object)
    }
}
