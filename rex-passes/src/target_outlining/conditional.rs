//! `lastprivate(conditional: x)`: the value of the last iteration that assigns the variable.
//!
//! Every assignment notes the iteration; at the end of the loop, the thread with the last one stores its value.

use rex_ir::changes::may_change;
use rex_ir::kernel::{IterationSpace, KeptValue, Plan};
use rex_ir::program::Program;
use rex_ir::region::{Construct, DataSharing, SharingAttribute};
use rex_ir::symbol::SymbolId;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::omp::clause::{Clause, ClauseName};

use super::plan::Planner;

/// Variables whose assignments are noted while plans are made.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted {
    symbols: Vec<SymbolId>,
    space: Option<IterationSpace>,
}

/// Whether a `lastprivate` variable gets its value from the last iteration that assigns it.
fn is_conditional(program: &Program, clause: &Clause) -> bool {
    clause
        .modifiers()
        .iter()
        .any(|modifier| program.text(modifier.word) == "conditional")
}

/// What a `lastprivate` variable keeps.
pub(super) fn kept(program: &Program, construct: &Construct, sharing: &DataSharing) -> KeptValue {
    let lists = |clause: &Clause| {
        clause.range.contains_range(sharing.at) && is_conditional(program, clause)
    };
    let is_listed = construct.directives.iter().any(|idx| {
        let directive = &program.unit.directives[*idx];
        directive.clauses_named(ClauseName::Lastprivate).any(lists)
    });
    match is_listed {
        true => KeptValue::LastAssigned,
        false => KeptValue::OfLast,
    }
}

/// The variables of a construct that keep the value that was assigned last.
pub(super) fn variables<'p>(
    program: &'p Program,
    construct: &'p Construct,
) -> impl Iterator<Item = &'p DataSharing> {
    construct.sharing.iter().filter(|sharing| {
        sharing.attribute == SharingAttribute::Lastprivate
            && kept(program, construct, sharing) == KeptValue::LastAssigned
    })
}

impl<'p> Planner<'p> {
    /// Plans a piece of a construct, noting what assigns its variables.
    pub(super) fn noting<T>(
        &mut self,
        construct: &Construct,
        space: Option<IterationSpace>,
        plan: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let symbols = variables(self.program, construct).map(|sharing| sharing.symbol);
        let noted = Noted {
            symbols: symbols.collect(),
            space,
        };
        let around = std::mem::replace(&mut self.noted, noted);
        let planned = plan(self);
        self.noted = around;
        planned
    }

    /// Whether some variable of the construct may change other than by an assignment that can be noted.
    pub(super) fn changes_unnoticed(&self, construct: &Construct) -> Option<TextRange> {
        let statement = construct.statement?;
        variables(self.program, construct)
            .find(|sharing| self.assignments(sharing.symbol, statement).is_none())
            .map(|sharing| sharing.at)
    }

    /// Refuses a construct whose assignments cannot all be noted.
    pub(super) fn refuse_unnoticed(&mut self, construct: &Construct) -> bool {
        let Some(at) = self.changes_unnoticed(construct) else {
            return false;
        };
        let name = self.program.text(at);
        let diagnostic = Diagnostic::new(
            Code::UnsupportedClause,
            self.program.at(at),
            format!("`{name}` is `conditional` and changed here other than by assignments"),
        )
        .with_help("assign it by its name, not through a pointer, a reference or a macro");
        self.errors.push(diagnostic);
        true
    }

    /// Puts a note at the assignments in a range.
    pub(super) fn note_assignments(
        &self,
        range: TextRange,
        replacements: &mut Vec<(TextRange, Plan)>,
    ) {
        for symbol in &self.noted.symbols {
            for at in self.assignments(*symbol, range).unwrap_or_default() {
                let is_replaced = replacements
                    .iter()
                    .any(|(known, _)| known.contains_range(at));
                if !is_replaced {
                    let note = Plan::Assigned {
                        name: self.program.name(*symbol).clone(),
                        space: self.noted.space,
                    };
                    replacements.push((at, note));
                }
            }
        }
        replacements.sort_by_key(|(at, _)| at.start());
    }

    /// Where a variable is assigned by its name; none if it may change in other ways, too.
    fn assignments(&self, symbol: SymbolId, range: TextRange) -> Option<Vec<TextRange>> {
        let program = self.program;
        let name = program.name(symbol).as_str();
        let hides_name = |at: TextRange| {
            let names = program.macro_names(program.text(at), at);
            names.iter().any(|inner| *inner == name)
        };
        let mut macros = lex::identifiers(program.source(), range)
            .filter(|at| program.macro_at(program.text(*at), *at).is_some());
        if macros.any(hides_name) {
            return None;
        }
        let root = program.unit.tree.root().smallest_at(range);
        let mut found = Vec::new();
        for node in root.subtree() {
            let at = node.range();
            let is_use = node.kind() == Kind::Identifier
                && range.contains_range(at)
                && node.text() == name
                && program.symbols[symbol].declared_at != Some(at)
                && program.scopes.resolve(&program.symbols, name, at) == Some(symbol);
            if !is_use {
                continue;
            }
            if is_assigned(node) {
                found.push(at);
            } else if self.is_changed_elsewhere(node, symbol) {
                return None;
            }
        }
        Some(found)
    }

    /// Whether a use that is no assignment may change the variable: a reference, an address, an argument of a macro.
    fn is_changed_elsewhere(&self, node: Node<'p>, symbol: SymbolId) -> bool {
        let program = self.program;
        let variable = rex_ir::changes::Variable {
            is_pointer: false,
            is_automatic: program.symbols[symbol].kind.is_automatic(),
        };
        let is_macro = |call: Node<'p>| {
            call.kind() == Kind::CallExpression
                && call
                    .field(Field::Function)
                    .is_some_and(|callee| program.macro_at(callee.text(), callee.range()).is_some())
        };
        node.ancestors().any(is_macro)
            || may_change(
                node,
                &|| variable,
                &program.function_index,
                &program.unit.macros,
                program.language(),
            )
    }
}

/// Whether a name stands where it is assigned, incremented or decremented.
fn is_assigned(node: Node<'_>) -> bool {
    let mut current = node;
    while let Some(parent) = current.parent() {
        match parent.kind() {
            Kind::ParenthesizedExpression => current = parent,
            Kind::AssignmentExpression => return parent.field(Field::Left) == Some(current),
            Kind::UpdateExpression => return true,
            _ => return false,
        }
    }
    false
}
