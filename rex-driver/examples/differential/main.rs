//! Differential testing: writes random programs that check themselves, and builds and runs them with rex.
//!
//! Every program is a function that is printed twice, with its directives and without them, and both must compute the same.
//! Programs share files. The sequence depends on `--seed` alone.
//!
//! ```sh
//! cargo build --release && cargo run --release -p rex-driver --example differential -- --seed 1 --programs 1000
//! ```

mod code;
mod data;
mod program;
#[path = "../common/random.rs"]
mod random;
mod regions;
mod statements;

use std::fs;
use std::io::{Error, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use program::Language;
use rayon::prelude::*;

#[derive(Debug, Parser)]
struct Options {
    /// Where the sequence of programs begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs.
    #[arg(long, default_value_t = 100)]
    programs: u64,
    /// The number of the first one.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many programs share a file.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    per_file: u64,
    /// Where the files go.
    #[arg(long, default_value = "target/differential")]
    folder: PathBuf,
    /// The compiler.
    #[arg(long, default_value = "target/release/rex-driver")]
    rex: PathBuf,
    /// Write the files only.
    #[arg(long)]
    no_run: bool,
    /// More options of `rex-driver run`.
    #[arg(last = true)]
    run: Vec<String>,
}

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    let folder = options.folder.join(options.seed.to_string());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let end = options.first + options.programs;
    let mut files = Vec::new();
    let mut start = options.first;
    while start < end {
        let next = (start + options.per_file).min(end);
        let language = match (start / options.per_file).is_multiple_of(2) {
            true => Language::C,
            false => Language::Cxx,
        };
        let path = folder.join(format!("from{start}.{}", language.extension()));
        fs::write(&path, program::file(language, options.seed, start..next))?;
        files.push(path);
        start = next;
    }
    let mut out = std::io::stdout();
    if options.no_run {
        return writeln!(out, "{} files in {}", files.len(), folder.display());
    }
    let failures: Vec<String> = files
        .par_iter()
        .filter_map(|file| failure(file, &options))
        .collect();
    for failure in &failures {
        writeln!(out, "{failure}")?;
    }
    writeln!(
        out,
        "{} programs of seed {} in {} files, {} of them with differences; again with --seed {} --first {} --programs {}",
        options.programs,
        options.seed,
        files.len(),
        failures.len(),
        options.seed,
        options.first,
        options.programs
    )?;
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Error::other("there are differences")),
    }
}

/// What is wrong with a file: the programs that differ, or why there is no result.
fn failure(file: &Path, options: &Options) -> Option<String> {
    let output = Command::new(&options.rex)
        .arg("run")
        .args(&options.run)
        .arg(file)
        .env("OMP_TARGET_OFFLOAD", "MANDATORY")
        .output();
    let output = match output {
        Ok(output) if output.status.success() => return None,
        Ok(output) => output,
        Err(error) => return Some(format!("{}: {error}", options.rex.display())),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let mut wrong: Vec<&str> = said
        .lines()
        .filter(|line| line.ends_with("WRONG"))
        .collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    if wrong.is_empty() {
        const N_LINES: usize = 8;
        wrong = errors.lines().take(N_LINES).collect();
    }
    Some(format!(
        "{}: {}\n{}",
        file.display(),
        output.status,
        wrong.join("\n")
    ))
}
