//! Flags that change what code means and that do not reach device code, as diagnostics at their place on the command line.

use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::source::{FileRange, Language, SourceFile, SourceMap};
use rex_syntax::{TextRange, TextSize};

use super::DeviceTarget;
use crate::flags::CompilerFlags;
use crate::render::{Color, MessageFormat, render};
use crate::toolchain::DeviceCompiler;

/// What a compiler lacks: the flags that ask for it, those that take it back, and what to write instead. What ends in `=` has a value.
struct Lack {
    asked: &'static [&'static str],
    taken_back: &'static [&'static str],
    instead: &'static str,
}

/// What nvcc has no option for; each was tried.
const OF_NVCC: &[Lack] = &[
    Lack {
        asked: &["-fwrapv", "-fno-strict-overflow"],
        taken_back: &["-fno-wrapv", "-fstrict-overflow"],
        instead: "compute with unsigned types where signed ones may overflow",
    },
    Lack {
        asked: &[
            "-ftrivial-auto-var-init=zero",
            "-ftrivial-auto-var-init=pattern",
        ],
        taken_back: &["-ftrivial-auto-var-init=uninitialized"],
        instead: "initialize variables where they are declared",
    },
    Lack {
        asked: &["-fshort-wchar"],
        taken_back: &["-fno-short-wchar"],
        instead: "use `char16_t` and `u\"...\"` for characters of two bytes",
    },
    Lack {
        asked: &["-fsingle-precision-constant"],
        taken_back: &["-fno-single-precision-constant"],
        instead: "write the suffix `f` at constants of type `float`",
    },
    Lack {
        asked: &["-fexec-charset=", "-fwide-exec-charset="],
        taken_back: &[
            "-fexec-charset=UTF-8",
            "-fexec-charset=utf-8",
            "-fexec-charset=UTF8",
            "-fexec-charset=utf8",
        ],
        instead: "write characters beyond ASCII as escapes of their bytes",
    },
    Lack {
        asked: &["-mms-bitfields"],
        taken_back: &["-mno-ms-bitfields"],
        instead: "use types of one size for neighboring bit-fields",
    },
];

/// What lowered files cannot be compiled with, whatever the device.
const OF_ALL: &[Lack] = &[
    Lack {
        asked: &["-fpack-struct", "-fpack-struct="],
        taken_back: &["-fno-pack-struct"],
        instead: "put `#pragma pack(push, 1)` and `#pragma pack(pop)` around the types",
    },
    Lack {
        asked: &["-m32", "-mx32"],
        taken_back: &["-m64"],
        instead: "use -m64; LLVM's offload runtime has addresses of 64 bits",
    },
];

/// The warnings for a build with these flags for this device, as text.
pub fn lost_flags(flags: &CompilerFlags, target: &DeviceTarget) -> String {
    let DeviceTarget::Nvptx {
        compiler: DeviceCompiler::Nvcc { .. },
        ..
    } = target
    else {
        return String::new();
    };
    let mut sources = SourceMap::new();
    let reason = "is not followed in device code: nvcc has no such option";
    let found = lacking(flags, OF_NVCC, &mut sources, reason);
    render(&sources, &found, MessageFormat::Human, Color::Off)
}

/// The errors for files with device constructs that are compiled with these flags.
pub fn refused_flags(flags: &CompilerFlags, sources: &mut SourceMap) -> Vec<Diagnostic> {
    let reason = "is unsupported for files with device constructs";
    let found = lacking(flags, OF_ALL, sources, reason).into_iter();
    found
        .map(|diagnostic| diagnostic.with_severity(Severity::Error))
        .collect()
}

fn lacking(
    flags: &CompilerFlags,
    table: &[Lack],
    sources: &mut SourceMap,
    reason: &str,
) -> Vec<Diagnostic> {
    let mut line = String::new();
    let mut last = vec![None; table.len()];
    for flag in flags.iter() {
        let word = flag.words[0].to_string_lossy();
        for (lack, last) in table.iter().zip(&mut last) {
            if is_one_of(&word, lack.taken_back) {
                *last = None;
            } else if is_one_of(&word, lack.asked) {
                *last = Some((line.len(), word.clone().into_owned()));
            }
        }
        for word in &flag.words {
            line += &word.to_string_lossy();
            line.push(' ');
        }
    }
    if last.iter().all(Option::is_none) {
        return Vec::new();
    }
    line.truncate(line.trim_end().len());
    let file = sources.add(SourceFile::new("<command line>", Language::C, line));
    let found = table.iter().zip(last).filter_map(|(lack, last)| {
        let (start, word) = last?;
        let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
        let range = TextRange::new(offset(start), offset(start + word.len()));
        let headline = format!("`{word}` {reason}");
        Some(
            Diagnostic::new(Code::LostFlag, FileRange { file, range }, headline)
                .with_help(lack.instead),
        )
    });
    found.collect()
}

fn is_one_of(word: &str, flags: &[&str]) -> bool {
    flags
        .iter()
        .any(|flag| word == *flag || flag.ends_with('=') && word.starts_with(flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::Version;

    fn check(line: &str, expected: &expect_test::Expect) {
        let words = line.split_whitespace().map(std::ffi::OsString::from);
        let (flags, _) = CompilerFlags::extract(words, &[]);
        let mut sources = SourceMap::new();
        let refused = refused_flags(&flags, &mut sources);
        let cuda = Version {
            major: 13,
            minor: 0,
        };
        let nvcc = DeviceTarget::Nvptx {
            arch: "sm_90".to_owned(),
            compiler: DeviceCompiler::Nvcc {
                nvcc: "nvcc".into(),
                cuda,
            },
        };
        let text = render(&sources, &refused, MessageFormat::Short, Color::Off);
        expected.assert_eq(&(text + &lost_flags(&flags, &nvcc)));
        assert_eq!(lost_flags(&flags, &DeviceTarget::Host), "");
    }

    #[test]
    fn flags_that_nvcc_lacks_are_told_at_their_place() {
        check(
            "-O2 -fwrapv -D N=3 -fwrapv",
            &expect_test::expect![[r#"
            warning[REX0907]: `-fwrapv` is not followed in device code: nvcc has no such option
              ┌─ <command line>:1:20
              │
            1 │ -O2 -fwrapv -D N=3 -fwrapv
              │                    ^^^^^^^
              │
              = help: compute with unsigned types where signed ones may overflow

        "#]],
        );
    }

    #[test]
    fn what_is_taken_back_is_not_lost() {
        check(
            "-fwrapv -fshort-wchar -fno-wrapv -fno-short-wchar -fexec-charset=utf-8 -m32 -m64",
            &expect_test::expect![[r""]],
        );
    }

    #[test]
    fn packing_and_addresses_of_32_bits_are_refused() {
        check(
            "-fpack-struct=2 -m32",
            &expect_test::expect![[r#"
            <command line>:1:1: error[REX0907]: `-fpack-struct=2` is unsupported for files with device constructs
            <command line>:1:17: error[REX0907]: `-m32` is unsupported for files with device constructs
        "#]],
        );
    }
}
