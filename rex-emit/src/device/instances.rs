//! Host code of the device file: it is never executed, the compiler finds in it which kernels of templates to instantiate.

use indexmap::IndexSet;
use rex_ir::instance::Instantiator;
use rex_ir::item::{Function, FunctionId};
use rex_ir::kernel::BodyText;
use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::region::{Construct, RegionId};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{Category, RecordId};
use rex_syntax::edit::{EditConflict, EditSet};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::layout::indent_at;
use rex_syntax::{TextRange, TextSize, lex, places};
use smol_str::SmolStr;

use super::body::BodyPrinter;
use super::class::{BOTH_SIDES, untagged_head};
use super::function::head_without;
use super::kernel::STEP;
use super::{references, static_locals, statics};
use crate::common::closures::wrapped;
use crate::common::conditionals;

/// How the name of a function begins that stands for another one in the device file.
const USES_PREFIX: &str = "rex_uses_of_";

/// What is kept of a function outside a class body.
pub(super) fn function(program: &Program, of: &Instantiator) -> Result<String, EditConflict> {
    let function = &program.functions[of.function];
    if function.is_template() {
        return text(program, of, function.range);
    }
    let body = text(
        program,
        of,
        TextRange::new(function.declarator_end, function.range.end()),
    )?;
    // What a lambda calls in a function for both sides can be called on the device.
    let both = if of.closures.is_empty() {
        ""
    } else {
        BOTH_SIDES
    };
    let head = if function.class.is_some() {
        let range = TextRange::new(function.range.start(), function.declarator_end);
        let declared = program.text(range);
        let is_inline = lex::identifiers(declared, TextRange::up_to(TextSize::of(declared)))
            .any(|at| &declared[at] == "inline");
        format!("{both}{}{declared}", if is_inline { "" } else { "inline " })
    } else {
        let linkage = match is_known_elsewhere(program, of) {
            true => "",
            false => "static ",
        };
        format!("{linkage}{both}inline {}", stand_in(program, of))
    };
    let text = format!("{head}{body}").replace("\r\n", "\n");
    Ok(match namespaces_of_name(program, function) {
        Some(namespaces) if function.class.is_none() => {
            let open: String = namespaces
                .split("::")
                .map(|name| format!("namespace {} {{ ", name.trim()))
                .collect();
            let close = " }".repeat(namespaces.split("::").count());
            format!("{open}{text}{close}")
        }
        _ => text,
    })
}

/// `A::B` of a function that is defined as `void A::B::f()`: its text means what it means in there.
fn namespaces_of_name<'p>(program: &'p Program, function: &Function) -> Option<&'p str> {
    let head = TextRange::new(function.range.start(), function.parameters.start());
    let before = program
        .text(head)
        .trim_end()
        .strip_suffix(function.name.as_str())?;
    let path = before.trim_end().strip_suffix("::")?;
    let is_of_path = |c: char| c == ':' || c == '_' || c.is_ascii_alphanumeric();
    let start = path.trim_end_matches(is_of_path).len();
    let path = path[start..].trim_start_matches("::");
    (!path.is_empty()).then_some(path)
}

/// Whether the function that stands for another one has a name of its own in the program: the types of lambdas have the linkage of their function, and friends are
/// declared before.
fn is_known_elsewhere(program: &Program, of: &Instantiator) -> bool {
    let function = &program.functions[of.function];
    !of.closures.is_empty() || befriending(program, function).next().is_some()
}

/// The classes of its namespace whose friend a function is.
fn befriending<'p>(
    program: &'p Program,
    function: &'p Function,
) -> impl Iterator<Item = TextRange> {
    let namespace = |at: TextRange| program.scopes.namespace_at(at);
    program
        .befriending(function)
        .filter_map(|class| class.body)
        .filter(move |body| namespace(*body) == namespace(function.range))
}

/// The declarator of the function that stands for another one.
fn stand_in(program: &Program, of: &Instantiator) -> String {
    let function = &program.functions[of.function];
    let file = program.sources.file(program.unit.file).name();
    let suffix = match is_known_elsewhere(program, of) {
        true => namer::of_file(file),
        false => String::new(),
    };
    let parameters = program.text(function.parameters);
    // An operator's symbol is no part of a name.
    let name = match function.name.strip_prefix("operator") {
        Some(symbol) if !symbol.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric()) => {
            format!("operator_{}", u32::from(function.range.start()))
        }
        _ => function.name.to_string(),
    };
    format!("void {USES_PREFIX}{name}{suffix}{parameters}")
}

/// What a class says whose friend a function is, so that the one that stands for it is one, too.
pub(super) fn friend_declaration(
    program: &Program,
    of: &Instantiator,
    class_body: TextRange,
) -> Option<String> {
    let function = &program.functions[of.function];
    let keeps_name = function.is_template() || function.class.is_some() || function.in_class;
    (!keeps_name && befriending(program, function).any(|body| body == class_body))
        .then(|| format!("{STEP}friend {};", stand_in(program, of)))
}

