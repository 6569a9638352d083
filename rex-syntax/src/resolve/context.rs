//! Context selectors, and the contexts they are matched against.
//!
//! Device code is CUDA: its device is a GPU of the architecture `nvptx`, also where the host runs it. The implementation is LLVM's, whose runtime carries the calls;
//! host code is also GNU's, whose compiler it is for.

use text_size::{TextRange, TextSize};

use super::{split, word_and_inside};
use crate::condition::{self, Lookup};
use crate::cst::Node;
use crate::kind::{Field, Kind};
use crate::lex;
use crate::macros::MacroTable;
use crate::omp::clause::ClauseName;
use crate::omp::directive::Leaf;
use crate::unit::Unit;

/// Where a selector is looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Context<'u> {
    /// On a device.
    pub(super) is_device: bool,
    /// The constructs around the place, outermost first, as the specification spells them.
    pub(super) constructs: Vec<&'static str>,
    /// What `requires` directives of the file demand.
    requirements: Vec<&'static str>,
    /// What conditions may name.
    macros: Option<&'u MacroTable>,
}

/// Whether a selector matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Never,
    Always,
    /// If the program finds this true.
    If(String),
}

/// A selector, evaluated.
#[derive(Clone, Debug)]
pub(super) struct Match {
    pub(super) verdict: Verdict,
    pub(super) score: u64,
}

