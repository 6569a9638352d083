//! Which expressions all threads of a block compute alike.

use rex_ir::region::{CapturedObject, Transport};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::TypeKind;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};

use super::{Team, covering};

impl<'p> Team<'_, 'p> {
    /// Every thread can compute the variable by itself and it keeps its first value.
    pub(super) fn is_replicated(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let found = &program.symbols[symbol];
        let is_array = matches!(
            program.types.get(program.types.desugar(found.ty)).kind,
            TypeKind::Array { .. }
        );
        let Some(initializer) = found.initializer else {
            return false;
        };
        let names_itself = lex::identifiers(program.source(), initializer)
            .any(|at| *program.text(at) == *found.name);
        !is_array && !names_itself && self.is_uniform(initializer) && !self.is_assigned(symbol)
    }

    /// All threads get the same value from this expression, without side effects.
    pub(super) fn is_uniform(&self, range: TextRange) -> bool {
        let program = self.program();
        let text = program.text(range);
        if text.contains("++")
            || text.contains("--")
            || text.contains('[')
            || text.contains("->")
            || text.contains('{')
        {
            return false;
        }
        let assigns = text.as_bytes().windows(3).any(|three| {
            three[1] == b'=' && three[2] != b'=' && !matches!(three[0], b'=' | b'<' | b'>' | b'!')
        });
        if assigns || text.trim_start().starts_with('*') || text.contains("(*") {
            return false;
        }
        lex::identifiers(program.source(), range).all(|at| {
            let name = program.text(at);
            if matches!(
                name,
                "omp_get_team_num" | "omp_get_num_teams" | "sizeof" | "min" | "max"
            ) {
                return true;
            }
            if program.macro_at(name, at).is_some() {
                return program.macro_names(name, at).iter().all(|inner| {
                    program
                        .scopes
                        .resolve(&program.symbols, inner, at)
                        .is_none_or(|symbol| self.is_uniform_name(symbol))
                });
            }
            match program.scopes.resolve(&program.symbols, name, at) {
                Some(symbol) => self.is_uniform_name(symbol),
                None => false,
            }
        })
    }

    fn is_uniform_name(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let found = &program.symbols[symbol];
        match found.kind {
            SymbolKind::Enumerator | SymbolKind::Type | SymbolKind::TemplateValue => return true,
            kind if !kind.is_variable() => return false,
            _ => {}
        }
        if found.kind == SymbolKind::Parameter && self.planner.region.is_none() {
            return !self.is_assigned(symbol);
        }
        let Some(region) = self.planner.region() else {
            return self.is_loop_variable(symbol)
                || (found.kind == SymbolKind::Local && self.is_replicated(symbol));
        };
        if let Some(capture) = region
            .captures
            .iter()
            .find(|capture| capture.object == CapturedObject::Variable(symbol))
        {
            return match capture.transport {
                Transport::Literal => !capture.may_be_written,
                Transport::Pointee | Transport::DevicePointer => true,
                _ => false,
            };
        }
        let statement = program.constructs[region.construct].statement;
        let inside = found
            .declared_at
            .zip(statement)
            .is_some_and(|(declared, statement)| statement.contains_range(declared));
        if !inside {
            // A copied constant.
            return found.initializer.is_some();
        }
        self.is_loop_variable(symbol) || self.is_replicated(symbol)
    }

    /// The variable of a loop whose iterations the teams share, or of a loop that all threads go through.
    fn is_loop_variable(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let name = &program.symbols[symbol].name;
        program.constructs.iter().any(|(_, construct)| {
            (construct.has(Leaf::Distribute) || construct.has(Leaf::Loop))
                && construct.nest.is_some_and(|nest| {
                    program.nests[nest].loops.iter().any(|canonical| {
                        canonical.variable == *name
                            && program.symbols[symbol]
                                .declared_at
                                .is_some_and(|declared| canonical.range.contains_range(declared))
                    })
                })
        }) || self.uniform_for(symbol)
    }

    fn uniform_for(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let Some(declaration) = program.symbols[symbol].declaration else {
            return false;
        };
        let root = program.unit.tree.root();
        let node = covering(root.smallest_at(declaration), declaration);
        node.parent().is_some_and(|parent| {
            parent.kind() == Kind::ForStatement
                && parent
                    .field(Field::Initializer)
                    .is_some_and(|initializer| initializer.range() == declaration)
                && self.is_uniform_loop(parent, symbol)
        })
    }

    /// `for (int k = ..; k < ..; k++)` where bounds are uniform and the body leaves `k` alone.
    pub(super) fn is_uniform_loop(&self, node: Node<'p>, symbol: SymbolId) -> bool {
        let program = self.program();
        let name = program.symbols[symbol].name.as_str();
        let Some(initializer) = program.symbols[symbol].initializer else {
            return false;
        };
        let Some(condition) = node.condition() else {
            return false;
        };
        // Not the other variables of the loop's declaration.
        let is_earlier = |other: SymbolId| {
            let declaration = program.symbols[symbol].declaration;
            program.symbols[other]
                .declared_at
                .zip(declaration)
                .is_none_or(|(other, own)| other.end() <= own.start())
        };
        let uniform_but_self = |range: TextRange| {
            lex::identifiers(program.source(), range).all(|at| {
                program.text(at) == name
                    || program
                        .scopes
                        .resolve(&program.symbols, program.text(at), at)
                        .is_some_and(|other| is_earlier(other) && self.is_uniform_name(other))
                    || program.macro_at(program.text(at), at).is_some()
            }) && !program.text(range).contains('[')
                && !program.text(range).contains("->")
        };
        let Some(body) = node.field(Field::Body) else {
            return false;
        };
        self.is_uniform(initializer)
            && uniform_but_self(condition.range())
            && node
                .field(Field::Update)
                .is_none_or(|update| uniform_but_self(update.range()))
            && !self.assigned_in(symbol, body.range())
    }

    pub(super) fn is_assigned(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let statement = match self.planner.function {
            Some(function) => Some(program.functions[function].body),
            None => self
                .planner
                .region()
                .and_then(|region| program.constructs[region.construct].statement),
        };
        statement.is_some_and(|statement| self.assigned_in(symbol, statement))
    }

    /// Whether any use inside a range may change the variable.
    fn assigned_in(&self, symbol: SymbolId, range: TextRange) -> bool {
        let program = self.program();
        let name = program.symbols[symbol].name.as_str();
        let root = program.unit.tree.root().smallest_at(range);
        let ty = program.types.desugar(program.symbols[symbol].ty);
        let is_pointer = matches!(program.types.get(ty).kind, TypeKind::Pointer(_));
        root.descendants().any(|node| {
            node.kind() == Kind::Identifier
                && node.text() == name
                && range.contains_range(node.range())
                && program.symbols[symbol].declared_at != Some(node.range())
                && may_change(node, is_pointer, program.language())
                && program.scopes.resolve(&program.symbols, name, node.range()) == Some(symbol)
        })
    }
}

/// Whether this use of a name may change the variable.
fn may_change(node: Node<'_>, is_pointer: bool, language: Language) -> bool {
    let mut current = node;
    while let Some(parent) = current.parent() {
        match parent.kind() {
            Kind::ParenthesizedExpression => {}
            // What a pointer points to is another object.
            Kind::FieldExpression | Kind::SubscriptExpression if is_pointer => return false,
            Kind::FieldExpression | Kind::SubscriptExpression
                if parent.field(Field::Argument) == Some(current) => {}
            Kind::AssignmentExpression => return parent.field(Field::Left) == Some(current),
            Kind::UpdateExpression => return true,
            Kind::PointerExpression => {
                return parent
                    .field(Field::Operator)
                    .is_some_and(|operator| operator.text() == "&");
            }
            // C passes values.
            Kind::ArgumentList => return language == Language::Cxx,
            _ => return false,
        }
        current = parent;
    }
    false
}
