//! A macro call, expanded step by step: first alone, then also the macro that its expansion begins with, and so on.

use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use super::expander::{Expander, Inner};
use super::{MacroTable, call_range, declares_variables, statements_of};
use crate::expansion::HeaderOrigin;
use crate::lex::{self, TokenKind};
use crate::macros::pieces::{Piece, pieces};
use crate::macros::render::render;

/// The expansions of a call, each of one macro more than the one before it.
pub(super) struct Stages<'m> {
    text: &'m str,
    call: TextRange,
    pieces: Vec<Piece>,
    expander: Expander<'m>,
    lookup_at: TextSize,
    /// The macro to expand next.
    next: Option<SmolStr>,
    n_left: u32,
    whose: Whose,
}

/// Whose macros are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of the project, whose headers are read as they stand.
    Project,
    Everyone,
}

impl<'m> Stages<'m> {
    /// Of the call that starts at an offset of a text, with what names mean at `lookup_at` in the table's own text.
    pub(super) fn of(
        macros: &'m MacroTable,
        text: &'m str,
        start: TextSize,
        lookup_at: TextSize,
        (inner, whose): (Inner, Whose),
    ) -> Option<Stages<'m>> {
        const MAX_STAGES: u32 = 32;
        let call = call_range(macros, text, start, lookup_at)?;
        let pieces = macros.call_pieces(text, call, lookup_at);
        Some(Stages {
            text,
            call,
            next: Some(pieces.first()?.text.clone()),
            pieces,
            expander: Expander::new(macros, lookup_at, inner),
            lookup_at,
            n_left: MAX_STAGES,
            whose,
        })
    }

    /// The first expansion that is what is looked for: the range of the call, and its replacement.
    pub(super) fn first(
        mut self,
        is_looked_for: fn(&[Piece]) -> bool,
    ) -> Option<(TextRange, String)> {
        let found = self.by_ref().find(|expansion| is_looked_for(expansion))?;
        self.rendered(&found)
    }

    /// The first expansion that declares variables, with the macros that begin its statements and declare variables themselves.
    pub(super) fn variables(mut self) -> Option<(TextRange, String)> {
        let mut found = self
            .by_ref()
            .find(|expansion| declares_variables(expansion))?;
        while let Some(name) = self.declaring_macro(&found) {
            self.n_left = self.n_left.checked_sub(1)?;
            self.expander.wanted.insert(name, true);
            found = self.expander.expand(self.pieces.clone())?;
        }
        self.rendered(&found)
    }

    /// A macro that begins a statement of an expansion and stands for declarations of variables, with others behind them or not.
    fn declaring_macro(&self, expansion: &[Piece]) -> Option<SmolStr> {
        let mut firsts = statements_of(expansion).filter_map(|statement| statement.first());
        let declares = |first: &&Piece| {
            let def = self.expander.macros.lookup_at(&first.text, self.lookup_at);
            first.kind == TokenKind::Identifier
                && self.expander.wanted.get(&first.text) != Some(&true)
                && def.is_some_and(|def| {
                    let body = pieces(&def.body, lex::whole(&def.body));
                    def.origin != HeaderOrigin::System
                        && body.iter().any(|piece| piece.text == ";")
                        && declares_variables(&body)
                })
        };
        firsts.find(declares).map(|first| first.text.clone())
    }

    /// The last expansion, which begins with no macro any more.
    pub(super) fn last(mut self) -> Option<(TextRange, String)> {
        let found = self.by_ref().last()?;
        self.rendered(&found)
    }

    fn rendered(mut self, expansion: &[Piece]) -> Option<(TextRange, String)> {
        let text = render(self.text, self.call, expansion, &mut self.expander)?;
        Some((self.call, text))
    }
}

impl Iterator for Stages<'_> {
    type Item = Vec<Piece>;

    fn next(&mut self) -> Option<Vec<Piece>> {
        self.n_left = self.n_left.checked_sub(1)?;
        let name = self.next.take()?;
        let def = self.expander.macros.lookup_at(&name, self.lookup_at)?;
        if self.whose == Whose::Project && def.origin == HeaderOrigin::System {
            return None;
        }
        self.expander.wanted.insert(name, true);
        let expansion = self.expander.expand(self.pieces.clone())?;
        let first = expansion.first().map(|first| first.text.clone());
        self.next = first.filter(|name| self.expander.wanted.get(name) != Some(&true));
        Some(expansion)
    }
}
