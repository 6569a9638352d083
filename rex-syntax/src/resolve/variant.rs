//! Variants of functions: what `declare variant` declares, and what calls mean because of it.

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use text_size::TextRange;

use super::context::{Context, Verdict, function_name};
use super::metadirective::inside;
use super::{one_line, split, whole_lines, word_and_inside};
use crate::cst::Node;
use crate::edit::EditSet;
use crate::kind::{Field, Kind};
use crate::lex::slice;
use crate::omp::clause::ClauseName;
use crate::omp::directive::{Directive, Leaf};
use crate::unit::Unit;

/// What the names of functions end with that `begin declare variant` surrounds, before their number.
pub const VARIANT_SUFFIX: &str = "__rex_variant_";

/// A call of a function that has variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantCall {
    /// The name of the function.
    pub at: TextRange,
    /// What device code calls: a name, or `(condition ? name : name)`.
    pub device: SmolStr,
    /// What host code calls.
    pub host: SmolStr,
}

/// One variant of a function.
pub(super) struct Variant<'u> {
    pub(super) base: &'u str,
    pub(super) name: SmolStr,
    selector: String,
    /// Parameters of the base that are passed as addresses of the device.
    pub(super) device_pointers: Vec<String>,
    /// It gets arguments that the call does not have.
    pub(super) appends: bool,
    directive: &'u Directive,
    /// The declaration of the base function.
    pub(super) declaration: Node<'u>,
}

/// The variants that a file declares.
#[derive(Default)]
pub(super) struct Variants<'u> {
    /// In source order.
    all: Vec<Variant<'u>>,
    /// Those of each function.
    by_base: FxHashMap<&'u str, Vec<usize>>,
}

impl<'u> Variants<'u> {
    /// Finds them.
    pub(super) fn of(unit: &'u Unit) -> Variants<'u> {
        let mut found = Variants::default();
        for (idx, variant) in variants(unit).into_iter().enumerate() {
            found.by_base.entry(variant.base).or_default().push(idx);
            found.all.push(variant);
        }
        found
    }

    fn of_base(&self, base: &str) -> impl Iterator<Item = &Variant<'u>> {
        let indexes = self.by_base.get(base).into_iter().flatten();
        indexes.map(|idx| &self.all[*idx])
    }
}

fn variants(unit: &Unit) -> Vec<Variant<'_>> {
    let text = unit.tree.text();
    let declares = |directive: &&Directive| directive.first() == Some(Leaf::DeclareVariant);
    let mut directives = unit.directives.iter().filter(declares).peekable();
    let mut found = Vec::new();
    if directives.peek().is_none() {
        return found;
    }
    let declarations = declarations(unit);
    for directive in directives {
        let Some(argument) = directive.argument else {
            continue;
        };
        let parts = split(slice(text, argument), ':');
        let name = parts.last().map_or("", |name| name.trim());
        let declares = |node: &&Node<'_>, name: &str| {
            function_name(**node).is_some_and(|found| found.text() == name)
        };
        let declaration = match parts.as_slice() {
            [base, _] => {
                let mut all = declarations.iter();
                all.find(|node| declares(node, base.trim())).copied()
            }
            _ => declared_behind(&declarations, directive),
        };
        let named = declaration.and_then(|node| Some((node, function_name(node)?.text())));
        let Some((declaration, base)) = named else {
            continue;
        };
        let selector = directive
            .clause(ClauseName::Match)
            .map_or(String::new(), |clause| one_line(inside(text, clause)));
        let device_pointers = directive
            .clauses_named(ClauseName::Adjust)
            .filter_map(|clause| match split(inside(text, clause), ':').as_slice() {
                [how, list] if how.trim() == "need_device_ptr" => Some(*list),
                _ => None,
            })
            .flat_map(|list| split(list, ','))
            .map(|name| name.trim().to_string())
            .collect();
        found.push(Variant {
            base,
            name: name.into(),
            selector,
            device_pointers,
            appends: directive.clause(ClauseName::AppendArgs).is_some(),
            directive,
            declaration,
        });
    }
    found
}

