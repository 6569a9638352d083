//! Types of the device file: classes with what device code needs of their members.
//!
//! Functions in class bodies can be called on both sides. One that launches kernels or moves data, or that needs what the device file has not, is host code: its declaration stays, and a region becomes a member function
//! of its own, so that private members, member types and calls of other members keep their meaning.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use rex_ir::item::{Function, FunctionId};
use rex_ir::kernel::Kernel;
use rex_ir::program::{DeviceFunction, Program};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{Base, Record};
use rex_syntax::cst::Node;
use rex_syntax::edit::{EditConflict, EditSet};
use rex_syntax::kind::Kind;
use rex_syntax::layout::indent_at;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, TextSize, lex, places};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

use super::overriding::Overriding;
use super::{function, instances, kernel, references, static_locals, statics};
use crate::common::closures::wrapped;
use crate::common::conditionals;

/// Marks a function that host and device can call.
pub(super) const BOTH_SIDES: &str = "__host__ __device__ ";

/// How the definition of a class without a tag begins under the name that is made for it.
pub(super) fn untagged_head(program: &Program, record: &Record) -> String {
    let before = record
        .body
        .map_or("", |body| &program.source()[..usize::from(body.start())]);
    let keyword = match before.trim_end().ends_with("union") {
        true => "union",
        false => "struct",
    };
    format!("{keyword} {}", record.name)
}

/// The classes of a program, with what their printing looks up in all of it.
pub(super) struct Classes<'p> {
    program: &'p Program,
    /// The names of virtual functions of which some are host code: those that override each other must be of one kind.
    virtuals_of_host: BTreeSet<SmolStr>,
    /// The classes that override virtual functions of headers, which are host code.
    overriding: Overriding,
    /// Member functions that class bodies declare without defining, in source order.
    methods: Vec<TextRange>,
    /// The bodies of classes with friends, in source order.
    befriending: Vec<TextRange>,
    /// Class bodies with the kernels that are members, in source order.
    kernels: Vec<(TextRange, &'p Kernel)>,
    /// Static members by place.
    statics: Vec<(TextRange, SymbolId)>,
    /// Functions with a form for a team, by name.
    team_forms: FxHashMap<&'p str, Vec<&'p Function>>,
}

