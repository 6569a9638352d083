//! Generated files, in memory.

/// What a generated file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ArtifactKind {
    /// The rewritten user file.
    Host,
    /// The device code of the file.
    Device,
    /// A file that is the same for every input.
    Helper,
}

/// One generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What it is for.
    pub kind: ArtifactKind,
    /// Its name, without a folder.
    pub file_name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The files generated from one input, in the order host, device, helpers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactSet {
    artifacts: Vec<Artifact>,
}

impl ArtifactSet {
    /// An empty set.
    pub fn new() -> ArtifactSet {
        ArtifactSet::default()
    }

    /// Adds a file.
    pub fn push(&mut self, kind: ArtifactKind, file_name: impl Into<String>, bytes: Vec<u8>) {
        self.artifacts.push(Artifact {
            kind,
            file_name: file_name.into(),
            bytes,
        });
    }

    /// The files, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Artifact> {
        self.artifacts.iter()
    }

    /// The set with other bytes in its host files.
    pub fn map_host(mut self, bytes: impl Fn(&[u8]) -> Vec<u8>) -> ArtifactSet {
        let files = self.artifacts.iter_mut();
        for host in files.filter(|artifact| artifact.kind == ArtifactKind::Host) {
            host.bytes = bytes(&host.bytes);
        }
        self
    }

    /// The first file of a kind.
    pub fn of_kind(&self, kind: ArtifactKind) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.kind == kind)
    }
}
