//! Which folders of headers are the system's.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use rex_syntax::expansion::Marker;

/// The flags with CUDA's own folder among those of the system, so that its headers are included and not copied.
pub(super) fn with_system_folders(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        let next = words.get(at + 1).map(|next| next.to_string_lossy());
        match (text.strip_prefix("-I"), next) {
            (Some(""), Some(folder)) if holds_cuda(&folder) => words[at] = "-isystem".into(),
            (Some(folder), _) if !folder.is_empty() && holds_cuda(folder) => {
                words[at] = format!("-isystem{folder}").into();
            }
            _ => {}
        }
        at += 1;
    }
    words
}

/// The text with headers below the user's `-isystem` folders as the project's: their functions and constructs are part of the program, and nothing
/// else would bring them to the device. Build systems name the folders of all libraries so.
pub(super) fn as_of_project(text: Vec<u8>, words: &[OsString]) -> Vec<u8> {
    let folders = folders_given_as_system(words);
    if folders.is_empty() {
        return text;
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.split_inclusive('\n').map(|line| {
        let marker = Marker::parse(line.trim_end()).filter(|marker| marker.is_system);
        let is_given = |marker: &Marker<'_>| {
            let is_in = |folder: &String| Path::new(marker.name).starts_with(folder);
            folders.iter().any(is_in)
        };
        match marker.filter(is_given).and_then(|_| line.rsplit_once('"')) {
            Some((name, flags)) => Cow::Owned(format!("{name}\"{}", flags.replacen(" 3", "", 1))),
            None => Cow::Borrowed(line),
        }
    });
    lines.collect::<String>().into_bytes()
}

/// The folders of `-isystem` and `-idirafter`, without those of the system itself.
fn folders_given_as_system(words: &[OsString]) -> Vec<String> {
    let mut folders = Vec::new();
    let mut words = words.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let named = word.strip_prefix("-isystem");
        let folder = match named.or_else(|| word.strip_prefix("-idirafter")) {
            Some("") => words.next(),
            Some(folder) => Some(Cow::Owned(folder.to_string())),
            None => None,
        };
        let folder = folder.filter(|folder| !folder.starts_with("/usr/") && !holds_cuda(folder));
        folders.extend(folder.map(Cow::into_owned));
    }
    folders
}

fn holds_cuda(folder: &str) -> bool {
    Path::new(folder).join("cuda_runtime.h").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_given_folders_are_of_the_project() {
        let text = "# 1 \"sys/a.h\" 1 3 4\nint a;\n# 1 \"/usr/include/stdio.h\" 1 3 4\n# 2 \"sys/a.h\" 2 3\n";
        let words = ["-isystem", "sys", "-isystem/usr/local/include"].map(OsString::from);
        let changed = String::from_utf8(as_of_project(text.into(), &words)).expect("it was text");
        let expected =
            "# 1 \"sys/a.h\" 1 4\nint a;\n# 1 \"/usr/include/stdio.h\" 1 3 4\n# 2 \"sys/a.h\" 2\n";
        assert_eq!(changed, expected);
    }
}
