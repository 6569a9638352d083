//! Documents keep their promises: examples are what rex writes, the README's test command is what CI runs.

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
    let lowered = Lowered::of("axpy.c", blocks(&readme, "c")[0]);
    for (shown, written) in [
        (blocks(&readme, "c")[1], lowered.host.as_str()),
        (blocks(&readme, "cuda")[0], lowered.kernel()),
    ]
    .map(|(shown, written)| (shown.to_owned(), written))
    {
        readme = readme.replace(&shown, written);
    }
    expect_test::expect_file!["../../README.md"].assert_eq(&readme);
}

#[test]
fn kernels_are_what_rex_writes() {
    let page = read("docs/kernels.md");
    let mut written = String::new();
    let mut rest = page.as_str();
    while let Some(at) = rest.find("```cuda\n") {
        let (before, shown) = rest.split_at(at + "```cuda\n".len());
        let source = blocks(before, "c").pop().unwrap();
        written.push_str(before);
        written.push_str(Lowered::of("region.c", source).kernel());
        rest = &shown[shown.find("```").unwrap()..];
    }
    written.push_str(rest);
    expect_test::expect_file!["../../docs/kernels.md"].assert_eq(&written);
}

/// What rex writes for a file.
struct Lowered {
    host: String,
    device: String,
}

impl Lowered {
    fn of(name: &str, text: &str) -> Lowered {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_rex-driver"))
            .args(["lower", name])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let stem = name.trim_end_matches(".c");
        let written = |name: String| fs::read_to_string(folder.path().join(name)).unwrap();
        Lowered {
            host: written(format!("rose_{name}")),
            device: written(format!("rex_lib_{stem}.cu")),
        }
    }

    /// The kernel of a file that has one.
    fn kernel(&self) -> &str {
        let start = self.device.find("__global__").unwrap();
        let length = self.device[start..].find("\n}\n").unwrap() + "\n}\n".len();
        &self.device[start..start + length]
    }
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
