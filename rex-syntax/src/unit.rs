//! A source file ready for analysis: its directives, its macros and its syntax tree.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use text_size::{TextRange, TextSize};

use crate::attribute;
use crate::cst::{self, Node, Tree};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::edit::EditSet;
use crate::expansion::Expansion;
use crate::kind::{Field, Kind};
use crate::macros::MacroTable;
use crate::omp::directive::{Association, Directive, Leaf};
use crate::omp::parse::parse_directive;
use crate::ppcond::{Conditionals, inactive_ranges};
use crate::resolve::{self, VariantCall};
use crate::source::{FileId, FileRange, Language, SourceMap};
use crate::view::parse_view;
use crate::working::{derive, with_usual_tokens, working_file};
use crate::{places, pragma};

/// One file, read. All ranges are offsets into [`Unit::file`].
#[derive(Clone, Debug)]
pub struct Unit {
    /// The working file: the user's, or one derived from it with pragma-bearing macros written out.
    pub file: FileId,
    /// The language it is read as.
    pub language: Language,
    /// The active directives in source order.
    pub directives: Vec<Directive>,
    /// What the preprocessor skips, in order and disjoint.
    pub inactive: Vec<TextRange>,
    /// The lines of conditionals.
    pub conditionals: Conditionals,
    /// The macros.
    pub macros: MacroTable,
    /// The preprocessed text, if there is one.
    pub expansion: Option<Arc<Expansion>>,
    /// The syntax tree.
    pub tree: Tree,
    /// Calls of functions with variants.
    pub variant_calls: Vec<VariantCall>,
    /// Bodies of functions, and the bodies that they have on devices.
    device_bodies: Vec<(TextRange, TextRange)>,
    /// Functions that the host file must not have.
    pub for_devices_only: Vec<TextRange>,
    /// The clauses of `requires` directives.
    pub(crate) requirements: Vec<&'static str>,
    masks: Masks,
}

/// Reads a file. Never fails: what cannot be read is reported and left out.
pub fn read_unit(
    sources: &mut SourceMap,
    file: FileId,
    expansion: Option<Arc<Expansion>>,
    diagnostics: &mut Diagnostics,
) -> Unit {
    const MAX_ROUNDS: usize = 64;
    let file = with_usual_tokens(sources, file);
    let written = conditionals_and_macros(sources, file, expansion.as_ref());
    let mut working = working_file(sources, file, &written.1, diagnostics);
    let mut read = match working == file {
        true => written,
        false => conditionals_and_macros(sources, working, expansion.as_ref()),
    };
    let mut found = Diagnostics::new();
    let mut unit = read_working(sources, working, read, expansion.clone(), &mut found);
    for _ in 0..MAX_ROUNDS {
        let edits = resolve::edits(&unit);
        diagnostics.extend(of_written_out(&unit, &edits, &found));
        let derived = match edits.is_empty() {
            true => working,
            false => derive(sources, working, &edits),
        };
        if derived == working {
            break;
        }
        working = derived;
        read = conditionals_and_macros(sources, working, expansion.as_ref());
        found = Diagnostics::new();
        unit = read_working(sources, working, read, expansion.clone(), &mut found);
    }
    unit.variant_calls = resolve::calls(&unit);
    unit.device_bodies = resolve::device_bodies(&unit);
    unit.for_devices_only = resolve::for_devices_only(&unit);
    diagnostics.extend(found);
    unit
}

/// What was found wrong with the directives that edits write out: the next reading does not see them.
fn of_written_out(unit: &Unit, edits: &EditSet, found: &Diagnostics) -> Diagnostics {
    // What else an edit covers is there again afterwards.
    let written_out: Vec<&Directive> = edits
        .edits()
        .iter()
        .filter_map(|edit| unit.directives_in(edit.range).next())
        .filter(|it| it.first().is_some_and(resolve::stands_for_text))
        .collect();
    let mut kept = Diagnostics::new();
    for diagnostic in found.iter() {
        let at = diagnostic.primary.at.range;
        if written_out.iter().any(|it| it.range.contains_range(at)) {
            kept.push(diagnostic.clone());
        }
    }
    kept
}

/// Reads a working file as it is.
fn read_working(
    sources: &SourceMap,
    working: FileId,
    (inactive, macros): (Vec<TextRange>, MacroTable),
    expansion: Option<Arc<Expansion>>,
    diagnostics: &mut Diagnostics,
) -> Unit {
    let source = sources.file(working);
    let text = source.text();
    let directives: Vec<Directive> = pragma::scan(text)
        .iter()
        .filter(|line| !macros.skips(line.range.start()))
        .map(|line| parse_directive(text, line, working, diagnostics))
        .collect();
    for range in attribute::left_over(text) {
        if !macros.skips(range.start()) {
            let at = FileRange {
                file: working,
                range,
            };
            diagnostics.push(
                Diagnostic::new(
                    Code::UnsupportedDirective,
                    at,
                    "this OpenMP attribute is not supported",
                )
                .with_help("write the directive as a `#pragma omp` line"),
            );
        }
    }
    let view = parse_view(text, source.language(), &directives, &inactive, &macros);
    let mut tree = cst::parse(&view, source.shared_text(), source.language());
    let stand_ins: Vec<(TextSize, TextSize)> = directives
        .iter()
        .filter(|directive| directive.association() == Association::Standalone)
        .map(|directive| {
            let end = directive.range.start() + TextSize::of(';');
            (end, directive.range.end())
        })
        .collect();
    tree.stretch(&stand_ins);
    let masks = Masks::find(&tree, &directives);
    let requirements = directives
        .iter()
        .filter(|directive| directive.first() == Some(Leaf::Requires))
        .flat_map(|directive| &directive.clauses)
        .map(|clause| clause.name.spelling())
        .collect();
    Unit {
        file: working,
        language: source.language(),
        directives,
        inactive,
        conditionals: Conditionals::of(text),
        macros,
        expansion,
        tree,
        variant_calls: Vec::new(),
        device_bodies: Vec::new(),
        for_devices_only: Vec::new(),
        requirements,
        masks,
    }
}

