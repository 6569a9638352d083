//! The README keeps its promises: its example is what rex writes, its test command is what CI runs.

#![expect(
    clippy::unwrap_used,
    reason = "a promise that cannot be checked is a failed test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn example_is_what_rex_writes() {
    let readme = read("README.md");
    let folder = tempfile::tempdir().unwrap();
    let [before, host, ..] = blocks(&readme, "c")[..] else {
        panic!("the README has no example");
    };
    let device = blocks(&readme, "cuda")[0];
    fs::write(folder.path().join("axpy.c"), before).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rex-driver"))
        .args(["lower", "axpy.c"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let written = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(written("rose_axpy.c"), host);
    let device_file = written("rex_lib_axpy.cu");
    assert!(
        device_file.contains(device),
        "the README shows\n{device}rex writes\n{device_file}"
    );
}

#[test]
fn ci_runs_the_test_command() {
    let readme = read("README.md");
    let script = read(".ci/run");
    let command = script.lines().last().unwrap();
    let commands = blocks(&readme, "sh");
    assert!(
        commands.iter().any(|block| block.trim() == command),
        "`{command}` is not in {commands:?}"
    );
}

/// The contents of the fenced blocks of one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("\n```{language}\n");
    text.split(&fence)
        .skip(1)
        .map(|rest| rest.split("```\n").next().unwrap())
        .collect()
}

fn read(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(path).unwrap()
}
