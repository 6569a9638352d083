//! Functions of the device file: the user's own, and the forms of them that all threads of a team call together.

use std::collections::BTreeSet;

use rex_ir::headers;
use rex_ir::item::{Function, FunctionId};
use rex_ir::kernel::{BodyText, Plan};
use rex_ir::library;
use rex_ir::namer;
use rex_ir::program::{DeviceFunction, Program};
use rex_syntax::edit::EditConflict;
use rex_syntax::kind::Kind;
use rex_syntax::layout::indent_at;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use super::body::BodyPrinter;
use super::class::BOTH_SIDES;
use super::{Device, instances, linkage, references};
use crate::common::closures::wrapped;

/// What stands before a form for a team.
const COMMENT: &str = "/* The same, called by all threads of a team in its sequential code. */";

/// The body of a virtual function that is host code: tables of objects that device code makes name it.
pub(super) const NEVER_CALLED: &str = "{ __builtin_trap(); REX_NEVER_EXECUTED(); }";

/// Whether a function is host code, and the device file has its class with the table of the virtual functions.
fn is_in_table(program: &Program, id: FunctionId) -> bool {
    let function = &program.functions[id];
    let class = |function: &Function| function.membership.as_ref()?.record;
    function.is_virtual()
        && program.device_code.host_members.contains(&id)
        && class(function).is_some_and(|record| {
            let mut devices = program.device_code.functions.iter();
            devices.any(|device| class(&program.functions[device.function]) == Some(record))
        })
}

impl<'p> Device<'p> {
    /// A function of the host that leads to kernels of templates, or a declaration of one that such a function calls.
    pub(super) fn host_function(&mut self, id: FunctionId) -> Result<(), EditConflict> {
        let instances = &self.program.instances;
        let function = &self.program.functions[id];
        let instantiator = instances.of_function(id);
        let is_own = function.class.is_some() || function.is_template();
        if self.program.device_code.left_out.contains(&id) {
            // Its class declares a member.
            if function.class.is_none() {
                self.header();
                let text = left_out(self.program, function);
                self.line(&text);
            }
            return Ok(());
        }
        if function.class.is_none()
            && (instances.names.contains(&function.name)
                || self.named_by_types.contains(function.name.as_str())
                || self.is_named_by_headers(function))
            && !(instantiator.is_some() && is_own)
            && !function.is_main
        {
            self.header();
            let text = instances::prototype(self.program, function);
            self.line(&text);
        }
        if let Some(instantiator) = instantiator {
            self.header();
            let text = instances::function(self.program, instantiator)?;
            self.out.push('\n');
            self.line(&text);
        } else if !function.in_class && is_in_table(self.program, id) {
            self.header();
            let head = TextRange::new(function.range.start(), function.declarator_end);
            let text = format!("{} {NEVER_CALLED}", self.text_of(head).trim_end());
            self.line(&text);
        }
        Ok(())
    }

    /// Whether headers that the device file includes as they are may call a function that they do not declare.
    pub(super) fn is_named_by_headers(&self, function: &Function) -> bool {
        let declares = || headers::function_declaration(&self.program.unit, &function.name);
        !self.program.instances.functions.is_empty()
            && self.names_in_headers.contains(&*function.name)
            && declares().is_none_or(|declared| declared.project_file.is_none())
    }

    /// Whether a function of this name is called here and defined in another file.
    pub(super) fn is_external(&self, name: &str) -> bool {
        let external = &self.program.device_code.external_functions;
        external.contains(name)
    }

