//! Programs for unit tests.

use rex_syntax::diag::Diagnostics;
use rex_syntax::source::{Language, SourceFile, SourceMap};
use rex_syntax::unit::read_unit;

use crate::program::Program;

/// The program of a text in C++.
pub(crate) fn program(source: &str) -> Program {
    let mut sources = SourceMap::new();
    let file = sources.add(SourceFile::new("input.cpp", Language::Cxx, source));
    let unit = read_unit(&mut sources, file, None, &mut Diagnostics::new());
    crate::build::build(sources, unit).0
}
