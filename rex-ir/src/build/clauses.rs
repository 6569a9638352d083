//! Which clauses of device constructs have an effect here. Every other one is said to be unsupported: none is dropped silently.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::resolve;

use super::Builder;
use crate::region::ConstructId;

/// What is done about a clause of a device construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Support {
    /// The lowering acts on it.
    Acted,
    /// It has no effect that a program could observe: a hint, or a promise about the program.
    Harmless,
    /// Ignoring it would change what the program means. The text is the way out.
    Unsupported(&'static str),
}

fn support(name: ClauseName) -> Support {
    use ClauseName::*;
    match name {
        Allocate | Collapse | Default | Defaultmap | Depend | Device | DistSchedule
        | Firstprivate | From | HasDeviceAddr | If | InReduction | IsDevicePtr | Lastprivate
        | Linear | Map | Nowait | NumTeams | NumThreads | Ordered | Private | Reduction
        | Schedule | Shared | TaskReduction | ThreadLimit | To | UseDeviceAddr | UseDevicePtr
        | UsesAllocators => Support::Acted,
        // Threads of a device have no places; vector lengths, alignments and cache hints change no values; iterations in any order are in order, too.
        Affinity | Aligned | Bind | Hint | Mergeable | Nogroup | Nontemporal | Order | Priority
        | ProcBind | Safelen | Safesync | Severity | Simdlen | Threadset | Untied => {
            Support::Harmless
        }
        OmpxDynCgroupMem => Support::Unsupported("use an array of constant size in the region"),
        OmpxBare | OmpxAttribute => {
            Support::Unsupported("remove it; it is an extension of one compiler")
        }
        DeviceType => Support::Unsupported("remove it, and use `if` to choose the host"),
        Detach => Support::Unsupported("use `nowait` and `taskwait`"),
        Copyin | Copyprivate => Support::Unsupported("use `firstprivate`"),
        Message => Support::Unsupported("remove it"),
        Replayable | Transparent => Support::Unsupported("use `depend` on each construct"),
        // Clauses of directives that are no device constructs: what they may stand on is checked where directives are read.
        Absent
        | AcqRel
        | Acquire
        | Adjust
        | Align
        | Allocator
        | AppendArgs
        | Apply
        | At
        | AtomicDefaultMemOrder
        | Capture
        | Collector
        | Combiner
        | Compare
        | Contains
        | Counts
        | Destroy
        | DeviceSafesync
        | Doacross
        | DynamicAllocators
        | Enter
        | Exclusive
        | Fail
        | Filter
        | Final
        | Full
        | Grainsize
        | GraphId
        | GraphReset
        | Holds
        | Inbranch
        | Inclusive
        | Indirect
        | Induction
        | Inductor
        | Init
        | InitComplete
        | Initializer
        | Interop
        | Link
        | Local
        | Looprange
        | Match
        | Memscope
        | NoOpenmp
        | NoOpenmpConstructs
        | NoOpenmpRoutines
        | NoParallelism
        | Nocontext
        | Notinbranch
        | Novariants
        | NumTasks
        | Otherwise
        | Partial
        | Permutation
        | Read
        | Relaxed
        | Release
        | ReverseOffload
        | SelfMaps
        | SeqCst
        | Simd
        | Sizes
        | Threads
        | UnifiedAddress
        | UnifiedSharedMemory
        | Uniform
        | Update
        | Use
        | Weak
        | When
        | Write
        | Unknown => Support::Acted,
    }
}

/// Modifiers of a clause that have an effect here, where the clause has modifiers that have not.
fn known_modifiers(name: ClauseName) -> Option<&'static [&'static str]> {
    match name {
        ClauseName::Device => Some(&["device_num"]),
        ClauseName::ThreadLimit => Some(&[]),
        // A block has exactly the threads that are asked for.
        ClauseName::NumThreads => Some(&["strict", "relaxed"]),
        ClauseName::Default => Some(&["none", "shared", "private", "firstprivate"]),
        _ => None,
    }
}

