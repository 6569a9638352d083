//! Compiler flags in the spelling of gcc and clang, and which step needs which of them.
//!
//! Flags keep their words and their order. Long options (`--name`) are not flags: they belong to
//! rex. What a flag does is decided here once; the steps of a build only choose by [`FlagKind`].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rex_syntax::source::Language;

use crate::forced::forced_include;
use crate::preprocessed::language_of_expanded;

/// What a flag is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagKind {
    /// `-D`, `-U`: macros.
    Macro,
    /// `-I`, `-isystem`, `-include` and the like: where includes come from.
    Include,
    /// `-include`: a header in front of the file.
    ForcedInclude,
    /// `-std=`, `-ansi`.
    Standard(Option<Language>),
    /// `-O…`.
    Optimization,
    /// `-g…`.
    DebugInfo,
    /// Floating-point rules such as `-ffast-math`, which device code must share.
    FloatingPoint,
    /// `-funsigned-char`, `-fshort-enums`, `-fexec-charset=`: signs, sizes and values of types and constants, which device code must share.
    Layout,
    /// `-fwrapv`, `-fno-strict-aliasing`: what the language leaves undefined and a program relies on, in device code as well.
    Defined,
    /// `-fno-exceptions`, `-fpermissive`: what the compiler takes for the language, and the macros that say so, for device code as well.
    Dialect,
    /// `-m…`: the host processor.
    Machine,
    /// `-fopenmp` in any spelling.
    OpenMp,
    /// `-fno-openmp`.
    NoOpenMp,
    /// `-c`, `-S`, `-E`, `-fsyntax-only`: how far to go.
    Step,
    /// `-fpreprocessed`, `-fdirectives-only`: how far the input is preprocessed.
    InputForm,
    /// `-M…`: what the output depends on.
    Dependency,
    /// `-flto…`: code generation at link time.
    LinkTimeOptimization,
    /// Another compiler's offload options, such as `-fopenmp-targets=`, and its name for this machine; never passed on.
    Offload,
    /// `-l`, `-L`, `-Wl,` and the like.
    Link,
    /// `-pthread`, `-shared`, `-static` and others that matter to every step of the host build.
    Everywhere,
    /// Anything else: warnings, code generation. For the host compiler only.
    Other,
}

/// One flag with its value, in the words the user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// One word, or two when the value is separate.
    pub words: Vec<OsString>,
    /// What it is for.
    pub kind: FlagKind,
}

impl Flag {
    /// A flag given as its words, of which there must be one.
    pub fn new(words: Vec<OsString>) -> Flag {
        let text = words[0].to_string_lossy();
        let kind = match names_this_machine(&text, words.get(1)) {
            true => FlagKind::Offload,
            false => kind_of(&text),
        };
        Flag { kind, words }
    }

    /// The flag with its folder or file as seen from elsewhere, if it names one below `folder`.
    pub fn resolved_in(&self, folder: &Path) -> Flag {
        const NAMES: &[&str] = &[
            "-include",
            "-imacros",
            "-isystem",
            "-iquote",
            "-idirafter",
            "-isysroot",
            "-I",
            "-L",
        ];
        let first = self.words[0].to_string_lossy().into_owned();
        let name = NAMES.iter().find(|name| first.starts_with(**name));
        // Files are looked for in include folders too, folders are not.
        let is_searched = first.starts_with("-include") || first.starts_with("-imacros");
        let resolved = |place: &str| {
            let path = folder.join(place);
            (!is_searched || path.exists()).then(|| path.into_os_string())
        };
        let words = match (name, self.words.get(1)) {
            (Some(name), Some(place)) if first == **name => {
                resolved(&place.to_string_lossy()).map(|path| vec![self.words[0].clone(), path])
            }
            (Some(name), None) => resolved(&first[name.len()..]).map(|path| {
                let mut word = OsString::from(name);
                word.push(path);
                vec![word]
            }),
            _ => None,
        };
        Flag {
            words: words.unwrap_or_else(|| self.words.clone()),
            kind: self.kind,
        }
    }
}

/// The compiler flags of one command line, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompilerFlags {
    flags: Vec<Flag>,
    language: Option<Language>,
}