/// The `declare variant` directives that no declaration of a function follows.
pub fn variants_of_nothing(unit: &Unit) -> Vec<&Directive> {
    let declares = |it: &&Directive| it.first() == Some(Leaf::DeclareVariant);
    let mut directives = unit.directives.iter().filter(declares).peekable();
    if directives.peek().is_none() {
        return Vec::new();
    }
    let declarations = declarations(unit);
    let text = unit.tree.text();
    let names_base = |it: &Directive| {
        let argument = it.argument.map_or("", |argument| slice(text, argument));
        split(argument, ':').len() > 1
    };
    let has_function = |it: &Directive| declared_behind(&declarations, it).is_some_and(is_function);
    directives
        .filter(|it| !names_base(it) && !has_function(it))
        .collect()
}

/// Every declaration of a function or a variable, in source order.
fn declarations(unit: &Unit) -> Vec<Node<'_>> {
    let declares = |node: &Node<'_>| {
        matches!(
            node.kind(),
            Kind::FunctionDefinition | Kind::Declaration | Kind::FieldDeclaration
        )
    };
    unit.tree.nodes().filter(declares).collect()
}

/// Whether a declaration is one of a function.
fn is_function(declaration: Node<'_>) -> bool {
    let declarator = declaration.field(Field::Declarator);
    declaration.kind() == Kind::FunctionDefinition
        || std::iter::successors(declarator, |node| node.field(Field::Declarator))
            .any(|node| node.kind() == Kind::FunctionDeclarator)
}

/// The first declaration behind a directive.
fn declared_behind<'u>(declarations: &[Node<'u>], directive: &Directive) -> Option<Node<'u>> {
    let end = directive.range.end();
    let behind = declarations.partition_point(|node| node.range().start() < end);
    declarations.get(behind).copied()
}

