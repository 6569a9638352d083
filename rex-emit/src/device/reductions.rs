//! The operations of reductions that the program declares.

use std::collections::BTreeSet;

use rex_ir::program::{DeclaredReduction, Program, ReductionInitializer};
use rex_ir::region::{Construct, ReductionOperation, SharingAttribute};
use rex_syntax::layout::{indent_after, indent_at};
use rex_syntax::{TextRange, TextSize};
use smol_str::{SmolStr, format_smolstr};

use super::Device;
use super::body::{self, declared_operation};
use super::kernel::STEP;

impl Device<'_> {
    /// The reductions that the program declares before a place, and that are not there yet.
    pub(super) fn reductions(&mut self, end: Option<TextSize>) {
        let program = self.program;
        while let Some((_, declared)) = program.declared_reductions.get_index(self.n_reductions)
            && end.is_none_or(|end| declared.at.start() < end)
        {
            self.n_reductions += 1;
            if self.is_written_at_namespace_scope(declared) {
                self.header();
                for line in operation(program, declared) {
                    self.line(&line);
                }
            }
        }
    }

    /// Whether a range holds reductions that are still to be written.
    pub(super) fn has_reductions_to_write(&self, range: TextRange) -> bool {
        let rest = self.program.declared_reductions.values();
        let mut rest = rest.skip(self.n_reductions);
        rest.any(|declared| {
            range.contains_range(declared.at) && self.is_written_at_namespace_scope(declared)
        })
    }

    fn is_written_at_namespace_scope(&self, declared: &DeclaredReduction) -> bool {
        self.used_reductions.contains(&declared.key) && !self.program.is_scoped(declared)
    }
}

/// The keys of the declared reductions that constructs use.
pub(super) fn used<'p>(
    constructs: impl Iterator<Item = &'p Construct>,
) -> impl Iterator<Item = &'p SmolStr> {
    constructs
        .flat_map(|construct| &construct.sharing)
        .filter_map(|sharing| match &sharing.attribute {
            SharingAttribute::Reduction {
                operation: ReductionOperation::Declared(key),
                ..
            } => Some(key),
            _ => None,
        })
}

/// The struct of an operation, at namespace scope.
fn operation(program: &Program, declared: &DeclaredReduction) -> Vec<String> {
    let mut lines = vec![format!("struct {} {{", declared_operation(&declared.key))];
    lines.extend(functions(program, declared));
    if declared.is_overloaded {
        lines.extend(overloads(program, declared));
    }
    let identity = match declared.reads_original(program) {
        true => {
            "identity(const Value &original) { Value value; initialize(value, original); return value; }"
        }
        false => "identity() { Value value; initialize(value); return value; }",
    };
    lines.push(format!(
        "{STEP}template <typename Value> static __device__ Value {identity}"
    ));
    lines.push("};".to_string());
    lines
}

/// The functions of the reductions of the same identifier before one, and those of the operator itself, which every better match hides.
fn overloads(program: &Program, declared: &DeclaredReduction) -> Vec<String> {
    let reads_original = declared.reads_original(program);
    let scope = |place| program.scopes.scope(program.scopes.innermost(place)).range;
    let mut types: Vec<String> = spelled_types(program, declared);
    let mut lines = Vec::new();
    for other in program.declared_reductions.values().rev() {
        let is_earlier = other.name == declared.name && other.at.start() < declared.at.start();
        let others = spelled_types(program, other);
        if is_earlier
            && scope(other.at).contains_range(declared.at)
            && !program.is_scoped(other)
            && other.reads_original(program) == reads_original
            && !others.iter().any(|ty| types.contains(ty))
        {
            lines.extend(functions(program, other));
            types.extend(others);
        }
    }
    if let Some(operator) = ReductionOperation::of_operator(&declared.name) {
        let operator = body::operation(program, &operator);
        let original = match reads_original {
            true => ", const Value &",
            false => "",
        };
        lines.push(format!(
            "{STEP}template <typename Value> static __device__ void initialize(Value &value{original}) {{ value = {operator}::identity<Value>(); }}"
        ));
        lines.push(format!(
            "{STEP}template <typename Value> static __device__ void combine(Value &omp_out, const Value &omp_in) {{ {operator}::combine(omp_out, omp_in); }}"
        ));
    }
    lines
}

fn spelled_types(program: &Program, declared: &DeclaredReduction) -> Vec<String> {
    let types = declared.types.iter();
    types.map(|ty| program.types.spell(*ty)).collect()
}

