//! Compilers of device files to an NVIDIA cubin, and the GPU of this machine.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::discover::{Surroundings, Version, expand, output_of, version_after};
use super::{Missing, Search};

/// What turns device files into a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceCompiler {
    /// NVIDIA's compiler.
    Nvcc {
        /// The program.
        nvcc: PathBuf,
        /// The CUDA release.
        cuda: Version,
    },
    /// clang for the code, `ptxas` for the last step; needs no CUDA headers.
    Clang {
        /// The program.
        clang: PathBuf,
        /// clang's own version.
        version: Version,
        /// NVIDIA's assembler.
        ptxas: PathBuf,
        /// The CUDA release of the assembler.
        cuda: Version,
    },
}

impl DeviceCompiler {
    /// The CUDA release that writes the cubin.
    pub fn cuda(&self) -> Version {
        match self {
            DeviceCompiler::Nvcc { cuda, .. } | DeviceCompiler::Clang { cuda, .. } => *cuda,
        }
    }

    /// Says why a runtime of this LLVM version cannot load the cubins written here, if it cannot.
    ///
    /// # Source
    /// Measured on an H200: CUDA 13 writes cubin header version 8, which libomptarget reads from LLVM 22 on.
    pub fn conflict_with_abi(&self, abi: u32) -> Option<String> {
        let cuda = self.cuda();
        (cuda.major >= 13 && abi < 22).then(|| {
            format!(
                "CUDA {cuda} writes cubins that LLVM {abi}'s runtime answers with \"No images found \
                 compatible with the installed hardware\"; use LLVM 22's runtime, or CUDA 12"
            )
        })
    }
}

/// Finds a device compiler; nvcc is preferred to clang with `ptxas`.
///
/// With `abi`, one whose cubins that LLVM version's runtime can load is preferred to one whose
/// cubins it cannot.
///
/// # Errors
/// [`Missing`] lists the folders and programs that were tried.
pub fn find_device_compiler(
    surroundings: &Surroundings,
    cuda_folder: Option<&PathBuf>,
    abi: Option<u32>,
) -> Result<DeviceCompiler, Missing> {
    let mut found = all_device_compilers(surroundings, cuda_folder);
    if let Some(abi) = abi {
        found.sort_by_key(|compiler| compiler.conflict_with_abi(abi).is_some());
    }
    if let Some(compiler) = found.into_iter().next() {
        return Ok(compiler);
    }
    let mut search = Search::new("a compiler for NVIDIA device code (nvcc, or clang with ptxas)");
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        if surroundings.var(variable).is_none() {
            search.looked_at(format!("{variable} (not set)"));
        }
    }
    for folder in program_folders(surroundings, cuda_folder) {
        search.looked_at(folder.display().to_string());
    }
    if find_clang(surroundings).is_some() {
        search.noted("clang was found, ptxas was not".to_owned());
    }
    Err(search.missing(&[
        "apt install nvidia-cuda-toolkit",
        "python3 -m venv cuda && cuda/bin/pip install 'nvidia-cuda-nvcc-cu12==12.9.*' and --cuda \
         cuda (ptxas for clang)",
        "or name the folder of a CUDA installation with --cuda DIR",
    ]))
}

/// Lists every device compiler of the machine, nvcc first.
pub fn all_device_compilers(
    surroundings: &Surroundings,
    cuda_folder: Option<&PathBuf>,
) -> Vec<DeviceCompiler> {
    let folders = program_folders(surroundings, cuda_folder);
    let programs = |name: &str| -> Vec<(PathBuf, Version)> {
        folders
            .iter()
            .filter_map(|folder| surroundings.program(folder.join(name).as_os_str()))
            .filter_map(|program| {
                let cuda = version_after(&output_of(&program, &["--version"])?, "release")?;
                Some((program, cuda))
            })
            .collect()
    };
    let mut found: Vec<DeviceCompiler> = programs("nvcc")
        .into_iter()
        .map(|(nvcc, cuda)| DeviceCompiler::Nvcc { nvcc, cuda })
        .collect();
    if let Some((clang, version)) = find_clang(surroundings) {
        found.extend(
            programs("ptxas")
                .into_iter()
                .map(|(ptxas, cuda)| DeviceCompiler::Clang {
                    clang: clang.clone(),
                    version,
                    ptxas,
                    cuda,
                }),
        );
    }
    found
}

/// Whether this machine has an NVIDIA driver, which is what decides the default device.
pub fn has_nvidia_driver(surroundings: &Surroundings) -> bool {
    if !surroundings.system("/dev/nvidia0").exists() && !surroundings.system("/dev/dxg").exists() {
        return false;
    }
    let mut folders = surroundings.folders_of("LD_LIBRARY_PATH");
    for pattern in [
        "/usr/lib/*-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/nvidia/lib64",
        "/usr/lib/wsl/lib",
    ] {
        folders.extend(surroundings.system_folders(pattern));
    }
    folders
        .iter()
        .any(|folder| folder.join("libcuda.so.1").exists())
}

/// Asks the driver for the first GPU's architecture, for instance `sm_90`.
pub fn gpu_architecture(surroundings: &Surroundings) -> Option<String> {
    let program = surroundings.program("nvidia-smi".as_ref())?;
    let text = output_of(
        &program,
        &["--query-gpu=compute_cap", "--format=csv,noheader"],
    )?;
    let capability = text.lines().next()?.trim();
    let (major, minor) = capability.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (digits(major) && digits(minor)).then(|| format!("sm_{major}{minor}"))
}

