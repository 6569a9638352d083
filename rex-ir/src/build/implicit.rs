//! What happens to variables that no clause names: `defaultmap`, `default`, and the rules without them.

use rex_syntax::TextRange;
use rex_syntax::diag::Code;
use rex_syntax::omp::clause::{Argument, Clause, ClauseName};

use super::Builder;
use super::undetermined::help_of_default;
use crate::region::{
    CapturedObject, ConstructId, DefaultmapBehavior, DefaultmapCategory, Transport,
};
use crate::ty::Category;

/// The clauses of a region that speak of variables in general.
#[derive(Default)]
pub(super) struct ImplicitRules {
    /// `defaultmap`, one for each clause.
    pub(super) defaultmaps: Vec<(DefaultmapCategory, DefaultmapBehavior)>,
    /// `default`, with the clause.
    default: Option<(DefaultSharing, TextRange)>,
    /// A `defaultmap(none)`, for a label.
    none: Option<TextRange>,
}

/// The argument of `default`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DefaultSharing {
    None,
    Shared,
    Private,
    Firstprivate,
}

impl Builder<'_> {
    /// Reads the `default` and `defaultmap` clauses of a region.
    pub(super) fn implicit_rules(&mut self, construct: ConstructId) -> ImplicitRules {
        let unit = self.unit;
        let mut rules = ImplicitRules::default();
        for idx in self.constructs[construct].directives.clone() {
            for clause in &unit.directives[idx].clauses {
                match clause.name {
                    ClauseName::Defaultmap => {
                        let read = self.read_defaultmap(clause);
                        if read.is_some_and(|(_, behavior)| behavior == DefaultmapBehavior::None) {
                            rules.none = Some(clause.range);
                        }
                        rules.defaultmaps.extend(read);
                    }
                    ClauseName::Default => {
                        let word = clause
                            .modifiers()
                            .first()
                            .map_or("", |modifier| self.text(modifier.word));
                        let sharing = match word {
                            "none" => DefaultSharing::None,
                            "private" => DefaultSharing::Private,
                            "firstprivate" => DefaultSharing::Firstprivate,
                            _ => DefaultSharing::Shared,
                        };
                        rules.default = Some((sharing, clause.range));
                    }
                    _ => {}
                }
            }
        }
        rules
    }

    fn read_defaultmap(
        &mut self,
        clause: &Clause,
    ) -> Option<(DefaultmapCategory, DefaultmapBehavior)> {
        let words: Vec<String> = match &clause.argument {
            Argument::List { modifiers, .. } => modifiers
                .iter()
                .map(|modifier| self.text(modifier.range).to_string())
                .collect(),
            Argument::Expression { .. } | Argument::Raw(_) | Argument::None => return None,
        };
        let mut behavior = None;
        let mut category = DefaultmapCategory::All;
        for word in words {
            match word.as_str() {
                "alloc" | "storage" => behavior = Some(DefaultmapBehavior::Alloc),
                "to" => behavior = Some(DefaultmapBehavior::To),
                "from" => behavior = Some(DefaultmapBehavior::From),
                "tofrom" => behavior = Some(DefaultmapBehavior::Tofrom),
                "firstprivate" => behavior = Some(DefaultmapBehavior::Firstprivate),
                "private" => behavior = Some(DefaultmapBehavior::Private),
                "none" => behavior = Some(DefaultmapBehavior::None),
                "default" => behavior = Some(DefaultmapBehavior::Default),
                "present" => behavior = Some(DefaultmapBehavior::Present),
                "scalar" => category = DefaultmapCategory::Scalar,
                "aggregate" => category = DefaultmapCategory::Aggregate,
                "pointer" => category = DefaultmapCategory::Pointer,
                "all" => category = DefaultmapCategory::All,
                // Fortran's; no variable of C has it.
                "allocatable" => return None,
                other => {
                    // Any other word is a mistake that has been reported.
                    if clause.name.takes_word(other) {
                        let headline = format!("`{other}` of `defaultmap` is not supported");
                        self.report(
                            Code::UnsupportedClause,
                            clause.range,
                            headline,
                            "map the variables in `map` clauses",
                        );
                    }
                    return None;
                }
            }
        }
        Some((category, behavior?))
    }

    /// How a variable that no clause names reaches the kernel.
    pub(super) fn implicit_transport(
        &mut self,
        object: CapturedObject,
        category: Category,
        construct: ConstructId,
        rules: &ImplicitRules,
        at: TextRange,
    ) -> Option<Transport> {
        let wanted = match category {
            Category::Scalar | Category::WideScalar | Category::Dependent => {
                DefaultmapCategory::Scalar
            }
            Category::Aggregate => DefaultmapCategory::Aggregate,
            Category::Pointer => DefaultmapCategory::Pointer,
            Category::Function | Category::Unknown => return None,
        };
        let by_value = match category {
            Category::Scalar | Category::Pointer => Transport::Literal,
            Category::Dependent => Transport::CopyByCategory,
            _ => Transport::Copy,
        };
        let by_rule = match category {
            Category::Aggregate => Transport::Storage,
            // Functions are not mapped.
            Category::Pointer if self.points_to_function(object) => by_value.clone(),
            Category::Pointer => Transport::Pointee,
            Category::Dependent => Transport::ByCategory,
            _ => by_value.clone(),
        };
        let is_listed = self.is_listed(object, construct);
        match rules.default {
            Some((DefaultSharing::None, clause)) if !is_listed => {
                self.report_undetermined(object, at, clause, "default(none)");
            }
            Some((DefaultSharing::Private, _)) if !is_listed => return Some(Transport::Private),
            Some((DefaultSharing::Firstprivate, _)) if !is_listed => return Some(by_value),
            _ => {}
        }
        Some(match defaultmap_behavior(&rules.defaultmaps, wanted) {
            DefaultmapBehavior::Firstprivate => by_value,
            DefaultmapBehavior::Private => Transport::Private,
            DefaultmapBehavior::Default => by_rule,
            DefaultmapBehavior::None => {
                if let Some(clause) = rules.none {
                    self.report_undetermined(object, at, clause, "defaultmap(none)");
                }
                by_rule
            }
            DefaultmapBehavior::Alloc
            | DefaultmapBehavior::To
            | DefaultmapBehavior::From
            | DefaultmapBehavior::Tofrom
            | DefaultmapBehavior::Present => Transport::Storage,
        })
    }

    fn points_to_function(&self, object: CapturedObject) -> bool {
        let CapturedObject::Variable(symbol) = object else {
            return false;
        };
        let target = self.types.element(self.symbols[symbol].ty);
        target.is_some_and(|target| self.types.category(target) == Category::Function)
    }

    /// Whether a data-sharing clause of the construct, or of a directive merged into it, names the variable.
    fn is_listed(&self, object: CapturedObject, construct: ConstructId) -> bool {
        let sharing = &self.constructs[construct].sharing;
        sharing
            .iter()
            .any(|sharing| CapturedObject::Variable(sharing.symbol) == object)
    }

    fn report_undetermined(
        &mut self,
        object: CapturedObject,
        at: TextRange,
        clause: TextRange,
        words: &str,
    ) {
        let CapturedObject::Variable(symbol) = object else {
            return;
        };
        // The extents of an array come with it.
        let named = self.scopes.resolve(&self.symbols, self.text(at), at);
        if named.is_some_and(|named| named != symbol) {
            return;
        }
        let name = &self.symbols[symbol].name;
        let help = match words {
            "default(none)" => help_of_default(name),
            _ => format!("add `map(tofrom: {name})` or `firstprivate({name})`"),
        };
        let diagnostic = self
            .undetermined(symbol, at, clause, "region")
            .with_help(help);
        self.diagnostics.push(diagnostic);
    }
}

/// The behavior that applies to a category; a clause for the category wins over one for all.
pub fn defaultmap_behavior(
    defaultmaps: &[(DefaultmapCategory, DefaultmapBehavior)],
    wanted: DefaultmapCategory,
) -> DefaultmapBehavior {
    let find = |category| {
        defaultmaps
            .iter()
            .find(|(listed, _)| *listed == category)
            .map(|(_, behavior)| *behavior)
    };
    find(wanted)
        .or_else(|| find(DefaultmapCategory::All))
        .unwrap_or(DefaultmapBehavior::Default)
}
