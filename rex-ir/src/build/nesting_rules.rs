//! Which constructs may stand in which, in target regions: the restrictions on nesting of OpenMP 5.2, 17.1.
//!
//! On the host they are the host compiler's business; what a region holds it never sees.

use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::omp::clause::ClauseName;
use rex_syntax::omp::directive::Leaf::{self, *};

use super::Builder;
use super::loops::first_line;
use crate::places::constructs_around;
use crate::region::Construct;

/// Constructs that cannot stand in others.
struct Rule {
    inner: &'static [Leaf],
    outer: &'static [Leaf],
    /// How far out the others are looked for.
    reach: Reach,
    note: &'static str,
    help: &'static str,
}

/// How near a construct must be to another one for a rule to hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Nothing stands between the two.
    Directly,
    /// No `parallel` or `teams` stands between them.
    Closely,
    /// Anything may stand between them.
    Anywhere,
}

/// `scope` is in none of the lists of what may not be around another construct, for all threads of the team execute what it holds.
const RULES: [Rule; 6] = [
    Rule {
        inner: &[For, Sections, Single, Scope, Barrier],
        outer: &[
            For, Sections, Section, Single, Loop, Task, Taskloop, Critical, Ordered, Atomic,
            Master, Masked,
        ],
        reach: Reach::Closely,
        note: "all threads of the team must reach it, and only some execute what stands there",
        help: "end the construct around it first, or begin a `parallel` inside it",
    },
    Rule {
        inner: &[Master, Masked],
        outer: &[For, Sections, Section, Single, Loop, Task, Taskloop, Atomic],
        reach: Reach::Closely,
        note: "the thread that it chooses may not execute what stands there",
        help: "test the loop's variable instead, or move it behind the construct around it",
    },
    Rule {
        inner: &[
            For, Sections, Single, Scope, Simd, Master, Masked, Critical, Barrier, Ordered, Task,
            Taskloop, Taskgroup, Taskwait, Taskyield, Flush,
        ],
        outer: &[Teams],
        reach: Reach::Directly,
        note: "directly inside `teams` there may be `distribute`, `parallel` and `loop` only",
        help: "put it in a `parallel`",
    },
    Rule {
        inner: &[
            Teams,
            Distribute,
            Parallel,
            For,
            Sections,
            Single,
            Scope,
            Master,
            Masked,
            Critical,
            Barrier,
            Flush,
            Task,
            Taskloop,
            Taskgroup,
            Taskwait,
            Taskyield,
            Cancel,
            CancellationPoint,
        ],
        outer: &[Simd],
        reach: Reach::Anywhere,
        note: "inside `simd` there may be `simd`, `loop`, `atomic`, `scan` and `ordered simd` only",
        help: "leave `simd` out, or move the construct out of the loop",
    },
    Rule {
        inner: &[
            Teams, Distribute, Critical, Task, Taskloop, Taskgroup, Taskwait, Taskyield, Ordered,
        ],
        outer: &[Loop],
        reach: Reach::Anywhere,
        note: "inside `loop` there may be `loop`, `parallel` and `simd` only",
        help: "use `for` or `distribute parallel for` for the loop",
    },
    Rule {
        inner: &[Ordered],
        outer: &[Critical, Ordered, Atomic, Task, Taskloop],
        reach: Reach::Closely,
        note: "the iterations before it could not go on",
        help: "put the other construct into the `ordered` block",
    },
];

/// A construct that stands directly in one other only.
struct Part {
    inner: Leaf,
    outer: Leaf,
    note: &'static str,
    help: &'static str,
}

const PARTS: [Part; 2] = [
    Part {
        inner: Distribute,
        outer: Teams,
        note: "`distribute` divides iterations among the teams of the `teams` that it stands directly in",
        help: "put it directly inside `teams`, or use `for` inside `parallel`",
    },
    Part {
        inner: Section,
        outer: Sections,
        note: "each `section` is a part of the `sections` that it stands directly in",
        help: "put it into the block of a `sections`, or leave it out",
    },
];

