//! Functions that device code may call without a definition in the unit.
//!
//! The table is what CUDA, the host compilers and the device header of rex provide to device code under these names.

/// Names of libc, libm and builtin functions available on the device.
const LIBRARY: &[&str] = &[
    "abs", "labs", "llabs", "fabs", "fabsf", "printf", "malloc", "free", "memcpy", "memset", "memmove", "memcmp", "assert", "__assert_fail",
    "acos", "acosf", "acosh", "acoshf", "asin", "asinf", "asinh", "asinhf", "atan", "atanf", "atan2", "atan2f", "atanh", "atanhf",
    "cbrt", "cbrtf", "ceil", "ceilf", "copysign", "copysignf", "cos", "cosf", "cosh", "coshf", "cospi", "cospif", "erf", "erff", "erfc", "erfcf",
    "exp", "expf", "exp2", "exp2f", "exp10", "exp10f", "expm1", "expm1f", "fdim", "fdimf", "floor", "floorf", "fma", "fmaf", "fmax", "fmaxf", "fmin", "fminf",
    "fmod", "fmodf", "frexp", "frexpf", "hypot", "hypotf", "ilogb", "ilogbf", "isfinite", "isinf", "isnan", "isnormal", "ldexp", "ldexpf", "lgamma", "lgammaf",
    "llrint", "llrintf", "llround", "llroundf", "log", "logf", "log10", "log10f", "log1p", "log1pf", "log2", "log2f", "logb", "logbf", "lrint", "lrintf", "lround", "lroundf",
    "modf", "modff", "nan", "nanf", "nearbyint", "nearbyintf", "nextafter", "nextafterf", "pow", "powf", "remainder", "remainderf", "remquo", "remquof", "rint", "rintf",
    "round", "roundf", "rsqrt", "rsqrtf", "scalbln", "scalblnf", "scalbn", "scalbnf", "signbit", "sin", "sinf", "sincos", "sincosf", "sinh", "sinhf", "sinpi", "sinpif",
    "sqrt", "sqrtf", "tan", "tanf", "tanh", "tanhf", "tgamma", "tgammaf", "trunc", "truncf", "fpclassify", "isgreater", "isless", "isunordered",
    "j0", "j1", "y0", "y1", "offsetof", "sizeof", "alignof", "_Alignof", "defined", "va_start", "va_end", "va_arg", "clock", "abort", "exit", "trap",
    "min", "max", "swap", "move", "forward", "get", "data", "size", "begin", "end", "make_pair", "real", "imag", "norm", "conj", "operator",
];

/// Whether a call of this name needs no definition in the unit.
pub fn is_known(name: &str) -> bool {
    LIBRARY.contains(&name)
        || name.starts_with("omp_")
        || name.starts_with("__builtin_")
        || name.starts_with("__sync_")
        || name.starts_with("__atomic_")
        || name.ends_with("_cast")
        || name.starts_with("rex_")
}
