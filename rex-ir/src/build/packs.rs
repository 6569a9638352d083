//! Packs among the parameters of functions, and `sizeof...(xs)` of them: a kernel has the pack of their types only.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex::{self, Token};
use smol_str::SmolStr;

use super::Builder;
use crate::symbol::{ScopeId, SymbolKind};
use crate::ty::Meaning;

impl<'u> Builder<'u> {
    /// A pack of a function's template, `P *...ps` of `typename... P`, is a variable whose type the instantiation decides.
    pub(super) fn declare_pack(&mut self, node: Node<'u>, scope: ScopeId) {
        let template = function_of(node)
            .and_then(Node::parent)
            .filter(|around| around.kind() == Kind::TemplateDeclaration);
        let Some(parameters) = template.and_then(|it| it.field(Field::Parameters)) else {
            return;
        };
        let Some((pattern, _)) = node.text().split_once("...") else {
            return;
        };
        let is_named = |name: &str| {
            let mut words = lex::identifiers(pattern, lex::whole(pattern));
            words.any(|word| &pattern[word] == name)
        };
        let types = parameters
            .children()
            .filter(|it| it.kind() == Kind::VariadicTypeParameterDeclaration)
            .filter_map(super::scopes::parameter_name)
            .map(|name| name.text());
        let types: Vec<&str> = types.filter(|name| is_named(name)).collect();
        let name = node.field(Field::Declarator).and_then(|declarator| {
            declarator
                .subtree()
                .find(|inner| inner.kind() == Kind::Identifier)
        });
        let (Some(name), [types]) = (name, types.as_slice()) else {
            return;
        };
        let value = pattern.trim_end_matches([' ', '&']);
        let value = match value.len() < pattern.trim_end().len() {
            true => value.strip_prefix("const ").unwrap_or(value),
            false => value,
        };
        let ty = self.types.named(value, Meaning::Dependent);
        let symbol = self.declare(
            scope,
            name,
            SymbolKind::Parameter,
            ty,
            None,
            Some(node.range()),
        );
        self.packs.insert(symbol, SmolStr::from(*types));
    }

    /// Counts the types instead.
    pub(super) fn count_types_of_packs(&mut self) {
        let unit = self.unit;
        let is_pack = |kind| kind == Kind::VariadicParameterDeclaration;
        for pack in unit.tree.nodes().filter(|node| is_pack(node.kind())) {
            let body = function_of(pack).and_then(|function| function.field(Field::Body));
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

/// The function whose parameter a pack is; `None` for one of a lambda.
fn function_of(pack: Node<'_>) -> Option<Node<'_>> {
    let around = pack.callables_around().next()?;
    (around.kind() == Kind::FunctionDefinition).then_some(around)
}
