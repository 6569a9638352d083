//! Text, pragmas and syntax trees of C and C++ with OpenMP, with exact byte positions.
//!
//! This crate is usable alone for source tools. It owns bytes ([`source`]), edits over them ([`edit`]), messages about them ([`diag`]),
//! OpenMP directives ([`omp`]) and the syntax tree ([`cst`]). It knows nothing about what a directive means.
//!
//! [`unit::read_unit`] does everything in order:
//!
//! 1. [`ppcond`] finds what the preprocessor skips, [`macros`] what is defined where; both use the preprocessed text ([`expansion`]) if
//!    the caller has one.
//! 2. [`working`] writes out macros that hide directives. All positions after this are offsets into the working file;
//!    [`source::SourceMap::to_written`] leads back to the user's text.
//! 3. [`pragma`] finds the directives and [`omp::parse`] reads them.
//! 4. [`view`] makes a text of the same length in which directives are statements, and [`cst`] parses it.
//!
//! # Example
//! ```
//! use rex_syntax::diag::Diagnostics;
//! use rex_syntax::source::{Language, SourceFile, SourceMap};
//! use rex_syntax::unit::read_unit;
//!
//! let text = "void f(int n, float *a) {\n#pragma omp target map(tofrom: a[0:n])\n  for (int i = 0; i < n; i++) a[i] = 0;\n}\n";
//! let mut sources = SourceMap::new();
//! let file = sources.add(SourceFile::new("f.c", Language::C, text));
//! let mut diagnostics = Diagnostics::new();
//! let unit = read_unit(&mut sources, file, None, &mut diagnostics);
//!
//! assert_eq!(unit.directives[0].name(), "target");
//! let map = &unit.directives[0].clauses[0];
//! assert_eq!(&text[map.items()[0].range], "a[0:n]");
//! let statement = unit.statement_of(0).expect("a loop follows");
//! assert_eq!(statement.text(), "for (int i = 0; i < n; i++) a[i] = 0;");
//! ```

mod attribute;
pub mod condition;
pub mod cst;
pub mod declarations;
pub mod diag;
pub mod edit;
pub mod expansion;
pub mod kind;
pub mod layout;
pub mod lex;
pub mod macros;
mod old_style;
pub mod omp;
pub mod places;
pub mod ppcond;
pub mod pragma;
pub mod resolve;
pub mod source;
pub mod unit;
pub mod view;
pub mod working;

pub use text_size::{TextRange, TextSize};
