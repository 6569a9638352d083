//! Variables that every thread or every team has a copy of and that the device has no such storage for: `threadprivate`, and `groupprivate` in
//! a function, of another file, or with a constructor.
//!
//! Device code that names one is told.

use rex_ir::item::DeviceStorage;
use rex_ir::program::Program;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::Category;
use rex_syntax::diag::Code;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};

use crate::pass::PassCx;

/// The directives' words and the variables they list.
fn listed(program: &Program) -> Vec<(&'static str, SymbolId)> {
    let mut found = Vec::new();
    let mut add = |word, range: TextRange| {
        for at in lex::identifiers(program.source(), range) {
            let name = program.text(at);
            let symbol = program.scopes.resolve(&program.symbols, name, at);
            let symbol = symbol.filter(|symbol| !is_of_team(program, *symbol));
            found.extend(symbol.map(|symbol| (word, symbol)));
        }
    };
    for directive in &program.unit.directives {
        let word = match directive.first() {
            Some(Leaf::Threadprivate) => "threadprivate",
            Some(Leaf::Groupprivate) => "groupprivate",
            _ => continue,
        };
        if let Some(list) = directive.argument {
            add(word, list);
        }
    }
    found
}

/// Whether each team has its own: a variable in shared memory, or the copy of a scalar of the function around the region.
fn is_of_team(program: &Program, symbol: SymbolId) -> bool {
    let found = &program.symbols[symbol];
    let is_plain = program.language() == Language::C
        || program
            .types
            .record(program.types.innermost_element(found.ty))
            .is_none();
    let is_copied = found.kind == SymbolKind::Local
        && matches!(
            program.types.category(found.ty),
            Category::Scalar | Category::Pointer
        );
    if is_copied {
        return true;
    }
    program.declare_target.get(&symbol) == Some(&DeviceStorage::Group)
        && is_plain
        && found.initializer.is_none()
        && !program.is_external(symbol)
}

/// The first place in one of these texts that names the variable.
fn first_use(program: &Program, symbol: SymbolId, texts: &[TextRange]) -> Option<TextRange> {
    let name = &program.symbols[symbol].name;
    texts.iter().find_map(|text| {
        lex::identifiers(program.source(), *text).find(|at| {
            program.text(*at) == name
                && program.scopes.resolve(&program.symbols, name, *at) == Some(symbol)
        })
    })
}

/// Reports each variable of such storage that these texts of device code name.
pub(crate) fn report(cx: &mut PassCx<'_>, texts: &[TextRange]) {
    let program = &*cx.program;
    let mut diagnostics = Vec::new();
    for (word, symbol) in listed(program) {
        let Some(at) = first_use(program, symbol, texts) else {
            continue;
        };
        let name = program.name(symbol);
        diagnostics.push(
            cx.diagnostic(
                Code::UnsupportedCapture,
                at,
                format!("device code names `{name}`, which is {word}"),
            )
            .with_note(
                "the device has one copy of a variable of file scope, which all its threads share",
            )
            .with_help("declare a variable inside the region, or map one"),
        );
    }
    for diagnostic in diagnostics {
        cx.diagnostics.push(diagnostic);
    }
}
