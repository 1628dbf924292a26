//! Multiple inputs: files, folders to walk, and patterns not expanded by a shell.

use std::path::Path;

use tesselle::core::Capabilities;
use tesselle::{Error, Result, Uri, name};

use crate::out;

/// One of several containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// Its path or uri.
    pub(crate) uri: String,
    /// Its path relative to the given folder, else its last component.
    pub(crate) name: String,
}

/// Whether these refer to many containers, rather than one.
pub(crate) fn is_many(uris: &[String]) -> Result<bool> {
    match uris {
        [only] => Ok(name::is_pattern(only) || is_place(only)?),
        _ => Ok(true),
    }
}

/// Whether it is a folder with containers in it, rather than a container.
pub(crate) fn is_place(uri: &str) -> Result<bool> {
    Ok(Path::new(uri).is_dir() && !tesselle::is_container(uri)?)
}

/// The resolved containers, and the errors of the search.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) list: Vec<Input>,
    /// What could not be read.
    pub(crate) unreadable: Vec<Error>,
}

/// Resolves all containers: walks folders for formats that `keep` accepts, and expands patterns. Pipes in folders are
/// skipped with a note.
pub(crate) fn expand(uris: &[String], keep: fn(&Capabilities) -> bool) -> Result<Inputs> {
    let mut all = Inputs::default();
    for uri in uris {
        let paths = if name::is_pattern(uri) { name::expand(uri)? } else { vec![uri.clone()] };
        if paths.is_empty() {
            return Err(Error::no_match(uri));
        }
        for path in paths {
            if !is_place(&path)? {
                let name = Uri::split(&path).0.trim_end_matches('/');
                let name = name.rsplit('/').next().unwrap_or(name).to_owned();
                all.list.push(Input { uri: path, name });
                continue;
            }
            let root = path.trim_end_matches('/');
            let found = tesselle::find_where(&path, keep)?;
            for skipped in found.skipped {
                out::note(&format!("{skipped}: skipped: it is a pipe or a device"));
            }
            all.unreadable.extend(found.unreadable);
            for found in found.paths {
                let name = found.strip_prefix(root).unwrap_or(&found).trim_start_matches('/').to_owned();
                all.list.push(Input { uri: found, name });
            }
        }
    }
    Ok(all)
}
