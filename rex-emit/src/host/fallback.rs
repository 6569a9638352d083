//! What the host executes when a region was not offloaded.
//!
//! The region's own statement with what [remains](super::remains) of its directives. Variables that the region has copies of get them here too, where the statement may change them; directives
//! that make no sense without the enclosing `target` or `teams` are left out.

use rex_ir::region::{CapturedObject, ConstructId, Region, RegionId, Transport};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::TypeKind;
use rex_syntax::TextRange;
use rex_syntax::edit::EditSet;
use rex_syntax::layout::indent_at;
use rex_syntax::omp::directive::Leaf;

use super::Host;
use crate::common::classes;
use crate::common::text::reindent;

impl Host<'_> {
    /// The statement for the host, its first line without indentation. `known` are operands of its directives that variables hold.
    pub(super) fn fallback(
        &self,
        id: RegionId,
        known: &[(TextRange, String)],
        indent: &str,
        step: &str,
    ) -> String {
        let region = &self.program.regions[id];
        let construct = &self.program.constructs[region.construct];
        let Some(statement) = construct.statement else {
            return ";".to_string();
        };
        let own = indent_at(self.program.source(), statement.start());
        let remains = self.remains(region, known);
        let mut edits = EditSet::new();
        let mut inner = self.program.constructs_in(statement);
        let is_refused = inner.any(|(_, inner)| self.has_undeclared_reductions(inner));
        for (id, inner) in self.program.constructs_in(statement) {
            if !is_refused && !self.is_dropped(region.construct, &remains.leaves, id) {
                continue;
            }
            for directive in &inner.directives {
                let range = self.program.unit.directives[*directive].range;
                if statement.contains_range(range) && !self.program.unit.is_inactive(range) {
                    edits.delete(range - statement.start());
                }
            }
        }
        self.newer_words_in(statement, &mut edits);
        edits.extend(self.rename_edits(statement));
        for (range, text) in self.names_of_copies(region, statement) {
            edits.replace(range - statement.start(), text);
        }
        for arm in crate::common::conditionals::hidden_in(self.program, statement) {
            edits.delete(arm - statement.start());
        }
        let text = self.program.text(statement);
        let text = match edits.apply(text.as_bytes()) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => text.to_string(),
        };

        let unused = self.unused.get(&id).into_iter().flatten();
        let mut outer: Vec<String> = unused
            .map(|symbol| format!("(void){};", self.program.name(*symbol)))
            .collect();
        let mut inner = Vec::new();
        // The copies of a pack are parameters.
        let mut pack: Option<[String; 2]> = None;
        for capture in &region.captures {
            let CapturedObject::Variable(symbol) = capture.object else {
                continue;
            };
            let name = self.program.name(symbol);
            let outside = self.program.symbols[symbol].qualified_name();
            let types = &self.program.types;
            let ty = match types.get(capture.ty).kind {
                TypeKind::Reference(to) => to,
                _ => capture.ty,
            };
            let used = region
                .allocators
                .iter()
                .find(|used| used.allocator == symbol);
            let alignment = construct
                .alignments
                .iter()
                .find(|known| known.symbol == symbol)
                .map_or(String::new(), |known| {
                    let value = self.program.text(known.value).trim();
                    format!("__attribute__((aligned({value}))) ")
                });
            match capture.transport {
                Transport::Private if used.is_some() => {
                    let (traits, space) =
                        used.map_or((None, None), |used| (used.traits, used.memory_space));
                    let space = space.map_or("omp_default_mem_space", |space| {
                        self.program.text(space).trim()
                    });
                    let traits = match traits {
                        Some((traits, _)) => {
                            let traits = self.program.name(traits);
                            format!("sizeof({traits}) / sizeof(*{traits}), {traits}")
                        }
                        None => "0, 0".to_string(),
                    };
                    inner.push(format!(
                        "{} = omp_init_allocator({space}, {traits});",
                        types.declare(ty, name)
                    ));
                }
                Transport::Private
                    if construct.nest.is_none_or(|nest| {
                        !self.program.nests[nest].loops.iter().any(|canonical| {
                            canonical.variable == *name && canonical.declares_variable
                        })
                    }) =>
                {
                    inner.push(format!("{alignment}{};", types.declare(ty, name)))
                }
                Transport::ByCategory if self.program.packs.contains_key(&symbol) => {
                    let value = types.spell(ty);
                    pack = capture.may_be_written.then(|| {
                        [
                            format!(
                                "[&](typename rex_host_variable<{value}>::rex_type... {name}) {{"
                            ),
                            format!("}}({name}...);"),
                        ]
                    });
                }
                // A copy, or another name for an object that the region maps.
                Transport::ByCategory if capture.may_be_written => {
                    let of = |object: &str| {
                        format!("typename rex_host_variable<__typeof__({object})>::rex_type")
                    };
                    let copy = format!("{name}__host");
                    outer.push(format!("{} {copy} = {outside};", of(&outside)));
                    inner.push(format!("{alignment}{} {name} = {copy};", of(&copy)));
                }
                Transport::Literal
                | Transport::Copy
                | Transport::Pointee
                | Transport::CopyByCategory
                    if capture.may_be_written && !types.get(ty).is_const =>
                {
                    let copy = format!("{name}__host");
                    let is_array =
                        matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. });
                    if is_array {
                        // Sizes that have names of their own here make another type of it.
                        let cast = match types.is_variably_modified(ty) {
                            true => format!("({})", types.declare(ty, "(*)")),
                            false => String::new(),
                        };
                        outer.push(format!(
                            "{} = {cast}&{outside};",
                            types.declare(ty, &format!("(*{copy})"))
                        ));
                        if classes::has_class_elements(self.program, ty) {
                            let element = types.declare_mutable(types.innermost_element(ty), "");
                            let array = types.declare_mutable(ty, "");
                            let reference = types.declare(ty, &format!("(&{name})"));
                            inner.push(format!(
                                "rex_array_of_copies<{element}, {array}> {name}__own(*{copy});"
                            ));
                            inner.push(format!("{reference} = {name}__own.rex_object();"));
                        } else {
                            inner.push(format!("{alignment}{};", types.declare(ty, name)));
                            inner.push(format!(
                                "__builtin_memcpy({name}, *{copy}, sizeof({name}));"
                            ));
                        }
                    } else {
                        outer.push(format!("{} = {outside};", types.declare(ty, &copy)));
                        inner.push(format!("{alignment}{} = {copy};", types.declare(ty, name)));
                    }
                }
                _ => {}
            }
        }
        let directives = |margin: &str| {
            let lines = remains.lines.iter();
            let lines = lines.map(|line| format!("{line}\n{margin}"));
            lines.collect::<String>()
        };
        let (open, close) = match pack {
            Some([open, close]) => (open, close),
            None => ("{".to_string(), "}".to_string()),
        };
        if outer.is_empty() && inner.is_empty() && open == "{" {
            let text = reindent(text.trim_end(), own, indent);
            return format!("{}{text}", directives(indent));
        }
        let margin = format!("{indent}{step}");
        let mut lines = outer;
        lines.push(open);
        lines.extend(inner.into_iter().map(|line| format!("{step}{line}")));
        lines.push(format!(
            "{step}{}{}",
            directives(&margin),
            reindent(text.trim_end(), own, &margin)
        ));
        lines.push(close);
        lines.join(&format!("\n{indent}"))
    }

    /// Whether a region's statement on the host has a copy of a variable.
    pub(super) fn has_copy(region: &Region, symbol: SymbolId) -> bool {
        region.captures.iter().any(|capture| {
            capture.object == CapturedObject::Variable(symbol)
                && matches!(
                    capture.transport,
                    Transport::Private
                        | Transport::Literal
                        | Transport::Copy
                        | Transport::Pointee
                        | Transport::ByCategory
                        | Transport::CopyByCategory
                )
                && capture.may_be_written
        })
    }

    /// Where a range names variables with qualifiers of which the region has copies, and the text that names these.
    pub(super) fn names_of_copies(
        &self,
        region: &Region,
        range: TextRange,
    ) -> Vec<(TextRange, String)> {
        let copy =
            |symbol| Host::has_copy(region, symbol).then(|| self.program.name(symbol).to_string());
        let inside = |at: TextRange| range.contains_range(at);
        let calls = region.qualified_calls.iter().filter(|call| {
            inside(call.range) && call.names.iter().any(|(_, symbol)| copy(*symbol).is_some())
        });
        let mut found: Vec<(TextRange, String)> = calls
            .map(|call| (call.range, call.written_with(copy)))
            .collect();
        for (at, symbol) in region.qualified_uses.iter().filter(|(at, _)| inside(*at)) {
            let is_free = !found.iter().any(|(range, _)| range.contains_range(*at));
            found.extend(copy(*symbol).filter(|_| is_free).map(|name| (*at, name)));
        }
        found
    }

    /// Whether a construct inside a region makes no sense where only `kept` constructs of the region's own are around it.
    fn is_dropped(&self, region: ConstructId, kept: &[Leaf], id: ConstructId) -> bool {
        let constructs = &self.program.constructs;
        let construct = &constructs[id];
        let around: Vec<ConstructId> =
            std::iter::successors(construct.parent, |outer| constructs[*outer].parent)
                .take_while(|outer| *outer != region)
                .collect();
        // The construct of a kind around it, if the host keeps it.
        let is_kept_in = |leaves: &[Leaf]| {
            around
                .iter()
                .find(|outer| leaves.iter().any(|leaf| constructs[**outer].has(*leaf)))
                .map_or_else(
                    || leaves.iter().any(|leaf| kept.contains(leaf)),
                    |outer| !self.is_dropped(region, kept, *outer),
                )
        };
        // The one thread of the region has all of a construct that no other thread shares; those that call something may be several.
        let is_alone = !self
            .program
            .is_called(construct.range, constructs[region].range)
            && !kept.contains(&Leaf::Parallel)
            && !around
                .iter()
                .any(|outer| constructs[*outer].has(Leaf::Parallel));
        let needs_region = [Leaf::Teams, Leaf::Target]
            .iter()
            .any(|leaf| construct.has(*leaf))
            || construct.has(Leaf::Distribute) && !kept.contains(&Leaf::Teams)
            || construct.has(Leaf::Loop)
                && !kept.contains(&Leaf::Teams)
                && !kept.contains(&Leaf::Parallel);
        match construct.leaves.first() {
            _ if needs_region => true,
            Some(Leaf::Section) => !is_kept_in(&[Leaf::Sections]),
            Some(Leaf::Scan | Leaf::Ordered) => !is_kept_in(&[Leaf::For, Leaf::Simd]),
            Some(Leaf::Cancel | Leaf::CancellationPoint) => {
                let directives = &self.program.unit.directives;
                let named = construct
                    .directives
                    .first()
                    .and_then(|idx| directives[*idx].argument)
                    .map(|range| self.program.text(range));
                let leaf = match named {
                    Some("parallel") => Leaf::Parallel,
                    Some("sections") => Leaf::Sections,
                    Some("taskgroup") => Leaf::Taskgroup,
                    _ => Leaf::For,
                };
                !is_kept_in(&[leaf])
            }
            Some(Leaf::For | Leaf::Sections | Leaf::Single | Leaf::Scope | Leaf::Barrier) => {
                is_alone
            }
            _ => false,
        }
    }
}
