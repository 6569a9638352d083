//! `--version`: which offload runtimes this rex speaks to, and how they differ.

use std::sync::LazyLock;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let table = rex_emit::abi_table();
    let versions = crate::toolchain::SUPPORTED_ABIS;
    format!(
        "{}\n\nLLVM's offload runtime, versions {} to {}:\n\n{}",
        env!("CARGO_PKG_VERSION"),
        versions.start(),
        versions.end(),
        aligned(&table),
    )
});

/// The version, and the table of offload runtimes.
pub(super) fn long() -> &'static str {
    &TEXT
}

/// Rows with each column as wide as its widest cell.
fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_supported_runtime_has_a_row() {
        let text = super::long();
        for version in ["14 ", "15 ", "16, 17", "18 ", "19 ", "20 to 22"] {
            let has_row = text.lines().any(|line| line.starts_with(version));
            assert!(has_row, "{version}: {text}");
        }
    }
}
