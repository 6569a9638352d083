//! Types of simple expressions, for `auto` and for paths whose declaration does not say.

use std::collections::BTreeSet;

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Builder;
use crate::symbol::{Symbol, SymbolId, SymbolKind};
use crate::ty::{Category, Meaning, RecordId, Type, TypeId, TypeKind};

impl<'u> Builder<'u> {
    /// The declared type with `auto` replaced by what the initializer decides, where it does.
    pub(super) fn deduced(
        &mut self,
        ty: TypeId,
        initializer: Option<Node<'u>>,
        at: TextRange,
    ) -> TypeId {
        let Some(initializer) = initializer else {
            return ty;
        };
        if !self.mentions_auto(ty) || !self.is_decided_by_initializer(ty) {
            return ty;
        }
        match self.expression_type(initializer, at, 0) {
            Some(found) => self.replace_auto(ty, found),
            None => ty,
        }
    }

    pub(super) fn mentions_auto(&self, ty: TypeId) -> bool {
        match &self.types.get(ty).kind {
            TypeKind::Named { meaning, .. } => *meaning == Meaning::Auto,
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.mentions_auto(*to),
            TypeKind::Array { .. } | TypeKind::Function { .. } => false,
        }
    }

    /// Whether the type is `auto` and not, for instance, a class template without arguments or `decltype(x)`.
    fn is_decided_by_initializer(&self, ty: TypeId) -> bool {
        match &self.types.get(ty).kind {
            TypeKind::Named { spelling, .. } => {
                matches!(spelling.as_str(), "auto" | "decltype(auto)" | "__auto_type")
            }
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.is_decided_by_initializer(*to),
            TypeKind::Array { .. } | TypeKind::Function { .. } => false,
        }
    }

    fn replace_auto(&mut self, pattern: TypeId, found: TypeId) -> TypeId {
        let Type {
            is_const,
            is_volatile,
            kind,
        } = self.types.get(pattern).clone();
        match kind {
            TypeKind::Pointer(to) => {
                let pointee = self.types.element(found).unwrap_or(found);
                let inner = self.replace_target(to, pointee);
                self.types.intern(Type {
                    is_const,
                    is_volatile,
                    kind: TypeKind::Pointer(inner),
                })
            }
            TypeKind::Reference(to) => {
                let found = self.types.object_type(found);
                let inner = self.replace_target(to, found);
                self.types.plain(TypeKind::Reference(inner))
            }
            _ => {
                // By value: arrays decay, references and top-level qualifiers are dropped.
                let found = match self.types.get(found).kind {
                    TypeKind::Reference(to) => to,
                    _ => found,
                };
                let found = match self.types.get(self.types.desugar(found)).kind {
                    TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
                    _ => self.types.unqualified(found),
                };
                let mut ty = self.types.get(found).clone();
                ty.is_const |= is_const;
                ty.is_volatile |= is_volatile;
                self.types.intern(ty)
            }
        }
    }

    /// What a pointer or reference points to. An array stays one: only values decay.
    fn replace_target(&mut self, pattern: TypeId, found: TypeId) -> TypeId {
        match self.types.get(self.types.desugar(found)).kind {
            TypeKind::Array { .. } => found,
            _ => self.replace_auto(pattern, found),
        }
    }

