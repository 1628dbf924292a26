//! The threads that statements run on.

use std::ops::Deref;

use tokio::runtime;

/// A runtime that does not wait for its threads when it is dropped. An operator of DataFusion may compute for minutes
/// between two points at which it can be stopped; an interrupted statement must not wait for that.
pub(crate) struct Runtime(Option<runtime::Runtime>, runtime::Handle);

impl From<runtime::Runtime> for Runtime {
    fn from(runtime: runtime::Runtime) -> Self {
        let handle = runtime.handle().clone();
        Self(Some(runtime), handle)
    }
}

impl Deref for Runtime {
    type Target = runtime::Handle;

    fn deref(&self) -> &runtime::Handle {
        &self.1
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
