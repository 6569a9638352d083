//! Declarations that headers of the translation unit give, as text.
//!
//! The answers come from the preprocessed text of the unit; without one nothing is known. What the main file itself declares is no answer, unless a macro
//! wrote it: the syntax tree knows the rest better.

use std::collections::BTreeSet;

use rex_syntax::TextRange;
use rex_syntax::declarations::{DeclKind, DeclText};
use rex_syntax::expansion::HeaderOrigin;
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::source::{FileRange, Language, SourceMap};
use rex_syntax::unit::Unit;
use smol_str::SmolStr;

use crate::item::ItemKind;
use crate::program::Program;
use crate::ty::{Record, TypeId, TypeKind};

/// A function that a header declares or defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFunction {
    /// The declaration, with its body if it has one.
    pub text: String,
    /// The header of the project that it stands in; `None` for a header of the system.
    pub project_file: Option<SmolStr>,
}

impl HeaderFunction {
    /// Whether the text has the function's body.
    pub fn is_defined(&self) -> bool {
        self.text.trim_end().ends_with('}')
    }
}

/// The typedef, alias, class or enum of this name.
pub fn type_declaration(unit: &Unit, name: &str) -> Option<String> {
    find(unit, name, DeclKind::Typedef)
        .or_else(|| find(unit, name, DeclKind::Tag))
        .map(|found| found.text.to_string())
}

/// The struct, union, class or enum with this tag.
pub fn tag_declaration(unit: &Unit, name: &str) -> Option<String> {
    find(unit, name, DeclKind::Tag).map(|found| found.text.to_string())
}

/// Whether a type is made of a class of libstdc++ that belongs to its new ABI: `std::string`, `std::list<int> *`.
pub fn is_of_new_abi(program: &Program, ty: TypeId) -> bool {
    let types = &program.types;
    match &types.get(types.desugar(ty)).kind {
        TypeKind::Pointer(to) | TypeKind::Reference(to) => is_of_new_abi(program, *to),
        TypeKind::Array { element, .. } => is_of_new_abi(program, *element),
        TypeKind::Function { .. } => false,
        TypeKind::Named { spelling, .. } => {
            program.language() == Language::Cxx && names_new_abi(program, spelling)
        }
    }
}

fn names_new_abi(program: &Program, spelling: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending: Vec<&str> = names_of(spelling).collect();
    while let Some(name) = pending.pop() {
        let is_own = |record: &Record| record.name == name && record.body.is_some();
        if program.types.records.values().any(is_own) || !seen.insert(name) {
            continue;
        }
        match find(&program.unit, name, DeclKind::Tag) {
            Some(class) if class.scope.ends_with("__cxx11") => return true,
            Some(_) => {}
            None => pending.extend(
                find(&program.unit, name, DeclKind::Typedef)
                    .into_iter()
                    .flat_map(|alias| names_of(alias.text)),
            ),
        }
    }
    false
}

/// All names of a text, each component of qualified ones.
pub fn names_of(text: &str) -> impl Iterator<Item = &str> {
    let tokens = lex::significant_tokens(text, lex::whole(text));
    let names = tokens.filter(|token| token.kind == TokenKind::Identifier);
    names.map(move |token| token.text(text))
}

/// A variable that a header declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderVariable {
    /// The whole declaration.
    pub text: String,
    /// The header is one of the system.
    pub is_of_system: bool,
}

impl HeaderVariable {
    /// Whether the declaration says `constexpr`.
    pub fn is_constexpr(&self) -> bool {
        lex::identifiers(&self.text, lex::whole(&self.text))
            .any(|word| &self.text[word] == "constexpr")
    }
}

/// The variable of this name; a template of variables is none.
pub fn variable_declaration(unit: &Unit, name: &str) -> Option<HeaderVariable> {
    find(unit, name, DeclKind::Variable)
        .filter(|found| !found.text.starts_with("template"))
        .map(|found| HeaderVariable {
            text: found.text.to_string(),
            is_of_system: found.origin == HeaderOrigin::System,
        })
}