impl Builder<'_> {
    /// Reports constructs in target regions that cannot stand where they do.
    pub(super) fn check_nesting(&mut self) {
        let constructs = self.constructs.values();
        let inside = constructs.filter(|construct| self.enclosing_target(construct.range));
        let found: Vec<Diagnostic> = inside
            .filter_map(|construct| {
                self.broken_rule(construct)
                    .or_else(|| self.same_critical(construct))
                    .or_else(|| self.misplaced_part(construct))
                    .or_else(|| self.misplaced_in_loop(construct))
                    .or_else(|| self.misplaced_cancel(construct))
                    .or_else(|| self.sections_without_block(construct))
            })
            .collect();
        for diagnostic in found {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The leaves of the constructs around one in the same function or lambda, innermost first: those around a lambda are not where it is called.
    /// What only says something about code or changes loops is no region.
    fn leaves_around(&self, construct: &Construct) -> impl Iterator<Item = (Leaf, &Construct)> {
        const NO_REGIONS: [Leaf; 9] = [
            Assume,
            Nothing,
            Unroll,
            Tile,
            Interchange,
            Reverse,
            Fuse,
            Stripe,
            Split,
        ];
        let own = self.unit.tree.root().smallest_at(construct.range);
        let callable = own.callables_around().next().map(Node::range);
        constructs_around(&self.constructs, construct.range)
            .take_while(move |(_, outer)| callable.is_none_or(|it| it.contains_range(outer.range)))
            .flat_map(|(_, outer)| outer.leaves.iter().rev().map(move |leaf| (*leaf, outer)))
            .filter(|(leaf, _)| !NO_REGIONS.contains(leaf))
    }

    fn broken_rule(&self, construct: &Construct) -> Option<Diagnostic> {
        let first = *construct.leaves.first()?;
        let of_this = RULES.iter().filter(|rule| rule.inner.contains(&first));
        of_this
            .filter(|_| !self.is_exempt(construct, first))
            .find_map(|rule| {
                let mut around = self.leaves_around(construct);
                let (leaf, outer) = match rule.reach {
                    Reach::Directly => around.next().filter(|(leaf, _)| rule.outer.contains(leaf)),
                    Reach::Closely => around
                        .take_while(|(leaf, _)| !matches!(leaf, Parallel | Teams | Target))
                        .find(|(leaf, _)| rule.outer.contains(leaf)),
                    Reach::Anywhere => around.find(|(leaf, _)| rule.outer.contains(leaf)),
                }?;
                let diagnostic = self.cannot_stand(construct, leaf, outer)?;
                Some(diagnostic.with_note(rule.note).with_help(rule.help))
            })
    }

    /// `ordered simd` is for `simd` loops, and `ordered` that stands alone is a dependence between iterations.
    fn is_exempt(&self, construct: &Construct, first: Leaf) -> bool {
        first == Ordered
            && (construct.statement.is_none() || self.has_clause(construct, ClauseName::Simd))
    }

    fn has_clause(&self, construct: &Construct, name: ClauseName) -> bool {
        let mut directives = construct.directives.iter();
        directives.any(|idx| self.unit.directives[*idx].clause(name).is_some())
    }

    /// A `critical` in another one of the same name, which would wait for itself.
    fn same_critical(&self, construct: &Construct) -> Option<Diagnostic> {
        let name = |construct: &Construct| {
            let argument = self.unit.directives[*construct.directives.first()?].argument?;
            Some(self.text(argument).trim())
        };
        if construct.leaves != [Critical] {
            return None;
        }
        let is_same = |(leaf, outer): &(Leaf, &Construct)| {
            *leaf == Critical && name(outer) == name(construct)
        };
        let (leaf, outer) = self.leaves_around(construct).find(is_same)?;
        let diagnostic = self.cannot_stand(construct, leaf, outer)?;
        Some(
            diagnostic
                .with_note("both have one name: the thread would wait for itself")
                .with_help("give one of them another name, or leave the inner one out"),
        )
    }

    /// A construct that is a part of another one and stands directly in something else.
    fn misplaced_part(&self, construct: &Construct) -> Option<Diagnostic> {
        let part = PARTS
            .iter()
            .find(|part| construct.leaves.first() == Some(&part.inner))?;
        let (leaf, outer) = self.leaves_around(construct).next()?;
        if leaf == part.outer {
            return None;
        }
        let diagnostic = self.cannot_stand(construct, leaf, outer)?;
        Some(diagnostic.with_note(part.note).with_help(part.help))
    }

    /// An `ordered` block, or a `scan`, in a loop that does not say that there is one.
    fn misplaced_in_loop(&self, construct: &Construct) -> Option<Diagnostic> {
        let (note, help) = match construct.leaves[..] {
            [Ordered] if !self.has_clause(construct, ClauseName::Simd) => (
                "its loop has no clause `ordered`",
                "add the clause `ordered` to the loop's directive",
            ),
            [Scan] => (
                "its loop has no `reduction` with the modifier `inscan`",
                "name the scanned variable in `reduction(inscan, + : x)` of the loop's directive",
            ),
            _ => return None,
        };
        let mut around = self.leaves_around(construct);
        let directly = around.next()?;
        let (leaf, outer) = std::iter::once(directly)
            .chain(around)
            .find(|(leaf, _)| leaf.takes_loops())
            .unwrap_or(directly);
        let says_so = match construct.leaves[..] {
            [Ordered] => self.has_clause(outer, ClauseName::Ordered),
            _ => self.scans(outer),
        };
        if says_so {
            return None;
        }
        let diagnostic = self.cannot_stand(construct, leaf, outer)?;
        Some(diagnostic.with_note(note).with_help(help))
    }

    /// A `cancel` or `cancellation point` whose construct is not the one that it stands directly in.
    fn misplaced_cancel(&self, construct: &Construct) -> Option<Diagnostic> {
        if !matches!(construct.leaves[..], [Cancel | CancellationPoint]) {
            return None;
        }
        let directive = &self.unit.directives[*construct.directives.first()?];
        let named = self.text(directive.argument?);
        let (leaf, outer) = self.leaves_around(construct).next()?;
        let is_named = match named {
            "taskgroup" => matches!(leaf, Task | Taskloop),
            "sections" => matches!(leaf, Sections | Section),
            _ => leaf.spelling() == named,
        };
        if is_named {
            return None;
        }
        let diagnostic = self.cannot_stand(construct, leaf, outer)?;
        let construct = if named == "taskgroup" { "task" } else { named };
        Some(
            diagnostic
                .with_note(format!(
                    "it ends the `{construct}` that it stands directly in"
                ))
                .with_help(format!(
                    "put it directly inside `{construct}`, or name the construct that it stands in"
                )),
        )
    }

    /// A `sections` whose statement is no block that sections could stand in.
    fn sections_without_block(&self, construct: &Construct) -> Option<Diagnostic> {
        let directive = construct.directives.last()?;
        let statement = self.unit.statement_of(*directive)?;
        if construct.leaves.last() != Some(&Sections) || statement.kind() == Kind::CompoundStatement
        {
            return None;
        }
        let directive = &self.unit.directives[*directive];
        let headline = format!("`{}` needs a block with sections", directive.name());
        let at = self.at(first_line(self.source, statement.range()));
        Some(
            Diagnostic::new(Code::MissingStatement, at, headline)
                .with_secondary(self.at(directive.range), "for this directive")
                .with_help("put braces around the statement"),
        )
    }

    fn scans(&self, construct: &Construct) -> bool {
        let directives = construct.directives.iter();
        let mut reductions = directives
            .flat_map(|idx| self.unit.directives[*idx].clauses_named(ClauseName::Reduction))
            .flat_map(|clause| clause.modifiers());
        reductions.any(|modifier| self.text(modifier.word) == "inscan")
    }

    fn cannot_stand(
        &self,
        construct: &Construct,
        leaf: Leaf,
        outer: &Construct,
    ) -> Option<Diagnostic> {
        let directive = &self.unit.directives[*construct.directives.first()?];
        let is_of_leaf = |idx: &&usize| self.unit.directives[**idx].has(leaf);
        let around = outer.directives.iter().find(is_of_leaf)?;
        let headline = format!(
            "`{}` cannot stand inside `{}` here",
            directive.name(),
            leaf.spelling()
        );
        Some(
            Diagnostic::new(Code::MisplacedConstruct, self.at(directive.range), headline)
                .with_secondary(self.at(self.unit.directives[*around].range), "inside this"),
        )
    }
}
