//! `rexcc` and `rexc++` on small projects: objects, archives, shared libraries, dependency files.
//!
//! Needs gcc or clang and LLVM's offload runtime; without them each test says that it is skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails says so"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rex_driver::toolchain::{
    OffloadRequest, Surroundings, find_host_compilers, find_offload_runtime,
};
use tempfile::TempDir;

/// Doubles an array on the device; the exit code counts the wrong elements.
const MAIN: &str = r#"
#include <omp.h>
int more(int *a, int n);
int main(void) {
  int a[100], wrong = 0, on_host = 1;
  for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device();
#pragma omp target teams distribute parallel for map(tofrom: a)
  for (int i = 0; i < 100; i++) a[i] *= 2;
  wrong += more(a, 100);
  for (int i = 0; i < 100; i++) wrong += a[i] != 2 * i + 1;
  return wrong + on_host;
}
"#;

const MORE: &str = r#"
extern "C" int more(int *a, int n) {
#pragma omp target teams distribute parallel for map(tofrom: a[0:n])
  for (int i = 0; i < n; i++) a[i] += 1;
  return 0;
}
"#;

const UNUSED: &str = r#"
int unused(int x) {
#pragma omp target map(tofrom: x)
  x += 1;
  return x;
}
"#;

struct Project(TempDir);

impl Project {
    /// A folder with files, or `None` where the tools are missing.
    fn with(files: &[(&str, &str)]) -> Option<Project> {
        let machine = Surroundings::of_process();
        if find_host_compilers(&machine).is_err()
            || find_offload_runtime(&machine, &OffloadRequest::default()).is_err()
        {
            eprintln!("skipped: no host compiler or no libomptarget");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for name in ["rexcc", "rexc++"] {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rex-driver"), link).unwrap();
        }
        Some(Project(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let program = Path::new(words[0]);
        let own = self.path(words[0]);
        Command::new(if own.exists() { &own } else { program })
            .args(&words[1..])
            .current_dir(self.0.path())
            .env("REX_DEVICE", "host")
            .env("REX_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
            .env("OMP_TARGET_OFFLOAD", "MANDATORY")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Whether a file's bytes hold a text.
    fn holds(&self, name: &str, text: &str) -> bool {
        let bytes = fs::read(self.path(name)).unwrap();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }

    #[track_caller]
    fn check(&self, line: &str) {
        self.check_words(&line.split_whitespace().collect::<Vec<_>>());
    }

    #[track_caller]
    fn check_words(&self, words: &[&str]) {
        let output = self.run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{words:?}: {}\n{stderr}",
            output.status
        );
    }
}

#[test]
fn objects_of_both_languages_are_linked() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp -O2 -Wall -Werror -c main.c");
    project.check("rexc++ -fopenmp -O2 -Wall -Werror -c more.cpp -o more.o");
    project.check("rexc++ -fopenmp main.o more.o -o prog");
    project.check("prog");
}

#[test]
fn sources_are_compiled_and_linked_in_one_command() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp main.c more.cpp -o prog");
    project.check("prog");
}

#[test]
fn only_linked_members_of_an_archive_count() {
    let files = [("main.c", MAIN), ("more.cpp", MORE), ("unused.c", UNUSED)];
    let Some(project) = Project::with(&files) else {
        return;
    };
    project.check("rexcc -fopenmp -c main.c");
    project.check("rexc++ -fopenmp -c more.cpp");
    project.check("rexcc -fopenmp -c unused.c");
    project.check("ar rc libparts.a unused.o more.o");
    project.check("rexcc -fopenmp main.o -L. -lparts -o prog");
    project.check("prog");
    assert!(project.holds("unused.o", "__unused__"));
    assert!(project.holds("prog", "__more__") && !project.holds("prog", "__unused__"));
}

#[test]
fn a_shared_library_has_its_own_image() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexc++ -fopenmp -fPIC -shared more.cpp -o libmore.so");
    project.check("rexcc -fopenmp main.c -L. -lmore -Wl,-rpath,. -o prog");
    project.check("prog");
}

#[test]
fn dependencies_name_the_original_files() {
    let header = ("inc/value.h", "#define VALUE 2\n");
    let source = "#include \"inc/value.h\"\nvoid f(int *a) {\n#pragma omp target map(tofrom: a[0:1])\n  a[0] = VALUE;\n}\n";
    let Some(project) = Project::with(&[header, ("src.c", source)]) else {
        return;
    };
    project.check("rexcc -fopenmp -MMD -MP -c src.c -o out.o");
    let text = fs::read_to_string(project.path("out.d")).unwrap();
    assert_eq!(text, "out.o: src.c inc/value.h\ninc/value.h:\n");
}

#[test]
fn a_program_depends_on_its_sources() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp -MMD main.c more.cpp -o prog");
    let text = |name: &str| fs::read_to_string(project.path(name)).unwrap();
    assert_eq!(text("prog-main.d"), "prog: main.c\n");
    assert_eq!(text("prog-more.d"), "prog: more.cpp\n");
    project.check("rexcc -fopenmp -c more.cpp");
    project.check("rexcc -fopenmp -MMD main.c more.o -o one");
    assert_eq!(text("one.d"), "one: main.c\n");
}

