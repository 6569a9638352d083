//! Values that C converts by itself and C++ does not: pointers to each other and to numbers, numbers to enumerations.

use std::rc::Rc;

use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, TextSize};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::names::squeeze;
use crate::headers;
use crate::symbol::SymbolKind;
use crate::ty::{Category, Meaning, TypeId, TypeKind};

/// An integer type that holds a pointer.
const ADDRESS: &str = "unsigned long";

impl<'u> Builder<'u> {
    /// Writes the conversion of a value to a type that C does by itself.
    pub(super) fn convert_implicitly(&mut self, value: Node<'u>, target: TypeId) {
        if self.needs_conversion(value, target) {
            self.convert(value, target);
        }
    }

    /// Whether C converts a value to a type by itself and C++ does not.
    pub(super) fn needs_conversion(&mut self, value: Node<'u>, target: TypeId) -> bool {
        if self.is_enumeration(target) {
            return !self.is_of_enumeration(value, target);
        }
        let takes_number = self.is_integer(target);
        let pointee = self.pointee(target);
        if pointee.is_none() && !takes_number {
            return false;
        }
        if let Some(to) = pointee
            && (self.is_text_of_cxx(value) || self.is_of_macro(value))
        {
            let is_void = self.is_void(to);
            return !is_void && self.can_be_spelled(to) && !self.types.is_constant(to);
        }
        let Some(found) = self.type_of_value(value) else {
            return false;
        };
        match (pointee, self.pointee_of_value(found)) {
            (Some(to), Some(from)) => self.differs(to, from) || self.leaves_view(to, from, found),
            (Some(to), None) => {
                self.is_integer(found)
                    && self.can_be_spelled(to)
                    && self.constant_value(value.range()) != Some(0)
            }
            (None, from) => from.is_some(),
        }
    }

    /// Whether a pointer takes the rows of an array of run-time size, which device code has views of.
    fn leaves_view(&self, to: TypeId, from: TypeId, found: TypeId) -> bool {
        let is_of_rows = matches!(
            self.types.get(self.types.desugar(from)).kind,
            TypeKind::Array { .. }
        );
        is_of_rows
            && self.types.is_variably_modified(found)
            && !self.is_void(to)
            && self.can_be_spelled(to)
    }

    /// Whether a value is made of texts by operators, which are `const char *` then in C++: `c ? "a" : "b"`, `"ab" + 1`.
    fn is_text_of_cxx(&self, value: Node<'u>) -> bool {
        let fields = match value.kind() {
            Kind::ParenthesizedExpression => {
                return value.only_child().is_some_and(|it| self.is_text_of_cxx(it));
            }
            Kind::ConditionalExpression => [Field::Consequence, Field::Alternative],
            Kind::BinaryExpression => [Field::Left, Field::Right],
            _ => return false,
        };
        let mut operands = fields.into_iter().filter_map(|field| value.field(field));
        operands
            .any(|operand| operand.kind() == Kind::StringLiteral || self.is_text_of_cxx(operand))
    }

    /// Whether a macro of the program writes a value, whose type nobody knows.
    fn is_of_macro(&mut self, value: Node<'u>) -> bool {
        let name = match value.kind() {
            Kind::Identifier => value,
            Kind::CallExpression => match value.field(Field::Function) {
                Some(name) if name.kind() == Kind::Identifier => name,
                _ => return false,
            },
            _ => return false,
        };
        let found = self.macro_at(name.text(), name.range());
        found.is_some_and(|definition| {
            definition.range.is_some() && !definition.body.trim_start().starts_with('{')
        }) && self.type_of_value(value).is_none()
    }

