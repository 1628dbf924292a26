//! A table for sessions of the Python package `datafusion`, which is a build of its own.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::TableProvider;
use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tesselle::{Error, Table};
use tesselle_sql::TesselleTable;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::capsules;
use crate::error::raise;
use crate::run::driver;

/// What the streams of foreign sessions run on; created when the first table is exported, and again after a fork.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The table as a capsule that a session can register.
pub(crate) fn export<'py>(
    py: Python<'py>,
    session: &Bound<'py, PyAny>,
    table: Arc<dyn Table>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let codec = capsules::codec(session)?;
    let provider: Arc<dyn TableProvider> = Arc::new(TesselleTable::new(table, driver()?));
    let exported = FFI_TableProvider::new_with_ffi_codec(provider, true, Some(runtime()?), codec);
    PyCapsule::new_with_value(py, exported, c"datafusion_table_provider")
}

fn runtime() -> PyResult<Handle> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = *shared
        && owner == process
    {
        return Ok(runtime.handle().clone());
    }
    let runtime = Builder::new_multi_thread().thread_name("tesselle-datafusion").enable_all().build();
    let runtime = runtime.map_err(|error| raise(&Error::io("cannot start threads", error)))?;
    // It lives as long as the process: tables that were handed out refer to it.
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *shared = Some((process, runtime));
    Ok(runtime.handle().clone())
}
