//! `docs/map-forms.md`: for each form of a list item, the entries that rex writes and those that clang 19 emits for the same source.
//!
//! Where clang-19 is installed both sides are read; elsewhere the page's own column stands for clang's. `UPDATE_EXPECT=1` writes the page.

#![expect(
    clippy::unwrap_used,
    reason = "a compiler that does not answer is a failed test"
)]

mod forms;
mod read;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use forms::{FORMS, Form, Language};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/map-forms.md");
const CLANG: &str = "clang-19";

const INTRODUCTION: &str = "# Map forms

What the runtime is told about each form of a list item: by rex, and by clang 19 for the same source. This page is made by a test
(`UPDATE_EXPECT=1 cargo test -p rex-driver --test map_forms`) that reads both; it fails where they differ and no reason is given.

One cell lists the entries of one directive in order. An entry is the sum of its type bits in hexadecimal:

| bits | meaning | bits | meaning |
|---|---|---|---|
| 1 | copied to the device | 40 | the device address comes back |
| 2 | copied from the device | 80 | a private copy |
| 4 | `always` | 100 | the value itself |
| 8 | `delete` | 200 | no clause names it |
| 10 | behind a pointer, which is attached | 400, 1000, 2000 | `close`, `present`, `ompx_hold` |
| 20 | a kernel parameter | `@n` | a member of the n-th entry |

`for (..)` stands for entries that are made in a loop at run time.
";

#[test]
fn every_form_is_mapped_as_clang_maps_it_or_for_a_reason() {
    let page = fs::read_to_string(PAGE).unwrap_or_default();
    let mut text = INTRODUCTION.to_string();
    let mut unexplained = Vec::new();
    let ours = read::of_rex(&[Language::C, Language::Cxx]);
    let theirs = has_clang().then(|| read::of_clang(&[Language::C, Language::Cxx]));
    let mut group = "";
    for (idx, form) in FORMS.iter().enumerate() {
        if form.group != group {
            group = form.group;
            write!(
                text,
                "\n## {group}\n\n| given | directive | rex | clang 19 | why |\n|---|---|---|---|---|\n"
            )
            .unwrap();
        }
        let rex = ours[idx].clone();
        let clang = match &theirs {
            Some(theirs) => theirs[idx].clone(),
            None => known(&page, form).unwrap_or_default(),
        };
        if (rex == clang) != form.reason.is_empty() {
            unexplained.push(format!(
                "{}: rex {rex}, clang {clang}, reason `{}`",
                form.directive, form.reason
            ));
        }
        writeln!(
            text,
            "{} {rex} | {clang} | {} |",
            beginning(form),
            form.reason
        )
        .unwrap();
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    expect_test::expect_file![PAGE].assert_eq(&text);
}

/// The first two cells of a form's row.
fn beginning(form: &Form) -> String {
    let code = |text: &str| match text.is_empty() {
        true => String::new(),
        false => format!("`{}`", text.replace('|', "\\|")),
    };
    format!("| {} | {} |", code(form.given), code(form.directive))
}

/// Clang's entries as the page has them.
fn known(page: &str, form: &Form) -> Option<String> {
    let start = beginning(form);
    let row = page.lines().find_map(|line| line.strip_prefix(&start))?;
    row.split(" | ").nth(1).map(|cell| cell.trim().to_string())
}

fn has_clang() -> bool {
    Command::new(CLANG)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs a command; it must succeed.
fn run(command: &mut Command, folder: &Path) {
    let output = command.current_dir(folder).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