impl CompilerFlags {
    /// Takes the compiler flags out of an argument list and returns the rest.
    ///
    /// `own` lists the single-letter options that stay in the rest although they look like flags; one with a
    /// blank behind it has its value in the next word always, so that longer flags may begin like it.
    pub fn extract(
        args: impl IntoIterator<Item = OsString>,
        own: &[&str],
    ) -> (CompilerFlags, Vec<OsString>) {
        let mut found = CompilerFlags::default();
        let mut rest = Vec::new();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                rest.push(arg);
                rest.extend(args);
                break;
            }
            let text = arg.to_string_lossy().into_owned();
            let is_own = own.iter().any(|letter| match letter.strip_suffix(' ') {
                Some(letter) => text == letter,
                None => text.starts_with(letter),
            });
            if !text.starts_with('-') || text == "-" || text.starts_with("--") || is_own {
                rest.push(arg);
                continue;
            }
            let mut words = vec![arg];
            if takes_separate_value(&text) {
                words.extend(args.next());
            }
            found.push(words);
        }
        (found, rest)
    }

    /// Adds the flags of another command line behind these.
    pub fn extend(&mut self, other: &CompilerFlags) {
        self.flags.extend(other.flags.iter().cloned());
        self.language = other.language.or(self.language);
    }

    /// Adds one flag given as its words.
    pub fn push(&mut self, words: Vec<OsString>) {
        let Some(first) = words.first() else { return };
        let text = first.to_string_lossy();
        if let Some(value) = text.strip_prefix("-x") {
            let value = words
                .get(1)
                .map_or_else(|| value.into(), |word| word.to_string_lossy());
            self.language = match value.as_ref() {
                "c" | "cpp-output" => Some(Language::C),
                "c++" | "c++-cpp-output" => Some(Language::Cxx),
                _ => None,
            };
            return;
        }
        self.flags.push(Flag::new(words));
    }

    /// The language that `-x` set for every file, if it did.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// All flags.
    pub fn iter(&self) -> impl Iterator<Item = &Flag> {
        self.flags.iter()
    }

    /// Whether host OpenMP is on: it is unless turned off.
    pub fn openmp(&self) -> bool {
        let last = self
            .flags
            .iter()
            .rev()
            .find(|flag| matches!(flag.kind, FlagKind::OpenMp | FlagKind::NoOpenMp));
        last.is_none_or(|flag| flag.kind == FlagKind::OpenMp)
    }

    /// Whether a flag of this kind was given.
    pub fn has(&self, kind: FlagKind) -> bool {
        self.flags.iter().any(|flag| flag.kind == kind)
    }

    /// Whether exactly this word was given.
    pub fn contains(&self, word: &str) -> bool {
        self.flags
            .iter()
            .any(|flag| flag.words.first().is_some_and(|first| first == word))
    }

    /// The words that compile a host file of a language.
    pub fn for_host_compile(&self, language: Language) -> Vec<OsString> {
        self.for_host_compile_where(language, &|_| true)
    }

    /// The words that compile a host file of a language, of the flags that `choose` accepts.
    pub fn for_host_compile_where(
        &self,
        language: Language,
        choose: &dyn Fn(&Flag) -> bool,
    ) -> Vec<OsString> {
        self.words_where(|flag| {
            choose(flag)
                && match flag.kind {
                    FlagKind::Standard(of) => of.is_none_or(|of| of == language),
                    FlagKind::OpenMp
                    | FlagKind::NoOpenMp
                    | FlagKind::Offload
                    | FlagKind::Step
                    | FlagKind::Dependency
                    | FlagKind::Link => false,
                    FlagKind::Macro
                    | FlagKind::Include
                    | FlagKind::ForcedInclude
                    | FlagKind::Optimization
                    | FlagKind::DebugInfo
                    | FlagKind::FloatingPoint
                    | FlagKind::Layout
                    | FlagKind::Defined
                    | FlagKind::Dialect
                    | FlagKind::Machine
                    | FlagKind::Everywhere
                    | FlagKind::LinkTimeOptimization
                    | FlagKind::InputForm
                    | FlagKind::Other => true,
                }
        })
    }

    /// The words that matter to the preprocessor alone.
    pub fn for_preprocessing(&self, language: Language) -> Vec<OsString> {
        self.words_where(|flag| match flag.kind {
            FlagKind::Standard(of) => of.is_none_or(|of| of == language),
            FlagKind::Macro
            | FlagKind::Include
            | FlagKind::ForcedInclude
            | FlagKind::Optimization
            | FlagKind::FloatingPoint
            | FlagKind::Layout
            | FlagKind::Defined
            | FlagKind::Dialect
            | FlagKind::Machine
            | FlagKind::Everywhere => true,
            FlagKind::Other => flag.words[0].to_string_lossy().starts_with("-f"),
            FlagKind::DebugInfo
            | FlagKind::OpenMp
            | FlagKind::NoOpenMp
            | FlagKind::Offload
            | FlagKind::Step
            | FlagKind::InputForm
            | FlagKind::Dependency
            | FlagKind::LinkTimeOptimization
            | FlagKind::Link => false,
        })
    }

    /// The words that link the program.
    pub fn for_link(&self) -> Vec<OsString> {
        self.words_where(|flag| {
            matches!(
                flag.kind,
                FlagKind::Link
                    | FlagKind::Machine
                    | FlagKind::Everywhere
                    | FlagKind::LinkTimeOptimization
                    | FlagKind::DebugInfo
            )
        })
    }

    /// The headers that are included in front of a file.
    pub fn forced_includes(&self) -> impl Iterator<Item = PathBuf> {
        self.flags
            .iter()
            .filter(|flag| flag.kind == FlagKind::ForcedInclude)
            .filter_map(|flag| forced_include(&flag.words))
    }

    /// The flags without those of a kind.
    pub fn without(&self, kind: FlagKind) -> CompilerFlags {
        let mut flags = self.clone();
        flags.flags.retain(|flag| flag.kind != kind);
        flags
    }

    /// The words of the flags that `choose` accepts.
    pub fn words_where(&self, choose: impl Fn(&Flag) -> bool) -> Vec<OsString> {
        self.flags
            .iter()
            .filter(|flag| choose(flag))
            .flat_map(|flag| flag.words.clone())
            .collect()
    }
}

