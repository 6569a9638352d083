//! Captured objects and their types.

use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::lex;
use rex_syntax::omp::directive::Leaf;
use smol_str::SmolStr;

use super::uses::Use;
use crate::build::Builder;
use crate::build::implicit::ImplicitRules;
use crate::map::MapItem;
use crate::namer;
use crate::places::constructs_in;
use crate::region::{Capture, CapturedObject, ConstructId, Transport};
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Category, Meaning, TypeId, TypeKind};

impl Builder<'_> {
    pub(super) fn capture(
        &mut self,
        object: CapturedObject,
        seen: Use,
        construct: ConstructId,
        maps: &[MapItem],
        rules: &ImplicitRules,
    ) -> Option<Capture> {
        let ty = match object {
            CapturedObject::Variable(symbol) => self.captured_type(symbol, maps),
            CapturedObject::This => {
                let class = self.this_type(self.constructs[construct].range)?;
                self.types.plain(TypeKind::Pointer(class))
            }
            CapturedObject::Extent(..) => self.types.named(
                "int64_t",
                Meaning::Integer {
                    bits: 64,
                    signed: true,
                },
            ),
        };
        let transport = match object {
            CapturedObject::Extent(..) => Some(Transport::Literal),
            _ => self.transport(object, ty, construct, maps, rules, seen.at),
        };
        let Some(transport) = transport else {
            self.report_untyped(object, ty, seen.at);
            return None;
        };
        if let CapturedObject::Variable(symbol) = object
            && let Some(declared) = self.symbols[symbol].declared_at
            && let Some(word) = self.hidden_word(ty, declared, self.constructs[construct].range)
        {
            self.report_hidden(&word, symbol, declared, seen.at);
            return None;
        }
        let is_updated_in_turn = match object {
            CapturedObject::Variable(symbol) => self.is_updated_in_turn(symbol, construct),
            CapturedObject::This | CapturedObject::Extent(..) => false,
        };
        // Threads that update it in turn update one object, which all of them see.
        let transport = match object {
            CapturedObject::Variable(symbol)
                if transport == Transport::Literal
                    && seen.written
                    && is_updated_in_turn
                    && matches!(
                        self.constructs[construct].private_on(symbol),
                        None | Some(Leaf::Target)
                    ) =>
            {
                Transport::Copy
            }
            _ => transport,
        };
        Some(Capture {
            object,
            ty,
            transport,
            is_implicit: !seen.explicit,
            may_be_written: seen.written && object != CapturedObject::This,
            is_updated_in_turn,
            may_be_called: seen.called,
            has_local_type: self.is_local_type(ty, construct),
            at: seen.at,
        })
    }

    /// The type of a captured variable. One that only the compiler knows is a parameter of the kernel.
    fn captured_type(&mut self, symbol: SymbolId, maps: &[MapItem]) -> TypeId {
        let found = &self.symbols[symbol];
        if self.is_deduced(symbol) {
            let name = namer::deduced_type(&found.name);
            return self.types.named(name, Meaning::Dependent);
        }
        let mut items = maps.iter();
        // Elements are of what a pointer points to, also where a template's parameter gives the type.
        let is_pointer = |item: &&MapItem| {
            item.root == CapturedObject::Variable(symbol) && self.is_pointer(item.root_ty)
        };
        match items.find(is_pointer) {
            Some(item) if self.types.category(found.ty) == Category::Dependent => item.root_ty,
            _ => found.ty,
        }
    }

    /// Whether only the compiler knows the type of a variable.
    pub(in crate::build) fn is_deduced(&self, symbol: SymbolId) -> bool {
        let found = &self.symbols[symbol];
        let is_of_function = matches!(
            found.kind,
            SymbolKind::Local | SymbolKind::StaticLocal | SymbolKind::Parameter
        );
        is_of_function
            && found.spelled.is_none()
            && found.declared_at.is_some()
            && self.unit.language == rex_syntax::source::Language::Cxx
            && self.types.mentions_auto(found.ty)
    }

    /// Whether an `atomic` or `critical` construct of a region names a variable.
    fn is_updated_in_turn(&self, symbol: SymbolId, construct: ConstructId) -> bool {
        let region = self.constructs[construct].range;
        let name = &self.symbols[symbol].name;
        constructs_in(&self.constructs, region).any(|(_, inner)| {
            matches!(inner.leaves.first(), Some(Leaf::Atomic | Leaf::Critical))
                && lex::identifiers(self.source, inner.range).any(|at| {
                    self.text(at) == name.as_str()
                        && self.scopes.resolve(&self.symbols, name, at) == Some(symbol)
                })
        })
    }

    /// Whether a type has no name outside the function or class around a construct.
    fn is_local_type(&self, ty: TypeId, construct: ConstructId) -> bool {
        let at = self.constructs[construct].range;
        let function = self.innermost_function(at);
        let function = function.map(|function| &self.functions[function]);
        let membership = function.and_then(|function| function.membership.as_ref());
        let record = membership.and_then(|membership| membership.record);
        let class = record.and_then(|record| self.types.records[record].body);
        let class_name = record.map(|record| &self.types.records[record].name);
        let inside = |declaration: TextRange| {
            self.is_local_at(declaration, at)
                || class.is_some_and(|class| class.contains_range(declaration))
        };
        let is_of_function_or_class = |id: SymbolId| {
            let symbol = &self.symbols[id];
            let is_member = membership.is_some() && symbol.kind == SymbolKind::StaticField;
            is_member || symbol.declaration.is_some_and(inside)
        };
        let mut words = Vec::new();
        self.type_words(ty, &mut words);
        words.iter().any(|text| {
            let whole = TextRange::up_to(rex_syntax::TextSize::of(text.as_str()));
            let is_local = |name: &str| {
                let named = self.scopes.resolve_type_word(&self.symbols, name, at);
                named.is_some_and(is_of_function_or_class)
            };
            // A member named through its class may be private.
            let names_member = class_name.is_some_and(|class| text.contains(&format!("{class}::")));
            is_local(text)
                || names_member
                || lex::identifiers(text, whole).any(|name| is_local(&text[name]))
                || text.contains(namer::UNTAGGED_PREFIX)
        })
    }

    fn report_hidden(
        &mut self,
        word: &str,
        variable: SymbolId,
        declared: TextRange,
        at: TextRange,
    ) {
        let name = &self.symbols[variable].name;
        let diagnostic = Diagnostic::new(
            Code::UnknownType,
            self.at(at),
            format!("`{word}`, in the type of `{name}`, means something else here"),
        )
        .with_secondary(self.at(declared), "declared here")
        .with_help(format!(
            "give what hides `{word}` in this block another name"
        ));
        self.diagnostics.push(diagnostic);
    }

    fn report_untyped(&mut self, object: CapturedObject, ty: TypeId, at: TextRange) {
        let name = match object {
            CapturedObject::Variable(symbol) => self.symbols[symbol].name.clone(),
            CapturedObject::This => SmolStr::new_static("this"),
            CapturedObject::Extent(symbol, dimension) => {
                namer::extent(&self.symbols[symbol].name, dimension)
            }
        };
        let spelled = self.types.spell(ty);
        let mut diagnostic = Diagnostic::new(
            Code::UnknownType,
            self.at(at),
            format!("the type of `{name}` is not known"),
        )
        .with_note(format!("it is declared as `{spelled}`"))
        .with_help(format!(
            "declare `{name}` with a type that is written out in this file"
        ));
        if let CapturedObject::Variable(symbol) = object
            && let Some(declared) = self.symbols[symbol].declared_at
        {
            diagnostic = diagnostic.with_secondary(self.at(declared), "declared here");
        }
        self.diagnostics.push(diagnostic);
    }
}
