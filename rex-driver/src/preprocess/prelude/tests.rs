use std::fs;
use std::path::Path;

use rex_syntax::source::Language;

use crate::preprocess::{Expansion, Job, Origin, Preprocessor};
use crate::toolchain::{HostCompiler, Surroundings, find_host_compiler};

use super::*;

fn head(text: &str) -> Option<(String, &str)> {
    Head::of(text, "a.c").map(|head| (head.directives, &text[head.end..]))
}

#[test]
fn a_head_ends_behind_the_last_include() {
    let text =
        "/* a */\n#include <a.h> // b\n\n#ifdef B\n# include \"b.h\"\n#endif\n#define C\nint x;\n";
    let (directives, rest) = head(text).unwrap();
    let expected = "#include <a.h> // b\n#ifdef B\n# include \"b.h\"\n#endif\n";
    assert_eq!(directives, expected);
    assert_eq!(rest, "#define C\nint x;\n");
}

#[test]
fn what_may_see_more_than_macros_has_no_head() {
    assert_eq!(head("int x;\n#include <a.h>\n"), None);
    assert_eq!(head("#include <a.h>\nint x;\n#include <b.h>\n"), None);
    assert_eq!(head("#ifndef A\n#include <a.h>\nint x;\n#endif\n"), None);
    assert_eq!(head("#include <a.h>\nint x = __COUNTER__;\n"), None);
    assert_eq!(head("#include <a.h>"), None);
    assert_eq!(head("int x;\n"), None);
}

/// Files that include a header each, which is gone when the second is expanded.
struct Files {
    folder: tempfile::TempDir,
    compiler: HostCompiler,
    preprocessor: Preprocessor,
}

impl Files {
    /// `None` on a machine without a compiler.
    fn new() -> Option<Files> {
        let compiler = find_host_compiler(&Surroundings::of_process(), Language::C).ok()?;
        let folder = tempfile::tempdir().unwrap();
        let header = "#ifdef WIDE\ntypedef long num;\n#define LIMIT 9\n#else\ntypedef int num;\n#define LIMIT 5\n#endif\n";
        fs::write(folder.path().join("own.h"), header).unwrap();
        Some(Files {
            folder,
            compiler,
            preprocessor: Preprocessor::default(),
        })
    }

    fn expand_with(
        &self,
        preprocessor: &Preprocessor,
        name: &str,
        text: &str,
        words: &str,
    ) -> Option<String> {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let job = Job {
            origin: Origin::File(&path),
            bytes: text.as_bytes(),
            language: Language::C,
            words: &words,
        };
        match preprocessor.expand(job, &self.compiler).unwrap() {
            Expansion::Text(text) => Some(String::from_utf8(text).unwrap()),
            Expansion::Failed(_) => None,
        }
    }

    fn expand(&self, name: &str, text: &str, words: &str) -> Option<String> {
        self.expand_with(&self.preprocessor, name, text, words)
    }

    fn expand_alone(&self, name: &str, text: &str, words: &str) -> Option<String> {
        self.expand_with(&Preprocessor::default(), name, text, words)
    }
}

/// What an expansion says: each line with its file and number, empty ones left out.
fn said(expansion: &str, folder: &Path) -> Vec<String> {
    let folder = format!("{}/", folder.display());
    let (mut name, mut number) = (String::new(), 0);
    let mut lines = Vec::new();
    for line in expansion.lines() {
        if let Some(marker) = Marker::parse(line) {
            number = marker.line;
            name = marker.name.replace(&folder, "");
            continue;
        }
        if !line.trim().is_empty() {
            lines.push(format!("{name}:{number}: {line}"));
        }
        number += 1;
    }
    lines
}

const FIRST: &str = "#include \"own.h\"\nnum first = LIMIT;\n";
const SECOND: &str = "/* A\n   comment. */\n\n#include \"own.h\"\n#define MORE (LIMIT + 1)\n\nnum second = MORE;\n#undef LIMIT\n";

#[test]
fn the_second_file_needs_no_header() {
    let Some(files) = Files::new() else { return };
    let expected = files.expand_alone("b.c", SECOND, "").unwrap();
    files.expand("a.c", FIRST, "").unwrap();
    fs::remove_file(files.folder.path().join("own.h")).unwrap();
    let found = files.expand("b.c", SECOND, "").unwrap();
    assert_eq!(
        said(&found, files.folder.path()),
        said(&expected, files.folder.path())
    );
    assert_eq!(files.expand_alone("b.c", SECOND, ""), None);
}

#[test]
fn other_flags_and_other_lines_need_it() {
    let Some(files) = Files::new() else { return };
    files.expand("a.c", FIRST, "").unwrap();
    let wide = files.expand("b.c", SECOND, "-DWIDE").unwrap();
    assert!(wide.contains("typedef long num;") && wide.contains("= (9 + 1);"));
    let defined = format!("#define WIDE\n{SECOND}");
    let wide = files.expand("b.c", &defined, "").unwrap();
    assert!(wide.contains("typedef long num;") && wide.contains("= (9 + 1);"));
    let narrow = files.expand("b.c", SECOND, "").unwrap();
    assert!(narrow.contains("typedef int num;") && narrow.contains("= (5 + 1);"));
}
