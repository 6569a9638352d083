//! LLVM's offload runtime: `libomptarget`, the `libomp` beside it, and the ABI they speak.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::discover::{Surroundings, entries_matching};
use super::elf::read_shared_library;
use super::{Missing, Search};

/// The LLVM versions whose runtime ABI generated code can speak.
pub const SUPPORTED_ABIS: std::ops::RangeInclusive<u32> = 14..=22;

/// The installed offload runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadRuntime {
    /// `libomptarget`, under the name the linker is given.
    pub libomptarget: PathBuf,
    /// `libomp`, which also serves the calls gcc makes for host OpenMP.
    pub libomp: PathBuf,
    /// The LLVM major version whose ABI is spoken.
    pub abi: u32,
    /// LLVM's liboffload, if it carries the calls instead of libomptarget.
    pub liboffload: Option<PathBuf>,
    /// Libraries that it needs and that are not on this machine: what is linked runs elsewhere.
    pub absent: Vec<String>,
}

impl OffloadRuntime {
    /// The folders the program must find its libraries in when it runs.
    pub fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = [&self.libomptarget, &self.libomp]
            .into_iter()
            .filter_map(|path| path.parent())
            .collect();
        folders.dedup();
        folders
    }
}

/// What carries the calls of a program when it runs, unless `REX_RUNTIME` says otherwise there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// LLVM's OpenMP offload runtime.
    #[default]
    Libomptarget,
    /// LLVM 22's interface below it; the helper files keep the data environment.
    Liboffload,
}

impl Carrier {
    /// The carrier of a name.
    pub fn parse(name: &str) -> Option<Carrier> {
        match name {
            "libomptarget" => Some(Carrier::Libomptarget),
            "liboffload" => Some(Carrier::Liboffload),
            _ => None,
        }
    }
}

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct OffloadRequest {
    /// A folder to take the libraries from, before all others.
    pub folder: Option<PathBuf>,
    /// The LLVM major version to use.
    pub abi: Option<u32>,
    /// What carries the calls.
    pub carrier: Carrier,
}

/// One `libomptarget` that exists, usable or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// The LLVM major version read from its soname.
    pub abi: u32,
    /// The libraries it needs.
    pub needed: Vec<String>,
}

/// Finds the offload runtime.
///
/// The folder asked for comes first, then `LD_LIBRARY_PATH` and `LIBRARY_PATH` in their order, then
/// the system's folders. Among the system's folders the greatest supported version wins.
///
/// # Errors
/// [`Missing`] lists every folder, the versions found that cannot be used, and the package to install.
pub fn find_offload_runtime(
    surroundings: &Surroundings,
    request: &OffloadRequest,
) -> Result<OffloadRuntime, Missing> {
    let liboffload = match request.carrier {
        Carrier::Libomptarget => None,
        Carrier::Liboffload => Some(find_liboffload(surroundings, request)?),
    };
    let mut search = Search::new("an LLVM offload runtime (libomptarget)");
    let wanted = |abi: u32| {
        request
            .abi
            .map_or(SUPPORTED_ABIS.contains(&abi), |asked| asked == abi)
    };
    let folders = folders(surroundings, request);
    for folder in &folders {
        search.looked_at(folder.display().to_string());
    }
    let candidates = candidates_in(&folders);
    for candidate in candidates.iter().filter(|candidate| wanted(candidate.abi)) {
        let own_folder = candidate.path.parent().map(Path::to_owned);
        match find_libomp(own_folder.iter().chain(&folders)) {
            Some(libomp) => {
                return Ok(OffloadRuntime {
                    libomptarget: candidate.path.clone(),
                    libomp,
                    abi: candidate.abi,
                    liboffload,
                    absent: absent(surroundings, candidate, &folders),
                });
            }
            None => search.noted(format!(
                "{} has no libomp.so beside it",
                candidate.path.display()
            )),
        }
    }
    for candidate in candidates.iter().filter(|candidate| !wanted(candidate.abi)) {
        let reason = match request.abi {
            Some(asked) => format!("LLVM {asked} was asked for"),
            None => format!(
                "LLVM {} to {} are supported",
                SUPPORTED_ABIS.start(),
                SUPPORTED_ABIS.end()
            ),
        };
        search.noted(format!(
            "{} is LLVM {}; {reason}",
            candidate.path.display(),
            candidate.abi
        ));
    }
    let package = format!("apt install libomp-{}-dev", request.abi.unwrap_or(19));
    Err(search.missing(&[
        &package,
        "or name the folder that holds it with --libomptarget DIR",
    ]))
}

