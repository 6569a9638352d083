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
    let mut readme = read("README.md");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("axpy.c"), blocks(&readme, "c")[0]).unwrap();
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
    let host = written("rose_axpy.c");
    let device = written("rex_lib_axpy.cu");
    let start = device.find("__global__").unwrap();
    let end = start + device[start..].find("\n}\n").unwrap() + "\n}\n".len();
    for (shown, written) in [
        (blocks(&readme, "c")[1].to_owned(), host.as_str()),
        (blocks(&readme, "cuda")[0].to_owned(), &device[start..end]),
    ] {
        readme = readme.replace(&shown, written);
    }
    expect_test::expect_file!["../../README.md"].assert_eq(&readme);
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
