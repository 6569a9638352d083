//! Line markers: compilers and debuggers speak of the file the user wrote, not of the lowered one.
//!
//! Lowering leaves lines outside its edits as they are, so the lines that both files share are found by
//! comparing them. Before each run of shared lines stands `#line` with its place in the user's file, before
//! each generated run its place in the lowered file. The user's lines may be indented anew. No code depends on it.

use std::collections::BTreeSet;
use std::path::Path;

use rex_emit::{Artifact, ArtifactKind};
use rex_syntax::lex::{TokenKind, tokens};
use rex_syntax::source::{Language, SourceFile};
use rex_syntax::{TextRange, TextSize};
use similar::{Algorithm, DiffOp, capture_diff_slices, diff_ratio};

use crate::line_directives::LineDirectives;
use crate::session::Lowered;

/// The text of an artifact that stands at a path, with line markers if it is a host or device file.
pub fn with_lines(lowered: &Lowered, artifact: &Artifact, path: &Path) -> Vec<u8> {
    with_markers(lowered, artifact, path, Markers::Standard)
}

/// The same for a file that is compiled at once. No warning that the user asks for comes from generated lines, unless the user
/// is told of every extension, such as these markers.
pub fn with_lines_for_compiler(lowered: &Lowered, artifact: &Artifact, path: &Path) -> Vec<u8> {
    let is_told = PEDANTIC.iter().any(|flag| lowered.flags.contains(flag));
    let markers = match artifact.kind {
        ArtifactKind::Host if !is_told => Markers::OfSystemHeaders,
        _ => Markers::Standard,
    };
    with_markers(lowered, artifact, path, markers)
}

/// Flags by which gcc and clang speak of markers that are not `#line`.
const PEDANTIC: [&str; 5] = [
    "-pedantic",
    "-pedantic-errors",
    "-Wpedantic",
    "-Weverything",
    "-Wgnu-line-marker",
];

/// What some editors put in front of a UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whose a line is that lowering changed and did not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edited {
    /// The user's: what device compilers say of it is for the user.
    OfUser,
    /// As good as generated, so that nobody is warned of it.
    Generated,
}

/// How places are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Markers {
    /// `#line`
    Standard,
    /// As preprocessors write them, with generated lines as those of a system header.
    OfSystemHeaders,
}

impl Markers {
    /// The line before line `number` of a file.
    fn marker(self, number: usize, name: &Path, is_generated: bool) -> String {
        let name = name
            .to_string_lossy()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        match (self, is_generated) {
            (Markers::Standard, _) => format!("#line {number} \"{name}\"\n"),
            (Markers::OfSystemHeaders, false) => format!("# {number} \"{name}\"\n"),
            (Markers::OfSystemHeaders, true) => format!("# {number} \"{name}\" 3\n"),
        }
    }
}

fn with_markers(lowered: &Lowered, artifact: &Artifact, path: &Path, markers: Markers) -> Vec<u8> {
    match artifact.kind {
        ArtifactKind::Host | ArtifactKind::Device => {
            let lowered_text = &artifact.bytes;
            let edited = match artifact.kind {
                ArtifactKind::Device => Edited::OfUser,
                _ => Edited::Generated,
            };
            let names = (lowered.path.as_path(), path);
            with_line_markers(&lowered.bytes, lowered_text, names, markers, edited)
        }
        _ => artifact.bytes.clone(),
    }
}

/// Whether a line of both files, which may differ in its indentation, is hardly the same by chance.
fn tells(old: &[u8], new: &[u8]) -> bool {
    let least = if old == new { 2 } else { 8 };
    new.trim_ascii().len() >= least
}