#[test]
fn names_with_blanks_work_and_the_program_knows_its_file() {
    let source = r#"
#include <string.h>
#include "a header.h"
int main(void) {
  int x = 1;
#pragma omp target map(tofrom: x)
  x += ONE;
  return x == 2 && strcmp(__FILE__, "a folder/the file.c") == 0 ? 0 : 1;
}
"#;
    let files = [
        ("a folder/the file.c", source),
        ("a folder/a header.h", "#define ONE 1\n"),
    ];
    let Some(project) = Project::with(&files) else {
        return;
    };
    project.check_words(&[
        "rexcc",
        "-fopenmp",
        "-g",
        "a folder/the file.c",
        "-o",
        "a program",
    ]);
    project.check_words(&["a program"]);
}

#[test]
fn regions_know_the_file_and_the_line_they_stand_in() {
    let program = "#define HERE(line) line = __LINE__\n\
        static int line_of_function(int k) {\n\
        \x20 return k * __LINE__;\n\
        }\n\
        int main(void) {\n\
        \x20 int direct, by_macro, called, same = 0;\n\
        #pragma omp target map(from : direct, by_macro, called) map(tofrom : same)\n\
        \x20 {\n\
        \x20   direct = __LINE__;\n\
        \x20   HERE(by_macro);\n\
        \x20   called = line_of_function(1);\n\
        \x20   same = sizeof __FILE__ == sizeof \"main.c\";\n\
        \x20 }\n\
        \x20 return !(direct == 9 && by_macro == 10 && called == 3 && same);\n\
        }\n";
    let Some(project) = Project::with(&[("main.c", program)]) else {
        return;
    };
    project.check("rexcc -fopenmp -O1 main.c -o prog");
    project.check("prog");
}

#[test]
fn generated_code_and_private_variables_draw_no_warnings() {
    let program = "int main(void) {\n\
        \x20 double a[4] = {0, 0, 0, 0}, twice;\n\
        \x20 const double *const from = a;\n\
        \x20 int i, j;\n\
        #pragma omp target data map(tofrom : a)\n\
        #pragma omp target teams distribute parallel for private(twice, j) map(to : from[0 : 4])\n\
        \x20 for (i = 0; i < 4; i++) {\n\
        \x20   twice = 2 * from[i];\n\
        \x20   for (j = 0; j < 3; j++) twice += 1;\n\
        \x20   a[i] = twice;\n\
        \x20 }\n\
        \x20 return !(a[3] > 2.5 && a[3] < 3.5);\n\
        }\n";
    let files = [("a.c", program), ("a.cpp", program)];
    let Some(project) = Project::with(&files) else {
        return;
    };
    let flags = "-fopenmp -Wall -Wextra -Wshadow -Wcast-qual -Wconversion -Wundef -Werror";
    project.check(&format!("rexcc {flags} -Wmissing-prototypes a.c -o a"));
    project.check("a");
    project.check(&format!("rexc++ {flags} -Wold-style-cast a.cpp -o b"));
    project.check("b");
    project.check("rexcc -fopenmp -Wall -Wextra -pedantic -Werror -c a.c");
}