impl Unit {
    /// The statement that a directive applies to.
    ///
    /// `None` for a standalone or declarative directive, and where no statement follows.
    pub fn statement_of(&self, directive_idx: usize) -> Option<Node<'_>> {
        let directive = self.directives.get(directive_idx)?;
        if directive.association() != Association::Statement {
            return None;
        }
        let mask = self.mask_of(directive_idx)?;
        let body = mask.field(Field::Body)?;
        // An assumed `;` is no statement.
        let is_assumed = body.is_missing() || (body.has_error() && body.range().is_empty());
        // In damaged text the parser may take a part of the mask itself for the body.
        let follows = body.range().start() >= directive.range.end();
        (follows && !is_assumed).then_some(body)
    }

    /// The body that a function has on devices in place of this one.
    pub fn device_body(&self, body: TextRange) -> Option<TextRange> {
        let mut bodies = self.device_bodies.iter().rev();
        bodies
            .find(|(own, _)| *own == body)
            .map(|(_, other)| *other)
    }

    /// The directives that are whole in a range.
    pub fn directives_in(&self, range: TextRange) -> impl Iterator<Item = &Directive> {
        places::inside(&self.directives, range, |directive| directive.range)
    }

    /// Whether the preprocessor skips a range.
    pub fn is_inactive(&self, range: TextRange) -> bool {
        let mut arms = self.inactive_from(range.start());
        arms.next().is_some_and(|arm| arm.contains_range(range))
    }

    /// What the preprocessor skips of a range.
    pub fn inactive_in(&self, range: TextRange) -> impl Iterator<Item = TextRange> + '_ {
        self.inactive_from(range.start())
            .take_while(move |arm| arm.start() < range.end())
            .filter_map(move |arm| arm.intersect(range))
            .filter(|arm| !arm.is_empty())
    }

    /// The arms that end behind a place.
    fn inactive_from(&self, at: TextSize) -> impl Iterator<Item = TextRange> + '_ {
        let first = self.inactive.partition_point(|arm| arm.end() <= at);
        self.inactive[first..].iter().copied()
    }

    /// The directive that this node stands for in the tree.
    pub fn directive_of(&self, node: Node<'_>) -> Option<usize> {
        self.masks.directives.get(&node.index()).copied()
    }

    /// The node that stands for a directive in the tree: a [`Kind::WhileStatement`] or the statement `;`.
    ///
    /// `None` for declarative directives and for those whose place the parser could not read.
    pub fn mask_of(&self, directive_idx: usize) -> Option<Node<'_>> {
        self.tree
            .node(*self.masks.nodes.get(directive_idx)?.as_ref()?)
    }
}

/// Which node stands for which directive.
#[derive(Clone, Debug, Default)]
struct Masks {
    directives: FxHashMap<u32, usize>,
    nodes: Vec<Option<u32>>,
}

impl Masks {
    fn find(tree: &Tree, directives: &[Directive]) -> Masks {
        let mut masks = Masks {
            directives: FxHashMap::default(),
            nodes: vec![None; directives.len()],
        };
        for node in tree.nodes().filter(|node| node.is_named()) {
            let expected = match node.kind() {
                Kind::WhileStatement => Association::Statement,
                Kind::ExpressionStatement => Association::Standalone,
                _ => continue,
            };
            let start = node.range().start();
            let Ok(idx) = directives.binary_search_by_key(&start, |it| it.range.start()) else {
                continue;
            };
            let is_mask = directives[idx].association() == expected && masks.nodes[idx].is_none();
            if is_mask {
                masks.nodes[idx] = Some(node.index());
                masks.directives.insert(node.index(), idx);
            }
        }
        masks
    }
}

fn conditionals_and_macros(
    sources: &SourceMap,
    file: FileId,
    expansion: Option<&Arc<Expansion>>,
) -> (Vec<TextRange>, MacroTable) {
    let source = sources.file(file);
    let text = source.text();
    let written_line = |offset: TextSize| {
        sources.written_line(FileRange {
            file,
            range: TextRange::empty(offset),
        })
    };
    let inactive = inactive_ranges(
        text,
        source.language(),
        expansion.map(Arc::as_ref),
        written_line,
    );
    let includes: Vec<(u32, TextSize)> = match expansion {
        None => Vec::new(),
        Some(_) => pragma::directives(text)
            .iter()
            .filter(|line| matches!(line.name(text), "include" | "include_next" | "import"))
            .map(|line| (written_line(line.range.start()), line.range.start()))
            .collect(),
    };
    let offset_of_line = |line: u32| {
        let idx = includes.partition_point(|include| include.0 < line);
        match (line, includes.get(idx)) {
            (0, _) => TextSize::new(0),
            (_, Some(include)) => include.1,
            (_, None) => TextSize::of(text),
        }
    };
    let macros = MacroTable::read(text, &inactive, expansion.cloned(), offset_of_line);
    (inactive, macros)
}

#[cfg(test)]
mod tests;