/// A marker is left out where it would end up inside a comment, a string or a continued line.
fn with_line_markers(
    original: &[u8],
    lowered: &[u8],
    (original_name, lowered_name): (&Path, &Path),
    markers: Markers,
    edited: Edited,
) -> Vec<u8> {
    // It is one at the beginning of a file only.
    let without_mark = |text| <[u8]>::strip_prefix(text, BYTE_ORDER_MARK);
    let original = without_mark(original).unwrap_or(original);
    let (mark, lowered) = match without_mark(lowered) {
        Some(rest) => (BYTE_ORDER_MARK, rest),
        None => ([].as_slice(), lowered),
    };
    let old: Vec<&[u8]> = original.split_inclusive(|&byte| byte == b'\n').collect();
    let new: Vec<&[u8]> = lowered.split_inclusive(|&byte| byte == b'\n').collect();
    let original_name = original_name.to_string_lossy();
    let original_text = String::from_utf8_lossy(original);
    let directives = LineDirectives::of(&original_text, &original_name);
    let starts = shared_runs(&old, &new, edited);
    let unfit = unfit_lines(lowered, &new);
    let mut out = Vec::with_capacity(lowered.len() + 1024);
    out.extend(mark);
    let mut n_lines = 0;
    // What the next line needs: its 1-based line in the user's file, or `None` if it is generated.
    let mut pending = None;
    for (line_idx, line) in new.iter().enumerate() {
        if let Some(&(_, place)) = starts.iter().find(|(start, _)| *start == line_idx) {
            pending = Some((line_idx, place));
        }
        if !unfit.contains(&line_idx)
            && let Some((start, place)) = pending.take()
        {
            // The marker's own line comes before the one it speaks of.
            let (number, name) = match place {
                Some(first) => {
                    let (name, number) = directives.pretended(first + (line_idx - start));
                    (number, Path::new(name))
                }
                None => (n_lines + 2, lowered_name),
            };
            out.extend(markers.marker(number, name, place.is_none()).bytes());
            n_lines += 1;
        }
        out.extend(*line);
        n_lines += 1;
    }
    out
}

/// Where runs begin in the new file: shared ones with their 1-based line in the old file, others with `None`.
fn shared_runs(old: &[&[u8]], new: &[&[u8]], edited: Edited) -> Vec<(usize, Option<usize>)> {
    let mut starts: Vec<(usize, Option<usize>)> = Vec::new();
    let keys = |lines: &[&'_ [u8]]| -> Vec<Vec<u8>> {
        let bare = lines.iter().map(|line| line.trim_ascii().to_vec());
        bare.collect()
    };
    for op in capture_diff_slices(Algorithm::Patience, &keys(old), &keys(new)) {
        let (new_index, place) = match op {
            DiffOp::Delete { .. } => continue,
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } if edited == Edited::OfUser => {
                let lines = (
                    &old[old_index..old_index + old_len],
                    &new[new_index..new_index + new_len],
                );
                let places = edited_lines(lines.0, lines.1);
                for (idx, place) in places.into_iter().enumerate() {
                    let place = place.map(|old_idx| old_index + old_idx + 1);
                    if place.is_some() || starts.last().is_none_or(|(_, last)| last.is_some()) {
                        starts.push((new_index + idx, place));
                    }
                }
                continue;
            }
            DiffOp::Insert { new_index, .. } | DiffOp::Replace { new_index, .. } => {
                (new_index, None)
            }
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => {
                // A brace or an empty line may be shared by chance.
                let mut run = (0..len).map(|idx| (old[old_index + idx], new[new_index + idx]));
                let is_shared = run.any(|(old, new)| tells(old, new));
                (new_index, is_shared.then_some(old_index + 1))
            }
        };
        if place.is_some() || starts.last().is_none_or(|(_, last)| last.is_some()) {
            starts.push((new_index, place));
        }
    }
    starts
}

/// The line that each new one was made of, if it is still much like it. Both stand in one order.
fn edited_lines(old: &[&[u8]], new: &[&[u8]]) -> Vec<Option<usize>> {
    const MAX_LINES: usize = 64;
    let mut places = vec![None; new.len()];
    if old.len() > MAX_LINES || new.len() > MAX_LINES {
        return places;
    }
    let mut next = 0;
    for (place, line) in places.iter_mut().zip(new) {
        let made_of = (next..old.len()).find(|idx| is_edited(old[*idx], line));
        if let Some(idx) = made_of {
            *place = Some(idx);
            next = idx + 1;
        }
    }
    places
}

/// Whether most of a line is in another, in one order.
fn is_edited(old: &[u8], new: &[u8]) -> bool {
    let (old, new) = (old.trim_ascii(), new.trim_ascii());
    if old.len() < 8 || new.len() < 8 {
        return false;
    }
    let operations = capture_diff_slices(Algorithm::Myers, old, new);
    diff_ratio(&operations, old.len(), new.len()) > 0.7
}

