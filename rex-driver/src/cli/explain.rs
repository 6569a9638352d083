//! `explain`: what a diagnostic code means.

use rex_syntax::diag::Code;

use super::args::ExplainArgs;
use super::{Stop, answer, code};
use crate::error::Error;

pub(super) fn run(args: &ExplainArgs) -> Result<u8, Stop> {
    let text = match &args.code {
        None => list(),
        Some(wanted) => explanation(wanted)?,
    };
    answer(text.as_bytes())?;
    Ok(code::SUCCESS)
}

fn list() -> String {
    Code::ALL
        .iter()
        .map(|code| format!("{} {}\n", code.number(), code.name()))
        .collect()
}

fn explanation(wanted: &str) -> Result<String, Error> {
    let is_wanted = |code: &&Code| {
        code.number().eq_ignore_ascii_case(wanted) || code.name().eq_ignore_ascii_case(wanted)
    };
    let Some(code) = Code::ALL.iter().find(is_wanted) else {
        let hint = "`rex-driver explain` lists all codes";
        return Err(Error::Usage(format!(
            "there is no diagnostic code {wanted}; {hint}"
        )));
    };
    Ok(format!(
        "{}: {}\n\n{}\n",
        code.number(),
        code.name(),
        code.explanation().trim()
    ))
}
