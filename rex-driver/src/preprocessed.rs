//! Input that a preprocessor has expanded already (`.i`, `.ii`): back to a text that includes its headers.
//!
//! The device compiler has headers of its own, so text of the system's headers must not reach device code.
//! Each run of it becomes one `#include` of the header it began with. Lines keep their numbers.

use std::collections::BTreeSet;

use rex_syntax::expansion::Marker;
use rex_syntax::source::Language;

/// How far a source is preprocessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As it was written.
    #[default]
    Written,
    /// Expanded: headers are in it, macros are not.
    Expanded,
}

impl Form {
    /// The form that a file's name tells.
    pub fn of_name(name: &str) -> Form {
        match language_of_expanded(name) {
            Some(_) => Form::Expanded,
            None => Form::Written,
        }
    }

    /// What `-x` calls a file of this form.
    pub fn name(self, language: Language) -> &'static str {
        match (self, language) {
            (Form::Written, Language::C) => "c",
            (Form::Written, Language::Cxx) => "c++",
            (Form::Expanded, Language::C) => "cpp-output",
            (Form::Expanded, Language::Cxx) => "c++-cpp-output",
        }
    }
}

/// The language of a file that its name says is expanded.
pub fn language_of_expanded(name: &str) -> Option<Language> {
    match name.rsplit_once('.')?.1 {
        "i" => Some(Language::C),
        "ii" => Some(Language::Cxx),
        _ => None,
    }
}

/// Whether a text begins as a preprocessor's output does: with the marker of its first line.
pub fn begins_with_marker(text: &[u8]) -> bool {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(first);
    Marker::parse(line.trim_end()).is_some_and(|marker| marker.line <= 1)
}

/// What a C program may define before its first include to choose what the system's headers declare; none comes first.
pub const FEATURES: [&str; 6] = [
    "",
    "#define _GNU_SOURCE 1",
    "#define _DEFAULT_SOURCE 1",
    "#define _XOPEN_SOURCE 700",
    "#define _XOPEN_SOURCE 600",
    "#define _POSIX_C_SOURCE 200809L",
];

/// In how many lines the text of the system's headers differs between two preprocessed texts.
pub fn n_different_system_lines(one: &[u8], other: &[u8]) -> usize {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    let (one, other) = (system_lines(&one), system_lines(&other));
    one.symmetric_difference(&other).count()
}

fn system_lines(text: &str) -> BTreeSet<&str> {
    let mut is_system = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        match Marker::parse(line.trim_end()) {
            Some(marker) => is_system = marker.is_system && !is_built_in(&marker),
            None if is_system => {
                found.insert(line);
            }
            None => {}
        }
    }
    found
}

/// Takes out the markers and the runs of empty lines that `-P` leaves out, but for the markers that tell the text
/// of the system's headers from the program's.
pub fn without_markers(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    // Whether the header of the system is one that the text shows.
    let mut is_shown = false;
    for line in text.split_inclusive('\n') {
        if let Some(marker) = Marker::parse(line.trim_end()) {
            // The first says that the text is expanded.
            let is_border = match depth {
                0 if marker.enters && marker.is_system => {
                    is_shown = !is_built_in(&marker);
                    is_shown
                }
                0 => out.is_empty(),
                1 => marker.leaves && is_shown,
                _ => false,
            };
            match depth {
                0 if marker.enters && marker.is_system => depth = 1,
                0 => {}
                _ if marker.enters => depth += 1,
                _ if marker.leaves => depth -= 1,
                _ => {}
            }
            if is_border {
                out.push_str(line);
            }
        } else if !line.trim().is_empty() {
            out.push_str(line);
        }
    }
    out.into_bytes()
}

/// What the compiler adds in front of a file by itself.
fn is_built_in(marker: &Marker<'_>) -> bool {
    marker.is_pseudo() || marker.name.ends_with("/stdc-predef.h")
}

/// How the preprocessor finds a header of the system again: by its name below an include folder.
fn include_name(path: &str) -> String {
    let Some((_, name)) = path.rsplit_once("/include/") else {
        return format!("\"{path}\"");
    };
    // The C++ library has folders of its own: `c++/12`.
    let of_library = name
        .strip_prefix("c++/")
        .and_then(|rest| rest.split_once('/'));
    format!("<{}>", of_library.map_or(name, |(_, name)| name))
}

