//! Static data members on the device.
//!
//! CUDA has no memory on the device for a data member. So its class gets a static member function that gives the object, a variable of that function: its type and initial value keep their meaning, private
//! names included, and the linker makes one object of what several files have. Device code calls the function where it names the member.

use rex_ir::item::DeviceStorage;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::static_member::{StaticMember, uses_in};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Category, TypeKind};
use rex_syntax::{TextRange, TextSize, lex};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::class::BOTH_SIDES;
use super::kernel::{STEP, declare_pointer};
use super::references::{reference_to, with_objects};
use super::static_locals::{PLACE, PROGRESS};
use crate::common::classes;

/// A static data member that device code has an object of.
struct Member<'p> {
    program: &'p Program,
    symbol: SymbolId,
    known: &'p StaticMember,
    storage: DeviceStorage,
}

/// The static members of a program by place: that of the declaration in the class, and those of the definitions.
pub(super) fn places(program: &Program) -> Vec<(TextRange, SymbolId)> {
    let mut places: Vec<(TextRange, SymbolId)> = program
        .static_members
        .iter()
        .flat_map(|(symbol, known)| {
            let others = known.specializations.iter();
            let places = [known.in_class, known.definition].into_iter().flatten();
            places
                .chain(others.map(|other| other.definition))
                .map(|place| (place, *symbol))
        })
        .collect();
    places.sort_by_key(|(place, _)| place.start());
    places
}

/// What the classes in a range declare for their static members, by class body.
pub(super) fn declarations(
    program: &Program,
    members: &[SymbolId],
    range: TextRange,
) -> Vec<(TextRange, Vec<String>)> {
    members
        .iter()
        .filter_map(|symbol| Member::of(program, *symbol))
        .filter(|member| {
            let place = member.known.in_class;
            place.is_some_and(|place| range.contains_range(place))
        })
        .filter_map(|member| {
            let body = program.types.records[member.known.record].body?;
            Some((body, member.in_class()))
        })
        .collect()
}

/// The declarations of static members in the classes of a range.
pub(super) fn declared_in(
    program: &Program,
    members: &[SymbolId],
    range: TextRange,
) -> Vec<TextRange> {
    let places = members
        .iter()
        .filter_map(|symbol| program.static_members[symbol].in_class);
    places
        .filter(|place| range.contains_range(*place))
        .collect()
}

/// What is left out of the classes in a range: values of members that only the host has, which may be code of the host.
pub(super) fn values_of_host(
    program: &Program,
    members: &[SymbolId],
    range: TextRange,
) -> Vec<TextRange> {
    let source = program.source();
    let mut left_out = Vec::new();
    for symbol in members {
        let known = &program.static_members[symbol];
        let (Some(place), Some(value)) = (known.in_class, program.symbols[*symbol].initializer)
        else {
            continue;
        };
        let head = TextRange::new(place.start(), value.start().max(place.start()));
        let is_here = range.contains_range(place) && place.contains_range(value);
        let has_word = |wanted: &str| {
            let mut words = lex::identifiers(source, head);
            words.find(|at| program.text(*at) == wanted)
        };
        let names_function = || {
            lex::identifiers(source, value).any(|at| {
                let found = program
                    .scopes
                    .resolve(&program.symbols, program.text(at), at);
                found.is_some_and(|it| program.symbols[it].kind == SymbolKind::Function)
            })
        };
        let is_constant =
            known.is_constant && (has_word("constexpr").is_some() || !names_function());
        if !is_here || is_constant || program.device_storage(*symbol).is_some() {
            continue;
        }
        left_out.extend(has_word("inline"));
        let before = program.text(head).trim_end();
        let before = before.strip_suffix('=').map_or(before, str::trim_end);
        let start = head.start() + TextSize::of(before);
        left_out.push(TextRange::new(start, value.end()));
    }
    // Members that share a declaration share its words.
    left_out.sort_by_key(|range| range.start());
    left_out.dedup();
    left_out
}

/// The definitions that stand for those of members of class templates in a range, with the places of these.
pub(super) fn definitions_of_templates(
    program: &Program,
    members: &[SymbolId],
    range: TextRange,
) -> Vec<(TextRange, String)> {
    let of_host = members
        .iter()
        .filter_map(|symbol| definition_without_value(program, *symbol));
    let of_device = members
        .iter()
        .filter_map(|symbol| Member::of(program, *symbol))
        .filter(|member| member.known.is_of_template)
        .flat_map(|member| member.all_definitions());
    let definitions = of_device
        .chain(of_host)
        .filter(|(place, _)| range.contains_range(*place));
    // Two members have one definition only in a program that is wrong.
    let mut seen = FxHashSet::default();
    definitions
        .filter(|(place, _)| seen.insert(*place))
        .collect()
}