    /// The type of an expression, for the forms that need no overload resolution.
    pub(super) fn expression_type(
        &mut self,
        node: Node<'u>,
        at: TextRange,
        depth: u32,
    ) -> Option<TypeId> {
        if depth > 32 {
            return None;
        }
        let next = depth + 1;
        match node.kind() {
            Kind::NumberLiteral => Some(self.number_type(node.text())),
            Kind::True | Kind::False => Some(self.types.named("bool", Meaning::Bool)),
            Kind::CharLiteral if node.text().starts_with('\'') => Some(self.char_type()),
            Kind::StringLiteral if node.text().starts_with('"') => {
                let char = self.char_type();
                let mut constant = self.types.get(char).clone();
                constant.is_const = true;
                let constant = self.types.intern(constant);
                Some(self.types.plain(TypeKind::Pointer(constant)))
            }
            Kind::Identifier => {
                let symbol = self.scopes.resolve(&self.symbols, node.text(), at)?;
                let symbol = &self.symbols[symbol];
                (symbol.kind.is_variable()
                    || symbol.kind == SymbolKind::Field
                    || symbol.kind == SymbolKind::TemplateValue)
                    .then_some(symbol.ty)
            }
            Kind::ParenthesizedExpression => {
                let inner = node
                    .children()
                    .find(|child| child.kind() != Kind::Comment)?;
                self.expression_type(inner, at, next)
            }
            Kind::SubscriptExpression => {
                let base = self.expression_type(node.field(Field::Argument)?, at, next)?;
                self.types
                    .element(base)
                    .or_else(|| self.container_member_type(base, "at", at))
            }
            Kind::FieldExpression => {
                let base = self.expression_type(node.field(Field::Argument)?, at, next)?;
                let base = self
                    .types
                    .element(base)
                    .filter(|_| self.is_pointer(base))
                    .unwrap_or(base);
                let name = node.field(Field::Field)?.text();
                let found = self.member_type(base, name)?;
                match self.types.record(base) {
                    Some(class) => self.seen_from(found, base, class, at),
                    None => Some(found),
                }
            }
            Kind::PointerExpression => {
                let operand = self.expression_type(node.field(Field::Argument)?, at, next)?;
                match node.field(Field::Operator)?.text() {
                    "*" => self.types.element(operand),
                    _ => {
                        let object = self.types.object_type(operand);
                        Some(self.types.plain(TypeKind::Pointer(object)))
                    }
                }
            }
            Kind::CastExpression => {
                let ty = node.field(Field::Type)?;
                Some(self.descriptor_type(ty, at))
            }
            Kind::NewExpression => {
                let ty = node.field(Field::Type)?;
                if self.lacks_template_arguments(ty, at) {
                    return None;
                }
                let ty = self.specifier_type(ty, at);
                Some(self.types.plain(TypeKind::Pointer(ty)))
            }
            Kind::SizeofExpression => Some(self.types.named(
                "size_t",
                Meaning::Integer {
                    bits: 64,
                    signed: false,
                },
            )),
            Kind::CompoundLiteralExpression => {
                let ty = node.field(Field::Type)?;
                if self.lacks_template_arguments(ty, at) {
                    return None;
                }
                match ty.kind() {
                    Kind::TypeDescriptor => Some(self.descriptor_type(ty, at)),
                    _ => Some(self.specifier_type(ty, at)),
                }
            }
            Kind::CallExpression => self.call_type(node, at),
            Kind::AssignmentExpression => self.expression_type(node.field(Field::Left)?, at, next),
            Kind::UpdateExpression => self.expression_type(node.field(Field::Argument)?, at, next),
            Kind::UnaryExpression => {
                let operand = self.expression_type(node.field(Field::Argument)?, at, next)?;
                match node.field(Field::Operator)?.text() {
                    "!" if self.has_builtin_operators(operand) => Some(self.truth_type()),
                    "-" | "+" | "~" => self.promoted(operand),
                    _ => None,
                }
            }
            Kind::ConditionalExpression => {
                let chosen = self.expression_type(node.field(Field::Consequence)?, at, next)?;
                let other = self.expression_type(node.field(Field::Alternative)?, at, next);
                self.chosen_type(chosen, other)
            }
            Kind::BinaryExpression => {
                let left = self.expression_type(node.field(Field::Left)?, at, next)?;
                let right = self.expression_type(node.field(Field::Right)?, at, next)?;
                self.binary_type(node.field(Field::Operator)?.text(), left, right)
            }
            _ => None,
        }
    }

    fn call_type(&mut self, node: Node<'u>, at: TextRange) -> Option<TypeId> {
        let function = node.field(Field::Function)?;
        match function.kind() {
            Kind::Identifier => {
                let Some(symbol) = self.scopes.resolve(&self.symbols, function.text(), at) else {
                    return self
                        .header_function_type(function.text())
                        .filter(|ty| !self.may_be_overloaded(*ty));
                };
                let found = &self.symbols[symbol];
                match found.kind {
                    SymbolKind::Function => self.only_result(symbol),
                    SymbolKind::Type if self.lacks_template_arguments(function, at) => None,
                    SymbolKind::Type => Some(found.ty),
                    _ => None,
                }
            }
            Kind::TemplateFunction => {
                // static_cast<T>(x) and its relatives.
                let name = function.field(Field::Name)?.text();
                if !name.ends_with("_cast") {
                    return None;
                }
                let ty = function
                    .field(Field::Arguments)?
                    .children()
                    .find(|child| child.kind() == Kind::TypeDescriptor)?;
                Some(self.descriptor_type(ty, at))
            }
            Kind::PrimitiveType => Some(self.specifier_type(function, at)),
            Kind::FieldExpression => self.member_call_type(function, at),
            _ => None,
        }
    }