/// Finds the liboffload that the helper files know, in the folders of the offload runtime.
///
/// # Errors
/// [`Missing`] lists every folder and the package to install.
pub fn find_liboffload(
    surroundings: &Surroundings,
    request: &OffloadRequest,
) -> Result<PathBuf, Missing> {
    let mut search = Search::new("LLVM 22's liboffload (libLLVMOffload)");
    let folders = folders(surroundings, request);
    for folder in &folders {
        search.looked_at(folder.display().to_string());
        let mut files = vec![folder.join("libLLVMOffload.so")];
        files.extend(entries_matching(folder, "libLLVMOffload.so.", ""));
        let is_known = |path: &PathBuf| {
            read_shared_library(path)
                .is_some_and(|library| library.native && library.soname.starts_with(LIBOFFLOAD))
        };
        if let Some(found) = files.into_iter().find(is_known) {
            return Ok(found);
        }
    }
    Err(search.missing(&[
        "apt install liboffload-22",
        "or name the folder that holds it with --libomptarget DIR",
    ]))
}

/// The soname of LLVM 22's liboffload, up to its minor version; the interface changes with each version.
const LIBOFFLOAD: &str = "libLLVMOffload.so.22";

/// The libraries a candidate needs that no folder has where a loader looks.
fn absent(surroundings: &Surroundings, candidate: &Candidate, folders: &[PathBuf]) -> Vec<String> {
    let mut places = folders.to_vec();
    places.extend(candidate.path.parent().map(Path::to_owned));
    for pattern in ["/lib", "/lib64", "/lib/*-linux-gnu", "/usr/lib/*-linux-gnu"] {
        places.extend(surroundings.system_folders(pattern));
    }
    let is_absent = |name: &&String| !places.iter().any(|place| place.join(name).exists());
    candidate.needed.iter().filter(is_absent).cloned().collect()
}

/// Lists every `libomptarget` of the machine in the order [`find_offload_runtime`] tries them.
pub fn all_candidates(surroundings: &Surroundings, request: &OffloadRequest) -> Vec<Candidate> {
    candidates_in(&folders(surroundings, request))
}

fn folders(surroundings: &Surroundings, request: &OffloadRequest) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = request.folder.iter().cloned().collect();
    folders.extend(surroundings.folders_of("LD_LIBRARY_PATH"));
    folders.extend(surroundings.folders_of("LIBRARY_PATH"));
    for pattern in [
        "/usr/lib/llvm-*/lib",
        "/usr/lib/*-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
        "/opt/llvm*/lib",
    ] {
        folders.extend(surroundings.system_folders(pattern));
    }
    let mut seen = BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

fn candidates_in(folders: &[PathBuf]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for folder in folders {
        let mut files = vec![folder.join("libomptarget.so")];
        files.extend(entries_matching(folder, "libomptarget.so.", ""));
        let found = files.into_iter().find_map(|path| {
            let library = read_shared_library(&path)?;
            let abi = abi_of_soname(&library.soname)?;
            library.native.then_some(Candidate {
                path,
                abi,
                needed: library.needed,
            })
        });
        candidates.extend(found);
    }
    candidates
}

fn find_libomp<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Option<PathBuf> {
    folders
        .flat_map(|folder| ["libomp.so", "libomp.so.5"].map(|name| folder.join(name)))
        .find(|path| read_shared_library(path).is_some_and(|library| library.native))
}

