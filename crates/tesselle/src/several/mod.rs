//! Several files as one table: patterns, folders and lists of names.

mod union;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tesselle_core::storage::EntryKind;
use tesselle_core::{Error, ErrorKind, Format, Location, Result, Table};
use union::UnionTable;

use crate::name::{Uri, expand, is_pattern};
use crate::open::{DatasetTable, Opener};
use crate::registry;

impl Opener {
    /// Opens the table of `uri`: the one that it names, or the only one, of a file or of a container that is a folder; or
    /// one table of all files in a folder, or of all files that match a pattern.
    pub fn open_table(&self, uri: &str) -> Result<DatasetTable> {
        if is_pattern(uri) {
            return self.union(uri, &expand(uri)?);
        }
        let parsed = Uri::parse(uri)?;
        if !Uri::is_remote(uri) && !parsed.location.exists()? {
            return Err(missing(Uri::split(uri).0));
        }
        match self.open_one(uri) {
            Err(error) if error.class_name() == "unknown_format" && parsed.location.is_dir()? => {
                let known = files_in(&parsed.location)?;
                let of_table = |file: String| match &parsed.table {
                    Some(table) => format!("{file}#{table}"),
                    None => file,
                };
                let known: Vec<String> = known.into_iter().map(of_table).collect();
                if known.is_empty() { Err(error) } else { self.union(uri, &known) }
            }
            opened => opened,
        }
    }

    /// The table of [`Opener::open_table`].
    pub fn open_all(&self, uri: &str) -> Result<Arc<dyn Table>> {
        Ok(Arc::clone(self.open_table(uri)?.table()))
    }

    /// A number that changes when the files of [`Opener::open_table`] do: see [`Location::stamp`].
    pub fn stamp(&self, uri: &str) -> Result<u64> {
        let uris = if is_pattern(uri) { expand(uri)? } else { vec![uri.to_owned()] };
        let mut hasher = DefaultHasher::new();
        for uri in uris {
            uri.hash(&mut hasher);
            self.parse(&uri)?.location.stamp()?.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    /// The files that `uri` stands for as one table, at the location of the first of them.
    fn union(&self, uri: &str, files: &[String]) -> Result<DatasetTable> {
        let first = files.first().ok_or_else(|| Error::no_match(uri))?;
        let location = self.parse(first)?.location;
        let table = self.run_on().driver()?.install(|| self.open_several(files))?;
        Ok(DatasetTable::new(self.format_of(&location)?, location, table))
    }

    /// Opens several files of one format and the same columns as one table, in this order.
    pub fn open_several(&self, uris: &[String]) -> Result<Arc<dyn Table>> {
        let mut locations = Vec::with_capacity(uris.len());
        let mut format: Option<(&'static dyn Format, &String)> = None;
        for uri in uris {
            let location = self.parse(uri)?.location;
            let own = self.format_of(&location)?;
            match format {
                Some((first, name)) if first.name() != own.name() => return Err(mixed(name, uri)),
                _ => format = Some((own, format.map_or(uri, |(_, name)| name))),
            }
            locations.push(location);
        }
        let (format, _) = format.ok_or_else(|| Error::not_found("no file matches"))?;
        let together = self.run_on_driver(format, |options| format.open_many(&locations, options))?;
        if let Some(table) = together {
            return Ok(table);
        }
        let open = |uri: &String| Ok((uri.clone(), Arc::clone(self.open_one(uri)?.table())));
        let mut tables = uris.iter().map(open).collect::<Result<Vec<_>>>()?;
        match tables.pop() {
            Some((_, only)) if tables.is_empty() => Ok(only),
            last => {
                tables.extend(last);
                Ok(Arc::new(UnionTable::try_new(tables)?))
            }
        }
    }

    fn open_one(&self, uri: &str) -> Result<DatasetTable> {
        self.open(uri)?.default_table()
    }
}

/// The files and containers directly in a folder that are of a known format, by name: there may be a README next to the data.
/// Fails if one cannot be read, since its rows would be missing. Pipes and devices are skipped.
pub fn files_in(folder: &Location) -> Result<Vec<String>> {
    let mut known = Vec::new();
    for entry in folder.list()?.into_iter().filter(|entry| !entry.name.starts_with('.')) {
        let file = folder.join(&entry.name);
        // A link that leads nowhere has only its name.
        let may_be_data = |error: &Error| {
            error.kind() == ErrorKind::Io
                && entry.kind != EntryKind::Other
                && (!error.is_missing() || registry::format_by_extension(&entry.name).is_some())
        };
        match registry::detect(&file) {
            Ok(_) => known.push(file.path().to_owned()),
            Err(error) if may_be_data(&error) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(known)
}

fn mixed(one: &str, other: &str) -> Error {
    Error::invalid(format!("'{one}' and '{other}' have different formats, which cannot be read as one table"))
        .hint("narrow the pattern, e.g. to *.tet")
}

/// The error for a missing file.
fn missing(path: &str) -> Error {
    Location::local(path).map_or_else(|_| Error::missing(path), |location| registry::missing(&location))
}

#[cfg(all(test, feature = "text"))]
mod tests {
    use tesselle_core::{Driver, DriverOptions};

    use super::*;

    #[test]
    fn a_canceled_driver_opens_no_files_together() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "b.csv"] {
            std::fs::write(folder.path().join(name), "x\n1\n").unwrap();
        }
        let pattern = format!("{}/*.csv", folder.path().display());
        let driver = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
        assert!(Opener::new().on(&driver).open_all(&pattern).is_ok());
        driver.cancel();
        let error = Opener::new().on(&driver).open_all(&pattern).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Canceled);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_a_folder_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.csv"), "x\n1\n").unwrap();
        std::fs::write(at("README"), "rows of x").unwrap();
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        let place = Location::local(folder.path()).unwrap();
        assert_eq!(files_in(&place).unwrap().len(), 1);
        std::os::unix::fs::symlink("nowhere", at("b.csv")).unwrap();
        let error = files_in(&place).unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.to_string().contains("b.csv"), "{error}");
        assert!(Opener::new().open_all(folder.path().to_str().unwrap()).is_err());
    }
}