/// The operations whose types only the scope of a region or function has, to stand in front of its code. Those that the code itself
/// declares stand [in place](in_place) of their directives.
pub(super) fn scoped_in(program: &Program, range: TextRange) -> Vec<String> {
    let constructs = program.constructs_in(range).map(|(_, construct)| construct);
    let used: BTreeSet<usize> = used(constructs)
        .filter_map(|key| program.declared_reductions.get_index_of(key))
        .collect();
    let scoped = used
        .into_iter()
        .map(|idx| &program.declared_reductions[idx])
        .filter(|declared| program.is_scoped(declared) && !range.contains_range(declared.at));
    scoped
        .flat_map(|declared| scoped_operation(program, declared))
        .collect()
}

/// The directives in a range that declare reductions, with the operations that stand there instead.
pub(super) fn in_place(
    program: &Program,
    range: TextRange,
) -> impl Iterator<Item = (TextRange, SmolStr)> {
    let declared = program.declared_reductions.values();
    declared
        .filter(move |declared| range.contains_range(declared.at))
        .map(move |declared| {
            let scope = program.scopes.scope(program.scopes.innermost(declared.at));
            let constructs = program.constructs_in(scope.range);
            let mut keys = used(constructs.map(|(_, construct)| construct));
            let lines = match program.is_scoped(declared) && keys.any(|key| *key == declared.key) {
                true => scoped_operation(program, declared),
                false => Vec::new(),
            };
            let source = program.source();
            let own = indent_at(source, declared.at.start());
            // Between pieces of text it is as deep as what follows.
            let indent = match declared.at == range {
                true => own,
                false => indent_after(source, declared.at.end()),
            };
            let text = lines.join(&format!("\n{indent}"));
            let lead = indent.strip_prefix(own).unwrap_or_default();
            (declared.at, format_smolstr!("{lead}{text}"))
        })
}

fn scoped_operation(program: &Program, declared: &DeclaredReduction) -> Vec<String> {
    let operation = declared_operation(&declared.key);
    let mut lines = vec![format!("struct {operation}__here {{")];
    lines.extend(functions(program, declared));
    lines.push("};".to_string());
    lines.push(format!(
        "typedef rex_declared<{operation}__here> {operation};"
    ));
    lines
}

/// How copies of each type begin, and how they are combined.
fn functions(program: &Program, declared: &DeclaredReduction) -> Vec<String> {
    let reads_original = declared.reads_original(program);
    let combiner = program.text(declared.combiner).trim();
    let mut lines = Vec::new();
    for ty in &declared.types {
        let ty = program.types.spell(*ty);
        let initializer = initializer(program, declared, &ty);
        let constant = match ty.ends_with('*') {
            true => format!("{ty}const"),
            false => format!("const {ty}"),
        };
        let (parameter, original) = match reads_original {
            true => (
                format!(", {constant} &rex_original"),
                format!("{ty} omp_orig = rex_original; (void)omp_orig; "),
            ),
            false => (String::new(), String::new()),
        };
        lines.push(format!("{STEP}static __device__ void initialize({ty} &value{parameter}) {{ {original}{initializer} value = omp_priv; }}"));
        lines.push(format!(
            "{STEP}static __device__ void combine({ty} &omp_out, {constant} &rex_in) {{ {ty} omp_in = rex_in; (void)omp_in; {combiner}; }}"
        ));
    }
    lines
}

/// The declaration of a copy.
fn initializer(program: &Program, declared: &DeclaredReduction, ty: &str) -> String {
    match declared.initializer {
        Some(ReductionInitializer::Value(range)) => {
            let text = program.text(range).trim();
            let before = &program.source()[..usize::from(range.start())];
            if before.trim_end().ends_with('=') {
                return format!("{ty} omp_priv = {};", without_literal_type(text));
            }
            if text.starts_with('{') || text.starts_with('(') {
                format!(
                    "{ty} omp_priv{};",
                    text.replacen('(', "{", 1).replacen(
                        ')',
                        "}",
                        usize::from(text.starts_with('('))
                    )
                )
            } else {
                format!("{ty} omp_priv = {text};")
            }
        }
        Some(ReductionInitializer::Call(range)) => {
            format!("{ty} omp_priv; {};", program.text(range).trim())
        }
        None => format!("{ty} omp_priv{{}};"),
    }
}

/// `{1, 2}` of C's `(struct pair){1, 2}`.
fn without_literal_type(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(') else {
        return text;
    };
    match inner.split_once(')') {
        Some((_, value)) if value.trim_start().starts_with('{') => value.trim_start(),
        _ => text,
    }
}
