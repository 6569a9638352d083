//! Fixtures through liboffload: programs of the `run` group whose maps are of different kinds, with the
//! liboffload for the host device that the tests of `rex-emit` bring.
//!
//! For all fixtures see docs/testing.md.

#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rex_driver::toolchain::{OffloadRequest, Surroundings, find_offload_runtime};

/// One of each kind: structures, pointers, mappers, variables, routines, private copies, tasks, two files.
const CASES: &[&str] = &[
    "attached_members",
    "mapper_nested",
    "declare_target_link",
    "device_pointers",
    "device_routines",
    "firstprivate_clause",
    "nowait",
    "two_files",
    "cpp_templates",
    "reference_counts",
];

fn sources(case: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/run")
        .join(case);
    let entries = fs::read_dir(&folder).expect("the fixture is there");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|end| end == "c" || end == "cpp")
    });
    files.sort();
    files
}

#[test]
fn fixtures_run_through_liboffload() {
    let runtime = find_offload_runtime(&Surroundings::of_process(), &OffloadRequest::default());
    if let Err(missing) = runtime {
        println!("skipped: no {}", missing.what);
        return;
    }
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("liboffload");
    fs::create_dir_all(&work).expect("the folder can be made");
    let library = work.join("liboffload.so");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../rex-emit/tests/runtime/fake_liboffload.cpp");
    let built = Command::new("g++")
        .args(["-std=c++17", "-O1", "-shared", "-fPIC"])
        .arg(source)
        .args(["-ldl", "-pthread", "-o"])
        .arg(&library)
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    for case in CASES {
        let output = Command::new(env!("CARGO_BIN_EXE_rex-driver"))
            .arg("run")
            .args(sources(case))
            .args(["--device", "host"])
            .env("OMP_TARGET_OFFLOAD", "MANDATORY")
            .env("REX_RUNTIME", "liboffload")
            .env("REX_LIBOFFLOAD", &library)
            .output()
            .expect("rex-driver starts");
        assert!(
            output.status.success(),
            "{case}: {}\n{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
