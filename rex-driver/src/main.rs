//! The `rex-driver` command; the library does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rex_driver::cli::main(std::env::args_os()))
}
