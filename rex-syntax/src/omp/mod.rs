//! OpenMP directives and clauses: typed, with the exact place of every part.
//!
//! [`directive`] and [`clause`] are the model; [`parse`] reads a pragma's text into it. Nothing here knows what the directives mean.

mod allowed;
pub mod clause;
pub mod directive;
pub(crate) mod locator;
mod misspelt;
mod name;
pub mod parse;
mod restrictions;
mod shape;
mod suggest;
