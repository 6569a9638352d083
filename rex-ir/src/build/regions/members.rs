//! Members of the object around a region.

use rex_syntax::TextRange;
use rex_syntax::lex;

use super::uses::{Use, Uses};
use crate::build::Builder;
use crate::region::{CapturedObject, ConstructId};

impl Builder<'_> {
    /// Whether a name that is called, without an object, is a member function of the object that surrounds a construct.
    pub(super) fn calls_own_member(&mut self, name: &str, construct: ConstructId) -> bool {
        let at = self.constructs[construct].range;
        let is_member = self.innermost_function(at).is_some_and(|function| {
            let membership = &self.functions[function].membership;
            membership.as_ref().is_some_and(|of| !of.is_static)
        });
        if !is_member {
            return false;
        }
        let class = self
            .this_type(at)
            .and_then(|class| self.types.record(class));
        let Some(class) = class else { return false };
        let classes = self.ancestry(class, at);
        classes
            .iter()
            .find_map(|class| self.types.records[*class].method(name))
            .is_some_and(|method| !method.is_static)
    }

    /// A member that is a variable in this region; `at` is its name, `whole` what stands for it.
    pub(super) fn use_member_variable(
        &self,
        at: TextRange,
        whole: TextRange,
        uses: &mut Uses,
    ) -> bool {
        let name = self.text(at);
        let known = uses.member_variables.iter().copied();
        let Some(symbol) = known
            .into_iter()
            .find(|symbol| self.symbols[*symbol].name == name)
        else {
            return false;
        };
        uses.qualified_uses.push((whole, symbol));
        let seen = Use {
            at: whole,
            written: true,
            explicit: true,
            called: false,
        };
        uses.add(CapturedObject::Variable(symbol), seen);
        true
    }
}

/// The member named in `this->member`, from the place of `this`.
pub(super) fn member_of_this(source: &str, this: TextRange) -> Option<TextRange> {
    let after = TextRange::new(this.end(), rex_syntax::TextSize::of(source));
    let mut tokens = lex::significant_tokens(source, after);
    let arrow = tokens.next()?;
    let member = tokens.next()?;
    (arrow.text(source) == "->" && member.kind == lex::TokenKind::Identifier)
        .then_some(member.range)
}
