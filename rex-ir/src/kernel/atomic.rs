//! Atomic constructs.

use smol_str::SmolStr;

use super::BodyText;

/// An atomic operation in the terms of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicPlan {
    /// The form.
    pub form: AtomicForm,
    /// The storage location, as written.
    pub location: BodyText,
    /// Receives the old or new value.
    pub captured: Option<AtomicCapture>,
}

/// What an atomic capture stores, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicCapture {
    /// The left-hand side for the value.
    pub into: Option<BodyText>,
    /// Which value.
    pub value: CapturedValue,
    /// The left-hand side for whether a comparison was true.
    pub success: Option<BodyText>,
}

impl AtomicCapture {
    /// A capture of the value alone.
    pub fn of(into: BodyText, value: CapturedValue) -> AtomicCapture {
        AtomicCapture {
            into: Some(into),
            value,
            success: None,
        }
    }
}

/// Which value an atomic capture stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapturedValue {
    /// The one before the update.
    Before,
    /// The one after it.
    After,
    /// The one before, if the comparison is false.
    OnFailure,
}

/// The forms of `atomic`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomicForm {
    /// `v = x`
    Read,
    /// `x = expression`
    Write(BodyText),
    /// `x op= expression`, `x = x op expression`, `x++`
    Update {
        /// The binary operator without `=`.
        operator: SmolStr,
        /// The operand; absent for `++` and `--`.
        operand: Option<BodyText>,
        /// `x = expression op x`
        reversed: bool,
    },
    /// `if (expression op x) x = expression` and its relatives
    MinMax {
        /// Keeps the smaller value.
        keeps_smaller: bool,
        /// The other value.
        operand: BodyText,
    },
    /// `if (x == expected) x = desired`
    CompareExchange {
        /// Compared with.
        expected: BodyText,
        /// Stored.
        desired: BodyText,
    },
}
