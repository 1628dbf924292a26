//! Pipes, devices and standard input as files: read to their end once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tesselle_core::storage::{EntryKind, Storage};
use tesselle_core::{Error, Location, Result};

use crate::compression::Compression;
use crate::registry;

/// Whether the content of a pipe is kept until the process ends; see [`keep_pipes`].
static KEEP_PIPES: AtomicBool = AtomicBool::new(false);

/// Reads every pipe only once per process from now on, regardless of how often it is named. For programs that run one
/// command and refer to their inputs several times.
pub fn keep_pipes() {
    KEEP_PIPES.store(true, Ordering::Relaxed);
}

/// Inputs that were read to their end, by name. Descriptors of this process can be read only once, so their content is
/// kept; a named pipe is read again once its previous content is no longer in use.
static SPOOLED: Mutex<Option<HashMap<String, Spooled>>> = Mutex::new(None);

enum Spooled {
    Kept(Location),
    Shared(Weak<dyn Storage>),
}

/// The content of a pipe, a device or standard input (`-`), read to its end, and that of a compressed text file; `None`
/// where `path` is none of them.
pub(super) fn spooled(path: &str) -> Result<Option<Location>> {
    if let Some(compression) = compressed(path) {
        return once(path, false, || compression.decompressed(path)).map(Some);
    }
    let is_stdin = path == "-" && !Location::local(path)?.exists()?;
    if !is_stdin && Location::local(path)?.kind()? != Some(EntryKind::Other) {
        return Ok(None);
    }
    let is_own = is_stdin || path.starts_with("/dev/std") || path.contains("/fd/");
    let read = || {
        if is_stdin {
            return Compression::spooled(std::io::stdin().lock(), path);
        }
        let failed = |error| Error::io(format!("cannot read '{path}'"), error);
        Compression::spooled(std::fs::File::open(path).map_err(failed)?, path)
    };
    once(path, is_own, read).map(Some)
}

/// How a local file is compressed, where it is one of text records.
fn compressed(path: &str) -> Option<Compression> {
    let compression = Compression::of(path)?;
    let format = registry::format_by_extension(Compression::inner_name(path));
    let is_text = format.is_some_and(|format| format.capabilities().infers_types);
    Some(compression).filter(|_| is_text && std::path::Path::new(path).is_file())
}

/// The result of `read` for a name, shared while it is in use; with `is_own` it is kept until the process ends.
fn once(path: &str, is_own: bool, read: impl FnOnce() -> Result<Location>) -> Result<Location> {
    let mut known = SPOOLED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashMap::new);
    match known.get(path) {
        Some(Spooled::Kept(location)) => return Ok(location.clone()),
        Some(Spooled::Shared(storage)) => {
            if let Some(storage) = storage.upgrade() {
                return Ok(Location::new(storage, Compression::inner_name(path)));
            }
        }
        None => {}
    }
    let location = read()?;
    let entry = if is_own || KEEP_PIPES.load(Ordering::Relaxed) {
        Spooled::Kept(location.clone())
    } else {
        Spooled::Shared(Arc::downgrade(location.storage()))
    };
    known.insert(path.to_owned(), entry);
    Ok(location)
}

#[cfg(test)]
mod tests {
    use crate::name::Uri;

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_to_its_end_and_read_again_when_unused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("p");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for round in ["one", "two"] {
            let writer = std::thread::spawn({
                let pipe = pipe.clone();
                move || std::fs::write(pipe, round).unwrap()
            });
            let uri = Uri::parse(&format!("{}#t", pipe.display())).unwrap();
            writer.join().unwrap();
            let again = Uri::parse(pipe.to_str().unwrap()).unwrap();
            assert_eq!(uri.table.as_deref(), Some("t"));
            for location in [uri.location, again.location] {
                assert_eq!(location.read_all(100).unwrap(), round);
            }
        }
        assert_eq!(Uri::parse("/dev/null").unwrap().location.size().unwrap(), 0);
    }
}
