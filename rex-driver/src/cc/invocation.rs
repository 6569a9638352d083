//! A compiler's command line as its steps see it.
//!
//! Inputs and flags keep their order, because linkers read them in order. Options of rex itself begin
//! with `--rex-`; the offload options of other compilers are understood and taken out.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use rex_syntax::source::Language;

use crate::flags::{CompilerFlags, Flag, FlagKind, takes_separate_value};
use crate::preprocessed::{Form, language_of_expanded};

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It answers a question or does something that lowering does not concern.
    Other,
    /// `-S`: to assembly.
    Assembly,
    /// `-c`: to objects.
    Object,
    /// To a program or a shared library.
    Link,
}

/// A C or C++ file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Its language.
    pub language: Language,
    /// Whether a preprocessor has expanded it.
    pub form: Form,
}

/// One input or flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A C or C++ file.
    Source(Source),
    /// Any other file: objects, libraries, assembly.
    Input(PathBuf),
    /// A file in the language that `-x` names, which is neither C nor C++.
    Foreign(PathBuf, OsString),
    /// A flag that concerns the host compiler.
    Flag(Flag),
}

/// Which device the command line names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// None.
    #[default]
    Unspecified,
    /// The host's processors.
    Host,
    /// An NVIDIA GPU.
    Nvptx,
    /// None at all: constructs are left to the host compiler.
    Disabled,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Inputs and flags in order.
    pub items: Vec<Item>,
    /// The value of `-o`.
    pub output: Option<PathBuf>,
    /// The device that the offload options name.
    pub device: Device,
    /// The offload target that is named and not supported.
    pub unsupported: Option<String>,
    /// The GPU architecture that the offload options name.
    pub arch: Option<String>,
    /// The options of rex, without `--rex-`, with their values.
    pub options: Vec<(String, OsString)>,
    /// The words for a host compiler that does all the work itself.
    pub passed_on: Vec<OsString>,
}

