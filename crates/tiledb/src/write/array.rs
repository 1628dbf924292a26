//! An array opened for writing, and the creation of new ones (spec §2, §7).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use tesselle_core::storage::StagedFolder;
use tesselle_core::{Action, Driver, Limits, Location};

use super::cells::{CellType, Cells, from_arrow};
use super::commit::put;
use super::enumerated::codes;
use super::fragment::{FragmentPlan, field_type};
use super::name::{WRITE_VERSION, fresh, stamp};
use super::schema_builder::NewSchema;
use crate::directory::OLD_SCHEMA;
use crate::filter::Key;
use crate::meta::enumeration::Enumeration;
use crate::meta::generic_tile::GenericTile;
use crate::meta::name::TimestampedName;
use crate::meta::schema::ArraySchema;
use crate::meta::slots::Field;
use crate::vanished::entries;
use crate::{Error, Result};

/// The folders of an array.
const FOLDERS: [&str; 7] = [
    "__schema",
    "__schema/__enumerations",
    "__commits",
    "__fragments",
    "__meta",
    "__fragment_meta",
    "__labels",
];

/// An array opened for writing.
///
/// Every write is a separate fragment and becomes visible atomically.
#[derive(Debug, Clone)]
pub struct ArrayWriter {
    pub(crate) location: Location,
    pub(crate) schema: Arc<ArraySchema>,
    pub(crate) schema_name: String,
    pub(crate) enumerations: HashMap<String, Arc<Enumeration>>,
    pub(crate) key: Option<Key>,
    pub(crate) driver: Option<Driver>,
}

/// The result of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The names of the new fragments.
    pub fragments: Vec<String>,
    /// Cells written.
    pub cells: u64,
    /// Tiles written, counted once for all fields.
    pub tiles: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl ArrayWriter {
    /// Creates an array at an empty location. With a `key`, all its contents are encrypted.
    pub fn create(
        location: &Location,
        new: &NewSchema,
        key: Option<Key>,
        timestamp: Option<u64>,
    ) -> Result<Self> {
        if schema_names(location)?.last().is_some() {
            return Err(Error::invalid(format!("'{location}' is already an array")));
        }
        StagedFolder::fill(location, |place| Self::create_at(place, new, key, timestamp))
            .map(|array| Self { location: location.clone(), ..array })
    }

    fn create_at(
        location: &Location,
        new: &NewSchema,
        key: Option<Key>,
        timestamp: Option<u64>,
    ) -> Result<Self> {
        make_folders(location)?;
        let array = Self {
            location: location.clone(),
            schema: Arc::new(new.schema.clone()),
            schema_name: fresh(stamp(timestamp))?,
            enumerations: by_name(new.enumerations.iter().cloned()),
            key,
            driver: None,
        };
        super::label::create(location, &array.schema, array.key.as_ref(), timestamp)?;
        // Written last: the schema makes the array exist.
        store_schema(location, &array.schema_name, new, array.key.as_ref())?;
        Ok(array)
    }

    /// Opens an array with its newest schema. A key must be given exactly when the array is encrypted.
    pub fn open(location: &Location, key: Option<Key>) -> Result<Self> {
        let Some(newest) = schema_names(location)?.pop() else { return Err(not_writable(location)?) };
        Self::open_schema(location, &newest.name, key)
    }

    /// Opens an array with the schema of this name.
    pub(super) fn open_schema(location: &Location, schema_name: &str, key: Option<Key>) -> Result<Self> {
        let limit = Limits::default().metadata_bytes;
        let tile = |path: &Location| -> Result<GenericTile> {
            let bytes = path.read_all(limit)?;
            GenericTile::parse(&bytes, 0, key.as_ref(), limit).map_err(|e| e.file(path.path()))
        };
        let stored = tile(&location.join("__schema").join(schema_name))?;
        if key.is_some() && !stored.encrypted {
            return Err(Error::invalid(format!("a key is given, but '{location}' is not encrypted"))
                .hint("omit the key; TESSELLE_KEY counts as one"));
        }
        let schema = ArraySchema::parse(&stored.payload)?;
        let folder = location.join("__schema/__enumerations");
        let mut enumerations = Vec::new();
        for (_, file) in &schema.enumerations {
            enumerations.push(Enumeration::parse(&tile(&folder.join(file))?.payload)?);
        }
        Ok(Self {
            location: location.clone(),
            schema: Arc::new(schema),
            schema_name: schema_name.to_owned(),
            enumerations: by_name(enumerations),
            key,
            driver: None,
        })
    }

    /// Writes and consolidates on the threads of `driver`, within its memory, until it is canceled. Without a driver
    /// the calling thread does all work.
    #[must_use]
    pub fn with_driver(self, driver: &Driver) -> Self {
        Self { driver: Some(driver.clone()), ..self }
    }

    /// Runs `work` on the threads of the driver, if there is one.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.driver {
            Some(driver) => driver.install(work),
            None => work(),
        }
    }

    /// How many items of `bytes` each may be in progress at once: at least one, at most `most`.
    pub(crate) fn affordable(&self, bytes: usize, most: usize) -> usize {
        let budget = self.driver.as_ref().map_or(u64::MAX, |driver| driver.budget().total());
        usize::try_from(budget / (bytes as u64).max(1)).map_or(most, |count| count.clamp(1, most))
    }

    pub(crate) fn check_canceled(&self) -> Result<()> {
        self.driver.as_ref().map_or(Ok(()), Driver::check_canceled)
    }

    /// The schema that writes use.
    pub fn schema(&self) -> &ArraySchema {
        &self.schema
    }

    /// The format version of new fragments: that of the newest schema, so that the engines that read the array still
    /// can.
    pub fn version(&self) -> u32 {
        self.schema.version.min(WRITE_VERSION)
    }

    /// An enumeration of the newest schema.
    pub fn enumeration(&self, name: &str) -> Option<&Enumeration> {
        self.enumerations.get(name).map(AsRef::as_ref)
    }

    /// Where the array is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The columns of a batch as the cells of `fields`.
    pub(crate) fn cells_of(&self, batch: &RecordBatch, fields: &[Field]) -> Result<Vec<Cells>> {
        fields.iter().map(|field| self.column(batch, *field)).collect()
    }

    fn column(&self, batch: &RecordBatch, field: Field) -> Result<Cells> {
        let (kind, _, _) = field_type(&self.schema, field)?;
        let (name, enumeration) = match field {
            Field::Attribute(i) => {
                let attribute = self.schema.attributes.get(i);
                let list =
                    attribute.and_then(|attribute| self.enumerations.get(attribute.enumeration.as_ref()?));
                (attribute.map_or("", |attribute| &attribute.name), list)
            }
            Field::Dimension(i) => (self.schema.dimensions.get(i).map_or("", |dim| &dim.name), None),
            _ => ("", None),
        };
        let schema = batch.schema();
        let Some((index, _)) = schema.column_with_name(name) else {
            return Err(Error::unknown_name(
                "column",
                name,
                schema.fields().iter().map(|field| field.name().as_str()),
            ));
        };
        let column = batch.column(index);
        match codes(name, column, kind, enumeration.map(Arc::as_ref))? {
            Some(column) => from_arrow(name, &column, CellType { ..kind }),
            None => from_arrow(name, column, kind),
        }
    }

    /// The plan of a fragment without special columns.
    pub(crate) fn plan(&self, timestamps: (u64, u64)) -> FragmentPlan {
        FragmentPlan {
            array: self.location.clone(),
            schema: Arc::clone(&self.schema),
            schema_name: self.schema_name.clone(),
            key: self.key.clone(),
            version: self.version(),
            timestamps,
            name: None,
            with_timestamps: false,
            with_deletes: false,
        }
    }
}

