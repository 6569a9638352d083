//! Arithmetic types, and typedef names that are the same on every system.

use crate::ty::Meaning;

/// Typedef names that are the same on every LP64 system, known without headers.
pub(super) const WELL_KNOWN: &[(&str, Meaning)] = &[
    ("size_t", unsigned(64)),
    ("ssize_t", signed(64)),
    ("ptrdiff_t", signed(64)),
    ("int8_t", signed(8)),
    ("int16_t", signed(16)),
    ("int32_t", signed(32)),
    ("int64_t", signed(64)),
    ("uint8_t", unsigned(8)),
    ("uint16_t", unsigned(16)),
    ("uint32_t", unsigned(32)),
    ("uint64_t", unsigned(64)),
    ("intptr_t", signed(64)),
    ("uintptr_t", unsigned(64)),
    ("wchar_t", signed(32)),
    ("char8_t", unsigned(8)),
    ("char16_t", unsigned(16)),
    ("char32_t", unsigned(32)),
    ("bool", Meaning::Bool),
    ("_Bool", Meaning::Bool),
    ("_Float16", Meaning::Float { bits: 16 }),
    ("__int128", Meaning::WideArithmetic),
    ("__float128", Meaning::WideArithmetic),
    ("_Complex", Meaning::WideArithmetic),
];

const fn signed(bits: u8) -> Meaning {
    Meaning::Integer { bits, signed: true }
}

const fn unsigned(bits: u8) -> Meaning {
    Meaning::Integer {
        bits,
        signed: false,
    }
}

pub(super) fn arithmetic_meaning(text: &str) -> Meaning {
    if text == "void" {
        return Meaning::Void;
    }
    if let Some((_, meaning)) = WELL_KNOWN.iter().find(|(known, _)| *known == text) {
        return meaning.clone();
    }
    let count = |word: &str| {
        text.split_whitespace()
            .filter(|other| *other == word)
            .count()
    };
    let longs = count("long");
    if count("__int128") > 0
        || count("_Complex") > 0
        || count("__complex__") > 0
        || count("complex") > 0
    {
        return Meaning::WideArithmetic;
    }
    if count("double") > 0 {
        return if longs > 0 {
            Meaning::WideArithmetic
        } else {
            Meaning::Float { bits: 64 }
        };
    }
    if count("float") > 0 {
        return Meaning::Float { bits: 32 };
    }
    let signed = count("unsigned") == 0;
    let bits = if count("char") > 0 {
        8
    } else if count("short") > 0 {
        16
    } else if longs > 0 {
        64
    } else {
        32
    };
    Meaning::Integer { bits, signed }
}
