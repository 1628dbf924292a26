//! An opened array: its schema, the fragments that a read uses, enumerations, delete conditions and metadata.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use tesselle_codec::cipher::Key;
use tesselle_core::driver::parallel;
use tesselle_core::{Action, Context, ErrorKind, Limits, Location, OpenOptions, Secret};

use crate::directory::{ArrayDirectory, FragmentEntry, OLD_SCHEMA};
use crate::fragment::{Fragment, FragmentContext};
use crate::meta::condition::Condition;
use crate::meta::dimension::Dimension;
use crate::meta::enumeration::Enumeration;
use crate::meta::generic_tile::GenericTile;
use crate::meta::key_value::{self, MetadataValue};
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::read::schema::{Column, Presentation};
use crate::{Error, Result, vanished};

/// A delete condition that a read applies.
#[derive(Debug)]
pub(crate) struct Delete {
    /// When it was committed.
    pub(crate) timestamp: u64,
    /// Its file, by which fragments refer to processed conditions.
    pub(crate) path: String,
    /// Cells where this is true survive.
    pub(crate) survives: Condition,
}

/// An array as of some time.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) root: Location,
    pub(crate) directory: ArrayDirectory,
    pub(crate) schema: Arc<ArraySchema>,
    pub(crate) schema_path: String,
    pub(crate) fragments: Vec<Arc<Fragment>>,
    pub(crate) deletes: Vec<Delete>,
    pub(crate) enumerations: BTreeMap<String, Arc<Enumeration>>,
    pub(crate) metadata: BTreeMap<Vec<u8>, MetadataValue>,
    pub(crate) columns: Vec<Column>,
    /// Whether a dense array shows its whole domain.
    pub(crate) full_domain: bool,
    /// The times that a read covers.
    pub(crate) range: RangeInclusive<u64>,
    /// The key, if the array is encrypted.
    pub(crate) key: Option<Key>,
    /// The key bytes, for arrays inside this one.
    pub(crate) secret: Option<Secret>,
    pub(crate) limits: Limits,
}

impl Array {
    /// Opens the array in the folder `root`, also while others write to it.
    pub(crate) fn open(root: &Location, options: &OpenOptions) -> Result<Self> {
        vanished::opened(root, options.limits.metadata_bytes, || Self::open_once(root, options))
    }

    fn open_once(root: &Location, options: &OpenOptions) -> Result<Self> {
        let limits = options.limits.clone();
        let directory = ArrayDirectory::load(root, limits.metadata_bytes)?;
        let (start, end) = options.between.unwrap_or((0, u64::MAX));
        let range = start..=end;
        let given = options.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
        let loader = Loader { root, key: given.as_ref(), limit: limits.metadata_bytes };
        let schema_path = directory.schema_at(end).ok_or_else(|| no_schema(root))?.to_owned();
        let (schema, encrypted) = loader.schema(&schema_path)?;
        let key = given.clone().filter(|_| encrypted);
        let dense = schema.kind == ArrayKind::Dense;
        if let Some(missing) = directory.visible_missing(&range, dense).first() {
            return Err(Error::corrupt(format!(
                "fragment '{missing}' is committed, but its folder is missing"
            ))
            .class("missing_fragment")
            .file(format!("__fragments/{missing}")));
        }
        if let Some(update) = directory.updates.iter().find(|update| update.name.is_within(&range)) {
            return Err(Error::unsupported("the array has update conditions, which are not known")
                .file(update.path.clone())
                .suggest("read it as of an earlier time with {}", [Action::AsOf]));
        }
        let visible = directory.visible_fragments(&range, dense);
        let fragments = load_fragments(&directory, &loader, &schema_path, &schema, visible, key.as_ref())?;
        let fragments = fragments.into_iter().collect::<Result<Vec<_>>>()?;
        vanished::pin(root, &fragments)?;
        let deletes = load_deletes(&directory, &loader, &range, dense, limits.depth)?;
        let mut enumerations = BTreeMap::new();
        for (name, file) in &schema.enumerations {
            let path = format!("__schema/__enumerations/{file}");
            if !directory.enumerations.contains(&path) {
                return Err(Error::corrupt(format!("the file of enumeration '{name}' is missing"))
                    .class("missing_enumeration")
                    .file(path));
            }
            let payload = loader.payload(&path)?;
            let enumeration = Enumeration::parse(&payload).in_file(&path)?;
            enumerations.insert(name.clone(), Arc::new(enumeration));
        }
        let mut metadata = BTreeMap::new();
        for file in directory.visible_metadata(&range) {
            let payload = loader.payload(&file.path)?;
            key_value::apply(key_value::parse(&payload).in_file(&file.path)?, &mut metadata);
        }
        let presentation = Presentation { raw: options.raw, text_as_binary: options.text_as_binary };
        let columns = columns(&schema, &enumerations, presentation)?;
        Ok(Self {
            root: root.clone(),
            directory,
            schema,
            schema_path,
            fragments,
            deletes,
            enumerations,
            metadata,
            columns,
            full_domain: options.full_domain,
            range,
            key,
            secret: options.key.clone(),
            limits,
        })
    }