/// Reads the LLVM major version from `libomptarget`'s soname; 14 has no number in it.
fn abi_of_soname(soname: &str) -> Option<u32> {
    let rest = soname.strip_prefix("libomptarget.so")?;
    match rest.strip_prefix('.') {
        None if rest.is_empty() => Some(14),
        None => None,
        Some(version) => version.split('.').next()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeMachine;
    use super::*;

    fn request(abi: Option<u32>) -> OffloadRequest {
        OffloadRequest {
            abi,
            ..OffloadRequest::default()
        }
    }

    #[test]
    fn the_greatest_supported_system_version_wins() {
        let machine = FakeMachine::new();
        for version in [14, 19, 21, 23] {
            machine.llvm(version);
        }
        let found = find_offload_runtime(&machine.surroundings([]), &request(None)).unwrap();
        assert_eq!(found.abi, 21);
        assert_eq!(
            found.libomptarget,
            machine.path("usr/lib/llvm-21/lib/libomptarget.so")
        );
        assert_eq!(found.libomp, machine.path("usr/lib/llvm-21/lib/libomp.so"));
        assert_eq!(found.folders(), [machine.path("usr/lib/llvm-21/lib")]);
    }

    #[test]
    fn the_version_asked_for_is_taken() {
        let machine = FakeMachine::new();
        machine.llvm(19);
        machine.llvm(22);
        let found = find_offload_runtime(&machine.surroundings([]), &request(Some(19))).unwrap();
        assert_eq!(found.abi, 19);
    }

    #[test]
    fn variables_come_before_the_system() {
        let machine = FakeMachine::new();
        machine.llvm(22);
        machine.shared_library("own/libomptarget.so.19.1", "libomptarget.so.19.1");
        machine.shared_library("own/libomp.so.5", "libomp.so.5");
        let own = machine.path("own");
        let surroundings = machine.surroundings([("LD_LIBRARY_PATH", own.to_str().unwrap())]);
        let found = find_offload_runtime(&surroundings, &request(None)).unwrap();
        assert_eq!(found.libomptarget, own.join("libomptarget.so.19.1"));
        assert_eq!(found.libomp, own.join("libomp.so.5"));
    }

    #[test]
    fn unusable_versions_are_named() {
        let machine = FakeMachine::new();
        machine.llvm(23);
        let missing = find_offload_runtime(&machine.surroundings([]), &request(None)).unwrap_err();
        expect_test::expect![[r"
            no LLVM offload runtime (libomptarget) found
              looked at: ROOT/usr/lib/llvm-23/lib
              looked at: ROOT/usr/lib
              note: ROOT/usr/lib/llvm-23/lib/libomptarget.so is LLVM 23; LLVM 14 to 22 are supported
              try: apt install libomp-19-dev
              try: or name the folder that holds it with --libomptarget DIR"]]
        .assert_eq(&machine.anonymous(&missing.to_string()));
    }

    #[test]
    fn liboffload_is_looked_for_when_it_is_asked_for() {
        let machine = FakeMachine::new();
        machine.llvm(19);
        let mut request = request(None);
        request.carrier = Carrier::Liboffload;
        let missing = find_offload_runtime(&machine.surroundings([]), &request).unwrap_err();
        expect_test::expect![[r"
            no LLVM 22's liboffload (libLLVMOffload) found
              looked at: ROOT/usr/lib/llvm-19/lib
              looked at: ROOT/usr/lib
              try: apt install liboffload-22
              try: or name the folder that holds it with --libomptarget DIR"]]
        .assert_eq(&machine.anonymous(&missing.to_string()));

        let library = "usr/lib/llvm-22/lib/libLLVMOffload.so.22.1";
        machine.shared_library(library, "libLLVMOffload.so.22.1");
        let found = find_offload_runtime(&machine.surroundings([]), &request).unwrap();
        assert_eq!(found.abi, 19);
        assert_eq!(found.liboffload, Some(machine.path(library)));
    }

    #[test]
    fn sonames_give_the_version() {
        assert_eq!(abi_of_soname("libomptarget.so"), Some(14));
        assert_eq!(abi_of_soname("libomptarget.so.15"), Some(15));
        assert_eq!(abi_of_soname("libomptarget.so.22.1"), Some(22));
        assert_eq!(abi_of_soname("libomptarget.rtl.x86_64.so"), None);
    }
}
