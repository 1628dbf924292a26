//! The Zarr format: a folder is an array, or a group of arrays, each of which is a table.

use std::sync::Arc;

use arrow_schema::DataType;
use serde_json::{Map, Value};
use tesselle_core::array::{GridColumn, GridTable};
use tesselle_core::fit::{check_types, fit_axis, fit_cells};
use tesselle_core::storage::EntryKind;
use tesselle_core::{
    ArrayRequest, ArrayView, ArraysRequest, Attribute, AttributeScope, Capabilities, Confidence, Container,
    Context, Created, Depth, Description, Driver, Error, Extent, FileLayout, Fit, Fitted, Format,
    FormatFacts, LayoutMap, Location, OpenOptions, Probe, Report, Result, RewriteRequest, Rewritten, Role,
    Table, TableDescription, WriteRequest, Written,
};

use super::meta::{FILE, Node};
use super::{Hierarchy, ZarrArray, copy, write};
use crate::foreign::container::{check_rows, describe, piece_count, pieces};

/// The files of version 2.
const OLD: [&str; 2] = [".zarray", ".zgroup"];
/// Arrays of more axes are written as vectors.
const MAX_AXES: usize = 8;

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Zarr;

static FACTS: FormatFacts = FormatFacts {
    name: "zarr",
    title: "Zarr",
    summary: "Zarr arrays and groups, version 3",
    extensions: &["zarr"],
    magic: &[],
    capabilities: {
        let mut capabilities = Capabilities::ARRAYS;
        capabilities.joins_tables = true;
        capabilities.several_arrays = true;
        capabilities
    },
};

impl Format for Zarr {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        let Some(entries) = &probe.entries else { return Confidence::No };
        let marked = entries.iter().any(|entry| entry == FILE || OLD.contains(&entry.as_str()));
        if marked { Confidence::Content } else { Confidence::No }
    }

    fn open(&self, location: &Location, _options: &OpenOptions) -> Result<Arc<dyn Container>> {
        if !location.join(FILE).is_file()? {
            for old in OLD {
                if location.join(old).is_file()? {
                    let message = "this is a Zarr version 2 hierarchy, but only version 3 is supported";
                    return Err(Error::unsupported(message).file(location.path()).hint(
                        "rewrite it with Python: xarray.open_zarr(STORE).to_zarr('out.zarr', zarr_format=3)",
                    ));
                }
            }
        }
        let hierarchy = Hierarchy::open(location).in_file(location.path())?;
        Ok(Arc::new(Store { location: location.clone(), hierarchy }))
    }

    fn start(&self, mut request: WriteRequest, driver: &Driver) -> Result<Created> {
        request.fill_tensor(MAX_AXES);
        let WriteRequest { target, schema, facts, options, .. } = request;
        let rank = write::rank(&options.settings);
        let fits = schema.fields().iter().enumerate().map(|(i, field)| {
            let fit = match fit_cells(field.data_type()) {
                _ if i < rank => fit_axis(field.data_type()),
                Fit::Refused(_) if *field.data_type() == DataType::Boolean => {
                    Fit::As(field.data_type().clone())
                }
                other => other,
            };
            (field.as_ref(), fit)
        });
        let fitted = Fitted::keeping(&facts).with_types(check_types(self.name(), fits)?);
        let sink = write::sink(
            target.location(self.name())?,
            &schema,
            &write::object(&facts.attributes),
            &options,
            driver,
        )?;
        Ok(Created { sink, fitted })
    }

    fn write_array(&self, request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
        request.expect_whole(self.name())?;
        let mut fitted = Fitted::keeping(&request.facts);
        fitted.lost.extend(request.lost_origin());
        let location = request.target.location(self.name())?;
        let notes = write::object(&request.facts.attributes);
        let summary = write::write_array(location, request.array, &notes, &request.options, driver)?;
        Ok(Written { summary, fitted })
    }

    fn write_arrays(&self, request: ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
        let summary = write::write_arrays(&request, driver)?;
        Ok(Written { summary, fitted: request.kept() })
    }

    fn rewrite(&self, request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
        copy::rewrite(request, driver)
    }
}

/// An opened hierarchy.
struct Store {
    location: Location,
    hierarchy: Hierarchy,
}