/// Puts includes in the place of the system's headers.
pub fn with_includes(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len() / 4);
    // Headers that are open inside the system's one that is being left out; 0 outside of one.
    let mut depth = 0_usize;
    for line in text.split_inclusive('\n') {
        if let Some(marker) = Marker::parse(line.trim_end()) {
            match depth {
                0 if marker.enters && marker.is_system => {
                    depth = 1;
                    if !is_built_in(&marker) {
                        out.push_str(&format!("#include {}", include_name(marker.name)));
                    }
                }
                0 => {}
                _ if marker.enters => depth += 1,
                _ if marker.leaves => depth -= 1,
                _ => {}
            }
        } else if depth == 0 {
            out.push_str(line.trim_end_matches('\n'));
        }
        if line.ends_with('\n') {
            out.push('\n');
        }
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_system_headers_becomes_an_include() {
        let text = "# 0 \"a.c\"\n# 0 \"<built-in>\"\n# 1 \"/usr/include/stdc-predef.h\" 1 3 4\n# 0 \"<command-line>\" 2\n\
                    # 1 \"a.c\"\n# 1 \"/usr/include/stdio.h\" 1 3 4\n# 27 \"/usr/include/stdio.h\" 3 4\n\
                    # 1 \"/usr/include/bits/t.h\" 1 3 4\ntypedef int t;\n# 28 \"/usr/include/stdio.h\" 2 3 4\nint puts(char *);\n\
                    # 2 \"a.c\" 2\n# 1 \"own.h\" 1\nint own;\n# 3 \"a.c\" 2\nint x;";
        let expected = "\n\n\n\n\n#include <stdio.h>\n\n\n\n\n\n\n\nint own;\n\nint x;";
        let text = with_includes(text.as_bytes());
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn markers_go_but_for_the_borders_of_system_headers() {
        let text = "# 0 \"a.c\"\n# 0 \"<built-in>\"\n# 1 \"/usr/include/stdc-predef.h\" 1 3 4\n# 0 \"<command-line>\" 2\n\
                    # 1 \"a.c\"\n# 1 \"own.h\" 1\n\n\nint own;\n# 1 \"/usr/include/s.h\" 1 3 4\n# 27 \"/usr/include/s.h\" 3 4\n\
                    # 1 \"/usr/include/t.h\" 1 3 4\ntypedef int t;\n# 28 \"/usr/include/s.h\" 2 3 4\nint puts(char *);\n\
                    # 2 \"own.h\" 2\nint x;\n# 3 \"a.c\" 2\nint y;\n";
        let expected = "# 0 \"a.c\"\nint own;\n# 1 \"/usr/include/s.h\" 1 3 4\ntypedef int t;\nint puts(char *);\n# 2 \"own.h\" 2\nint x;\nint y;\n";
        let text = without_markers(text.as_bytes());
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn output_of_a_preprocessor_is_known_by_its_first_line() {
        assert!(begins_with_marker(b"# 0 \"a.c\"\nint x;\n"));
        assert!(!begins_with_marker(b"#include \"a.h\"\n"));
    }

    #[test]
    fn texts_of_system_headers_are_compared() {
        let one =
            b"# 1 \"a.c\"\nint a;\n# 1 \"/usr/include/s.h\" 1 3 4\nint f;\nint g;\n# 2 \"a.c\" 2\n";
        let other = b"# 1 \"b.c\"\nint b;\n# 1 \"/usr/include/s.h\" 1 3 4\nint g;\n# 2 \"b.c\" 2\n";
        assert_eq!(n_different_system_lines(one, other), 1);
        assert_eq!(n_different_system_lines(one, one), 0);
    }

    #[test]
    fn headers_are_found_again_by_the_name_they_were_included_by() {
        assert_eq!(include_name("/usr/include/c++/12/cmath"), "<cmath>");
        let compilers = "/usr/lib/gcc/x86_64-linux-gnu/12/include/limits.h";
        assert_eq!(include_name(compilers), "<limits.h>");
        assert_eq!(include_name("/opt/sdk/api.h"), "\"/opt/sdk/api.h\"");
    }

    #[test]
    fn other_lines_with_a_hash_stay() {
        let text = "#pragma omp target\n# pragma once\nint x; /*\n# 3 \"\n*/\n";
        assert_eq!(with_includes(text.as_bytes()), text.as_bytes());
    }

    #[test]
    fn names_tell_the_language() {
        assert_eq!(language_of_expanded("a.ii"), Some(Language::Cxx));
        assert_eq!(language_of_expanded("dir.i/a"), None);
    }
}
