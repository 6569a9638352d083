//! Headers named by `-include`: the lowered text includes them by itself.
//!
//! Their functions reach device code as those of other headers do, so there must be a line that brings them. It stands in
//! front of the text while that is lowered, and the option is not for the compilers of lowered files.

use std::fs;
use std::path::{Path, PathBuf};

use rex_syntax::source::{FileRange, SourceFile};
use rex_syntax::{TextRange, TextSize};

use crate::compiler::Compilation;
use crate::flags::CompilerFlags;

/// What stands in front of a text.
#[derive(Debug)]
pub(crate) struct Forced {
    head: String,
    /// The same, where headers that say that they are the system's are included, too.
    includes: String,
}

/// By this a header has no warnings. Precompiled headers that build systems write have it, in front of the program's own headers.
const SYSTEM_HEADER: &str = "#pragma GCC system_header";

impl Forced {
    /// The headers that the flags name. `None` if there are none.
    pub(crate) fn of(flags: &CompilerFlags) -> Option<Forced> {
        let mut forced = Forced {
            head: String::new(),
            includes: String::new(),
        };
        for path in flags.forced_includes() {
            // They are looked for where the compiler was started, then as other headers are.
            let text = fs::read_to_string(&path).ok();
            let path = match text {
                Some(_) => std::path::absolute(&path).unwrap_or(path),
                None => path,
            };
            let include = format!("#include \"{}\"\n", path.display());
            match text.filter(|text| text.lines().any(|line| line.trim_end() == SYSTEM_HEADER)) {
                Some(text) => forced.head.extend(
                    text.lines()
                        .filter(|line| line.trim_end() != SYSTEM_HEADER)
                        .flat_map(|line| [line, "\n"]),
                ),
                None => forced.head.push_str(&include),
            }
            forced.includes.push_str(&include);
        }
        (!forced.includes.is_empty()).then_some(forced)
    }

    /// A text with the headers in front of it.
    pub(crate) fn with(&self, text: &[u8]) -> Vec<u8> {
        [self.head.as_bytes(), text].concat()
    }

    /// Lets a compilation of the text with the headers speak of the text alone.
    pub(crate) fn place(&self, original: SourceFile, compilation: &mut Compilation) {
        let text = self.with(original.bytes());
        let artifacts = compilation.artifacts.take();
        compilation.artifacts = artifacts.map(|artifacts| {
            artifacts.map_host(|host| match host == text {
                true => original.bytes().to_vec(),
                false => self.with_includes(host),
            })
        });
        let sources = &mut compilation.sources;
        let file = sources.add(original);
        let labels = compilation.diagnostics.iter_mut().flat_map(|diagnostic| {
            std::iter::once(&mut diagnostic.primary).chain(&mut diagnostic.secondary)
        });
        let places = labels.map(|label| &mut label.at);
        let n_head = TextSize::of(self.head.as_str());
        for place in places.chain(compilation.account.places_mut()) {
            let at = sources.to_written(*place);
            if sources.file(at.file).bytes() == text {
                let moved = |offset: TextSize| offset.checked_sub(n_head).unwrap_or_default();
                let range = TextRange::new(moved(at.range.start()), moved(at.range.end()));
                *place = FileRange { file, range };
            }
        }
    }

    fn with_includes(&self, host: &[u8]) -> Vec<u8> {
        let head = self.head.as_bytes();
        let found = host.windows(head.len()).position(|window| window == head);
        match found {
            Some(at) => [
                &host[..at],
                self.includes.as_bytes(),
                &host[at + head.len()..],
            ]
            .concat(),
            None => host.to_vec(),
        }
    }
}

/// The file that a flag makes the compiler include first, if it is one that does.
pub(crate) fn forced_include(words: &[std::ffi::OsString]) -> Option<PathBuf> {
    let first = words.first()?.to_str()?;
    let name = match (first.strip_prefix("-include")?, words.get(1)) {
        ("", Some(name)) => Path::new(name),
        (name, None) => Path::new(name),
        _ => return None,
    };
    Some(name.to_owned())
}
