//! The compiler as a library and as a command: everything that touches files, processes and terminals.
//!
//! The other crates turn bytes into bytes. This one reads sources, finds the machine's tools
//! ([`toolchain`]), writes what was made ([`write`]) and builds programs from it ([`build`]).
//! [`Compiler`] is the way in for other programs; [`cli`] is the command.

mod account;
mod arms;
pub mod audit;
pub mod build;
pub mod cc;
mod cleanup;
pub mod cli;
pub mod compile_commands;
mod compiler;
pub mod error;
pub mod flags;
mod forced;
pub mod install;
mod json;
mod line_directives;
pub mod lines;
pub mod preprocess;
pub mod preprocessed;
pub mod program;
pub mod render;
pub mod session;
mod splice;
pub mod toolchain;
pub mod verify;
pub mod write;

pub use account::{Account, TargetConstruct};
pub use compiler::{Compilation, Compiler, CompilerBuilder, InternalError, SourceInput};
pub use rex_syntax::source::Language;
