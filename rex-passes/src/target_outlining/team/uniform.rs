//! Which expressions all threads of a block compute alike.

use rex_ir::changes::changes_in;
use rex_ir::region::{CapturedObject, Transport};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use super::{Team, covering};

impl<'p> Team<'_, 'p> {
    /// Every thread can compute the variable by itself and it keeps its first value.
    pub(super) fn is_replicated(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let found = &program.symbols[symbol];
        let is_array = self.is_array(found.ty);
        // A member function may change an object of a class.
        if program.types.record(found.ty).is_some() {
            return false;
        }
        let Some(initializer) = found.initializer else {
            return false;
        };
        let names_itself = lex::identifiers(program.source(), initializer)
            .any(|at| *program.text(at) == *found.name);
        !is_array
            && !names_itself
            && self.is_uniform_before(initializer, symbol)
            && !self.is_assigned(symbol)
    }

    /// All threads get the same value from this expression, without side effects.
    pub(super) fn is_uniform(&self, range: TextRange) -> bool {
        self.is_uniform_of(range, &|_| true)
    }

    /// The same of an initializer that names only what is declared before its variable.
    fn is_uniform_before(&self, initializer: TextRange, variable: SymbolId) -> bool {
        let symbols = &self.program().symbols;
        let own = symbols[variable].declared_at;
        self.is_uniform_of(initializer, &|other| {
            let declared = symbols[other].declared_at;
            declared
                .zip(own)
                .is_none_or(|(other, own)| other.end() <= own.start())
        })
    }

    fn is_uniform_of(&self, range: TextRange, may_name: &dyn Fn(SymbolId) -> bool) -> bool {
        let program = self.program();
        let is_uniform_name = |symbol| may_name(symbol) && self.is_uniform_name(symbol);
        if !self.has_only_values(range, false) {
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
                        .is_none_or(is_uniform_name)
                });
            }
            match program.scopes.resolve(&program.symbols, name, at) {
                Some(symbol) => is_uniform_name(symbol),
                None => false,
            }
        })
    }

    /// Whether an expression computes from the values of variables alone: no memory behind pointers, no element of an array, no
    /// side effect (but assignments to variables, if allowed).
    fn has_only_values(&self, range: TextRange, may_assign: bool) -> bool {
        let program = self.program();
        let node = covering(program.unit.tree.root().smallest_at(range), range);
        let reaches_further = |inner: Node<'_>| match inner.kind() {
            Kind::AssignmentExpression | Kind::UpdateExpression => !may_assign,
            Kind::SubscriptExpression
            | Kind::PointerExpression
            | Kind::LambdaExpression
            | Kind::NewExpression
            | Kind::DeleteExpression
            | Kind::InitializerList
            | Kind::CompoundLiteralExpression => true,
            Kind::FieldExpression => inner
                .field(Field::Operator)
                .is_some_and(|operator| operator.text() == "->"),
            _ => false,
        };
        // Macros hide what their bodies do.
        !program.text(range).contains(['[', '{'])
            && !node
                .subtree()
                .any(|inner| range.contains_range(inner.range()) && reaches_further(inner))
            && lex::identifiers(program.source(), range).all(|at| {
                program
                    .macro_at(program.text(at), at)
                    .is_none_or(|definition| {
                        let body = definition.body.as_str();
                        !body.contains(['[', '{', '&'])
                            && !body.contains("->")
                            && !body.contains("++")
                            && !body.contains("--")
                            && !body.trim_start_matches('(').starts_with('*')
                    })
            })
    }

    pub(super) fn is_array(&self, ty: TypeId) -> bool {
        let types = &self.program().types;
        matches!(
            types.get(types.object_type(ty)).kind,
            TypeKind::Array { .. }
        )
    }

    fn is_uniform_name(&self, symbol: SymbolId) -> bool {
        let program = self.program();
        let found = &program.symbols[symbol];
        match found.kind {
            SymbolKind::Enumerator | SymbolKind::Type | SymbolKind::TemplateValue => return true,
            // The value of an array is its place.
            kind if self.is_array(found.ty)
                && matches!(
                    kind,
                    SymbolKind::Local
                        | SymbolKind::Global
                        | SymbolKind::Field
                        | SymbolKind::StaticField
                ) =>
            {
                return true;
            }
            kind if !kind.is_variable() => return false,
            _ => {}
        }
        let is_reference = matches!(program.types.get(found.ty).kind, TypeKind::Reference(_))
            || program.packs.contains_key(&symbol);
        if found.kind == SymbolKind::Parameter && self.planner.region.is_none() {
            return !is_reference && !self.is_assigned(symbol);
        }
        let types = &program.types;
        let is_constant = types.get(types.object_type(found.ty)).is_const
            && found.initializer.is_some()
            && !is_reference;
        let Some(region) = self.planner.region() else {
            return (found.kind == SymbolKind::Global && is_constant)
                || self.is_loop_variable(symbol)
                || (found.kind == SymbolKind::Local && self.is_replicated(symbol));
        };
        if let Some(capture) = region
            .captures
            .iter()
            .find(|capture| capture.object == CapturedObject::Variable(symbol))
        {
            return match capture.transport {
                Transport::Literal => !capture.may_be_written,
                Transport::Pointee | Transport::DevicePointer => !capture.may_be_written,
                _ => false,
            };
        }
        let statement = program.constructs[region.construct].statement;
        let inside = found
            .declared_at
            .zip(statement)
            .is_some_and(|(declared, statement)| statement.contains_range(declared));
        if !inside {
            let is_copied = found
                .declaration
                .is_some_and(|declaration| region.local_declarations.contains(&declaration));
            return is_copied || is_constant;
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
        let uniform_but_self = |range: TextRange, may_assign: bool| {
            self.has_only_values(range, may_assign)
                && lex::identifiers(program.source(), range).all(|at| {
                    program.text(at) == name
                        || program
                            .scopes
                            .resolve(&program.symbols, program.text(at), at)
                            .is_some_and(|other| is_earlier(other) && self.is_uniform_name(other))
                        || program.macro_at(program.text(at), at).is_some()
                })
        };
        let Some(body) = node.field(Field::Body) else {
            return false;
        };
        self.is_uniform_before(initializer, symbol)
            && uniform_but_self(condition.range(), false)
            && node
                .field(Field::Update)
                .is_none_or(|update| uniform_but_self(update.range(), true))
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
    pub(super) fn assigned_in(&self, symbol: SymbolId, range: TextRange) -> bool {
        changes_in(self.program(), symbol, range)
    }
}
