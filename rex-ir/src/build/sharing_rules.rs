//! What data-sharing clauses ask: one attribute a variable, and of the `parallel` around work-sharing constructs, variables that its threads share, or have
//! copies of.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::directive::Leaf;

use super::Builder;
use crate::places::constructs_around;
use crate::region::{Construct, DataSharing, SharingAttribute};
use crate::symbol::SymbolKind;
use crate::ty::Category;

/// Constructs whose threads are those of a `parallel` around them.
const WORKSHARING: [Leaf; 4] = [Leaf::For, Leaf::Sections, Leaf::Single, Leaf::Scope];

/// What a clause asks of its variables in the `parallel` around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Private,
    Shared,
}

impl Builder<'_> {
    /// Reports list items of work-sharing constructs in regions that are private where they must be shared, and the other way round.
    pub(super) fn check_sharing_of_worksharing(&mut self) {
        let mut found = Vec::new();
        for (_, construct) in self.constructs.iter() {
            found.extend(self.static_members_listed(construct));
            let is_worksharing = construct
                .leaves
                .iter()
                .any(|leaf| WORKSHARING.contains(leaf));
            if !is_worksharing || !self.is_on_device(construct) {
                continue;
            }
            if construct.forks() {
                found.extend(self.private_in_merged(construct));
                continue;
            }
            let mut around = constructs_around(&self.constructs, construct.range);
            let Some((_, parallel)) = around.find(|(_, outer)| outer.forks()) else {
                continue;
            };
            let listed = construct.sharing.iter();
            found.extend(listed.filter_map(|it| self.sharing_conflict(it, parallel)));
        }
        for diagnostic in found {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The same for the directives of one construct: `parallel private(x)` with nothing but `for reduction(+ : x)` in it.
    fn private_in_merged(&self, construct: &Construct) -> Vec<Diagnostic> {
        let directive_at = |at| {
            let directives = construct.directives.iter();
            let mut directives = directives.map(|idx| &self.unit.directives[*idx]);
            directives.find(|it| it.range.contains_range(at))
        };
        let is_of_parallel = |listed: &DataSharing| {
            let is_copy = matches!(
                listed.attribute,
                SharingAttribute::Private | SharingAttribute::Firstprivate
            );
            is_copy && directive_at(listed.at).is_some_and(|it| it.has(Leaf::Parallel))
        };
        let needs_shared = construct.sharing.iter().filter(|listed| {
            let copies_back = matches!(
                listed.attribute,
                SharingAttribute::Reduction { .. } | SharingAttribute::Lastprivate
            );
            copies_back
                && directive_at(listed.at).is_some_and(|it| {
                    !it.has(Leaf::Parallel)
                        && it.leaves.iter().any(|leaf| WORKSHARING.contains(leaf))
                })
        });
        needs_shared
            .filter_map(|listed| {
                let mut copies = construct.sharing.iter().filter(|it| is_of_parallel(it));
                let copy = copies.find(|it| it.symbol == listed.symbol)?;
                Some(self.needs_other_variable(listed, Asked::Shared, copy.at))
            })
            .collect()
    }

    /// Static data members in clauses that give threads something else: they are shared, whatever a clause says.
    fn static_members_listed(&self, construct: &Construct) -> Vec<Diagnostic> {
        let is_on_device = self.is_on_device(construct);
        let is_wrong = |listed: &&DataSharing| {
            self.symbols[listed.symbol].kind == SymbolKind::StaticField
                && !matches!(
                    listed.attribute,
                    SharingAttribute::Shared | SharingAttribute::Firstprivate
                )
        };
        let wrong = construct.sharing.iter().filter(is_wrong);
        wrong
            .filter(|_| is_on_device)
            .map(|listed| self.static_member_listed(listed.at))
            .collect()
    }

    pub(super) fn static_member_listed(&self, at: TextRange) -> Diagnostic {
        let item = self.text(at);
        let headline = format!("`{item}` is a static data member, which threads share");
        Diagnostic::new(Code::SharingConflict, self.at(at), headline)
            .with_help("copy it to a variable in front of the construct, and list that")
    }

    /// `T::x` of a parameter `T` of a template: what a clause can name so is a static data member.
    pub(super) fn is_member_of_parameter(&self, name: TextRange) -> bool {
        let Some((class, _)) = self.text(name).split_once("::") else {
            return false;
        };
        let class = self.scopes.resolve_type(&self.symbols, class.trim(), name);
        class
            .is_some_and(|class| self.types.category(self.symbols[class].ty) == Category::Dependent)
    }

    /// Whether a device executes a construct: it is a target region, or in one.
    pub(super) fn is_on_device(&self, construct: &Construct) -> bool {
        construct.has(Leaf::Target) || self.enclosing_target(construct.range)
    }

    /// Reports variables that two clauses of one construct give different attributes.
    pub(super) fn check_sharing_of_variables(&mut self) {
        let mut found = Vec::new();
        for (_, construct) in self.constructs.iter() {
            let listed = |sharing: &&DataSharing| {
                let mut directives = construct.directives.iter();
                directives.any(|idx| self.unit.directives[*idx].range.contains_range(sharing.at))
            };
            let items: Vec<&DataSharing> = match self.is_on_device(construct) {
                true => construct.sharing.iter().filter(listed).collect(),
                false => continue,
            };
            for (idx, item) in items.iter().enumerate() {
                let mut earlier = items[..idx].iter();
                if let Some(first) = earlier.find(|first| contradict(first, item)) {
                    found.push((first.at, item.at, item.symbol));
                }
            }
        }
        for (first, at, symbol) in found {
            let name = &self.symbols[symbol].name;
            let headline = format!("`{name}` has another data-sharing attribute here");
            let diagnostic = Diagnostic::new(Code::SharingConflict, self.at(at), headline)
                .with_secondary(self.at(first), "than here")
                .with_help(format!("name `{name}` in one of the clauses"));
            self.diagnostics.push(diagnostic);
        }
    }

    /// What is wrong with a list item of a work-sharing construct inside a `parallel`.
    fn sharing_conflict(&self, listed: &DataSharing, parallel: &Construct) -> Option<Diagnostic> {
        let asked = match listed.attribute {
            SharingAttribute::Reduction { .. }
            | SharingAttribute::Lastprivate
            | SharingAttribute::Firstprivate => Asked::Shared,
            SharingAttribute::Copyprivate => Asked::Private,
            _ => return None,
        };
        let symbol = &self.symbols[listed.symbol];
        // What a reference is for is seen where it begins.
        if self.types.is_reference(symbol.ty) || !symbol.kind.is_variable() {
            return None;
        }
        let statement = parallel.statement?;
        let is_declared_inside = symbol.kind.is_automatic()
            && symbol
                .declared_at
                .is_some_and(|declared| statement.contains_range(declared));
        let has_copies = is_declared_inside || parallel.is_private_to_threads(listed.symbol);
        if has_copies == (asked == Asked::Private) {
            return None;
        }
        let directive = &self.unit.directives[*parallel.directives.last()?];
        Some(self.needs_other_variable(listed, asked, directive.range))
    }

    /// A list item that is private in the `parallel` around it and must not be, or the other way round; `said` is where it becomes so.
    fn needs_other_variable(
        &self,
        listed: &DataSharing,
        asked: Asked,
        said: TextRange,
    ) -> Diagnostic {
        let name = &self.symbols[listed.symbol].name;
        let clause = match listed.attribute {
            SharingAttribute::Reduction { .. } => "reduction",
            SharingAttribute::Lastprivate => "lastprivate",
            SharingAttribute::Copyprivate => "copyprivate",
            _ => "firstprivate",
        };
        let (asked, place, help) = match asked {
            Asked::Private => (
                "private",
                "one variable for all threads of this `parallel`",
                format!("declare `{name}` inside the `parallel`, or name it in its `private`"),
            ),
            Asked::Shared => (
                "shared",
                "each thread of this `parallel` has one of its own",
                format!(
                    "declare `{name}` outside the `parallel`, and do not name it in its clauses"
                ),
            ),
        };
        let headline = format!(
            "`{clause}` needs a variable that is {asked} in the `parallel` around it: `{name}` is not"
        );
        Diagnostic::new(Code::SharingConflict, self.at(listed.at), headline)
            .with_secondary(self.at(said), place)
            .with_help(help)
    }
}

/// Whether a variable cannot have both attributes. Only the first and last values of one private copy go together.
fn contradict(first: &DataSharing, second: &DataSharing) -> bool {
    use SharingAttribute::{Firstprivate, Lastprivate, Private, Shared};
    let is_one = |listed: &DataSharing| {
        matches!(
            listed.attribute,
            Firstprivate | Lastprivate | Private | Shared
        )
    };
    let go_together = matches!(
        (&first.attribute, &second.attribute),
        (Firstprivate, Lastprivate) | (Lastprivate, Firstprivate)
    );
    first.symbol == second.symbol
        && first.on == second.on
        && first.attribute != second.attribute
        && is_one(first)
        && is_one(second)
        && !go_together
}
