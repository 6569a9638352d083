//! `completions`: a shell's completion script.

use clap::CommandFactory;

use super::args::{Cli, CompletionsArgs};
use super::{Stop, answer, code};

pub(super) fn run(args: &CompletionsArgs) -> Result<u8, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rex-driver", &mut script);
    answer(&script)?;
    Ok(code::SUCCESS)
}