    /// `v + n`, `v - w` and `v++` of pointers to `void`, which count bytes in GNU C.
    pub(super) fn count_bytes(&mut self, node: Node<'u>) {
        let pointee = |builder: &mut Self, operand: Option<Node<'u>>| {
            let ty = builder.expression_type(operand?, operand?.range(), 0)?;
            let to = builder.pointee(ty).filter(|to| builder.is_void(*to))?;
            Some(match builder.types.is_constant(to) {
                true => "const ",
                false => "",
            })
        };
        let operator = node.field(Field::Operator).map_or("", |it| it.text());
        let changed = match (node.kind(), operator) {
            (Kind::UpdateExpression, _) => node.field(Field::Argument),
            (Kind::AssignmentExpression, "+=" | "-=") => node.field(Field::Left),
            _ => None,
        };
        if let Some(object) = changed {
            if let Some(word) = pointee(self, Some(object)) {
                let start = TextRange::empty(object.range().start());
                let end = TextRange::empty(object.range().end());
                self.conversions
                    .push((start, format_smolstr!("(({word}char *&)")));
                self.conversions.push((end, SmolStr::new_static(")")));
            }
            return;
        }
        if node.kind() != Kind::BinaryExpression || !matches!(operator, "+" | "-") {
            return;
        }
        let operands = [node.field(Field::Left), node.field(Field::Right)];
        let words = operands.map(|operand| pointee(self, operand));
        let [start, end] = [node.range().start(), node.range().end()].map(TextRange::empty);
        if let [Some(word), None] | [None, Some(word)] = words {
            self.conversions
                .push((start, format_smolstr!("({word}void *)(")));
            self.conversions.push((end, SmolStr::new_static(")")));
        }
        for (operand, word) in operands.into_iter().zip(words) {
            if let (Some(operand), Some(word)) = (operand, word) {
                let at = TextRange::empty(operand.range().start());
                self.conversions
                    .push((at, format_smolstr!("({word}char *)")));
            }
        }
    }

    /// `c ? f() : g()` of which one has no value, as C takes it.
    fn drop_value(&mut self, left: Node<'u>, right: Node<'u>) {
        let types = [left, right].map(|it| self.expression_type(it, it.range(), 0));
        let are_void = types.map(|ty| ty.map(|ty| self.is_void(ty)));
        let dropped = match are_void {
            [Some(true), Some(false)] => right,
            [Some(false), Some(true)] => left,
            _ => return,
        };
        let [start, end] = [dropped.range().start(), dropped.range().end()].map(TextRange::empty);
        self.conversions
            .push((start, SmolStr::new_static("(void)(")));
        self.conversions.push((end, SmolStr::new_static(")")));
    }

    /// The type of a value, that of a function's name included, which is its address.
    fn type_of_value(&mut self, value: Node<'u>) -> Option<TypeId> {
        let found = self.expression_type(value, value.range(), 0);
        found.or_else(|| self.function_address(value))
    }

    fn function_address(&mut self, value: Node<'u>) -> Option<TypeId> {
        let inner = match value.kind() {
            Kind::PointerExpression => value.field(Field::Argument)?,
            Kind::ParenthesizedExpression => value.only_child()?,
            Kind::Identifier => {
                let name = value.text();
                let symbol = self.scopes.resolve(&self.symbols, name, value.range())?;
                let symbol = &self.symbols[symbol];
                if symbol.kind != SymbolKind::Function {
                    return None;
                }
                let (returns, declared_at) = (symbol.ty, symbol.declared_at?);
                let parameters = self.parameters_in_words(name, declared_at)?;
                let function = self.types.plain(TypeKind::Function {
                    returns,
                    parameters,
                });
                return Some(self.types.plain(TypeKind::Pointer(function)));
            }
            _ => return None,
        };
        self.function_address(inner)
    }

    /// The list of a function of this file, with the types of its parameters.
    fn parameters_in_words(&mut self, name: &str, declared_at: TextRange) -> Option<SmolStr> {
        let root = self.unit.tree.root();
        match self.function_index.named(name).first() {
            Some(&defined) => Some(self.written_parameters(defined)),
            None => list_around(root.smallest_at(declared_at)).map(|list| squeeze(list.text())),
        }
    }

    /// Whether a call of `f`, declared as `int (*f)()`, passes arguments.
    pub(super) fn call_without_prototype(&mut self, call: Node<'u>) {
        let (Some(callee), Some(arguments)) =
            (call.field(Field::Function), call.field(Field::Arguments))
        else {
            return;
        };
        let has_arguments = arguments.children().any(|it| it.kind() != Kind::Comment);
        let Some(ty) = self.expression_type(callee, callee.range(), 0) else {
            return;
        };
        let function = self.pointee(ty).unwrap_or(ty);
        let is_open = matches!(
            &self.types.get(self.types.desugar(function)).kind,
            TypeKind::Function { parameters, .. } if parameters == "()"
        );
        if !has_arguments || !is_open {
            return;
        }
        let open = TextRange::at(arguments.range().start(), TextSize::of('('));
        let before = TextRange::new(callee.range().end(), open.end());
        let start = TextRange::empty(callee.range().start());
        self.conversions
            .push((start, SmolStr::new_static("rex_unprototyped(")));
        self.conversions.push((before, SmolStr::new_static(", ")));
    }

    /// Whether two functions, or a function and an object, have addresses of different types.
    fn differs_as_function(&self, to: TypeId, from: TypeId) -> bool {
        let [to, from] = [to, from].map(|ty| &self.types.get(self.types.desugar(ty)).kind);
        let words = |list: &SmolStr| match list.as_str() {
            "(void)" => SmolStr::new_static("()"),
            _ => list.clone(),
        };
        match (to, from) {
            (
                TypeKind::Function {
                    returns: to,
                    parameters: taken,
                },
                TypeKind::Function {
                    returns: from,
                    parameters: given,
                },
            ) => to != from || words(taken) != words(given),
            _ => true,
        }
    }

    fn is_function(&self, ty: TypeId) -> bool {
        self.types.category(ty) == Category::Function
    }

    /// Whether C++ does not take a pointer to one type for one to another.
    fn differs(&mut self, to: TypeId, from: TypeId) -> bool {
        if self.is_function(to) || self.is_function(from) {
            let is_named = |ty| self.is_function(ty) || self.can_be_spelled(ty);
            return is_named(to) && is_named(from) && self.differs_as_function(to, from);
        }
        if !self.can_be_spelled(to) || !self.can_be_spelled(from) {
            return false;
        }
        let adds = |was: bool, is: bool| !was || is;
        let types = &self.types;
        let [is_const, was_const] = [to, from].map(|ty| types.is_constant(ty));
        let [is_volatile, was_volatile] =
            [to, from].map(|ty| types.is_qualified(ty, |it| it.is_volatile));
        if !adds(was_const, is_const) || !adds(was_volatile, is_volatile) {
            return true;
        }
        let [to, from] = [to, from].map(|ty| self.plain_object(ty));
        !self.is_void(to) && self.is_same_type(to, from) == Some(false)
    }

    /// A type without aliases and qualifiers of its own.
    fn plain_object(&mut self, ty: TypeId) -> TypeId {
        let desugared = self.types.desugar(ty);
        self.types.unqualified(desugared)
    }

    /// Whether a pointer to a type can be written in device code, and what it points to is known.
    fn can_be_spelled(&self, pointee: TypeId) -> bool {
        let inner = self.types.innermost_element(pointee);
        let is_tagged = || {
            let record = self.types.record(inner);
            record.is_none_or(|it| !self.types.records[it].is_untagged)
        };
        let is_known = match self.types.category(inner) {
            Category::Unknown => self.is_void(inner),
            Category::Function | Category::Dependent => false,
            Category::Pointer => self
                .pointee(inner)
                .is_some_and(|next| self.can_be_spelled(next)),
            _ => true,
        };
        is_known && is_tagged() && !self.types.is_variably_modified(pointee)
    }

    /// What a pointer points to; `None` for what is no pointer.
    fn pointee(&self, ty: TypeId) -> Option<TypeId> {
        match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// The same for a value: arrays are pointers to their first element.
    fn pointee_of_value(&self, ty: TypeId) -> Option<TypeId> {
        match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Array { element, .. } => Some(element),
            _ => self.pointee(ty),
        }
    }

    fn is_integer(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Named {
                meaning: Meaning::Integer { .. },
                ..
            }
        )
    }

    pub(super) fn is_enumeration(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Named {
                meaning: Meaning::Enum,
                ..
            }
        )
    }

    /// Whether a value has the type of an enumeration, as its constants have in C++.
    fn is_of_enumeration(&mut self, value: Node<'u>, enumeration: TypeId) -> bool {
        let at = value.range();
        if let Some(found) = self.expression_type(value, at, 0) {
            let [found, wanted] = [found, enumeration].map(|ty| self.types.desugar(ty));
            return self.types.is_same_object(found, wanted);
        }
        let symbol = self.scopes.resolve(&self.symbols, value.text(), at);
        symbol.is_some_and(|symbol| {
            let symbol = &self.symbols[symbol];
            let [found, wanted] = [symbol.ty, enumeration].map(|ty| self.types.desugar(ty));
            symbol.kind == SymbolKind::Enumerator && self.types.is_same_object(found, wanted)
        })
    }

    /// Pointers of two types that are compared, or of which one is chosen.
    pub(super) fn read_operands(&mut self, node: Node<'u>) {
        let fields = match node.kind() {
            Kind::ConditionalExpression => (Field::Consequence, Field::Alternative),
            _ => {
                let operator = node.field(Field::Operator).map_or("", |it| it.text());
                if !matches!(operator, "==" | "!=" | "<" | ">" | "<=" | ">=") {
                    return;
                }
                (Field::Left, Field::Right)
            }
        };
        let (Some(left), Some(right)) = (node.field(fields.0), node.field(fields.1)) else {
            return;
        };
        if node.kind() == Kind::ConditionalExpression {
            self.drop_value(left, right);
        }
        let types = [left, right].map(|it| self.type_of_value(it));
        let [Some(first), Some(second)] = types else {
            return;
        };
        let pointees = [first, second].map(|ty| self.pointee_of_value(ty));
        let (Some(to), Some(from)) = (pointees[0], pointees[1]) else {
            return;
        };
        // Pointers to `void`, and to what only one of them may not change, have a common type.
        let [to, from] = [to, from].map(|ty| self.plain_object(ty));
        if (!self.is_void(from) || self.is_function(to)) && self.differs(to, from) {
            let target = self.types.plain(TypeKind::Pointer(to));
            self.convert(right, target);
        }
    }

    /// `(int)p` of a pointer as `(int)(unsigned long)p`: C++ does not take a number that is too short.
    pub(super) fn cast_through_number(&mut self, cast: Node<'u>) {
        let (Some(ty), Some(value)) = (cast.field(Field::Type), cast.field(Field::Value)) else {
            return;
        };
        let ty = self.descriptor_type(ty, cast.range());
        if self.is_integer(ty) && self.is_shorter_than_pointer(ty) {
            let found = self.expression_type(value, value.range(), 0);
            if found.is_some_and(|found| self.pointee_of_value(found).is_some()) {
                let at = TextRange::empty(value.range().start());
                self.conversions.push((at, format_smolstr!("({ADDRESS})")));
            }
        }
    }

    fn is_shorter_than_pointer(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Named {
                meaning: Meaning::Integer { bits, .. },
                ..
            } if bits < 64
        )
    }

    /// The arguments of a call.
    pub(super) fn read_arguments(&mut self, call: Node<'u>) {
        let (Some(callee), Some(arguments)) =
            (call.field(Field::Function), call.field(Field::Arguments))
        else {
            return;
        };
        if callee.kind() != Kind::Identifier {
            return;
        }
        let parameters = self.parameters_of(callee);
        let arguments = arguments.children();
        let arguments: Vec<Node<'u>> = arguments
            .filter(|child| child.kind() != Kind::Comment)
            .collect();
        for (ty, value) in parameters.iter().zip(arguments) {
            if let Some(ty) = ty {
                self.convert_implicitly(value, *ty);
            }
        }
    }

    /// The types of the parameters of a function that this file or a header declares, as far as they are known.
    fn parameters_of(&mut self, callee: Node<'u>) -> Rc<[Option<TypeId>]> {
        let name = callee.text();
        if let Some(known) = self.parameters.get(name) {
            return known.clone();
        }
        let root = self.unit.tree.root();
        let defined = self.function_index.named(name).first();
        let in_file = match defined {
            Some(&defined) => Some(root.smallest_at(self.functions[defined].parameters)),
            None => {
                let symbol = self.scopes.resolve(&self.symbols, name, callee.range());
                let symbol = symbol.map(|it| &self.symbols[it]);
                let symbol = symbol.filter(|it| it.kind == SymbolKind::Function);
                let name = symbol.and_then(|it| it.declared_at);
                name.and_then(|at| list_around(root.smallest_at(at)))
            }
        };
        let parameters = match in_file {
            Some(list) => self.types_in(list, list.range()),
            None => match headers::function_declaration(self.unit, name) {
                Some(declared) => self.types_in_fragment(&declared.text, name),
                None => Vec::new(),
            },
        };
        let parameters: Rc<[Option<TypeId>]> = parameters.into();
        self.parameters.insert(name.into(), parameters.clone());
        parameters
    }

    /// The types of the parameters in the text of a header's declaration.
    fn types_in_fragment(&mut self, text: &str, name: &str) -> Vec<Option<TypeId>> {
        let tree = parse_fragment(text, self.unit.language);
        let named = tree.root().descendants().find(|node| node.text() == name);
        let Some(list) = named.and_then(list_around) else {
            return Vec::new();
        };
        self.fragment_depth += 1;
        let types = self.types_in(list, TextRange::empty(0.into()));
        self.fragment_depth -= 1;
        types
    }

    fn types_in(&mut self, list: Node<'_>, at: TextRange) -> Vec<Option<TypeId>> {
        let children = list.children().filter(|it| it.kind() != Kind::Comment);
        let children: Vec<Node<'_>> = children.collect();
        let types = children.into_iter().map(|parameter| {
            if parameter.kind() != Kind::ParameterDeclaration {
                return None;
            }
            let declarator = parameter.field(Field::Declarator)?;
            // Its size may name the parameters before it.
            let at = match self.fragment_depth {
                0 => parameter.range(),
                _ => at,
            };
            let base = self.base_type(parameter, at);
            let ty = self.declarator(declarator, base, at).ty;
            Some(match self.types.get(ty).kind {
                TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
                _ => ty,
            })
        });
        types.collect()
    }

    /// What stands in front of a value to convert it.
    pub(super) fn spelled_conversion(&mut self, value: Node<'u>, target: TypeId) -> SmolStr {
        let found = self.type_of_value(value);
        let is_address = found.is_some_and(|it| self.pointee_of_value(it).is_some());
        let through_number = is_address && self.is_integer(target);
        let target = self.types.unqualified(target);
        let spelled = self.types.spell(target);
        match through_number && self.is_shorter_than_pointer(target) {
            true => format_smolstr!("({spelled})({ADDRESS})"),
            false => format_smolstr!("({spelled})"),
        }
    }

    fn convert(&mut self, value: Node<'u>, target: TypeId) {
        let spelled = self.spelled_conversion(value, target);
        let binds = matches!(
            value.kind(),
            Kind::Identifier
                | Kind::CallExpression
                | Kind::FieldExpression
                | Kind::SubscriptExpression
                | Kind::ParenthesizedExpression
                | Kind::CastExpression
        );
        let range = value.range();
        let mut insert =
            |at: TextSize, text: SmolStr| self.conversions.push((TextRange::empty(at), text));
        if binds {
            insert(range.start(), spelled);
        } else {
            insert(range.start(), format_smolstr!("{spelled}("));
            insert(range.end(), SmolStr::new_static(")"));
        }
    }
}

/// The parameters of the function that a name is declared as.
fn list_around(name: Node<'_>) -> Option<Node<'_>> {
    let mut around = name.ancestors();
    around
        .find(|node| node.kind() == Kind::FunctionDeclarator)?
        .field(Field::Parameters)
}
