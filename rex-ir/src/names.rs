//! Names in the text of a program, with their qualifiers, and what they mean.

use rex_syntax::{TextRange, TextSize, lex};

use crate::program::Program;
use crate::static_member::uses_in;
use crate::symbol::SymbolId;

/// A name, and what stands before it with `::`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// `inner::` of `inner::x`, `::` of `::x`; empty for a name that is not qualified.
    pub qualifier: TextRange,
    /// `x` of `inner::x`.
    pub plain: TextRange,
}

impl Name {
    /// The name with its qualifier.
    pub fn whole(self) -> TextRange {
        self.qualifier.cover(self.plain)
    }
}

/// The names of a range that are not members of objects. The components of a qualifier are no names of their own.
pub fn in_text(source: &str, range: TextRange) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    // Where a chain of names and `::` begins.
    let mut chain: Option<TextSize> = None;
    let mut before = "";
    for token in lex::significant_tokens(source, range) {
        let text = token.text(source);
        if token.kind == lex::TokenKind::Identifier {
            let start = match chain.filter(|_| before == "::") {
                Some(start) => {
                    // What was read of the chain is its qualifier.
                    names.pop_if(|last| start <= last.plain.start());
                    start
                }
                None => token.range.start(),
            };
            if !matches!(before, "." | "->") {
                names.push(Name {
                    qualifier: TextRange::new(start, token.range.start()),
                    plain: token.range,
                });
            }
            chain = Some(start);
        } else if text == "::" {
            chain.get_or_insert(token.range.start());
        } else {
            chain = None;
        }
        before = text;
    }
    names
}

/// What a name means: the nearest declaration, or, behind a qualifier, a static data member or a variable of a namespace.
pub fn meaning(program: &Program, name: Name) -> Option<SymbolId> {
    let mut members = uses_in(&program.static_member_uses, name.whole());
    if let Some((_, member)) = members.next() {
        return Some(member);
    }
    let plain = program.text(name.plain);
    let nearest = program.scopes.resolve(&program.symbols, plain, name.plain);
    if name.qualifier.is_empty() || nearest.is_none() {
        return nearest;
    }
    let qualifier = program.text(name.qualifier);
    let (symbols, index) = (&program.symbols, &program.symbol_index);
    if qualifier == "::" {
        let mut named = index.globals_named(symbols, "", plain);
        return named.find(|symbol| symbols[*symbol].named_qualifier().is_empty());
    }
    let qualifier = qualifier.trim_start_matches("::");
    let mut named = index.globals_named(symbols, qualifier, plain);
    let found = named.find(|symbol| symbols[*symbol].named_qualifier().ends_with(qualifier));
    found.or(nearest)
}
