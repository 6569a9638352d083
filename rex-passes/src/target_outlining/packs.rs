//! Packs of function parameters in regions: a kernel's parameters are counted when its host file is compiled, a pack is not.

use rex_ir::program::Program;
use rex_ir::region::Region;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::{TextRange, TextSize};

/// Why a region that names packs of its function cannot be lowered: one reason for each pack, where it is named first.
pub(super) fn refused(program: &Program, region: &Region) -> Vec<Diagnostic> {
    let function = &program.functions[region.function];
    if !function.is_template() {
        return Vec::new();
    }
    let place = program.constructs[region.construct].range;
    let own = packs_in(program, place);
    packs_in(program, function.parameters)
        .into_iter()
        .filter(|pack| {
            !own.iter()
                .any(|other| program.text(*other) == program.text(*pack))
        })
        .filter_map(|pack| {
            let name = program.text(pack);
            // What counts a pack names its types there.
            let is_counted = |at: TextRange| program.conversions.iter().any(|it| it.0 == at);
            let at = lex::identifiers(program.source(), place).find(|at| {
                program.text(*at) == name
                    && !is_counted(*at)
                    && program
                        .scopes
                        .resolve(&program.symbols, name, *at)
                        .is_none()
            })?;
            let headline = format!("the pack `{name}` cannot be captured by this region");
            Some(
                Diagnostic::new(Code::UnsupportedCapture, program.at(at), headline)
                    .with_secondary(program.at(pack), "declared here")
                    .with_help(
                        "compute what the region needs of it before, into variables or an array",
                    ),
            )
        })
        .collect()
}

/// The names of packs that are declared in a range: `xs` of `Ts... xs`.
fn packs_in(program: &Program, range: TextRange) -> Vec<TextRange> {
    let root = program.unit.tree.root();
    let declarations = root
        .smallest_at(range)
        .subtree()
        .filter(|node| node.kind() == Kind::VariadicParameterDeclaration);
    declarations.filter_map(last_name).collect()
}

fn last_name(declaration: Node<'_>) -> Option<TextRange> {
    let text = declaration.text();
    let whole = TextRange::up_to(TextSize::of(text));
    let name = lex::significant_tokens(text, whole)
        .filter(|token| token.kind == TokenKind::Identifier)
        .last()?;
    Some(name.range + declaration.range().start())
}
