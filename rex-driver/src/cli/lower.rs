//! `lower`: write the artifacts of each input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rex_emit::{Artifact, ArtifactKind};

use super::args::{EmitKind, LowerArgs};
use super::{Context, Stop, answer, code};
use crate::error::Error;
use crate::lines::with_lines;
use crate::session::Lowered;
use crate::write::Writer;

pub(super) fn run(cx: &Context, args: &LowerArgs) -> Result<u8, Stop> {
    let session = cx.session(&args.stdin_name, &args.files, &args.database)?;
    let lowered = session.lower_all(&args.files)?;
    let has_errors = cx.show_diagnostics(&lowered);
    refuse_collisions(&lowered)?;
    let wanted = |artifact: &&Artifact| args.emit.contains(&emit_kind(artifact.kind));
    let is_answer = args.output_dir.as_deref() == Some(Path::new("-"));
    let folder = match is_answer {
        true => PathBuf::new(),
        false => args.output_dir.clone().unwrap_or_default(),
    };
    let writer = Writer::new(args.files.iter().map(PathBuf::as_path));
    for lowered in &lowered {
        let artifacts = lowered.compilation.artifacts.iter();
        for artifact in artifacts.flat_map(|all| all.iter()).filter(wanted) {
            let path = folder.join(&artifact.file_name);
            let marked = args
                .line_directives
                .then(|| with_lines(lowered, artifact, &path));
            let bytes = marked.as_ref().unwrap_or(&artifact.bytes);
            if is_answer {
                answer(bytes)?;
            } else {
                writer.write(&path, bytes)?;
            }
        }
    }
    Ok(if has_errors {
        code::INPUT
    } else {
        code::SUCCESS
    })
}

/// Two inputs must not be written to one file.
fn refuse_collisions(lowered: &[Lowered]) -> Result<(), Error> {
    let mut owners: BTreeMap<&str, &Path> = BTreeMap::new();
    for Lowered {
        path, compilation, ..
    } in lowered
    {
        let artifacts = compilation
            .artifacts
            .iter()
            .flat_map(|artifacts| artifacts.iter());
        for artifact in artifacts.filter(|artifact| artifact.kind != ArtifactKind::Helper) {
            if let Some(other) = owners.insert(&artifact.file_name, path) {
                return Err(Error::Usage(format!(
                    "{} and {} would both be written to {}; lower them into different folders",
                    other.display(),
                    path.display(),
                    artifact.file_name
                )));
            }
        }
    }
    Ok(())
}

fn emit_kind(kind: ArtifactKind) -> EmitKind {
    match kind {
        ArtifactKind::Host => EmitKind::Host,
        ArtifactKind::Device => EmitKind::Device,
        _ => EmitKind::Helper,
    }
}
