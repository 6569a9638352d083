//! The user's C and C++ compilers.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::discover::{Surroundings, output_of};
use super::{Missing, Search};
use rex_syntax::source::Language;

/// How a compiler's command line behaves where compilers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The GNU compilers.
    Gnu,
    /// clang and the compilers derived from it.
    Clang,
}

/// One compiler driver, for instance `gcc` or `ccache g++`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCompiler {
    /// The program to start.
    pub program: PathBuf,
    /// Arguments that come before all others, from a variable such as `CC="ccache gcc"`.
    pub leading: Vec<OsString>,
    /// Whose command line it understands.
    pub family: Family,
    /// The first line of its version text.
    pub version: String,
}

/// The compilers for both languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCompilers {
    /// Compiles C.
    pub c: HostCompiler,
    /// Compiles C++ and links.
    pub cxx: HostCompiler,
}

impl HostCompilers {
    /// The compiler of a language.
    pub fn of(&self, language: Language) -> &HostCompiler {
        match language {
            Language::C => &self.c,
            Language::Cxx => &self.cxx,
        }
    }
}

/// The compilers of one machine: each is looked for, and asked for its version, once.
#[derive(Debug, Default)]
pub struct HostCompilerCache {
    c: OnceLock<Result<HostCompiler, Missing>>,
    cxx: OnceLock<Result<HostCompiler, Missing>>,
}

impl HostCompilerCache {
    /// The compiler of one language, on a machine that is the same for all calls.
    ///
    /// # Errors
    /// [`Missing`] names the variables and programs that were tried.
    pub fn find(
        &self,
        surroundings: &Surroundings,
        language: Language,
    ) -> Result<&HostCompiler, &Missing> {
        let found = match language {
            Language::C => &self.c,
            Language::Cxx => &self.cxx,
        };
        found
            .get_or_init(|| find_host_compiler(surroundings, language))
            .as_ref()
    }
}

/// Finds both compilers: `CC` and `CXX`, else the counterpart of the one that is set, else the usual names.
///
/// # Errors
/// [`Missing`] names the variables and programs that were tried.
pub fn find_host_compilers(surroundings: &Surroundings) -> Result<HostCompilers, Missing> {
    Ok(HostCompilers {
        c: find_host_compiler(surroundings, Language::C)?,
        cxx: find_host_compiler(surroundings, Language::Cxx)?,
    })
}

/// Finds the compiler of one language.
///
/// # Errors
/// [`Missing`] names the variables and programs that were tried.
pub fn find_host_compiler(
    surroundings: &Surroundings,
    language: Language,
) -> Result<HostCompiler, Missing> {
    search(surroundings, language, probe)
}

/// Finds the compiler of one language without starting it: the program and the arguments that come before all others.
///
/// # Errors
/// [`Missing`] names the variables and programs that were tried.
pub fn locate_host_compiler(
    surroundings: &Surroundings,
    language: Language,
) -> Result<(PathBuf, Vec<OsString>), Missing> {
    search(surroundings, language, locate)
}

fn search<Found>(
    surroundings: &Surroundings,
    language: Language,
    probe: fn(&Surroundings, &OsStr) -> Option<Found>,
) -> Result<Found, Missing> {
    let (what, variables, other) = match language {
        Language::C => ("a C compiler", ["REX_CC", "CC"], ["REX_CXX", "CXX"]),
        Language::Cxx => ("a C++ compiler", ["REX_CXX", "CXX"], ["REX_CC", "CC"]),
    };
    let mut search = Search::new(what);
    if let Some((variable, command)) = chosen(surroundings, variables) {
        search.looked_at(format!("{variable}={}", command.display()));
        let found = probe(surroundings, command);
        return found.ok_or_else(|| search.missing(REMEDIES));
    }
    let mut candidates: Vec<OsString> = Vec::new();
    let other = chosen(surroundings, other);
    candidates.extend(other.and_then(|(_, command)| counterpart(command, language)));
    candidates.extend(usual_names(language).iter().map(OsString::from));
    candidates.extend(
        (14..=22)
            .rev()
            .map(|version| OsString::from(format!("{}-{version}", clang_name(language)))),
    );
    let found = candidates
        .iter()
        .find_map(|candidate| probe(surroundings, candidate));
    found.ok_or_else(|| {
        search.looked_at(format!("{} (not set)", variables.join(", ")));
        let names = usual_names(language).join(", ");
        search.looked_at(format!("PATH for {names}, clang-14 to clang-22"));
        search.missing(REMEDIES)
    })
}

const REMEDIES: &[&str] = &["apt install gcc g++", "or name a compiler with CC and CXX"];

/// The first of the variables that names a compiler other than rex itself.
fn chosen<'a>(
    surroundings: &'a Surroundings,
    variables: [&'static str; 2],
) -> Option<(&'static str, &'a OsStr)> {
    variables
        .into_iter()
        .filter_map(|variable| Some((variable, surroundings.var(variable)?)))
        .find(|(_, command)| !is_rex(command))
}

/// Whether a command starts rex: a build that calls it the compiler must not make it call itself.
fn is_rex(command: &OsStr) -> bool {
    let text = command.to_string_lossy();
    text.split_whitespace()
        .filter_map(|word| word.rsplit('/').next())
        .any(|word| matches!(word, "rexcc" | "rexc++" | "rexcxx" | "rex-driver"))
}

