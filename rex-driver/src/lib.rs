//! The compiler as a library and as a command: everything that touches files, processes and terminals.
//!
//! The other crates turn bytes into bytes. This one reads sources, finds the machine's tools
//! ([`toolchain`]), writes what was made ([`write`]) and builds programs from it ([`build`]).

pub mod build;
pub mod error;
pub mod flags;
pub mod toolchain;
pub mod write;
