//! Changes to a file as a whole: datasets are added, removed, renamed or extended along an axis, atomically.
//!
//! The new state is staged and replaces the file at the end. Unchanged chunks are copied as stored.

use tesselle_core::array::read_region;
use tesselle_core::{
    ArrayView, At, DType, Driver, Error, Location, OpenOptions, Region, Result, Span, Summary,
};

use super::datasets::{Copying, merged_footer};
use super::spec::{DatasetSpec, FooterSpec, WriterOptions};
use super::writer::Writer;
use crate::container::File;
use crate::meta::directory::Dataset;
use crate::meta::geometry::Grid;

/// Removes datasets by name.
pub fn remove(location: &Location, names: &[&str], driver: &Driver) -> Result<Summary> {
    let file = File::open(location, &OpenOptions::default())?;
    let gone = names.iter().map(|name| position(&file, name)).collect::<Result<Vec<_>>>()?;
    let kept: Vec<EditedDataset> = (0..file.opened.catalog.datasets.len())
        .filter(|id| !gone.contains(id))
        .map(EditedDataset::same)
        .collect();
    let mut footer = merged_footer(&file, None);
    edit_metadata(&mut footer, |datasets| {
        for name in names {
            datasets.remove(*name);
        }
    });
    restate(&file, location, &kept, footer, driver)?.finish()
}

/// Renames a dataset.
pub fn rename(location: &Location, from: &str, to: &str, driver: &Driver) -> Result<Summary> {
    let file = File::open(location, &OpenOptions::default())?;
    let renamed = position(&file, from)?;
    if file.opened.catalog.position(to).is_some() {
        return Err(Error::invalid(format!("dataset '{to}' already exists")).file(location.path()));
    }
    let kept: Vec<EditedDataset> = (0..file.opened.catalog.datasets.len())
        .map(|id| EditedDataset { name: (id == renamed).then(|| to.to_owned()), ..EditedDataset::same(id) })
        .collect();
    let mut footer = merged_footer(&file, None);
    edit_metadata(&mut footer, |datasets| {
        if let Some(about) = datasets.remove(from) {
            datasets.insert(to.to_owned(), about);
        }
    });
    restate(&file, location, &kept, footer, driver)?.finish()
}

/// Extends a dataset along `axis` by all of `array`, which has the same extents on the other axes. Labels of that axis
/// no longer fit and are dropped.
pub fn extend(
    location: &Location,
    name: &str,
    axis: usize,
    array: &dyn ArrayView,
    driver: &Driver,
) -> Result<Summary> {
    let file = File::open(location, &OpenOptions::default())?;
    let extended = position(&file, name)?;
    let grid = file.opened.grid(extended)?;
    check_fit(name, grid, axis, array)?;
    let added = *array.shape().at(axis)?;
    let kept: Vec<EditedDataset> = (0..file.opened.catalog.datasets.len())
        .map(|id| EditedDataset {
            grow: (id == extended).then_some((axis, added)),
            ..EditedDataset::same(id)
        })
        .collect();
    let (mut footer, mut lost) = (merged_footer(&file, None), Vec::new());
    edit_metadata(&mut footer, |datasets| {
        let Some(about) = datasets.get_mut(name) else { return };
        let key = about.dim_names.as_ref().and_then(|names| names.get(axis).cloned());
        let Some(coords) = &mut about.coords else { return };
        for key in key.into_iter().chain([axis.to_string()]) {
            if coords.remove(&key).is_some() {
                lost.push(format!("the labels of axis '{key}', which now has more positions"));
            }
        }
    });
    let mut writer = restate(&file, location, &kept, footer, driver)?;
    let old = file.array(extended)?;
    let joined = Joined { parts: [&*old, array], axis, dtype: grid.dtype };
    writer.put_joined(extended, &file, extended, &joined)?;
    let mut summary = writer.finish()?;
    summary.lost = lost;
    Ok(summary)
}

fn position(file: &File, name: &str) -> Result<usize> {
    let catalog = &file.opened.catalog;
    catalog.position(name).ok_or_else(|| {
        Error::unknown_name("dataset", name, catalog.datasets.iter().map(|d| d.name.as_str()))
            .file(file.opened.location.path())
    })
}

fn edit_metadata(
    footer: &mut Option<FooterSpec>,
    edit: impl FnOnce(&mut std::collections::BTreeMap<String, crate::DatasetMetadata>),
) {
    if let Some(metadata) = footer.as_mut().and_then(|footer| footer.metadata.as_mut()) {
        edit(&mut metadata.datasets);
    }
}

fn check_fit(name: &str, grid: &Grid, axis: usize, array: &dyn ArrayView) -> Result<()> {
    let refuse = |text: String| Err(Error::invalid(text).piece(format!("dataset '{name}'")));
    if axis >= grid.rank() {
        return refuse(format!("there is no axis {axis}, the last is {}", grid.rank() - 1));
    }
    if array.dtype() != grid.dtype {
        return refuse(format!("the dataset is {}, the input {}", grid.dtype.name(), array.dtype().name()));
    }
    let others = |shape: &[u64]| {
        shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, n)| *n).collect::<Vec<u64>>()
    };
    if array.shape().len() != grid.rank() || others(array.shape()) != others(&grid.shape) {
        return refuse(format!(
            "the dataset has the shape {:?}, the input {:?}; they may differ only on axis {axis}",
            grid.shape,
            array.shape()
        ));
    }
    Ok(())
}

