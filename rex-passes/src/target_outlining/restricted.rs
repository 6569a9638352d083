//! `restrict`: what the program promises of a pointer, the kernel promises of its parameter, as a CUDA program would.
//!
//! In C the promise covers pointers that were computed from the restricted one. A kernel has those in parameters of their own, so it repeats the promise only
//! where there are none. Where threads wait for each other, only for objects that the program does not change by that pointer, `const T *restrict p`: a compiler
//! may keep restricted objects in registers past a barrier or a lock.

use rex_ir::changes;
use rex_ir::kernel::{Parameter, ParameterType, Prologue, Threading};
use rex_ir::program::Program;
use rex_ir::region::{Capture, CapturedObject, Region};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Category, TypeKind};
use rex_syntax::kind::Kind;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, lex};

use super::Facts;

/// How C and its dialects spell the word.
const SPELLINGS: [&str; 3] = ["restrict", "__restrict", "__restrict__"];

/// Gives parameters that carry restricted pointers, and the lines that unpack them, the qualifier.
pub(super) fn restrict(
    program: &Program,
    facts: &Facts,
    region: &Region,
    threading: Threading,
    parameters: &mut [Parameter],
    prologue: &mut [Prologue],
) {
    let waits = threading != Threading::Independent || facts.has_locks;
    let restricted: Vec<SymbolId> = region
        .captures
        .iter()
        .filter_map(|capture| capture.object.variable())
        .filter(|symbol| is_restricted(program, *symbol))
        .collect();
    let may_alias = |capture: &Capture| !is_independent(program, region, capture, &restricted);
    if restricted.is_empty() || region.captures.iter().any(may_alias) {
        return;
    }
    let qualify = |ty: &mut ParameterType| {
        if let ParameterType::Declared(pointer) = *ty {
            *ty = ParameterType::Restricted(pointer);
        }
    };
    for parameter in parameters {
        let Some(symbol) = parameter
            .object
            .variable()
            .filter(|symbol| restricted.contains(symbol))
            .filter(|symbol| !waits || is_only_read(program, *symbol))
        else {
            continue;
        };
        qualify(&mut parameter.ty);
        for line in prologue.iter_mut() {
            if let Prologue::Unpack { name, ty, .. } = line
                && *name == *program.name(symbol)
            {
                qualify(ty);
            }
        }
    }
}

/// Whether a pointer's type lets nobody change what it points to.
fn is_only_read(program: &Program, pointer: SymbolId) -> bool {
    let types = &program.types;
    let ty = types.desugar(program.symbols[pointer].ty);
    matches!(types.get(ty).kind, TypeKind::Pointer(to) if types.get(to).is_const)
}

/// Whether threads may take turns at objects.
pub(super) fn has_locks(program: &Program) -> bool {
    let mut directives = program.unit.directives.iter();
    directives.any(|directive| directive.has(Leaf::Critical) || directive.has(Leaf::Flush))
}

/// Whether a captured variable cannot hold an address that was computed from a restricted pointer: it has none, it is restricted itself, or its value came from
/// the caller, who did not know that pointer.
fn is_independent(
    program: &Program,
    region: &Region,
    capture: &Capture,
    restricted: &[SymbolId],
) -> bool {
    let symbol = match capture.object {
        CapturedObject::Variable(symbol) => symbol,
        CapturedObject::This => return false,
        CapturedObject::Extent(..) => return true,
    };
    let types = &program.types;
    let element = types.innermost_element(types.object_type(capture.ty));
    match types.category(element) {
        Category::Scalar | Category::WideScalar => return true,
        Category::Pointer if restricted.contains(&symbol) => return true,
        _ => {}
    }
    let function = &program.functions[region.function];
    program.symbols[symbol].kind == SymbolKind::Parameter
        && types.object_type(capture.ty) == types.desugar(capture.ty)
        && !changes::changes_in(program, symbol, function.body)
}

/// Whether a variable is declared as a restricted pointer: `T *restrict p`, `T p[restrict]`.
fn is_restricted(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    let Some(name) = found.declared_at else {
        return false;
    };
    let Some(declarator) = program.unit.tree.root().smallest_at(name).parent() else {
        return false;
    };
    let qualifiers = match declarator.kind() {
        Kind::PointerDeclarator => TextRange::new(declarator.range().start(), name.start()),
        Kind::ArrayDeclarator => TextRange::new(name.end(), declarator.range().end()),
        _ => return false,
    };
    lex::identifiers(program.source(), qualifiers).any(|word| spells_restrict(program, word))
}

/// Whether a word is one of the spellings or a macro for one.
fn spells_restrict(program: &Program, word: TextRange) -> bool {
    let text = program.text(word);
    SPELLINGS.contains(&text)
        || program
            .macro_at(text, word)
            .is_some_and(|found| SPELLINGS.contains(&found.body.trim()))
}