#[test]
fn assembly_carries_the_device_code_too() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp -S main.c more.cpp");
    project.check("rexcc main.s more.s -fopenmp -o prog");
    project.check("prog");
}

#[test]
fn constructs_are_ignored_without_openmp() {
    let Some(project) = Project::with(&[("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -c more.cpp");
    assert!(!project.holds("more.o", ".rex.device"));
    project.check("rexcc -c -fopenmp more.cpp");
    assert!(project.holds("more.o", ".rex.device"));
}

#[test]
fn requires_in_a_file_without_constructs_does_not_reach_the_host_compiler() {
    let rest = "#pragma omp requires unified_shared_memory\nint rest(void) { return 3; }\n";
    let Some(project) = Project::with(&[("rest.c", rest)]) else {
        return;
    };
    project.check("rexcc -fopenmp -Wall -Werror -c rest.c");
}

#[test]
fn an_error_in_the_source_is_reported_at_its_place() {
    let source = "void f(void) {\n#pragma omp target map(tofrom: nothing)\n  ;\n}\n";
    let Some(project) = Project::with(&[("wrong.c", source)]) else {
        return;
    };
    let output = project.run(&["rexcc", "-fopenmp", "-c", "wrong.c"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("wrong.c:2:"), "{stderr}");
    assert!(!project.path("wrong.o").exists());
}

#[test]
fn expanded_sources_are_lowered() {
    let main = format!("#include <stdio.h>\n#include <limits.h>\n{MAIN}");
    let more = format!("#include <cmath>\n#include <vector>\n{MORE}");
    let Some(project) = Project::with(&[("main.c", &main), ("more.cpp", &more)]) else {
        return;
    };
    project.check("rexcc -E main.c -o main.i");
    project.check("rexc++ -E more.cpp -o more.ii");
    project.check("rexcc -fopenmp main.i more.ii -o prog");
    project.check("prog");
}

#[test]
fn expanded_text_is_known_without_its_name_and_with_few_markers() {
    let main = format!(
        "#define _GNU_SOURCE\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n{MAIN}\
         char *end(const char *s) {{ return strchrnul(s, 'x'); }}\n"
    );
    let Some(project) = Project::with(&[("main.c", &main), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp -E -P main.c -o main.i");
    project.check("rexcc -fopenmp -Wall -Werror main.i more.cpp -o prog");
    project.check("prog");
    project.check("rexcc -fopenmp -E -fdirectives-only main.c -o text");
    assert!(project.holds("text", "#pragma omp target"));
    project.check(
        "rexcc -fopenmp -fpreprocessed -fdirectives-only -x c text -x none more.cpp -o prog",
    );
    project.check("prog");
}

#[test]
fn headers_named_on_the_command_line_are_a_part_of_the_program() {
    let own = "#pragma once\nstatic inline int twice(int x) { return 2 * x; }\n";
    let source = "int main() {\n  std::vector<int> v{4};\n  int *p = v.data();\n\
        #pragma omp target map(tofrom : p[0:1])\n  p[0] = twice(p[0]);\n  return v[0] != 8;\n}\n";
    let Some(project) = Project::with(&[("own.h", own), ("src/main.cpp", source)]) else {
        return;
    };
    let precompiled = format!(
        "#pragma GCC system_header\n#include <vector>\n#include \"{}\"\n",
        project.path("own.h").display()
    );
    fs::write(project.path("all.h"), precompiled).unwrap();
    for header in ["all.h", "own.h -include vector"] {
        project.check(&format!(
            "rexc++ -fopenmp -MMD -include {header} --rex-keep=kept src/main.cpp -o prog"
        ));
        project.check("prog");
        let device = fs::read_to_string(project.path("kept/rex_lib_main.cu")).unwrap();
        assert!(
            device.contains("__device__ static inline int twice"),
            "{device}"
        );
        let dependencies = fs::read_to_string(project.path("prog.d")).unwrap();
        assert!(
            dependencies.starts_with("prog: src/main.cpp"),
            "{dependencies}"
        );
    }
    // Functions with constructs are in such headers, too.
    let region = "static inline int on_host(void) {\n  int x = 1;\n\
        #pragma omp target map(from : x)\n  x = omp_is_initial_device();\n  return x;\n}\n";
    fs::write(project.path("region.h"), region).unwrap();
    fs::write(
        project.path("b.c"),
        "int main(void) { return on_host(); }\n",
    )
    .unwrap();
    project.check("rexcc -fopenmp -include omp.h -include region.h b.c -o b");
    project.check("b");
    let wrong = "int main() {\n#pragma omp target map(nothing)\n  ;\n}\n";
    fs::write(project.path("wrong.cpp"), wrong).unwrap();
    let output = project.run(&["rexc++", "-fopenmp", "-include", "all.h", "-c", "wrong.cpp"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("wrong.cpp:2:24"), "{stderr}");
}

#[test]
fn temporaries_are_saved_and_compiled_again() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp -save-temps main.c more.cpp -o prog");
    project.check("rexcc -fopenmp prog-main.i prog-more.s -o one");
    project.check("one");
    project.check("rexcc -fopenmp prog-main.s prog-more.ii -o two");
    project.check("two");
}

#[test]
fn files_beside_an_object_outlive_the_link() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp --coverage main.c more.cpp -o prog");
    project.check("prog");
    for name in ["prog-main.gcno", "prog-main.gcda", "prog-more.gcno"] {
        assert!(project.path(name).exists(), "{name}");
    }
}

#[test]
fn files_in_other_languages_are_compiled_with_the_flags() {
    let assembly = "#ifdef WITH\n.globl nothing\nnothing:\n#else\n#error no WITH\n#endif\n\
        .section .note.GNU-stack,\"\",@progbits\n";
    let files = [
        ("main.c", MAIN),
        ("more.cpp", MORE),
        ("a.S", assembly),
        ("b.asm", "\n"),
    ];
    let Some(project) = Project::with(&files) else {
        return;
    };
    project.check("rexcc -fopenmp -DWITH main.c more.cpp a.S -x assembler-with-cpp b.asm -o prog");
    project.check("prog");
}

#[test]
fn static_programs_are_refused() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    for word in ["-static", "-static-pie"] {
        let output = project.run(&["rexcc", "-fopenmp", word, "main.c", "more.cpp"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&format!("link without {word}")), "{stderr}");
    }
}

#[test]
fn device_code_of_archives_is_called_and_of_shared_libraries_is_not() {
    let declared =
        "#pragma omp declare target\nint twice(int x);\n#pragma omp end declare target\n";
    let library = format!("{declared}int twice(int x) {{ return 2 * x; }}\n");
    let program = format!(
        "{declared}int main(void) {{\n  int x = 4;\n#pragma omp target map(tofrom: x)\n  x = twice(x);\n  return x != 8;\n}}\n"
    );
    let Some(project) = Project::with(&[("lib.c", &library), ("main.c", &program)]) else {
        return;
    };
    project.check("rexcc -fopenmp -c lib.c main.c");
    project.check("ar rc libtwice.a lib.o");
    project.check("rexcc -fopenmp main.o -L. -ltwice -o prog");
    project.check("prog");
    project.check("rexcc -fopenmp -fPIC -shared lib.c -o libshared.so");
    let output = project.run(&["rexcc", "-fopenmp", "main.o", "libshared.so", "-o", "fails"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("shared library keeps"), "{stderr}");
}

#[test]
fn host_functions_of_a_header_may_call_those_of_other_files() {
    let header = "#include <vector>\n\
        float total(const float *values, std::vector<float> more);\n\
        float twice_total(const float *values, std::vector<float> more) {\n  return 2 * total(values, more);\n}\n\
        namespace shapes {\n\
        struct Scale {\n  float factor;\n  float of(float x) const { return factor * x; }\n};\n\
        #pragma omp declare target\n\
        float shift = 1;\n\
        #pragma omp end declare target\n\
        }\n";
    let other = "#include <vector>\n\
        float total(const float *values, std::vector<float> more) { return values[0] + values[1] + more[0]; }\n";
    let program = "#include \"checks.h\"\n\
        template <typename S> void apply(float *x, S scale) {\n\
        #pragma omp target teams distribute parallel for map(tofrom: x[:2])\n\
          for (int i = 0; i < 2; ++i) x[i] = scale.of(x[i]) + shapes::shift;\n}\n\
        int main() {\n  float x[2] = {1, 2};\n  shapes::shift = 2;\n\
        #pragma omp target update to(shapes::shift)\n\
          apply(x, shapes::Scale{3});\n  return twice_total(x, {1}) != 28;\n}\n";
    let files = [
        ("checks.h", header),
        ("other.cpp", other),
        ("main.cpp", program),
    ];
    let Some(project) = Project::with(&files) else {
        return;
    };
    for level in ["-O0", "-O2"] {
        project.check(&format!("rexc++ {level} -fopenmp -c main.cpp other.cpp"));
        project.check("rexc++ -fopenmp main.o other.o -o prog");
        project.check("prog");
    }
}

#[test]
fn headers_in_a_folder_of_cuda_are_included_in_device_code() {
    // What a host compiler sees of CUDA's header of this name.
    let header = "#ifndef __CUDA_RUNTIME_H__\n#define __CUDA_RUNTIME_H__\n\
        #define __device__ __attribute__((unused))\n\
        struct float3 { float x, y, z; };\n\
        static inline float3 make_float3(float x, float y, float z) { float3 v; v.x = x, v.y = y, v.z = z; return v; }\n\
        #endif\n";
    let source = "#include <cuda_runtime.h>\n\
        static float3 twice(float3 v) { return make_float3(2 * v.x, 2 * v.y, 2 * v.z); }\n\
        int main() {\n  float3 v = make_float3(1, 2, 3);\n\
        #pragma omp target map(tofrom : v)\n  v = twice(v);\n\
        return !(v.x == 2 && v.y == 4 && v.z == 6);\n}\n";
    let Some(project) = Project::with(&[("a.cpp", source), ("cuda/cuda_runtime.h", header)]) else {
        return;
    };
    project.check("rexc++ -fopenmp -Icuda --rex-keep=kept a.cpp -o a");
    project.check("a");
    let device = fs::read_to_string(project.path("kept/rex_lib_a.cu")).unwrap();
    assert!(device.contains("#include <cuda_runtime.h>"), "{device}");
    assert!(!device.contains("struct float3"), "{device}");
}

#[test]
fn a_program_without_device_code_may_ask_for_devices() {
    let program = "#include <omp.h>\n\
        static int two(void) { return 2; }\n\
        #pragma omp declare variant(two) match(construct = {dispatch})\n\
        static int one(void) { return 1; }\n\
        int main(void) {\n  int x = 0;\n#pragma omp dispatch\n  x = one();\n  return omp_get_num_devices() != omp_get_initial_device() || x != 2;\n}\n";
    let Some(project) = Project::with(&[("main.c", program)]) else {
        return;
    };
    project.check("rexcc -fopenmp main.c -o prog");
    project.check("prog");
    project.check("rexcc -fopenmp -c main.c");
    project.check("rexcc -fopenmp main.o -o prog");
    project.check("prog");
}

#[test]
fn objects_do_not_depend_on_temporary_folders() {
    let Some(project) = Project::with(&[("main.c", MAIN)]) else {
        return;
    };
    project.check("rexcc -fopenmp -g -O2 -c main.c -o one.o");
    project.check("rexcc -fopenmp -g -O2 -c main.c -o two.o");
    let bytes = |name: &str| fs::read(project.path(name)).unwrap();
    assert!(bytes("one.o") == bytes("two.o"));
}

#[test]
fn a_named_host_openmp_library_gives_way_to_the_runtime() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    project.check("rexcc -fopenmp main.c more.cpp -lgomp -Wl,-Bstatic -lm -o prog");
    project.check("prog");
    assert!(!project.holds("prog", "libgomp"));
}

#[test]
fn a_compiler_is_launched() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    let rex = env!("CARGO_BIN_EXE_rex-driver");
    project.check(&format!("{rex} launch gcc -fopenmp -c main.c"));
    project.check(&format!("{rex} launch g++ -fopenmp -c more.cpp"));
    project.check(&format!("{rex} launch g++ -fopenmp main.o more.o -o prog"));
    project.check("prog");
    assert!(project.holds("main.o", ".rex.device"));
}

#[test]
fn one_output_does_not_take_two_objects() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    let words = ["rexcc", "-fopenmp", "-c", "main.c", "more.cpp", "-o", "x.o"];
    assert_eq!(project.run(&words).status.code(), Some(1));
    project.check_words(&["rexcc", "-fopenmp", "-c", "main.c", "more.cpp"]);
}

#[test]
fn compilations_are_recorded_and_used() {
    let source = "#include \"value.h\"\nint main(void) {\n  int x = 0;\n#pragma omp target map(tofrom: x)\n  x = VALUE + MORE;\n  return x != 5;\n}\n";
    let files = [("src/main.c", source), ("inc/value.h", "#define VALUE 2\n")];
    let Some(project) = Project::with(&files) else {
        return;
    };
    let rex = env!("CARGO_BIN_EXE_rex-driver");
    project.check(
        "rexcc -fopenmp -Iinc -DMORE=3 --rex-compile-commands=compile_commands.json -c src/main.c",
    );
    let text = fs::read_to_string(project.path("compile_commands.json")).unwrap();
    let entries: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(entries[0]["file"], "src/main.c");
    assert_eq!(entries[0]["arguments"][3], "-DMORE=3");
    // Found above the file, and from another folder.
    project.check(&format!("{rex} run src/main.c --device host"));
    project.check(&format!("{rex} verify src/main.c --device host"));
    project.check(&format!("{rex} lower -p . src/main.c -o out"));
    let without = [
        rex,
        "run",
        "--no-compile-commands",
        "src/main.c",
        "--device",
        "host",
    ];
    assert_eq!(project.run(&without).status.code(), Some(1));
}

#[test]
fn clang_is_a_host_compiler_too() {
    let Some(project) = Project::with(&[("main.c", MAIN), ("more.cpp", MORE)]) else {
        return;
    };
    let machine = Surroundings::of_process();
    let clang = (14..=22)
        .rev()
        .filter_map(|version| machine.program(format!("clang-{version}").as_ref()))
        .find(|clang| has_openmp_header(clang));
    let Some(clang) = clang else {
        eprintln!("skipped: no clang with omp.h");
        return;
    };
    let rex = env!("CARGO_BIN_EXE_rex-driver");
    let clang = clang.display();
    project.check(&format!(
        "{rex} launch {clang} -fopenmp -g main.c more.cpp -o prog"
    ));
    project.check("prog");
}

fn has_openmp_header(compiler: &Path) -> bool {
    let status = Command::new(compiler)
        .args([
            "-fopenmp",
            "-include",
            "omp.h",
            "-fsyntax-only",
            "-xc",
            "/dev/null",
        ])
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