    /// Whether declarations of this name are repeated in the device file.
    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.program.has_device_function(name)
            || self.is_external(name)
            || self.program.instances.names.contains(name)
            || self.named_by_types.contains(name)
    }

    pub(super) fn is_device_function(&self, function: FunctionId) -> bool {
        self.program.device_function(function).is_some()
    }

    pub(super) fn function(&mut self, id: FunctionId, item: TextRange) -> Result<(), EditConflict> {
        let Some(device) = self.program.device_function(id) else {
            return Ok(());
        };
        let function: &Function = &self.program.functions[id];
        let marker = self.marker(&function.name, function.class.is_some());
        let inline = linkage::inline_by_macro(self.program, function.range);
        let text = format!("{inline}{}", print(self.program, device, marker));
        let text = self.linked(item, &function.name, &text);
        self.declare_called(function);
        self.out.push('\n');
        self.line(&text);
        if let Some(text) = print_team_form(self.program, device) {
            let text = self.linked(item, &function.name, &text);
            self.line(&format!("\n{COMMENT}\n{text}"));
        }
        Ok(())
    }

    /// What a function of C calls before the file says anything of it.
    fn declare_called(&mut self, function: &Function) {
        if self.program.language() != Language::C {
            return;
        }
        self.declared_functions.insert(function.name.clone());
        for call in &function.calls {
            let mut defined = self.program.device_functions_named(&call.name);
            let Some(called) = defined.next() else {
                continue;
            };
            if !self.declared_functions.insert(call.name.clone()) {
                continue;
            }
            let called = &self.program.functions[called.function];
            let head = TextRange::new(called.range.start(), called.declarator_end);
            let text = self.text_of(head);
            let text = format!(
                "{}{};",
                self.marker(&called.name, false),
                without_extern(text.trim_end())
            );
            let text = self.linked(called.range, &called.name, &text);
            self.line(&text);
        }
    }

    /// Which side calls a function: member functions and what host code in the device file names can be called on both.
    pub(super) fn marker(&self, name: &str, is_member: bool) -> &'static str {
        let is_named =
            self.program.instances.names.contains(name) || self.names_in_headers.contains(name);
        if is_member || is_named {
            "__host__ __device__ "
        } else {
            "__device__ "
        }
    }

    pub(super) fn prototype(&mut self, name: &str, range: TextRange) {
        let defined = self.program.has_device_function(name);
        let external = !defined && self.is_external(name);
        if defined || external {
            self.declared_functions.insert(name.into());
            self.header();
            let text = self.text_of(range);
            let text = without_extern(&text);
            let (head, rest) = text.split_at(template_heads(text));
            let declared = format!("{head}{}{rest}", self.marker(name, false));
            let linked = self.linked(range, name, &declared);
            // `extern template` would mean something else.
            let is_plain = head.is_empty() && linked == declared;
            let storage = match external && is_plain {
                // What the tree takes for a declaration may have a body: `void f() {};`.
                true if text.contains('{') => linkage::inline_by_macro(self.program, range),
                true => "extern ",
                false => "",
            };
            self.line(&format!("{storage}{linked}"));
            if let Some(text) = declare_team_form(self.program, name, range) {
                let text = self.linked(range, name, &text);
                self.line(&text);
            }
        } else if self.is_declared(name) {
            self.header();
            let text = self.program.text(range).replace("\r\n", "\n");
            let inline = linkage::inline_by_macro(self.program, range);
            self.line(&format!("{inline}{text}"));
        } else if self.called_functions.contains(name) && library::device_name(name).is_none() {
            // What device code can call all the same is the library's: the header says it as C++ does.
            match self.program.language() {
                Language::C => self.system_include("#include <math.h>", range),
                Language::Cxx if self.is_of_library_in_namespace(range) => {
                    self.header();
                    self.line(&format!("using ::{name};"));
                }
                Language::Cxx => {}
            }
        }
    }

    /// Whether a namespace declares a function with C linkage, which is one with that of the file: `namespace n { extern "C" double sqrt(double); }`.
    fn is_of_library_in_namespace(&self, declaration: TextRange) -> bool {
        let node = self.program.unit.tree.root().smallest_at(declaration);
        let mut around = node.ancestors();
        (self.in_linkage_block || linkage::is_linkage(self.program.text(declaration)))
            && around.any(|outer| outer.kind() == Kind::NamespaceDefinition)
    }
}

