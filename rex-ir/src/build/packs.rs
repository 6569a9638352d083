//! `sizeof...(xs)` of the parameters of a function: a kernel has the pack of their types only.

use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::{self, Token};
use smol_str::SmolStr;

use super::Builder;

impl Builder<'_> {
    /// Counts the types instead.
    pub(super) fn count_types_of_packs(&mut self) {
        let unit = self.unit;
        let is_pack = |kind| kind == Kind::VariadicParameterDeclaration;
        for pack in unit.tree.nodes().filter(|node| is_pack(node.kind())) {
            let around = pack.ancestors().find(|outer| {
                matches!(
                    outer.kind(),
                    Kind::FunctionDefinition | Kind::LambdaExpression
                )
            });
            let body = around
                .filter(|around| around.kind() == Kind::FunctionDefinition)
                .and_then(|function| function.field(Field::Body));
            let ty = pack
                .field(Field::Type)
                .filter(|ty| ty.kind() == Kind::TypeIdentifier);
            let (Some(body), Some(ty)) = (body, ty) else {
                continue;
            };
            let declared = lex::identifiers(self.source, pack.range()).last();
            let name = declared.map_or("", |name| self.text(name));
            let tokens: Vec<Token> = lex::significant_tokens(self.source, body.range()).collect();
            for window in tokens.windows(5) {
                let words: Vec<&str> = window.iter().map(|it| it.text(self.source)).collect();
                if words == ["sizeof", "...", "(", name, ")"] {
                    let types = SmolStr::from(ty.text());
                    self.conversions.push((window[3].range, types));
                }
            }
        }
    }
}
