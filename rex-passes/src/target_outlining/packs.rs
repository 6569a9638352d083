//! Packs of function parameters in regions: a kernel's parameters are counted when its host file is compiled, a pack is not.

use rex_ir::item::TemplateHead;
use rex_ir::program::Program;
use rex_ir::region::Region;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::lex::{self, TokenKind};
use rex_syntax::{TextRange, TextSize};
use smol_str::SmolStr;

/// Why a region that names packs of its function cannot be lowered: one reason for each pack, where it is named first.
///
/// A kernel can have one pack of parameters, if the pack of their types is the last parameter of its template: its symbol and its arguments end with it.
pub(super) fn refused(
    program: &Program,
    region: &Region,
    template: Option<&TemplateHead>,
) -> Vec<Diagnostic> {
    let function = &program.functions[region.function];
    if !function.is_template() {
        return Vec::new();
    }
    let place = program.constructs[region.construct].range;
    if template.is_some_and(|template| template.n_packs() > 1) {
        let first = program.constructs[region.construct].directives.first();
        let at = first.map_or(place, |first| program.unit.directives[*first].range);
        let headline = "this region depends on several packs of template parameters";
        let diagnostic = Diagnostic::new(Code::UnsupportedCapture, program.at(at), headline)
            .with_note("arguments that are written for two packs all go to the first one")
            .with_help(
                "make one pack of them, or call a function with one pack that has the region",
            );
        return vec![diagnostic];
    }
    let captured: Vec<(TextRange, &SmolStr)> = region
        .captures
        .iter()
        .filter_map(|capture| {
            let types = program.packs.get(&capture.object.variable()?)?;
            Some((capture.at, types))
        })
        .collect();
    let is_last = |types: &SmolStr| {
        template.is_some_and(|template| template.arguments.ends_with(&format!("{types}...")))
    };
    let own = packs_in(program, place);
    packs_in(program, function.parameters)
        .into_iter()
        .filter(|pack| {
            !own.iter()
                .any(|other| program.text(*other) == program.text(*pack))
        })
        .filter_map(|pack| {
            let name = program.text(pack);
            let at = match captured.iter().find(|(at, _)| program.text(*at) == name) {
                Some((_, types)) if captured.len() == 1 && is_last(types) => return None,
                Some((at, _)) => *at,
                None => unresolved(program, name, place)?,
            };
            let headline = format!("the pack `{name}` cannot be captured by this region");
            Some(
                Diagnostic::new(Code::UnsupportedCapture, program.at(at), headline)
                    .with_secondary(program.at(pack), "declared here")
                    .with_note(
                        "a region can capture one pack, whose types are those of a pack of the template",
                    )
                    .with_help(
                        "compute what the region needs of it before, into variables or an array",
                    ),
            )
        })
        .collect()
}

/// Where a region names a pack that is no variable.
fn unresolved(program: &Program, name: &str, place: TextRange) -> Option<TextRange> {
    // What counts a pack names its types there.
    let is_counted = |at: TextRange| program.conversions.iter().any(|it| it.0 == at);
    lex::identifiers(program.source(), place).find(|at| {
        program.text(*at) == name
            && !is_counted(*at)
            && program
                .scopes
                .resolve(&program.symbols, name, *at)
                .is_none()
    })
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
