//! Arrays from streams of rows, used by conversions.
//!
//! The array appears atomically: tiles are written as rows arrive, and the schema, which makes it an array, last. Rows
//! with `dims` become cells of a sparse array, or of a dense one if they fill its domain in row-major order; rows
//! without `dims` become a dense array along a dimension `row`.

mod defaults;
mod from_array;
mod grid;
mod metadata;
mod rows;
mod several;
mod sparse;

use arrow_array::RecordBatch;
pub(crate) use from_array::write_array;
pub(crate) use several::write_arrays;
use tesselle_core::fit::check_types;
use tesselle_core::storage::StagedFolder;
use tesselle_core::{
    Action, Attribute, Created, Driver, Error, Fitted, Location, Result, Sink, Summary, WriteRequest,
};

use super::array::{make_folders, store_schema};
use super::commit::commit;
use super::fragment::{FinishedFragment, FragmentPlan};
use super::label;
use super::metadata::write_metadata;
use super::name::{fresh, stamp};
use super::options::SinkSettings;
use super::schema::{self, ColumnPlan, DimensionPlan};
use super::schema_builder::{NewSchema, SchemaBuilder, check, check_filters};
use crate::NAME;
use crate::filter::{Filter, Pipeline};
use crate::meta::key_value::Entries;
use crate::meta::schema::{ArrayKind, ArraySchema};

/// Starts a new array for rows. The settings are those of [`SETTINGS`](super::options::SETTINGS); defaults follow from the facts about the
/// source.
pub(crate) fn start(request: WriteRequest, driver: &Driver) -> Result<Created> {
    let WriteRequest { target, schema, facts, mut options, whole, .. } = request;
    let axes = defaults::fill(&mut options.settings, &schema, &facts, whole);
    let types = check_types(
        NAME,
        schema.fields().iter().map(|field| (field.as_ref(), schema::fit(field.data_type()))),
    )?;
    let settings = SinkSettings::parse(&options.settings, &schema, axes)?;
    let location = target.location(NAME)?;
    let (target, staged) = Target::try_new(location, options.overwrite, &facts.attributes, &settings)?;
    let (dims, columns) = schema::plan(&schema, &settings)?;
    settings.expect_extents(dims.len().max(1))?;
    let inner: Box<dyn Cells> = match (settings.kind, dims.is_empty()) {
        (ArrayKind::Sparse, true) => {
            return Err(Error::invalid("a sparse array needs dimensions")
                .suggest("name them with {}", [Action::setting("dims", "column,column")]));
        }
        (ArrayKind::Sparse, false) => {
            Box::new(sparse::SparseCells::try_new(&target, &settings, dims, &columns, driver)?)
        }
        (ArrayKind::Dense, true) => Box::new(rows::RowCells::try_new(&target, &settings, &columns)?),
        (ArrayKind::Dense, false) => Box::new(grid::GridCells::try_new(&target, &settings, dims, &columns)?),
    };
    let sink = ArraySink { target, columns, inner, driver: driver.clone(), rows: 0, staged };
    Ok(Created { sink: Box::new(sink), fitted: Fitted::keeping(&facts).with_types(types) })
}

/// The difference between kinds of arrays: how rows become tiles.
trait Cells: Send {
    /// Takes the columns of a batch, attributes in order. `batch` is for the dimensions.
    fn write(&mut self, batch: &RecordBatch, attributes: Vec<super::cells::Cells>) -> Result<()>;
    /// Writes what is pending and returns the fragments and the final schema.
    fn finish(self: Box<Self>) -> Result<(Vec<FinishedFragment>, ArraySchema)>;
}

/// The staged array.
#[derive(Debug, Clone)]
struct Target {
    /// The staging location next to the target.
    location: Location,
    schema_name: String,
    key: Option<crate::filter::Key>,
    timestamps: (u64, u64),
    metadata: Entries,
}

impl Target {
    fn try_new(
        location: &Location,
        overwrite: bool,
        attributes: &[Attribute],
        settings: &SinkSettings,
    ) -> Result<(Self, StagedFolder)> {
        location.refuse_existing(overwrite)?;
        crate::rewrite::refuse_foreign(location)?;
        let timestamps = stamp(settings.timestamp);
        let (schema_name, metadata) = (fresh(timestamps)?, metadata::entries(attributes)?);
        let staged = StagedFolder::try_new(location)?;
        let target = Self {
            location: staged.location().clone(),
            schema_name,
            key: settings.key.clone(),
            timestamps,
            metadata,
        };
        Ok((target, staged))
    }