/// The names that device code calls.
pub(super) fn called(program: &Program) -> BTreeSet<&str> {
    let functions = program.device_code.functions.iter();
    let functions = functions.flat_map(|device| &program.functions[device.function].calls);
    let regions = program.regions.values().flat_map(|region| &region.calls);
    functions
        .chain(regions)
        .map(|call| call.name.as_str())
        .collect()
}

/// The declaration of a function that devices cannot have: what calls it is not linked.
fn left_out(program: &Program, function: &Function) -> String {
    let declared = head_without(program, function, &["static", "inline"]);
    format!("{BOTH_SIDES}{declared};")
}

/// A function up to its body, without some words.
pub(super) fn head_without(program: &Program, function: &Function, words: &[&str]) -> String {
    let head = TextRange::new(function.range.start(), function.declarator_end);
    let mut declared = program.text(head).replace("\r\n", "\n");
    let found: Vec<TextRange> = lex::identifiers(&declared, lex::whole(&declared))
        .filter(|at| words.contains(&&declared[*at]))
        .collect();
    for word in found.into_iter().rev() {
        declared.replace_range(std::ops::Range::<usize>::from(word), "");
    }
    declared.trim().to_string()
}

impl Device<'_> {
    /// Whether the device file has the function with this path that a line instantiates, or one that leads to kernels: others are the host's.
    pub(super) fn defines_instantiated(&self, path: &str) -> bool {
        let mut words = path.rsplit("::").map(str::trim);
        let (name, around) = (words.next(), words.next());
        let mut named = self.program.functions_named(name.unwrap_or_default());
        named.any(|(id, function)| {
            let class = function.class.as_deref();
            (class.is_none() || class == around)
                && (self.is_device_function(id) || self.program.instances.of_function(id).is_some())
        })
    }
}

/// A function with the directives in it replaced; `marker` says who calls it.
pub(super) fn print(program: &Program, device: &DeviceFunction, marker: &str) -> String {
    let function = &program.functions[device.function];
    let mut words = words(program, function, &device.words);
    let variant = variant_on_devices(program, function);
    let (inner, body) = match variant {
        None => (function, device.body.clone()),
        Some(variant) => {
            words.extend(references::in_function(program, variant, variant.body));
            let other = Plan::Text(BodyText::verbatim(variant.body));
            let body = BodyText {
                range: function.range,
                replacements: vec![(function.body, other)],
            };
            (variant, body)
        }
    };
    let (_, references) = references::at_body(program, inner).unwrap_or_default();
    let first = references + &instances::named_in(program, device.function);
    words.insert(0, (TextRange::empty(inner.first_statement), first.into()));
    let caller = TextRange::empty(function.specifiers.start());
    words.insert(0, (caller, marker.into()));
    let text = BodyPrinter::new(program, &words).text(&body, "");
    text.replace("\r\n", "\n")
}

/// The variant whose body a function has on devices.
fn variant_on_devices<'p>(program: &'p Program, function: &Function) -> Option<&'p Function> {
    let body = program.unit.device_body(function.body)?;
    let mut functions = program.functions.values();
    functions.find(|other| other.body == body)
}

/// What stands in place of others in a form of a function.
fn words(
    program: &Program,
    function: &Function,
    planned: &[(TextRange, SmolStr)],
) -> Vec<(TextRange, SmolStr)> {
    // With default arguments, and what a constructor says in front of its body.
    let range = TextRange::new(function.parameters.start(), function.range.end());
    let mut words = references::in_function(program, function, range);
    words.extend_from_slice(planned);
    // Kernels may be instantiated for the lambdas in a function that leads to some.
    for (lambda, [before, after]) in wrapped(program, range) {
        words.push((TextRange::empty(lambda.start()), before.into()));
        words.push((TextRange::empty(lambda.end()), after.into()));
    }
    words.sort_by_key(|(at, _)| at.start());
    words
}