/// A range of an instantiating function with what does not matter removed.
pub(super) fn text(
    program: &Program,
    of: &Instantiator,
    range: TextRange,
) -> Result<String, EditConflict> {
    let mut edits = EditSet::new();
    for removed in removed_in(program, of, range) {
        edits.delete(removed - range.start());
    }
    let closures = |place: &TextRange| of.closures.iter().any(|it| it.contains_range(*place));
    for (place, object) in references::constructed(program, range) {
        if !closures(&place) {
            edits.replace(place - range.start(), object.to_string());
        }
    }
    for region in &of.regions {
        let construct = &program.constructs[program.regions[*region].construct];
        let text = format!("{}{}", lead(program, construct), instance(program, *region));
        edits.replace(construct.range - range.start(), text);
    }
    for (statement, value) in &of.returns {
        let before = TextRange::new(statement.start(), value.start());
        let after = TextRange::new(value.end(), statement.end());
        let list = match program.text(*value).starts_with('{') {
            true => returned_type(program, of).map(|ty| format!("std::decay<{ty}>::type")),
            false => None,
        };
        let cast = format!("(void)({}", list.unwrap_or_default());
        edits.replace(before - range.start(), cast);
        edits.replace(after - range.start(), ");");
    }
    let function = &program.functions[of.function];
    let close = function.body.end() - TextSize::of('}');
    let indent = indent_at(program.source(), function.range.start());
    let last = format!("  REX_NEVER_EXECUTED();\n{indent}");
    let before = &program.source()[..usize::from(close)];
    let newline = match before.trim_end_matches([' ', '\t']).ends_with('\n') {
        true => "",
        false => "\n",
    };
    edits.insert(close - range.start(), 0, format!("{newline}{last}"));
    for (closure, [before, after]) in wrapped(program, range) {
        let is_removed = |removed: &TextRange| removed.contains_range(closure);
        if of.closures.contains(&closure) && !of.removed.iter().any(is_removed) {
            edits.insert(closure.start() - range.start(), 0, before);
            edits.insert(closure.end() - range.start(), 0, after);
        }
    }
    for closure in of.closures.iter().filter(|it| range.contains_range(**it)) {
        let words = statics::all_words(program, *closure);
        for (place, text) in directives_of(program, *closure, &words) {
            edits.replace(place - range.start(), text);
        }
        for (at, word) in words
            .into_iter()
            .chain(static_locals::words(program, *closure))
        {
            edits.replace(at - range.start(), word.to_string());
        }
    }
    if !of.closures.is_empty() && range.contains(function.specifiers.start()) {
        edits.insert(function.specifiers.start() - range.start(), 0, BOTH_SIDES);
    }
    // What is removed has statements and words inside.
    let text = edits.outermost().apply(program.text(range).as_bytes())?;
    Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
}

/// What the type of a function begins with: `Pair` of `Pair f() { return {1, 2}; }`.
fn returned_type<'p>(program: &'p Program, of: &Instantiator) -> Option<&'p str> {
    let body = program.functions[of.function].body;
    let node = program.unit.tree.root().smallest_at(body);
    let mut around = node.ancestors();
    let definition = around.find(|outer| outer.kind() == Kind::FunctionDefinition)?;
    Some(definition.field(Field::Type)?.text())
}

/// The blanks that a construct wants before it whose directive stands at the start of a line.
fn lead<'p>(program: &'p Program, construct: &Construct) -> &'p str {
    let before = indent_at(program.source(), construct.range.start());
    match (before, construct.statement) {
        ("", Some(statement)) => indent_at(program.source(), statement.start()),
        _ => "",
    }
}

/// What stands in place of the directives in a lambda.
fn directives_of(
    program: &Program,
    lambda: TextRange,
    words: &[(TextRange, SmolStr)],
) -> Vec<(TextRange, String)> {
    let printer = BodyPrinter::new(program, words);
    let mut closures = program.instances.closures.iter();
    let found = closures.find(|closure| closure.range == lambda);
    let replacements = found
        .into_iter()
        .flat_map(|closure| &closure.body.replacements);
    replacements
        .map(|(place, plan)| {
            let alone = BodyText {
                range: *place,
                replacements: vec![(*place, plan.clone())],
            };
            let mut inside = program.constructs_in(*place);
            let lead = inside
                .next()
                .map_or("", |(_, construct)| lead(program, construct));
            let indent = match lead {
                "" => indent_at(program.source(), place.start()),
                lead => lead,
            };
            (*place, format!("{lead}{}", printer.text(&alone, indent)))
        })
        .collect()
}