    fn plan(&self, schema: &std::sync::Arc<ArraySchema>) -> FragmentPlan {
        FragmentPlan {
            array: self.location.clone(),
            schema: std::sync::Arc::clone(schema),
            schema_name: self.schema_name.clone(),
            key: self.key.clone(),
            version: schema.version,
            timestamps: self.timestamps,
            name: None,
            with_timestamps: false,
            with_deletes: false,
        }
    }

    /// Writes the files that turn fragments into an array, and moves it to its target.
    fn complete(
        &self,
        fragments: &mut [FinishedFragment],
        new: &NewSchema,
        staged: StagedFolder,
    ) -> Result<()> {
        check(&new.schema, &new.enumerations)?;
        make_folders(&self.location)?;
        if !self.metadata.is_empty() {
            write_metadata(&self.location, &self.metadata, self.key.as_ref(), self.timestamps)?;
        }
        let names: Vec<String> = fragments.iter().map(|fragment| fragment.name.clone()).collect();
        commit(&self.location, &names, self.timestamps)?;
        fragments.iter_mut().for_each(FinishedFragment::release);
        label::create(&self.location, &new.schema, self.key.as_ref(), Some(self.timestamps.1))?;
        store_schema(&self.location, &self.schema_name, new, self.key.as_ref())?;
        staged.commit().map(drop)
    }
}

/// Converts batches to an array.
struct ArraySink {
    target: Target,
    columns: Vec<ColumnPlan>,
    inner: Box<dyn Cells>,
    driver: Driver,
    rows: u64,
    // The last field, so that it is dropped last: the files inside the folder are closed by then.
    staged: StagedFolder,
}

impl Sink for ArraySink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.driver.check_canceled()?;
        let attributes = self.columns.iter_mut().map(|column| column.cells(batch)).collect::<Result<_>>()?;
        let (driver, inner) = (&self.driver, &mut self.inner);
        driver.install(|| inner.write(batch, attributes))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        let Self { target, columns, inner, driver, rows, staged } = *self;
        let (mut fragments, mut schema) = driver.install(|| inner.finish())?;
        let enumerations = columns.iter().filter_map(|column| column.enumeration().transpose());
        let enumerations = enumerations.collect::<Result<Vec<_>>>()?;
        schema.enumerations =
            enumerations.iter().map(|list| (list.name.clone(), list.file.clone())).collect();
        for (attribute, column) in schema.attributes.iter_mut().zip(&columns) {
            attribute.enumeration.clone_from(&column.attribute.enumeration);
        }
        target.complete(&mut fragments, &NewSchema { schema, enumerations }, staged)?;
        Ok(Summary {
            rows,
            bytes: fragments.iter().map(|fragment| fragment.bytes).sum(),
            pieces: fragments.iter().map(|fragment| fragment.tiles).sum(),
            ..Summary::default()
        })
    }
}

/// Offsets rise by the length of a string: a byte each, where zstd alone has to find patterns in numbers of eight bytes. They
/// are decoded in a third of the time, and smaller.
fn offsets_filters() -> Pipeline {
    Pipeline::new([
        Filter::PositiveDelta { max_window: 1024 },
        Filter::BitWidthReduction { max_window: 256 },
        Filter::zstd(3),
    ])
}

/// A schema of these attributes with the orders and filters of the settings.
fn schema_of(settings: &SinkSettings, dims: &[DimensionPlan], columns: &[ColumnPlan]) -> Result<ArraySchema> {
    let builder = match settings.kind {
        ArrayKind::Dense => SchemaBuilder::dense(),
        ArrayKind::Sparse => SchemaBuilder::sparse(),
    };
    let mut schema = builder
        .tile_order(settings.tile_order)
        .cell_order(settings.cell_order)
        .capacity(settings.capacity)
        .allows_dups(settings.dups)
        .draft();
    schema.dimensions = dims.iter().map(|dim| dim.dimension.clone()).collect();
    schema.attributes = columns.iter().map(|column| column.attribute.clone()).collect();
    schema.attributes.iter().try_for_each(|attribute| check_filters(attribute, schema.version))?;
    schema.offsets_filters = offsets_filters();
    for (name, pipeline) in [
        ("coords", &mut schema.coords_filters),
        ("offsets", &mut schema.offsets_filters),
        ("validity", &mut schema.validity_filters),
    ] {
        if let Some(filters) = settings.common_filters(name)? {
            *pipeline = filters;
        }
    }
    settings.labels()?.iter().try_for_each(|label| label::add(&mut schema, label))?;
    if schema.attributes.is_empty() && settings.kind == ArrayKind::Dense {
        return Err(Error::invalid("a dense array needs a column besides its dimensions"));
    }
    Ok(schema)
}