impl<'p> Classes<'p> {
    pub(super) fn of(program: &'p Program) -> Classes<'p> {
        let mut methods = program.method_declarations.clone();
        methods.sort_by_key(|method| method.start());
        let records = program.types.records.values();
        let mut befriending: Vec<TextRange> = records
            .filter(|record| !record.friends.is_empty())
            .filter_map(|record| record.body)
            .collect();
        befriending.sort_by_key(|body| body.start());
        let mut kernels: Vec<(TextRange, &Kernel)> = program
            .kernels
            .values()
            .filter_map(|kernel| Some((kernel::class_body(program, kernel)?, kernel)))
            .collect();
        kernels.sort_by_key(|(body, _)| body.start());
        let mut team_forms: FxHashMap<&str, Vec<&Function>> = FxHashMap::default();
        let devices = program.device_code.functions.iter();
        for device in devices.filter(|device| device.team.is_some()) {
            let function = &program.functions[device.function];
            team_forms.entry(&function.name).or_default().push(function);
        }
        Classes {
            program,
            virtuals_of_host: virtual_functions_of_host(program),
            overriding: Overriding::of(program),
            methods,
            befriending,
            kernels,
            statics: statics::places(program),
            team_forms,
        }
    }

    /// Static members with a declaration or definition in a range, in the order of their declarations.
    fn static_members_in(&self, range: TextRange) -> Vec<SymbolId> {
        let places = places::inside(&self.statics, range, |(place, _)| *place);
        let mut members: Vec<SymbolId> = places.map(|(_, symbol)| *symbol).collect();
        members.sort_by_key(|symbol| self.program.static_members.get_index_of(symbol));
        members.dedup();
        members
    }

    /// The text of a type declaration.
    pub(super) fn print(&self, range: TextRange) -> Result<String, EditConflict> {
        let program = self.program;
        let members = self.static_members_in(range);
        let mut edits = EditSet::new();
        // What of the text is not there any more.
        let mut replaced = statics::values_of_host(program, &members, range);
        for left_out in &replaced {
            edits.delete(*left_out - range.start());
        }
        for part in conditionals::parts_inside(program, range) {
            edits.delete(part - range.start());
            replaced.push(part);
        }
        for assertion in assertions_in(program, range) {
            edits.delete(assertion - range.start());
            replaced.push(assertion);
        }
        let is_in = |places: &[TextRange], at: TextRange| {
            places.iter().any(|place| place.contains_range(at))
        };
        // Where words have what stands for them already, or keep it.
        let mut covered: Vec<TextRange> = Vec::new();
        for (id, function) in program.functions_in(range) {
            if !function.in_class || is_in(&replaced, function.range) {
                continue;
            }
            let start = function.specifiers.start() - range.start();
            let device = program.device_function(id);
            let is_of_host = is_of_host(program, id) || program.device_code.left_out.contains(&id);
            // What device code calls is all there, and leads to kernels, too.
            let instantiator = program.instances.of_function(id);
            let instantiator = instantiator.filter(|_| device.is_none() || is_of_host);
            let has_replacements = |device: &&DeviceFunction| {
                !device.body.replacements.is_empty() || !device.words.is_empty()
            };
            if let Some(instantiator) = instantiator {
                replaced.push(function.range);
                let text = instances::text(program, instantiator, function.range)?;
                edits.replace(function.range - range.start(), text);
            } else if is_of_host {
                let body = TextRange::new(function.declarator_end, function.range.end());
                replaced.push(body);
                let is_in_table = function.is_virtual() && !function.name.starts_with('~');
                let rest = match is_in_table {
                    true => format!(" {}", function::NEVER_CALLED),
                    false => ";".to_owned(),
                };
                edits.replace(body - range.start(), rest);
            } else if let Some(device) = device.filter(has_replacements) {
                replaced.push(function.range);
                let text = function::print(program, device, BOTH_SIDES);
                edits.replace(function.range - range.start(), text);
            } else {
                let of_header = || self.overriding.names_any(function.range, [&*function.name]);
                if !self.virtuals_of_host.contains(&*function.name) && !of_header() {
                    edits.insert(start, 0, BOTH_SIDES);
                }
                if let Some((at, lines)) = references::at_body(program, function) {
                    edits.insert(at - range.start(), 0, lines);
                }
                for (lambda, [before, after]) in wrapped(program, function.range) {
                    edits.insert(lambda.start() - range.start(), 0, before);
                    edits.insert(lambda.end() - range.start(), 0, after);
                }
                // A local class has functions of its own inside.
                let words = references::in_function(program, function, function.range);
                for (at, word) in words.into_iter().filter(|(at, _)| !is_in(&covered, *at)) {
                    edits.replace(at - range.start(), word.to_string());
                }
                covered.push(function.range);
            }
            let team = device.and_then(|device| function::print_team_member(program, device));
            if let Some(text) = team {
                edits.insert(function.range.end() - range.start(), 0, text);
            }
        }
        for (place, text) in statics::definitions_of_templates(program, &members, range) {
            edits.replace(place - range.start(), text);
        }
        covered.extend(statics::declared_in(program, &members, range));
        let words = statics::all_words(program, range).into_iter();
        for (at, word) in words.chain(references::objects(program, range)) {
            if !is_in(&covered, at) {
                edits.replace(at - range.start(), word.to_string());
            }
        }
        for method in places::inside(&self.methods, range, |method| *method) {
            if !is_in(&replaced, *method) {
                let words: Vec<&str> = lex::significant_tokens(program.source(), *method)
                    .map(|token| token.text(program.source()))
                    .collect();
                let is_of_host = self.overriding.names_any(*method, words.iter().copied())
                    || self.is_virtual_of_host(&words);
                if !is_of_host {
                    edits.insert(method.start() - range.start(), 0, BOTH_SIDES);
                }
                if let Some((at, text)) = self.declared_team_form(*method) {
                    edits.insert(at.end() - range.start(), 0, text);
                }
            }
        }
        let conversions = [&program.conversions, &program.device_code.own_names];
        let conversions = conversions
            .into_iter()
            .flat_map(|all| places::inside(all, range, |(at, _)| *at));
        for (at, word) in conversions {
            let place = *at - range.start();
            match (program.language(), at.is_empty()) {
                (_, false) if !is_in(&replaced, *at) => edits.replace(place, word.to_string()),
                // Types inside are defined in front.
                (Language::C, true) => edits.insert(place.start(), 0, word.to_string()),
                _ => {}
            }
        }
        for (at, word) in static_locals::words(program, range) {
            edits.replace(at - range.start(), word.to_string());
        }
        for value in places::inside(&program.device_code.host_values, range, |value| *value) {
            edits.delete(*value - range.start());
        }
        for (body, declarations) in self.additions(range, &members) {
            let end = body.end() - TextSize::of('}');
            let lines = declarations.join("\n");
            edits.insert(end - range.start(), 1, format!("\npublic:\n{lines}\n"));
        }
        // Words inside of what is replaced; in damaged classes other things too.
        let text = edits.outermost().apply(program.text(range).as_bytes())?;
        Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
    }

    /// The place of a method's declaration, template head included, and the declaration of its form for a team.
    fn declared_team_form(&self, method: TextRange) -> Option<(TextRange, String)> {
        let program = self.program;
        let is_of_class = |function: &Function| {
            let record = function.membership.as_ref().and_then(|it| it.record);
            let body = record.and_then(|record| program.types.records[record].body);
            body.is_some_and(|body| body.contains_range(method))
        };
        let function = lex::identifiers(program.source(), method)
            .filter_map(|at| self.team_forms.get(program.text(at)))
            .flatten()
            .copied()
            .find(|function| is_of_class(function))?;
        let node = program.unit.tree.root().smallest_at(method);
        let whole = node
            .ancestors()
            .find(|around| around.kind() == Kind::TemplateDeclaration)
            .map(|template| template.range())
            .filter(|template| {
                let body = lex::tokens(program.source(), *template);
                body.into_iter()
                    .all(|token| token.text(program.source()) != "{")
            })
            .unwrap_or(method);
        let text = function::declare_team_form(program, &function.name, whole)?;
        let indent = indent_at(program.source(), whole.start());
        Some((whole, format!("\n{indent}{text}")))
    }

    /// Whether a declared member function is one of the virtual functions that are host code, by its words.
    fn is_virtual_of_host(&self, words: &[&str]) -> bool {
        let names = &self.virtuals_of_host;
        let before = std::iter::once("").chain(words.iter().copied());
        !names.is_empty()
            && before.zip(words).any(|(before, word)| match before {
                "~" => names.contains(&*format_smolstr!("~{word}")),
                _ => names.contains(*word),
            })
    }

    /// What kernels need in class bodies: the member functions that have their bodies, and the rights of friends; and the objects of static members.
    fn additions(
        &self,
        range: TextRange,
        static_members: &[SymbolId],
    ) -> Vec<(TextRange, Vec<String>)> {
        let program = self.program;
        let mut members: Vec<(TextRange, Vec<String>)> = Vec::new();
        let mut add = |body: TextRange, declaration: String| match members
            .iter_mut()
            .find(|(known, _)| *known == body)
        {
            Some((_, declarations)) => declarations.push(declaration),
            None => members.push((body, vec![declaration])),
        };
        let befriending: Vec<TextRange> = places::inside(&self.befriending, range, |body| *body)
            .copied()
            .collect();
        if !befriending.is_empty() {
            for (_, kernel) in program.kernels.iter() {
                for body in &befriending {
                    if let Some(declaration) = kernel::friend_declaration(program, kernel, *body) {
                        add(*body, declaration);
                    }
                }
            }
            for of in program.instances.functions.values() {
                for body in &befriending {
                    if let Some(declaration) = instances::friend_declaration(program, of, *body) {
                        add(*body, declaration);
                    }
                }
            }
        }
        for (body, kernel) in places::inside(&self.kernels, range, |(body, _)| *body) {
            let declaration = match kernel::is_defined_in_class(program, kernel) {
                true => kernel::member_definition(program, kernel),
                false => kernel::member_declaration(program, kernel),
            };
            add(*body, declaration);
        }
        for (body, declarations) in statics::declarations(program, static_members, range) {
            for declaration in declarations {
                add(body, declaration);
            }
        }
        members
    }
}

/// The assertions of classes. The host's compiler checks them, and they may name what no device has.
fn assertions_in(program: &Program, range: TextRange) -> Vec<TextRange> {
    if !program.text(range).contains("static_assert") {
        return Vec::new();
    }
    let nodes = program.unit.tree.root().smallest_at(range).subtree();
    let is_of_class = |node: &Node<'_>| {
        node.kind() == Kind::StaticAssertDeclaration
            && range.contains_range(node.range())
            && node
                .parent()
                .is_some_and(|parent| parent.kind() == Kind::FieldDeclarationList)
    };
    nodes.filter(is_of_class).map(|node| node.range()).collect()
}

