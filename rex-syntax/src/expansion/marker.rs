//! Lines of preprocessed text that say where the following ones come from.

/// One line marker: `# 12 "/usr/include/stdio.h" 1 3 4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker<'t> {
    /// The number of the following line.
    pub line: u32,
    /// The file's name, as the marker spells it.
    pub name: &'t str,
    /// Whether the file begins here.
    pub enters: bool,
    /// Whether a file that this one includes ended here.
    pub leaves: bool,
    /// Whether it is a header of the system.
    pub is_system: bool,
}

impl<'t> Marker<'t> {
    /// Reads a line, given without its end.
    pub fn parse(line: &'t str) -> Option<Marker<'t>> {
        let (number, rest) = line.strip_prefix("# ")?.split_once(" \"")?;
        let (name, flags) = rest.rsplit_once('"')?;
        let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
        Some(Marker {
            line: number.parse().ok()?,
            name,
            enters: has("1"),
            leaves: has("2"),
            is_system: has("3"),
        })
    }

    /// Whether it names no file: the compiler's own definitions, the command line.
    pub fn is_pseudo(&self) -> bool {
        self.name.starts_with('<')
    }
}