/// Whether a flag's value is the next word.
pub fn takes_separate_value(flag: &str) -> bool {
    const FLAGS: &[&str] = &[
        "-D",
        "-U",
        "-I",
        "-L",
        "-l",
        "-x",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-iprefix",
        "-iwithprefix",
        "-isysroot",
        "-include",
        "-imacros",
        "-Xlinker",
        "-Xpreprocessor",
        "-Xassembler",
        "-Xclang",
        "-Xcompiler",
        "-T",
        "-u",
        "-z",
        "-e",
        "-A",
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-arch",
        "-target",
        "-framework",
        "-rpath",
        "-Xopenmp-target",
        "-Xarch_device",
        "-Xarch_host",
        "-Xcuda-fatbinary",
        "-Xcuda-ptxas",
        "-Xoffload-linker",
        "-Xptxas",
        "-ccc-gcc-name",
        "-imultilib",
        "-include-pch",
        "-iwithprefixbefore",
        "-resource-dir",
        "-serialize-diagnostics",
        "-working-directory",
        "--sysroot",
        "-wrapper",
        "-dumpbase",
        "-dumpdir",
        "-aux-info",
        "-mllvm",
        "--param",
    ];
    FLAGS.contains(&flag) || flag.starts_with("-Xopenmp-target=")
}

