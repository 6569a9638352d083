//! Variables that the host spells with more than a name: a member of the own object that a clause turns into a variable, a static member of an instantiation.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::{self, TokenKind};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::names::{namespaces_around, squeeze, without_arguments};
use crate::map::{PathStep, StepKind};
use crate::namer;
use crate::region::CapturedObject;
use crate::symbol::{Qualifier, Symbol, SymbolId, SymbolKind};
use crate::ty::{Extent, Meaning, RecordId, Type, TypeId, TypeKind};

impl Builder<'_> {
    /// The variable that a qualified name means: a static data member, or a variable of a namespace.
    pub(super) fn resolve_qualified(&mut self, text: &str, at: TextRange) -> Option<SymbolId> {
        let found = self.find_qualified(text, at)?;
        // Inside a template, its own name means the instantiation at hand; so does an alias of one anywhere.
        let is_alias = || {
            let member = self.static_members.get(&found);
            let mut names = text.rsplit("::").map(str::trim);
            member.is_some_and(|member| {
                let class = &self.types.records[member.record].name;
                member.has_arguments() && names.nth(1) != Some(class)
            })
        };
        let is_instance = self.symbols[found].kind == SymbolKind::StaticField
            && (text.contains('<') || is_alias());
        if !is_instance {
            return Some(found);
        }
        let spelled = squeeze(text);
        if let Some(known) = self.spelled_symbols.get(&spelled) {
            return Some(*known);
        }
        let ty = self.instance_type(self.symbols[found].ty, &spelled);
        let name = namer::identifier(&spelled).into();
        let key = spelled.clone();
        let symbol = self.spelled_symbol(key, spelled, name, SymbolKind::StaticField, ty);
        self.static_member_instances.insert(symbol, found);
        Some(symbol)
    }

    /// The type of a static member of an instantiation, which the compiler knows. Only the array around it is read from the template.
    fn instance_type(&mut self, declared: TypeId, spelled: &str) -> TypeId {
        let mut extents = Vec::new();
        let mut element = declared;
        while let TypeKind::Array {
            element: inner,
            extent: Extent::Constant(extent),
        } = &self.types.get(element).kind
            && extent.trim().parse::<u64>().is_ok()
        {
            extents.push(extent.clone());
            element = *inner;
        }
        let spelling = match extents.is_empty() {
            true => format_smolstr!("decltype({spelled})"),
            false => format_smolstr!("typename std::remove_all_extents<decltype({spelled})>::type"),
        };
        let mut ty = self.types.named(spelling, Meaning::Unknown);
        for extent in extents.into_iter().rev() {
            ty = self.types.plain(TypeKind::Array {
                element: ty,
                extent: Extent::Constant(extent),
            });
        }
        ty
    }

    /// The type of a namespace's variable as code outside the namespace spells it.
    pub(super) fn seen_from_outside(&mut self, ty: TypeId, at: TextRange) -> TypeId {
        let whole = self.types.get(ty).clone();
        let kind = match whole.kind.clone() {
            TypeKind::Pointer(to) => TypeKind::Pointer(self.seen_from_outside(to, at)),
            TypeKind::Reference(to) => TypeKind::Reference(self.seen_from_outside(to, at)),
            TypeKind::Array { element, extent } => TypeKind::Array {
                element: self.seen_from_outside(element, at),
                extent,
            },
            TypeKind::Named { spelling, meaning } => {
                let spelling = self.spelled_from_outside(&spelling, at);
                TypeKind::Named { spelling, meaning }
            }
            TypeKind::Function { .. } => return ty,
        };
        self.types.intern(Type { kind, ..whole })
    }

    /// The words of a type, template arguments among them, with the namespaces that the place does not name.
    fn spelled_from_outside(&self, spelling: &str, at: TextRange) -> SmolStr {
        let tokens: Vec<lex::Token> =
            lex::significant_tokens(spelling, lex::whole(spelling)).collect();
        let word = |idx: usize| tokens.get(idx).map_or("", |token| token.text(spelling));
        let mut spelled = spelling.to_owned();
        for idx in (0..tokens.len()).rev() {
            let is_first = idx == 0 || !matches!(word(idx - 1), "::" | ".");
            if tokens[idx].kind != TokenKind::Identifier || !is_first {
                continue;
            }
            let mut last = idx;
            while word(last + 1) == "::" && tokens.get(last + 2).is_some() {
                last += 2;
            }
            // A class, `Particle` of `Particle::Bank`, or what a namespace has, `settings::Mode`.
            let class = self.namespaces_of_type(word(idx), at);
            let (namespaces, named) = match class {
                Some(namespaces) => (namespaces, idx),
                None => {
                    let whole = TextRange::new(tokens[idx].range.start(), tokens[last].range.end());
                    let found = self.find_qualified(&spelling[whole], at);
                    let found = found.filter(|_| last > idx);
                    let namespaces = found.and_then(|symbol| self.namespaces_of(symbol));
                    match namespaces {
                        Some(namespaces) => (namespaces, last),
                        None => continue,
                    }
                }
            };
            let before = tokens[idx].range.start()..tokens[named].range.start();
            let before = usize::from(before.start)..usize::from(before.end);
            spelled.replace_range(before, &format!("{}::", namespaces.join("::")));
        }
        spelled.into()
    }

    /// The namespaces around the type that a name means at a place, unless there are none.
    fn namespaces_of_type(&self, name: &str, at: TextRange) -> Option<Vec<SmolStr>> {
        let declared = match self.scopes.resolve_type(&self.symbols, name, at) {
            Some(symbol) => self.symbols[symbol].declared_at,
            None => self.defined_beside(name, at),
        };
        self.namespaces_at(declared?)
    }

    fn namespaces_of(&self, symbol: SymbolId) -> Option<Vec<SmolStr>> {
        let found = &self.symbols[symbol];
        let declared = found.declared_at.filter(|_| found.kind == SymbolKind::Type);
        self.namespaces_at(declared?)
    }

    fn namespaces_at(&self, declared: TextRange) -> Option<Vec<SmolStr>> {
        let node = self.unit.tree.root().smallest_at(declared);
        let namespaces = namespaces_around(node);
        (!namespaces.is_empty() && is_of_namespace(node)).then_some(namespaces)
    }

    /// The type that a declaration of variables defines itself: `struct S { int a; } s;`.
    fn defined_beside(&self, name: &str, declaration: TextRange) -> Option<TextRange> {
        let node = self.unit.tree.root().smallest_at(declaration);
        let defined = node.field(Field::Type)?;
        defined.field(Field::Body)?;
        let tag = defined.field(Field::Name)?;
        (tag.text() == name).then(|| tag.range())
    }

    /// A member of the own object as a variable: what `is_device_ptr(v)` and `use_device_ptr(v)` make of it.
    pub(super) fn member_as_variable(
        &mut self,
        steps: &mut Vec<PathStep>,
    ) -> Option<(CapturedObject, TypeId)> {
        let [first, second, ..] = steps.as_slice() else {
            return None;
        };
        let (StepKind::Deref, StepKind::Member(name)) = (&first.kind, &second.kind) else {
            return None;
        };
        let (name, ty) = (name.clone(), second.ty);
        steps.drain(..2);
        let symbol = self.variable_of_member(name, ty);
        Some((CapturedObject::Variable(symbol), ty))
    }

    /// The variable that stands for a member of the own object where a clause makes it one.
    pub(super) fn variable_of_member(&mut self, name: SmolStr, ty: TypeId) -> SymbolId {
        let spelled = format_smolstr!("this->{name}");
        // Members of different classes may have one name and type: the words for them are the same too.
        let key = format_smolstr!("{} {spelled}", self.types.spell(ty));
        match self.spelled_symbols.get(&key) {
            Some(known) => *known,
            None => self.spelled_symbol(key, spelled, name, SymbolKind::Local, ty),
        }
    }

    fn spelled_symbol(
        &mut self,
        key: SmolStr,
        spelled: SmolStr,
        name: SmolStr,
        kind: SymbolKind,
        ty: TypeId,
    ) -> SymbolId {
        let symbol = self.symbols.alloc(Symbol {
            name,
            kind,
            ty,
            declared_at: None,
            initializer: None,
            declaration: None,
            qualifier: Qualifier::default(),
            spelled: Some(Box::new(spelled)),
        });
        self.spelled_symbols.insert(key, symbol);
        symbol
    }

    /// The class that a qualifier names: `Shape::Inner` of `geo::Shape::Inner`.
    pub(super) fn class_named(&self, qualifier: &str, at: TextRange) -> Option<RecordId> {
        if let Some(class) = self.specialization(qualifier, at) {
            return Some(class);
        }
        let plain = without_arguments(qualifier);
        let mut parts = plain.split("::");
        let record_of = |symbol: SymbolId| {
            let ty = self.types.desugar(self.symbols[symbol].ty);
            self.types.record(ty).or_else(|| {
                // An alias of an instantiation: `typedef Box<int> IntBox;`.
                let spelled = self.types.spell(ty);
                let class = spelled
                    .split_once('<')
                    .map(|_| without_arguments(&spelled))?;
                let name = class.rsplit("::").next()?;
                let class = self.scopes.resolve_type(&self.symbols, name, at)?;
                self.types.record(self.symbols[class].ty)
            })
        };
        let mut class = parts.find_map(|part| {
            let found = self.scopes.resolve_type(&self.symbols, part, at)?;
            record_of(found)
        })?;
        for part in parts {
            let scope = self.scopes.scope(*self.class_scopes.get(&class)?);
            let mut members = scope.names.get(part)?.iter().rev();
            class = members.find_map(|member| record_of(*member))?;
        }
        Some(class)
    }
}

/// Whether a namespace declares a name, and no function, class or template in it.
fn is_of_namespace(name: Node<'_>) -> bool {
    !name.ancestors().any(|outer| {
        matches!(
            outer.kind(),
            Kind::FunctionDefinition | Kind::FieldDeclarationList | Kind::TemplateParameterList
        )
    })
}
