//! Many inputs: files, folders to walk, and patterns that no shell has expanded.

use std::path::Path;

use tesselle::{Error, Result, Wanted};

use crate::out;

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
        [only] => Ok(is_pattern(only) || is_place(only)?),
        _ => Ok(true),
    }
}

/// Whether it is a folder with containers in it, rather than a container.
pub(crate) fn is_place(uri: &str) -> Result<bool> {
    Ok(Path::new(uri).is_dir() && !tesselle::is_container(uri)?)
}

fn is_pattern(uri: &str) -> bool {
    let path = uri.split('#').next().unwrap_or(uri);
    !Path::new(uri).exists() && !uri.contains("://") && path.contains(['*', '?', '['])
}

/// All containers that are meant, and what stood in the way of finding more.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) list: Vec<Input>,
    /// What could not be read.
    pub(crate) unreadable: Vec<Error>,
}

/// All containers that are meant, folders walked and patterns expanded. Pipes in folders are skipped with a note.
pub(crate) fn expand(uris: &[String], wanted: Wanted) -> Result<Inputs> {
    let mut all = Inputs::default();
    for uri in uris {
        let paths = if is_pattern(uri) { matches(uri)? } else { vec![uri.clone()] };
        for path in paths {
            if !is_place(&path)? {
                let name = path.split('#').next().unwrap_or(&path).trim_end_matches('/');
                let name = name.rsplit('/').next().unwrap_or(name).to_owned();
                all.list.push(Input { uri: path, name });
                continue;
            }
            let root = path.trim_end_matches('/');
            let found = tesselle::find(&path, wanted)?;
            for skipped in found.skipped {
                out::note(&format!("{skipped}: skipped, it is a pipe or a device"));
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

fn matches(pattern: &str) -> Result<Vec<String>> {
    let refused = |error: glob::PatternError| {
        Error::invalid(format!("the pattern '{pattern}' cannot be read")).source(error)
    };
    let mut found = Vec::new();
    for entry in glob::glob(pattern).map_err(refused)? {
        let path = entry.map_err(|error| {
            let place = error.path().display().to_string();
            Error::io(format!("cannot read '{place}'"), error.into())
        })?;
        let text =
            path.to_str().ok_or_else(|| Error::invalid(format!("path '{}' is not UTF-8", path.display())))?;
        found.push(text.to_owned());
    }
    if found.is_empty() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::io(format!("nothing matches '{pattern}'"), missing));
    }
    Ok(found)
}
