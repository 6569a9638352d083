//! Static variables of functions: which of them running code begins, and which devices cannot have.
//!
//! Constants stay as they are. Others begin when control reaches them first, on the device as on the host; the compiler for GPUs
//! has no code for that.

use rex_ir::program::Program;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Extent, TypeKind};
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashSet;

use super::construction;
use crate::pass::PassCx;

/// The static variables of functions that running code begins, in source order.
pub(super) fn begun_by_code(program: &Program, known: &FxHashSet<SymbolId>) -> Vec<SymbolId> {
    if program.language() != Language::Cxx {
        return Vec::new();
    }
    let mut known = known.clone();
    let mut found = Vec::new();
    for symbol in all(program) {
        if !is_of_thread(program, symbol)
            && (is_binding(program, symbol)
                || construction::begins_static_local(program, symbol, &known))
        {
            known.insert(symbol);
            found.push(symbol);
        }
    }
    found
}

/// All static variables of functions, in source order.
pub(super) fn all(program: &Program) -> Vec<SymbolId> {
    let symbols = program.symbols.iter();
    let locals = symbols.filter(|(_, it)| it.kind == SymbolKind::StaticLocal);
    let mut locals: Vec<SymbolId> = locals.map(|(id, _)| id).collect();
    locals.sort_by_key(|id| program.symbols[*id].declared_at.map(TextRange::start));
    locals
}

/// Those among variables that stand in texts of device code.
pub(super) fn inside(
    program: &Program,
    symbols: &[SymbolId],
    texts: &[TextRange],
) -> Vec<SymbolId> {
    let is_inside = |symbol: &&SymbolId| {
        let declared = program.symbols[**symbol].declared_at;
        declared.is_some_and(|at| texts.iter().any(|text| text.contains_range(at)))
    };
    symbols.iter().filter(is_inside).copied().collect()
}

/// Reports the static variables of device code that devices cannot have.
pub(super) fn report(cx: &mut PassCx<'_>, begun: &[SymbolId], texts: &[TextRange]) {
    let program = &*cx.program;
    let of_threads: Vec<SymbolId> = all(program)
        .into_iter()
        .filter(|symbol| is_of_thread(program, *symbol))
        .collect();
    let of_threads = inside(program, &of_threads, texts).into_iter();
    let mut diagnostics: Vec<Diagnostic> = of_threads
        .filter_map(|symbol| {
            let note = "device code has no variables of threads that outlive a call";
            let help = "make it a variable of the call, or a static one that all threads share";
            Some(refused(cx, symbol, note)?.with_help(help))
        })
        .collect();
    diagnostics.extend(
        inside(program, begun, texts)
            .into_iter()
            .filter_map(|symbol| {
                let note = lacks_form(program, symbol)?;
                Some(
                    refused(cx, symbol, note)?
                        .with_help("declare it in a statement of its own, with its type"),
                )
            }),
    );
    for diagnostic in diagnostics {
        cx.diagnostics.push(diagnostic);
    }
}

fn refused(cx: &PassCx<'_>, symbol: SymbolId, note: &'static str) -> Option<Diagnostic> {
    let name = cx.program.name(symbol);
    let headline = format!("the static variable `{name}` in device code is not supported");
    let at = cx.program.symbols[symbol].declared_at?;
    let diagnostic = cx.diagnostic(Code::UnsupportedStatement, at, headline);
    Some(diagnostic.with_note(note))
}

/// Whether each thread has its own.
fn is_of_thread(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    let words = found.declaration.zip(found.declared_at);
    words.is_some_and(|(declaration, name)| {
        let before = TextRange::new(declaration.start(), name.start().max(declaration.start()));
        lex::identifiers(program.source(), before).any(|at| {
            matches!(
                program.text(at),
                "thread_local" | "_Thread_local" | "__thread"
            )
        })
    })
}

/// Whether a structured binding declares it: nothing is known of its value.
fn is_binding(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    let root = program.unit.tree.root();
    let node = found.declared_at.map(|at| root.smallest_at(at));
    let around = node.and_then(|node| node.parent());
    around.is_some_and(|around| around.kind() == Kind::StructuredBindingDeclarator)
}

/// Why the code that begins a variable has no place or no type for it.
fn lacks_form(program: &Program, symbol: SymbolId) -> Option<&'static str> {
    let found = &program.symbols[symbol];
    let declaration = found.declaration?;
    let root = program.unit.tree.root();
    if is_binding(program, symbol) {
        return Some("running code gives the names of a structured binding their meaning");
    }
    let around = root.smallest_at(declaration);
    let is_statement = around.range() == declaration
        && around.parent().is_some_and(|it| {
            matches!(
                it.kind(),
                Kind::CompoundStatement | Kind::CaseStatement | Kind::LabeledStatement
            )
        });
    if !is_statement {
        return Some("running code begins it, which the declaration has no room for");
    }
    let value = found.initializer.map_or("", |at| program.text(at));
    if program.types.is_reference(found.ty) && value.starts_with('{') {
        return Some("running code binds it, to the object in the braces or to a new one");
    }
    let ty = program.types.object_type(found.ty);
    let has_no_size = matches!(
        program.types.get(ty).kind,
        TypeKind::Array {
            extent: Extent::Unknown,
            ..
        }
    );
    has_no_size.then_some("running code begins it, and rex does not know how many elements it has")
}
