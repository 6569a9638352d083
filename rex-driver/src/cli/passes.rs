//! `passes`: the schedule.

use rex_passes::PassInfo;
use serde::Serialize;

use super::args::{PassesArgs, PassesFormat};
use super::{Stop, answer, code};
use crate::compiler::Compiler;
use crate::json;

#[derive(Serialize)]
struct PassList {
    schema: u32,
    passes: Vec<PassLine>,
}

#[derive(Serialize)]
struct PassLine {
    name: &'static str,
    summary: &'static str,
    reads: Vec<&'static str>,
    writes: Vec<&'static str>,
    after: &'static [&'static str],
}

pub(super) fn run(args: &PassesArgs) -> Result<u8, Stop> {
    let compiler = Compiler::builder().build();
    let schedule = compiler.passes().schedule();
    let lines = schedule.passes().map(pass_line);
    let text = match args.format {
        PassesFormat::Dot => schedule.to_dot(),
        PassesFormat::Json => json::line(&PassList {
            schema: json::SCHEMA,
            passes: lines.collect(),
        }),
        PassesFormat::Text => lines.map(|line| as_text(&line)).collect(),
    };
    answer(text.as_bytes())?;
    Ok(code::SUCCESS)
}

fn pass_line(info: &'static PassInfo) -> PassLine {
    PassLine {
        name: info.name,
        summary: info.summary,
        reads: info.reads.iter().map(|facet| facet.name()).collect(),
        writes: info.writes.iter().map(|facet| facet.name()).collect(),
        after: info.after,
    }
}

fn as_text(line: &PassLine) -> String {
    let mut text = format!("{}: {}\n", line.name, line.summary);
    for (label, names) in [("reads", &line.reads), ("writes", &line.writes)] {
        text.push_str(&format!("  {label:<7}{}\n", names.join(", ")));
    }
    text
}
