//! What the arguments of clauses must be in device constructs, as far as their values and types are known: pointers,
//! lengths of sections, and variables that no other clause gives something else.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::{Clause, ClauseName, Locator, Section, Step};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;

use super::Builder;
use super::loops::first_line;
use crate::region::{CanonicalLoop, Construct, DataSharing, ReductionOperation, SharingAttribute};
use crate::symbol::{Symbol, SymbolId};
use crate::ty::{Category, Meaning, TypeKind};

impl Builder<'_> {
    /// Reports arguments that their clauses cannot have, in constructs for devices and inside them.
    pub(super) fn check_arguments(&mut self) {
        let mut found = Vec::new();
        let mut clauses = Vec::new();
        let unit = self.unit;
        let constructs: Vec<&Construct> = self.constructs.values().collect();
        for construct in constructs {
            let is_for_devices = construct
                .leaves
                .first()
                .is_some_and(|leaf| leaf.is_device());
            if !is_for_devices && !self.is_on_device(construct) {
                continue;
            }
            found.extend(
                construct
                    .sharing
                    .iter()
                    .filter_map(|it| self.wrong_copy(construct, it)),
            );
            for directive in construct
                .directives
                .iter()
                .map(|idx| &unit.directives[*idx])
            {
                for clause in &directive.clauses {
                    clauses.push(clause);
                    found.extend(self.wrong_pointers(clause));
                    found.extend(self.wrong_sections(clause));
                    found.extend(self.wrong_modifiers(construct, clause));
                }
                found.extend(self.listed_twice(directive));
                found.extend(self.category_twice(directive));
                found.extend(self.allocated_without_copy(directive));
                found.extend(self.longer_than_safe(directive));
                found.extend(self.hint_without_name(directive));
                if directive.has(Leaf::Target) {
                    found.extend(self.mapped_and_private(construct, &directive.clauses));
                }
            }
        }
        let threadprivate = self.threadprivate_variables();
        for clause in clauses {
            found.extend(self.wrong_number(clause));
            found.extend(self.wrong_items(clause, &threadprivate));
            found.extend(self.wrong_subscripts(clause));
        }
        found.extend(self.different_hints());
        for diagnostic in found {
            self.diagnostics.push(diagnostic);
        }
    }

    /// List items of `is_device_ptr` and `use_device_ptr` that are no pointers. Arrays are pointers there.
    fn wrong_pointers(&self, clause: &Clause) -> Vec<Diagnostic> {
        if !matches!(
            clause.name,
            ClauseName::IsDevicePtr | ClauseName::UseDevicePtr
        ) {
            return Vec::new();
        }
        let is_no_pointer = |symbol: &Symbol| {
            let ty = self.types.object_type(symbol.ty);
            let is_array = matches!(self.types.get(ty).kind, TypeKind::Array { .. });
            let category = self.types.category(ty);
            symbol.kind.is_variable()
                && !is_array
                && matches!(
                    category,
                    Category::Scalar | Category::WideScalar | Category::Aggregate
                )
        };
        let named = whole_variables(clause).filter_map(|root| {
            let found = self.scopes.resolve(&self.symbols, self.text(root), root)?;
            let symbol = &self.symbols[found];
            is_no_pointer(symbol).then_some((root, symbol))
        });
        let spelling = clause.name.spelling();
        named
            .map(|(at, symbol)| {
                let name = &symbol.name;
                let headline = format!("`{spelling}` takes pointers: `{name}` is none");
                Diagnostic::new(Code::MapListItem, self.at(at), headline)
                    .with_note(format!("its type is `{}`", self.types.spell(symbol.ty)))
                    .with_help("for the storage of a variable there are `has_device_addr` and `use_device_addr`")
            })
            .collect()
    }

    /// Sections whose length is negative, or whose stride is not positive.
    fn wrong_sections(&self, clause: &Clause) -> Vec<Diagnostic> {
        let sections = clause
            .items()
            .iter()
            .flat_map(|item| sections(&item.locator));
        let mut found = Vec::new();
        for section in sections {
            for (part, least, what, help) in [
                (
                    section.length,
                    0,
                    "the length of a section is not negative",
                    "write the number of elements behind the first colon",
                ),
                (
                    section.stride,
                    1,
                    "the stride of a section is positive",
                    "write the distance of two elements, or leave the second colon out",
                ),
            ] {
                let value = part.and_then(|part| Some((part, self.constant_value(part)?)));
                if let Some((at, value)) = value.filter(|(_, value)| *value < least) {
                    found.push(
                        Diagnostic::new(Code::MapListItem, self.at(at), what)
                            .with_note(format!("this is {value}"))
                            .with_help(help),
                    );
                }
            }
        }
        found
    }

    /// Variables of a `target` directive that one clause maps or hands over, and another one copies or hands over otherwise.
    fn mapped_and_private(&self, construct: &Construct, clauses: &[Clause]) -> Vec<Diagnostic> {
        let mut named: Vec<(SymbolId, TextRange, ClauseName)> = Vec::new();
        for clause in clauses {
            let is_copied = match clause.name {
                ClauseName::Private | ClauseName::Firstprivate => true,
                ClauseName::Map | ClauseName::IsDevicePtr | ClauseName::HasDeviceAddr => false,
                _ => continue,
            };
            for root in whole_variables(clause) {
                let Some(symbol) = self.scopes.resolve(&self.symbols, self.text(root), root) else {
                    continue;
                };
                // The copies of an inner construct are made of what the outer one maps.
                let is_for_target = !is_copied
                    || construct
                        .sharing
                        .iter()
                        .any(|listed| listed.at == root && listed.on == Leaf::Target);
                if is_for_target {
                    named.push((symbol, root, clause.name));
                }
            }
        }
        named.sort_by_key(|(_, at, _)| at.start());
        let copies = [ClauseName::Private, ClauseName::Firstprivate];
        let conflicts = named.iter().enumerate().filter_map(|(idx, item)| {
            let first = named[..idx].iter().find(|first| {
                // Two kinds of copies are reported with the other data-sharing attributes.
                let are_copies = copies.contains(&first.2) && copies.contains(&item.2);
                first.0 == item.0 && first.2 != item.2 && !are_copies
            })?;
            Some((first, item))
        });
        conflicts
            .map(|(first, item)| {
                let name = &self.symbols[item.0].name;
                let (clause, other) = (item.2.spelling(), first.2.spelling());
                let headline = format!("`{name}` cannot be in `{clause}` and in `{other}`");
                Diagnostic::new(Code::SharingConflict, self.at(item.1), headline)
                    .with_secondary(self.at(first.1), "named here")
                    .with_help(format!("name `{name}` in one of the clauses"))
            })
            .collect()
    }

    /// A `lastprivate` of `loop`, whose iterations have no order, for anything but its loops' variables.
    fn last_of_loop(&self, construct: &Construct, listed: &DataSharing) -> Option<Diagnostic> {
        let is_of_loop = listed.attribute == SharingAttribute::Lastprivate
            && construct.has(Leaf::Loop)
            && construct
                .directives
                .iter()
                .any(|idx| self.unit.directives[*idx].range.contains_range(listed.at));
        let name = &self.symbols[listed.symbol].name;
        let mut loops = self.nests[construct.nest.filter(|_| is_of_loop)?]
            .loops
            .iter();
        if loops.any(|it| it.variable == *name) {
            return None;
        }
        let headline = format!("`{name}` has no last value: `loop` has no order of iterations");
        Some(
            Diagnostic::new(Code::SharingConflict, self.at(listed.at), headline)
                .with_note("`lastprivate` of `loop` is for the variables that its loops count with")
                .with_help("use `distribute parallel for`, or `parallel for` without `teams`"),
        )
    }

    /// The variable of a loop of the construct in a clause of the loop's directive that gives it another attribute than the loop does. Around that directive, it may have any.
    fn counted_otherwise(&self, construct: &Construct, listed: &DataSharing) -> Option<Diagnostic> {
        let is_other = matches!(
            listed.attribute,
            SharingAttribute::Shared
                | SharingAttribute::Firstprivate
                | SharingAttribute::Reduction { .. }
        );
        let of_loop = &self.unit.directives[*construct.directives.last()?];
        let is_at_loop = of_loop.range.contains_range(listed.at);
        let nest = &self.nests[construct.nest.filter(|_| is_other && is_at_loop)?];
        let symbol = &self.symbols[listed.symbol];
        let counts = |it: &&CanonicalLoop| !it.declares_variable && it.variable == symbol.name;
        let counted = nest.loops.iter().find(counts)?;
        let name = &symbol.name;
        let headline =
            format!("`{name}` is the variable of a loop, which each thread has its own of");
        Some(
            Diagnostic::new(Code::SharingConflict, self.at(listed.at), headline)
                .with_secondary(self.at(first_line(self.source, counted.range)), "this loop")
                .with_help(format!(
                    "leave `{name}` out, or use `lastprivate` for its last value"
                )),
        )
    }

    /// A copy that nothing could be assigned to, or that the operation of its reduction does not take.
    fn wrong_copy(&self, construct: &Construct, listed: &DataSharing) -> Option<Diagnostic> {
        let of_loop = self.last_of_loop(construct, listed);
        if let Some(found) = of_loop.or_else(|| self.counted_otherwise(construct, listed)) {
            return Some(found);
        }
        let symbol = &self.symbols[listed.symbol];
        let name = &symbol.name;
        let ty = self.types.desugar(symbol.ty);
        let is_constant = (self.types.get(symbol.ty).is_const || self.types.get(ty).is_const)
            && matches!(
                self.types.category(ty),
                Category::Scalar | Category::Pointer
            );
        let needs_assignment = matches!(
            listed.attribute,
            SharingAttribute::Private | SharingAttribute::Lastprivate | SharingAttribute::Linear(_)
        ) || matches!(
            &listed.attribute,
            SharingAttribute::Reduction { section: Some(steps), .. } if steps.is_empty()
        );
        if is_constant && needs_assignment {
            let headline = format!("`{name}` is constant: no thread can assign to its copy");
            let diagnostic = Diagnostic::new(Code::SharingConflict, self.at(listed.at), headline);
            return Some(diagnostic.with_help("use `firstprivate`, or leave it out of the clause"));
        }
        let SharingAttribute::Reduction { operation, section } = &listed.attribute else {
            return None;
        };
        let is_operator = !matches!(operation, ReductionOperation::Declared(_));
        let category = self.types.category(self.types.innermost_element(symbol.ty));
        let is_class = matches!(category, Category::Aggregate);
        if is_operator && is_class && self.unit.language == Language::C {
            let headline = format!("`{name}` has no operators that could reduce it");
            let diagnostic = Diagnostic::new(Code::ReductionOperand, self.at(listed.at), headline)
                .with_note(format!("its type is `{}`", self.types.spell(symbol.ty)));
            return Some(diagnostic.with_help(
                "declare a reduction for the type with `declare reduction`, and name that",
            ));
        }
        let is_bitwise = matches!(
            operation,
            ReductionOperation::BitAnd | ReductionOperation::BitOr | ReductionOperation::BitXor
        );
        // The elements of a section may stand behind a pointer.
        let reduced = match section.as_ref().is_some_and(|steps| !steps.is_empty()) {
            true => self.types.element(symbol.ty).unwrap_or(symbol.ty),
            false => symbol.ty,
        };
        let element = self
            .types
            .object_type(self.types.innermost_element(reduced));
        let has_fractions = matches!(
            self.types.get(element).kind,
            TypeKind::Named {
                meaning: Meaning::Float { .. } | Meaning::WideArithmetic,
                ..
            }
        );
        (is_bitwise && has_fractions).then(|| {
            let headline = format!("`{name}` has no bits that an operator could combine");
            Diagnostic::new(Code::ReductionOperand, self.at(listed.at), headline)
                .with_note(format!("its type is `{}`", self.types.spell(symbol.ty)))
                .with_help("reduce an integer, or use `&&` or `||`")
        })
    }
}

/// The places of list items that are whole variables.
pub(super) fn whole_variables(clause: &Clause) -> impl Iterator<Item = TextRange> {
    clause
        .items()
        .iter()
        .filter_map(|item| match &item.locator {
            Locator::Path(path) if path.steps.is_empty() => Some(path.root),
            Locator::Path(_) | Locator::Expression(_) | Locator::SectionOf(..) => None,
        })
}

pub(super) fn sections(locator: &Locator) -> Vec<&Section> {
    match locator {
        Locator::Path(path) => path
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Section(section) => Some(section),
                Step::Member(_)
                | Step::Arrow(_)
                | Step::Index(_)
                | Step::Deref
                | Step::Shape(_) => None,
            })
            .collect(),
        Locator::SectionOf(_, section) => vec![section],
        Locator::Expression(_) => Vec::new(),
    }
}
