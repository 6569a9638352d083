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