    /// What a function returns, if all functions of its name return the same.
    fn only_result(&self, function: SymbolId) -> Option<TypeId> {
        let found = &self.symbols[function];
        let is_other = |(_, other): (SymbolId, &Symbol)| {
            other.kind == SymbolKind::Function
                && other.name == found.name
                && !self.types.is_same_object(other.ty, found.ty)
        };
        let is_known = self.types.category(found.ty) != Category::Dependent;
        (is_known && !self.symbols.iter().any(is_other)).then_some(found.ty)
    }

    /// Whether C++ has other functions of the name of one of a header that returns this type: `sqrt` of a `float` is a `float`.
    fn may_be_overloaded(&self, returns: TypeId) -> bool {
        self.unit.language == Language::Cxx
            && matches!(
                self.types.get(self.types.object_type(returns)).kind,
                TypeKind::Named {
                    meaning: Meaning::Float { .. } | Meaning::WideArithmetic,
                    ..
                }
            )
    }

    /// The type of `object.name()`.
    fn member_call_type(&mut self, function: Node<'u>, at: TextRange) -> Option<TypeId> {
        let object = self.expression_type(function.field(Field::Argument)?, at, 0)?;
        let object = self
            .types
            .element(object)
            .filter(|_| self.is_pointer(object))
            .unwrap_or(object);
        let name = function.field(Field::Field)?.text();
        if let Some(record) = self
            .types
            .record(object)
            .or_else(|| self.header_class(object))
        {
            let returns: Vec<TypeId> = self.types.records[record]
                .methods
                .iter()
                .filter(|method| method.name == name)
                .map(|method| method.returns)
                .collect();
            // Of `T *data()` and `const T *data() const`, an object that is not constant has the first.
            let is_constant = self.types.get(self.types.object_type(object)).is_const;
            let fits = |ty: &&TypeId| is_constant || !self.points_to_constant(**ty);
            let found = returns.iter().find(fits).or(returns.first()).copied();
            // Overloads that differ in more than in what the result points to.
            let is_only = |found: &TypeId| {
                returns.iter().all(|other| {
                    self.types.is_same_object(*other, *found)
                        || self.points_to_constant(*other) != self.points_to_constant(*found)
                })
            };
            let found = found.filter(is_only);
            let is_known = |found: &TypeId| {
                self.types.category(*found) != Category::Unknown && !self.mentions_auto(*found)
            };
            if let Some(found) = found.filter(is_known) {
                return self.seen_from(found, object, record, at);
            }
        }
        self.container_member_type(object, name, at)
    }

    fn points_to_constant(&self, ty: TypeId) -> bool {
        match self.types.get(self.types.desugar(ty)).kind {
            TypeKind::Pointer(to) | TypeKind::Reference(to) => self.types.get(to).is_const,
            _ => false,
        }
    }

    /// The class template of a header that the type of an object instantiates. What depends on its parameters has no known type.
    fn header_class(&mut self, object: TypeId) -> Option<RecordId> {
        let object = self.types.object_type(object);
        let TypeKind::Named { spelling, .. } = &self.types.get(object).kind else {
            return None;
        };
        let (template, _) = spelling.split_once('<')?;
        let name: SmolStr = template.rsplit("::").next()?.trim().into();
        let ty = self.header_type(&name)?;
        self.types.record(ty)
    }

