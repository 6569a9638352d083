//! The entries of every form, from rex's host file and from clang's LLVM IR.

use std::fs;
use std::process::Command;

use regex::Regex;

use crate::forms::{FORMS, Language, PRELUDE};
use crate::{CLANG, run};

/// A file with a function for each form of one language.
fn source(language: Language) -> String {
    let mut text = PRELUDE.to_string();
    if language == Language::Cxx {
        text.push_str(crate::forms::CXX_PRELUDE);
    }
    for (idx, form) in FORMS.iter().enumerate() {
        if form.language != language {
            continue;
        }
        let function = match form.is_member() {
            true => format!("void Object::form_{idx}()"),
            false => format!("void form_{idx}(void)"),
        };
        text.push_str(&format!(
            "{function} {{\n  {}\n#pragma omp {}\n  {}\n}}\n",
            form.given, form.directive, form.body
        ));
    }
    let declarations: String = FORMS
        .iter()
        .enumerate()
        .filter(|(_, form)| form.is_member())
        .map(|(idx, _)| format!("  void form_{idx}();\n"))
        .collect();
    text.replace("  /* forms */\n", &declarations)
}

fn file_name(language: Language) -> &'static str {
    match language {
        Language::C => "forms.c",
        Language::Cxx => "forms.cpp",
    }
}

/// What rex writes, by form.
pub(crate) fn of_rex(languages: &[Language]) -> Vec<String> {
    of(languages, |folder, file| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rex-driver"));
        run(command.args(["lower", file]), folder);
        let host = fs::read_to_string(folder.join(format!("rose_{file}"))).unwrap();
        let functions = Regex::new(r"(?m)^void (?:Object::)?form_(\d+)\(").unwrap();
        let bounds: Vec<(usize, usize)> = functions
            .captures_iter(&host)
            .map(|found| (found[1].parse().unwrap(), found.get(0).unwrap().start()))
            .collect();
        let mut entries = Vec::new();
        for (nth, (form, start)) in bounds.iter().enumerate() {
            let end = bounds.get(nth + 1).map_or(host.len(), |(_, start)| *start);
            entries.push((*form, entries_of_code(&host[*start..end])));
        }
        entries
    })
}

/// The type words of the braced array, or of the calls that fill a list.
fn entries_of_code(code: &str) -> String {
    if let Some(at) = code.find("int64_t rex_types[] = {") {
        let list = &code[at..];
        let (start, end) = (list.find('{').unwrap(), list.find('}').unwrap());
        let words: Vec<String> = list[start + 1..end].split(',').map(type_word).collect();
        return words.join(", ");
    }
    let types = Regex::new(r", (0x[0-9a-f]+)( \| rex_member_of_(\d+))?, REX_").unwrap();
    let mut words = Vec::new();
    for line in code.lines().map(str::trim) {
        if line.starts_with("for (") && code.contains("rex_map(") {
            words.push("for (..)".to_string());
        } else if let Some(call) = line.split("rex_map(").nth(1) {
            let found = types.captures(call).unwrap();
            let member = found.get(3).map_or(String::new(), |parent| {
                format!("@{}", parent.as_str().parse::<u32>().unwrap() + 1)
            });
            words.push(format!("{}{member}", &found[1][2..]));
        }
    }
    match words.is_empty() {
        true => "none".to_string(),
        false => words.join(", "),
    }
}

fn type_word(text: &str) -> String {
    let digits = text.trim();
    let bits = match digits.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    match bits {
        Ok(bits) if bits >> 48 != 0 => format!("{:x}@{}", bits & 0xffff_ffff_ffff, bits >> 48),
        Ok(bits) => format!("{bits:x}"),
        Err(_) => digits.to_string(),
    }
}

/// What clang emits, by form.
pub(crate) fn of_clang(languages: &[Language]) -> Vec<String> {
    of(languages, |folder, file| {
        let mut command = Command::new(CLANG);
        command.args(["-fopenmp", "-fopenmp-targets=x86_64-unknown-linux-gnu"]);
        command.args(["-fopenmp-version=51", "-fopenmp-extensions", "-w", "-O0"]);
        command.args([
            "--offload-host-only",
            "-S",
            "-emit-llvm",
            "-o",
            "forms.ll",
            file,
        ]);
        run(&mut command, folder);
        let ir = fs::read_to_string(folder.join("forms.ll")).unwrap();
        let arrays = Regex::new(
            r"(?m)^(@\.offload_maptypes[.\d]*) = .*?\[(\d+) x i64\] (?:\[([^\]]*)\]|zeroinitializer)$",
        )
        .unwrap();
        let functions =
            Regex::new(r"(?ms)^define [^\n]*@(?:_ZN6Object\d+|_Z\d+)?form_(\d+)[^\n]*\{$(.*?)^\}")
                .unwrap();
        let used = Regex::new(r"@\.offload_maptypes[.\d]*").unwrap();
        let numbers = Regex::new(r"i64 (\d+)").unwrap();
        functions
            .captures_iter(&ir)
            .map(|function| {
                let name = used.find(&function[2]).map(|found| found.as_str());
                let array = arrays
                    .captures_iter(&ir)
                    .find(|array| Some(&array[1]) == name);
                let words: Vec<String> = match array {
                    Some(array) => match array.get(3) {
                        Some(list) => numbers
                            .captures_iter(list.as_str())
                            .map(|number| type_word(&number[1]))
                            .collect(),
                        None => vec!["0".to_string(); array[2].parse().unwrap()],
                    },
                    None => Vec::new(),
                };
                let entries = match words.is_empty() {
                    true => "none".to_string(),
                    false => words.join(", "),
                };
                (function[1].parse().unwrap(), entries)
            })
            .collect()
    })
}

/// Asks for the entries of each language's forms and puts them in order.
fn of(
    languages: &[Language],
    ask: impl Fn(&std::path::Path, &str) -> Vec<(usize, String)>,
) -> Vec<String> {
    let mut all = vec![String::new(); FORMS.len()];
    for language in languages {
        let folder = tempfile::tempdir().unwrap();
        let file = file_name(*language);
        fs::write(folder.path().join(file), source(*language)).unwrap();
        for (form, entries) in ask(folder.path(), file) {
            all[form] = entries;
        }
    }
    let missing: Vec<&str> = all
        .iter()
        .zip(FORMS)
        .filter(|(entries, _)| entries.is_empty())
        .map(|(_, form)| form.directive)
        .collect();
    assert!(missing.is_empty(), "no entries for {missing:?}");
    all
}