    /// Opens as much as possible of a damaged array, superseded fragments included, so that its tiles can be inspected.
    /// Also returns what could not be opened. The result has no columns.
    pub(crate) fn salvage(root: &Location, options: &OpenOptions) -> Result<(Self, Vec<Error>)> {
        let limits = options.limits.clone();
        let mut directory = ArrayDirectory::load(root, limits.metadata_bytes)?;
        let given = options.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
        let loader = Loader { root, key: given.as_ref(), limit: limits.metadata_bytes };
        let mut damage = Vec::new();
        let mut newest = None;
        for path in std::mem::take(&mut directory.schemas) {
            match loader.schema(&path) {
                Ok((schema, encrypted)) => {
                    newest = Some((path.clone(), schema, encrypted));
                    directory.schemas.push(path);
                }
                Err(error) => damage.push(vanished::damage(error)?),
            }
        }
        let Some((schema_path, schema, encrypted)) = newest else {
            return Err(damage.pop().unwrap_or_else(|| no_schema(root)));
        };
        let key = given.clone().filter(|_| encrypted);
        let opened =
            load_fragments(&directory, &loader, &schema_path, &schema, &directory.fragments, key.as_ref())?;
        let mut fragments = Vec::new();
        for fragment in opened {
            match fragment {
                Ok(fragment) => fragments.push(fragment),
                Err(error) => damage.push(vanished::damage(error)?),
            }
        }
        let array = Self {
            root: root.clone(),
            directory,
            schema,
            schema_path,
            fragments,
            deletes: Vec::new(),
            enumerations: BTreeMap::new(),
            metadata: BTreeMap::new(),
            columns: Vec::new(),
            full_domain: false,
            range: 0..=u64::MAX,
            key,
            secret: options.key.clone(),
            limits,
        };
        Ok((array, damage))
    }

    /// Whether the array is dense.
    pub(crate) fn is_dense(&self) -> bool {
        self.schema.kind == ArrayKind::Dense
    }

    /// A path of the array, relative to the storage.
    pub(crate) fn storage_path(&self, relative: &str) -> Arc<str> {
        self.root.join(relative).path().into()
    }

    /// The column of that name.
    pub(crate) fn column(&self, name: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| Error::unknown_name("column", name, self.columns.iter().map(|c| c.name.as_str())))
    }

    /// The number of rows, if known without reading.
    pub(crate) fn rows(&self) -> Option<u64> {
        if self.is_dense() {
            let grid = self.schema.grid().ok()?;
            return self.row_box(&grid).ok()?.map_or(Some(0), |region| region.cells());
        }
        let mut total = 0_u64;
        let mut seen: Vec<&Fragment> = Vec::new();
        for fragment in &self.fragments {
            let all_cells =
                !fragment.footer.has_timestamps && !fragment.footer.has_deletes && self.deletes.is_empty();
            let alone = self.schema.allows_dups || seen.iter().all(|other| !overlap(fragment, other));
            if !all_cells || !alone {
                return None;
            }
            total = total.checked_add(fragment.cells())?;
            seen.push(fragment);
        }
        Some(total)
    }
}

/// Whether two fragments can contain cells with the same coordinates.
pub(crate) fn overlap(a: &Fragment, b: &Fragment) -> bool {
    match (&a.footer.non_empty_domain, &b.footer.non_empty_domain) {
        (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| a.intersects(b)),
        _ => false,
    }
}

/// Reads files of the array that are single generic tiles.
pub(crate) struct Loader<'a> {
    pub(crate) root: &'a Location,
    pub(crate) key: Option<&'a Key>,
    pub(crate) limit: u64,
}

impl Loader<'_> {
    /// The payload of a file that is one generic tile.
    pub(crate) fn payload(&self, path: &str) -> Result<Vec<u8>> {
        self.tile(path).map(|tile| tile.payload)
    }

    /// A file that is one generic tile.
    pub(crate) fn tile(&self, path: &str) -> Result<GenericTile> {
        let bytes = self.root.join(path).read_once(self.limit)?;
        GenericTile::parse(&bytes, 0, self.key, self.limit).in_file(path)
    }

    /// A schema, and whether it is encrypted.
    pub(crate) fn schema(&self, path: &str) -> Result<(Arc<ArraySchema>, bool)> {
        let bytes = self.root.join(path).read_once(self.limit)?;
        let tile = GenericTile::parse(&bytes, 0, self.key, self.limit).in_file(path)?;
        let schema = ArraySchema::parse(&tile.payload).in_file(path)?;
        Ok((Arc::new(schema), tile.encrypted))
    }
}

