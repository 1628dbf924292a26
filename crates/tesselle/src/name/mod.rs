//! Names: `path#table`, patterns, times and key files, for every front end.

mod pipes;
mod times;

use std::collections::HashSet;
use std::path::Path;

pub use pipes::keep_pipes;
use pipes::spooled;
use tesselle_core::{Error, Location, Result, Secret};
pub use times::{parse_time, parse_times};

/// Distinct file names for tables, without extensions; parts of a path become folders.
pub fn file_names(tables: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    let distinct = |table: &String| {
        let name = file_name(table);
        let numbered = (2..).map(|number: u64| format!("{name}.{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(|name| taken.insert(name.clone())).unwrap_or(name)
    };
    tables.iter().map(distinct).collect()
}

fn file_name(table: &str) -> String {
    if table.is_empty() {
        return "table".to_owned();
    }
    let part = |part: &str| match part {
        "" | "." | ".." => "_".to_owned(),
        part => part.replace(['\\', ':', '\0'], "_"),
    };
    table.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// A container and an optional table inside it.
#[derive(Debug, Clone)]
pub struct Uri {
    /// The container.
    pub location: Location,
    /// The table after `#`.
    pub table: Option<String>,
}

impl Uri {
    /// Parses `path[#table]`; `-` is standard input. An existing path that contains `#` takes precedence.
    pub fn parse(text: &str) -> Result<Self> {
        if is_remote(text) {
            let (url, table) = split(text);
            return Ok(Self { location: remote(url)?, table: table.map(str::to_owned) });
        }
        let text = local(text);
        if let Some(location) = spooled(split(text).0)? {
            return Ok(Self { location, table: split(text).1.map(str::to_owned) });
        }
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

    /// The location of a target: a local path, the URL of an object store, or `-` for standard output.
    pub fn target(text: &str) -> Result<Location> {
        match text {
            "-" => Location::local("/dev/stdout"),
            url if is_remote(url) => remote(url),
            path => Location::local(local(path)),
        }
    }

    /// Splits `path[#table]`, without checking what exists.
    pub fn split(text: &str) -> (&str, Option<&str>) {
        split(text)
    }

    /// Whether it refers to an object store.
    pub fn is_remote(text: &str) -> bool {
        is_remote(text)
    }
}

#[cfg(feature = "cloud")]
fn remote(url: &str) -> Result<Location> {
    tesselle_core::storage::CloudStorage::from_url(url, &std::collections::BTreeMap::new())
}

#[cfg(not(feature = "cloud"))]
fn remote(url: &str) -> Result<Location> {
    let message = format!("'{url}' is on an object store, which this build cannot access");
    Err(Error::unsupported(message).hint("use a local copy of the file, or a build with object stores"))
}

fn is_remote(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| scheme != "file")
}

fn local(text: &str) -> &str {
    text.strip_prefix("file://").unwrap_or(text)
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('#').map_or((text, None), |(path, table)| (path, Some(table)))
}

/// Whether a name is a pattern of local paths, rather than an existing path.
pub fn is_pattern(text: &str) -> bool {
    !is_remote(text) && !Path::new(local(text)).exists() && split(text).0.contains(['*', '?', '['])
}

/// The local paths that match `pattern[#table]`, sorted, each with the same table; may be empty. `*`, `?` and `[…]`
/// match inside one path component, `**` any number of folders; names that start with a dot are never matched.
pub fn expand(pattern: &str) -> Result<Vec<String>> {
    let (path, table) = split(local(pattern));
    let refused =
        |error: glob::PatternError| Error::invalid(format!("the pattern '{path}' is invalid")).source(error);
    let options = glob::MatchOptions {
        require_literal_separator: true,
        require_literal_leading_dot: true,
        ..glob::MatchOptions::new()
    };
    let mut found = Vec::new();
    for entry in glob::glob_with(path, options).map_err(refused)? {
        let entry = entry.map_err(|error| {
            let place = error.path().display().to_string();
            Error::io(format!("cannot read '{place}'"), error.into())
        })?;
        let text = entry
            .to_str()
            .ok_or_else(|| Error::invalid(format!("path '{}' is not UTF-8", entry.display())))?;
        found.push(table.map_or_else(|| text.to_owned(), |table| format!("{text}#{table}")));
    }
    found.sort();
    Ok(found)
}

/// The key in a file: 32 raw bytes, or `hex:` and 64 digits.
pub fn read_key(path: impl AsRef<Path>) -> Result<Secret> {
    let path = path.as_ref();
    let text = std::fs::read(path)
        .map_err(|e| Error::io(format!("cannot read the key file '{}'", path.display()), e))?;
    // Editors end files with a newline; a raw key of 32 bytes is used as it is.
    Secret::parse(if text.len() == 32 { &text } else { text.trim_ascii_end() })
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

    #[test]
    fn patterns_match_in_every_part_of_a_path() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["2023/a.tet", "2024/a.tet", "2024/b.csv", "2024/deep/a.tet", ".hidden/a.tet"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let root = folder.path().to_str().unwrap();
        let found = |pattern: &str| expand(&format!("{root}/{pattern}")).unwrap();
        assert_eq!(found("*/a.tet"), [format!("{root}/2023/a.tet"), format!("{root}/2024/a.tet")]);
        assert_eq!(found("202[34]/a.tet#t")[1], format!("{root}/2024/a.tet#t"));
        assert_eq!(found("**/a.tet").len(), 3);
        assert!(found(".h*/a.tet").is_empty());
        assert!(found("*/c.tet").is_empty());
        assert!(is_pattern(&format!("{root}/*.tet")) && !is_pattern(root) && !is_pattern("s3://b/*"));
    }

    #[cfg(not(feature = "cloud"))]
    #[test]
    fn targets_on_an_object_store_are_refused_and_never_a_local_folder() {
        let error = Uri::target("s3://bucket/x.tet").unwrap_err();
        assert_eq!(error.kind(), tesselle_core::ErrorKind::Unsupported);
        assert_eq!(Uri::target("file:///tmp/x.tet").unwrap().path(), "/tmp/x.tet");
    }
}
