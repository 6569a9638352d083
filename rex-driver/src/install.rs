//! What goes with the program when it is installed: the compilers' names, build system files, manuals, completions.
//!
//! The files are data first; [`Installation::write`] writes them. Every file appears complete or not at all.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::build::command::quoted;
use crate::build::{Command, Plan, link_runtime, registration};
use crate::cli::args::Cli;
use crate::error::Error;
use crate::flags::CompilerFlags;
use crate::toolchain::{OffloadRuntime, Surroundings, find_host_compilers};
use crate::write::{Cache, WorkFolder, Writer};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files of the build systems and manuals that are written as they stand, but for the version.
const SHARED: &[(&str, &str)] = &[
    (
        "lib/cmake/Rex/RexConfig.cmake",
        include_str!("../share/RexConfig.cmake"),
    ),
    (
        "lib/cmake/Rex/RexConfigVersion.cmake",
        include_str!("../share/RexConfigVersion.cmake"),
    ),
    (
        "lib/cmake/Rex/RexToolchain.cmake",
        include_str!("../share/RexToolchain.cmake"),
    ),
    ("share/man/man1/rexcc.1", include_str!("../share/rexcc.1")),
    ("share/man/man1/rexc++.1", ".so man1/rexcc.1\n"),
];

const COMPLETIONS: &[(Shell, &str)] = &[
    (Shell::Bash, "share/bash-completion/completions/rex-driver"),
    (Shell::Zsh, "share/zsh/site-functions/_rex-driver"),
    (
        Shell::Fish,
        "share/fish/vendor_completions.d/rex-driver.fish",
    ),
];

/// The names under which the program is a compiler.
const COMPILERS: &[&str] = &["bin/rexcc", "bin/rexc++"];

const PROGRAM: &str = "bin/rex-driver";

/// The helper library, for programs that are lowered and built by hand.
const LIBRARY: &str = "lib/librex.a";

/// The files of an installation, by their places below the prefix.
#[derive(Clone, Debug, Default)]
pub struct Installation {
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Installation {
    /// The files that depend on nothing of the machine.
    pub fn new() -> Installation {
        let mut installation = Installation::default();
        for (place, text) in SHARED {
            installation.add(*place, text.replace("@VERSION@", VERSION));
        }
        for (name, text) in rex_emit::helper_files() {
            installation.add(Path::new("share/rex/runtime").join(name), *text);
        }
        for (shell, place) in COMPLETIONS {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "rex-driver", &mut script);
            installation.add(*place, script);
        }
        for (name, page) in manual() {
            installation.add(Path::new("share/man/man1").join(name), page);
        }
        installation
    }

    /// Adds the helper library for an offload runtime, and what pkg-config says about it.
    ///
    /// # Errors
    /// The failures of the compiler.
    pub fn add_library(
        &mut self,
        machine: &Surroundings,
        runtime: &OffloadRuntime,
    ) -> Result<(), Error> {
        let host = find_host_compilers(machine)?;
        let work = WorkFolder::create(None)?;
        for (name, text) in rex_emit::helper_files() {
            Writer::default().write(&work.path().join(name), text.as_bytes())?;
        }
        let flags = CompilerFlags::default();
        let made = registration(&host.cxx, &flags, runtime, work.path(), None);
        let library = work.path().join("librex.a");
        let archive = Command::new("ar")
            .arg("rcs")
            .arg(&library)
            .arg(&made.object);
        let stages = [made.compile, made.assemble, archive]
            .map(|command| vec![command])
            .to_vec();
        Plan { stages }.execute(&Cache::of(machine), &mut std::io::stderr().lock())?;
        let bytes = std::fs::read(&library).map_err(Error::io("read", &library))?;
        self.add(LIBRARY, bytes);
        let libraries = link_runtime(Command::new("c++"), runtime).args;
        let libraries: Vec<String> = libraries.iter().map(|word| quoted(word)).collect();
        let text = include_str!("../share/rex.pc")
            .replace("@VERSION@", VERSION)
            .replace("@ABI@", &runtime.abi.to_string())
            .replace("@RUNTIME@", &format!("-lstdc++ {}", libraries.join(" ")));
        self.add("lib/pkgconfig/rex.pc", text);
        Ok(())
    }

    fn add(&mut self, place: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) {
        self.files.push((place.into(), bytes.into()));
    }

    /// The places below the prefix, the program and its other names last.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.iter().map(|(place, _)| place.as_path());
        let programs = std::iter::once(&PROGRAM).chain(COMPILERS).map(Path::new);
        files.chain(programs)
    }

    /// Writes everything below a prefix, with `program` as the program.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses.
    pub fn write(&self, prefix: &Path, program: &Path) -> Result<(), Error> {
        let writer = Writer::default();
        for (place, bytes) in &self.files {
            writer.write(&prefix.join(place), bytes)?;
        }
        let bytes = std::fs::read(program).map_err(Error::io("read", program))?;
        writer.write_program(&prefix.join(PROGRAM), &bytes)?;
        for name in COMPILERS {
            writer.link(&prefix.join(name), Path::new("rex-driver"))?;
        }
        Ok(())
    }
}

/// The manual pages of the command and its subcommands, with their file names.
fn manual() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command();
    command.build();
    let own_pages = command
        .get_subcommands()
        // The compilers' page is written by hand.
        .filter(|command| !matches!(command.get_name(), "help" | "cc" | "c++" | "launch"))
        .map(|command| {
            let name = format!("rex-driver-{}", command.get_name());
            page(command.clone(), name)
        });
    let mut pages: Vec<_> = own_pages.collect();
    pages.push(page(command.clone(), "rex-driver".to_owned()));
    pages
}

fn page(command: clap::Command, name: String) -> (String, Vec<u8>) {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.version(VERSION))
        .render(&mut text)
        .expect("writing to memory does not fail");
    (format!("{name}.1"), text)
}
