//! Rules about the repository itself: who may depend on whom, what a module says about itself.
//!
//! Each rule reports every place that breaks it.

#![expect(
    clippy::unwrap_used,
    reason = "a rule that cannot be checked is a failed test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates and what each may depend on, among them.
const DIRECTION: [(&str, &[&str]); 5] = [
    ("rex-syntax", &[]),
    ("rex-ir", &["rex-syntax"]),
    ("rex-passes", &["rex-ir", "rex-syntax"]),
    ("rex-emit", &["rex-ir", "rex-syntax"]),
    (
        "rex-driver",
        &["rex-emit", "rex-ir", "rex-passes", "rex-syntax"],
    ),
];

/// Crates that only one of ours may use: the parser, and what talks to the outside world.
const CONFINED: [(&str, &[&str]); 3] = [
    (
        "rex-syntax",
        &["tree-sitter", "tree-sitter-c", "tree-sitter-cpp"],
    ),
    ("rex-passes", &["petgraph"]),
    (
        "rex-driver",
        &[
            "clap",
            "clap_complete",
            "clap_mangen",
            "codespan-reporting",
            "rayon",
            "serde",
            "serde_json",
            "tempfile",
            "toml",
        ],
    ),
];

/// What the source of a library crate must not name: files, environment, processes, terminals.
const OUTSIDE_WORLD: [&str; 7] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "println!(",
    "eprintln!(",
    "thread::sleep",
];

#[test]
fn crates_depend_in_one_direction() {
    let mut problems = Vec::new();
    for (name, dependencies) in dependencies() {
        let allowed = DIRECTION.iter().find(|(krate, _)| *krate == name);
        let Some((_, allowed)) = allowed else {
            problems.push(format!("{name} is not in the table of crates"));
            continue;
        };
        for dependency in &dependencies {
            if dependency.starts_with("rex-") && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{name} must not depend on {dependency}"));
            }
            for (owner, confined) in CONFINED {
                if owner != name && confined.contains(&dependency.as_str()) {
                    problems.push(format!(
                        "{name} uses {dependency}, which belongs to {owner}"
                    ));
                }
            }
        }
    }
    check(problems);
}

#[test]
fn only_the_driver_touches_the_outside_world() {
    let mut problems = Vec::new();
    for (krate, _) in DIRECTION.iter().filter(|(krate, _)| *krate != "rex-driver") {
        for (path, text) in product_code(krate) {
            problems.extend(lines_with(&path, &text, &OUTSIDE_WORLD));
        }
    }
    check(problems);
}

#[test]
fn only_the_syntax_tree_names_the_parser() {
    let mut problems = Vec::new();
    for (krate, _) in DIRECTION {
        for (path, text) in product_code(krate) {
            let is_of_tree = path.to_string_lossy().contains("rex-syntax/src/cst/");
            if !is_of_tree && !path.ends_with("rex-syntax/src/cst.rs") {
                problems.extend(lines_with(&path, &text, &["tree_sitter"]));
            }
        }
    }
    check(problems);
}

#[test]
fn emitters_do_not_import_each_other() {
    let emitters = ["host", "device", "helper"];
    let mut problems = Vec::new();
    for (path, text) in product_code("rex-emit") {
        let relative = path.strip_prefix(root().join("rex-emit/src")).unwrap();
        let own = relative
            .iter()
            .next()
            .unwrap()
            .to_string_lossy()
            .replace(".rs", "");
        if emitters.contains(&own.as_str()) {
            let others = emitters.iter().filter(|emitter| **emitter != own);
            let paths: Vec<String> = others.map(|emitter| format!("crate::{emitter}")).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            problems.extend(lines_with(&path, &text, &paths));
        }
    }
    check(problems);
}

#[test]
fn modules_say_what_they_own() {
    let sources = repository_files()
        .into_iter()
        .filter(|path| has_extension(path, &["rs"]) && !path.ends_with("tests.rs"));
    let problems = sources
        .filter(|path| !read(path).starts_with("//!"))
        .map(|path| format!("{} does not start with //!", shown(&path)))
        .collect();
    check(problems);
}

#[test]
fn lines_have_no_trailing_blanks() {
    let mut problems = Vec::new();
    for path in repository_files() {
        let text = read(&path);
        for (line, content) in (1..).zip(text.split('\n')) {
            if content.ends_with([' ', '\t', '\r']) {
                problems.push(format!("{}:{line} ends with a blank", shown(&path)));
            }
        }
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            problems.push(format!("{} does not end with one newline", shown(&path)));
        }
    }
    check(problems);
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut problems = Vec::new();
    for path in repository_files()
        .into_iter()
        .filter(|path| has_extension(path, &["md"]))
    {
        let text = read(&path);
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = target.split('#').next().unwrap();
            let is_local = !file.is_empty() && !file.contains("://");
            if is_local && !path.parent().unwrap().join(file).exists() {
                problems.push(format!("{} links to {target}", shown(&path)));
            }
        }
    }
    check(problems);
}

#[track_caller]
fn check(problems: Vec<String>) {
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .is_some_and(|own| extensions.iter().any(|extension| own == *extension))
}

/// The dependencies of each workspace member that end up in the product.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
            (
                text(&package["name"]),
                normal.map(|dependency| text(&dependency["name"])).collect(),
            )
        })
        .collect()
}

/// The source files of a crate without its tests.
fn product_code(krate: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    collect(&root().join(krate).join("src"), &mut files);
    files.retain(|path| {
        let name = path.file_stem().unwrap().to_string_lossy();
        has_extension(path, &["rs"]) && name != "tests" && name != "testing"
    });
    files
        .into_iter()
        .map(|path| {
            let text = read(&path);
            let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            (path, product.to_owned())
        })
        .collect()
}

/// The lines of code, comments apart, that contain one of the words.
fn lines_with(path: &Path, text: &str, words: &[&str]) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    let code = lines.filter(|(_, content)| !content.trim_start().starts_with("//"));
    code.filter_map(|(line, content)| {
        let word = words.iter().find(|word| content.contains(**word))?;
        Some(format!("{}:{line} names {word}", shown(path)))
    })
    .collect()
}

/// Text files of the project, fixtures (whose bytes are the point) and build output apart.
fn repository_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in [".ci", "docs"]
        .into_iter()
        .chain(DIRECTION.map(|(krate, _)| krate))
    {
        collect(&root().join(folder), &mut files);
    }
    let top_level = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files.extend(top_level.filter(|path| path.is_file()));
    files.push(root().join("fixtures/README.md"));
    let extensions = ["rs", "md", "toml", "h", "cpp", "cu", "yml"];
    files.retain(|path| has_extension(path, &extensions) || path.ends_with(".ci/run"));
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}
