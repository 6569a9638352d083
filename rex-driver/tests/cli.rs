//! The command line from outside: exit codes, streams, files.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails says so"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const PLAIN: &str = "int main(void) { return 7; }\n";

struct Folder(TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Folder(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn rex(&self, line: &str) -> Output {
        let words = line.split_whitespace();
        Command::new(env!("CARGO_BIN_EXE_rex-driver"))
            .args(words)
            .current_dir(self.path())
            .env("REX_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

#[track_caller]
fn check_exit(output: &Output, code: i32, stderr_has: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "stderr: {stderr}");
    assert!(stderr.contains(stderr_has), "stderr: {stderr}");
}

fn host_compiler_exists() -> bool {
    let found = ["gcc", "clang", "cc"].iter().any(|name| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    });
    if !found {
        eprintln!("skipped: no C compiler");
    }
    found
}

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::with(&[]);
    check_exit(&folder.rex("lower"), 2, "required");
    check_exit(
        &folder.rex("lower --no-such-option a.c"),
        2,
        "unexpected argument",
    );
    check_exit(&folder.rex("frobnicate"), 2, "unrecognized subcommand");
}

#[test]
fn a_missing_file_is_2() {
    let folder = Folder::with(&[]);
    check_exit(&folder.rex("lower none.c"), 2, "cannot read none.c");
}

#[test]
fn an_unknown_language_is_2_unless_it_is_given() {
    let folder = Folder::with(&[("plain.txt", PLAIN)]);
    check_exit(
        &folder.rex("lower plain.txt"),
        2,
        "cannot tell the language",
    );
    check_exit(&folder.rex("lower -x c plain.txt"), 0, "");
}

#[test]
fn help_and_version_are_0() {
    let folder = Folder::with(&[]);
    check_exit(&folder.rex("--help"), 0, "");
    check_exit(&folder.rex("--version"), 0, "");
}

#[test]
fn a_file_with_nothing_to_offload_is_written_unchanged_and_alone() {
    let folder = Folder::with(&[("plain.c", PLAIN)]);
    check_exit(&folder.rex("lower plain.c -o out"), 0, "");
    assert_eq!(
        fs::read_to_string(folder.path().join("out/rose_plain.c")).unwrap(),
        PLAIN
    );
    assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), 1);
}

#[test]
fn two_inputs_are_not_written_to_one_file() {
    let folder = Folder::with(&[("plain.c", PLAIN)]);
    fs::create_dir(folder.path().join("b")).unwrap();
    fs::write(folder.path().join("b/plain.c"), PLAIN).unwrap();
    check_exit(
        &folder.rex("lower plain.c b/plain.c"),
        2,
        "different folders",
    );
}