/// Every declaration of functions of this name.
pub fn function_declarations(unit: &Unit, name: &str) -> Vec<String> {
    let expansion = unit.expansion.as_deref();
    let found = expansion.map(|expansion| expansion.declarations().all(name, DeclKind::Function));
    let texts = found.unwrap_or_default().into_iter();
    texts.map(|found| found.text.to_string()).collect()
}

/// Whether device compilers may compile a call of one of this name by its text: a template or a `constexpr` function.
pub fn is_usable_anywhere(unit: &Unit, name: &str) -> bool {
    let mut texts = function_declarations(unit, name).into_iter();
    texts.any(|text| text.starts_with("template") || text.contains("constexpr"))
}

/// The function of this name. A definition is preferred.
pub fn function_declaration(unit: &Unit, name: &str) -> Option<HeaderFunction> {
    find(unit, name, DeclKind::Function).map(|found| HeaderFunction {
        text: found.text.to_string(),
        project_file: match found.origin {
            HeaderOrigin::User { file } => Some(file),
            HeaderOrigin::Main | HeaderOrigin::System => None,
        },
    })
}

/// The function of this name that a header of the project defines, whatever headers of the system declare.
pub fn project_definition(unit: &Unit, name: &str) -> Option<HeaderFunction> {
    let index = unit.expansion.as_deref()?.declarations();
    let all = index.all(name, DeclKind::Function).into_iter();
    let mut defined = all.filter(is_definition);
    defined.find_map(|found| match found.origin {
        HeaderOrigin::User { file } => Some(HeaderFunction {
            text: found.text.to_string(),
            project_file: Some(file),
        }),
        HeaderOrigin::Main | HeaderOrigin::System => None,
    })
}

/// Whether a header of the system gives a type this name.
pub fn system_declares_type(unit: &Unit, name: &str) -> bool {
    find(unit, name, DeclKind::Typedef).is_some_and(|found| found.origin == HeaderOrigin::System)
}

/// Whether a header of the project declares a function of this name.
pub fn project_declares_function(unit: &Unit, name: &str) -> bool {
    function_declaration(unit, name).is_some_and(|found| found.project_file.is_some())
}

/// Whether an `#include` inside a function brings statements or parts of them, which only stand where they are.
pub fn is_fragment(sources: &SourceMap, unit: &Unit, include: TextRange) -> bool {
    // File scope can hold what begins with one of these.
    const DECLARATIONS: [&str; 9] = [
        "class",
        "enum",
        "extern",
        "inline",
        "namespace",
        "struct",
        "template",
        "typedef",
        "union",
    ];
    let Some(expansion) = &unit.expansion else {
        return false;
    };
    let first = expansion
        .words_included_at(line_of(sources, unit, include))
        .next();
    first.is_some_and(|word| !DECLARATIONS.contains(&word))
}

/// The headers of the project that are parts of functions.
pub fn fragments(program: &Program) -> Vec<SmolStr> {
    let source = program.source();
    let Some(expansion) = &program.unit.expansion else {
        return Vec::new();
    };
    let (sources, unit) = (&program.sources, &program.unit);
    let is_in_function = |range| program.function_index.around(range).is_some();
    rex_syntax::pragma::directives(source)
        .into_iter()
        .filter(|line| line.name(source) == "include" && is_in_function(line.range))
        .filter(|line| is_fragment(sources, unit, line.range))
        .flat_map(|line| expansion.headers_included_at(line_of(sources, unit, line.range)))
        .collect()
}

/// Whether a header of the project declares a type of this name.
pub fn project_declares_type(unit: &Unit, name: &str) -> bool {
    let Some(expansion) = &unit.expansion else {
        return false;
    };
    [DeclKind::Typedef, DeclKind::Tag]
        .into_iter()
        .flat_map(|kind| expansion.declarations().all(name, kind))
        .any(|found| matches!(found.origin, HeaderOrigin::User { .. }))
}

/// Whether an `#include` line brings a header of the project, or may do so.
pub fn is_of_project(program: &Program, include: TextRange) -> bool {
    match &program.unit.expansion {
        Some(expansion) => expansion
            .project_text_included_at(line_of(&program.sources, &program.unit, include))
            .next()
            .is_some(),
        None => program.text(include).contains('"'),
    }
}

