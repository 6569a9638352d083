//! The helper files at work: life cycle, images, call shapes and layouts, with the real libomptarget.
//!
//! Each test builds small programs of `tests/runtime/` and runs them on LLVM's host device. Without
//! libomptarget of LLVM 19 they say so and pass. Other LLVM versions and compilers: `tests/runtime/matrix.sh`.

#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

#[path = "runtime/toolbox.rs"]
mod toolbox;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toolbox::{
    Outcome, Toolbox, is_installed, must_succeed, program_file, runtime_file, runtime_folder,
};

/// The name under which programs look for their image.
const IMAGE: &str = "rex_lib_nvidia.cubin";

// ---- Call shapes and device code --------------------------------------------------------------------------

#[test]
fn every_call_shape_works_in_c_and_cpp() {
    let Some(tools) = Toolbox::new("shapes") else {
        return;
    };
    tools.image(IMAGE, "kernels.cu", &[]);
    let c = tools.program("c", "kernels.c", &[]);
    tools.check_passes(&c, &[]);

    let source = tools.file("kernels.cpp");
    fs::copy(program_file("kernels.c"), &source).expect("the source can be copied");
    let object = tools.file("cpp.o");
    must_succeed(
        tools
            .compiler("g++")
            .args(["-std=c++98", "-Wno-long-long", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(&object),
    );
    let cpp = tools.link("cpp", &[object, tools.registration()], &[]);
    tools.check_passes(&cpp, &[]);
}

#[test]
fn verbose_names_launches_and_transfers_with_their_lines() {
    let Some(tools) = Toolbox::new("verbose") else {
        return;
    };
    tools.image(IMAGE, "kernels.cu", &[]);
    let program = tools.program("kernels", "kernels.c", &[]);
    let outcome = tools.run(&program, &[], &[("REX_VERBOSE", "1")]);
    let said = |what: &str| {
        outcome
            .stderr
            .lines()
            .any(|line| line.starts_with("rex: ") && line.contains(what))
    };
    for what in [
        "image: ",
        "registered 8 entries with LLVM 19, 4 devices",
        ": launch axpy__kernel__, 8 teams of 4 threads, 3 arguments",
        ": launch axpy__kernel__, 3 teams of 4 threads, 3 arguments",
        ": launch axpy__kernel__, 8 teams of 64 threads, 3 arguments",
        ": launch nothing__kernel__, 1 teams of 4 threads, 0 arguments",
        ": data begin tofrom x, 8000 bytes",
        ": data update from x, 8000 bytes",
    ] {
        assert!(said(what), "{what} in {}", outcome.describe(&program));
    }
    let line = fs::read_to_string(program_file("kernels.c"))
        .expect("the source can be read")
        .lines()
        .position(|line| line.contains("&axpy__id__"))
        .expect("the launch is there");
    assert!(said(&format!(
        "kernels.c:{}: launch axpy__kernel__",
        line + 1
    )));
}

#[test]
fn device_header_works_without_a_runtime() {
    let Some(tools) = Toolbox::new("device") else {
        return;
    };
    let program = tools.file("device");
    let mut command = tools.compiler("g++");
    command.args([
        "-O1",
        "-x",
        "c++",
        "-std=c++11",
        "-DREX_DEVICE_HOST",
        "-DREX_DEVICE_SOURCE=\"device.cu\"",
        "-pthread",
    ]);
    must_succeed(
        command
            .arg(runtime_file("rex_nvidia.cu"))
            .arg("-o")
            .arg(&program),
    );
    tools.check_passes(&program, &[]);
    let variables = [("REX_HOST_THREADS", "5"), ("REX_HOST_STACK", "1000000")];
    let outcome = tools.run(&program, &[], &variables);
    assert!(outcome.passed(), "{}", outcome.describe(&program));
}

#[test]
fn an_image_has_kernels_of_several_device_files() {
    let Some(tools) = Toolbox::new("several") else {
        return;
    };
    let objects = ["kernels.cu", "probe.cu"]
        .map(|source| tools.image(&format!("{source}.o"), source, &["-c"]));
    let mut command = Command::new("g++");
    command
        .arg("-shared")
        .args(objects)
        .args(["-Wl,-Bsymbolic", "-Wl,-z,defs", "-pthread", "-o"]);
    must_succeed(command.arg(tools.file(IMAGE)));
    tools.check_passes(&tools.program("kernels", "kernels.c", &[]), &[]);
    let probe = tools.program("probe", "probe.c", &[]);
    assert_eq!(tools.run(&probe, &[], &[]).stdout, "device\n");
}

#[test]
fn a_program_may_have_no_kernel() {
    let Some(tools) = Toolbox::new("data-only") else {
        return;
    };
    tools.image(IMAGE, "empty.cu", &[]);
    tools.check_passes(&tools.program("data_only", "data_only.c", &[]), &[]);
}

#[test]
fn device_files_compile_for_gpus_with_clang() {
    let Some(tools) = Toolbox::new("clang-cuda") else {
        return;
    };
    if !is_installed("clang-19") {
        println!("skipped: no clang-19");
        return;
    }
    for abi in ["16", "19", "22"] {
        let mut command = Command::new("clang-19");
        command.args([
            "-x",
            "cuda",
            "--cuda-device-only",
            "--cuda-gpu-arch=sm_90",
            "-nocudainc",
            "-nocudalib",
            "-O2",
            "-S",
        ]);
        command
            .args([
                "-Wall",
                "-Wextra",
                "-Werror",
                "-DREX_DEVICE_SOURCE=\"kernels.cu\"",
            ])
            .arg(format!("-DREX_LLVM_ABI={abi}"));
        command
            .arg("-I")
            .arg(runtime_folder())
            .arg("-I")
            .arg(toolbox::programs_folder());
        let assembly = tools.file("kernels.ptx");
        must_succeed(
            command
                .arg(runtime_file("rex_nvidia.cu"))
                .arg("-o")
                .arg(&assembly),
        );
        let text = fs::read_to_string(assembly).expect("clang wrote the assembly");
        assert!(text.contains(".entry team__kernel__("));
        let mode = if abi == "16" {
            "team__kernel___exec_mode = 2"
        } else {
            "team__kernel___kernel_environment[48] = {0, 0, 2}"
        };
        assert!(text.contains(mode), "{abi}");
    }
}

// ---- Life cycle -------------------------------------------------------------------------------------------

#[test]
fn init_and_fini_are_counted_and_repeatable() {
    let Some(tools) = Toolbox::new("lifecycle") else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.program("lifecycle", "lifecycle.c", &[]);
    let outcome = tools.run(&program, &[], &[]);
    assert!(outcome.passed(), "{}", outcome.describe(&program));
}

#[test]
fn failed_registration_is_tried_again() {
    let Some(tools) = Toolbox::new("retry") else {
        return;
    };
    let image = tools.probe_image(IMAGE);
    let program = tools.program("retry", "retry.c", &[]);
    let missing = tools.file("missing.cubin");
    let outcome = tools.run(
        &program,
        &[&image],
        &[("REX_CUBIN_PATH", &missing.to_string_lossy())],
    );
    assert!(outcome.passed(), "{}", outcome.describe(&program));
    assert_eq!(
        outcome
            .stderr
            .matches("cannot read the device image")
            .count(),
        1,
        "said once: {}",
        outcome.stderr
    );
}

#[test]
fn launches_before_and_after_main_work() {
    let Some(tools) = Toolbox::new("early") else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.program("early", "early.cpp", &[]);
    tools.check_passes(&program, &[]);
}

#[test]
fn a_killed_program_leaves_no_files() {
    let Some(tools) = Toolbox::new("killed") else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.program("threads", "threads.cpp", &[]);
    let files = || {
        let mut names: Vec<_> = fs::read_dir(&tools.work)
            .expect("the folder can be read")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort();
        names
    };
    let before = files();
    for moment in ["rex: image:", "rex: registered", ": launch"] {
        let mut running = Command::new(&program)
            .current_dir(&tools.work)
            .env("TMPDIR", &tools.work)
            .env("REX_VERBOSE", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stderr = running.stderr.take().expect("it is a pipe");
        let reached = BufReader::new(stderr)
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains(moment));
        running.kill().expect("the program can be killed");
        running.wait().expect("the program ends");
        assert!(reached, "{moment}");
        assert_eq!(files(), before, "killed after {moment}");
    }
}

#[test]
fn concurrent_first_use_registers_once() {
    let Some(tools) = Toolbox::new("threads") else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.program("threads", "threads.cpp", &[]);
    tools.check_passes(&program, &[]);
    let verbose = tools.run(&program, &[], &[("REX_VERBOSE", "1")]);
    let first_launch = verbose.stderr.find("launch").expect("launches are printed");
    assert_eq!(
        verbose.stderr[..first_launch]
            .matches("rex: registered")
            .count(),
        1
    );
}

#[test]
fn registration_is_free_of_data_races() {
    let Some(tools) = Toolbox::new("tsan") else {
        return;
    };
    let sanitizer = "-fsanitize=thread";
    let probe = tools.file("empty.cpp");
    fs::write(&probe, "int main() {}").expect("the file can be written");
    if !tools
        .compiler("g++")
        .arg(sanitizer)
        .arg(&probe)
        .arg("-o")
        .arg(tools.file("empty"))
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("skipped: no ThreadSanitizer");
        return;
    }
    tools.probe_image(IMAGE);
    let program = tools.program("threads", "threads.cpp", &[sanitizer, "-g"]);
    let options = format!("suppressions={}", program_file("llvm.supp").display());
    let outcome = tools.run(
        &program,
        &[],
        &[
            ("TSAN_OPTIONS", &options),
            ("OMP_TARGET_OFFLOAD", "MANDATORY"),
        ],
    );
    assert!(
        outcome.passed() && !outcome.stderr.contains("WARNING: ThreadSanitizer"),
        "{}",
        outcome.describe(&program)
    );
}

#[test]
fn images_of_several_libraries_come_and_go() {
    let Some(tools) = Toolbox::new("libraries") else {
        return;
    };
    tools.probe_image(IMAGE);
    let library = |name: &str, step: &str| {
        let image = tools.image(&format!("{name}.cubin"), "probe.cu", &[step]);
        let embedded = format!("-DREX_EMBED_IMAGE=\"{}\"", image.display());
        tools.program(
            &format!("lib{name}.so"),
            "library.c",
            &["-shared", &embedded],
        )
    };
    let (tens, hundreds) = (
        library("tens", "-DSTEP=10"),
        library("hundreds", "-DSTEP=100"),
    );
    let program = tools.program("libraries", "libraries.c", &[]);
    let outcome = tools.run(&program, &[&tens, &hundreds], &[]);
    assert!(outcome.passed(), "{}", outcome.describe(&program));
}

#[test]
fn openmp_of_the_host_compiler_lives_beside_it() {
    let Some(tools) = Toolbox::new("host-openmp") else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.link(
        "host_openmp",
        &[
            tools.object("host_openmp.c", &["-fopenmp"]),
            tools.registration(),
        ],
        &["-fopenmp"],
    );
    tools.check_passes(&program, &[]);
}

// ---- Images -----------------------------------------------------------------------------------------------

/// Runs `probe` with an image in each policy: mandatory, default and disabled.
fn check_refused(tools: &Toolbox, probe: &Path, image: &Path, reasons: &[&str]) {
    let path = image.to_string_lossy();
    let run = |policy: &str| {
        tools.run(
            probe,
            &[],
            &[("REX_CUBIN_PATH", &path), ("OMP_TARGET_OFFLOAD", policy)],
        )
    };

    let fallback = run("DEFAULT");
    let describe = |outcome: &Outcome| outcome.describe(image);
    assert_eq!(
        (fallback.status, fallback.stdout.as_str()),
        (Some(0), "host\n"),
        "{}",
        describe(&fallback)
    );
    let mut lines = fallback.stderr.lines();
    let line = lines.next().unwrap_or_default();
    assert!(
        line.starts_with("rex: ") && reasons.iter().all(|reason| line.contains(reason)),
        "{}",
        describe(&fallback)
    );
    assert_eq!(lines.next(), None, "one line: {}", describe(&fallback));

    let mandatory = run("MANDATORY");
    assert_eq!(
        (mandatory.status, mandatory.stdout.as_str()),
        (Some(1), ""),
        "{}",
        describe(&mandatory)
    );
    assert!(
        mandatory.stderr.starts_with(line)
            && mandatory.stderr.contains("OMP_TARGET_OFFLOAD is mandatory"),
        "{}",
        describe(&mandatory)
    );

    let disabled = run("DISABLED");
    assert_eq!(
        (
            disabled.status,
            disabled.stdout.as_str(),
            disabled.stderr.as_str()
        ),
        (Some(0), "host\n", ""),
        "{}",
        describe(&disabled)
    );
}

#[test]
fn unusable_images_are_refused_each_with_its_reason() {
    let Some(tools) = Toolbox::new("images") else {
        return;
    };
    let good = tools.probe_image("good.cubin");
    let probe = tools.program("probe", "probe.c", &[]);
    let bytes = fs::read(&good).expect("the image can be read");
    let write = |name: &str, content: &[u8]| {
        let path = tools.file(name);
        fs::write(&path, content).expect("the image can be written");
        path
    };
    let patched = |name: &str, from: &[u8], patches: &[(usize, u8)]| {
        let mut content = from.to_vec();
        for &(at, byte) in patches {
            content[at] = byte;
        }
        write(name, &content)
    };

    check_refused(
        &tools,
        &probe,
        &tools.file("nowhere"),
        &[
            "cannot read the device image",
            "nowhere (No such file",
            "--embed-image",
        ],
    );
    check_refused(
        &tools,
        &probe,
        &write("zero", b""),
        &["zero is empty", "build the device image again"],
    );
    check_refused(
        &tools,
        &probe,
        &write("half", &bytes[..bytes.len() / 2]),
        &["half is truncated"],
    );
    check_refused(
        &tools,
        &probe,
        &write("head", &bytes[..20]),
        &["head is truncated"],
    );
    check_refused(
        &tools,
        &probe,
        &write("text", b"__global__ void k() {}"),
        &["text is not an ELF file"],
    );
    check_refused(
        &tools,
        &probe,
        &patched("arm", &bytes, &[(18, 183)]),
        &["arm is for another machine (ELF machine 183)"],
    );
    check_refused(
        &tools,
        &probe,
        &patched("object", &bytes, &[(16, 1)]),
        &["object is not a shared object", "-shared"],
    );
    let empty = tools.image("empty", "empty.cu", &[]);
    check_refused(
        &tools,
        &probe,
        &empty,
        &["lacks probe__kernel____host_entry", "same lowering"],
    );
    let other = tools.image(
        "other",
        "probe.cu",
        &["-UREX_LLVM_ABI", "-DREX_LLVM_ABI=16"],
    );
    check_refused(
        &tools,
        &probe,
        &other,
        &["built for another LLVM", "-DREX_LLVM_ABI=19"],
    );

    // A cubin of CUDA 12, then of CUDA 13; a machine with a GPU gives another reason for the first.
    let cubin = tools.file("cubin.so");
    must_succeed(
        tools
            .compiler("gcc")
            .args(["-shared", "-fPIC"])
            .arg(program_file("cubin.c"))
            .arg("-o")
            .arg(&cubin),
    );
    let cubin = fs::read(cubin).expect("the object can be read");
    let gpu = if Path::new("/proc/driver/nvidia").exists() {
        "the image is for sm_"
    } else {
        "no NVIDIA"
    };
    check_refused(
        &tools,
        &probe,
        &patched("cuda12", &cubin, &[(18, 190), (8, 7), (48, 10)]),
        &[gpu],
    );
    check_refused(
        &tools,
        &probe,
        &patched("cuda13", &cubin, &[(18, 190), (8, 8), (49, 10)]),
        &["written by CUDA 13, which LLVM 19 cannot load", gpu],
    );
}

#[test]
fn contexts_of_gpus_spin_unless_they_exist_or_nobody_wants_it() {
    let Some(tools) = Toolbox::new("spin") else {
        return;
    };
    let shared = ["-shared", "-fPIC"];
    let cuda = tools.file("cuda");
    fs::create_dir(&cuda).expect("the folder can be made");
    let library = |source: &str, output: &Path| {
        let mut command = tools.compiler("gcc");
        command.args(shared).arg(program_file(source));
        must_succeed(command.arg("-o").arg(output));
    };
    library("fake_cuda.c", &cuda.join("libcuda.so.1"));
    let image = tools.file(IMAGE);
    library("cubin.c", &image);
    let mut bytes = fs::read(&image).expect("the object can be read");
    for (at, byte) in [(18, 190), (8, 7), (48, 90), (49, 0)] {
        bytes[at] = byte; // a cubin of CUDA 12 for sm_90
    }
    fs::write(&image, bytes).expect("the image can be written");

    let made = |program: &Path, variables: &[(&str, &str)]| {
        let cuda = cuda.to_string_lossy();
        let mut all = vec![("LD_LIBRARY_PATH", &*cuda)];
        all.extend(variables);
        tools.run(program, &[], &all).stdout
    };
    let program = tools.program("init_only", "init_only.c", &[]);
    assert_eq!(made(&program, &[]), "flags of 0: 1\nretained 0\n");
    assert_eq!(made(&program, &[("FAKE_CUDA_ACTIVE", "1")]), "");
    assert_eq!(made(&program, &[("REX_CUDA_SPIN", "0")]), "");
    let sleeping = tools.program("sleeping", "init_only.c", &["-DREX_CUDA_SPIN=0"]);
    assert_eq!(made(&sleeping, &[]), "");
    assert_eq!(
        made(&sleeping, &[("REX_CUDA_SPIN", "1")]),
        "flags of 0: 1\nretained 0\n"
    );
}

#[test]
fn images_are_found_in_the_documented_order() {
    let Some(tools) = Toolbox::new("search") else {
        return;
    };
    let image = tools.probe_image("elsewhere.cubin");
    let folder = tools.file("folder");
    fs::create_dir(&folder).expect("the folder can be made");
    fs::copy(&image, folder.join(IMAGE)).expect("the image can be copied");
    let program = tools.program("probe", "probe.c", &[]);
    let moved = folder.join("probe");
    fs::copy(&program, &moved).expect("the program can be copied");

    let place = |program: &Path, path: &str| {
        let variables: &[(&str, &str)] = &[("REX_VERBOSE", "1"), ("REX_CUBIN_PATH", path)];
        let outcome = tools.run(program, &[], variables);
        let line = outcome
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("rex: image: "))
            .unwrap_or_default()
            .to_owned();
        assert_eq!(
            outcome.stdout == "device\n",
            !line.is_empty(),
            "{}",
            outcome.describe(program)
        );
        PathBuf::from(line)
    };
    assert_eq!(place(&program, ""), PathBuf::new());
    assert_eq!(
        place(&program, "elsewhere.cubin"),
        PathBuf::from("elsewhere.cubin")
    );
    assert_eq!(
        place(&program, "folder"),
        PathBuf::from("folder").join(IMAGE)
    );
    assert_eq!(place(&moved, ""), folder.join(IMAGE));
    fs::copy(&image, tools.file(IMAGE)).expect("the image can be copied");
    assert_eq!(
        place(&moved, ""),
        folder.join(IMAGE),
        "beside the program comes first"
    );
    fs::remove_file(folder.join(IMAGE)).expect("the image can be removed");
    assert_eq!(
        place(&moved, ""),
        Path::new(".").join(IMAGE),
        "then the current folder"
    );

    let embedded = tools.program(
        "embedded",
        "probe.c",
        &[&format!("-DREX_EMBED_IMAGE=\"{}\"", image.display())],
    );
    fs::remove_file(&image).expect("the image can be removed");
    assert_eq!(place(&embedded, ""), PathBuf::from("embedded"));
    assert_eq!(
        place(&embedded, IMAGE),
        PathBuf::from(IMAGE),
        "an explicit wish wins"
    );
}