impl Builder<'_> {
    /// Reports the clauses of a device construct that nothing acts on.
    pub(super) fn check_clauses(&mut self, construct: ConstructId) {
        let unit = self.unit;
        for idx in self.constructs[construct].directives.clone() {
            for clause in &unit.directives[idx].clauses {
                match support(clause.name) {
                    Support::Unsupported(help) => self.unsupported_clause(
                        clause.range,
                        format!(
                            "`{}` on a device construct is not supported",
                            clause.name.spelling()
                        ),
                        help,
                    ),
                    Support::Acted => {
                        self.check_modifiers(construct, clause);
                        self.check_named_default(construct, clause);
                    }
                    Support::Harmless => {}
                }
            }
        }
    }

    /// Reports the `induction` clauses that were not written out, of any construct: host compilers do not know them either.
    pub(super) fn check_inductions(&mut self) {
        for (idx, directive) in self.unit.directives.iter().enumerate() {
            let Some(clause) = directive.clause(ClauseName::Induction) else {
                continue;
            };
            if let Some(refusal) = resolve::refused_induction(self.unit, idx) {
                let diagnostic =
                    Diagnostic::new(refusal.code(), self.at(clause.range), refusal.headline());
                self.diagnostics.push(diagnostic.with_help(refusal.help()));
            }
        }
    }

    /// Reports the `declare variant` directives that no function follows; host compilers do not see them.
    pub(super) fn check_variants(&mut self) {
        for directive in resolve::variants_of_nothing(self.unit) {
            let headline = "`declare variant` needs a declaration of a function behind it";
            let help = "put it directly in front of the function whose variant it declares";
            self.report(Code::MissingStatement, directive.range, headline, help);
        }
    }

    /// `default` for one of several constructs that could have it.
    fn check_named_default(&mut self, construct: ConstructId, clause: &Clause) {
        let Some(named) = &clause.applies_to else {
            return;
        };
        let makes_private = clause
            .modifiers()
            .iter()
            .any(|word| self.text(word.word).ends_with("private"));
        let mut others = self.constructs[construct].leaves.iter();
        let is_partial =
            others.any(|leaf| leaf.takes(ClauseName::Default) && !named.leaves.contains(leaf));
        if clause.name == ClauseName::Default && makes_private && is_partial {
            let text = self.text(named.range).to_string();
            self.unsupported_clause(
                named.range,
                format!("`default` for `{text}` alone is not supported"),
                "list the variables in a `private` or `firstprivate` clause",
            );
        }
    }

    fn check_modifiers(&mut self, construct: ConstructId, clause: &Clause) {
        let unknown = |known: &[&str]| {
            clause
                .modifiers()
                .iter()
                .find(|modifier| !known.contains(&self.text(modifier.word)))
                .map(|modifier| modifier.range)
        };
        let found = match clause.name {
            // `distribute` has none.
            ClauseName::Lastprivate if self.constructs[construct].has(Leaf::Distribute) => {
                unknown(&[])
            }
            name => known_modifiers(name).and_then(unknown),
        };
        if let Some(range) = found {
            let help = match clause.name {
                ClauseName::Device => {
                    "number the device; functions of the host cannot run from a device"
                }
                ClauseName::Lastprivate => {
                    "`distribute` keeps the value of the last iteration only"
                }
                _ => "remove it",
            };
            let text = self.text(range).to_string();
            self.unsupported_clause(
                range,
                format!(
                    "the modifier `{text}` of `{}` is not supported",
                    clause.name.spelling()
                ),
                help,
            );
        }
    }

    fn unsupported_clause(&mut self, at: TextRange, headline: String, help: &str) {
        let diagnostic =
            Diagnostic::new(Code::UnsupportedClause, self.at(at), headline).with_help(help);
        self.diagnostics.push(diagnostic);
    }
}
