//! Canonical loops by the numbers of their iterations: how many there are, and what the variables are in each.

use rex_ir::region::{CanonicalLoop, LoopStep, Relation};
use rex_ir::ty::{Meaning, TypeKind};

use crate::device::body::BodyPrinter;
use crate::device::body::lines::operand;

impl BodyPrinter<'_> {
    /// How many iterations the loops have, by loop if there are several, and together.
    pub(in crate::device::body) fn trips(
        &self,
        loops: &[CanonicalLoop],
        name: &str,
    ) -> Vec<String> {
        if let [only] = loops {
            return vec![format!(
                "const uint64_t {name} = {};",
                self.trip_count(only)
            )];
        }
        let mut lines: Vec<String> = loops
            .iter()
            .enumerate()
            .map(|(idx, canonical)| {
                format!(
                    "const uint64_t {name}_{idx} = {};",
                    self.trip_count(canonical)
                )
            })
            .collect();
        let factors: Vec<String> = (0..loops.len())
            .map(|idx| format!("{name}_{idx}"))
            .collect();
        lines.push(format!("const uint64_t {name} = {};", factors.join(" * ")));
        lines
    }

    pub(in crate::device::body) fn loop_variable(
        &self,
        canonical: &CanonicalLoop,
        idx: usize,
        depth: usize,
        variable: &str,
        trips: &str,
    ) -> String {
        let mut index = variable.to_string();
        if idx + 1 < depth {
            let inner: Vec<String> = (idx + 1..depth)
                .map(|inner| format!("{trips}_{inner}"))
                .collect();
            index = format!("rex_quotient({index}, {}, {trips})", inner.join(" * "));
        }
        if idx > 0 {
            index = format!("rex_remainder({index}, {trips}_{idx}, {trips})");
        }
        if let Some(element) = canonical.element {
            let range = self.words_of(canonical.lower);
            return format!(
                "{} = *(rex_range_begin({}) + {index});",
                self.words_of(element).trim(),
                range.trim()
            );
        }
        let declared = self
            .program
            .types
            .declare(canonical.ty, &canonical.variable);
        format!("{declared} = {};", self.iteration_value(canonical, &index))
    }

    /// The loop variable's value in the iteration with this number.
    pub(super) fn iteration_value(&self, canonical: &CanonicalLoop, index: &str) -> String {
        let types = &self.program.types;
        let lower = self.first_value(canonical);
        let lower = lower.trim();
        let (sign, step) = match canonical.step {
            LoopStep::Increment => ("+", None),
            LoopStep::Decrement => ("-", None),
            LoopStep::Add(step) => ("+", Some(step)),
            LoopStep::Subtract(step) => ("-", Some(step)),
        };
        let distance = match step {
            None => index.to_string(),
            Some(step) => format!("{index} * {}", operand(self.words_of(step).trim())),
        };
        let value = if lower == "0" && sign == "+" {
            distance
        } else {
            format!("{} {sign} {distance}", operand(lower))
        };
        if matches!(
            types.get(types.desugar(canonical.ty)).kind,
            TypeKind::Pointer(_)
        ) {
            return value;
        }
        if self.is_deduced(canonical) {
            return format!("static_cast<REX_TYPE_OF({lower})>({value})");
        }
        let ty = types.spell(canonical.ty);
        match types.get(types.desugar(canonical.ty)).kind {
            TypeKind::Named {
                meaning: Meaning::Integer { .. } | Meaning::Enum,
                ..
            } => format!("({ty}){}", operand(&value)),
            _ => format!("static_cast<{ty}>({value})"),
        }
    }

    /// The first value of a loop variable as an expression, which an initializer in braces or with several arguments is not.
    fn first_value(&self, canonical: &CanonicalLoop) -> String {
        let words = self.words_of(canonical.lower);
        let lower = words.trim();
        let is_initializer =
            lower.starts_with('{') || lower.starts_with('(') && lower.contains(',');
        match is_initializer && !self.is_deduced(canonical) {
            true => format!(
                "rex_object<{}>{lower}",
                self.program.types.spell(canonical.ty)
            ),
            false => lower.to_owned(),
        }
    }

    /// Whether only the compiler knows the type of a loop variable: that of its first value.
    fn is_deduced(&self, canonical: &CanonicalLoop) -> bool {
        let spelled = self.program.types.spell(canonical.ty);
        spelled.split_whitespace().any(|word| word == "auto")
    }

    fn trip_count(&self, canonical: &CanonicalLoop) -> String {
        if canonical.element.is_some() {
            return format!("rex_range_size({})", self.words_of(canonical.lower).trim());
        }
        let lower = self.first_value(canonical);
        let bound = self.words_of(canonical.bound);
        let (lower, bound) = (lower.trim(), bound.trim());
        let (negative, step) = match canonical.step {
            LoopStep::Increment => (false, "1".to_string()),
            LoopStep::Decrement => (true, "1".to_string()),
            LoopStep::Add(step) => (false, self.words_of(step).trim().to_string()),
            LoopStep::Subtract(step) => (true, self.words_of(step).trim().to_string()),
        };
        let negated = || format!("-{}", operand(&step));
        let (function, step) = match canonical.relation {
            Relation::Less => ("rex_trips_lt", if negative { negated() } else { step }),
            Relation::LessEqual => ("rex_trips_le", if negative { negated() } else { step }),
            Relation::Greater => ("rex_trips_gt", if negative { step } else { negated() }),
            Relation::GreaterEqual => ("rex_trips_ge", if negative { step } else { negated() }),
            Relation::NotEqual => ("rex_trips_ne", if negative { negated() } else { step }),
        };
        // The comparison is between the variable, not its first value, and the bound.
        let types = &self.program.types;
        let ty = types.spell(canonical.ty);
        let is_int =
            ty == "int" && lower.bytes().all(|byte| byte.is_ascii_digit()) && lower.len() < 10;
        if is_int || self.is_deduced(canonical) {
            return format!("{function}({lower}, {bound}, {step})");
        }
        format!("{function}(({ty}){}, {bound}, {step})", operand(lower))
    }
}
