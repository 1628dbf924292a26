//! `path#table`, locally or on an object store.

use tesselle_core::{Location, Result};

/// A container and, perhaps, a table inside it.
#[derive(Debug, Clone)]
pub struct Uri {
    /// The container.
    pub location: Location,
    /// The table after `#`.
    pub table: Option<String>,
}

impl Uri {
    /// Reads `path[#table]`. A path that exists as written wins over its reading as a fragment.
    pub fn parse(text: &str) -> Result<Self> {
        #[cfg(feature = "cloud")]
        if is_remote(text) {
            let (url, table) = split(text);
            let location =
                tesselle_core::storage::CloudStorage::from_url(url, &std::collections::BTreeMap::new())?;
            return Ok(Self { location, table: table.map(str::to_owned) });
        }
        #[cfg(not(feature = "cloud"))]
        if is_remote(text) {
            return Err(tesselle_core::Error::unsupported(format!(
                "'{text}' is on an object store, which this build leaves out"
            ))
            .hint("build with --features cloud"));
        }
        let text = text.strip_prefix("file://").unwrap_or(text);
        let whole = Location::local(text)?;
        if whole.exists()? {
            return Ok(Self { location: whole, table: None });
        }
        let (path, table) = split(text);
        match table {
            Some(table) if Location::local(path)?.exists()? => {
                Ok(Self { location: Location::local(path)?, table: Some(table.to_owned()) })
            }
            _ => Ok(Self { location: whole, table: None }),
        }
    }
}

fn is_remote(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| scheme != "file")
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('#').map_or((text, None), |(path, table)| (path, Some(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_exists_wins_over_a_fragment() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a#b");
        let plain = folder.path().join("plain");
        std::fs::write(&odd, "x").unwrap();
        std::fs::write(&plain, "x").unwrap();
        assert_eq!(Uri::parse(odd.to_str().unwrap()).unwrap().table, None);
        let uri = Uri::parse(&format!("{}#t#u", plain.display())).unwrap();
        assert_eq!((uri.location.name(), uri.table.as_deref()), ("plain", Some("t#u")));
    }
}
