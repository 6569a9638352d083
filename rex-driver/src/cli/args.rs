//! The command line as types.
//!
//! Compiler flags (`-D`, `-O2`, `-lm`, …) are taken out before clap sees the arguments; see
//! [`crate::flags`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::flags::CompilerFlags;
use crate::program::DeviceChoice;
use crate::render::MessageFormat;
use crate::toolchain::{Carrier, OffloadRequest};
use crate::verify::Compare;

/// The single-letter options that are rex's own, not the compiler's.
const OWN_LETTERS: &[&str] = &["-o", "-h", "-V", "-v", "-j", "-p "];

const COMPILER_FLAGS_HELP: &str = "\
Compiler flags are given in the compiler's own spelling, anywhere before `--`:
  -D -U -I -isystem -iquote -include -std= -x   reach the preprocessor, the host and the device compiler
  -O -g -f… -m… -W… -pthread -l -L -Wl,…        reach the steps of the host build that they matter to
  -fopenmp                                      is on by default; -fno-openmp turns it off";

/// Lowers OpenMP target offloading in C and C++ to plain host and device code.
#[derive(Debug, Parser)]
#[command(
    name = "rex-driver",
    version,
    long_version = super::version::long(),
    about,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = COMPILER_FLAGS_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The compiler flags of the command line.
    #[arg(skip)]
    pub flags: CompilerFlags,
}

impl Cli {
    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// clap's message for wrong usage, and for `--help` and `--version`.
    pub fn parse_from_words(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let (flags, rest) = CompilerFlags::extract(words, OWN_LETTERS);
        let mut cli = Cli::try_parse_from([OsString::from("rex-driver")].into_iter().chain(rest))?;
        cli.flags = flags;
        Ok(cli)
    }
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub struct GlobalArgs {
    /// How diagnostics are shown.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "human")]
    pub message_format: MessageFormat,
    /// When to use colors.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Print each command before it runs.
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// How many files and commands to work on at once [default: the number of processors].
    #[arg(short, long, global = true, value_name = "N")]
    pub jobs: Option<usize>,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// If the output is a terminal and `NO_COLOR` is not set.
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the host, device and helper files for each input.
    Lower(LowerArgs),
    /// Lower, compile and link a program.
    Build(BuildArgs),
    /// Build a program and run it; the exit code is the program's.
    Run(RunArgs),
    /// Show the passes in the order they run.
    Passes(PassesArgs),
    /// Explain a diagnostic code, or list all codes.
    Explain(ExplainArgs),
    /// Build programs with and without rex, run both and compare what they say.
    Verify(VerifyArgs),
    /// Count the target constructs of a source tree that are lowered, and check that the rest is kept.
    Audit(AuditArgs),
    /// Compile and link like a C compiler, with its own options (also as `rexcc`).
    #[command(name = "cc", disable_help_flag = true)]
    Cc(CompilerArgs),
    /// Compile and link like a C++ compiler, with its own options (also as `rexc++`).
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(CompilerArgs),
    /// Compile and link with the compiler that is named first, as a build system's compiler launcher.
    #[command(disable_help_flag = true)]
    Launch(CompilerArgs),
    /// Show what this machine has for building and running, and what does not fit together.
    Doctor(DoctorArgs),
    /// Print a shell's completion script.
    Completions(CompletionsArgs),
    /// Install rex with its compilers' names, files for CMake and pkg-config, manuals and completions.
    Install(InstallArgs),
}

/// Options of `lower`.
#[derive(Debug, Args)]
pub struct LowerArgs {
    /// C and C++ files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where to write; `-` writes to standard output [default: the current folder].
    #[arg(short, long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Which artifacts to write.
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = "host,device,helper"
    )]
    pub emit: Vec<EmitKind>,
    /// Put #line into host and device files, so that compilers and debuggers speak of the user's lines.
    #[arg(long)]
    pub line_directives: bool,
    /// The name of standard input in messages and generated files.
    #[arg(long, value_name = "NAME", default_value = "stdin.c")]
    pub stdin_name: String,
    /// Where flags come from.
    #[command(flatten)]
    pub database: CompileCommandsArgs,
}

