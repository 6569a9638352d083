//! Plans as text.

use super::*;
use crate::toolchain::{HostCompiler, Version};
use expect_test::{Expect, expect};

struct Case {
    sources: &'static [&'static str],
    lowered: usize,
    flags: &'static str,
    device: DeviceTarget,
    placement: ImagePlacement,
}

fn check_plan(case: &Case, expected: Expect) {
    let compiler = |program: &str| HostCompiler {
        program: program.into(),
        leading: Vec::new(),
        family: Family::Gnu,
        version: String::new(),
    };
    let host = HostCompilers {
        c: compiler("gcc"),
        cxx: compiler("g++"),
    };
    let runtime = OffloadRuntime {
        libomptarget: "/llvm/lib/libomptarget.so".into(),
        liboffload: None,
        libomp: "/llvm/lib/libomp.so".into(),
        abi: 19,
        absent: Vec::new(),
    };
    let (flags, _) = CompilerFlags::extract(case.flags.split_whitespace().map(Into::into), &[]);
    let units: Vec<Unit> = case
        .sources
        .iter()
        .enumerate()
        .map(|(unit_idx, source)| Unit {
            source: source.into(),
            language: Language::from_file_name(source).unwrap(),
            flags: flags.clone(),
            lowered: (unit_idx < case.lowered).then(|| {
                let name = Path::new(source).file_name().unwrap().to_str().unwrap();
                let stem = name.split('.').next().unwrap();
                LoweredUnit {
                    host: Path::new("work").join(format!("rose_{name}")),
                    device: Some(Path::new("work").join(format!("rex_lib_{stem}.cu"))),
                }
            }),
        })
        .collect();
    let plan = plan(&BuildRequest {
        units: &units,
        link_inputs: &[],
        flags: &flags,
        host: &host,
        runtime: (case.lowered > 0).then_some(&runtime),
        device: &case.device,
        placement: case.placement,
        work: Path::new("work"),
        output: Path::new("bin/prog"),
    });
    let text: Vec<String> = plan
        .stages
        .iter()
        .map(|stage| stage.iter().map(|command| format!("{command}\n")).collect())
        .collect();
    expected.assert_eq(&text.join("--\n"));
}

fn nvcc(major: u32) -> DeviceTarget {
    let cuda = Version { major, minor: 0 };
    DeviceTarget::Nvptx {
        arch: "sm_90".into(),
        compiler: DeviceCompiler::Nvcc {
            nvcc: "nvcc".into(),
            cuda,
        },
    }
}

