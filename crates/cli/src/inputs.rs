//! Many inputs: files, folders to walk, and patterns that no shell has expanded.

use std::path::Path;

use tesselle::{Result, Uri, name};

/// One container among many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// Its path or uri.
    pub(crate) uri: String,
    /// Its path below the folder that was named; else its last part.
    pub(crate) name: String,
}

/// Whether these name many containers, rather than one.
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

/// All containers that are meant, folders walked and patterns expanded.
pub(crate) fn expand(uris: &[String]) -> Result<Vec<Input>> {
    let mut all = Vec::new();
    for uri in uris {
        let paths = if name::is_pattern(uri) { name::expand(uri)? } else { vec![uri.clone()] };
        for path in paths {
            if !is_place(&path)? {
                let name = Uri::split(&path).0.trim_end_matches('/');
                let name = name.rsplit('/').next().unwrap_or(name).to_owned();
                all.push(Input { uri: path, name });
                continue;
            }
            let root = path.trim_end_matches('/');
            for found in tesselle::find(&path)? {
                let name = found.strip_prefix(root).unwrap_or(&found).trim_start_matches('/').to_owned();
                all.push(Input { uri: found, name });
            }
        }
    }
    Ok(all)
}
