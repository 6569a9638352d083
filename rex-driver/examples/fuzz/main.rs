//! Lowers programs that were changed at random, directives of random words and random bytes for a while, and reports inputs on which rex fails.
//!
//! A failure is a panic, an internal error, a result that takes long, or output or memory out of proportion. The inputs are written to `--failures`, one file each.
//!
//! ```sh
//! cargo run --release -p rex-driver --example fuzz -- --seconds 600 --seed 1
//! ```

mod inputs;
mod memory;
#[path = "../common/random.rs"]
mod random;

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use inputs::Kind;
use random::Random;
use rex_driver::{Compiler, Language, SourceInput};

/// What output and memory may be, by the size of the input.
const GROWTH: usize = 50;
/// What the helper tables and the smallest program take beside that.
const FIXED_OUTPUT: usize = 16 << 10;
const FIXED_MEMORY: usize = 16 << 20;

#[derive(Debug, Parser)]
struct Options {
    /// How long to go on.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the sequence of inputs begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What the inputs are; all kinds in turn if it is not said.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// The folder with programs to begin with.
    #[arg(long, default_value = "fixtures")]
    corpus: PathBuf,
    /// Where inputs go on which rex fails.
    #[arg(long, default_value = "target/fuzz")]
    failures: PathBuf,
    /// The seconds that one input may take.
    #[arg(long, default_value_t = 2.0)]
    patience: f64,
    /// The seconds after which the process does not wait for the end of one any more.
    #[arg(long, default_value_t = 20)]
    limit: u64,
}

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
    let begun = Arc::new(Mutex::new(Instant::now()));
    stop_when_late(Arc::clone(&begun), options.limit);
    let mut random = Random(options.seed);
    let start = Instant::now();
    let (mut n_inputs, mut n_failures) = (0u64, 0u64);
    while start.elapsed() < Duration::from_secs(options.seconds) {
        let Some((language, program)) = programs.get(random.below(programs.len())) else {
            break;
        };
        let (_, other) = &programs[random.below(programs.len())];
        let any = Kind::ALL[random.below(Kind::ALL.len())];
        let bytes = match options.kind.unwrap_or(any) {
            Kind::Programs => inputs::mutated(program, other, &mut random),
            Kind::Directives => inputs::directives(&mut random),
            Kind::Bytes => inputs::bytes(&mut random),
        };
        n_inputs += 1;
        let extension = if *language == Language::C { "c" } else { "cpp" };
        let place = options
            .failures
            .join(format!("{}.{extension}", n_failures + 1));
        // It stays there if the process ends with it.
        fs::write(&place, &bytes)?;
        let now = Instant::now();
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let checked = check(&compiler, *language, &bytes).and_then(|()| {
            let seconds = now.elapsed().as_secs_f64();
            match seconds > options.patience {
                true => Err(format!("takes {seconds:.1} s")),
                false => Ok(()),
            }
        });
        match checked {
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

/// Ends the process when an input takes longer than it may, however long that would be: the input stays where failures go.
#[expect(clippy::exit, reason = "the thread that is late cannot be stopped")]
fn stop_when_late(begun: Arc<Mutex<Instant>>, limit: u64) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let last = *begun.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() > Duration::from_secs(limit) {
                // Nothing is left to do if this cannot be said.
                let _ = writeln!(
                    std::io::stdout(),
                    "the last input takes more than {limit} s"
                );
                std::process::exit(1);
            }
        }
    });
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

fn check(compiler: &Compiler, language: Language, bytes: &[u8]) -> Result<(), String> {
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
    let memory = memory::begin();
    let compiled = catch_unwind(AssertUnwindSafe(|| compiler.compile(input)));
    let growth = memory.growth();
    let compilation = match compiled {
        Err(_) => return Err("panics".to_owned()),
        Ok(Err(error)) => return Err(format!("{error}: {}", error.failure)),
        Ok(Ok(compilation)) => compilation,
    };
    if growth > GROWTH * bytes.len() + FIXED_MEMORY {
        return Err(format!("takes {growth} bytes of memory"));
    }
    let Some(artifacts) = &compilation.artifacts else {
        return Ok(());
    };
    for artifact in artifacts.iter() {
        let is_helper = artifact.kind == rex_emit::ArtifactKind::Helper;
        if !is_helper && artifact.bytes.len() > GROWTH * bytes.len() + FIXED_OUTPUT {
            return Err(format!(
                "{} has {} bytes",
                artifact.file_name,
                artifact.bytes.len()
            ));
        }
    }
    Ok(())
}
