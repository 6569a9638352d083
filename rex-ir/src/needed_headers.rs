//! Headers of the project whose text has to stand in the unit itself.
//!
//! The device file includes most headers as they are. What device code says otherwise than the host must be text of the unit: rex reads it again with these headers in it.

use std::collections::BTreeSet;

use rex_syntax::TextRange;
use rex_syntax::declarations::DeclKind;
use rex_syntax::expansion::HeaderOrigin;
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::source::Language;
use smol_str::SmolStr;

use crate::headers::{find, fragments, function_declaration, names_of, project_definition};
use crate::keywords::is_name_in_c;
use crate::program::Program;
use crate::region::CapturedObject;

/// Headers with directives for the device, with functions, classes or variables that device code has in another form, that are parts of functions, or that only C reads.
pub fn needed_headers(program: &Program) -> Vec<SmolStr> {
    let Some(expansion) = program.unit.expansion.as_deref() else {
        return Vec::new();
    };
    let names = program.device_code.header_functions.iter();
    let called = names.filter_map(|name| {
        let declared = || function_declaration(&program.unit, name);
        project_definition(&program.unit, name)
            .or_else(declared)?
            .project_file
    });
    let mut headers: Vec<SmolStr> = Vec::new();
    for header in expansion
        .headers_with_device_directives()
        .into_iter()
        .chain(called)
        .chain(of_classes(program))
        .chain(of_members(program))
        .chain(of_qualified_variables(program))
        .chain(of_own_variables(program))
        .chain(of_c(program))
        .chain(fragments(program))
    {
        if !headers.contains(&header) {
            headers.push(header);
        }
    }
    headers
}

/// The headers of the project with classes that device code uses and whose member functions it may call.
fn of_classes(program: &Program) -> BTreeSet<SmolStr> {
    let mut found = BTreeSet::new();
    if program.language() == Language::C || program.unit.expansion.is_none() {
        return found;
    }
    let mut seen: BTreeSet<SmolStr> = BTreeSet::new();
    let mut pending: Vec<SmolStr> = Vec::new();
    let mut read = |text: &str, pending: &mut Vec<SmolStr>| {
        let names = names_of(text).map(SmolStr::new);
        pending.extend(names.filter(|name| seen.insert(name.clone())));
    };
    for range in device_text(program) {
        read(program.text(range), &mut pending);
    }
    pending.extend(arguments_of_templates(program));
    while let Some(name) = pending.pop() {
        let Some(class) = find(&program.unit, &name, DeclKind::Tag) else {
            continue;
        };
        if let HeaderOrigin::User { file } = class.origin {
            if class.text.contains('(') {
                found.insert(file);
            }
            read(class.text, &mut pending);
        }
    }
    found
}

/// The names of classes of the project that kernels of templates may have for arguments: what leads to an instantiation names them, and they have operators or
/// members with the name of one that device code calls.
fn arguments_of_templates(program: &Program) -> BTreeSet<SmolStr> {
    let kept = &program.instances.names;
    let mut named: BTreeSet<SmolStr> = kept.iter().cloned().collect();
    for name in kept {
        // It may make such objects.
        if let Some(function) = project_definition(&program.unit, name) {
            named.extend(names_of(&function.text).map(SmolStr::new));
        }
    }
    let regions = program.regions.values().flat_map(|region| &region.calls);
    let functions = program.device_code.functions.iter();
    let functions = functions.flat_map(|device| &program.functions[device.function].calls);
    let called: BTreeSet<&str> = regions.chain(functions).map(|call| &*call.name).collect();
    named.retain(|name| {
        let class = find(&program.unit, name, DeclKind::Tag);
        let class = class.filter(|class| matches!(class.origin, HeaderOrigin::User { .. }));
        class.is_some_and(|class| {
            let mut words = names_of(class.text);
            words.any(|word| word == "operator" || called.contains(word))
        })
    });
    named
}

