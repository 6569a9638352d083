//! Text, pragmas and syntax trees of C and C++ with OpenMP, with exact byte positions.
//!
//! This crate is usable alone for source tools. It owns bytes ([`source`]), edits over them ([`edit`]), messages about them ([`diag`]),
//! OpenMP directives ([`omp`]) and the syntax tree. It knows nothing about what a directive means.

mod attribute;
mod condition;
pub mod cst;
pub mod declarations;
pub mod diag;
pub mod edit;
pub mod expansion;
pub mod kind;
pub mod layout;
pub mod lex;
pub mod macros;
pub mod omp;
pub mod ppcond;
pub mod pragma;
pub mod source;
pub mod unit;
pub mod view;
pub mod working;

pub use text_size::{TextRange, TextSize};