/// Where compiler flags come from besides the command line.
#[derive(Clone, Debug, Default, Args)]
pub struct CompileCommandsArgs {
    /// The folder with the build system's compile_commands.json [default: beside or above the files].
    #[arg(short = 'p', long, value_name = "DIR")]
    pub compile_commands: Option<PathBuf>,
    /// Use no compile_commands.json.
    #[arg(long, conflicts_with = "compile_commands")]
    pub no_compile_commands: bool,
}

/// A kind of artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitKind {
    /// `rose_<input>`.
    Host,
    /// `rex_lib_<input>.cu`.
    Device,
    /// The helper files.
    Helper,
}

/// Options of `build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// C and C++ files, objects and libraries.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The program to make.
    #[arg(short, long, value_name = "PROGRAM", default_value = "a.out")]
    pub output: PathBuf,
    /// How to build it.
    #[command(flatten)]
    pub build: CommonBuildArgs,
    /// More compiler flags, taken as they are.
    #[arg(last = true, value_name = "FLAGS")]
    pub more_flags: Vec<OsString>,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// C and C++ files, objects and libraries.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Keep the program under this name [default: it is removed].
    #[arg(short, long, value_name = "PROGRAM")]
    pub output: Option<PathBuf>,
    /// How to build it.
    #[command(flatten)]
    pub build: CommonBuildArgs,
    /// The program's arguments.
    #[arg(last = true, value_name = "ARGS")]
    pub program_args: Vec<OsString>,
}

/// Options of `build` and `run`.
#[derive(Debug, Args)]
pub struct CommonBuildArgs {
    /// What runs the device code; `auto` is nvptx where an NVIDIA driver is, else host.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// The GPU architecture, for instance sm_90 [default: this machine's GPU].
    #[arg(long, visible_alias = "offload-arch", value_name = "ARCH")]
    pub arch: Option<String>,
    /// Tools and libraries.
    #[command(flatten)]
    pub tools: ToolArgs,
    /// Where flags come from.
    #[command(flatten)]
    pub database: CompileCommandsArgs,
    /// Put the device image into the program (the default).
    #[arg(long, overrides_with = "no_embed_image")]
    pub embed_image: bool,
    /// Put the device image into a file beside the program.
    #[arg(long)]
    pub no_embed_image: bool,
    /// Keep the lowered and intermediate files in this folder.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Leave #line out of the lowered files: compilers and debuggers then speak of their lines.
    #[arg(long)]
    pub no_line_directives: bool,
    /// Print the commands instead of running them.
    #[arg(long)]
    pub dry_run: bool,
}

/// Where tools and libraries are.
#[derive(Clone, Debug, Default, Args)]
pub struct ToolArgs {
    /// The LLVM version whose offload runtime to use [default: the greatest found].
    #[arg(long, value_name = "N")]
    pub llvm_abi: Option<u32>,
    /// What carries the offload calls when the program runs; `REX_RUNTIME` changes it there.
    #[arg(long, value_name = "RUNTIME", default_value = "libomptarget")]
    pub runtime: RuntimeChoice,
    /// The folder that holds libomptarget.
    #[arg(long, value_name = "DIR")]
    pub libomptarget: Option<PathBuf>,
    /// A CUDA installation, or a folder with pip's CUDA packages.
    #[arg(long, value_name = "DIR")]
    pub cuda: Option<PathBuf>,
}

/// What carries the offload calls of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RuntimeChoice {
    /// LLVM's OpenMP offload runtime.
    #[default]
    Libomptarget,
    /// LLVM 22's liboffload: queued launches, GPUs only.
    Liboffload,
}

impl ToolArgs {
    /// Which offload runtime to look for.
    pub fn offload_request(&self) -> OffloadRequest {
        OffloadRequest {
            folder: self.libomptarget.clone(),
            abi: self.llvm_abi,
            carrier: match self.runtime {
                RuntimeChoice::Libomptarget => Carrier::Libomptarget,
                RuntimeChoice::Liboffload => Carrier::Liboffload,
            },
        }
    }
}