/// A dataset of the old state in the new one.
struct EditedDataset {
    id: usize,
    /// Another name.
    name: Option<String>,
    /// An axis and its growth; [`restate`] does not copy its chunks then.
    grow: Option<(usize, u64)>,
}

impl EditedDataset {
    fn same(id: usize) -> Self {
        Self { id, name: None, grow: None }
    }

    fn spec(&self, file: &File, dataset: &Dataset) -> Result<DatasetSpec> {
        let catalog = &file.opened.catalog;
        let mut shape = dataset.shape.clone();
        if let Some((axis, added)) = self.grow
            && let Some(extent) = shape.get_mut(axis)
        {
            *extent = extent.checked_add(added).ok_or_else(|| Error::invalid("the axis exceeds 64 bits"))?;
        }
        Ok(DatasetSpec {
            name: self.name.clone().unwrap_or_else(|| dataset.name.clone()),
            dtype: file.opened.grid(self.id)?.dtype,
            shape,
            chunk_shape: dataset.chunk_shape.clone(),
            codec: file.opened.index()?.datasets.at(self.id)?.codec,
            level: None,
            budget: catalog.budget,
        })
    }
}

/// Starts the new state of a file and copies the unchanged datasets.
fn restate(
    file: &File,
    location: &Location,
    kept: &[EditedDataset],
    footer: Option<FooterSpec>,
    driver: &Driver,
) -> Result<Writer> {
    let missing = || Error::internal("a dataset is missing");
    let specs = kept
        .iter()
        .map(|kept| kept.spec(file, file.opened.catalog.datasets.get(kept.id).ok_or_else(missing)?))
        .collect::<Result<Vec<_>>>()?;
    let options = WriterOptions { overwrite: true, footer, ..WriterOptions::default() };
    let mut writer = Writer::start(location, &specs, specs.len(), options, driver)?;
    for (id, kept) in kept.iter().enumerate().filter(|(_, kept)| kept.grow.is_none()) {
        writer.copy_dataset(id, file, kept.id, &Copying::default())?;
    }
    Ok(writer)
}

/// Two arrays, concatenated along an axis.
struct Joined<'a> {
    parts: [&'a dyn ArrayView; 2],
    axis: usize,
    dtype: DType,
}

impl Joined<'_> {
    /// The box of one chunk, row-major.
    fn read(&self, grid: &Grid, chunk: &[u64], driver: &Driver) -> Result<Vec<u8>> {
        let spans: Vec<Span> = chunk
            .iter()
            .zip(&grid.chunk_shape)
            .zip(grid.extents(chunk))
            .map(|((at, edge), len)| Span { start: at * edge, stop: at * edge + len, step: 1 })
            .collect();
        let split = *self.parts[0].shape().at(self.axis)?;
        let mut read = Vec::new();
        let whole = *spans.at(self.axis)?;
        let cuts = [
            Span { start: whole.start.min(split), stop: whole.stop.min(split), step: 1 },
            Span { start: whole.start.max(split) - split, stop: whole.stop.max(split) - split, step: 1 },
        ];
        let before: u64 = spans.iter().take(self.axis).map(|span| span.stop - span.start).product();
        for (part, cut) in self.parts.into_iter().zip(cuts) {
            let mut spans = spans.clone();
            if let Some(span) = spans.get_mut(self.axis) {
                *span = cut;
            }
            let region = Region { spans };
            let cells = region.cells().and_then(|cells| usize::try_from(cells).ok());
            let size = cells.and_then(|cells| cells.checked_mul(self.dtype.size()));
            let mut bytes = vec![0; size.ok_or_else(|| Error::limit("a chunk exceeds the address space"))?];
            read_region(part, &region, &mut bytes, driver)?;
            read.push(bytes);
        }
        let runs = |bytes: &[u8]| bytes.len() / (before.max(1) as usize);
        let sizes: Vec<usize> = read.iter().map(|bytes| runs(bytes)).collect();
        let mut out = Vec::with_capacity(read.iter().map(Vec::len).sum());
        for row in 0..before as usize {
            for (bytes, size) in read.iter().zip(&sizes) {
                out.extend_from_slice(bytes.part(row * size..(row + 1) * size)?);
            }
        }
        Ok(out)
    }
}

impl Writer {
    /// Writes an extended dataset: chunks of unchanged size are copied, the others are assembled.
    fn put_joined(&mut self, id: usize, file: &File, source: usize, joined: &Joined<'_>) -> Result<()> {
        let old = file.opened.grid(source)?;
        let grid = self.datasets.get(id).map(|output| output.grid.clone());
        let grid = grid.ok_or_else(|| Error::internal("a dataset is missing"))?;
        let driver = self.driver.clone();
        for chunk in (0..grid.chunks).map(|linear| grid.chunk_at(linear)) {
            driver.check_canceled()?;
            if old.linear(&chunk).is_some() && old.extents(&chunk) == grid.extents(&chunk) {
                self.copy_one(id, file, source, &chunk)?;
            } else {
                let bytes = joined.read(&grid, &chunk, &driver)?;
                self.put_chunk(id, &chunk, &bytes)?;
            }
        }
        Ok(())
    }
}