    /// The type of a member call of a container of the standard library.
    fn container_member_type(
        &mut self,
        object: TypeId,
        name: &str,
        at: TextRange,
    ) -> Option<TypeId> {
        let object = self.types.object_type(object);
        let spelling = match &self.types.get(object).kind {
            TypeKind::Named { spelling, .. } => spelling.clone(),
            _ => return None,
        };
        let template = spelling.split('<').next()?.trim();
        let template = template.rsplit("::").next()?;
        let is_container = matches!(
            template,
            "vector"
                | "array"
                | "string"
                | "valarray"
                | "deque"
                | "list"
                | "map"
                | "set"
                | "span"
                | "basic_string"
                | "string_view"
        );
        if !is_container {
            return None;
        }
        let element = |builder: &mut Self| match template {
            "string" => Some(builder.type_of_text("char", at)),
            _ => {
                let first = first_template_argument(&spelling)?;
                Some(builder.type_of_text(first, at))
            }
        };
        match name {
            "size" | "length" | "capacity" | "max_size" => Some(self.type_of_text("size_t", at)),
            "empty" => Some(self.type_of_text("bool", at)),
            "front" | "back" | "at" => element(self),
            "data" | "c_str" => {
                let element = element(self)?;
                let mut pointee = self.types.get(element).clone();
                pointee.is_const |= self.types.get(object).is_const || name == "c_str";
                let pointee = self.types.intern(pointee);
                Some(self.types.plain(TypeKind::Pointer(pointee)))
            }
            _ => None,
        }
    }

    /// The type that a piece of text names, `const double *` for instance.
    pub(super) fn type_of_text(&mut self, text: &str, at: TextRange) -> TypeId {
        let tree = parse_fragment(&format!("{text} rex_object;"), self.unit.language);
        self.fragment_depth += 1;
        let declaration = tree
            .root()
            .descendants()
            .find(|node| node.kind() == Kind::Declaration);
        let ty = match declaration {
            Some(declaration) => {
                let base = self.base_type(declaration, at);
                match declaration.field(Field::Declarator) {
                    Some(declarator) => self.declarator(declarator, base, at).ty,
                    None => base,
                }
            }
            None => self.types.named(text, Meaning::Unknown),
        };
        self.fragment_depth -= 1;
        ty
    }

