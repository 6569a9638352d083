//! Which programs a set of files and folders holds.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rex_syntax::lex::{Token, TokenKind, significant_tokens};
use rex_syntax::source::{Language, SourceFile};
use rex_syntax::{TextRange, TextSize};

use super::{Compare, list};
use crate::build::command::folder_of;
use crate::error::Error;
use crate::flags::Flag;

/// One program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The folder or file that stands for it.
    pub name: PathBuf,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// Its sources.
    pub sources: Vec<PathBuf>,
    /// What a list says about it.
    pub settings: Settings,
}

/// What a list says about a program; the command line says the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Compiler flags behind the user's.
    pub flags: Vec<Flag>,
    /// Its arguments.
    pub args: Option<Vec<OsString>>,
    /// The file it reads as standard input.
    pub stdin: Option<PathBuf>,
    /// When it is stopped.
    pub time_limit: Option<Duration>,
    /// How much floating-point numbers may differ.
    pub tolerance: Option<f64>,
    /// What is compared.
    pub compare: Option<Compare>,
    /// How it is built, if not from its sources.
    pub build: Option<OwnBuild>,
}

/// A program with a build of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnBuild {
    /// The command for a shell; `CC` and `CXX` name the compilers.
    pub command: String,
    /// What it makes, as seen from the program's folder.
    pub program: PathBuf,
}

/// Finds the programs in `paths`, in a stable order.
///
/// A file is a program, or a list of programs if its name ends in `.toml`; a folder with a list holds what that says.
/// A folder whose sources define `main` once is one program of all its sources; if
/// several define `main`, each of them is a program of its own. Otherwise its subfolders are looked at.
///
/// # Errors
/// [`Error::Io`] if a path cannot be read.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    let mut open: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    while let Some(path) = open.pop() {
        let meta = fs::metadata(&path).map_err(Error::io("read", &path))?;
        let own_list = path.join(list::FILE_NAME);
        if meta.is_file()
            && path
                .extension()
                .is_some_and(|extension| extension == "toml")
        {
            programs.extend(list::read(&path)?);
            continue;
        } else if meta.is_file() {
            programs.push(Program::of_file(&path));
            continue;
        } else if own_list.is_file() {
            programs.extend(list::read(&own_list)?);
            continue;
        }
        let (sources, folders) = entries(&path)?;
        let mains: Vec<&PathBuf> = sources.iter().filter(|source| has_main(source)).collect();
        match mains.as_slice() {
            [] => open.extend(folders.into_iter().rev()),
            [_] => programs.push(Program {
                name: path.clone(),
                folder: path,
                sources,
                settings: Settings::default(),
            }),
            mains => {
                programs.extend(mains.iter().map(|main| Program::of_file(main)));
                open.extend(folders.into_iter().rev());
            }
        }
    }
    Ok(programs)
}

impl Program {
    fn of_file(path: &Path) -> Program {
        Program {
            name: path.to_owned(),
            folder: folder_of(path).to_owned(),
            sources: vec![path.to_owned()],
            settings: Settings::default(),
        }
    }
}

/// The sources in a folder, sorted by name.
pub(super) fn sources_of(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    Ok(entries(folder)?.0)
}

/// The sources and the subfolders of a folder, sorted by name; hidden ones are left out.
fn entries(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Error> {
    let entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.retain(|path| {
        path.file_name()
            .is_some_and(|name| !name.to_string_lossy().starts_with('.'))
    });
    let is_source = |path: &&PathBuf| {
        path.is_file() && Language::from_file_name(&path.to_string_lossy()).is_some()
    };
    let sources = paths.iter().filter(is_source).cloned().collect();
    let folders = paths.iter().filter(|path| path.is_dir()).cloned().collect();
    Ok((sources, folders))
}

fn has_main(path: &Path) -> bool {
    fs::read(path).is_ok_and(defines_main)
}

/// Whether a text has `main(` where a function's name stands.
fn defines_main(bytes: Vec<u8>) -> bool {
    let file = SourceFile::new("", Language::C, bytes);
    let text = file.text();
    let tokens: Vec<Token> =
        significant_tokens(text, TextRange::up_to(TextSize::of(text))).collect();
    let ends_declaration = |token: &Token| {
        let word = token.text(text);
        match token.kind {
            TokenKind::Identifier => !matches!(word, "return" | "else" | "do"),
            _ => word == "}" || word == ";",
        }
    };
    tokens.windows(2).enumerate().any(|(idx, pair)| {
        let before = idx.checked_sub(1).map(|before| &tokens[before]);
        pair[0].text(text) == "main"
            && pair[1].text(text) == "("
            && before.is_none_or(ends_declaration)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_found(files: &[(&str, &str)], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = find(&[folder.path().to_owned()]).unwrap();
        let relative = |path: &Path| {
            path.strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string()
        };
        let found: Vec<String> = found
            .iter()
            .map(|program| {
                let sources: Vec<String> = program
                    .sources
                    .iter()
                    .map(|source| relative(source))
                    .collect();
                format!("{}: {}", relative(&program.name), sources.join(" "))
            })
            .collect();
        assert_eq!(found, expected);
    }

    const MAIN: &str = "int main(void) { return 0; }";

    #[test]
    fn a_folder_with_one_main_is_one_program() {
        let files = [("p/a.c", MAIN), ("p/b.cpp", "void f();"), ("p/b.h", MAIN)];
        check_found(&files, &["p: p/a.c p/b.cpp"]);
    }

    #[test]
    fn several_mains_are_several_programs() {
        let files = [
            ("a.c", MAIN),
            ("b.c", "main() {}"),
            ("c.c", "int f;"),
            ("sub/d.c", MAIN),
        ];
        check_found(&files, &["a.c: a.c", "b.c: b.c", "sub: sub/d.c"]);
    }

    #[test]
    fn a_main_in_a_comment_or_a_longer_name_is_none() {
        check_found(
            &[("a.c", "/* int main( */ int domain(int x); int main2();")],
            &[],
        );
    }
}
