//! What C takes and the device's C++ does not: `void *` and numbers converted without a word, designators in any order.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::source::Language;
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::names::last_component;
use super::types::{declared_name, named_by_decltype};
use crate::headers;
use crate::item::Function;
use crate::library;
use crate::region::Call;
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Category, TypeId};

impl<'u> Builder<'u> {
    /// What device code has to write instead, in source order.
    pub(super) fn read_conversions(&mut self) {
        let has_code = !self.regions.is_empty() || !self.device_functions.is_empty();
        if has_code && self.unit.language == Language::C {
            self.read_conversions_of_c();
            self.declare_before_jumps();
            self.refuse_selections_of_macros();
            self.hoist_inner_types();
            self.define_enumerations_first();
        }
        if has_code {
            self.view_rows();
            self.spell_case_ranges();
            self.refuse_type_information();
            self.count_types_of_packs();
            self.name_functions();
            self.mark_local_methods();
            self.name_copies();
            self.call_device_library();
            self.name_types_of_objects();
            self.write_bytes();
            self.count_new_elements();
        }
        self.read_aligned_declarations();
        self.call_variants();
        self.conversions.sort_by_key(|(at, _)| at.start());
    }

    /// Bytes in literals that are no UTF-8, which the text does not have.
    fn write_bytes(&mut self) {
        let file = self.sources.file(self.unit.file);
        let mut escapes = file.escapes().peekable();
        if escapes.peek().is_none() {
            return;
        }
        let literals = lex::significant_tokens(self.source, lex::whole(self.source))
            .filter(|token| matches!(token.kind, TokenKind::String | TokenKind::Char))
            .filter(|token| !token.text(self.source).starts_with(['R', 'L', 'u', 'U']));
        for literal in literals {
            while let Some((at, text)) = escapes.next_if(|(at, _)| at.start() < literal.range.end())
            {
                if literal.range.contains_range(at) {
                    self.conversions.push((at, text.into()));
                }
            }
        }
    }

    /// Functions of classes that device code defines in a function are device code, which nvcc does not always see.
    fn mark_local_methods(&mut self) {
        let is_local = |function: &Function| {
            self.unit.language == Language::Cxx
                && self.function_index.around(function.range).is_some()
        };
        let methods = self.functions.values();
        let starts = methods
            .filter(|function| is_local(function))
            .map(|function| {
                let start = TextRange::empty(function.specifiers.start());
                (start, SmolStr::new_static("__host__ __device__ "))
            });
        self.conversions.extend(starts);
    }

    /// Device code calls the device library's functions in place of the host's.
    fn call_device_library(&mut self) {
        let unit = self.unit;
        for node in unit.tree.nodes() {
            let (name, device): (_, fn(&str) -> Option<SmolStr>) = match node.kind() {
                Kind::CallExpression => (node.field(Field::Function), library::device_name),
                Kind::Identifier if self.is_function_as_value(node) => {
                    (Some(node), library::device_name)
                }
                Kind::Identifier => (Some(node), library::device_stream),
                _ => continue,
            };
            let name = name.filter(|name| match name.kind() {
                Kind::Identifier => true,
                Kind::QualifiedIdentifier => {
                    matches!(name.text().rsplit_once("::"), Some(("std" | "", _)))
                }
                _ => false,
            });
            let Some(name) = name else { continue };
            let word = last_component(name.text());
            let Some(device) = device(word) else {
                continue;
            };
            // What the program defines under this name is its own.
            let mut named = self.function_index.named(word).iter();
            let is_own = match name.text().rsplit_once("::") {
                Some(("std", _)) => false,
                Some(_) => named.any(|id| self.functions[*id].namespaces.is_empty()),
                None => {
                    let found = self.scopes.resolve(&self.symbols, word, name.range());
                    found.is_some_and(|found| !self.is_only_declared(found))
                        || named.next().is_some()
                        || headers::project_declares_function(unit, word)
                }
            };
            if !is_own && !unit.macros.is_own_at(word, name.range().start()) {
                self.conversions.push((name.range(), device));
            }
        }
    }

    /// Whether C passes on a function of the library by its name: `apply(isdigit)`.
    fn is_function_as_value(&self, name: Node<'u>) -> bool {
        let Some(parent) = name.parent().filter(|_| self.unit.language == Language::C) else {
            return false;
        };
        library::device_name(name.text()).is_some()
            && match parent.kind() {
                Kind::ArgumentList | Kind::InitializerList => true,
                Kind::InitDeclarator => parent.field(Field::Value) == Some(name),
                Kind::AssignmentExpression => parent.field(Field::Right) == Some(name),
                _ => false,
            }
    }

    /// Whether a symbol is a function that a file of C declares: the library's, unless another file's device code has it.
    fn is_only_declared(&self, symbol: SymbolId) -> bool {
        let symbol = &self.symbols[symbol];
        self.unit.language == Language::C
            && symbol.kind == SymbolKind::Function
            && !self.external_device_functions.contains(&symbol.name)
    }

    /// Kernels have references to what they share, whose `decltype` is no object.
    fn name_types_of_objects(&mut self) {
        let unit = self.unit;
        for node in unit.tree.nodes() {
            if node.kind() != Kind::Decltype {
                continue;
            }
            let Some(operand) = named_by_decltype(node.text()) else {
                continue;
            };
            let found = self.scopes.resolve(&self.symbols, operand, node.range());
            let is_object = found.is_some_and(|id| {
                let symbol = &self.symbols[id];
                let is_known = self.types.category(symbol.ty) != Category::Unknown
                    || self.types.mentions_auto(symbol.ty);
                symbol.kind.is_variable() && is_known && !self.types.is_reference(symbol.ty)
            });
            if is_object {
                // `typename decltype(x)::value`
                let before = self.source[..usize::from(node.range().start())].trim_end();
                let word = match before.ends_with("typename") {
                    true => "",
                    false => "typename ",
                };
                let named =
                    format_smolstr!("{word}std::remove_reference<decltype({operand})>::type");
                self.conversions.push((node.range(), named));
            }
        }
    }

