//! A machine made of a temporary folder tree, for tests of discovery.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::Surroundings;

/// A folder tree that stands for a machine.
pub(crate) struct FakeMachine {
    root: TempDir,
}

impl FakeMachine {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    pub(crate) fn file(&self, relative: &str, bytes: &[u8]) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Adds a program that prints one line whatever it is asked.
    pub(crate) fn program(&self, relative: &str, says: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Another process writes the file: a copy of our own descriptor, inherited by a process
        // that a parallel test starts, would make running it fail with "text file busy".
        let script = r#"printf '#!/bin/sh\necho "%s"\n' "$2" > "$1" && chmod 755 "$1""#;
        let status = Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .arg(&path)
            .arg(says)
            .status();
        assert!(status.unwrap().success());
    }

    /// Adds an LLVM installation with its offload libraries.
    pub(crate) fn llvm(&self, version: u32) {
        let soname = match version {
            14 => "libomptarget.so".to_owned(),
            15..=17 => format!("libomptarget.so.{version}"),
            _ => format!("libomptarget.so.{version}.1"),
        };
        let folder = format!("usr/lib/llvm-{version}/lib");
        self.shared_library(&format!("{folder}/libomptarget.so"), &soname);
        self.shared_library(&format!("{folder}/libomp.so"), "libomp.so.5");
    }

    /// Adds a shared library with nothing but a soname.
    pub(crate) fn shared_library(&self, relative: &str, soname: &str) {
        self.file(relative, &super::elf::testing::library(soname));
    }

    /// Describes the machine; `PATH` is its `usr/bin` unless given.
    pub(crate) fn surroundings<const N: usize>(&self, vars: [(&str, &str); N]) -> Surroundings {
        let path = self.path("usr/bin");
        let path = ("PATH", path.to_str().unwrap());
        Surroundings::under(self.root.path(), [path].into_iter().chain(vars))
    }

    /// Replaces the folder's random name, for expectations.
    pub(crate) fn anonymous(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "ROOT")
    }
}