/// Kinds with the flags that are exactly so and the ones that begin so; the first match decides.
const KINDS: &[(FlagKind, &[&str], &[&str])] = &[
    (FlagKind::Step, &["-c", "-S", "-E", "-fsyntax-only"], &[]),
    (
        FlagKind::Dependency,
        &["-M", "-MM", "-MD", "-MMD", "-MP", "-MG"],
        &["-MF", "-MT", "-MQ", "-MJ", "-Wp,-M"],
    ),
    (
        FlagKind::InputForm,
        &["-fpreprocessed", "-fdirectives-only"],
        &[],
    ),
    (FlagKind::Other, &["-fopenmp-simd"], &[]),
    (
        FlagKind::Offload,
        &["-nogpulib", "-nogpuinc"],
        &[
            "-fopenmp-",
            "-foffload",
            "-Minfo",
            "--cuda-",
            "--libomptarget-",
            "--offload-",
            "-Xarch_device",
            "-Xcuda-",
            "-Xoffload-linker",
            "-Xopenmp-target",
            "-Xptxas",
            "-mp=",
            "-gpu=",
            "-march=gfx",
            "-march=sm_",
            "-target=gpu",
            "-target=multicore",
        ],
    ),
    (FlagKind::NoOpenMp, &["-fno-openmp"], &[]),
    (
        FlagKind::OpenMp,
        &["-fopenmp", "-qopenmp", "-fiopenmp", "-mp"],
        &["-fopenmp="],
    ),
    (
        FlagKind::Layout,
        &[
            "-funsigned-char",
            "-fno-unsigned-char",
            "-fsigned-char",
            "-fno-signed-char",
            "-fshort-enums",
            "-fno-short-enums",
            "-funsigned-bitfields",
            "-fno-unsigned-bitfields",
            "-fsigned-bitfields",
            "-fno-signed-bitfields",
            "-fshort-wchar",
            "-fno-short-wchar",
            "-fsingle-precision-constant",
            "-fno-single-precision-constant",
            "-fno-pack-struct",
        ],
        &[
            "-fpack-struct",
            "-finput-charset=",
            "-fexec-charset=",
            "-fwide-exec-charset=",
        ],
    ),
    (
        FlagKind::Defined,
        &[
            "-fwrapv",
            "-fno-wrapv",
            "-fwrapv-pointer",
            "-fno-wrapv-pointer",
            "-fstrict-overflow",
            "-fno-strict-overflow",
            "-fstrict-aliasing",
            "-fno-strict-aliasing",
            "-fdelete-null-pointer-checks",
            "-fno-delete-null-pointer-checks",
        ],
        &["-ftrivial-auto-var-init="],
    ),
    (
        FlagKind::Dialect,
        &[
            "-fexceptions",
            "-fno-exceptions",
            "-frtti",
            "-fno-rtti",
            "-fchar8_t",
            "-fno-char8_t",
            "-foperator-names",
            "-fno-operator-names",
            "-fpermissive",
            "-faligned-new",
            "-fno-aligned-new",
        ],
        &[
            "-faligned-new=",
            "-ftemplate-depth=",
            "-fconstexpr-",
            "-fbracket-depth=",
        ],
    ),
    (
        FlagKind::FloatingPoint,
        &[],
        &[
            "-ffast-math",
            "-fno-fast-math",
            "-ffp-contract",
            "-ffp-model=",
            "-funsafe-math",
            "-fno-unsafe-math",
            "-fno-math-errno",
            "-fmath-errno",
            "-ffinite-math",
            "-fno-finite-math",
            "-fassociative-math",
            "-fno-associative-math",
            "-freciprocal-math",
            "-fno-reciprocal-math",
            "-fsigned-zeros",
            "-fno-signed-zeros",
            "-ftrapping-math",
            "-fno-trapping-math",
            "-fcx-",
            "-fno-cx-",
        ],
    ),
    (FlagKind::LinkTimeOptimization, &[], &["-flto", "-fno-lto"]),
    (
        FlagKind::Everywhere,
        &[
            "-pthread",
            "-pthreads",
            "-static",
            "-shared",
            "-pie",
            "-no-pie",
            "-static-pie",
            "-fPIC",
            "-fpic",
            "-fPIE",
            "-fpie",
            "-fno-pie",
            "-fno-PIE",
            "-pg",
        ],
        &["-fsanitize=", "-fprofile", "-fcoverage", "-fuse-ld="],
    ),
    (
        FlagKind::Link,
        &[
            "-s",
            "-rdynamic",
            "-nostdlib",
            "-nodefaultlibs",
            "-nostartfiles",
            "-T",
            "-u",
            "-z",
            "-e",
            "-rpath",
            "-framework",
        ],
        &["-l", "-L", "-Wl,", "-Xlinker", "-static-lib"],
    ),
    (FlagKind::Macro, &[], &["-D", "-U"]),
    (FlagKind::Include, &[], &["-include-pch"]),
    (FlagKind::ForcedInclude, &[], &["-include"]),
    (
        FlagKind::Include,
        &[],
        &[
            "-I",
            "-isystem",
            "-iquote",
            "-idirafter",
            "-imacros",
            "-nostdinc",
            "-iprefix",
            "-iwithprefix",
            "-isysroot",
        ],
    ),
    (FlagKind::Optimization, &[], &["-O"]),
    (FlagKind::DebugInfo, &[], &["-g"]),
    (FlagKind::Machine, &[], &["-m"]),
];

