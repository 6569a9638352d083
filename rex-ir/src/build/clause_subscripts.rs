//! Subscripts and sections of list items: their bounds are integers, and what they are taken of has elements of a size.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::omp::clause::{Clause, ClauseName, ListItem, Locator, Section, Step};

use super::Builder;
use crate::ty::{Extent, Meaning, TypeId, TypeKind};

impl Builder<'_> {
    /// Reports subscripts of a clause's list items that no array takes.
    pub(super) fn wrong_subscripts(&mut self, clause: &Clause) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let is_map = clause.name == ClauseName::Map;
        for item in clause.items() {
            self.check_subscripts(item, is_map, &mut found);
        }
        found
    }

    fn check_subscripts(&mut self, item: &ListItem, is_map: bool, found: &mut Vec<Diagnostic>) {
        let Locator::Path(path) = &item.locator else {
            return;
        };
        let name = self.text(path.root);
        let Some(symbol) = self.scopes.resolve(&self.symbols, name, path.root) else {
            return;
        };
        let symbol = &self.symbols[symbol];
        if !symbol.kind.is_variable() {
            return;
        }
        let mut ty = Some(symbol.ty);
        for step in &path.steps {
            let Some(known) = ty else {
                return;
            };
            ty = match step {
                Step::Member(member) => self.member_type(known, self.text(*member)),
                Step::Arrow(member) => {
                    let target = self.types.element(known);
                    target.and_then(|target| self.member_type(target, self.text(*member)))
                }
                Step::Deref => self.types.element(known),
                Step::Shape(_) => None,
                Step::Index(index) => {
                    let element = self.types.element(known);
                    if element.is_some() {
                        found.extend(self.wrong_bound(*index, "an index"));
                    }
                    element
                }
                Step::Section(section) => {
                    let element = self.types.element(known);
                    if let Some(element) = element {
                        self.check_section(section, element, item, found);
                        let is_last = path.steps.last() == Some(step);
                        found.extend(self.missing_length(section, known, item, is_map && is_last));
                        found.extend(self.outside_of_array(section, known, item));
                    }
                    element
                }
            };
        }
    }

    fn check_section(
        &mut self,
        section: &Section,
        element: TypeId,
        item: &ListItem,
        found: &mut Vec<Diagnostic>,
    ) {
        let bounds = [
            (section.lower, "the first index of a section"),
            (section.length, "the length of a section"),
            (section.stride, "the stride of a section"),
        ];
        for (bound, what) in bounds {
            found.extend(bound.and_then(|bound| self.wrong_bound(bound, what)));
        }
        if self.is_void(element) {
            let text = self.text(item.range);
            let headline = format!("`{text}` has elements of no size");
            found.push(
                Diagnostic::new(Code::MapListItem, self.at(section.range), headline)
                    .with_note("it is a section of what a `void *` points to")
                    .with_help("convert it to a pointer to its elements before, and name that: `char *bytes = p;`"),
            );
        }
    }

    /// A section of a pointer that does not say where it ends. Where it may be of assumed size (`map`, OpenMP 6.0), it stands for what is mapped already.
    fn missing_length(
        &self,
        section: &Section,
        of: TypeId,
        item: &ListItem,
        may_be_assumed: bool,
    ) -> Option<Diagnostic> {
        let of = self.types.get(self.types.object_type(of));
        if section.length.is_some() || !matches!(of.kind, TypeKind::Pointer(_)) {
            return None;
        }
        let text = self.text(item.range);
        let base = self.text(TextRange::new(item.range.start(), section.range.start()));
        let lower = section.lower.map_or("0", |lower| self.text(lower).trim());
        let diagnostic = |headline: String| {
            Diagnostic::new(Code::PointerNeedsLength, self.at(section.range), headline)
        };
        let diagnostic = match may_be_assumed {
            true => diagnostic(format!("the section `{text}` maps nothing by itself"))
                .with_severity(Severity::Warning)
                .with_note(format!(
                    "it has no length, and `{base}` is a pointer: it stands for what is mapped already (OpenMP 6.0)"
                )),
            false => diagnostic(format!("the section `{text}` needs a length")).with_note(
                format!("`{base}` is a pointer: nothing says how many elements there are"),
            ),
        };
        Some(diagnostic.with_help(format!(
            "write `{base}[{lower}:n]` with the number of elements"
        )))
    }

    /// A section that begins in front of its array, or ends behind it.
    fn outside_of_array(
        &self,
        section: &Section,
        of: TypeId,
        item: &ListItem,
    ) -> Option<Diagnostic> {
        let TypeKind::Array {
            extent: Extent::Constant(extent),
            ..
        } = &self.types.get(self.types.object_type(of)).kind
        else {
            return None;
        };
        let lower = section
            .lower
            .map_or(Some(0), |it| self.constant_value(it))?;
        let length = section.length.and_then(|it| self.constant_value(it));
        let stride = section.stride.map_or(Some(1), |it| self.constant_value(it));
        let last = length.zip(stride).and_then(|(length, stride)| {
            let steps = length.checked_sub(1).filter(|steps| *steps >= 0)?;
            lower.checked_add(steps.checked_mul(stride)?)
        });
        let n_elements = self.constant_in_words(extent, section.range)?;
        let is_behind = last.is_some_and(|last| last >= n_elements);
        if lower >= 0 && !is_behind {
            return None;
        }
        let text = self.text(item.range);
        let (place, severity) = match lower < 0 {
            true => ("begins in front of its array", Severity::Error),
            // Storage may go on behind an array at the end of a struct.
            false => ("ends behind its array", Severity::Warning),
        };
        let diagnostic = Diagnostic::new(
            Code::MapListItem,
            self.at(section.range),
            format!("`{text}` {place}"),
        );
        Some(
            diagnostic
                .with_severity(severity)
                .with_note(format!("the array has {n_elements} elements"))
                .with_help("write the first index and the number of elements: `a[first : number]`"),
        )
    }

    /// A bound that is no integer.
    fn wrong_bound(&mut self, bound: TextRange, what: &str) -> Option<Diagnostic> {
        if self.has_macros(bound) {
            return None;
        }
        let ty = self.type_of_expression(bound)?;
        self.is_no_integer(ty).then(|| {
            let text = self.text(bound);
            let headline = format!("{what} is an integer: `{text}` is none");
            Diagnostic::new(Code::MapListItem, self.at(bound), headline)
                .with_note(format!("its type is `{}`", self.types.spell(ty)))
                .with_help("write an integer, or convert it: `(int)x`")
        })
    }

    pub(super) fn is_void(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.object_type(ty)).kind,
            TypeKind::Named {
                meaning: Meaning::Void,
                ..
            }
        )
    }
}