#[test]
fn a_program_for_the_host_device() {
    let case = Case {
        sources: &["src/axpy.c"],
        lowered: 1,
        flags: "-O3 -Iinc -DN=4 -lrt -Wall",
        device: DeviceTarget::Host,
        placement: ImagePlacement::Embedded,
    };
    check_plan(
        &case,
        expect![[r#"
            gcc -DREX_LLVM_ABI=19 -iquote src -I work -ffile-prefix-map=work=rex -ffile-prefix-map=work/rose_axpy.c=src/axpy.c -O3 -Iinc -DN=4 -Wall -fopenmp -foffload=disable -c work/rose_axpy.c -o work/axpy.o
            printf %s 'SECTIONS { /DISCARD/ : { *(.init_array .init_array.* .ctors .ctors.*) } }' > work/image_sections.ld && g++ -x c++ -std=gnu++17 -fPIC -ffunction-sections -fdata-sections -DREX_DEVICE_HOST -Wno-narrowing -fno-gnu-unique '-DREX_DEVICE_SOURCE="rex_lib_axpy.cu"' -DREX_LLVM_ABI=19 -iquote src -I work -ffile-prefix-map=work=rex -O3 -Iinc -DN=4 -r -nostdlib -Wl,-T,work/image_sections.ld work/rex_nvidia.cu -o work/rex_lib_axpy.device.o
            g++ -O1 -fPIC -DREX_LLVM_ABI=19 '-DREX_EMBED_IMAGE="rex_lib_nvidia.image.so"' -S work/register_cubin.cpp -o work/register_cubin.s
            --
            printf %s '{ global: *; *__kernel__*; _ZZN*10rex_object; _Z*B5cxx11; *__image_entry; local: _Z[!N]*; extern "C++" { *[$-*]; *[$-*]?const; *[$-*]?volatile; }; };' > work/image_symbols.map && g++ work/rex_lib_axpy.device.o -shared -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,defs -Wl,--version-script=work/image_symbols.map -lm -lpthread -o work/rex_lib_nvidia.image.so
            --
            g++ -Xassembler -I -Xassembler work -c work/register_cubin.s -o work/register_cubin.o
            --
            g++ work/axpy.o work/register_cubin.o -lrt -Wl,-rpath,/llvm/lib -Wl,--no-as-needed /llvm/lib/libomptarget.so /llvm/lib/libomp.so -lm -lpthread -ldl -o bin/prog
        "#]],
    );
}

#[test]
fn c_and_cxx_for_a_gpu_with_nvcc() {
    let case = Case {
        sources: &["main.cpp", "kernel.c"],
        lowered: 2,
        flags: "-std=c++20 -iquote q -isystem s -ffast-math",
        device: nvcc(12),
        placement: ImagePlacement::Beside,
    };
    check_plan(
        &case,
        expect![[r#"
            g++ -DREX_LLVM_ABI=19 -iquote . -I work -ffile-prefix-map=work=rex -ffile-prefix-map=work/rose_main.cpp=main.cpp -std=c++20 -iquote q -isystem s -ffast-math -fopenmp -foffload=disable -c work/rose_main.cpp -o work/main.o
            gcc -DREX_LLVM_ABI=19 -iquote . -I work -ffile-prefix-map=work=rex -ffile-prefix-map=work/rose_kernel.c=kernel.c -iquote q -isystem s -ffast-math -fopenmp -foffload=disable -c work/rose_kernel.c -o work/kernel.o
            nvcc -arch=sm_90 -ccbin=g++ -std=c++20 -O3 --expt-relaxed-constexpr -diag-suppress=20012,20014,20091,20257 -Xcompiler -include -Xcompiler work/rex_nvidia.h '-DREX_DEVICE_SOURCE="rex_lib_main.cu"' -DREX_LLVM_ABI=19 -Xcompiler -iquote -Xcompiler . -I work -Xcompiler -iquote -Xcompiler q -isystem s --use_fast_math -rdc=true -cubin work/rex_nvidia.cu -o work/rex_lib_main.device.o
            nvcc -arch=sm_90 -ccbin=g++ -std=c++20 -O3 --expt-relaxed-constexpr -diag-suppress=20012,20014,20091,20257 -Xcompiler -include -Xcompiler work/rex_nvidia.h '-DREX_DEVICE_SOURCE="rex_lib_kernel.cu"' -DREX_LLVM_ABI=19 -Xcompiler -iquote -Xcompiler . -I work -Xcompiler -iquote -Xcompiler q -isystem s --use_fast_math -rdc=true -cubin work/rex_nvidia.cu -o work/rex_lib_kernel.device.o
            g++ -O1 -fPIC -DREX_LLVM_ABI=19 '-DREX_IMAGE_NAME="prog.cubin"' -S work/register_cubin.cpp -o work/register_cubin.s
            --
            nvcc -arch=sm_90 -ccbin=g++ -dlink -cubin work/rex_lib_main.device.o work/rex_lib_kernel.device.o -o bin/prog.cubin
            --
            g++ -Xassembler -I -Xassembler . -c work/register_cubin.s -o work/register_cubin.o
            --
            g++ work/main.o work/kernel.o work/register_cubin.o -Wl,-rpath,/llvm/lib -Wl,--no-as-needed /llvm/lib/libomptarget.so /llvm/lib/libomp.so -lm -lpthread -ldl -o bin/prog
        "#]],
    );
}

#[test]
fn a_gpu_with_clang_and_ptxas() {
    let compiler = DeviceCompiler::Clang {
        clang: "clang-19".into(),
        version: Version {
            major: 19,
            minor: 1,
        },
        ptxas: "/cuda/bin/ptxas".into(),
        cuda: Version {
            major: 12,
            minor: 9,
        },
    };
    let case = Case {
        sources: &["axpy.c"],
        lowered: 1,
        flags: "",
        device: DeviceTarget::Nvptx {
            arch: "sm_80".into(),
            compiler,
        },
        placement: ImagePlacement::Embedded,
    };
    check_plan(
        &case,
        expect![[r#"
            gcc -DREX_LLVM_ABI=19 -iquote . -I work -ffile-prefix-map=work=rex -ffile-prefix-map=work/rose_axpy.c=axpy.c -fopenmp -foffload=disable -c work/rose_axpy.c -o work/axpy.o
            clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -std=gnu++17 -O3 '-DREX_DEVICE_SOURCE="rex_lib_axpy.cu"' -DREX_LLVM_ABI=19 -iquote . -I work -ffile-prefix-map=work=rex -S work/rex_nvidia.cu -o work/rex_lib_nvidia.ptx
            g++ -O1 -fPIC -DREX_LLVM_ABI=19 '-DREX_EMBED_IMAGE="rex_lib_nvidia.cubin"' -S work/register_cubin.cpp -o work/register_cubin.s
            --
            /cuda/bin/ptxas -arch=sm_80 -O3 work/rex_lib_nvidia.ptx -o work/rex_lib_nvidia.cubin
            --
            g++ -Xassembler -I -Xassembler work -c work/register_cubin.s -o work/register_cubin.o
            --
            g++ work/axpy.o work/register_cubin.o -Wl,-rpath,/llvm/lib -Wl,--no-as-needed /llvm/lib/libomptarget.so /llvm/lib/libomp.so -lm -lpthread -ldl -o bin/prog
        "#]],
    );
}

#[test]
fn files_with_nothing_to_offload_are_compiled_as_they_are() {
    let case = Case {
        sources: &["a/util.c", "b/util.c"],
        lowered: 0,
        flags: "",
        device: DeviceTarget::Host,
        placement: ImagePlacement::Embedded,
    };
    check_plan(
        &case,
        expect![[r#"
            gcc -fopenmp -foffload=disable -c a/util.c -o work/util.o
            gcc -fopenmp -foffload=disable -c b/util.c -o work/util-1.o
            --
            gcc work/util.o work/util-1.o -fopenmp -lm -o bin/prog
        "#]],
    );
}

#[test]
fn liboffload_is_compiled_in_as_the_choice() {
    let cxx = HostCompiler {
        program: "g++".into(),
        leading: Vec::new(),
        family: Family::Gnu,
        version: String::new(),
    };
    let runtime = OffloadRuntime {
        libomptarget: "/llvm/lib/libomptarget.so".into(),
        libomp: "/llvm/lib/libomp.so".into(),
        abi: 22,
        liboffload: Some("/llvm/lib/libLLVMOffload.so.22.1".into()),
        absent: Vec::new(),
    };
    let flags = CompilerFlags::default();
    let compile = registration(&cxx, &flags, &runtime, Path::new("work"), None).compile;
    expect![[r#"g++ -O1 -fPIC -DREX_LLVM_ABI=22 '-DREX_RUNTIME="liboffload"' '-DREX_LIBOFFLOAD="/llvm/lib/libLLVMOffload.so.22.1"' -S work/register_cubin.cpp -o work/register_cubin.s"#]].assert_eq(&compile.to_string());
}