/// The definition of a member of a template that only the host has an object of, without the value that code of the host computes.
fn definition_without_value(program: &Program, symbol: SymbolId) -> Option<(TextRange, String)> {
    let known = &program.static_members[&symbol];
    let place = known.definition.filter(|_| known.is_of_template)?;
    let found = &program.symbols[symbol];
    let is_computed =
        |value: &TextRange| place.contains_range(*value) && program.text(*value).contains('(');
    let value = found.initializer.filter(is_computed)?;
    let is_variable = !program
        .types
        .get(program.types.innermost_element(found.ty))
        .is_const;
    let is_of_host = program.device_storage(symbol).is_none() && is_variable;
    let head = program
        .text(TextRange::new(place.start(), value.start()))
        .trim_end();
    let head = head.strip_suffix('=').unwrap_or(head).trim_end();
    is_of_host.then(|| (place, format!("{head};")))
}

/// The definitions that stand for that of a member outside its class.
pub(super) fn definition(program: &Program, symbol: SymbolId) -> Vec<String> {
    let lines = Member::of(program, symbol).and_then(|member| {
        let found = &program.symbols[symbol];
        Some(member.outside_class(found.declared_at?, found.initializer))
    });
    lines.unwrap_or_default()
}

/// The statement that constructs a member.
pub(super) fn construction(program: &Program, symbol: SymbolId) -> String {
    let member = namer::static_constructor(program.symbols[symbol].declared_name());
    format!("{}{member}();", class_of(program, symbol))
}

/// An expression for the object, or for the pointer to it, that the entry of a member stands for.
pub(super) fn entry_object(program: &Program, symbol: SymbolId) -> String {
    let function = namer::static_storage(program.symbols[symbol].declared_name());
    format!("{}{function}()", class_of(program, symbol))
}

/// `config::Counter::`
fn class_of(program: &Program, symbol: SymbolId) -> String {
    let unnamed = format!("{}::", namer::UNNAMED_NAMESPACE);
    program.symbols[symbol].qualifier.replace(&unnamed, "")
}

/// The call that stands for the name of a member.
pub(super) fn word(program: &Program, symbol: SymbolId) -> Option<SmolStr> {
    let member = Member::of(program, symbol)?;
    Some(format!("{}()", member.accessor()).into())
}