/// The variants of a function, most important first, with the conditions under which they are called.
pub(super) fn chosen<'v, 'u>(
    known: &'v Variants<'u>,
    base: &str,
    call: TextRange,
    context: &Context<'_>,
) -> Vec<(&'v Variant<'u>, Verdict)> {
    let mut matches: Vec<(&Variant<'_>, u64, Verdict)> = known
        .of_base(base)
        .filter(|variant| variant.directive.range.end() <= call.start())
        .map(|variant| {
            let at = variant.directive.range.start();
            let found = context.evaluate(&variant.selector, at);
            (variant, found.score, found.verdict)
        })
        .filter(|(.., verdict)| *verdict != Verdict::Never)
        .collect();
    matches.sort_by_key(|(_, score, _)| std::cmp::Reverse(*score));
    matches
        .into_iter()
        .map(|(variant, _, verdict)| (variant, verdict))
        .collect()
}

/// The words that stand for the function: its name, or `(condition ? variant : name)`.
pub(super) fn words(choice: &[(&Variant<'_>, Verdict)], base: &str) -> SmolStr {
    match choice.split_first() {
        None => base.into(),
        Some(((variant, Verdict::If(condition)), rest)) => {
            format_smolstr!("({condition} ? {} : {})", variant.name, words(rest, base))
        }
        Some(((variant, _), _)) => variant.name.clone(),
    }
}

/// Every call whose function has a variant in some context of the call.
pub(crate) fn calls(unit: &Unit) -> Vec<VariantCall> {
    let known = Variants::of(unit);
    if known.all.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for node in unit.tree.nodes() {
        if node.kind() != Kind::CallExpression {
            continue;
        }
        let Some(function) = node.field(Field::Function) else {
            continue;
        };
        let base = function.text();
        if function.kind() != Kind::Identifier || !known.by_base.contains_key(base) {
            continue;
        }
        let context = Context::of(unit, node);
        let at = function.range();
        let called = |context: Context<'_>| words(&chosen(&known, base, at, &context), base);
        let device = called(context.on_device());
        let host = called(context.on_host());
        if device != base || host != base {
            found.push(VariantCall { at, device, host });
        }
    }
    found
}

/// The bodies of functions that devices have a variant of wherever it is called, and the bodies of these: `{ return false; }` for
/// `{ return true; }`. Only such that call nothing; they answer for code whose calls no directive stands around: macros and headers.
pub(crate) fn device_bodies(unit: &Unit) -> Vec<(TextRange, TextRange)> {
    let known = Variants::of(unit);
    if known.all.is_empty() {
        return Vec::new();
    }
    let context = Context::of(unit, unit.tree.root()).on_device();
    let end = TextRange::empty(unit.tree.root().range().end());
    let definitions: Vec<(Node<'_>, Node<'_>)> = unit
        .tree
        .nodes()
        .filter(|node| node.kind() == Kind::FunctionDefinition)
        .filter_map(|node| Some((function_name(node)?, node.field(Field::Body)?)))
        .collect();
    let mut found = Vec::new();
    for (name, body) in &definitions {
        if !known.by_base.contains_key(name.text()) {
            continue;
        }
        let choice = chosen(&known, name.text(), end, &context);
        let Some((variant, Verdict::Always)) = choice.first() else {
            continue;
        };
        let mut others = definitions.iter();
        let other = others.find(|(it, _)| it.text() == variant.name);
        found.extend(
            other
                .filter(|(_, other)| !other.text().contains('('))
                .map(|(_, other)| (body.range(), other.range())),
        );
    }
    found
}

/// Gives the functions of `begin declare variant` names of their own, and declares them as variants.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    let text = unit.tree.text();
    let n_known = text.matches(VARIANT_SUFFIX).count();
    let innermost = unit.directives.windows(2).enumerate().find_map(|(idx, _)| {
        let begin = &unit.directives[idx];
        if begin.first() != Some(Leaf::BeginDeclareVariant) {
            return None;
        }
        let next = unit.directives[idx + 1..].iter().find(|directive| {
            matches!(
                directive.first(),
                Some(Leaf::BeginDeclareVariant | Leaf::EndDeclareVariant)
            )
        })?;
        let ends = next.first() == Some(Leaf::EndDeclareVariant);
        ends.then_some((begin, next))
    });
    let Some((begin, end)) = innermost else {
        return edits;
    };
    let inside_range = TextRange::new(begin.range.end(), end.range.start());
    let selector = begin
        .clause(ClauseName::Match)
        .map_or(String::new(), |clause| one_line(inside(text, clause)));
    let mut declarations = String::new();
    for node in unit.tree.nodes() {
        // Functions in the body of another one, as those of its classes are, are a part of that one.
        let is_function = |it: Node<'_>| it.kind() == Kind::FunctionDefinition;
        if !is_function(node)
            || node.ancestors().any(is_function)
            || !inside_range.contains_range(node.range())
        {
            continue;
        }
        let (Some(name), Some(body)) = (function_name(node), node.field(Field::Body)) else {
            continue;
        };
        let variant = format!("{}{VARIANT_SUFFIX}{n_known}", name.text());
        edits.replace(name.range(), variant.clone());
        let head = TextRange::new(node.range().start(), body.range().start());
        declarations.push_str(&format!(
            "#pragma omp declare variant({variant}) match({selector})\n{};\n",
            slice(text, head).trim()
        ));
    }
    edits.delete(whole_lines(text, begin.range));
    edits.replace(end.range, declarations.trim_end().to_string());
    edits
}

/// The parameters of a function's declaration, by name.
pub(super) fn parameters(declaration: Node<'_>) -> Vec<String> {
    let list = declaration
        .descendants()
        .find(|node| node.kind() == Kind::ParameterList);
    let name_of = |parameter: Node<'_>| {
        let mut current = parameter.field(Field::Declarator)?;
        while let Some(inner) = current.field(Field::Declarator) {
            current = inner;
        }
        let names: Vec<Node<'_>> = current
            .subtree()
            .filter(|node| node.kind() == Kind::Identifier)
            .collect();
        names.first().map(|name| name.text().to_string())
    };
    list.into_iter()
        .flat_map(|list| list.children())
        .filter(|child| child.kind() != Kind::Comment)
        .map(|parameter| name_of(parameter).unwrap_or_default())
        .collect()
}

/// Functions that no host code can call: of `begin declare variant` for devices.
pub(crate) fn for_devices_only(unit: &Unit) -> Vec<TextRange> {
    let known = variants(unit);
    let is_for_host = |name: &str| {
        known
            .iter()
            .filter(|variant| variant.name == name)
            .any(|variant| {
                split(&variant.selector, ',')
                    .into_iter()
                    .filter(|set| word_and_inside(set).0.trim_start().starts_with("device"))
                    .all(|set| {
                        let at = variant.directive.range.start();
                        Context::default().evaluate(set, at).verdict != Verdict::Never
                    })
            })
    };
    unit.tree
        .nodes()
        .filter(|node| node.kind() == Kind::FunctionDefinition)
        .filter(|node| {
            function_name(*node).is_some_and(|name| {
                name.text().contains(VARIANT_SUFFIX) && !is_for_host(name.text())
            })
        })
        .map(Node::range)
        .collect()
}