fn by_name(list: impl IntoIterator<Item = Enumeration>) -> HashMap<String, Arc<Enumeration>> {
    list.into_iter().map(|enumeration| (enumeration.name.clone(), Arc::new(enumeration))).collect()
}

/// Why there is nothing to write to.
fn not_writable(location: &Location) -> Result<Error> {
    if location.join(OLD_SCHEMA).is_file()? {
        let newest = Action::setting("version", WRITE_VERSION.to_string());
        return Ok(Error::unsupported(format!(
            "'{location}' is an array of a format version before 10, which is read only"
        ))
        .suggest("a conversion with {} writes a copy that can be written to", [newest]));
    }
    if crate::is_group(location)? {
        return Ok(
            Error::invalid(format!("'{location}' is a group, not an array")).hint("name one of its members")
        );
    }
    if !location.exists()? {
        return Ok(Error::not_found(format!("'{location}' does not exist")));
    }
    Ok(Error::invalid(format!("'{location}' is not a TileDB array")))
}

/// The schemas of an array, oldest first; empty if there is no array.
pub(super) fn schema_names(location: &Location) -> Result<Vec<TimestampedName>> {
    let mut names: Vec<TimestampedName> = entries(&location.join("__schema"))?
        .iter()
        .filter(|entry| !entry.name.contains('.'))
        .filter_map(|entry| TimestampedName::parse(&entry.name))
        .collect();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(names)
}

/// Makes the folders of an array.
pub(crate) fn make_folders(location: &Location) -> Result<()> {
    FOLDERS.iter().try_for_each(|folder| {
        let folder = location.join(folder);
        folder.storage().create_dir(folder.path())
    })
}

/// Stores enumerations, then the schema that refers to them, which makes the array exist.
pub(crate) fn store_schema(
    location: &Location,
    name: &str,
    new: &NewSchema,
    key: Option<&Key>,
) -> Result<()> {
    let folder = location.join("__schema/__enumerations");
    for enumeration in &new.enumerations {
        let file = folder.join(&enumeration.file);
        put(&file, &GenericTile::write(&enumeration.write()?, new.schema.version, key)?)?;
    }
    let payload = new.schema.write()?;
    put(&location.join("__schema").join(name), &GenericTile::write(&payload, new.schema.version, key)?)
}
