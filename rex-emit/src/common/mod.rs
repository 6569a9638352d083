//! What host and device printing share.

pub(crate) mod classes;
pub(crate) mod closures;
pub(crate) mod conditionals;
pub(crate) mod cuda_names;
pub(crate) mod expr;
pub(crate) mod guarded;
pub(crate) mod text;