    /// Device code calls the variants that its context chooses.
    fn call_variants(&mut self) {
        let unit = self.unit;
        for call in &unit.variant_calls {
            if self.text(call.at) == call.device {
                continue;
            }
            self.conversions.push((call.at, call.device.clone()));
            let names: Vec<SmolStr> = lex::identifiers(&call.device, lex::whole(&call.device))
                .map(|at| SmolStr::from(&call.device[at]))
                .collect();
            let lists = self
                .regions
                .values_mut()
                .map(|region| &mut region.calls)
                .chain(
                    self.functions
                        .values_mut()
                        .map(|function| &mut function.calls),
                );
            for calls in lists {
                if let Some(idx) = calls.iter().position(|known| known.at == call.at) {
                    calls.remove(idx);
                    calls.extend(
                        names
                            .iter()
                            .map(|name| Call::of_function(name.clone(), call.at)),
                    );
                }
            }
        }
    }

    fn read_conversions_of_c(&mut self) {
        let unit = self.unit;
        for node in unit.tree.nodes() {
            let (target, value) = match node.kind() {
                Kind::InitDeclarator => {
                    self.deduce_int(node);
                    (self.declared_type(node), node.field(Field::Value))
                }
                Kind::AssignmentExpression if is_plain(node) => {
                    let left = node.field(Field::Left);
                    let ty = left.and_then(|left| self.expression_type(left, left.range(), 0));
                    (ty, node.field(Field::Right))
                }
                Kind::CompoundLiteralExpression => {
                    let ty = node.field(Field::Type);
                    let ty = ty.map(|ty| self.descriptor_type(ty, node.range()));
                    if ty.is_some_and(|ty| self.give_name(node, ty)) {
                        continue;
                    }
                    (ty, node.field(Field::Value))
                }
                // In C++, it stands for a type.
                Kind::StorageClassSpecifier if node.text() == "auto" => {
                    self.conversions.push((node.range(), SmolStr::default()));
                    continue;
                }
                Kind::ParameterDeclaration => {
                    self.open_first_dimension(node);
                    continue;
                }
                Kind::GenericExpression => {
                    self.choose(node);
                    continue;
                }
                Kind::ReturnStatement => {
                    self.return_something(node);
                    let value = node.children().find(|child| child.kind() != Kind::Comment);
                    (self.returned_type(node), value)
                }
                Kind::BinaryExpression | Kind::ConditionalExpression => {
                    self.count_bytes(node);
                    self.read_operands(node);
                    continue;
                }
                Kind::CastExpression => {
                    self.cast_through_number(node);
                    continue;
                }
                Kind::CallExpression => {
                    self.choose_builtin(node);
                    self.ask_macro(node);
                    self.call_without_prototype(node);
                    self.read_arguments(node);
                    continue;
                }
                Kind::Declaration => {
                    self.initialize_constants(node);
                    continue;
                }
                Kind::UpdateExpression | Kind::AssignmentExpression => {
                    self.update_enumeration(node);
                    self.count_bytes(node);
                    continue;
                }
                Kind::FunctionDeclarator => {
                    self.say_parameters(node);
                    continue;
                }
                Kind::FunctionDefinition => {
                    self.refuse_inner_function(node);
                    self.declare_parameters_in_list(node);
                    self.return_at_end(node);
                    continue;
                }
                Kind::TypeIdentifier => {
                    self.write_out_typeof(node);
                    continue;
                }
                Kind::AlignasQualifier => {
                    self.align_behind_type(node);
                    continue;
                }
                Kind::FieldDeclarationList => {
                    self.keep_empty(node);
                    continue;
                }
                Kind::UnaryExpression => {
                    self.call_part_of_complex(node);
                    continue;
                }
                Kind::NumberLiteral => {
                    self.spell_imaginary(node);
                    continue;
                }
                _ => continue,
            };
            let (Some(target), Some(value)) = (target, value) else {
                continue;
            };
            if value.kind() == Kind::InitializerList {
                if let Some(text) = self.list_in_order(value, target) {
                    self.conversions.push((value.range(), text.into()));
                }
                continue;
            }
            match self.characters(value, target) {
                Some(list) => self.conversions.push((value.range(), list.into())),
                None => self.convert_implicitly(value, target),
            }
        }
    }

    /// What the function around a `return` statement returns.
    pub(super) fn returned_type(&mut self, statement: Node<'u>) -> Option<TypeId> {
        let at = statement.range();
        let function = &self.functions[self.function_index.around(at)?];
        let symbol = self.scopes.resolve(&self.symbols, &function.name, at)?;
        let symbol = &self.symbols[symbol];
        (symbol.kind == SymbolKind::Function).then_some(symbol.ty)
    }

    fn declared_type(&mut self, node: Node<'u>) -> Option<TypeId> {
        let name = declared_name(node.field(Field::Declarator)?)?;
        let symbol = self
            .scopes
            .resolve(&self.symbols, name.text(), name.range())?;
        let symbol = &self.symbols[symbol];
        (symbol.declared_at == Some(name.range())).then_some(symbol.ty)
    }
}

fn is_plain(assignment: Node<'_>) -> bool {
    assignment
        .field(Field::Operator)
        .is_some_and(|operator| operator.text() == "=")
}