// ---- ABI --------------------------------------------------------------------------------------------------

#[test]
fn wrong_pairings_are_refused_with_one_line() {
    let Some(tools) = Toolbox::new("pairings") else {
        return;
    };
    let image = tools.probe_image(IMAGE);
    for abi in ["16", "22"] {
        let flags = ["-UREX_LLVM_ABI", &format!("-DREX_LLVM_ABI={abi}")];
        let program = tools.program(&format!("probe{abi}"), "probe.c", &flags);
        let loaded = format!("built for libomptarget of LLVM {abi} but LLVM 19 is loaded");
        check_refused(
            &tools,
            &program,
            &image,
            &[&loaded, "compile with -DREX_LLVM_ABI=19"],
        );
    }
    // Files of one program that disagree do not link.
    let object = tools.object("probe.c", &["-UREX_LLVM_ABI", "-DREX_LLVM_ABI=18"]);
    let output = Command::new("gcc")
        .arg(&object)
        .arg(tools.registration())
        .output()
        .expect("gcc runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("rex_compiled_for_LLVM_ABI_18"));
}

#[test]
fn a_missing_runtime_is_reported() {
    let Some(tools) = Toolbox::new("no-runtime") else {
        return;
    };
    let image = tools.probe_image(IMAGE);
    // A library may be linked without libomptarget; what it calls is looked for when it calls it.
    let library = tools.file("libprobe.so");
    let mut command = Command::new("g++");
    command
        .arg("-shared")
        .arg(tools.object("library.c", &[]))
        .arg(tools.registration());
    must_succeed(
        command
            .args(["-ldl", "-pthread", "-Wl,-z,lazy", "-o"])
            .arg(&library),
    );
    let source = tools.file("main.c");
    fs::write(&source, "#include <stdio.h>\nint library_probe(int *);\nint main(void) { int value = 0; puts(library_probe(&value) ? \"host\" : \"device\"); return 0; }\n")
        .expect("the file can be written");
    let program = tools.file("main");
    let mut command = tools.compiler("gcc");
    command.arg(&source).arg(&library).args([
        "-Wl,--allow-shlib-undefined",
        "-Wl,-rpath,$ORIGIN",
        "-o",
    ]);
    must_succeed(command.arg(&program));
    check_refused(
        &tools,
        &program,
        &image,
        &["libomptarget is not loaded", "-lomptarget -lomp"],
    );
}

#[test]
fn host_header_is_clean_in_every_language_version() {
    let Some(tools) = Toolbox::new("header") else {
        return;
    };
    let c = tools.file("header.c");
    let cpp = tools.file("header.cpp");
    // Names that other headers would take: the program's own.
    let program = "int index = 1; double y0, y1; int remove(int which) { return which; }\n#include \"rex_kmp.h\"\n#include \"probe.h\"\nint main(void) { int value = 0; rex_offload_init(); return probe(&value) + index - 1 + (int)(y0 + y1) + remove(0); }\n";
    let program = program.replace("#include <stdio.h>", "");
    fs::write(&c, program.replace("remove", "renounce")).expect("the file can be written");
    fs::write(&cpp, program.replace("remove", "renounce")).expect("the file can be written");
    let check = |compiler: &str, standard: &str, abi: u32, file: &Path| {
        let mut command = Command::new(compiler);
        command.args([
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "-fsyntax-only",
            "-fno-builtin",
            "-Wno-long-long",
        ]);
        command
            .arg(format!("-std={standard}"))
            .arg(format!("-DREX_LLVM_ABI={abi}"));
        must_succeed(
            command
                .arg("-I")
                .arg(runtime_folder())
                .arg("-I")
                .arg(toolbox::programs_folder())
                .arg(file),
        );
    };
    let compilers: &[(&str, &str)] = if is_installed("clang-19") {
        &[("gcc", "g++"), ("clang-19", "clang++-19")]
    } else {
        &[("gcc", "g++")]
    };
    for (c_compiler, cpp_compiler) in compilers {
        for abi in 14..=22 {
            check(c_compiler, "c99", abi, &c);
            check(cpp_compiler, "c++98", abi, &cpp);
        }
        for standard in ["c11", "c17", "gnu2x"] {
            check(c_compiler, standard, 19, &c);
        }
        for standard in ["c++11", "c++14", "c++17", "c++20"] {
            check(cpp_compiler, standard, 22, &cpp);
        }
    }
}

/// What clang of one version writes into a program with a target region.
fn clang_layout(tools: &Toolbox, version: u32) -> Option<String> {
    let clang = format!("clang-{version}");
    if !is_installed(&clang) {
        println!("skipped: no {clang}");
        return None;
    }
    let source = tools.file("target.c");
    fs::write(&source, "void f(int *a, int n) {\n#pragma omp target teams distribute parallel for map(tofrom : a[0:n])\n  for (int i = 0; i < n; i++) a[i]++;\n}\n").expect("the file can be written");
    let mut command = Command::new(clang);
    command.args([
        "-fopenmp",
        "-fopenmp-targets=x86_64-pc-linux-gnu",
        "--offload-host-only",
        "-O0",
        "-S",
        "-emit-llvm",
    ]);
    Some(must_succeed(command.arg(&source).args(["-o", "-"])))
}

#[test]
fn layouts_are_those_of_clang() {
    let Some(tools) = Toolbox::new("layout") else {
        return;
    };
    let arguments =
        "{ i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, [3 x i32], [3 x i32], i32 }";
    if let Some(ir) = clang_layout(&tools, 19) {
        assert!(ir.contains("%struct.__tgt_offload_entry = type { ptr, ptr, i64, i32, i32 }"));
        assert!(ir.contains("section \"omp_offloading_entries\""));
        assert!(ir.contains(&format!(
            "%struct.__tgt_kernel_arguments = type {arguments}"
        )));
        assert!(ir.contains("store i32 3, ptr"), "packet version");
        assert!(ir.contains("@__tgt_target_kernel(ptr @"));
        assert!(
            ir.contains("[2 x i64] [i64 35, i64 800]")
                || ir.contains("[2 x i64] [i64 800, i64 35]"),
            "map types 0x23 and 0x320"
        );
    }
    if let Some(ir) = clang_layout(&tools, 22) {
        assert!(ir.contains("%struct.__tgt_offload_entry { i64 0, i16 1, i16 1, i32 0, ptr"));
        assert!(ir.contains(
            "%struct.__tgt_offload_entry = type { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr }"
        ));
        assert!(ir.contains(&format!(
            "%struct.__tgt_kernel_arguments = type {arguments}"
        )));
        assert!(ir.contains("store i32 3, ptr"), "packet version");
    }
}
