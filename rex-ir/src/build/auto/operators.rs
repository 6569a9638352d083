//! Types that the operators of the language give, and of numbers.

use rex_syntax::source::Language;

use crate::build::Builder;
use crate::ty::{Meaning, TypeId, TypeKind};

impl Builder<'_> {
    pub(super) fn binary_type(
        &mut self,
        operator: &str,
        left: TypeId,
        right: TypeId,
    ) -> Option<TypeId> {
        let is_builtin = self.has_builtin_operators(left) && self.has_builtin_operators(right);
        if !is_builtin {
            return None;
        }
        match operator {
            "<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||" => Some(self.truth_type()),
            "<<" | ">>" => self.promoted(left),
            "-" if self.is_pointer(left) && self.is_pointer(right) => Some(self.types.named(
                "ptrdiff_t",
                Meaning::Integer {
                    bits: 64,
                    signed: true,
                },
            )),
            _ if self.is_pointer(left) => Some(left),
            _ if self.is_pointer(right) => Some(right),
            _ => self.common_type(left, right),
        }
    }

    /// The type of `c ? chosen : other`.
    pub(super) fn chosen_type(&mut self, chosen: TypeId, other: Option<TypeId>) -> Option<TypeId> {
        let is_c = self.unit.language == Language::C;
        let Some(other) = other else {
            // A null pointer that a macro writes, most often.
            return is_c.then_some(chosen);
        };
        if self.types.is_same_object(chosen, other) {
            let object = self.types.object_type(chosen);
            return Some(self.types.unqualified(object));
        }
        match [chosen, other].map(|ty| self.is_pointer(ty)) {
            [false, false] => self.common_type(chosen, other),
            [true, _] if is_c => Some(chosen),
            [_, true] if is_c => Some(other),
            _ => None,
        }
    }

    /// Whether operators of a type are those of the language: no class has its own.
    pub(super) fn has_builtin_operators(&self, ty: TypeId) -> bool {
        let ty = self.types.object_type(ty);
        match &self.types.get(ty).kind {
            TypeKind::Pointer(_) | TypeKind::Array { .. } => true,
            TypeKind::Named { meaning, .. } => matches!(
                meaning,
                Meaning::Bool | Meaning::Integer { .. } | Meaning::Float { .. }
            ),
            TypeKind::Reference(_) | TypeKind::Function { .. } => false,
        }
    }

    /// What a comparison gives.
    pub(super) fn truth_type(&mut self) -> TypeId {
        match self.unit.language {
            Language::Cxx => self.types.named("bool", Meaning::Bool),
            Language::C => self.int_type(),
        }
    }

    pub(in crate::build) fn int_type(&mut self) -> TypeId {
        let meaning = Meaning::Integer {
            bits: 32,
            signed: true,
        };
        self.types.named("int", meaning)
    }

    /// The type of `'a'`.
    pub(super) fn character_type(&mut self) -> TypeId {
        match self.unit.language {
            Language::Cxx => self.char_type(),
            Language::C => self.int_type(),
        }
    }

    pub(super) fn char_type(&mut self) -> TypeId {
        let meaning = Meaning::Integer {
            bits: 8,
            signed: true,
        };
        self.types.named("char", meaning)
    }

    /// How far up an arithmetic type stands in conversions; `None` for any other type.
    fn conversion_rank(&self, ty: TypeId) -> Option<u32> {
        match &self.types.get(self.types.object_type(ty)).kind {
            TypeKind::Named {
                meaning: Meaning::Float { bits },
                ..
            } => Some(1000 + u32::from(*bits)),
            TypeKind::Named {
                meaning: Meaning::Integer { bits, signed },
                ..
            } => Some(u32::from(*bits) * 2 + u32::from(!*signed)),
            TypeKind::Named {
                meaning: Meaning::Bool,
                ..
            } => Some(1),
            _ => None,
        }
    }

    /// The type of an arithmetic operand by itself: `int` for what is smaller.
    pub(super) fn promoted(&mut self, ty: TypeId) -> Option<TypeId> {
        const INT_RANK: u32 = 64;
        let rank = self.conversion_rank(ty)?;
        let ty = self.types.object_type(ty);
        Some(match rank < INT_RANK {
            true => self.int_type(),
            false => self.types.unqualified(ty),
        })
    }

    /// The type that two arithmetic operands are converted to.
    fn common_type(&mut self, left: TypeId, right: TypeId) -> Option<TypeId> {
        let (left, right) = (self.promoted(left)?, self.promoted(right)?);
        let is_greater = self.conversion_rank(right)? > self.conversion_rank(left)?;
        Some(if is_greater { right } else { left })
    }

    pub(super) fn number_type(&mut self, text: &str) -> TypeId {
        let lower = text.to_ascii_lowercase().replace('\'', "");
        let hexadecimal = lower.starts_with("0x");
        let is_float = if hexadecimal {
            lower.contains('p')
        } else {
            lower.contains(['.', 'e'])
        };
        if is_float {
            return if lower.ends_with('f') {
                self.types.named("float", Meaning::Float { bits: 32 })
            } else if lower.ends_with('l') {
                self.types.named("long double", Meaning::WideArithmetic)
            } else {
                self.types.named("double", Meaning::Float { bits: 64 })
            };
        }
        let suffix: String = lower
            .chars()
            .rev()
            .take_while(|c| matches!(c, 'u' | 'l' | 'z'))
            .collect();
        let digits = lower.trim_end_matches(['u', 'l', 'z']);
        let radixes = [("0x", 16), ("0b", 2), ("0", 8)];
        let radix = radixes
            .iter()
            .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, *radix)));
        let (digits, radix) = radix.unwrap_or((digits, 10));
        let value = match digits {
            "" => 0,
            digits => u64::from_str_radix(digits, radix).unwrap_or(u64::MAX),
        };
        let has_u = suffix.contains('u');
        // Numbers that are not decimal may become unsigned by their size.
        let grows = has_u || radix != 10;
        let fits_word = |max: u64| !suffix.contains(['l', 'z']) && value <= max;
        let (unsigned, long) = if fits_word(u64::from(i32::MAX.unsigned_abs())) {
            (has_u, false)
        } else if grows && fits_word(u64::from(u32::MAX)) {
            (true, false)
        } else {
            (has_u || (grows && i64::try_from(value).is_err()), true)
        };
        let (spelling, bits) = match (long, unsigned, suffix.contains("ll")) {
            (false, false, _) => ("int", 32),
            (false, true, _) => ("unsigned int", 32),
            (true, false, false) => ("long", 64),
            (true, true, false) => ("unsigned long", 64),
            (true, false, true) => ("long long", 64),
            (true, true, true) => ("unsigned long long", 64),
        };
        let signed = !unsigned;
        self.types
            .named(spelling, Meaning::Integer { bits, signed })
    }
}