/// The form of a function for a team, if it has one.
pub(super) fn print_team_form(program: &Program, device: &DeviceFunction) -> Option<String> {
    let team = device.team.as_ref()?;
    let function = &program.functions[device.function];
    let words = words(program, function, &team.words);
    let printer = BodyPrinter::new(program, &words);
    let (_, references) = references::at_body(program, function).unwrap_or_default();
    let mut lines = printer.plan(&team.body, "");
    let first = lines.first_mut()?;
    *first = format!("{}{first}{references}", team_head(program, function));
    Some(lines.join("\n"))
}

/// The form for a team of a function in a class body, behind the function itself.
pub(super) fn print_team_member(program: &Program, device: &DeviceFunction) -> Option<String> {
    let text = format!("{COMMENT}\n{}", print_team_form(program, device)?);
    let start = program.functions[device.function].range.start();
    let indent = indent_at(program.source(), start);
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| match line.is_empty() || line.starts_with('#') {
            true => line.to_string(),
            false => format!("{indent}{line}"),
        })
        .collect();
    Some(format!("\n\n{}", lines.join("\n")))
}

/// The declaration of the form for a team of the functions of this name, beside their own declaration.
pub(super) fn declare_team_form(program: &Program, name: &str, range: TextRange) -> Option<String> {
    let has_team_form = program
        .device_functions_named(name)
        .any(|device| device.team.is_some());
    let at = last_name(program, name, range).filter(|_| has_team_form)?;
    let printer = BodyPrinter::new(program, &[]);
    let text_of = |range| printer.text(&BodyText::verbatim(range), "");
    let text = format!(
        "{}{}{}",
        text_of(TextRange::new(range.start(), at.start())),
        namer::team_form(name),
        text_of(TextRange::new(at.end(), range.end()))
    );
    Some(marked(without_extern(&text)))
}

/// The head of a function with the name of its form for a team.
fn team_head(program: &Program, function: &Function) -> String {
    let head = TextRange::new(function.range.start(), function.body.start());
    let declarator = TextRange::new(head.start(), function.parameters.start());
    match last_name(program, &function.name, declarator) {
        Some(at) => marked(&renamed(program, &function.name, head, at)),
        None => marked(program.text(head)),
    }
}

/// A declaration for the device alone.
fn marked(declaration: &str) -> String {
    let (heads, rest) = declaration.split_at(template_heads(declaration));
    format!("{heads}__device__ {rest}").replace("\r\n", "\n")
}

/// Where a declaration has the name that it declares.
fn last_name(program: &Program, name: &str, range: TextRange) -> Option<TextRange> {
    lex::tokens(program.source(), range)
        .filter(|token| token.kind == lex::TokenKind::Identifier)
        .map(|token| token.range)
        .filter(|at| program.text(*at) == name)
        .last()
}

fn renamed(program: &Program, name: &str, range: TextRange, at: TextRange) -> String {
    format!(
        "{}{}{}",
        program.text(TextRange::new(range.start(), at.start())),
        namer::team_form(name),
        program.text(TextRange::new(at.end(), range.end()))
    )
}

/// A declaration without `extern` or `extern "C"` before it.
pub(super) fn without_extern(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("extern") else {
        return text;
    };
    if !rest.starts_with(|c: char| c.is_whitespace() || c == '"') {
        return text;
    }
    let rest = rest.trim_start();
    let language = rest
        .strip_prefix('"')
        .and_then(|language| language.split_once('"'));
    match language {
        Some((_, rest)) => without_extern(rest.trim_start()),
        None => rest,
    }
}

/// How many bytes `template <..>` and the blanks behind it take at the start of a declaration.
pub(super) fn template_heads(text: &str) -> usize {
    let mut end = 0;
    while let Some(list) = text[end..].strip_prefix("template")
        && list.trim_start().starts_with('<')
    {
        let mut depth = 0usize;
        let close = list.char_indices().find(|(_, c)| {
            match c {
                '<' | '(' => depth += 1,
                '>' | ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            *c == '>' && depth == 0
        });
        let Some((close, _)) = close else { break };
        let behind = &list[close + 1..];
        end = text.len() - behind.trim_start().len();
    }
    end
}
