//! The user's flags in the words of nvcc, and those that it has no word for.

use std::ffi::OsString;

use super::image::names_host_processor;
use crate::flags::{CompilerFlags, Flag, FlagKind};

/// Options of nvcc's front end, which asks its host compiler for none of them.
const FRONT_END: &[(&[&str], &str)] = &[
    (&["-funsigned-char", "-fno-signed-char"], "--unsigned_chars"),
    (&["-fsigned-char", "-fno-unsigned-char"], "--signed_chars"),
    (&["-fshort-enums"], "--short_enums"),
    (&["-fno-short-enums"], "--no_short_enums"),
    (
        &["-funsigned-bitfields", "-fno-signed-bitfields"],
        "--unsigned_bit_fields",
    ),
    (
        &["-fsigned-bitfields", "-fno-unsigned-bitfields"],
        "--signed_bit_fields",
    ),
    (&["-fno-exceptions"], "--no_exceptions"),
    (&["-fexceptions"], "--exceptions"),
    (&["-fno-rtti"], "--no_rtti"),
    (&["-frtti"], "--rtti"),
    (&["-fno-char8_t"], "--no_char8_t"),
    (&["-fchar8_t"], "--char8_t"),
    (&["-fno-operator-names"], "--no_alternative_tokens"),
    (&["-foperator-names"], "--alternative_tokens"),
];

/// Translates flags into nvcc's spelling; what it does not know goes through to its host compiler.
pub(super) fn words(flags: &CompilerFlags) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut fast_math = false;
    for flag in flags.iter() {
        let name = flag.words[0].to_string_lossy();
        match flag.kind {
            FlagKind::Macro => words.extend(flag.words.clone()),
            FlagKind::Include if ["-I", "-isystem"].iter().any(|own| name.starts_with(own)) => {
                words.extend(flag.words.clone());
            }
            FlagKind::Include => words.extend(for_host_compiler(flag)),
            FlagKind::FloatingPoint if name == "-ffp-contract=off" => {
                words.push("--fmad=false".into());
            }
            FlagKind::FloatingPoint => match name.as_ref() {
                "-ffast-math" => fast_math = true,
                "-fno-fast-math" => fast_math = false,
                _ => {}
            },
            FlagKind::Layout | FlagKind::Dialect => {
                let own = FRONT_END
                    .iter()
                    .find(|(flags, _)| flags.contains(&name.as_ref()));
                if let Some((_, own)) = own {
                    words.extend(["-Xcudafe".into(), own.into()]);
                }
                if name.starts_with("-ftemplate-depth=") {
                    words.extend(flag.words.clone());
                }
                // For its macros.
                words.extend(for_host_compiler(flag));
            }
            FlagKind::Machine if names_host_processor(flag) => {
                words.extend(for_host_compiler(flag));
            }
            FlagKind::DebugInfo if name != "-g0" => words.push("-lineinfo".into()),
            _ => {}
        }
    }
    words.extend(fast_math.then_some("--use_fast_math".into()));
    words
}

fn for_host_compiler(flag: &Flag) -> impl Iterator<Item = OsString> + '_ {
    flag.words
        .iter()
        .flat_map(|word| ["-Xcompiler".into(), word.clone()])
}