impl<'u> Context<'u> {
    /// The context of a node.
    pub(super) fn of(unit: &'u Unit, node: Node<'_>) -> Context<'u> {
        let mut constructs: Vec<&'static str> = Vec::new();
        let mut is_device = false;
        for outer in node.ancestors() {
            let Some(idx) = unit.directive_of(outer) else {
                continue;
            };
            let leaves = &unit.directives[idx].leaves;
            for leaf in leaves.iter().rev() {
                constructs.insert(0, leaf.spelling());
            }
            if leaves.first() == Some(&Leaf::Target) {
                is_device = true;
                break;
            }
        }
        if !is_device && is_device_function(unit, node) {
            is_device = true;
            constructs.insert(0, Leaf::Target.spelling());
        }
        Context {
            is_device,
            constructs,
            requirements: unit.requirements.clone(),
            macros: Some(&unit.macros),
        }
    }

    /// The same place in device code.
    pub(super) fn on_device(&self) -> Context<'u> {
        let mut context = self.clone();
        context.is_device = true;
        if context.constructs.first() != Some(&Leaf::Target.spelling()) {
            context.constructs.insert(0, Leaf::Target.spelling());
        }
        context
    }

    /// The same place in host code.
    pub(super) fn on_host(&self) -> Context<'u> {
        Context {
            is_device: false,
            ..self.clone()
        }
    }

    /// Evaluates a selector that stands at a place: `device={kind(gpu)}, user={condition(n > 4)}`.
    pub(super) fn evaluate(&self, selector: &str, at: TextSize) -> Match {
        let mut conditions: Vec<String> = Vec::new();
        let mut score = 0u64;
        for set in split(selector, ',') {
            let Some((name, traits)) = set.split_once('=') else {
                continue;
            };
            let traits = traits.trim();
            let traits = traits.strip_prefix('{').unwrap_or(traits);
            let traits = traits.strip_suffix('}').unwrap_or(traits);
            let found = match name.trim() {
                "construct" => self.constructs(traits),
                "device" => self.device(traits),
                "target_device" => target_device(traits),
                "implementation" => self.implementation(traits),
                "user" => self.user(traits, at),
                _ => NEVER,
            };
            match found.verdict {
                Verdict::Never => return NEVER,
                Verdict::Always => {}
                Verdict::If(condition) => conditions.push(condition),
            }
            score = score.saturating_add(found.score);
        }
        let verdict = match conditions.is_empty() {
            true => Verdict::Always,
            false => Verdict::If(conditions.join(" && ")),
        };
        Match { verdict, score }
    }

    /// Constructs in the order of the selector, with others between them.
    fn constructs(&self, traits: &str) -> Match {
        let mut known = self.constructs.iter().enumerate();
        let mut score = 0u64;
        for wanted in split(traits, ',') {
            let (word, _) = word_and_inside(wanted);
            match known.find(|(_, construct)| **construct == word) {
                Some((position, _)) => score += 1 << position.min(40),
                None => return NEVER,
            }
        }
        always(score)
    }

    fn device(&self, traits: &str) -> Match {
        let mut score = 0u64;
        for wanted in split(traits, ',') {
            let (word, properties) = word_and_inside(wanted);
            let (own, properties) = scored(properties.unwrap_or(""));
            let position = self.constructs.len().min(40);
            let (matches, weight) = match word {
                "kind" => (all(&properties, |kind| self.is_kind(kind)), 1 << position),
                "arch" => (any(&properties, |arch| self.is_arch(arch)), 2 << position),
                "isa" => (false, 0),
                _ => (false, 0),
            };
            if !matches {
                return NEVER;
            }
            score += own.unwrap_or(weight);
        }
        always(score)
    }

    fn is_kind(&self, kind: &str) -> bool {
        match kind {
            "any" => true,
            "nohost" | "gpu" => self.is_device,
            "host" | "cpu" => !self.is_device,
            _ => false,
        }
    }

    fn is_arch(&self, arch: &str) -> bool {
        match self.is_device {
            true => matches!(arch, "nvptx" | "nvptx64" | "gpu"),
            false => match arch {
                "x86_64" | "x86-64" | "x86" => cfg!(target_arch = "x86_64"),
                "aarch64" | "arm64" => cfg!(target_arch = "aarch64"),
                _ => false,
            },
        }
    }

    fn implementation(&self, traits: &str) -> Match {
        let mut score = 0u64;
        for wanted in split(traits, ',') {
            let (word, properties) = word_and_inside(wanted);
            let (own, properties) = scored(properties.unwrap_or(""));
            let matches = match word {
                "vendor" => any(&properties, |vendor| {
                    vendor == "llvm" || (vendor == "gnu" && !self.is_device)
                }),
                "extension" => all(&properties, |extension| extension == "match_all"),
                "requires" => all(&properties, |word| self.requirements.contains(&word)),
                word => self.requirements.contains(&word),
            };
            if !matches {
                return NEVER;
            }
            score += own.unwrap_or(0);
        }
        always(score)
    }

    /// A condition is the program's to decide, unless numbers and macros do.
    fn user(&self, traits: &str, at: TextSize) -> Match {
        let (word, properties) = word_and_inside(traits);
        let Some(condition) = properties.filter(|_| word == "condition") else {
            return NEVER;
        };
        let (score, condition) = match split(condition, ':').as_slice() {
            [score, rest] => (score_of(score), rest.trim()),
            _ => (None, condition.trim()),
        };
        // What is no macro, or names itself in its own body, is a name of the program.
        let lookup = |name: &str| {
            self.macros
                .and_then(|macros| macros.lookup_at(name, at))
                .filter(|def| {
                    let mut words = lex::identifiers(&def.body, lex::whole(&def.body));
                    words.all(|word| lex::slice(&def.body, word) != name)
                })
                .map_or(Lookup::Unknown, |def| Lookup::of(def.clone()))
        };
        let verdict = match condition::evaluate(condition, &lookup) {
            Some(0) => Verdict::Never,
            Some(_) => Verdict::Always,
            None => Verdict::If(format!("({condition})")),
        };
        Match {
            verdict,
            score: score.unwrap_or(0),
        }
    }
}

const NEVER: Match = Match {
    verdict: Verdict::Never,
    score: 0,
};

fn always(score: u64) -> Match {
    Match {
        verdict: Verdict::Always,
        score,
    }
}