/// The key of an encrypted array: exactly 32 bytes.
pub(crate) fn key_of(bytes: &[u8]) -> Result<Key> {
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| {
        Error::new(ErrorKind::Denied, format!("the key has {} bytes, expected 32", bytes.len()))
            .class("key_wrong")
            .hint("give 32 raw bytes, or hex: and 64 digits")
    })?;
    Ok(Key::new(bytes))
}

fn no_schema(root: &Location) -> Error {
    Error::corrupt("the folder has no array schema").class("no_schema").file(root.path())
}

fn load_fragments<'a>(
    directory: &ArrayDirectory,
    loader: &Loader<'_>,
    schema_path: &str,
    schema: &Arc<ArraySchema>,
    entries: impl IntoIterator<Item = &'a FragmentEntry>,
    key: Option<&Key>,
) -> Result<Vec<Result<Arc<Fragment>>>> {
    let known = Mutex::new(BTreeMap::from([(schema_path.to_owned(), Arc::clone(schema))]));
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    let find = |path: &str| -> Result<Arc<ArraySchema>> {
        if let Some(schema) = lock().get(path) {
            return Ok(Arc::clone(schema));
        }
        let (found, _) = loader.schema(path)?;
        let same_axis = |(a, b): (&Dimension, &Dimension)| {
            let same_grid =
                schema.kind == ArrayKind::Sparse || (a.domain == b.domain && a.extent == b.extent);
            a.datatype == b.datatype && same_grid
        };
        let same_shape = found.kind == schema.kind
            && (found.tile_order, found.cell_order) == (schema.tile_order, schema.cell_order)
            && found.dimensions.len() == schema.dimensions.len()
            && found.dimensions.iter().zip(&schema.dimensions).all(same_axis);
        if !same_shape {
            return Err(Error::corrupt("the schemas of the array differ in their dimensions").file(path));
        }
        Ok(Arc::clone(lock().entry(path.to_owned()).or_insert(found)))
    };
    // Fragments that name no schema were written when only the old one existed.
    let old = if directory.schemas.iter().any(|path| path == OLD_SCHEMA) { OLD_SCHEMA } else { schema_path };
    let default_schema = find(old)?;
    let by_name = |name: &str| {
        let path = format!("__schema/{name}");
        if directory.schemas.contains(&path) {
            find(&path)
        } else {
            Err(Error::corrupt(format!("the fragment's schema '{name}' is missing")).class("missing_schema"))
        }
    };
    let context = FragmentContext {
        root: loader.root,
        schema: &by_name,
        default_schema: &default_schema,
        key,
        limit: loader.limit,
    };
    // Each is a file to open and to read.
    Ok(parallel::map(entries, |entry| Fragment::open(entry, &context).map(Arc::new)))
}

fn load_deletes(
    directory: &ArrayDirectory,
    loader: &Loader<'_>,
    range: &RangeInclusive<u64>,
    dense: bool,
    depth: usize,
) -> Result<Vec<Delete>> {
    let visible = directory.visible_deletes(range);
    if let Some(first) = visible.first().filter(|_| dense) {
        return Err(Error::corrupt("a dense array has a delete condition").file(first.path.clone()));
    }
    let load = |entry: &crate::directory::ConditionEntry| {
        let payload = match &entry.image {
            Some(image) => {
                GenericTile::parse(image, 0, loader.key, loader.limit).in_file(&entry.path)?.payload
            }
            None => loader.payload(&entry.path)?,
        };
        let survives = Condition::parse(&payload, depth).in_file(&entry.path)?;
        Ok(Delete { timestamp: entry.name.start, path: entry.path.clone(), survives })
    };
    visible.into_iter().map(load).collect()
}

fn columns(
    schema: &ArraySchema,
    enumerations: &BTreeMap<String, Arc<Enumeration>>,
    presentation: Presentation,
) -> Result<Vec<Column>> {
    let dims =
        schema.dimensions.iter().enumerate().map(|(i, dim)| Column::of_dimension(i, dim, presentation));
    let attributes = schema.attributes.iter().enumerate().map(|(i, attribute)| {
        let enumeration = match &attribute.enumeration {
            Some(name) => Some(enumerations.get(name).ok_or_else(|| {
                Error::corrupt(format!(
                    "attribute '{}' names the unknown enumeration '{name}'",
                    attribute.name
                ))
            })?),
            None => None,
        };
        Column::of_attribute(i, attribute, enumeration.map(AsRef::as_ref), presentation)
    });
    dims.chain(attributes).collect()
}