impl Invocation {
    /// Reads the words of a command line; `driver` is the language the compiler is named after.
    pub fn parse(words: Vec<OsString>, driver: Language) -> Invocation {
        let mut invocation = Invocation::default();
        let mut explicit = Explicit::None;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            if let Some(option) = text.strip_prefix("--rex-") {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                invocation.options.push((name.to_owned(), value.into()));
            } else if !text.starts_with('-') || text == "-" {
                invocation.passed_on.push(word.clone());
                invocation
                    .items
                    .push(input(PathBuf::from(word), &explicit, driver));
            } else if let Some(value) = text.strip_prefix("-o") {
                let value = if value.is_empty() {
                    words.next()
                } else {
                    Some(value.into())
                };
                let value = value.unwrap_or_default();
                invocation.passed_on.extend(["-o".into(), value.clone()]);
                invocation.output = Some(value.into());
            } else if let Some(value) = text.strip_prefix("-x") {
                let value = if value.is_empty() {
                    words.next()
                } else {
                    Some(value.into())
                };
                let value = value.unwrap_or_default();
                explicit = Explicit::parse(&value);
                invocation.passed_on.extend(["-x".into(), value]);
            } else {
                let mut flag = vec![word];
                if takes_separate_value(&text) {
                    flag.extend(words.next());
                }
                invocation.take_flag(Flag::new(flag));
            }
        }
        invocation
    }

    fn take_flag(&mut self, flag: Flag) {
        let text = flag.words[0].to_string_lossy().into_owned();
        let value = flag
            .words
            .get(1)
            .map(|word| word.to_string_lossy().into_owned());
        if let Some(arch) = text.strip_prefix("--offload-arch=") {
            self.take_arch(arch);
        } else if let Some(arch) = text.strip_prefix("-march=")
            && flag.kind == FlagKind::Offload
        {
            self.take_arch(arch);
        } else if flag.kind == FlagKind::Offload {
            self.take_offload_flag(&text, value.as_deref());
        } else {
            let words = match flag.kind {
                // One spelling for all host compilers.
                FlagKind::OpenMp => vec!["-fopenmp".into()],
                _ => flag.words.clone(),
            };
            self.passed_on.extend(words);
            self.items.push(Item::Flag(flag));
        }
    }

    /// An architecture tells the target too.
    fn take_arch(&mut self, arch: &str) {
        match arch.split(',').next().unwrap_or_default() {
            "native" => self.take_target(Device::Nvptx),
            nvidia if nvidia.starts_with("sm_") => {
                self.arch = Some(nvidia.to_owned());
                self.take_target(Device::Nvptx);
            }
            other => self.unsupported = Some(other.to_owned()),
        }
    }

    fn take_target(&mut self, device: Device) {
        self.device = device;
        self.unsupported = None;
    }

    /// The first target of a list that is supported.
    fn take_targets(&mut self, targets: &str) {
        match targets.split(',').find_map(device_of) {
            Some(device) => self.take_target(device),
            None => self.unsupported = Some(targets.to_owned()),
        }
    }

    /// Understands what other compilers' offload options name; the rest of them has no meaning here.
    fn take_offload_flag(&mut self, text: &str, value: Option<&str>) {
        if let Some(arch) = value.and_then(|value| value.strip_prefix("-march=")) {
            if arch.starts_with("sm_") {
                self.arch = Some(arch.to_owned());
            }
        } else if let Some(capability) = text.strip_prefix("-gpu=cc") {
            let digits: String = capability
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            if !digits.is_empty() {
                self.arch = Some(format!("sm_{digits}"));
            }
            self.take_target(Device::Nvptx);
        } else if let Some(folder) = text.strip_prefix("--cuda-path=") {
            self.options.insert(0, ("cuda".to_owned(), folder.into()));
        } else if text.starts_with("-mp=") {
            self.take_offload_model();
            if text == "-mp=multicore" {
                self.take_target(Device::Disabled);
            }
        } else if text == "-target=multicore" {
            self.take_target(Device::Disabled);
        } else if let Some(targets) = text.strip_prefix("-fopenmp-targets=") {
            self.take_targets(targets);
        } else if let Some(targets) = text.strip_prefix("-foffload=")
            && !targets.starts_with('-')
        {
            match targets {
                "disable" => self.take_target(Device::Disabled),
                "default" => self.take_target(Device::Unspecified),
                _ => self.take_targets(targets.split('=').next().unwrap_or(targets)),
            }
        }
    }

    /// Options that turn OpenMP on along with offloading.
    fn take_offload_model(&mut self) {
        let flag = Flag {
            words: vec!["-fopenmp".into()],
            kind: FlagKind::OpenMp,
        };
        self.passed_on.extend(flag.words.clone());
        self.items.push(Item::Flag(flag));
    }

    /// How far the compiler goes.
    pub fn step(&self) -> Step {
        let has = |name: &str| self.flags().any(|flag| flag.words[0] == name);
        let is_question = |flag: &Flag| {
            let text = flag.words[0].to_string_lossy();
            ["--version", "--help", "-###", "-dump", "-print", "--print"]
                .iter()
                .any(|question| text.starts_with(question))
        };
        let has_input = self.items.iter().any(|item| !matches!(item, Item::Flag(_)));
        let elsewhere = ["-E", "-M", "-MM", "-fsyntax-only", "-r"]
            .into_iter()
            .any(has);
        if !has_input || elsewhere || self.flags().any(is_question) {
            Step::Other
        } else if has("-S") {
            Step::Assembly
        } else if has("-c") {
            Step::Object
        } else {
            Step::Link
        }
    }

    /// The flags in order.
    pub fn flags(&self) -> impl Iterator<Item = &Flag> {
        self.items.iter().filter_map(|item| match item {
            Item::Flag(flag) => Some(flag),
            Item::Source(_) | Item::Input(_) | Item::Foreign(..) => None,
        })
    }

    /// The flags as a set of their own.
    pub fn compiler_flags(&self) -> CompilerFlags {
        let mut flags = CompilerFlags::default();
        for flag in self.flags() {
            flags.push(flag.words.clone());
        }
        flags
    }

    /// Whether the command line turns OpenMP on.
    pub fn openmp(&self) -> bool {
        let kinds = self.flags().map(|flag| flag.kind);
        kinds
            .filter(|kind| matches!(kind, FlagKind::OpenMp | FlagKind::NoOpenMp))
            .last()
            == Some(FlagKind::OpenMp)
    }

    /// The value of an option of rex; the last one counts.
    pub fn option(&self, name: &str) -> Option<&OsStr> {
        let found = self.options.iter().rev().find(|(option, _)| option == name);
        found.map(|(_, value)| value.as_os_str())
    }
}

/// What `-x` says.
enum Explicit {
    None,
    Source(Language, Form),
    Other(OsString),
}

impl Explicit {
    fn parse(value: &OsStr) -> Explicit {
        match value.to_string_lossy().as_ref() {
            "none" => Explicit::None,
            "c" => Explicit::Source(Language::C, Form::Written),
            "c++" => Explicit::Source(Language::Cxx, Form::Written),
            "cpp-output" => Explicit::Source(Language::C, Form::Expanded),
            "c++-cpp-output" => Explicit::Source(Language::Cxx, Form::Expanded),
            _ => Explicit::Other(value.to_owned()),
        }
    }
}

fn input(path: PathBuf, explicit: &Explicit, driver: Language) -> Item {
    let name = path.to_string_lossy();
    let found = match explicit {
        Explicit::Source(language, form) => Some((*language, *form)),
        Explicit::Other(language) => return Item::Foreign(path, language.clone()),
        Explicit::None => Language::from_file_name(&name)
            .map(|own| match driver {
                Language::Cxx => (Language::Cxx, Form::Written),
                Language::C => (own, Form::Written),
            })
            .or_else(|| language_of_expanded(&name).map(|own| (own, Form::Expanded))),
    };
    match found {
        Some((language, form)) => Item::Source(Source {
            path,
            language,
            form,
        }),
        None => Item::Input(path),
    }
}

