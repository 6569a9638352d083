//! The typed IR of rex: what a translation unit means to the offload compiler.
//!
//! # Model
//! Host code stays text: a [`program::Program`] keeps byte ranges of the unit's file and describes only what lowering needs. File-scope [`item`]s say what exists;
//! [`symbol`]s and [`ty`]pes say what names mean; [`region`]s hold the OpenMP constructs with their captures. Passes add [`kernel`]s, [`launch`]es, [`map`] arrays,
//! [`entry`] table and [`lifecycle`]. Everything lives in arenas and is referred to by typed ids, in order of creation, so output is deterministic.
//!
//! # Order of work
//! [`build::build`] turns a `rex_syntax` unit into a program; passes change it; [`verify::verify`] checks it and gives the proof that emitters ask for.
//!
//! # Invariants
//! [`verify`] lists them. A pass never writes C text: expressions are [`expr::Expr`], bodies are [`kernel::BodyText`] plans over the user's text.

pub mod abi;
mod alignment;
pub mod attributes;
pub mod branches;
pub mod build;
pub mod capture_lists;
pub mod changes;
mod copies;
pub mod effects;
pub mod entry;
pub mod expr;
pub mod facet;
pub mod formats;
pub mod function_index;
pub mod headers;
pub mod instance;
pub mod item;
pub mod kernel;
pub mod keywords;
pub mod launch;
pub mod library;
pub mod lifecycle;
pub mod map;
pub mod namer;
pub mod names;
pub mod needed_headers;
mod places;
pub mod print;
pub mod program;
pub mod region;
mod same_class;
pub mod starters;
pub mod static_member;
pub mod symbol;
pub mod symbol_index;
#[cfg(test)]
mod testing;
pub mod ty;
pub mod untranslatable;
pub mod verify;
