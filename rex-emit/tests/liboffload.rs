//! The helper files over liboffload: data environment, queues, life cycle and messages.
//!
//! LLVM's own liboffload launches on GPUs only, so these tests bring one that runs images for the host device
//! (`tests/runtime/fake_liboffload.cpp`).

#![expect(clippy::print_stdout, reason = "a test that cannot run says why")]

#[path = "runtime/toolbox.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod toolbox;

use std::fs;
use std::path::{Path, PathBuf};

use toolbox::{Outcome, Toolbox, must_succeed, program_file};

const IMAGE: &str = "rex_lib_nvidia.cubin";

/// A toolbox and the path of a liboffload for it.
fn prepare(test: &str, flags: &[&str]) -> Option<(Toolbox, String)> {
    let tools = Toolbox::new(test)?;
    let library = tools.file("liboffload.so");
    let mut command = tools.compiler("g++");
    command
        .args(["-std=c++17", "-shared", "-fPIC", "-g"])
        .args(flags)
        .arg(program_file("fake_liboffload.cpp"))
        .args(["-ldl", "-pthread", "-o"])
        .arg(&library);
    must_succeed(&mut command);
    let library = library.to_string_lossy().into_owned();
    Some((tools, library))
}

fn run(
    tools: &Toolbox,
    library: &str,
    program: &Path,
    arguments: &[&Path],
    more: &[(&str, &str)],
) -> Outcome {
    let mut variables = vec![("REX_RUNTIME", "liboffload"), ("REX_LIBOFFLOAD", library)];
    variables.extend(more);
    tools.run(program, arguments, &variables)
}

fn check_passes(tools: &Toolbox, library: &str, program: &Path, arguments: &[&Path]) {
    let outcome = run(tools, library, program, arguments, &[]);
    assert!(outcome.passed(), "{}", outcome.describe(program));
}

#[test]
fn data_environment_is_as_openmp_says() {
    let Some((tools, library)) = prepare("ol-environment", &[]) else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.program("environment", "environment.cpp", &[]);
    check_passes(&tools, &library, &program, &[]);
    for (what, reason) in [
        ("present", "must be present on the device"),
        ("extension", "a part of it is mapped already"),
        ("device", "there is no device 9, only 2"),
    ] {
        let outcome = run(&tools, &library, &program, &[Path::new(what)], &[]);
        assert!(
            outcome.status.is_none() && outcome.stderr.contains(reason),
            "{}",
            outcome.describe(&program)
        );
    }
}

#[test]
fn launches_are_queued_and_waited_for_once() {
    let Some((tools, library)) = prepare("ol-queue", &[]) else {
        return;
    };
    tools.probe_image(IMAGE);
    let program = tools.program("environment", "environment.cpp", &[]);
    let arguments = [Path::new("queue")];
    let outcome = run(&tools, &library, &program, &arguments, &[("FAKE_LOG", "1")]);
    assert!(outcome.passed(), "{}", outcome.describe(&program));
    let log = "100 launches, 1 transfers in, 1 out, 1 waits, 1 queues, 1 allocations";
    assert!(outcome.stderr.contains(log), "{}", outcome.stderr);
}

#[test]
fn every_call_shape_works_for_every_form_of_image() {
    let Some((tools, library)) = prepare("ol-shapes", &[]) else {
        return;
    };
    // 16: kernels without the hidden parameter, entries of 32 bytes; 22: with it, and of 56 bytes.
    for abi in ["16", "19", "22"] {
        let flags = ["-UREX_LLVM_ABI", &format!("-DREX_LLVM_ABI={abi}")];
        tools.image(IMAGE, "kernels.cu", &flags);
        let program = tools.program(&format!("kernels{abi}"), "kernels.c", &flags);
        check_passes(&tools, &library, &program, &[]);
    }
}

#[test]
fn life_cycle_is_that_of_libomptarget() {
    let Some((tools, library)) = prepare("ol-lifecycle", &[]) else {
        return;
    };
    let image = tools.probe_image(IMAGE);
    for source in ["lifecycle.c", "early.cpp", "threads.cpp"] {
        let program = tools.program(&format!("{source}.exe"), source, &[]);
        let outcome = run(&tools, &library, &program, &[], &[("FAKE_LOG", "1")]);
        assert!(outcome.passed(), "{}", outcome.describe(&program));
        let ended = source != "early.cpp"; // all inits have their finis
        let counted = outcome.stderr.contains(" 0 users");
        assert_eq!(counted, ended, "{}", outcome.describe(&program));
    }
    let program = tools.program("retry", "retry.c", &[]);
    let missing = tools.file("missing.cubin");
    let missing = missing.to_string_lossy();
    let outcome = run(
        &tools,
        &library,
        &program,
        &[&image],
        &[("REX_CUBIN_PATH", &missing)],
    );
    assert!(outcome.passed(), "{}", outcome.describe(&program));
}