/// Every name in headers of the project that these `#include` lines bring.
pub fn names_included_by(
    program: &Program,
    includes: impl Iterator<Item = TextRange>,
) -> BTreeSet<&str> {
    let Some(expansion) = &program.unit.expansion else {
        return BTreeSet::new();
    };
    includes
        .flat_map(|range| {
            expansion.project_text_included_at(line_of(&program.sources, &program.unit, range))
        })
        .flat_map(|text| {
            lex::significant_tokens(text, lex::whole(text))
                .filter(|token| token.kind == TokenKind::Identifier)
                .map(move |token| token.text(text))
        })
        .collect()
}

/// The names behind qualifiers in headers of the project that the unit includes, each with the last word of its qualifier: `util` and `join` of `lib::util::join`.
pub fn qualified_names_included(program: &Program) -> BTreeSet<(&str, &str)> {
    let Some(expansion) = &program.unit.expansion else {
        return BTreeSet::new();
    };
    let includes = program
        .items
        .iter()
        .filter(|item| item.kind == ItemKind::Include);
    let mut names = BTreeSet::new();
    for include in includes {
        let line = line_of(&program.sources, &program.unit, include.range);
        for text in expansion.project_text_included_at(line) {
            let mut before = ["", ""];
            for token in lex::significant_tokens(text, lex::whole(text)) {
                let word = token.text(text);
                if let [qualifier, "::"] = before
                    && token.kind == TokenKind::Identifier
                {
                    names.insert((qualifier, word));
                }
                before = [before[1], word];
            }
        }
    }
    names
}

/// The 1-based line of the user's file where a range of the unit begins.
fn line_of(sources: &SourceMap, unit: &Unit, range: TextRange) -> u32 {
    sources.written_line(FileRange {
        file: unit.file,
        range: TextRange::empty(range.start()),
    })
}

/// Prefers headers, then file scope, then a body, then the last one in the text.
pub(crate) fn find<'u>(unit: &'u Unit, name: &str, kind: DeclKind) -> Option<DeclText<'u>> {
    let index = unit.expansion.as_deref()?.declarations();
    let mut found = index.all(name, kind);
    if kind == DeclKind::Function {
        found.retain(|found| found.origin != HeaderOrigin::Main);
    }
    found.into_iter().max_by_key(|found| {
        (
            found.origin != HeaderOrigin::Main,
            found.scope.is_empty(),
            is_definition(found),
        )
    })
}

/// Whether a class declares a function of this name that is `constexpr`.
pub fn declares_constexpr(class: &str, name: &str) -> bool {
    let mut is_constexpr = false;
    let mut tokens = lex::significant_tokens(class, lex::whole(class));
    tokens.any(|token| {
        match token.text(class) {
            "constexpr" => is_constexpr = true,
            ";" | "{" | "}" => is_constexpr = false,
            word => return is_constexpr && word == name,
        }
        false
    })
}

/// How a place names a type of a header.
#[derive(Clone, Copy)]
pub(crate) struct TypeName<'n> {
    /// What stands before `::`, without the last one.
    pub(crate) qualifier: Option<&'n str>,
    /// The name itself, without arguments.
    pub(crate) name: &'n str,
    /// The namespaces around the place, `a::b`.
    pub(crate) namespace: &'n str,
}

impl TypeName<'_> {
    /// How well the scope of a declaration fits: as the qualifier says, then in the innermost namespace around the place.
    fn fit(self, scope: &str) -> (u8, Option<usize>) {
        let qualifier = self.qualifier.map(|it| it.trim().trim_start_matches("::"));
        let as_written = match qualifier {
            None => 0,
            Some(qualifier) if scope == qualifier => 3,
            Some(qualifier) if scope.ends_with(&format!("::{qualifier}")) => 2,
            // In a namespace that is `inline`.
            Some(qualifier) if is_within(scope, qualifier) => 1,
            Some(_) => 0,
        };
        let is_around = is_within(self.namespace, scope);
        (as_written, is_around.then_some(scope.len()))
    }
}