fn find_clang(surroundings: &Surroundings) -> Option<(PathBuf, Version)> {
    let versioned = (14..=22).rev().map(|version| format!("clang-{version}"));
    let llvm_folders = surroundings.system_folders("/usr/lib/llvm-*/bin");
    std::iter::once("clang".to_owned())
        .chain(versioned)
        .filter_map(|name| surroundings.program(name.as_ref()))
        .chain(llvm_folders.into_iter().map(|folder| folder.join("clang")))
        .find_map(|clang| {
            let version = version_after(&output_of(&clang, &["--version"])?, "version")?;
            Some((clang, version))
        })
}

/// The folders that may hold `nvcc` and `ptxas`: installations, then the layouts of pip's wheels.
fn program_folders(surroundings: &Surroundings, cuda_folder: Option<&PathBuf>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(folder) = cuda_folder {
        folders.push(folder.join("bin"));
        folders.push(folder.clone());
        folders.extend(wheel_folders(folder));
    }
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(
            surroundings
                .var(variable)
                .map(|folder| PathBuf::from(folder).join("bin")),
        );
    }
    folders.extend(surroundings.folders_of("PATH"));
    folders.extend(surroundings.system_folders("/usr/local/cuda/bin"));
    folders.extend(surroundings.system_folders("/usr/local/cuda-*/bin"));
    let mut prefixes: Vec<PathBuf> = surroundings
        .var("VIRTUAL_ENV")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    prefixes.extend(surroundings.var("CONDA_PREFIX").map(PathBuf::from));
    prefixes.extend(
        surroundings
            .folders_of("PATH")
            .iter()
            .filter(|folder| folder.ends_with("bin"))
            .filter_map(|folder| folder.parent().map(PathBuf::from)),
    );
    prefixes.extend(
        surroundings
            .var("HOME")
            .map(|home| PathBuf::from(home).join(".local")),
    );
    for prefix in prefixes {
        folders.extend(wheel_folders(&prefix));
    }
    let mut seen = BTreeSet::new();
    folders.retain(|folder| folder.is_dir() && seen.insert(folder.clone()));
    folders
}

fn wheel_folders(prefix: &std::path::Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for packages in ["lib/python3*/site-packages", "lib/python3*/dist-packages"] {
        for package in ["nvidia/cu*/bin", "nvidia/cuda_nvcc/bin"] {
            folders.extend(expand(prefix, &format!("{packages}/{package}")));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeMachine;
    use super::*;

    const NVCC_12: &str = "Cuda compilation tools, release 12.9, V12.9.86";
    const NVCC_13: &str = "Cuda compilation tools, release 13.0, V13.0.88";

    #[test]
    fn an_installation_is_found_through_its_variable() {
        let machine = FakeMachine::new();
        machine.program("opt/cuda/bin/nvcc", NVCC_12);
        let home = machine.path("opt/cuda");
        let surroundings = machine.surroundings([("CUDA_HOME", home.to_str().unwrap())]);
        let found = find_device_compiler(&surroundings, None, None).unwrap();
        let cuda = Version {
            major: 12,
            minor: 9,
        };
        assert_eq!(
            found,
            DeviceCompiler::Nvcc {
                nvcc: home.join("bin/nvcc"),
                cuda
            }
        );
    }

    #[test]
    fn wheels_in_a_virtual_environment_are_found() {
        let machine = FakeMachine::new();
        machine.program(
            "venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc",
            NVCC_13,
        );
        let venv = machine.path("venv");
        let surroundings = machine.surroundings([("VIRTUAL_ENV", venv.to_str().unwrap())]);
        assert_eq!(
            find_device_compiler(&surroundings, None, None)
                .unwrap()
                .cuda()
                .major,
            13
        );
    }

    #[test]
    fn clang_needs_ptxas() {
        let machine = FakeMachine::new();
        machine.program("usr/bin/clang-19", "Debian clang version 19.1.7");
        let missing = find_device_compiler(&machine.surroundings([]), None, None).unwrap_err();
        assert!(
            missing
                .to_string()
                .contains("clang was found, ptxas was not"),
            "{missing}"
        );
        machine.program("usr/bin/ptxas", NVCC_12);
        let found = find_device_compiler(&machine.surroundings([]), None, None).unwrap();
        assert!(matches!(found, DeviceCompiler::Clang { .. }));
    }

    #[test]
    fn a_compiler_that_suits_the_runtime_is_preferred() {
        let machine = FakeMachine::new();
        machine.program("usr/local/cuda/bin/nvcc", NVCC_13);
        machine.program("usr/local/cuda-12.9/bin/nvcc", NVCC_12);
        let surroundings = machine.surroundings([]);
        let found = |abi| {
            find_device_compiler(&surroundings, None, Some(abi))
                .unwrap()
                .cuda()
                .major
        };
        assert_eq!((found(22), found(19)), (13, 12));
    }

    #[test]
    fn the_driver_needs_both_its_device_and_its_library() {
        let machine = FakeMachine::new();
        machine.file("dev/nvidia0", b"");
        assert!(!has_nvidia_driver(&machine.surroundings([])));
        machine.file("usr/lib/x86_64-linux-gnu/libcuda.so.1", b"");
        assert!(has_nvidia_driver(&machine.surroundings([])));
    }

    #[test]
    fn the_architecture_comes_from_the_driver() {
        let machine = FakeMachine::new();
        machine.program("usr/bin/nvidia-smi", "9.0");
        assert_eq!(
            gpu_architecture(&machine.surroundings([])).as_deref(),
            Some("sm_90")
        );
    }
}
