//! Writing several arrays into one container.

use std::collections::HashSet;
use std::sync::Arc;

use tesselle_core::{
    ArrayView, ArraysRequest, Attribute, Driver, Format, NamedArray, Region, Result, Settings, Written,
};

use super::WriteReport;
use super::target::{Target, target_methods};
use crate::run::{RunOn, run_methods};

/// Builds a write of several arrays of any shapes to one new container: a tet file, a TileDB group, a Zarr group.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.tet");
/// # let uri = path.to_str().ok_or("the path is UTF-8")?;
/// use tesselle::array::MemoryArray;
/// use tesselle::{Attribute, Settings};
///
/// let field = MemoryArray::from_slice(&[0.5_f32; 12], [4, 3])?.with_axis_names(["y", "x"])?;
/// let x = MemoryArray::from_slice(&[10_i64, 20, 30], [3])?.with_axis_names(["x"])?;
/// let report = tesselle::create_arrays(uri)
///     .array("field", field, [Attribute::new("units", "K")], Settings::default().with("chunk", "2,3"))
///     .array("x", x, [], Settings::default())
///     .write()?;
/// assert_eq!((report.format, report.summary.rows), ("tet", 15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_arrays(uri: impl Into<String>) -> CreateArrays {
    CreateArrays { target: Target::new(uri), arrays: Vec::new(), run: RunOn::default() }
}

/// A builder for writing several arrays. See [`create_arrays`].
#[derive(Clone)]
#[must_use = "nothing is written before `write`"]
pub struct CreateArrays {
    target: Target,
    arrays: Vec<Named>,
    run: RunOn,
}

#[derive(Clone)]
struct Named {
    name: String,
    array: Arc<dyn ArrayView>,
    attributes: Vec<Attribute>,
    settings: Settings,
}

impl CreateArrays {
    target_methods!();
    run_methods!();

    /// Adds an array under a name, with its own attributes and settings.
    pub fn array(
        mut self,
        name: impl Into<String>,
        array: impl Into<Arc<dyn ArrayView>>,
        attributes: impl IntoIterator<Item = Attribute>,
        settings: impl Into<Settings>,
    ) -> Self {
        self.arrays.push(Named {
            name: name.into(),
            array: array.into(),
            attributes: attributes.into_iter().collect(),
            settings: settings.into(),
        });
        self
    }

    /// Writes the arrays. The target appears atomically.
    pub fn write(self) -> Result<WriteReport> {
        let driver = self.run.driver()?;
        let (location, format) = self.target.resolve()?;
        let named = self.arrays.iter().map(|named| NamedArray {
            name: named.name.clone(),
            array: &*named.array,
            attributes: named.attributes.clone(),
            settings: named.settings.clone(),
        });
        let request = ArraysRequest {
            location,
            arrays: named.collect(),
            attributes: self.target.attributes,
            options: self.target.options,
        };
        write(request, format, &driver)
    }
}

/// Writes several arrays, with progress.
pub(crate) fn write(
    request: ArraysRequest<'_>,
    to: &'static dyn Format,
    driver: &Driver,
) -> Result<WriteReport> {
    let bytes = request.arrays.iter().map(|NamedArray { array, .. }| {
        let cells = Region::whole(array.shape()).cells().unwrap_or(u64::MAX);
        cells.saturating_mul(array.dtype().size() as u64)
    });
    driver.progress().expect(bytes.fold(0, u64::saturating_add));
    let Written { summary, fitted } = to.write_arrays(request, driver)?;
    let mut report = WriteReport::new(to, summary, fitted);
    // Several arrays have attributes of one name.
    let mut named = HashSet::new();
    report.kept.retain(|name| named.insert(name.clone()));
    Ok(report)
}
