//! The version of the language, by the macros that say it.

use text_size::TextSize;

use super::MacroTable;

impl MacroTable {
    /// Whether a file of C is read without what C23 added: `auto` for any type, and `bool`, `true` and others as keywords.
    pub fn is_before_c23(&self) -> bool {
        let value = |name: &str| {
            let def = self.lookup_at(name, TextSize::new(0))?;
            def.body.trim_end_matches('L').parse::<u32>().ok()
        };
        // GCC 12 says 202000 and has none of it.
        let is_old_gcc =
            value("__clang__").is_none() && value("__GNUC__").is_some_and(|it| it < 13);
        value("__STDC_VERSION__").is_none_or(|it| it <= 201_710 || it < 202_311 && is_old_gcc)
    }
}
