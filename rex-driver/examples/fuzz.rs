//! Lowers mutated programs for a while and reports inputs on which rex fails.
//!
//! Begins with the fixtures. A failure is a panic, an internal error, an output out of proportion, or a result that takes long. The inputs are written to `--failures`, one file each.
//!
//! ```sh
//! cargo run --release -p rex-driver --example fuzz -- --seconds 600 --seed 1
//! ```

#[path = "common/random.rs"]
mod random;

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser;
use random::Random;
use rex_driver::{Compiler, Language, SourceInput};

#[derive(Debug, Parser)]
struct Options {
    /// How long to go on.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the sequence of inputs begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder with programs to begin with.
    #[arg(long, default_value = "fixtures")]
    corpus: PathBuf,
    /// Where inputs go on which rex fails.
    #[arg(long, default_value = "target/fuzz")]
    failures: PathBuf,
    /// The seconds that one input may take.
    #[arg(long, default_value_t = 20)]
    limit: u64,
}

/// Words that directives are made of, and what stands around them.
const WORDS: &[&str] = &[
    "\n#pragma omp ",
    "target",
    " teams",
    " distribute",
    " parallel",
    " for",
    " simd",
    " loop",
    " data",
    " enter",
    " exit",
    " update",
    " declare",
    " end",
    " sections",
    " single",
    " atomic",
    " critical",
    " barrier",
    " map(",
    " tofrom:",
    " to:",
    " always,",
    " reduction(",
    " +:",
    " private(",
    " collapse(2)",
    " if(",
    " num_teams(",
    " defaultmap(",
    " depend(",
    " iterator(",
    "[0:n]",
    "[:]",
    ")",
    "(",
    "{",
    "}",
    "[",
    "]",
    ";",
    "\\\n",
    "/*",
    "*/",
    "//",
    "\"",
    "'",
    "#if 1\n",
    "#else\n",
    "#endif\n",
    "#define M ",
    "_Pragma(\"omp target\")",
    "struct S {",
    "template <class T> ",
    "for (int i = 0; i < n; i++) ",
    "int x = ",
    "auto ",
    "::",
    "->",
    "*",
    "&",
    "\r\n",
    "\0",
    "\u{e9}",
    "0",
    "1",
    "x",
];

fn main() -> std::io::Result<()> {
    let options = Options::parse();
    let mut corpus = Vec::new();
    collect(&options.corpus, &mut corpus)?;
    corpus.sort();
    let programs: Vec<(Language, Vec<u8>)> = corpus
        .iter()
        .filter_map(|path| {
            let language = Language::from_file_name(&path.to_string_lossy())?;
            Some((language, fs::read(path).ok()?))
        })
        .collect();
    fs::create_dir_all(&options.failures)?;
    let compiler = Compiler::builder().build();
    let mut random = Random(options.seed);
    let start = Instant::now();
    let (mut n_inputs, mut n_failures) = (0u64, 0u64);
    while start.elapsed() < Duration::from_secs(options.seconds) {
        let Some((language, program)) = programs.get(random.below(programs.len())) else {
            break;
        };
        let (_, other) = &programs[random.below(programs.len())];
        let bytes = mutated(program, other, &mut random);
        n_inputs += 1;
        let extension = if *language == Language::C { "c" } else { "cpp" };
        let place = options
            .failures
            .join(format!("{}.{extension}", n_failures + 1));
        // It stays there if the process ends with it.
        fs::write(&place, &bytes)?;
        match check(&compiler, *language, &bytes, options.limit) {
            Ok(()) => fs::remove_file(&place)?,
            Err(reason) => {
                n_failures += 1;
                writeln!(std::io::stdout(), "{}: {reason}", place.display())?;
            }
        }
    }
    writeln!(
        std::io::stdout(),
        "{n_inputs} inputs, {n_failures} failures"
    )?;
    if n_failures > 0 {
        return Err(std::io::Error::other("there are failures"));
    }
    Ok(())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

/// A program with up to eight changes.
fn mutated(program: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = program.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match random.below(6) {
            0 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
            1 => drop(bytes.drain(at.min(end)..end)),
            2 => {
                let copy = bytes[at.min(end)..end].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            3 => {
                let from = random.below(other.len());
                let to = (from + random.below(200)).min(other.len());
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
            4 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(random.below(256)).unwrap_or_default();
                }
            }
            _ => drop(bytes.splice(at.min(end)..end, WORDS[random.below(WORDS.len())].bytes())),
        }
    }
    bytes
}

fn check(compiler: &Compiler, language: Language, bytes: &[u8], limit: u64) -> Result<(), String> {
    let input = SourceInput {
        name: if language == Language::C {
            "a.c"
        } else {
            "a.cpp"
        }
        .into(),
        bytes: bytes.to_vec(),
        language,
        expansion: None,
        headers: Vec::new(),
    };
    let start = Instant::now();
    let compiled = catch_unwind(AssertUnwindSafe(|| compiler.compile(input)));
    if start.elapsed() > Duration::from_secs(limit) {
        return Err(format!("takes {:.0?}", start.elapsed()));
    }
    let compilation = match compiled {
        Err(_) => return Err("panics".to_owned()),
        Ok(Err(error)) => return Err(format!("{error}: {}", error.failure)),
        Ok(Ok(compilation)) => compilation,
    };
    let Some(artifacts) = &compilation.artifacts else {
        return Ok(());
    };
    const FIXED_BYTES: usize = 16 << 10;
    for artifact in artifacts.iter() {
        let is_helper = artifact.kind == rex_emit::ArtifactKind::Helper;
        if !is_helper && artifact.bytes.len() > 50 * bytes.len() + FIXED_BYTES {
            return Err(format!(
                "{} has {} bytes",
                artifact.file_name,
                artifact.bytes.len()
            ));
        }
    }
    Ok(())
}