/// What does not matter, and the conditionals of the preprocessor with their inactive arms; in order and disjoint.
fn removed_in(program: &Program, of: &Instantiator, range: TextRange) -> Vec<TextRange> {
    let source = program.source();
    let regions = of
        .regions
        .iter()
        .map(|region| program.constructs[program.regions[*region].construct].range);
    let closures = program.instances.closures.iter();
    let directives = closures
        .filter(|closure| of.closures.contains(&closure.range))
        .flat_map(|closure| closure.body.replacements.iter().map(|(place, _)| *place));
    let replaced: Vec<TextRange> = regions.chain(directives).collect();
    let is_replaced = |found: TextRange| {
        let mut places = replaced.iter();
        places.any(|place| place.intersect(found).is_some_and(|both| !both.is_empty()))
    };
    let arms = places::inside(&program.unit.inactive, range, |arm| *arm);
    let lines = program.unit.conditionals.lines_in(range);
    let mut ranges: Vec<TextRange> = lines
        .chain(arms.copied())
        .filter(|found| !is_replaced(*found))
        .chain(of.removed.iter().copied())
        .map(|found| {
            let wide = with_line_start(source, found);
            if is_replaced(wide) { found } else { wide }
        })
        .collect();
    ranges.sort_by_key(|found| (found.start(), found.end()));
    let mut merged: Vec<TextRange> = Vec::new();
    for found in ranges {
        match merged.last_mut() {
            Some(last) if last.intersect(found).is_some() => *last = last.cover(found),
            _ => merged.push(found),
        }
    }
    merged
}

/// Names the kernels of the regions in a function of a template that device code calls: that text is all the device file has of it.
pub(super) fn named_in(program: &Program, function: FunctionId) -> String {
    let instantiator = program.instances.of_function(function);
    let regions = instantiator.into_iter().flat_map(|of| &of.regions);
    let named = regions.map(|region| format!("\n{STEP}{}", instance(program, *region)));
    named.filter(|line| line.trim() != ";").collect()
}

/// Names the kernel of a region for the template arguments at hand.
fn instance(program: &Program, region: RegionId) -> String {
    let kernel = program.kernel_of(region).map(|(_, kernel)| kernel);
    match kernel.and_then(|kernel| Some((kernel, kernel.template.as_ref()?))) {
        Some((kernel, template)) => {
            format!(
                "REX_INSTANCE({}, {});",
                kernel.names.kernel(),
                template.arguments
            )
        }
        None => ";".to_string(),
    }
}

/// A range from the end of the line before, when only blanks stand between.
fn with_line_start(source: &str, range: TextRange) -> TextRange {
    let before = &source[..usize::from(range.start())];
    let trimmed = before.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix('\n') {
        Some(line) => {
            let start = TextSize::try_from(line.len()).unwrap_or(range.start());
            TextRange::new(start, range.end())
        }
        None => range,
    }
}

/// A declaration of a function of the unit for the kept code, or its definition where the compiler needs it.
pub(super) fn prototype(program: &Program, function: &Function) -> String {
    let head = TextRange::new(function.range.start(), function.declarator_end);
    let declared = program.text(head);
    let whole = TextRange::up_to(TextSize::of(declared));
    let has_word =
        |words: &[&str]| lex::identifiers(declared, whole).any(|at| words.contains(&&declared[at]));
    let text = if has_word(&["constexpr", "consteval", "auto", "decltype"]) {
        program.text(function.range).to_string()
    } else if has_word(&["static"]) {
        // No other file defines it.
        format!("{declared} {{ REX_NEVER_EXECUTED(); }}")
    } else {
        // A compiler warns of an inline function without a body.
        format!("{};", head_without(program, function, &["inline"]))
    };
    text.replace("\r\n", "\n")
}

/// Declarations of the variables of one declaration that the kept code names.
pub(super) fn variables(program: &Program, symbols: &[SymbolId], range: TextRange) -> Vec<String> {
    let is_constant = |symbol: &SymbolId| {
        let found = &program.symbols[*symbol];
        program.types.get(found.ty).is_const && program.types.category(found.ty) == Category::Scalar
    };
    let text = conditionals::whole_text(program, range);
    let is_constexpr = lex::identifiers(&text, TextRange::up_to(TextSize::of(text.as_str())))
        .any(|at| &text[at] == "constexpr");
    if is_constexpr || symbols.iter().all(is_constant) {
        return vec![text];
    }
    let types = &program.types;
    let records: IndexSet<RecordId> = symbols
        .iter()
        .filter_map(|symbol| types.record(types.innermost_element(program.symbols[*symbol].ty)))
        .filter(|record| types.records[*record].is_untagged)
        .collect();
    let definitions = records.into_iter().filter_map(|record| {
        let record = &types.records[record];
        let body = program.text(record.body?).replace("\r\n", "\n");
        Some(format!("{} {body};", untagged_head(program, record)))
    });
    let declarations = symbols.iter().map(|symbol| {
        let found = &program.symbols[*symbol];
        match (found.initializer, types.mentions_auto(found.ty)) {
            (Some(initializer), true) => {
                let value = program.text(initializer);
                format!("extern std::decay<decltype({value})>::type {};", found.name)
            }
            _ => format!("extern {};", types.declare(found.ty, &found.name)),
        }
    });
    definitions.chain(declarations).collect()
}

/// A function with the declaration of a variable whose initializer leads to an instantiation.
pub(super) fn initializer(program: &Program, symbol: SymbolId, range: TextRange) -> String {
    let text = conditionals::whole_text(program, range);
    let mut text = text.as_str();
    // Words of file scope.
    for word in ["extern ", "inline "] {
        text = text.strip_prefix(word).unwrap_or(text);
    }
    format!(
        "static inline void {USES_PREFIX}{}() {{ {text} }}",
        program.name(symbol)
    )
}