/// Options of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Files that are programs, folders that hold some, and lists of programs (rex-verify.toml).
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What runs the device code; `auto` is nvptx where an NVIDIA driver is, else host.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// The GPU architecture, for instance sm_90 [default: this machine's GPU].
    #[arg(long, visible_alias = "offload-arch", value_name = "ARCH")]
    pub arch: Option<String>,
    /// Tools and libraries.
    #[command(flatten)]
    pub tools: ToolArgs,
    /// Where flags come from.
    #[command(flatten)]
    pub database: CompileCommandsArgs,
    /// An argument for the programs; may be repeated.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub args: Vec<OsString>,
    /// The file that the programs read as standard input [default: an empty one].
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The seconds after which a program is stopped.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub time_limit: u64,
    /// How much floating-point numbers may differ, relative to their size.
    #[arg(long, value_name = "RATIO", default_value_t = 1e-5)]
    pub tolerance: f64,
    /// What to compare.
    #[arg(long, value_name = "WHAT", default_value = "output")]
    pub compare: Compare,
    /// How to show the verdicts.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: VerifyFormat,
    /// More compiler flags, taken as they are.
    #[arg(last = true, value_name = "FLAGS")]
    pub more_flags: Vec<OsString>,
}

/// How `verify` shows its verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VerifyFormat {
    /// A table.
    Text,
    /// JSON.
    Json,
}

/// Options of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Files and folders; each is counted for itself.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Where flags come from.
    #[command(flatten)]
    pub database: CompileCommandsArgs,
    /// How to show the counts.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: AuditFormat,
    /// More compiler flags, taken as they are.
    #[arg(last = true, value_name = "FLAGS")]
    pub more_flags: Vec<OsString>,
}

/// How `audit` shows its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Tables.
    Text,
    /// JSON.
    Json,
}

/// Options of `passes`.
#[derive(Debug, Args)]
pub struct PassesArgs {
    /// How to show them.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PassesFormat,
}

/// How `passes` shows the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PassesFormat {
    /// A table.
    Text,
    /// JSON.
    Json,
    /// A graph for Graphviz.
    Dot,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code (REX0203) or its name (pointer-needs-length).
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// The words of a compiler's command line.
#[derive(Debug, Args)]
pub struct CompilerArgs {
    /// What gcc and clang take.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    pub words: Vec<OsString>,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// How to show the findings.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: DoctorFormat,
    /// Tools and libraries.
    #[command(flatten)]
    pub tools: ToolArgs,
}

/// How `doctor` shows its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DoctorFormat {
    /// A list.
    Text,
    /// JSON.
    Json,
}

/// Options of `install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The folder that gets bin, lib and share; DESTDIR, if set, comes before it.
    #[arg(long, value_name = "DIR")]
    pub prefix: PathBuf,
    /// Print the places of the files and write none.
    #[arg(long)]
    pub dry_run: bool,
    /// Tools and libraries.
    #[command(flatten)]
    pub tools: ToolArgs,
}

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Cli {
        Cli::parse_from_words(line.split_whitespace().map(Into::into)).unwrap()
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn compiler_flags_may_stand_anywhere() {
        let cli = parse("run -O2 a.c -DN=4 --device host -lm -- -Dkept 1");
        let Command::Run(run) = cli.command else {
            panic!("not run")
        };
        assert_eq!(run.files, [PathBuf::from("a.c")]);
        assert_eq!(run.program_args, ["-Dkept", "1"]);
        assert_eq!(cli.flags.iter().count(), 3);
    }

    #[test]
    fn p_names_a_database_and_longer_flags_stay_the_compilers() {
        let cli = parse("lower a.c -p build -pthread");
        let Command::Lower(lower) = cli.command else {
            panic!("not lower")
        };
        assert_eq!(lower.database.compile_commands, Some("build".into()));
        assert!(cli.flags.contains("-pthread"));
    }

    #[test]
    fn offload_arch_is_another_name_of_arch() {
        let Command::Build(build) = parse("build a.c --offload-arch=sm_80").command else {
            panic!("not build")
        };
        assert_eq!(build.build.arch.as_deref(), Some("sm_80"));
    }

    #[test]
    fn wrong_usage_is_reported() {
        let words = ["lower", "--emit", "everything", "a.c"].map(Into::into);
        assert!(Cli::parse_from_words(words).is_err());
    }
}