impl<'p> Member<'p> {
    fn of(program: &'p Program, symbol: SymbolId) -> Option<Member<'p>> {
        Some(Member {
            program,
            symbol,
            known: program.static_members.get(&symbol)?,
            storage: program.device_storage(symbol)?,
        })
    }

    /// The function that has the object has an accessor before it where other files call that, or where the object is a pointer.
    fn has_accessor(&self) -> bool {
        self.storage.is_behind_pointer() || !self.known.is_shared_by_files()
    }

    /// Whether a `constexpr` function reads a constant that no scalar type has: the compiler may need the value, device code the object.
    fn is_read_by_the_compiler(&self) -> bool {
        let program = self.program;
        let types = &program.types;
        let ty = program.symbols[self.symbol].ty;
        let element = types.element(ty).unwrap_or(ty);
        let is_object = matches!(
            types.category(ty),
            Category::Aggregate | Category::Dependent | Category::Unknown
        );
        let is_nested = matches!(
            types.get(types.object_type(element)).kind,
            TypeKind::Array { .. }
        );
        let is_in_constexpr = |at: TextRange| {
            let around = program.function_index.around(at);
            around.is_some_and(|id| program.is_constexpr_function(&program.functions[id]))
        };
        let mut uses = program.static_member_uses.iter();
        self.known.is_constant
            && is_object
            && !is_nested
            && uses.any(|(at, symbol)| *symbol == self.symbol && is_in_constexpr(*at))
    }

    fn accessor(&self) -> SmolStr {
        let name = self.program.symbols[self.symbol].declared_name();
        match self.has_accessor() {
            true => namer::static_accessor(name),
            false => namer::static_storage(name),
        }
    }

    fn reference(&self, name: &str) -> String {
        let ty = self.program.symbols[self.symbol].ty;
        reference_to(&self.program.types, ty, name)
    }

    /// The heads of the accessor and of the function that has the object; no accessor where it is the same.
    fn heads(&self) -> [String; 2] {
        let name = self.program.symbols[self.symbol].declared_name();
        let accessor = format!("{}()", namer::static_accessor(name));
        let storage = format!("{}()", namer::static_storage(name));
        if self.known.is_constant {
            let found = &self.program.symbols[self.symbol];
            let is_lambda = found
                .initializer
                .is_some_and(|value| self.program.text(value).trim_start().starts_with('['));
            // Each lambda has a type of its own.
            let head = match is_lambda {
                true => format!("const auto &{storage}"),
                false => format!("auto {storage} -> decltype(({name}))"),
            };
            return [String::new(), head];
        }
        let pointer = match self.storage.is_behind_pointer() {
            true => self.declare_pointer(&format!("(&{storage})")),
            false => self.reference(&storage),
        };
        match self.has_accessor() {
            true => [self.reference(&accessor), pointer],
            false => [String::new(), pointer],
        }
    }

    /// The same, as a definition outside the class has them: `-> type`.
    fn heads_outside(&self, class: &str, ty: &str) -> [String; 2] {
        let name = self.program.symbols[self.symbol].declared_name();
        [
            format!("auto {class}{}() -> {ty}", namer::static_accessor(name)),
            format!("auto {class}{}() -> {ty}", namer::static_storage(name)),
        ]
    }

    fn declare_pointer(&self, name: &str) -> String {
        let types = &self.program.types;
        let ty = types.object_type(self.program.symbols[self.symbol].ty);
        let ty = rex_ir::kernel::ParameterType::PointerTo(ty);
        declare_pointer(types, ty, name)
    }

    fn in_class(&self) -> Vec<String> {
        let [accessor, storage] = self.heads();
        let mut lines = Vec::new();
        let declared = |head: &str, body: &str| format!("{STEP}static {BOTH_SIDES}{head}{body}");
        let name = self.program.symbols[self.symbol].declared_name();
        let is_pointer = self.storage.is_behind_pointer();
        if !accessor.is_empty() {
            let body = match is_pointer {
                true => format!(" {{ return *{}(); }}", namer::static_storage(name)),
                false => ";".to_string(),
            };
            lines.push(declared(&accessor, &body));
        }
        if is_pointer {
            let object = self.declare_pointer(namer::STATIC_OBJECT);
            let body = format!(" {{ static {object}; return {}; }}", namer::STATIC_OBJECT);
            lines.push(declared(&storage, &body));
            return lines;
        }
        if !self.known.is_defined() {
            // Specializations define it, here or in another file.
            if accessor.is_empty() {
                lines.push(declared(&storage, ";"));
            }
            return lines;
        }
        if self.is_read_by_the_compiler() {
            lines.push(format!(
                "{STEP}struct rex_of_{name} {{ static constexpr const auto &rex_value = {name}; }};"
            ));
            let body = format!(" {{ return rex_constant_of<rex_of_{name}>.rex_value; }}");
            lines.push(declared(&format!("constexpr {storage}"), &body));
            return lines;
        }
        let own_value = self.program.symbols[self.symbol].initializer;
        let is_defined_here = self.known.definition.is_none() || self.known.is_constant;
        let body = match is_defined_here {
            true => self.storage_body(own_value),
            false => ";".to_string(),
        };
        lines.push(declared(&storage, &body));
        if self.storage == DeviceStorage::Constructed {
            let constructor = format!("void {}()", namer::static_constructor(name));
            let body = match is_defined_here {
                true => self.constructor_body(own_value),
                false => ";".to_string(),
            };
            lines.push(declared(&constructor, &body));
        }
        lines
    }

    /// The definition of a member of a template, and those for some arguments of the template.
    fn all_definitions(&self) -> Vec<(TextRange, String)> {
        let found = &self.program.symbols[self.symbol];
        let own = found.declared_at.zip(self.known.definition);
        let own = own.map(|(name, definition)| (definition, name, found.initializer));
        let others = self.known.specializations.iter();
        let others = others.map(|other| (other.definition, other.name, other.initializer));
        own.into_iter()
            .chain(others)
            .map(|(place, name, value)| (place, self.outside_class(name, value).join("\n")))
            .collect()
    }

    /// What stands for a definition outside the class, given the name in it and its value.
    fn outside_class(&self, name: TextRange, value: Option<TextRange>) -> Vec<String> {
        let is_pointer = self.storage.is_behind_pointer();
        if is_pointer || self.known.is_constant {
            return Vec::new();
        }
        let found = &self.program.symbols[self.symbol];
        let declared = self.program.text(name);
        let class = declared
            .strip_suffix(found.declared_name())
            .unwrap_or_default();
        // The type that a specialization has is not that of the template.
        let is_own = found.declared_at == Some(name);
        let ty = match is_own {
            true => self.reference(""),
            false => format!("decltype(({declared}))"),
        };
        let [accessor, storage] = self.heads_outside(class, &ty);
        if !is_own && value.is_none() {
            return vec![format!("{BOTH_SIDES}{storage};")];
        }
        let body = match is_own {
            true => self.storage_body(value),
            false => self.body_with(
                &format!("decltype({declared}) {}", namer::STATIC_OBJECT),
                value,
            ),
        };
        let mut lines = vec![format!("{BOTH_SIDES}inline {storage}{body}")];
        if self.has_accessor() {
            let function = namer::static_storage(found.declared_name());
            lines.push(format!("{BOTH_SIDES}{accessor} {{ return {function}(); }}"));
        }
        if self.storage == DeviceStorage::Constructed {
            let constructor = namer::static_constructor(found.declared_name());
            lines.push(format!(
                "{BOTH_SIDES}inline void {class}{constructor}(){}",
                self.constructor_body(value)
            ));
        }
        lines
    }

    fn storage_body(&self, value: Option<TextRange>) -> String {
        let types = &self.program.types;
        let object = namer::STATIC_OBJECT;
        let ty = self.program.symbols[self.symbol].ty;
        if self.storage == DeviceStorage::Constructed {
            let ty = types.spell(ty);
            return format!(
                " {{ static rex_storage<{ty}> {object}; return {object}.rex_object(); }}"
            );
        }
        if self
            .program
            .device_code
            .begun_members
            .contains(&self.symbol)
        {
            let ty = types.spell(ty);
            let statement = self.new_object(PLACE, value);
            // The runtime finds the object by its name, and compares sizes.
            return format!(
                " {{ static rex_storage<{ty}> {object}; static rex_progress {PROGRESS}; {PROGRESS}.rex_begin(&{object}, sizeof({object}), [&](void *{PLACE}) {{ {statement} }}); return {object}.rex_object(); }}"
            );
        }
        let declared = types.declare(ty, object);
        let constant = match self.known.is_constant && !declared.starts_with("const ") {
            true => "constexpr ",
            false => "",
        };
        self.body_with(&format!("{constant}{declared}"), value)
    }

    fn body_with(&self, declared: &str, value: Option<TextRange>) -> String {
        let object = namer::STATIC_OBJECT;
        let value = self.value(value);
        format!(" {{ static {declared}{value}; return {object}; }}")
    }

    fn constructor_body(&self, value: Option<TextRange>) -> String {
        let storage = namer::static_storage(self.program.symbols[self.symbol].declared_name());
        let statement = self.new_object(&format!("(void *)&{storage}()"), value);
        format!(" {{ {statement} }}")
    }

    /// The statement that constructs the object at a place.
    fn new_object(&self, place: &str, value: Option<TextRange>) -> String {
        let types = &self.program.types;
        let ty = types.spell(types.object_type(self.program.symbols[self.symbol].ty));
        let value = self.value(value);
        let value = match value.strip_prefix(" = ") {
            Some(list) if list.starts_with('{') => list.to_string(),
            Some(value) => format!("({value})"),
            None => value,
        };
        classes::new_object(place, &ty, &value)
    }

    /// The initializer as it stands behind the name.
    fn value(&self, at: Option<TextRange>) -> String {
        let program = self.program;
        let Some(at) = at else {
            return String::new();
        };
        let text = with_objects(program, at);
        let before = &program.source()[..usize::from(at.start())];
        match before.trim_end().ends_with('=') {
            true => format!(" = {text}"),
            false => text,
        }
    }
}

/// The names of static members in a range that device code has in place of the program's.
pub(super) fn words(
    program: &Program,
    is_wanted: &dyn Fn(SymbolId) -> bool,
    range: TextRange,
) -> Vec<(TextRange, SmolStr)> {
    uses_in(&program.static_member_uses, range)
        .filter(|(_, symbol)| is_wanted(*symbol))
        .filter_map(|(at, symbol)| Some((at, word(program, symbol)?)))
        .collect()
}

/// The words for all members that the device has.
pub(super) fn all_words(program: &Program, range: TextRange) -> Vec<(TextRange, SmolStr)> {
    uses_in(&program.static_member_uses, range)
        .filter_map(|(at, symbol)| Some((at, word(program, symbol)?)))
        .collect()
}

/// The definition of a macro that may name members with their classes: `Counter::count`.
pub(super) fn in_macro(program: &Program, text: &str) -> String {
    let range = TextRange::up_to(TextSize::of(text));
    let tokens: Vec<lex::Token> = lex::significant_tokens(text, range).collect();
    let mut out = String::new();
    let mut copied = 0;
    for at in tokens.windows(3) {
        let [class, colons, name] = at else { continue };
        if colons.text(text) != "::" {
            continue;
        }
        let named = program.static_members.iter().find(|(symbol, member)| {
            let path = &member.class_path;
            program.symbols[**symbol].declared_name() == name.text(text)
                && path.rsplit("::").next() == Some(class.text(text))
        });
        if let Some(word) = named.and_then(|(symbol, _)| word(program, *symbol)) {
            let start = usize::from(name.range.start());
            out.push_str(&text[copied..start]);
            out.push_str(&word);
            copied = usize::from(name.range.end());
        }
    }
    out.push_str(&text[copied..]);
    out
}