/// Whether a member function cannot be device code.
fn is_of_host(program: &Program, id: FunctionId) -> bool {
    program.device_code.host_members.contains(&id)
}

/// The names of virtual functions of which some are host code: those that override each other must be of one kind.
fn virtual_functions_of_host(program: &Program) -> BTreeSet<SmolStr> {
    let is_of_host =
        |id: FunctionId| program.instances.of_function(id).is_some() || is_of_host(program, id);
    let of_host: Vec<&Function> = program
        .functions
        .iter()
        .filter(|(id, _)| is_of_host(*id))
        .map(|(_, function)| function)
        .collect();
    let virtuals = of_host.iter().filter(|function| function.is_virtual());
    let names = virtuals.map(|function| function.name.clone());
    names.chain(destructors_like(program, &of_host)).collect()
}

/// The destructors among functions, and those of the classes that have bases in common with theirs, where one is virtual.
fn destructors_like(program: &Program, functions: &[&Function]) -> Vec<SmolStr> {
    let types = &program.types;
    let destructors = functions.iter().filter(|it| it.name.starts_with('~'));
    let classes = destructors.filter_map(|it| it.membership.as_ref()?.record);
    let mut related: IndexSet<&str> = classes.map(|id| &*types.records[id].name).collect();
    let own: Vec<&Record> = types
        .records
        .values()
        .filter(|it| it.body.is_some())
        .collect();
    // Bases of these, and what has such bases, until there are no more.
    let mut n_known = 0;
    while n_known < related.len() {
        n_known = related.len();
        for class in &own {
            let mut bases = class.bases.iter().map(Base::plain_name);
            if related.contains(&*class.name) {
                related.extend(bases);
            } else if bases.any(|base| related.contains(base)) {
                related.insert(&class.name);
            }
        }
    }
    let has_virtual = |class: &&&Record| {
        let body = class.body.filter(|_| related.contains(&*class.name));
        let tokens = body.map(|body| lex::significant_tokens(program.source(), body));
        let words = tokens.into_iter().flatten();
        let words: Vec<&str> = words.map(|it| it.text(program.source())).collect();
        words.windows(2).any(|pair| pair == ["virtual", "~"])
    };
    match own.iter().find(has_virtual) {
        Some(_) => related
            .iter()
            .map(|name| format_smolstr!("~{name}"))
            .collect(),
        None => Vec::new(),
    }
}