/// Decides what a flag is for by its first word.
fn kind_of(flag: &str) -> FlagKind {
    if flag == "-ansi" {
        return FlagKind::Standard(None);
    }
    if let Some(standard) = flag.strip_prefix("-std=") {
        let language = if standard.contains("++") {
            Language::Cxx
        } else {
            Language::C
        };
        return FlagKind::Standard(Some(language));
    }
    KINDS
        .iter()
        .find(|(_, exact, prefixes)| {
            exact.contains(&flag) || prefixes.iter().any(|prefix| flag.starts_with(prefix))
        })
        .map_or(FlagKind::Other, |(kind, ..)| *kind)
}

/// Whether a flag is clang's way to compile for the machine that it runs on, as compilers do anyway.
fn names_this_machine(flag: &str, value: Option<&OsString>) -> bool {
    let triple = match (flag, value) {
        ("-target", Some(triple)) => triple.to_string_lossy(),
        _ => match flag.strip_prefix("--target=") {
            Some(triple) => triple.into(),
            None => return false,
        },
    };
    let machine = triple
        .strip_prefix(std::env::consts::ARCH)
        .and_then(|rest| rest.strip_prefix('-'));
    machine.is_some_and(|rest| rest.ends_with("linux-gnu") || rest.ends_with("linux"))
}

/// Names the language of an input: `-x` decides, else the file's extension.
pub fn language_of(path: &OsStr, flags: &CompilerFlags) -> Option<Language> {
    let name = path.to_string_lossy();
    flags
        .language()
        .or_else(|| Language::from_file_name(&name))
        .or_else(|| language_of_expanded(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(line: &str) -> (CompilerFlags, Vec<OsString>) {
        CompilerFlags::extract(line.split_whitespace().map(OsString::from), &["-o", "-h"])
    }

    fn text(words: Vec<OsString>) -> String {
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn flags_are_taken_out_and_the_rest_stays() {
        let (flags, rest) =
            extract("a.c -o prog -D N=4 -isystem inc -O2 --device host -lm -- -Dkept");
        assert_eq!(text(rest), "a.c -o prog --device host -- -Dkept");
        assert_eq!(
            text(flags.for_host_compile(Language::C)),
            "-D N=4 -isystem inc -O2"
        );
        assert_eq!(text(flags.for_link()), "-lm");
    }

    #[test]
    fn a_standard_goes_to_its_language_only() {
        let (flags, _) = extract("-std=gnu11 -std=c++20");
        assert_eq!(text(flags.for_host_compile(Language::C)), "-std=gnu11");
        assert_eq!(text(flags.for_host_compile(Language::Cxx)), "-std=c++20");
    }

    #[test]
    fn openmp_is_on_unless_the_last_word_says_no() {
        assert!(extract("-O2").0.openmp());
        assert!(!extract("-fopenmp -fno-openmp").0.openmp());
        assert!(extract("-fno-openmp -qopenmp").0.openmp());
    }

    #[test]
    fn offload_options_of_other_compilers_are_not_passed_on() {
        let (flags, rest) = extract(
            "-fopenmp-targets=nvptx64 -Xopenmp-target -march=sm_70 -foffload=nvptx-none a.c",
        );
        assert_eq!(text(flags.for_host_compile(Language::C)), "");
        assert_eq!(text(rest), "a.c");
    }

    #[test]
    fn x_sets_the_language_of_every_file() {
        let (flags, _) = extract("-x c++ a.c");
        assert_eq!(language_of("a.c".as_ref(), &flags), Some(Language::Cxx));
        assert_eq!(
            language_of("a.c".as_ref(), &CompilerFlags::default()),
            Some(Language::C)
        );
        assert_eq!(
            language_of("a.f90".as_ref(), &CompilerFlags::default()),
            None
        );
    }
}