impl Store {
    fn grid_table(&self, name: &str, array: &Arc<ZarrArray>) -> Result<GridTable> {
        let column = GridColumn {
            name: "value".to_owned(),
            array: Arc::clone(array) as Arc<dyn ArrayView>,
            is_bool: array.is_bool(),
        };
        let mut table = GridTable::try_new(name, vec![column], Arc::clone(self.location.storage()))?;
        let facts = table.facts_mut();
        facts.format = Zarr.name();
        let group = self.hierarchy.attributes.iter().map(|(name, value)| Attribute::new(name, value.clone()));
        facts.attributes = group.collect();
        // The attributes of a single array are those of the store.
        if !name.is_empty() {
            facts.table = Some(name.to_owned());
            let own = array.meta.attributes.iter();
            facts.attributes.extend(own.map(|(name, value)| Attribute {
                scope: AttributeScope::Table,
                ..Attribute::new(name, value.clone())
            }));
        }
        Ok(table)
    }

    /// Why an array cannot be read.
    fn refusal(&self, name: &str) -> Error {
        match Node::read(&self.location.join(name)) {
            Err(error) => error,
            Ok(_) => {
                Error::unsupported(format!("the array '{name}' was replaced after the group was opened"))
            }
        }
    }

    fn files(folder: &Location, path: &str, out: &mut Vec<FileLayout>) -> Result<()> {
        for entry in folder.list()? {
            let inner = folder.join(&entry.name);
            let name = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
            if entry.kind == EntryKind::Folder {
                Self::files(&inner, &name, out)?;
                continue;
            }
            let size = inner.size()?;
            let (role, content) = if entry.name == FILE {
                (Role::Metadata, "metadata")
            } else {
                (Role::Data, "chunk or shard")
            };
            out.push(FileLayout { file: name, size, extents: vec![Extent::new(0..size, role, content)] });
        }
        Ok(())
    }
}

impl Container for Store {
    fn describe(&self) -> Result<Description> {
        let mut description = Description::new(Zarr.name(), "3");
        description.metadata = Value::Object(self.hierarchy.attributes.clone());
        let groups = self.hierarchy.groups.iter();
        let groups: Map<_, _> =
            groups.map(|(name, attributes)| (name.clone(), Value::Object(attributes.clone()))).collect();
        if !groups.is_empty() {
            description.extra.insert("groups".into(), Value::Object(groups));
        }
        for (name, array) in &self.hierarchy.arrays {
            let Some(array) = array else {
                let error = Value::from(self.refusal(name).to_string());
                let extra = Map::from_iter([("error".to_owned(), error)]);
                let table = TableDescription { name: name.clone(), rows: None, columns: Vec::new(), extra };
                description.tables.push(table);
                continue;
            };
            let mut table = describe(&self.grid_table(name, array)?)?;
            if !name.is_empty() && !array.meta.attributes.is_empty() {
                table.extra.insert("attributes".into(), Value::Object(array.meta.attributes.clone()));
            }
            description.tables.push(table);
        }
        Ok(description)
    }

    fn table_names(&self) -> Vec<String> {
        self.hierarchy.arrays.iter().map(|(name, _)| name.clone()).collect()
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        let known = || self.hierarchy.arrays.iter().map(|(name, _)| name.as_str());
        let found = self.hierarchy.arrays.iter().find(|(known, _)| known == name);
        let (_, array) = found.ok_or_else(|| Error::unknown_name("array", name, known()))?;
        let array = array.as_ref().ok_or_else(|| self.refusal(name))?;
        Ok(Arc::new(self.grid_table(name, array)?))
    }

    fn unkept(&self) -> Result<Vec<String>> {
        let stated = self.hierarchy.groups.iter().filter(|(_, attributes)| !attributes.is_empty());
        Ok(stated.map(|(name, _)| format!("the attributes of group '{name}'")).collect())
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for (name, array) in self.hierarchy.readable() {
            let left = limit.map(|limit| limit.saturating_sub(all.len()));
            all.extend(pieces(&self.grid_table(name, array)?, left)?);
        }
        Ok(all)
    }

    fn chunk_count(&self) -> Option<u64> {
        let mut arrays = self.hierarchy.readable();
        arrays.try_fold(0_u64, |sum, (name, array)| {
            sum.checked_add(piece_count(&self.grid_table(name, array).ok()?)?)
        })
    }

    fn layout(&self) -> Result<LayoutMap> {
        let mut files = Vec::new();
        Self::files(&self.location, "", &mut files)?;
        Ok(LayoutMap { files })
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        for (name, array) in &self.hierarchy.arrays {
            if let Some(array) = array {
                check_rows(&self.grid_table(name, array)?, depth, driver, report)?;
            } else {
                let error = self.refusal(name);
                report.error(error.class_name(), &error);
            }
        }
        Ok(())
    }
}
