//! Generated files from verified IR: bytes out, no files touched.
//!
//! [`emit`] prints the host file as edits of the user's text, the device file with all kernels, and adds the helper files. It never depends on passes and never decides anything that
//! a pass could: it prints what the IR says.

mod artifact;
mod common;
mod device;
mod helper;
mod host;

pub use artifact::{Artifact, ArtifactKind, ArtifactSet};
pub use helper::{abi_table, helper_files};

use rex_ir::verify::Verified;
use rex_syntax::TextRange;
use rex_syntax::edit::EditConflict;
use rex_syntax::source::{FileRange, Language};

/// Why nothing was emitted. Always a bug in rex.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// Two parts of the emitter changed the same text.
    #[error(transparent)]
    Conflict(#[from] EditConflict),
}

/// Prints all files of a unit.
///
/// A unit without device constructs gives its own bytes and no other file, unless its calls mean variants of functions.
///
/// # Errors
/// [`EmitError`]: a bug in rex.
pub fn emit(verified: Verified<'_>) -> Result<ArtifactSet, EmitError> {
    let program = verified.program();
    let file = program.sources.file(program.unit.file);
    let mut artifacts = ArtifactSet::new();
    let host_name = host_file_name(file.name(), file.language());
    match (
        program.has_device_constructs(),
        host::has_refused_directives(program),
    ) {
        (false, false) => {
            let written = program.sources.to_written(FileRange {
                file: program.unit.file,
                range: TextRange::default(),
            });
            let bytes = program.sources.file(written.file).bytes();
            artifacts.push(ArtifactKind::Host, host_name, bytes.to_vec());
            return Ok(artifacts);
        }
        (false, true) => {
            artifacts.push(
                ArtifactKind::Host,
                host_name,
                host::emit_without_devices(program)?,
            );
        }
        (true, _) => {
            artifacts.push(ArtifactKind::Host, host_name, host::emit(program)?);
            artifacts.push(
                ArtifactKind::Device,
                device_file_name(file.name()),
                device::emit(program)?,
            );
        }
    }
    for (name, text) in helper_files() {
        artifacts.push(ArtifactKind::Helper, *name, text.as_bytes().to_vec());
    }
    Ok(artifacts)
}

/// `rose_<input>` with the input's extension, or the language's if it has none.
pub fn host_file_name(input: &str, language: Language) -> String {
    let base = base_name(input);
    match base.rsplit_once('.') {
        Some(_) => format!("rose_{base}"),
        None => format!(
            "rose_{base}.{}",
            if language == Language::C { "c" } else { "cpp" }
        ),
    }
}

/// `rex_lib_<input without extension>.cu`
pub fn device_file_name(input: &str) -> String {
    let base = base_name(input);
    let stem = base.rsplit_once('.').map_or(base, |(stem, _)| stem);
    format!("rex_lib_{stem}.cu")
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
