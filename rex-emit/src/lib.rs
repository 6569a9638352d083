//! Generated files from verified IR: bytes out, no files touched.

mod artifact;

pub use artifact::{Artifact, ArtifactKind, ArtifactSet};
