//! Functions of the host's C library for which the device library has its own.

use smol_str::{SmolStr, format_smolstr};

/// Functions of the C library by their names. Device code calls `rex_strlen` where the user wrote `strlen`.
const REPLACED: &[&str] = &[
    // <string.h>
    "strlen",
    "strnlen",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strcoll",
    "strxfrm",
    "strcpy",
    "strncpy",
    "stpcpy",
    "stpncpy",
    "strcat",
    "strncat",
    "strchr",
    "strrchr",
    "index",
    "rindex",
    "strverscmp",
    "strchrnul",
    "strstr",
    "strcasestr",
    "strspn",
    "strcspn",
    "strpbrk",
    "strtok_r",
    "strsep",
    "strdup",
    "strndup",
    "memchr",
    "memrchr",
    "rawmemchr",
    "memcmp",
    "memmem",
    "memmove",
    "mempcpy",
    "memccpy",
    "bcmp",
    "bcopy",
    "bzero",
    "ffs",
    "ffsl",
    "ffsll",
    // <ctype.h>
    "isalnum",
    "isalpha",
    "isascii",
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
    "toascii",
    "tolower",
    "toupper",
    // <stdlib.h>
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "strtold",
    "qsort",
    "qsort_r",
    "bsearch",
    "div",
    "ldiv",
    "lldiv",
    "calloc",
    "rand_r",
    "erand48",
    "nrand48",
    "jrand48",
    // <inttypes.h>
    "imaxabs",
    "imaxdiv",
    "strtoimax",
    "strtoumax",
    // <math.h>
    "drem",
    "dremf",
    "finite",
    "finitef",
    "lgamma_r",
    "lgammaf_r",
    "nexttoward",
    "nexttowardf",
    "roundeven",
    "roundevenf",
    // <stdio.h>
    "fflush",
    "fprintf",
    "fputc",
    "fputs",
    "putc",
    "putchar",
    "puts",
    "snprintf",
    "sprintf",
    // <time.h>
    "clock_gettime",
    "difftime",
    "gettimeofday",
    "time",
    // <wchar.h>
    "wcscat",
    "wcschr",
    "wcscmp",
    "wcscpy",
    "wcslen",
    "wcsncat",
    "wcsncmp",
    "wcsncpy",
    "wcsnlen",
    "wcsrchr",
    "wmemchr",
    "wmemcmp",
    "wmemcpy",
    "wmemmove",
    "wmemset",
    // <wctype.h>
    "iswalnum",
    "iswalpha",
    "iswblank",
    "iswcntrl",
    "iswdigit",
    "iswgraph",
    "iswlower",
    "iswprint",
    "iswpunct",
    "iswspace",
    "iswupper",
    "iswxdigit",
    "towlower",
    "towupper",
];

/// Those whose names programs have for functions of their own.
const COMMON_WORDS: &[&str] = &["div", "drem", "ffs", "finite", "index", "rindex", "time"];

/// Functions of the C library that headers of device code may declare where those of the program do not: a function of the program with such a name
/// is one of C++, told from them by its parameters, and a variable has another name.
const OF_HEADERS: &[&str] = &[
    "abs",
    "access",
    "acct",
    "alarm",
    "basename",
    "bcmp",
    "bcopy",
    "brk",
    "bzero",
    "clock",
    "clone",
    "close",
    "crypt",
    "div",
    "drem",
    "dup",
    "encrypt",
    "exp10",
    "ffs",
    "fork",
    "gamma",
    "getline",
    "getopt",
    "index",
    "j0",
    "j1",
    "jn",
    "labs",
    "link",
    "lockf",
    "lseek",
    "mktime",
    "nice",
    "pause",
    "pipe",
    "pow10",
    "random",
    "read",
    "remove",
    "rename",
    "rindex",
    "sbrk",
    "scalb",
    "select",
    "signal",
    "significand",
    "sleep",
    "strftime",
    "swab",
    "symlink",
    "sync",
    "system",
    "time",
    "truncate",
    "unlink",
    "unshare",
    "usleep",
    "wait",
    "write",
    "y0",
    "y1",
    "yn",
];

/// Streams, the arguments of those of `<stdio.h>`.
const STREAMS: &[&str] = &["stdout", "stderr"];

/// What device code calls in place of a function of the library.
pub fn device_name(name: &str) -> Option<SmolStr> {
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    REPLACED
        .contains(&name)
        .then(|| format_smolstr!("rex_{name}"))
}

/// Whether headers of device code may declare a function of this name.
pub fn may_be_declared(name: &str) -> bool {
    OF_HEADERS.contains(&name)
}

/// Whether a program that declares a function of this name, and does not define it, surely means the library's.
pub fn is_of_library(name: &str) -> bool {
    REPLACED.contains(&name) && !COMMON_WORDS.contains(&name)
}

/// What device code names in place of a stream of the library.
pub fn device_stream(name: &str) -> Option<SmolStr> {
    STREAMS
        .contains(&name)
        .then(|| format_smolstr!("rex_{name}"))
}