/// What the device would be that a `target` directive here runs on.
fn target_device(traits: &str) -> Match {
    let device = Context {
        is_device: true,
        ..Context::default()
    };
    let mut number = None;
    let mut rest = Vec::new();
    for wanted in split(traits, ',') {
        match word_and_inside(wanted) {
            ("device_num", Some(value)) => number = Some(value.trim()),
            _ => rest.push(wanted),
        }
    }
    let is_device = rest
        .iter()
        .all(|wanted| device.device(wanted).verdict == Verdict::Always);
    let is_host = rest.iter().all(|wanted| {
        let host = Context::default();
        host.device(wanted).verdict == Verdict::Always
    });
    let condition = match (number, is_device, is_host) {
        (_, false, false) => return NEVER,
        (_, true, true) if number.is_none() => return always(0),
        (None, true, _) => return always(0),
        (None, false, true) => return NEVER,
        (Some(number), true, true) => {
            format!("({number}) >= 0 && ({number}) <= omp_get_num_devices()")
        }
        (Some(number), true, false) => {
            format!("({number}) >= 0 && ({number}) < omp_get_num_devices()")
        }
        (Some(number), false, true) => format!("({number}) == omp_get_initial_device()"),
    };
    Match {
        verdict: Verdict::If(condition),
        score: 0,
    }
}

fn score_of(text: &str) -> Option<u64> {
    match word_and_inside(text) {
        ("score", Some(value)) => value.trim().parse().ok(),
        _ => None,
    }
}

/// The score in front of properties, and the properties, without the quotes of strings.
fn scored(text: &str) -> (Option<u64>, Vec<&str>) {
    let (score, list) = match split(text, ':').as_slice() {
        [score, list] => (score_of(score), *list),
        _ => (None, text),
    };
    let properties = split(list, ',')
        .into_iter()
        .map(|word| word.trim().trim_matches('"'));
    (score, properties.collect())
}

fn all(properties: &[&str], matches: impl Fn(&str) -> bool) -> bool {
    properties.iter().all(|word| matches(word))
}

fn any(properties: &[&str], matches: impl Fn(&str) -> bool) -> bool {
    properties.iter().any(|word| matches(word))
}

/// Whether a node stands in a function that `declare target` names or surrounds.
fn is_device_function(unit: &Unit, node: Node<'_>) -> bool {
    let function = std::iter::once(node)
        .chain(node.ancestors())
        .find(|outer| outer.kind() == Kind::FunctionDefinition);
    let Some(function) = function else {
        return false;
    };
    let text = unit.tree.text();
    let name = function_name(function).map(Node::text);
    let mut open: Vec<TextRange> = Vec::new();
    for directive in &unit.directives {
        match directive.first() {
            Some(Leaf::EndDeclareTarget) => {
                let begin = open.pop();
                let surrounds = begin.is_some_and(|begin| {
                    begin.end() <= function.range().start()
                        && function.range().end() <= directive.range.start()
                });
                if surrounds {
                    return true;
                }
            }
            Some(Leaf::BeginDeclareTarget) => open.push(directive.range),
            Some(Leaf::DeclareTarget) => {
                let listed = directive
                    .clauses
                    .iter()
                    .filter(|clause| clause.name != ClauseName::DeviceType);
                let lists: Vec<TextRange> = directive
                    .argument
                    .into_iter()
                    .chain(
                        listed
                            .flat_map(|clause| clause.items())
                            .map(|item| item.range),
                    )
                    .collect();
                if lists.is_empty() {
                    open.push(directive.range);
                }
                let mut names = lists
                    .iter()
                    .flat_map(|list| lex::identifiers(text, *list))
                    .map(|at| lex::slice(text, at));
                if names.any(|listed| Some(listed) == name) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The name that a function definition or declaration declares.
pub(super) fn function_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut current = node.field(Field::Declarator)?;
    loop {
        match current.kind() {
            Kind::Identifier | Kind::FieldIdentifier | Kind::QualifiedIdentifier => {
                return Some(current);
            }
            _ => current = current.field(Field::Declarator)?,
        }
    }
}
