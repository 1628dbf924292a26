//! Opening any dataset.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use tesselle_core::driver::Reporter;
use tesselle_core::{
    Action, ArrayView, Capabilities, Container, Context, Depth, Description, Driver, Error, Format, Location,
    OpenOptions, Predicate, Report, Result, Secret, Table, TableFacts,
};

use crate::health;
use crate::logical::{StoredTypes, restored};
use crate::name::Uri;
use crate::ranges::NamedRange;
use crate::registry;
use crate::run::{RunOn, run_methods};
use crate::scan::TableScan;
use crate::wide::wide;

/// Opens `uri` with the default options.
pub fn open(uri: &str) -> Result<Dataset> {
    Opener::new().open(uri)
}

/// How to open a dataset: the format, the table, time travel, keys.
///
/// ```no_run
/// use tesselle::Opener;
///
/// let old = Opener::new().at(1_700_000_000_000).open("s3://bucket/array")?;
/// # Ok::<(), tesselle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is opened before `open`"]
pub struct Opener {
    format: Option<String>,
    table: Option<String>,
    options: OpenOptions,
    among_others: bool,
    ambient_key: bool,
    run: RunOn,
}

impl Opener {
    /// The default: the content determines the format, the uri determines the table.
    pub fn new() -> Self {
        Self::default()
    }

    run_methods!();

    /// Sets the format `[default: detected from content]`.
    pub fn format(mut self, name: impl Into<Option<String>>) -> Self {
        self.format = name.into();
        self
    }

    /// Sets the table `[default: the one in the uri, else the only one]`. `*` is all of them, if they form one table.
    pub fn table(mut self, name: impl Into<Option<String>>) -> Self {
        self.table = name.into();
        self
    }

    /// Replaces all options that formats take.
    pub fn options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// Treats the containers as some of several inputs: [`at`](Self::at) and [`between`](Self::between) apply to those
    /// that keep earlier states, a [`key`](Self::key) to those of formats with encryption, and the others are read as
    /// they are `[default: they are refused]`.
    pub fn among_others(mut self, among_others: bool) -> Self {
        self.among_others = among_others;
        self
    }

    /// Reads the state as of `time`, in milliseconds since the epoch.
    pub fn at(self, time: u64) -> Self {
        self.between(0, time)
    }

    /// Reads only data written from `start` to `end`, both included, in milliseconds since the epoch.
    pub fn between(mut self, start: u64, end: u64) -> Self {
        self.options.between = Some((start, end));
        self
    }

    /// Sets the key of an encrypted container.
    pub fn key(mut self, key: Secret) -> Self {
        self.options.key = Some(key);
        self
    }

    /// Whether the key is one of the environment, which applies to containers of formats with encryption only
    /// `[default: no, other formats refuse it]`.
    pub fn ambient_key(mut self, ambient: bool) -> Self {
        self.ambient_key = ambient;
        self
    }

    /// The opener of the source of a write into `target`, which uses the key if its format has encryption.
    pub(crate) fn used_by(self, target: &dyn Format) -> Self {
        let is_used = self.ambient_key || target.capabilities().encrypts;
        self.ambient_key(is_used)
    }

    /// Reads stored integers instead of their meaning: enumeration codes, 64-bit integers for all times.
    pub fn raw(mut self, raw: bool) -> Self {
        self.options.raw = raw;
        self
    }

    /// Reads strings as bytes, including values that are not UTF-8.
    pub fn strings_as_binary(mut self, binary: bool) -> Self {
        self.options.text_as_binary = binary;
        self
    }

    /// Reads the whole domain of a dense array, including unwritten cells.
    pub fn full_domain(mut self, full: bool) -> Self {
        self.options.full_domain = full;
        self
    }

    /// Also reads rows that are marked as deleted but still stored.
    pub fn deleted(mut self, deleted: bool) -> Self {
        self.options.deleted = deleted;
        self
    }

    /// Maps local files instead of reading them, for callers that control their files: a file that another program
    /// truncates meanwhile ends the process.
    pub fn mapped(mut self, mapped: bool) -> Self {
        self.options.mapped = mapped;
        self
    }

    /// Sets the types of columns, for formats that do not state them `[default: inferred]`.
    pub fn types(mut self, types: Vec<(String, DataType)>) -> Self {
        self.options.types = types;
        self
    }

