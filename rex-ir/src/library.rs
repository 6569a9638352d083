//! Functions of the host's C library for which the device library has its own.

use smol_str::{SmolStr, format_smolstr};

/// Functions of `<string.h>`, `<ctype.h>` and `<stdlib.h>` by their names. Device code calls `rex_strlen` where the user wrote `strlen`.
const REPLACED: &[&str] = &[
    "strlen",
    "strnlen",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strcpy",
    "strncpy",
    "strcat",
    "strncat",
    "strchr",
    "strrchr",
    "strstr",
    "strspn",
    "strcspn",
    "strpbrk",
    "memchr",
    "memcmp",
    "memmove",
    "isalnum",
    "isalpha",
    "isblank",
    "iscntrl",
    "isdigit",
    "isgraph",
    "islower",
    "isprint",
    "ispunct",
    "isspace",
    "isupper",
    "isxdigit",
    "tolower",
    "toupper",
    "atoi",
    "atol",
    "atoll",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "atof",
    "qsort",
    "bsearch",
    "div",
    "ldiv",
    "lldiv",
];

/// What device code calls in place of a function of the library.
pub fn device_name(name: &str) -> Option<SmolStr> {
    REPLACED
        .contains(&name)
        .then(|| format_smolstr!("rex_{name}"))
}