/// Whether a scope is another one or in it; everything is in the file.
fn is_within(scope: &str, outer: &str) -> bool {
    let inner = scope.strip_prefix(outer);
    outer.is_empty() || inner.is_some_and(|inner| inner.is_empty() || inner.starts_with("::"))
}

fn is_definition(found: &DeclText<'_>) -> bool {
    found.text.ends_with('}') || found.text.contains('{')
}

/// The declaration of the type that a name means: headers are preferred, then what fits the place, then a typedef, a body, and the last one in the text.
pub(crate) fn find_type<'u>(unit: &'u Unit, name: TypeName<'_>) -> Option<DeclText<'u>> {
    let index = unit.expansion.as_deref()?.declarations();
    let kinds = [DeclKind::Tag, DeclKind::Typedef].into_iter();
    let all = kinds.flat_map(|kind| {
        let found = index.all(name.name, kind).into_iter();
        found
            .filter(|found| specialized_for(found.text).is_none())
            .map(move |found| (kind, found))
    });
    let (_, found) = all.max_by_key(|(kind, found)| {
        (
            found.origin != HeaderOrigin::Main,
            name.fit(&found.scope),
            *kind == DeclKind::Typedef,
            is_definition(found),
        )
    })?;
    Some(found)
}

/// What a class template of headers is for some of its arguments.
pub(crate) struct Specialization {
    /// The class, without template head and arguments: `struct Deep { .. }`.
    pub(crate) text: String,
    /// It is for arguments that are all given.
    pub(crate) is_full: bool,
    /// The arguments, brackets included.
    pub(crate) arguments: String,
}

/// The specializations that headers define of a template.
pub(crate) fn specializations(unit: &Unit, name: &str) -> Vec<Specialization> {
    let Some(expansion) = unit.expansion.as_deref() else {
        return Vec::new();
    };
    let all = expansion.declarations().all(name, DeclKind::Tag);
    let specializations = all.into_iter().filter_map(|found| {
        let arguments = specialized_for(found.text).filter(|_| found.text.contains('{'))?;
        let mut class = found.text.to_owned();
        class.replace_range(std::ops::Range::<usize>::from(arguments), "");
        let head_end = class.find('>')? + 1;
        let head: String = class[..head_end].split_whitespace().collect();
        Some(Specialization {
            is_full: head == "template<>",
            text: class[head_end..].to_owned(),
            arguments: found.text[arguments].to_owned(),
        })
    });
    specializations.collect()
}

/// Where the declaration of a class template has arguments that it is for, brackets included: `<0>` of `template <> struct Deep<0> { .. }`.
fn specialized_for(text: &str) -> Option<TextRange> {
    if !text.starts_with("template") {
        return None;
    }
    let mut depth = 0_usize;
    let mut is_class = false;
    let mut arguments = None;
    for token in lex::significant_tokens(text, lex::whole(text)) {
        let word = token.text(text);
        match word {
            "{" | ":" | ";" if depth == 0 => return None,
            "<" | "(" => {
                if depth == 0 && is_class && word == "<" {
                    arguments = Some(token.range.start());
                }
                depth += 1;
            }
            ">" | ")" => depth = depth.saturating_sub(1),
            ">>" => depth = depth.saturating_sub(2),
            "struct" | "class" | "union" if depth == 0 => is_class = true,
            _ => {}
        }
        if depth == 0
            && let Some(start) = arguments
        {
            return Some(TextRange::new(start, token.range.end()));
        }
    }
    None
}

/// Whether headers declare types of this name in several scopes.
pub(crate) fn is_ambiguous(unit: &Unit, name: &str) -> bool {
    let Some(expansion) = unit.expansion.as_deref() else {
        return false;
    };
    let index = expansion.declarations();
    let kinds = [DeclKind::Tag, DeclKind::Typedef].into_iter();
    let mut all = kinds.flat_map(|kind| index.all(name, kind));
    let first = all.next();
    first.is_some_and(|first| all.any(|other| other.scope != first.scope))
}
