//! Calls and file-scope variables of functions, for the device closure.

use indexmap::IndexSet;
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};

use crate::build::Builder;
use crate::build::names::last_component;
use crate::build::qualified::qualified_around;
use crate::item::FunctionId;
use crate::region::Call;
use crate::static_member::uses_in;
use crate::symbol::{SymbolId, SymbolKind};

impl<'u> Builder<'u> {
    /// Calls and file-scope variables of every function, for the device closure.
    pub(super) fn read_functions(&mut self) {
        let unit = self.unit;
        if self.regions.is_empty() && self.device_functions.is_empty() {
            return;
        }
        let ids: Vec<FunctionId> = self.functions.iter().map(|(id, _)| id).collect();
        for id in ids {
            let node = unit.tree.root().smallest_at(self.functions[id].body);
            let mut calls = Vec::new();
            let mut globals: IndexSet<SymbolId> = IndexSet::new();
            self.collect_function_uses(node, &mut calls, &mut globals);
            // What a constructor says in front of its body.
            let beside = node.parent().into_iter().flat_map(|whole| whole.children());
            for list in beside.filter(|beside| beside.kind() == Kind::FieldInitializerList) {
                self.collect_function_uses(list, &mut calls, &mut globals);
            }
            let range = self.functions[id].range;
            let members = uses_in(&self.static_member_uses, range);
            for (_, symbol) in members {
                globals.insert(symbol);
                globals.extend(self.specializations_of_member(symbol));
            }
            self.functions[id].calls = calls;
            self.functions[id].globals = globals.into_iter().collect();
        }
    }

    /// Calls and file-scope variables of the body of a function or lambda.
    pub(in crate::build) fn collect_function_uses(
        &self,
        body: Node<'u>,
        calls: &mut Vec<Call>,
        globals: &mut IndexSet<SymbolId>,
    ) {
        for name in body.descendants() {
            match name.kind() {
                Kind::FieldIdentifier if is_callee(name) => {
                    calls.push(Call::of_member(name.text(), name.range()));
                }
                Kind::Identifier => {
                    let called = is_callee(name);
                    self.function_name_use(name.text(), name.range(), called, calls, globals, 0);
                }
                _ => {}
            }
        }
    }

    fn function_name_use(
        &self,
        text: &str,
        at: TextRange,
        called: bool,
        calls: &mut Vec<Call>,
        globals: &mut IndexSet<SymbolId>,
        depth: u32,
    ) {
        if depth == 0 && self.macro_at(text, at).is_some() {
            for inner in self.macro_names(text, at) {
                self.function_name_use(&inner, at, true, calls, globals, 1);
            }
        }
        match self.name_in_function(text, at) {
            Some(symbol) => match self.symbols[symbol].kind {
                SymbolKind::Function => calls.push(Call::of_function(text, at)),
                SymbolKind::Global => {
                    globals.insert(symbol);
                }
                _ => {}
            },
            None if called && depth == 0 => calls.push(Call::of_function(last_component(text), at)),
            None => {}
        }
    }
}

impl<'u> Builder<'u> {
    /// What a name of a function means, which may be the last of a qualified one.
    fn name_in_function(&self, text: &str, at: TextRange) -> Option<SymbolId> {
        let nearest = self.scopes.resolve(&self.symbols, text, at)?;
        let before = self.source[..usize::from(at.start())].trim_end();
        if !before.ends_with("::") {
            return Some(nearest);
        }
        let whole = qualified_around(self.unit.tree.root().smallest_at(at));
        let qualified = whole.and_then(|whole| self.find_qualified(whole.text(), at));
        qualified.or(Some(nearest))
    }
}

/// Whether a name stands alone as the value of an object or argument.
pub(super) fn is_copied(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| match parent.kind() {
        Kind::InitDeclarator | Kind::AssignmentExpression => [Field::Value, Field::Right]
            .map(|field| parent.field(field))
            .contains(&Some(node)),
        Kind::ArgumentList | Kind::InitializerList => true,
        _ => false,
    })
}

/// Whether a parameter is one of a declaration among statements.
fn is_of_variable(parameter: Node<'_>) -> bool {
    let declaration = parameter
        .ancestors()
        .find(|outer| outer.kind() == Kind::Declaration);
    let around = declaration.and_then(|declaration| declaration.parent());
    around.is_some_and(|around| around.kind() == Kind::CompoundStatement)
}

pub(super) fn is_callee(node: Node<'_>) -> bool {
    let mut current = node;
    while let Some(parent) = current.parent() {
        match parent.kind() {
            Kind::CallExpression => return parent.field(Field::Function) == Some(current),
            Kind::QualifiedIdentifier
            | Kind::TemplateFunction
            | Kind::TemplateMethod
            | Kind::TemplateType => current = parent,
            // `Pair both(first(), second());` reads like a function with two parameters.
            Kind::ParameterDeclaration => {
                let declarator = parent.field(Field::Declarator);
                return declarator.is_some_and(|it| it.kind() == Kind::AbstractFunctionDeclarator)
                    && is_of_variable(parent);
            }
            Kind::FieldExpression if parent.field(Field::Field) == Some(current) => {
                current = parent
            }
            _ => return false,
        }
    }
    false
}