    /// The table that was set.
    pub fn table_name(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The format that was set.
    pub fn format_name(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// The options that formats take.
    pub fn open_options(&self) -> &OpenOptions {
        &self.options
    }

    /// Opens `uri`.
    pub fn open(&self, uri: &str) -> Result<Dataset> {
        let Uri { location, table } = self.parse(uri)?;
        let dataset = self.open_at(location)?;
        Ok(Dataset { table: self.table.clone().or(table), ..dataset })
    }

    /// Opens the container at a location, on any storage.
    pub fn open_at(&self, location: Location) -> Result<Dataset> {
        let format = self.format_of(&location)?;
        let Capabilities { infers_types, keeps_history, .. } = format.capabilities();
        if self.options.between.is_some() && !keeps_history && !self.among_others {
            return Err(Error::invalid(format!(
                "a file of the format {} has no earlier states: it cannot be read as of a time",
                format.name()
            )))
            .in_file(location.path());
        }
        if !self.options.types.is_empty() && !infers_types {
            return Err(Error::invalid(format!(
                "a file of the format {} states its own types",
                format.name()
            ))
            .suggest("change them with {} instead", [Action::Cast(self.options.types.clone())]));
        }
        let opened = self.run_on_driver(format, |options| format.open(&location, options));
        let container = opened.in_file(location.path())?;
        let raw = self.options.raw;
        let (table, run) = (self.table.clone(), self.run.clone());
        Ok(Dataset { format, container, location, table, raw, run })
    }

    /// Runs `open` with the options of this opener. Inferring types reads whole files and can be canceled; other formats
    /// read metadata, which does not start threads unless a driver is given.
    pub(crate) fn run_on_driver<T: Send>(
        &self,
        format: &dyn Format,
        open: impl FnOnce(&OpenOptions) -> Result<T> + Send,
    ) -> Result<T> {
        if !format.capabilities().infers_types && !self.run.has_driver() {
            return open(&self.options);
        }
        let driver = self.run.driver()?;
        let options = self.options.clone().with_cancel(driver.cancel_token().clone());
        let options = options.with_progress(Reporter::new(Arc::clone(driver.progress())));
        driver.install(|| open(&options))
    }

    /// The container and the table of a uri; its files are mapped if the options say so.
    pub(crate) fn parse(&self, uri: &str) -> Result<Uri> {
        let Uri { location, table } = Uri::parse(uri)?;
        let mapped = self.options.mapped && !Uri::is_remote(uri);
        let location = if mapped { location.mapped() } else { location };
        Ok(Uri { location, table })
    }

    /// The driver it runs on.
    pub(crate) fn run_on(&self) -> &RunOn {
        &self.run
    }

    /// The format of the container at a location. Fails if a key is given and the format has no encryption.
    pub(crate) fn format_of(&self, location: &Location) -> Result<&'static dyn Format> {
        let format = match &self.format {
            Some(name) => registry::format_by_name(name)?,
            None => registry::detect(location)?,
        };
        let is_idle = self.options.key.is_some() && !format.capabilities().encrypts;
        if is_idle && !self.among_others && !self.ambient_key {
            let message =
                format!("a key is given, but files of the format {} are not encrypted", format.name());
            return Err(Error::invalid(message)).in_file(location.path());
        }
        Ok(format)
    }
}

/// An opened container and the table selected by its uri.
#[derive(Clone)]
pub struct Dataset {
    format: &'static dyn Format,
    container: Arc<dyn Container>,
    location: Location,
    table: Option<String>,
    /// Whether columns are read as they are stored.
    raw: bool,
    run: RunOn,
}

impl Dataset {
    /// The format.
    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// The underlying container.
    pub fn container(&self) -> &Arc<dyn Container> {
        &self.container
    }

    /// Its location.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The names of its tables, in the order of the file.
    pub fn table_names(&self) -> Vec<String> {
        self.container.table_names()
    }

    /// Describes the contents, from metadata only, on the driver of the opener if it has one.
    pub fn describe(&self) -> Result<Description> {
        let described = if self.run.has_driver() {
            self.run.driver()?.install(|| self.container.describe())
        } else {
            self.container.describe()
        };
        described.in_file(self.location.path())
    }

