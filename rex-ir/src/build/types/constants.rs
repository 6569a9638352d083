//! Constant expressions, by the names in them.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::lex;

use crate::build::Builder;
use crate::build::names::squeeze;
use crate::symbol::{Symbol, SymbolKind};
use crate::ty;
use crate::ty::Extent;

impl Builder<'_> {
    /// Constant, or decided at run time: whether any name in it is a variable that is not a constant.
    pub(in crate::build) fn extent(&mut self, size: Node<'_>, at: TextRange) -> Extent {
        let text = squeeze(size.text());
        let whole = size.text();
        let names: Vec<&str> =
            lex::identifiers(whole, TextRange::up_to(rex_syntax::TextSize::of(whole)))
                .map(|range| &whole[range])
                .collect();
        let runtime = names.iter().any(|name| {
            self.scopes
                .resolve(&self.symbols, name, at)
                .is_some_and(|id| match self.symbols[id].kind {
                    // Functions of C++ may be constant expressions.
                    SymbolKind::Function => self.unit.language == rex_syntax::source::Language::C,
                    kind => kind.is_variable() && !self.is_constant(id),
                })
        });
        if runtime {
            Extent::Runtime(text)
        } else {
            Extent::Constant(text)
        }
    }

    /// Whether a variable is a constant that can be copied to where it is used: const, arithmetic, initialized by constants.
    pub(in crate::build) fn is_constant(&self, id: crate::symbol::SymbolId) -> bool {
        let symbol: &Symbol = &self.symbols[id];
        let ty = self.types.get(symbol.ty);
        let constant = ty.is_const
            || symbol.declaration.is_some_and(|declaration| {
                self.text(declaration).trim_start().starts_with("constexpr")
                    || self
                        .text(declaration)
                        .trim_start()
                        .starts_with("static constexpr")
            });
        let scalar = matches!(self.types.category(symbol.ty), ty::Category::Scalar);
        let Some(initializer) = symbol.initializer else {
            return false;
        };
        constant
            && scalar
            && self.is_constant_text(initializer, symbol.declared_at.unwrap_or(initializer))
    }

    /// Whether `Base::member` stands there, with the name of a data member that every object has.
    fn qualifies_data_member(&self, class: crate::symbol::SymbolId, at: TextRange) -> bool {
        let rest = TextRange::new(at.end(), rex_syntax::TextSize::of(self.source));
        let mut tokens = lex::significant_tokens(self.source, rest);
        if tokens.next().map(|token| token.text(self.source)) != Some("::") {
            return false;
        }
        let Some(member) = tokens.next().map(|token| token.text(self.source)) else {
            return false;
        };
        let symbol = &self.symbols[class];
        // An alias of a class with template arguments has only its text.
        let words = symbol.declaration.into_iter().flat_map(|declaration| {
            lex::identifiers(self.source, declaration).filter_map(move |at| {
                let named = self.scopes.resolve_type(&self.symbols, self.text(at), at)?;
                Some(self.symbols[named].ty)
            })
        });
        std::iter::once(symbol.ty)
            .chain(words)
            .filter_map(|ty| self.types.field(ty, member))
            .any(|field| !field.is_static)
    }

    /// Whether an expression names nothing but constants.
    pub(in crate::build) fn is_constant_text(&self, range: TextRange, at: TextRange) -> bool {
        let source = self.source;
        lex::identifiers(source, range).all(|name| {
            let text = &source[name];
            match self.scopes.resolve(&self.symbols, text, at) {
                Some(id) => match self.symbols[id].kind {
                    SymbolKind::Enumerator => true,
                    SymbolKind::Type => !self.qualifies_data_member(id, name),
                    kind if kind.is_variable() => {
                        self.symbols[id].declared_at != Some(at) && self.is_constant(id)
                    }
                    _ => false,
                },
                None => {
                    text == "sizeof"
                        || is_keyword(text)
                        || self.macro_at(text, range).is_some_and(|definition| {
                            definition.parameters.is_none()
                                && self.macro_names(text, range).iter().all(|inner| {
                                    self.scopes
                                        .resolve(&self.symbols, inner, at)
                                        .is_none_or(|id| {
                                            self.symbols[id].kind == SymbolKind::Enumerator
                                        })
                                })
                        })
                }
            }
        })
    }
}

/// Words that are no names in a constant expression.
fn is_keyword(text: &str) -> bool {
    matches!(
        text,
        "int"
            | "long"
            | "short"
            | "char"
            | "unsigned"
            | "signed"
            | "float"
            | "double"
            | "bool"
            | "true"
            | "false"
            | "const"
            | "static"
            | "constexpr"
            | "struct"
            | "enum"
            | "static_cast"
            | "_Bool"
            | "NULL"
            | "nullptr"
    )
}
