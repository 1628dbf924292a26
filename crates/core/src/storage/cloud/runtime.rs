//! The single runtime of all clients.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::error::{Error, Result};

/// Threads that drive the connections; decoding happens elsewhere.
const THREADS: usize = 2;

/// Lives as long as the process: a runtime must not be dropped on a thread of another one.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread().worker_threads(THREADS).thread_name("tesselle-cloud").enable_all().build()
    });
    started.as_ref().map_err(|error| Error::io("cannot start threads", error.kind().into()))
}

/// Runs `work` on the runtime, next to everything else.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<JoinHandle<()>> {
    Ok(runtime()?.spawn(work))
}

/// Runs `work` on the runtime and waits for its result on a channel. Unlike `block_on`, this is allowed on the threads
/// of any runtime, though it blocks them.
pub(super) fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    runtime()?.spawn(async move {
        let _ = sender.send(work.await);
    });
    receiver.recv().map_err(|_| Error::internal("a request to an object store ended without an answer"))
}