fn device_of(target: &str) -> Option<Device> {
    const HOSTS: &[&str] = &["x86_64", "aarch64", "ppc64"];
    if target.starts_with("nvptx") {
        Some(Device::Nvptx)
    } else if HOSTS.iter().any(|host| target.starts_with(host)) {
        Some(Device::Host)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Invocation {
        let words = line.split_whitespace().map(OsString::from).collect();
        Invocation::parse(words, Language::C)
    }

    fn passed_on(line: &str) -> String {
        parse(line)
            .passed_on
            .join(OsStr::new(" "))
            .into_string()
            .unwrap()
    }

    #[test]
    fn steps_are_told_apart() {
        assert_eq!(parse("-c a.c").step(), Step::Object);
        assert_eq!(parse("a.o -lm").step(), Step::Link);
        for line in [
            "--version",
            "-v",
            "-E a.c",
            "-MM a.c",
            "-dumpversion",
            "-print-search-dirs a.c",
        ] {
            assert_eq!(parse(line).step(), Step::Other, "{line}");
        }
    }

    #[test]
    fn order_is_kept_and_languages_are_resolved() {
        let invocation = parse("a.c -lm -x c++ b.h -x none c.o -Wl,-z,now");
        let source = |path: &str, language| {
            Item::Source(Source {
                path: path.into(),
                language,
                form: Form::Written,
            })
        };
        assert_eq!(invocation.items[0], source("a.c", Language::C));
        assert_eq!(invocation.items[2], source("b.h", Language::Cxx));
        assert_eq!(invocation.items[3], Item::Input("c.o".into()));
        let words = vec!["a.c".into()];
        let invocation = Invocation::parse(words, Language::Cxx);
        assert_eq!(invocation.items[0], source("a.c", Language::Cxx));
    }

    #[test]
    fn offload_options_of_other_compilers_are_understood() {
        let clang =
            parse("-fopenmp -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_80 a.c");
        assert_eq!(
            (clang.device, clang.arch.as_deref()),
            (Device::Nvptx, Some("sm_80"))
        );
        let short = parse("-fopenmp --offload-arch=sm_90 a.c");
        assert_eq!(
            (short.device, short.arch.as_deref()),
            (Device::Nvptx, Some("sm_90"))
        );
        let gcc = parse("-fopenmp -foffload=nvptx-none -foffload=-lm a.c");
        assert_eq!(gcc.device, Device::Nvptx);
        assert_eq!(
            parse("-fopenmp -foffload=disable a.c").device,
            Device::Disabled
        );
        let nvc = parse("-mp=gpu -gpu=cc80 a.c");
        assert!(nvc.openmp());
        assert_eq!(
            (nvc.device, nvc.arch.as_deref()),
            (Device::Nvptx, Some("sm_80"))
        );
        assert_eq!(parse("-fopenmp-targets=x86_64 a.c").device, Device::Host);
        let both = parse("-fopenmp-targets=amdgcn-amd-amdhsa,nvptx64 a.c");
        assert_eq!((both.device, both.unsupported), (Device::Nvptx, None));
    }

    #[test]
    fn targets_that_are_not_supported_are_named() {
        for line in [
            "-fopenmp-targets=spir64 a.c",
            "-fopenmp --offload-arch=gfx90a a.c",
            "-fopenmp-targets=amdgcn -Xopenmp-target=amdgcn -march=gfx906 a.c",
        ] {
            assert!(parse(line).unsupported.is_some(), "{line}");
            assert_eq!(parse(line).arch, None, "{line}");
        }
    }

    #[test]
    fn the_target_of_this_machine_is_not_passed_on() {
        let machine = format!("{}-pc-linux-gnu", std::env::consts::ARCH);
        for line in [
            format!("-target {machine} a.c"),
            format!("--target={machine} a.c"),
        ] {
            let invocation = parse(&line);
            assert_eq!(invocation.passed_on, ["a.c"], "{line}");
            assert_eq!(invocation.device, Device::Unspecified);
            assert_eq!(invocation.flags().count(), 0);
        }
        let other = parse("-target riscv64-linux-gnu a.c");
        assert_eq!(other.flags().count(), 1);
    }

    #[test]
    fn expanded_files_are_sources() {
        let invocation = parse("a.ii -x cpp-output b");
        let forms: Vec<_> = invocation
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Source(source) => Some((source.language, source.form)),
                _ => None,
            })
            .collect();
        assert_eq!(
            forms,
            [
                (Language::Cxx, Form::Expanded),
                (Language::C, Form::Expanded)
            ]
        );
    }

    #[test]
    fn what_is_passed_on_has_no_offload_options() {
        assert_eq!(
            passed_on(
                "-fopenmp=libomp -fopenmp-targets=nvptx64 -fopenmp-version=51 --cuda-path=/c \
                 --rex-device=host -O2 a.c -oprog -march=native"
            ),
            "-fopenmp -O2 a.c -o prog -march=native"
        );
    }
}
