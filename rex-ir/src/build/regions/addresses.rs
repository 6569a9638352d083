//! Where statements of `target data` name variables that mean their device addresses there.

use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

use super::members::member_of_this;
use crate::build::Builder;
use crate::build::names::{last_component, split_qualifier};
use crate::build::qualified::qualified_names;
use crate::map::MapItem;
use crate::region::{CapturedObject, ConstructId, MacroCall};
use crate::symbol::{SymbolId, SymbolKind};

/// Uses of such variables.
#[derive(Default)]
pub(super) struct AddressUses {
    pub(super) names: Vec<(TextRange, SymbolId)>,
    pub(super) calls: Vec<MacroCall>,
}

impl Builder<'_> {
    /// Where the statement of a data construct names variables of its `use_device_ptr` and `use_device_addr`.
    pub(super) fn address_uses(&mut self, construct: ConstructId, maps: &[MapItem]) -> AddressUses {
        let mut found = AddressUses::default();
        let addressed: Vec<SymbolId> = maps
            .iter()
            .filter(|item| item.asks_for_address())
            .filter_map(|item| match item.root {
                CapturedObject::Variable(symbol) => Some(symbol),
                _ => None,
            })
            .collect();
        let statement = self.constructs[construct].statement;
        let Some(statement) = statement.filter(|_| !addressed.is_empty()) else {
            return found;
        };
        for name in qualified_names(self.source, statement) {
            let symbol = self.addressed_with_qualifier(name, &addressed);
            found.names.extend(symbol.map(|symbol| (name, symbol)));
        }
        let qualified = found.names.len();
        for word in lex::identifiers(self.source, statement) {
            let mut known = found.names[..qualified].iter();
            let last = found.calls.last();
            if known.any(|(name, _)| name.contains_range(word))
                || last.is_some_and(|call| call.range.contains_range(word))
            {
                continue;
            }
            if let Some(call) = self.call_naming(word, &addressed) {
                found.calls.push(call);
            } else if let Some(member) = self.addressed_member(word, &addressed) {
                found.names.push(member);
            } else if let Some(symbol) = self.addressed(self.text(word), word, &addressed) {
                found.names.push((word, symbol));
            }
        }
        let calls = &found.calls;
        let is_free = |name: TextRange| !calls.iter().any(|call| call.range.contains_range(name));
        found.names.retain(|(name, _)| is_free(*name));
        found.names.sort_by_key(|(name, _)| name.start());
        found
    }

    /// The one of some variables that a name with qualifiers means: `grid::cells`, or `Field::values` in a function of that class.
    fn addressed_with_qualifier(
        &mut self,
        name: TextRange,
        addressed: &[SymbolId],
    ) -> Option<SymbolId> {
        let symbol = self.resolve_qualified(self.text(name), name);
        let symbol = symbol.filter(|symbol| addressed.contains(symbol));
        symbol.or_else(|| {
            let (class, member) = split_qualifier(self.text(name))?;
            self.class_named(class, name)?;
            self.own_member_named(member.trim(), addressed)
        })
    }

    /// The one of some variables that a name without qualifier means at a place.
    fn addressed(&self, name: &str, at: TextRange, addressed: &[SymbolId]) -> Option<SymbolId> {
        match self.scopes.resolve(&self.symbols, name, at) {
            Some(symbol) if self.symbols[symbol].kind != SymbolKind::Field => {
                addressed.contains(&symbol).then_some(symbol)
            }
            // Members of bases are not always known.
            _ => self.own_member_named(name, addressed),
        }
    }

    fn own_member_named(&self, name: &str, addressed: &[SymbolId]) -> Option<SymbolId> {
        let mut members = addressed
            .iter()
            .filter_map(|symbol| self.own_member(*symbol));
        members.find(|symbol| self.symbols[*symbol].name == name)
    }

    /// `this->member`, of which a clause asks for the address.
    fn addressed_member(
        &self,
        word: TextRange,
        addressed: &[SymbolId],
    ) -> Option<(TextRange, SymbolId)> {
        if self.text(word) != "this" {
            return None;
        }
        let member = member_of_this(self.source, word)?;
        let symbol = self.own_member_named(self.text(member), addressed)?;
        Some((word.cover(member), symbol))
    }

    /// The macro call that begins at a place, if it names some of these variables.
    fn call_naming(&mut self, name: TextRange, addressed: &[SymbolId]) -> Option<MacroCall> {
        let is_name = |word: &SmolStr| {
            let mut symbols = addressed.iter().map(|symbol| &self.symbols[*symbol]);
            symbols.any(|symbol| {
                let spelled = symbol.spelled.as_deref();
                symbol.name == *word
                    || spelled.is_some_and(|spelled| last_component(spelled) == word)
            })
        };
        let (range, expansion) = self.written_out(name, is_name)?;
        let whole = lex::whole(&expansion);
        let mut names = self.qualified_in(&expansion, name);
        names.retain(|(_, symbol)| addressed.contains(symbol));
        for at in lex::identifiers(&expansion, whole) {
            let symbol = self.addressed(&expansion[at], name, addressed);
            let is_free = !names.iter().any(|(name, _)| name.contains_range(at));
            names.extend(symbol.filter(|_| is_free).map(|symbol| (at, symbol)));
        }
        names.sort_by_key(|(at, _)| at.start());
        (!names.is_empty()).then_some(MacroCall {
            range,
            expansion,
            names,
        })
    }
}
