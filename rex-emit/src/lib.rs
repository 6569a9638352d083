//! Generated files from verified IR: bytes out, no files touched.

mod artifact;
mod helper;

pub use artifact::{Artifact, ArtifactKind, ArtifactSet};
pub use helper::helper_files;