fn usual_names(language: Language) -> &'static [&'static str] {
    match language {
        Language::C => &["gcc", "clang", "cc"],
        Language::Cxx => &["g++", "clang++", "c++"],
    }
}

fn clang_name(language: Language) -> &'static str {
    match language {
        Language::C => "clang",
        Language::Cxx => "clang++",
    }
}

/// Names the compiler of the other language from the same installation: `gcc-12` and `g++-12`.
fn counterpart(name: &OsStr, language: Language) -> Option<OsString> {
    let name = name.to_str()?;
    let (from, to): (&[&str], &[&str]) = match language {
        Language::Cxx => (&["clang", "gcc"], &["clang++", "g++"]),
        Language::C => (&["clang++", "g++"], &["clang", "gcc"]),
    };
    let (folder, base) = name
        .rsplit_once('/')
        .map_or(("", name), |(folder, base)| (folder, base));
    let (from, to) = from
        .iter()
        .zip(to)
        .find(|(from, _)| base.contains(**from))?;
    let base = base.replacen(from, to, 1);
    Some(
        if folder.is_empty() {
            base
        } else {
            format!("{folder}/{base}")
        }
        .into(),
    )
}

/// The program of a command and the arguments in it.
fn locate(surroundings: &Surroundings, command: &OsStr) -> Option<(PathBuf, Vec<OsString>)> {
    let mut words = match surroundings.program(command) {
        Some(program) => vec![program.into_os_string()],
        None => command
            .to_str()?
            .split_whitespace()
            .map(OsString::from)
            .collect(),
    };
    if words.is_empty() {
        return None;
    }
    let leading = words.split_off(1);
    Some((surroundings.program(&words[0])?, leading))
}

fn probe(surroundings: &Surroundings, command: &OsStr) -> Option<HostCompiler> {
    let (program, leading) = locate(surroundings, command)?;
    let version_args: Vec<&str> = leading
        .iter()
        .filter_map(|word| word.to_str())
        .chain(["--version"])
        .collect();
    let text = output_of(&program, &version_args)?;
    let family = if text.contains("clang") || text.contains("DPC++") {
        Family::Clang
    } else {
        Family::Gnu
    };
    let version = text.lines().next().unwrap_or_default().trim().to_owned();
    Some(HostCompiler {
        program,
        leading,
        family,
        version,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeMachine;
    use super::*;

    #[test]
    fn variables_win_over_path() {
        let machine = FakeMachine::new();
        machine.program("usr/bin/gcc", "gcc (Debian) 12.2.0");
        machine.program("opt/bin/clang-19", "Debian clang version 19.1.7");
        let chosen = machine.path("opt/bin/clang-19");
        let surroundings = machine.surroundings([("CC", chosen.to_str().unwrap())]);
        let compiler = find_host_compiler(&surroundings, Language::C).unwrap();
        assert_eq!(compiler.program, chosen);
        assert_eq!(compiler.family, Family::Clang);
        assert_eq!(compiler.version, "Debian clang version 19.1.7");
    }

    #[test]
    fn the_other_language_comes_from_the_same_compiler() {
        assert_eq!(
            counterpart("gcc-12".as_ref(), Language::Cxx),
            Some("g++-12".into())
        );
        assert_eq!(
            counterpart("/a/clang++-19".as_ref(), Language::C),
            Some("/a/clang-19".into())
        );
        assert_eq!(counterpart("icx".as_ref(), Language::Cxx), None);
    }

    #[test]
    fn rex_does_not_call_itself() {
        let machine = FakeMachine::new();
        machine.program("usr/bin/gcc", "gcc (GCC) 13.1");
        machine.program("usr/bin/rexcc", "rex");
        for command in ["rexcc", "/opt/bin/rexcc", "ccache rexcc", "rex-driver cc"] {
            let surroundings = machine.surroundings([("CC", command)]);
            let compiler = find_host_compiler(&surroundings, Language::C).unwrap();
            assert_eq!(compiler.program, machine.path("usr/bin/gcc"));
        }
    }

    #[test]
    fn a_variable_may_hold_a_wrapper_and_arguments() {
        let machine = FakeMachine::new();
        machine.program("usr/bin/ccache", "gcc (GCC) 13.1");
        let surroundings = machine.surroundings([("CC", "ccache gcc -m64")]);
        let compiler = find_host_compiler(&surroundings, Language::C).unwrap();
        assert_eq!(compiler.leading, ["gcc", "-m64"].map(OsString::from));
    }

    #[test]
    fn a_missing_compiler_says_where_it_was_looked_for() {
        let machine = FakeMachine::new();
        let missing = find_host_compiler(&machine.surroundings([]), Language::Cxx).unwrap_err();
        expect_test::expect![[r"
            no C++ compiler found
              looked at: REX_CXX, CXX (not set)
              looked at: PATH for g++, clang++, c++, clang-14 to clang-22
              try: apt install gcc g++
              try: or name a compiler with CC and CXX"]]
        .assert_eq(&missing.to_string());
    }
}