/// The headers of the project with classes in whose member functions regions stand that have to be members: they may name what only members may, or their object is of a template's class.
fn of_members(program: &Program) -> BTreeSet<SmolStr> {
    let regions = program.regions.values();
    let classes = regions.filter_map(|region| {
        let class = program.functions[region.function].class.as_deref()?;
        let class = find(&program.unit, class, DeclKind::Tag)?;
        match class.origin {
            HeaderOrigin::User { file }
                if is_template(class.text) || has_hidden_members(class.text) =>
            {
                Some(file)
            }
            _ => None,
        }
    });
    classes.collect()
}

fn has_hidden_members(class: &str) -> bool {
    let mut words = names_of(class);
    words.any(|word| matches!(word, "class" | "private" | "protected"))
}

/// The headers of the project with variables that regions name with qualifiers.
fn of_qualified_variables(program: &Program) -> BTreeSet<SmolStr> {
    let mut found = BTreeSet::new();
    if program.language() == Language::C || program.unit.expansion.is_none() {
        return found;
    }
    for range in device_text(program) {
        let text = program.text(range);
        let mut before = "";
        for token in lex::significant_tokens(text, lex::whole(text)) {
            let word = token.text(text);
            if before == "::"
                && let Some(variable) = find(&program.unit, word, DeclKind::Variable)
                && let HeaderOrigin::User { file } = variable.origin
                && !variable.scope.is_empty()
                && !is_of_constants(variable.text)
            {
                found.insert(file);
            }
            before = word;
        }
    }
    found
}

/// The headers that declare variables of the unit which the device has in another form: in storage, or behind a pointer.
fn of_own_variables(program: &Program) -> BTreeSet<SmolStr> {
    let Some(expansion) = program.unit.expansion.as_deref() else {
        return BTreeSet::new();
    };
    let variables = program.device_code.variables.iter();
    let names = variables
        .filter(|(_, storage)| storage.needs_reference())
        .map(|(symbol, _)| program.name(*symbol));
    names
        .flat_map(|name| expansion.declarations().all(name, DeclKind::Variable))
        .filter_map(|declared| match declared.origin {
            HeaderOrigin::User { file } => Some(file),
            HeaderOrigin::Main | HeaderOrigin::System => None,
        })
        .collect()
}

/// Whether a declaration of a variable is a template's, or says that the value never changes.
fn is_of_constants(text: &str) -> bool {
    let mut words = lex::identifiers(text, lex::whole(text)).map(|at| &text[at]);
    is_template(text)
        || words.any(|word| word == "constexpr" || (word == "const" && !text.contains('*')))
}

/// The headers of the project in C that a compiler for C++ may refuse: they define functions, which may convert pointers as only C does, or use keywords of C++ as names.
fn of_c(program: &Program) -> BTreeSet<SmolStr> {
    let Some(expansion) = &program.unit.expansion else {
        return BTreeSet::new();
    };
    if program.language() != Language::C || program.kernels.is_empty() {
        return BTreeSet::new();
    }
    let is_of_c = |text: &str| {
        let mut is_behind_parenthesis = false;
        lex::significant_tokens(text, lex::whole(text)).any(|token| {
            let word = token.text(text);
            let is_body = is_behind_parenthesis && word == "{";
            is_behind_parenthesis = word == ")";
            is_body || (token.kind == TokenKind::Identifier && is_name_in_c(&program.unit, word))
        })
    };
    let pieces = expansion.project_text();
    pieces
        .filter(|(_, text)| is_of_c(text))
        .map(|(file, _)| file)
        .collect()
}

/// Whether a declaration is a template's.
fn is_template(text: &str) -> bool {
    text.starts_with("template")
}

/// Where device code and the variables that it captures say what they use.
fn device_text(program: &Program) -> Vec<TextRange> {
    let mut ranges = Vec::new();
    for (_, region) in program.regions.iter() {
        ranges.extend(program.constructs[region.construct].statement);
        let captured = region.captures.iter();
        ranges.extend(captured.filter_map(|capture| match capture.object {
            CapturedObject::Variable(symbol) => program.symbols[symbol].declaration,
            CapturedObject::This | CapturedObject::Extent(..) => None,
        }));
    }
    let functions = program.device_code.functions.iter();
    ranges.extend(functions.map(|device| program.functions[device.function].range));
    ranges
}
