//! `install`: put the program and what goes with it below a prefix.

use std::path::{Path, PathBuf};

use super::args::InstallArgs;
use super::{Context, Stop, answer, code};
use crate::error::Error;
use crate::install::Installation;
use crate::toolchain::find_offload_runtime;

pub(super) fn run(cx: &Context, args: &InstallArgs) -> Result<u8, Stop> {
    let mut installation = Installation::new();
    match find_offload_runtime(&cx.surroundings, &args.tools.offload_request()) {
        Ok(runtime) => installation.add_library(&cx.surroundings, &runtime)?,
        Err(missing) => cx.say(&format!(
            "warning: the helper library is left out: {missing}"
        )),
    }
    let places: String = installation
        .places()
        .map(|place| format!("{}\n", args.prefix.join(place).display()))
        .collect();
    if !args.dry_run {
        let program =
            std::env::current_exe().map_err(Error::io("find", Path::new("rex-driver")))?;
        installation.write(&staged(cx, &args.prefix), &program)?;
    }
    answer(places.as_bytes())?;
    Ok(code::SUCCESS)
}

/// Where files of a prefix go: below `DESTDIR`, if a packager says so.
fn staged(cx: &Context, prefix: &Path) -> PathBuf {
    match cx.surroundings.var("DESTDIR") {
        Some(stage) => Path::new(stage).join(prefix.strip_prefix("/").unwrap_or(prefix)),
        None => prefix.to_owned(),
    }
}