#[test]
fn artifacts_can_go_to_standard_output() {
    let folder = Folder::with(&[("plain.c", PLAIN)]);
    let output = folder.rex("lower plain.c --emit host -o -");
    check_exit(&output, 0, "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), PLAIN);
}

#[test]
fn codes_are_explained_by_number_and_by_name() {
    let folder = Folder::with(&[]);
    let by_number = folder.rex("explain rex0203");
    check_exit(&by_number, 0, "");
    assert!(
        by_number
            .stdout
            .starts_with(b"REX0203: pointer-needs-length\n")
    );
    assert_eq!(
        folder.rex("explain pointer-needs-length").stdout,
        by_number.stdout
    );
    check_exit(&folder.rex("explain REX9999"), 2, "no diagnostic code");
}

#[test]
fn completions_are_printed() {
    let output = Folder::with(&[]).rex("completions bash");
    check_exit(&output, 0, "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("rex-driver"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rex-driver"))
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn run_gives_the_exit_code_of_the_program() {
    if !host_compiler_exists() {
        return;
    }
    let program =
        "#include <stdlib.h>\nint main(int c, char **v) { return c > 1 ? atoi(v[1]) : 7; }\n";
    let folder = Folder::with(&[("plain.c", program)]);
    check_exit(&folder.rex("run plain.c"), 7, "");
    check_exit(&folder.rex("run plain.c -- 3"), 3, "");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn a_program_that_does_not_compile_is_1() {
    if !host_compiler_exists() {
        return;
    }
    let folder = Folder::with(&[("broken.c", "int main(void) { return x; }\n")]);
    check_exit(
        &folder.rex("build broken.c -o prog"),
        1,
        "this command failed",
    );
    assert!(!folder.path().join("prog").exists());
}

#[test]
fn a_dry_run_prints_the_commands_and_writes_nothing() {
    if !host_compiler_exists() {
        return;
    }
    let folder = Folder::with(&[("plain.c", PLAIN)]);
    let output = folder.rex("build plain.c -DN=1 -o prog --dry-run");
    check_exit(&output, 0, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(" -DN=1 ") && text.contains(" -c plain.c "),
        "{text}"
    );
    assert!(text.lines().last().unwrap().ends_with(" -o prog"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn build_refuses_the_steps_of_a_compiler() {
    let folder = Folder::with(&[("plain.c", PLAIN)]);
    check_exit(&folder.rex("build -c plain.c"), 2, "does not fit here");
}

/// Runs the binary under another name.
fn as_compiler(folder: &Folder, name: &str, line: &str) -> Output {
    let link = folder.path().join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rex-driver"), &link).unwrap();
    }
    Command::new(link)
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn as_a_compiler_plain_files_go_to_the_host_compiler() {
    if !host_compiler_exists() {
        return;
    }
    let folder = Folder::with(&[("plain.c", PLAIN), ("args", "-DN=1 plain.c -o prog")]);
    check_exit(&as_compiler(&folder, "rexcc", "-c plain.c -MMD"), 0, "");
    let dependencies = fs::read_to_string(folder.path().join("plain.d")).unwrap();
    assert_eq!(dependencies, "plain.o: plain.c\n");
    check_exit(&as_compiler(&folder, "rexcc", "-fopenmp @args"), 0, "");
    let status = Command::new(folder.path().join("prog")).status().unwrap();
    assert_eq!(status.code(), Some(7));
    check_exit(&folder.rex("cc --version"), 0, "");
    check_exit(&folder.rex("cc -c none.c"), 1, "none.c");
}

const ON_THE_DEVICE: &str = "
#include <stdio.h>
int main(void) {
  double sum = 0;
#pragma omp target map(tofrom: sum)
  for (int i = 1; i < 5; i++) sum += 1.0 / i;
  printf(\"sum %.12f\\n\", sum);
}
";

/// Tells where it runs, so the lowered program says something else.
const TELLS: &str = "
#include <omp.h>
#include <stdio.h>
int main(void) {
  int host = 0;
#pragma omp target map(from: host)
  host = omp_is_initial_device();
  printf(\"host %d\\n\", host);
}
";

fn offload_runtime_exists() -> bool {
    let machine = rex_driver::toolchain::Surroundings::of_process();
    let found = rex_driver::toolchain::find_offload_runtime(&machine, &Default::default()).is_ok();
    if !found {
        eprintln!("skipped: no libomptarget");
    }
    found
}

#[test]
fn verify_tells_same_from_different() {
    if !host_compiler_exists() || !offload_runtime_exists() {
        return;
    }
    let folder = Folder::with(&[
        ("plain.c", PLAIN),
        ("same.c", ON_THE_DEVICE),
        ("tells.c", TELLS),
        (
            "wrong.c",
            "int main(void) {\n#pragma omp target map(nothing)\n  ;\n}\n",
        ),
    ]);
    let output = folder.rex("verify . --device host --format json");
    check_exit(&output, 1, "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts: Vec<String> = report["programs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("{} {}", line["program"], line["verdict"]).replace('"', ""))
        .collect();
    let expected = [
        "plain.c nothing to offload",
        "same.c same",
        "tells.c different",
        "wrong.c refused",
    ];
    assert_eq!(verdicts, expected.map(|line| format!("./{line}")));
    assert_eq!(report["programs"][2]["difference"]["expected"], "host 1");
    assert_eq!(report["programs"][2]["difference"]["found"], "host 0");
    check_exit(&folder.rex("verify same.c plain.c --device host"), 0, "");
}

#[test]
fn audit_counts_constructs_and_checks_the_rest() {
    if !host_compiler_exists() {
        return;
    }
    let limited = "int main(void) {\n  int n = 1;\n#pragma omp target data map(n)\n  {\n\
                   #pragma omp target map(self: n)\n    n++;\n#pragma omp target\n    n++;\n  }\n}\n";
    let header =
        "static inline void add(int *p) {\n#pragma omp target map(p[0 : 1])\n  *p += 1;\n}\n";
    let uses = "#include \"add.h\"\nint main(void) { int n = 0; add(&n); return n; }\n";
    let folder = Folder::with(&[
        ("plain.c", PLAIN),
        ("device.c", ON_THE_DEVICE),
        ("limited.c", limited),
        ("add.h", header),
        ("uses.c", uses),
    ]);
    let output = folder.rex("audit . --format json");
    check_exit(&output, 1, "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let suite = &report["suites"][0];
    assert_eq!(suite["constructs"], 5);
    assert_eq!(suite["lowered"], 4);
    assert_eq!(suite["errors"]["REX0902"], 1);
    let files: Vec<String> = suite["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| format!("{} {}", file["path"], file["round_trip"]).replace('"', ""))
        .collect();
    let expected = [
        "device.c kept",
        "limited.c kept",
        "plain.c identical",
        "uses.c kept",
    ];
    assert_eq!(files, expected.map(|line| format!("./{line}")));
    assert_eq!(suite["files"][3]["constructs"][0]["file"], "./add.h");
    let text = String::from_utf8(folder.rex("audit . -- -DX").stdout).unwrap();
    assert!(
        text.contains("./limited.c:5: `target` is not lowered: REX0902"),
        "{text}"
    );
    check_exit(&folder.rex("audit plain.c uses.c"), 0, "");
}

#[test]
fn audit_follows_layout_and_conditionals() {
    if !host_compiler_exists() {
        return;
    }
    let indented =
        "  int g;\nint main(void) {\n#pragma omp target map(g)\n  g = 1;\n  return g;\n}\n";
    let split = "int main(void) {\n  int a[4];\n#ifdef FAST\n\
                 #pragma omp target teams distribute parallel for\n\
                 for (int i = 0; i < 4; i++) {\n#else\nfor (int i = 3; i >= 0; i--) {\n#endif\n\
                 a[i] = i;\n}\nreturn a[0];\n}\n";
    let folder = Folder::with(&[("indented.c", indented), ("split.c", split)]);
    check_exit(&folder.rex("audit . -- -DFAST"), 0, "");
    check_exit(&folder.rex("audit . -- -UFAST"), 0, "");
}

#[test]
fn a_signal_leaves_no_temporary_files() {
    if !host_compiler_exists() {
        return;
    }
    let waits = "#include <stdio.h>\nint main(void) { puts(\"up\"); fflush(stdout); getchar(); }\n";
    let folder = Folder::with(&[("waits.c", waits)]);
    let temporary = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rex-driver"))
        .args(["run", "waits.c"])
        .current_dir(folder.path())
        .env("TMPDIR", temporary.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut up).unwrap();
    assert!(fs::read_dir(temporary.path()).unwrap().count() > 0);
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let stdin = child.stdin.take();
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(15)
    );
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    drop(stdin);
}

#[test]
fn verify_takes_a_list_and_changes_no_file() {
    if !host_compiler_exists() || !offload_runtime_exists() {
        return;
    }
    let folder = Folder::with(&[]);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let program = "
#include <stdio.h>
int main(int argc, char **argv) {
  int x = 0, y = 0;
  FILE *data = fopen(\"../data/x\", \"r\");
  if (!data || fscanf(data, \"%d\", &x) + scanf(\"%d\", &y) != 2) return 9;
#pragma omp target map(tofrom: x)
  x += 1;
  fputs(\"new\", fopen(\"kept\", \"w\"));
  printf(\"%s %d %d %d\\n\", argv[0], argc, x, y);
}
";
    let clock = "
#include <stdio.h>
#include <time.h>
int main(void) {
  struct timespec now;
#pragma omp target
  ;
  clock_gettime(CLOCK_REALTIME, &now);
  printf(\"%ld\\n\", now.tv_nsec);
}
";
    write("data/x", "41");
    write("app/main.c", program);
    write("app/kept", "old");
    write("app/clock.c", clock);
    write(
        "app/wrong.c",
        "int main(void) {\n#pragma omp target map(nothing)\n  ;\n}\n",
    );
    write(
        "app/Makefile",
        "prog: main.c\n\t$(CC) -fopenmp main.c -o prog\n",
    );
    let list = "
[[program]]
name = 'sources'
folder = 'app'
sources = ['main.c']
args = ['one']
stdin = '../data/x'
[[program]]
name = 'make'
folder = 'app'
build = 'make CC=$CC'
run = './prog'
args = ['one']
stdin = '../data/x'
[[program]]
name = 'clock'
folder = 'app'
sources = ['clock.c']
[[program]]
name = 'wrong'
folder = 'app'
sources = ['wrong.c']
";
    write("rex-verify.toml", list);
    let temporary = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rex-driver"))
        .args(["verify", ".", "--device", "host", "--format", "json"])
        .current_dir(folder.path())
        .env("TMPDIR", temporary.path())
        .env("REX_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    check_exit(&output, 1, "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts: Vec<&str> = report["programs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        ["same", "same", "unsteady", "refused"],
        "{report}"
    );
    assert_eq!(fs::read(folder.path().join("app/kept")).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path().join("app")).unwrap().count(), 5);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn line_directives_name_the_users_lines() {
    let program = "int main(void) {\n  int total = 0;\n#pragma omp target map(tofrom : total)\n  {\n    for (int i = 0; i < 9; i++)\n      total += i;\n  }\n  return total - 36;\n}\n";
    let folder = Folder::with(&[("a.c", program)]);
    check_exit(&folder.rex("lower a.c --line-directives"), 0, "");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let device = read("rex_lib_a.cu");
    assert!(device.contains("#line 4 \"a.c\"\n"), "{device}");
    assert!(device.contains("\"rex_lib_a.cu\"\n"), "{device}");
    let host = read("rose_a.c");
    assert!(host.contains(" \"a.c\"\n"), "{host}");
    check_exit(&folder.rex("lower a.c"), 0, "");
    assert!(!read("rex_lib_a.cu").contains("#line"));
}