    pub(super) fn is_pointer(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.object_type(ty)).kind,
            TypeKind::Pointer(_)
        )
    }

    fn binary_type(&mut self, operator: &str, left: TypeId, right: TypeId) -> Option<TypeId> {
        let is_builtin = self.has_builtin_operators(left) && self.has_builtin_operators(right);
        if !is_builtin {
            return None;
        }
        match operator {
            "<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||" => Some(self.truth_type()),
            "<<" | ">>" => self.promoted(left),
            "-" if self.is_pointer(left) && self.is_pointer(right) => Some(self.types.named(
                "ptrdiff_t",
                Meaning::Integer {
                    bits: 64,
                    signed: true,
                },
            )),
            _ if self.is_pointer(left) => Some(left),
            _ if self.is_pointer(right) => Some(right),
            _ => self.common_type(left, right),
        }
    }

    /// The type of `c ? chosen : other`.
    fn chosen_type(&mut self, chosen: TypeId, other: Option<TypeId>) -> Option<TypeId> {
        let is_c = self.unit.language == Language::C;
        let Some(other) = other else {
            // A null pointer that a macro writes, most often.
            return is_c.then_some(chosen);
        };
        if self.types.is_same_object(chosen, other) {
            let object = self.types.object_type(chosen);
            return Some(self.types.unqualified(object));
        }
        match [chosen, other].map(|ty| self.is_pointer(ty)) {
            [false, false] => self.common_type(chosen, other),
            [true, _] if is_c => Some(chosen),
            [_, true] if is_c => Some(other),
            _ => None,
        }
    }

    /// Whether operators of a type are those of the language: no class has its own.
    fn has_builtin_operators(&self, ty: TypeId) -> bool {
        let ty = self.types.object_type(ty);
        match &self.types.get(ty).kind {
            TypeKind::Pointer(_) | TypeKind::Array { .. } => true,
            TypeKind::Named { meaning, .. } => matches!(
                meaning,
                Meaning::Bool | Meaning::Integer { .. } | Meaning::Float { .. }
            ),
            TypeKind::Reference(_) | TypeKind::Function { .. } => false,
        }
    }

    /// What a comparison gives.
    fn truth_type(&mut self) -> TypeId {
        match self.unit.language {
            Language::Cxx => self.types.named("bool", Meaning::Bool),
            Language::C => self.int_type(),
        }
    }

    fn int_type(&mut self) -> TypeId {
        let meaning = Meaning::Integer {
            bits: 32,
            signed: true,
        };
        self.types.named("int", meaning)
    }

    fn char_type(&mut self) -> TypeId {
        let meaning = Meaning::Integer {
            bits: 8,
            signed: true,
        };
        self.types.named("char", meaning)
    }

    /// How far up an arithmetic type stands in conversions; `None` for any other type.
    fn conversion_rank(&self, ty: TypeId) -> Option<u32> {
        match &self.types.get(self.types.object_type(ty)).kind {
            TypeKind::Named {
                meaning: Meaning::Float { bits },
                ..
            } => Some(1000 + u32::from(*bits)),
            TypeKind::Named {
                meaning: Meaning::Integer { bits, signed },
                ..
            } => Some(u32::from(*bits) * 2 + u32::from(!*signed)),
            TypeKind::Named {
                meaning: Meaning::Bool,
                ..
            } => Some(1),
            _ => None,
        }
    }

    /// The type of an arithmetic operand by itself: `int` for what is smaller.
    fn promoted(&mut self, ty: TypeId) -> Option<TypeId> {
        const INT_RANK: u32 = 64;
        let rank = self.conversion_rank(ty)?;
        let ty = self.types.object_type(ty);
        Some(match rank < INT_RANK {
            true => self.int_type(),
            false => self.types.unqualified(ty),
        })
    }

    /// The type that two arithmetic operands are converted to.
    fn common_type(&mut self, left: TypeId, right: TypeId) -> Option<TypeId> {
        let (left, right) = (self.promoted(left)?, self.promoted(right)?);
        let is_greater = self.conversion_rank(right)? > self.conversion_rank(left)?;
        Some(if is_greater { right } else { left })
    }

    fn number_type(&mut self, text: &str) -> TypeId {
        let lower = text.to_ascii_lowercase().replace('\'', "");
        let hexadecimal = lower.starts_with("0x");
        let is_float = if hexadecimal {
            lower.contains('p')
        } else {
            lower.contains(['.', 'e'])
        };
        if is_float {
            return if lower.ends_with('f') {
                self.types.named("float", Meaning::Float { bits: 32 })
            } else if lower.ends_with('l') {
                self.types.named("long double", Meaning::WideArithmetic)
            } else {
                self.types.named("double", Meaning::Float { bits: 64 })
            };
        }
        let suffix: String = lower
            .chars()
            .rev()
            .take_while(|c| matches!(c, 'u' | 'l' | 'z'))
            .collect();
        let unsigned = suffix.contains('u');
        let digits = lower.trim_end_matches(['u', 'l', 'z']);
        let value = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(u64::MAX),
            None => digits.parse().unwrap_or(0),
        };
        let long = suffix.contains('l') || suffix.contains('z') || value > i32::MAX as u64;
        match (long, unsigned) {
            (false, false) => self.types.named(
                "int",
                Meaning::Integer {
                    bits: 32,
                    signed: true,
                },
            ),
            (false, true) => self.types.named(
                "unsigned int",
                Meaning::Integer {
                    bits: 32,
                    signed: false,
                },
            ),
            (true, false) => self.types.named(
                "long",
                Meaning::Integer {
                    bits: 64,
                    signed: true,
                },
            ),
            (true, true) => self.types.named(
                "unsigned long",
                Meaning::Integer {
                    bits: 64,
                    signed: false,
                },
            ),
        }
    }

    /// The type of a member, bases included.
    pub(super) fn member_type(&mut self, class: TypeId, name: &str) -> Option<TypeId> {
        let at = TextRange::empty(rex_syntax::TextSize::of(self.source));
        // Damaged classes may be bases of themselves.
        let mut seen = BTreeSet::new();
        let mut open = vec![class];
        while let Some(class) = open.pop() {
            if let Some(field) = self.types.field(class, name) {
                return Some(field.ty);
            }
            let record = self.types.record(class).filter(|it| seen.insert(*it));
            let bases = record.map(|record| self.types.records[record].bases.clone());
            for base in bases.iter().flatten().rev() {
                open.push(self.named_type(base, at));
            }
        }
        None
    }
}

/// `double` of `std::vector<double, A>`.
fn first_template_argument(spelling: &str) -> Option<&str> {
    let (_, rest) = spelling.split_once('<')?;
    let mut depth = 0;
    for (idx, c) in rest.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ',' if depth == 0 => return Some(rest[..idx].trim()),
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