/// Lines that begin inside a comment or a string, or that continue the line before.
fn unfit_lines(text: &[u8], lines: &[&[u8]]) -> BTreeSet<usize> {
    let continues = |line: &&[u8]| line.trim_ascii_end().ends_with(b"\\");
    let mut unfit: BTreeSet<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| continues(line))
        .map(|(idx, _)| idx + 1)
        .collect();
    let file = SourceFile::new("", Language::Cxx, text);
    let text = file.text();
    let all = TextRange::up_to(TextSize::of(text));
    for token in tokens(text, all) {
        if matches!(token.kind, TokenKind::Comment | TokenKind::String) {
            // 1-based numbers, so the first line's is the second line's index.
            let (first, last) = (file.line(token.range.start()), file.line(token.range.end()));
            unfit.extend((first..last).map(|line| line as usize));
        }
    }
    unfit
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test]
    fn a_line_that_is_still_much_the_same_keeps_its_place() {
        check(
            "struct A { int get() const; };\nint x;\n",
            "#include \"h\"\nstruct A { __device__ int get() const; };\nint made;\nint x;\n",
            ("w/rose_a.c", Edited::OfUser),
            expect![[r##"
                #line 2 "w/rose_a.c"
                #include "h"
                #line 1 "a.c"
                struct A { __device__ int get() const; };
                #line 6 "w/rose_a.c"
                int made;
                #line 2 "a.c"
                int x;
            "##]],
        );
    }

    fn check_marked(original: &str, lowered: &str, expected: Expect) {
        check(
            original,
            lowered,
            ("w/rose_a.c", Edited::Generated),
            expected,
        );
    }

    fn check(original: &str, lowered: &str, (name, edited): (&str, Edited), expected: Expect) {
        let marked = with_line_markers(
            original.as_bytes(),
            lowered.as_bytes(),
            (Path::new("a.c"), Path::new(name)),
            Markers::Standard,
            edited,
        );
        expected.assert_eq(std::str::from_utf8(&marked).unwrap());
    }

    #[test]
    fn shared_lines_point_to_the_original() {
        check_marked(
            "int x;\nint main(void) {\n#pragma omp target\n  x = 1;\n}\nint y;\n",
            "int x;\nint main(void) {\n  launch();\n  wait();\n}\nint y;\n",
            expect![[r##"
                #line 1 "a.c"
                int x;
                int main(void) {
                #line 5 "w/rose_a.c"
                  launch();
                  wait();
                #line 5 "a.c"
                }
                int y;
            "##]],
        );
    }

    #[test]
    fn markers_stay_out_of_comments_and_continued_lines() {
        check_marked(
            "#pragma omp target\nf(); /* one\ntwo */\n#define A \\\n  3\nint y;\n",
            "g(); /* one\ntwo */\n#define A \\\n  3\nint y;\n",
            expect![[r##"
                #line 2 "w/rose_a.c"
                g(); /* one
                two */
                #line 4 "a.c"
                #define A \
                  3
                int y;
            "##]],
        );
    }

    #[test]
    fn device_files_indent_lines_anew() {
        check(
            "int main(void) {\n#pragma omp target\n  {\n    total += weight(3);\n  }\n}\n",
            "__global__ void k() {\n  int &total = *total__arg;\n      total += weight(3);\n}\n",
            ("rex_lib_a.cu", Edited::OfUser),
            expect![[r##"
            #line 2 "rex_lib_a.cu"
            __global__ void k() {
              int &total = *total__arg;
            #line 4 "a.c"
                  total += weight(3);
            #line 7 "rex_lib_a.cu"
            }
        "##]],
        );
    }

    #[test]
    fn generated_lines_can_be_those_of_a_system_header() {
        let marked = with_line_markers(
            b"int x;\n#pragma omp target\nint y;\n",
            b"int x;\nlaunch();\nint y;\n",
            (Path::new("a \"b\".c"), Path::new("rose_a.c")),
            Markers::OfSystemHeaders,
            Edited::Generated,
        );
        expect![[r##"
            # 1 "a \"b\".c"
            int x;
            # 4 "rose_a.c" 3
            launch();
            # 3 "a \"b\".c"
            int y;
        "##]]
        .assert_eq(std::str::from_utf8(&marked).unwrap());
    }

    #[test]
    fn an_unchanged_file_has_one_marker() {
        check_marked(
            "int x;\n",
            "int x;\n",
            expect![[r##"
            #line 1 "a.c"
            int x;
        "##]],
        );
    }
}