    /// Checks it to this depth, on the driver of the opener. See [`verify`](crate::verify) for a container that may not open.
    pub fn verify(&self, depth: Depth) -> Result<Report> {
        health::check(&*self.container, depth, &self.run.driver()?)
    }

    /// The table that the uri or the opener named.
    pub fn chosen_table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The tables, if a conversion into `to` needs a file for each: there are several, none is selected, and they are neither
    /// one table nor stored in their own format.
    pub fn separate_tables(&self, to: &dyn Format) -> Option<Vec<String>> {
        let names = self.table_names();
        let several = names.len() > 1 && self.chosen_table().is_none() && self.format().name() != to.name();
        (several && self.default_table().is_err()).then_some(names)
    }

    /// The table with that name; `*` is all of them, if they form one table.
    pub fn table(&self, name: &str) -> Result<DatasetTable> {
        let joined = if name == "*" { self.wide()? } else { None };
        let table = joined.map_or_else(|| self.container.table(name), Ok);
        self.handle(table)
    }

    /// The selected table, else the only one. Several arrays of one shape are one table if the format supports that.
    pub fn default_table(&self) -> Result<DatasetTable> {
        if let Some(name) = &self.table {
            return self.table(name);
        }
        let table = match self.wide()? {
            Some(table) => Ok(table),
            None => self.container.default_table(),
        };
        self.handle(table)
    }

    /// The columns of the selected table, else of the only one, that are stored in other types than they have.
    pub fn stored_types(&self) -> Result<StoredTypes> {
        let table = match &self.table {
            Some(name) => self.container.table(name),
            None => self.container.default_table(),
        };
        table.and_then(|table| StoredTypes::of(&*table)).in_file(self.location.path())
    }

    fn wide(&self) -> Result<Option<Arc<dyn Table>>> {
        if !self.format.capabilities().joins_tables {
            return Ok(None);
        }
        wide(&*self.container, &self.location).in_file(self.location.path())
    }

    fn handle(&self, table: Result<Arc<dyn Table>>) -> Result<DatasetTable> {
        let mut table = table.in_file(self.location.path())?;
        if !self.raw {
            table = restored(table).in_file(self.location.path())?;
        }
        Ok(DatasetTable::new(self.format, self.location.clone(), table))
    }
}

/// A table of an opened container.
#[derive(Clone)]
pub struct DatasetTable {
    format: &'static dyn Format,
    location: Location,
    table: Arc<dyn Table>,
}

impl DatasetTable {
    pub(crate) fn new(format: &'static dyn Format, location: Location, table: Arc<dyn Table>) -> Self {
        Self { format, location, table }
    }

    /// Its format.
    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// Where its container is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The table itself.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// Facts about the table besides the types of its columns.
    pub fn facts(&self) -> Result<TableFacts> {
        self.table.facts().in_file(self.location.path())
    }

    /// Starts a scan: everything, until it is narrowed.
    ///
    /// ```no_run
    /// let table = tesselle::open("run.tet")?.table("temperature")?;
    /// let rows = table.scan().columns(["i0", "value"]).filter("value > 20")?.limit(10).rows()?;
    /// for batch in rows {
    ///     println!("{} rows", batch?.num_rows());
    /// }
    /// # Ok::<(), tesselle::Error>(())
    /// ```
    pub fn scan(&self) -> TableScan {
        TableScan::new(self.clone())
    }

    /// The condition that rows lie in one of the ranges of every named column or label. Labels are read for it.
    pub fn within(&self, ranges: &[NamedRange], driver: &Driver) -> Result<Predicate> {
        crate::ranges::predicate(&*self.table, ranges, driver).in_file(self.location.path())
    }

    /// The number of rows, if known without reading.
    pub fn row_count(&self) -> Option<u64> {
        self.table.stats().rows.exact().copied()
    }

    /// The array view, if the table is a single array: its axes and one column.
    pub fn array(&self) -> Option<Arc<dyn ArrayView>> {
        let names = self.table.array_columns();
        let [only] = names.as_slice() else { return None };
        let array = self.table.array(only)?;
        let values = self.schema().fields().len().checked_sub(array.shape().len());
        (values == Some(1)).then_some(array)
    }
}
