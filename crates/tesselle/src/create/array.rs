//! Writing an array.

use std::sync::Arc;

use tesselle_core::{
    ArrayRequest, ArrayView, Driver, Format, Region, Result, TableFacts, WriteOptions, WriteTarget, Written,
};

use super::WriteReport;
use super::target::{Target, target_methods};
use crate::run::{RunOn, run_methods};

/// Builds a write of one array to a new container: a [`MemoryArray`](crate::array::MemoryArray), or the array of a
/// table. The file name determines the format.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("field.tet");
/// # let uri = path.to_str().ok_or("the path is UTF-8")?;
/// use tesselle::array::MemoryArray;
///
/// let cells: Vec<f32> = (0..400 * 300).map(|i| i as f32).collect();
/// let field = MemoryArray::from_slice(&cells, [400, 300])?.with_axis_names(["y", "x"])?;
/// let report = tesselle::create_array(uri, field).set("chunk", "64,64").write()?;
/// assert_eq!((report.format, report.summary.rows), ("tet", 120_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_array(uri: impl Into<String>, array: impl Into<Arc<dyn ArrayView>>) -> CreateArray {
    CreateArray { target: Target::new(uri), array: array.into(), region: None, run: RunOn::default() }
}

/// A builder for writing an array. See [`create_array`].
#[derive(Clone)]
#[must_use = "nothing is written before `write`"]
pub struct CreateArray {
    target: Target,
    array: Arc<dyn ArrayView>,
    region: Option<Region>,
    run: RunOn,
}

impl CreateArray {
    target_methods!();
    run_methods!();

    /// Writes only this region, if the format supports it `[default: the whole array]`.
    pub fn region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// Writes the array. The target appears atomically.
    pub fn write(self) -> Result<WriteReport> {
        let driver = self.run.driver()?;
        let (location, format) = self.target.resolve()?;
        let facts = TableFacts { attributes: self.target.attributes, ..TableFacts::default() };
        let source = ArrayInput { array: &*self.array, region: self.region, facts };
        write(source, WriteTarget::Location(location), format, self.target.options, &driver)
    }
}

/// The data to write.
pub(crate) struct ArrayInput<'a> {
    pub(crate) array: &'a dyn ArrayView,
    pub(crate) region: Option<Region>,
    pub(crate) facts: TableFacts,
}

/// Writes an array, with progress.
pub(crate) fn write(
    source: ArrayInput<'_>,
    target: WriteTarget,
    to: &'static dyn Format,
    options: WriteOptions,
    driver: &Driver,
) -> Result<WriteReport> {
    let ArrayInput { array, region, facts } = source;
    let cells = region.as_ref().map_or_else(|| Region::whole(array.shape()).cells(), Region::cells);
    let bytes = cells.unwrap_or(u64::MAX).saturating_mul(array.dtype().size() as u64);
    driver.progress().expect(bytes);
    let mut request = ArrayRequest::new(target, array, options);
    (request.region, request.facts) = (region, facts);
    let Written { summary, fitted } = to.write_array(request, driver)?;
    Ok(WriteReport::new(to, summary, fitted))
}
