//! Which programs a set of files and folders holds.

use std::fs;
use std::path::{Path, PathBuf};

use rex_syntax::lex::{Token, TokenKind, significant_tokens};
use rex_syntax::source::{Language, SourceFile};
use rex_syntax::{TextRange, TextSize};

use crate::error::Error;

/// The sources of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFiles {
    /// The folder or file that stands for it.
    pub name: PathBuf,
    /// Its sources.
    pub sources: Vec<PathBuf>,
}

/// Finds the programs in `paths`, in a stable order.
///
/// A file is a program. A folder whose sources define `main` once is one program of all its sources; if
/// several define `main`, each of them is a program of its own. Otherwise its subfolders are looked at.
///
/// # Errors
/// [`Error::Io`] if a path cannot be read.
pub fn find(paths: &[PathBuf]) -> Result<Vec<ProgramFiles>, Error> {
    let mut programs = Vec::new();
    let mut open: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    while let Some(path) = open.pop() {
        let meta = fs::metadata(&path).map_err(Error::io("read", &path))?;
        if meta.is_file() {
            programs.push(ProgramFiles {
                name: path.clone(),
                sources: vec![path],
            });
            continue;
        }
        let (sources, folders) = entries(&path)?;
        let mains: Vec<&PathBuf> = sources.iter().filter(|source| has_main(source)).collect();
        match mains.as_slice() {
            [] => open.extend(folders.into_iter().rev()),
            [_] => programs.push(ProgramFiles {
                name: path,
                sources,
            }),
            mains => {
                let single = |main: &&PathBuf| ProgramFiles {
                    name: (*main).clone(),
                    sources: vec![(*main).clone()],
                };
                programs.extend(mains.iter().map(single));
                open.extend(folders.into_iter().rev());
            }
        }
    }
    Ok(programs)
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
