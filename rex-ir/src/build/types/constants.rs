//! Constant expressions, by the names in them.

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::lex::{self, Token};
use rex_syntax::source::Language;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use crate::build::Builder;
use crate::build::names::squeeze;
use crate::headers;
use crate::symbol::{Symbol, SymbolId, SymbolKind};
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
        let runtime = runtime || self.is_decided_by_macro(&names, at);
        if runtime {
            Extent::Runtime(text)
        } else {
            Extent::Constant(text)
        }
    }

    /// Whether one of the names is a macro that names a variable.
    fn is_decided_by_macro(&self, names: &[&str], at: TextRange) -> bool {
        let is_variable = |name: SmolStr| {
            let found = self.scopes.resolve(&self.symbols, &name, at);
            found.is_some_and(|id| self.symbols[id].kind.is_automatic() && !self.is_constant(id))
        };
        self.fragment_depth == 0
            && names
                .iter()
                .filter(|name| self.macro_at(name, at).is_some())
                .any(|name| self.macro_names(name, at).into_iter().any(is_variable))
    }

    /// Whether a variable is a constant that can be copied to where it is used: const, arithmetic, initialized by constants.
    pub(in crate::build) fn is_constant(&self, id: SymbolId) -> bool {
        self.is_constant_beside(id, &mut FxHashSet::default())
    }

    /// The same, given variables that are constants if the others are: constants may name each other often, and damaged ones in circles.
    fn is_constant_beside(&self, id: SymbolId, seen: &mut FxHashSet<SymbolId>) -> bool {
        if !seen.insert(id) {
            return true;
        }
        let symbol: &Symbol = &self.symbols[id];
        let declares_constexpr = self.declares_constexpr(symbol);
        let constant = declares_constexpr || self.types.get(symbol.ty).is_const;
        let scalar = matches!(self.types.category(symbol.ty), ty::Category::Scalar);
        let Some(initializer) = symbol.initializer else {
            return false;
        };
        let at = symbol.declared_at.unwrap_or(initializer);
        constant
            && scalar
            && match declares_constexpr {
                true => self.can_be_evaluated_again(initializer, at, seen),
                false => self.is_constant_text_beside(initializer, at, seen),
            }
    }

    /// Whether the declaration of a variable says `constexpr`.
    fn declares_constexpr(&self, symbol: &Symbol) -> bool {
        let Some(declaration) = symbol.declaration else {
            return false;
        };
        lex::identifiers(self.source, declaration)
            .map(|at| self.text(at))
            .take_while(|word| matches!(*word, "constexpr" | "static" | "inline" | "const"))
            .any(|word| word == "constexpr")
    }

    /// Whether an initializer, which is a constant expression, names nothing that only its own function has.
    fn can_be_evaluated_again(
        &self,
        initializer: TextRange,
        at: TextRange,
        seen: &mut FxHashSet<SymbolId>,
    ) -> bool {
        lex::identifiers(self.source, initializer).all(|name| {
            let Some(id) = self.scopes.resolve(&self.symbols, self.text(name), at) else {
                return true;
            };
            let symbol = &self.symbols[id];
            match symbol.kind {
                SymbolKind::Type => !self.qualifies_data_member(id, name),
                SymbolKind::Local | SymbolKind::StaticLocal => {
                    symbol.declared_at != Some(at)
                        && (self.declares_constexpr(symbol) || self.is_constant_beside(id, seen))
                }
                SymbolKind::Parameter | SymbolKind::Field => false,
                SymbolKind::Global
                | SymbolKind::StaticField
                | SymbolKind::Function
                | SymbolKind::Enumerator
                | SymbolKind::TemplateValue => true,
            }
        })
    }

    /// Whether `Base::member` stands there, with the name of a data member that every object has.
    fn qualifies_data_member(&self, class: SymbolId, at: TextRange) -> bool {
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
        self.is_constant_text_beside(range, at, &mut FxHashSet::default())
    }

    fn is_constant_text_beside(
        &self,
        range: TextRange,
        at: TextRange,
        seen: &mut FxHashSet<SymbolId>,
    ) -> bool {
        let source = self.source;
        lex::identifiers(source, range).all(|name| {
            let text = &source[name];
            match self.scopes.resolve(&self.symbols, text, at) {
                Some(id) => match self.symbols[id].kind {
                    SymbolKind::Enumerator | SymbolKind::TemplateValue => true,
                    SymbolKind::Type => !self.qualifies_data_member(id, name),
                    _ if self.is_behind_class(name) => self.is_constant_member(range, name),
                    kind if kind.is_variable() => {
                        self.symbols[id].declared_at != Some(at)
                            && self.is_constant_beside(id, seen)
                    }
                    SymbolKind::Function => self.is_computed_function(id),
                    _ => false,
                },
                None => {
                    text == "sizeof"
                        || self.is_constant_member(range, name)
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

impl Builder<'_> {
    /// Whether a name of a function in C++ is of one that the compiler may compute.
    fn is_computed_function(&self, function: SymbolId) -> bool {
        let symbol = &self.symbols[function];
        let words = symbol.declaration.zip(symbol.declared_at);
        let head = words
            .map(|(whole, name)| TextRange::new(whole.start(), name.start().max(whole.start())));
        self.unit.language == Language::Cxx
            && head.is_some_and(|head| {
                let mut words = lex::identifiers(self.source, head);
                words.any(|at| matches!(self.text(at), "constexpr" | "consteval"))
            })
    }

    /// Whether a name stands behind `::`.
    fn is_behind_class(&self, name: TextRange) -> bool {
        self.source[..usize::from(name.start())]
            .trim_end()
            .ends_with("::")
    }

    /// Whether a name in an expression is a member of a class that the compiler knows: `table<4>::size`, `std::numeric_limits<int>::max()`.
    fn is_constant_member(&self, expression: TextRange, name: TextRange) -> bool {
        let before = TextRange::new(expression.start(), name.start());
        let before: Vec<Token> = lex::significant_tokens(self.source, before).collect();
        let [.., class, colons] = before.as_slice() else {
            return false;
        };
        if colons.text(self.source) != "::" {
            return false;
        }
        let class = match class.text(self.source) {
            ">" => {
                let mut depth = 0;
                let open = before.iter().rposition(|token| {
                    let word = token.text(self.source);
                    depth += i32::from(word == ">") - i32::from(word == "<");
                    depth == 0 && word == "<"
                });
                let Some(class) = open.and_then(|open| before.get(open.checked_sub(1)?)) else {
                    return false;
                };
                class
            }
            _ => class,
        };
        let (class, member) = (self.text(class.range), self.text(name));
        let Some(found) = self.scopes.resolve_type(&self.symbols, class, name) else {
            let declared = headers::tag_declaration(self.unit, class);
            return declared.is_some_and(|text| headers::declares_constexpr(&text, member));
        };
        let types = &self.types;
        let record = types.record(self.symbols[found].ty);
        record.is_some_and(|record| {
            let body = types.records[record].body;
            let fields = &types.records[record].fields;
            let mut fields = fields.iter().filter(|field| field.is_static);
            fields.any(|field| field.name == member && field.constant.is_some())
                || body.is_some_and(|body| headers::declares_constexpr(self.text(body), member))
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
