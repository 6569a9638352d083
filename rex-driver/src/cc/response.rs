//! Response files: `@file` stands for the words in that file.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// How deep response files may name each other; a compiler stops such a ring too.
const MAX_DEPTH: usize = 32;

/// Replaces each `@file` that can be read by its words, as gcc does; others stay as they are.
pub(crate) fn expand(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut expanded = Vec::new();
    // Words still to look at, last first, with the depth they were found at.
    let mut open: Vec<(OsString, usize)> = words.into_iter().map(|word| (word, 0)).collect();
    open.reverse();
    while let Some((word, depth)) = open.pop() {
        let name = word
            .as_bytes()
            .strip_prefix(b"@")
            .filter(|_| depth < MAX_DEPTH);
        match name.and_then(|name| fs::read(std::ffi::OsStr::from_bytes(name)).ok()) {
            Some(text) => {
                open.extend(split(&text).into_iter().rev().map(|word| (word, depth + 1)));
            }
            None => expanded.push(word),
        }
    }
    expanded
}

/// Splits text into words: blanks separate, quotes of both kinds join, a backslash takes the next byte as it is.
pub(crate) fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == byte => quote = None,
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_gcc_does() {
        let words = split(b"-DA='b c' \"d\\\"e\"\n  f\\ g ''");
        assert_eq!(words, ["-DA=b c", "d\"e", "f g", ""].map(OsString::from));
    }

    #[test]
    fn files_may_name_files_and_missing_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().join("outer"), folder.path().join("inner"));
        fs::write(&inner, "-O2 x.c").unwrap();
        fs::write(&outer, format!("-c @{}", inner.display())).unwrap();
        let words = [format!("@{}", outer.display()), "@none".to_owned()].map(OsString::from);
        assert_eq!(
            expand(words),
            ["-c", "-O2", "x.c", "@none"].map(OsString::from)
        );
    }

    #[test]
    fn a_ring_ends() {
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().join("ring");
        fs::write(&ring, format!("@{}", ring.display())).unwrap();
        assert_eq!(expand([format!("@{}", ring.display()).into()]).len(), 1);
    }
}
