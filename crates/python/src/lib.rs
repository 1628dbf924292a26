//! The native half of the Python package `tesselle`: opened containers, scans, arrays and the calls that do the work.
//!
//! Everything that a Python programmer sees is in `python/tesselle`, which is typed and documented; this crate converts
//! between Python and the facade, releases the interpreter around every decode and honors Ctrl-C. It must not know any
//! format.
#![expect(clippy::needless_pass_by_value, reason = "arguments of calls from Python are extracted by value")]

mod array;
mod capsules;
mod container;
mod error;
mod incoming;
mod interrupt;
mod jobs;
mod memory;
mod options;
mod progress;
mod provider;
mod representation;
mod rows;
mod run;
mod scan;
mod sql;
mod store;
mod table;
mod words;
mod write;

use pyo3::prelude::*;

#[global_allocator]
static MEMORY: memory::Keeping = memory::Keeping;

/// The native module.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::container::{Container, open, open_table};
    #[pymodule_export]
    use super::jobs::{convert, diff, index, repair, search, verify};
    #[pymodule_export]
    use super::rows::{Batches, Rows};
    #[pymodule_export]
    use super::run::configure;
    #[pymodule_export]
    use super::scan::Scan;
    #[pymodule_export]
    use super::sql::{Answer, Session};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::write::{append_array, append_rows, target_format, write_array, write_arrays, write_rows};

    /// Runs the command line with these arguments, program name first; returns the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| tess::run_to_code(arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::run::refuse_other_interpreters(module.py())?;
        tesselle::foreign::silence_reader_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