#[test]
fn images_of_several_libraries_share_the_environment() {
    let Some((tools, library)) = prepare("ol-libraries", &[]) else {
        return;
    };
    tools.probe_image(IMAGE);
    let shared = |name: &str, step: &str| {
        let image = tools.image(&format!("{name}.cubin"), "probe.cu", &[step]);
        let embedded = format!("-DREX_EMBED_IMAGE=\"{}\"", image.display());
        let output = format!("lib{name}.so");
        tools.program(&output, "library.c", &["-shared", &embedded])
    };
    let (tens, hundreds) = (
        shared("tens", "-DSTEP=10"),
        shared("hundreds", "-DSTEP=100"),
    );
    let program = tools.program("libraries", "libraries.c", &[]);
    let outcome = run(
        &tools,
        &library,
        &program,
        &[&tens, &hundreds],
        &[("FAKE_LOG", "1")],
    );
    assert!(outcome.passed(), "{}", outcome.describe(&program));
    assert!(outcome.stderr.contains(" 1 queues"), "{}", outcome.stderr);
}

#[test]
fn data_environment_is_free_of_data_races() {
    let sanitizer = "-fsanitize=thread";
    let Some(tools) = Toolbox::new("ol-tsan-probe") else {
        return;
    };
    let empty = tools.file("empty.cpp");
    fs::write(&empty, "int main() {}").expect("the file can be written");
    let mut command = tools.compiler("g++");
    command.arg(sanitizer).arg(&empty).arg("-o");
    if !command
        .arg(tools.file("empty"))
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("skipped: no ThreadSanitizer");
        return;
    }
    let Some((tools, library)) = prepare("ol-tsan", &[sanitizer]) else {
        return;
    };
    tools.probe_image(IMAGE);
    let options = format!("suppressions={}", program_file("llvm.supp").display());
    for source in ["threads.cpp", "environment.cpp"] {
        let program = tools.program(&format!("{source}.exe"), source, &[sanitizer, "-g"]);
        let outcome = run(
            &tools,
            &library,
            &program,
            &[],
            &[("TSAN_OPTIONS", &options)],
        );
        assert!(
            outcome.passed() && !outcome.stderr.contains("WARNING: ThreadSanitizer"),
            "{}",
            outcome.describe(&program)
        );
    }
}

#[test]
fn what_cannot_carry_the_calls_is_said_in_one_line() {
    let Some((tools, library)) = prepare("ol-refused", &[]) else {
        return;
    };
    tools.probe_image(IMAGE);
    let probe = tools.program("probe", "probe.c", &[]);
    let check = |variables: &[(&str, &str)], reason: &str| {
        let outcome = tools.run(&probe, &[], variables);
        assert!(
            outcome.stdout == "host\n"
                && outcome.stderr.lines().count() == 1
                && outcome.stderr.contains(reason),
            "{reason}: {}",
            outcome.describe(&probe)
        );
    };
    check(&[("REX_RUNTIME", "cuda")], "REX_RUNTIME names no runtime");
    let runtime = ("REX_RUNTIME", "liboffload");
    check(
        &[runtime, ("REX_LIBOFFLOAD", "/nowhere.so")],
        "cannot load liboffload (/nowhere.so",
    );
    check(
        &[runtime, ("REX_LIBOFFLOAD", "libm.so.6")],
        "libm.so.6 is not the liboffload of LLVM 22, it lacks olInit",
    );
    check(
        &[runtime, ("REX_LIBOFFLOAD", &library), ("FAKE_DEVICES", "0")],
        "liboffload found no device",
    );

    // The choice may be compiled in; the environment changes it.
    let chosen = [
        "-DREX_RUNTIME=\"liboffload\"",
        &format!("-DREX_LIBOFFLOAD=\"{library}\""),
    ];
    let probe = tools.program("chosen", "probe.c", &chosen);
    for (variables, carrier) in [
        (vec![("REX_VERBOSE", "1")], "with liboffload, 2 devices"),
        (
            vec![("REX_VERBOSE", "1"), ("REX_RUNTIME", "libomptarget")],
            "with LLVM 19",
        ),
    ] {
        let outcome = tools.run(&probe, &[], &variables);
        assert!(
            outcome.stdout == "device\n" && outcome.stderr.contains(carrier),
            "{}",
            outcome.describe(&probe)
        );
    }
}

#[test]
fn the_interface_is_that_of_llvm_22() {
    let Some((tools, _)) = prepare("ol-header", &[]) else {
        return;
    };
    let folder = PathBuf::from("/usr/lib/llvm-22/include/offload");
    if !folder.join("OffloadAPI.h").exists() {
        println!("skipped: no OffloadAPI.h (Debian package liboffload-22-dev)");
        return;
    }
    let source = tools.file("header.cpp");
    let program = "#include <OffloadAPI.h>\n\
        static_assert(sizeof(ol_kernel_launch_size_args_t) == 40, \"\");\n\
        static_assert(OL_DEVICE_INFO_PLATFORM == 1 && OL_PLATFORM_INFO_BACKEND == 3, \"\");\n\
        static_assert(OL_SYMBOL_INFO_GLOBAL_VARIABLE_ADDRESS == 1 && OL_PLATFORM_BACKEND_HOST == 4, \"\");\n\
        static_assert(OL_ALLOC_TYPE_DEVICE == 1 && OL_SYMBOL_KIND_GLOBAL_VARIABLE == 1, \"\");\n";
    fs::write(&source, program).expect("the file can be written");
    let mut command = tools.compiler("g++");
    command.arg("-I").arg(&folder).arg("-fsyntax-only");
    must_succeed(command.arg(&source));
}
