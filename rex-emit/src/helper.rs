//! The helper files: the same for every input, embedded from `runtime/`.

const HELPER_FILES: &[(&str, &str)] = &[
    ("rex_kmp.h", include_str!("../runtime/rex_kmp.h")),
    (
        "register_cubin.cpp",
        include_str!("../runtime/register_cubin.cpp"),
    ),
    ("rex_nvidia.h", include_str!("../runtime/rex_nvidia.h")),
    ("rex_nvidia.cu", include_str!("../runtime/rex_nvidia.cu")),
    (
        "xomp_cuda_lib_inlined.cu",
        include_str!("../runtime/xomp_cuda_lib_inlined.cu"),
    ),
];

/// The name and text of each helper file.
pub fn helper_files() -> &'static [(&'static str, &'static str)] {
    HELPER_FILES
}

/// What differs between LLVM's offload runtimes: the rows of the table in the helper files' description, its head
/// first.
pub fn abi_table() -> Vec<Vec<String>> {
    let text = include_str!("../runtime/README.md");
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| LLVM |"))
        .take_while(|line| line.starts_with('|'))
        .filter(|line| !line.starts_with("|--"));
    rows.map(|row| {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_of_runtimes_is_found() {
        let table = super::abi_table();
        assert_eq!(table[0][0], "LLVM");
        assert!(table.len() > 3 && table.iter().all(|row| row.len() == table[0].len()));
    }
}
