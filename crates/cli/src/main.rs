//! The `tess` binary: parses, calls the library, maps the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    tess::run(std::env::args_os())
}
