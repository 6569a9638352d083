//! Operands of list items as expressions: computed once where computing them twice could be noticed.

use std::sync::Arc;

use rex_ir::effects::has_effects;
use rex_ir::expr::{BoundExpr, Expr};
use rex_ir::map::{Temporary, TemporaryValue};
use rex_syntax::TextRange;
use smol_str::{SmolStr, format_smolstr};

use super::Builder;

/// What the words of an operand mean.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning<'e> {
    /// What they mean before the construct.
    Plain,
    /// They may name iterators, which exist inside loops only.
    Iterated,
    /// They may name the variable of a mapper, which stands for an object.
    Mapped {
        /// The mapper's variable.
        name: &'e SmolStr,
        /// The object.
        value: &'e Expr,
    },
}

impl Builder<'_> {
    /// An operand.
    pub(super) fn value(&mut self, range: TextRange, meaning: Meaning<'_>) -> Expr {
        let text = self.program.text(range).trim();
        if let Ok(value) = text.parse() {
            return Expr::Int(value);
        }
        match meaning {
            Meaning::Mapped { name, value } => Expr::Bound(Arc::new(BoundExpr {
                range,
                name: name.clone(),
                value: value.clone(),
            })),
            Meaning::Plain if has_effects(self.program, range) => self.computed_once(range),
            Meaning::Plain | Meaning::Iterated => Expr::Source(range),
        }
    }

    fn computed_once(&mut self, range: TextRange) -> Expr {
        let value = TemporaryValue::Int64(Expr::Source(range));
        let known = self
            .arrays
            .temporaries
            .iter()
            .find(|temporary| temporary.value == value)
            .map(|temporary| temporary.name.clone());
        let name = known.unwrap_or_else(|| {
            let name = format_smolstr!("rex_value_{}", self.arrays.temporaries.len());
            self.arrays.temporaries.push(Temporary {
                name: name.clone(),
                value,
            });
            name
        });
        Expr::Name(name)
    }
}
