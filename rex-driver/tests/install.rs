//! An installation as build systems use it: CMake's package and toolchain file, pkg-config.
//!
//! Needs a C++ compiler, LLVM's offload runtime, and cmake or pkg-config; without them a test says that it is skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails says so"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rex_driver::toolchain::{OffloadRequest, Surroundings, find_offload_runtime};
use tempfile::TempDir;

/// A folder with an installation in `rex`, or `None` where a tool is missing.
fn installation(tool: &str) -> Option<TempDir> {
    let machine = Surroundings::of_process();
    let missing = ["g++", tool]
        .into_iter()
        .find(|tool| machine.program(tool.as_ref()).is_none());
    if let Some(missing) = missing {
        eprintln!("skipped: no {missing}");
        return None;
    }
    if find_offload_runtime(&machine, &OffloadRequest::default()).is_err() {
        eprintln!("skipped: no libomptarget");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let rex = env!("CARGO_BIN_EXE_rex-driver");
    check(folder.path(), &format!("{rex} install --prefix rex"));
    Some(folder)
}

#[track_caller]
fn check(folder: &Path, script: &str) {
    let output = Command::new("/bin/sh")
        .args(["-e", "-c", script])
        .current_dir(folder)
        .env("REX_DEVICE", "host")
        .env("REX_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
        .env("OMP_TARGET_OFFLOAD", "MANDATORY")
        .env_remove("CC")
        .env_remove("CXX")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/cmake")
}

/// Configures the example, builds, tests and installs it, and runs what was installed.
fn check_example(folder: &Path, how: &str) {
    let source = example();
    let source = source.display();
    let script = format!(
        "cmake -S '{source}' -B build {how}\ncmake --build build -j 2\ncd build\nctest --output-on-failure\n\
         cmake --install . --prefix '{prefix}/heat'\n'{prefix}/heat/bin/heat' 16 4",
        prefix = folder.display()
    );
    check(folder, &script);
    let heat = fs::read(folder.join("heat/bin/heat")).unwrap();
    let holds = |text: &[u8]| heat.windows(text.len()).any(|window| window == text);
    assert!(holds(b"libomptarget") && !holds(b"libgomp"));
}

#[test]
fn cmake_finds_the_package() {
    let Some(folder) = installation("cmake") else {
        return;
    };
    check_example(folder.path(), "-DCMAKE_PREFIX_PATH=\"$PWD/rex\"");
}

#[test]
fn cmake_takes_the_toolchain_file() {
    let Some(folder) = installation("cmake") else {
        return;
    };
    check_example(
        folder.path(),
        "-DCMAKE_TOOLCHAIN_FILE=\"$PWD/rex/lib/cmake/Rex/RexToolchain.cmake\"",
    );
}

const PROGRAM: &str = "
int main(void) {
  int x = 1;
#pragma omp target map(tofrom: x)
  x += 1;
  return x - 2;
}
";

#[test]
fn pkg_config_knows_the_helper_library() {
    let Some(folder) = installation("pkg-config") else {
        return;
    };
    fs::write(folder.path().join("main.c"), PROGRAM).unwrap();
    let script = r#"
export PKG_CONFIG_PATH="$PWD/rex/lib/pkgconfig"
flags=$(pkg-config --cflags rex)
rex/bin/rex-driver lower main.c -o out --emit host,device
gcc $flags -c out/rose_main.c -o main.o
g++ -x c++ -shared -fPIC -fno-gnu-unique -DREX_DEVICE_HOST -DREX_DEVICE_SOURCE='"rex_lib_main.cu"' -Iout $flags \
    "$(pkg-config --variable=runtimedir rex)/rex_nvidia.cu" -Wl,-Bsymbolic -o rex_lib_nvidia.cubin
gcc main.o $(pkg-config --libs rex) -o program
./program
"#;
    check(folder.path(), script);
}

#[test]
fn an_installation_is_complete_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let rex = env!("CARGO_BIN_EXE_rex-driver");
    let install = || {
        let output = Command::new(rex)
            .args(["install", "--prefix", "/opt/rex"])
            .env("DESTDIR", folder.path())
            .env("REX_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let places = install();
    assert_eq!(install(), places);
    for place in places.lines() {
        let file = folder.path().join(place.strip_prefix('/').unwrap());
        assert!(file.exists(), "{place}");
    }
    for wanted in [
        "man1/rex-driver-lower.1",
        "man1/rexcc.1",
        "bin/rexc++",
        "_rex-driver",
    ] {
        assert!(places.contains(wanted), "{wanted}");
    }
}
