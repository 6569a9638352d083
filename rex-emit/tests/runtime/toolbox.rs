//! Builds and runs the C and C++ programs of this folder with the helper files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What a program did.
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Compilers, libomptarget, and a folder for one test's files.
pub(crate) struct Toolbox {
    /// Folder of this test's files.
    pub(crate) work: PathBuf,
    libraries: PathBuf,
}

impl Toolbox {
    /// A toolbox with a fresh folder, or `None` after saying what the machine lacks.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let Some(libraries) = offload_libraries() else {
            println!("skipped: no libomptarget of LLVM 19 (Debian package libomp-19-dev)");
            return None;
        };
        let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("runtime-{test}"));
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).expect("the test's folder can be made");
        Some(Self { work, libraries })
    }

    /// A path in the test's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Compiles device file `source` to the host-device image `name`.
    pub(crate) fn image(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let device = format!("-DREX_DEVICE_SOURCE=\"{source}\"");
        let image = self.file(name);
        let mut command = self.compiler("g++");
        command
            .args([
                "-x",
                "c++",
                "-std=c++17",
                "-shared",
                "-fPIC",
                "-fvisibility=default",
                "-fno-gnu-unique",
            ])
            .args(["-DREX_DEVICE_HOST", &device])
            .args(flags)
            .arg(runtime_file("rex_nvidia.cu"))
            .args(["-Wl,-Bsymbolic", "-o"])
            .arg(&image);
        must_succeed(&mut command);
        image
    }

    /// The image of `probe.cu`, compiled once for all tests, under a name of this test.
    pub(crate) fn probe_image(&self, name: &str) -> PathBuf {
        static IMAGE: OnceLock<PathBuf> = OnceLock::new();
        let common = IMAGE.get_or_init(|| self.common().image("probe.cubin", "probe.cu", &[]));
        let image = self.file(name);
        fs::copy(common, &image).expect("the image can be copied");
        image
    }

    /// The registration without flags, compiled once for all tests.
    pub(crate) fn registration(&self) -> PathBuf {
        static OBJECT: OnceLock<PathBuf> = OnceLock::new();
        OBJECT
            .get_or_init(|| self.common().register_with(&[]))
            .clone()
    }

    /// Compiles the registration with flags of its own.
    fn register_with(&self, flags: &[&str]) -> PathBuf {
        let object = self.file(&format!("register{}.o", flags.len()));
        let mut command = self.compiler("g++");
        command
            .arg("-fPIC")
            .args(flags)
            .arg("-c")
            .arg(runtime_file("register_cubin.cpp"))
            .arg("-o")
            .arg(&object);
        must_succeed(&mut command);
        object
    }

    /// Compiles a source file of this folder.
    pub(crate) fn object(&self, source: &str, flags: &[&str]) -> PathBuf {
        let object = self.file(&format!("{source}.o"));
        let mut command = self.compiler(if source.ends_with(".c") { "gcc" } else { "g++" });
        command
            .arg("-fPIC")
            .args(flags)
            .arg("-c")
            .arg(program_file(source))
            .arg("-o")
            .arg(&object);
        must_succeed(&mut command);
        object
    }

    /// Compiles `source` of this folder and the registration to the program or library `name`.
    pub(crate) fn program(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let registration = if flags.is_empty() {
            self.registration()
        } else {
            self.register_with(flags)
        };
        self.link(name, &[self.object(source, flags), registration], flags)
    }

    /// The same tools with the folder that all tests share.
    fn common(&self) -> Self {
        let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime-common");
        fs::create_dir_all(&work).expect("the folder can be made");
        Self {
            work,
            libraries: self.libraries.clone(),
        }
    }

    /// Links objects to a program, or to a library when `flags` has `-shared`.
    pub(crate) fn link(&self, name: &str, objects: &[PathBuf], flags: &[&str]) -> PathBuf {
        let program = self.file(name);
        let mut command = Command::new("g++");
        command
            .args(objects)
            .args(flags)
            .arg("-Wl,--no-as-needed")
            .arg("-L")
            .arg(&self.libraries);
        command.arg(format!("-Wl,-rpath,{}", self.libraries.display()));
        command
            .args(["-lomptarget", "-lomp", "-lm", "-ldl", "-pthread", "-o"])
            .arg(&program);
        must_succeed(&mut command);
        program
    }

    /// A compiler with the warnings and include folders of all tests; a warning fails the test.
    pub(crate) fn compiler(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.args(["-O0", "-Wall", "-Wextra", "-Werror", "-DREX_LLVM_ABI=19"]);
        command
            .arg("-I")
            .arg(runtime_folder())
            .arg("-I")
            .arg(programs_folder());
        command
    }

    /// Runs a program in the test's folder with exactly these variables of the offload runtimes.
    pub(crate) fn run(
        &self,
        program: &Path,
        arguments: &[&Path],
        variables: &[(&str, &str)],
    ) -> Outcome {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.work);
        for name in [
            "REX_CUBIN_PATH",
            "REX_VERBOSE",
            "REX_CUDA_SPIN",
            "REX_RUNTIME",
            "REX_LIBOFFLOAD",
            "FAKE_DEVICES",
            "FAKE_LOG",
            "REX_HOST_THREADS",
            "REX_HOST_STACK",
            "OMP_TARGET_OFFLOAD",
        ] {
            command.env_remove(name);
        }
        let output = command
            .envs(variables.iter().copied())
            .output()
            .expect("the program starts");
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs a self-checking program on the device.
    pub(crate) fn check_passes(&self, program: &Path, arguments: &[&Path]) {
        let outcome = self.run(program, arguments, &[("OMP_TARGET_OFFLOAD", "MANDATORY")]);
        assert!(outcome.passed(), "{}", outcome.describe(program));
    }
}

impl Outcome {
    /// Whether a self-checking program printed PASS and ended well.
    pub(crate) fn passed(&self) -> bool {
        self.status == Some(0) && self.stdout.trim_end().ends_with("PASS")
    }

    pub(crate) fn describe(&self, program: &Path) -> String {
        format!(
            "{}: status {:?}\n{}\n{}",
            program.display(),
            self.status,
            self.stdout,
            self.stderr
        )
    }
}

/// Whether a command of this name exists.
pub(crate) fn is_installed(command: &str) -> bool {
    Command::new(command)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs a command; it must end well.
pub(crate) fn must_succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn runtime_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime")
}

pub(crate) fn runtime_file(name: &str) -> PathBuf {
    runtime_folder().join(name)
}

pub(crate) fn programs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime")
}

pub(crate) fn program_file(name: &str) -> PathBuf {
    programs_folder().join(name)
}

fn offload_libraries() -> Option<PathBuf> {
    [
        "/usr/lib/llvm-19/lib",
        "/usr/lib64/llvm19/lib64",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu",
    ]
    .iter()
    .map(PathBuf::from)
    .find(|folder| {
        folder.join("libomptarget.so.19.1").exists() && folder.join("libomptarget.so").exists()
    })
}
