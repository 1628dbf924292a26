//! Quantiles: every value of the result needs all of its cells at once.

use std::ops::Range;

use serde_json::Value;

use super::cell::{Cell, F16, F32, F64, Integral, Number};
use super::result::nested;
use super::shape::Shape;
use crate::array::{ArrayView, DType, read_region};
use crate::at::Within;
use crate::driver::{Driver, parallel};
use crate::error::{Error, Result};
use crate::scalar::json_float;
use crate::selection::{Region, Span};

/// Bytes that a cell takes up while its quantile is found: as it is stored, and as a double in two places.
const CELL_BYTES: u64 = 24;

/// The answer of [`quantile`].
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiles {
    /// The extents of the kept axes, in their order; empty when everything is reduced.
    pub shape: Vec<u64>,
    /// The values, row-major; one when everything is reduced.
    pub values: Vec<f64>,
}

impl Quantiles {
    /// The object of `--json`, as [`Reduced::to_json`](super::Reduced::to_json) has it.
    pub fn to_json(&self, operation: &str) -> Value {
        let values = nested(&self.shape, self.values.iter().map(|value| json_float(*value)).collect());
        serde_json::json!({ "operation": operation, "shape": self.shape, "values": values })
    }
}

/// The quantile `level` (0 to 1; 0.5 is the median) of `region` of `array` over `axes`, or over all of them if the list is
/// empty. Between two cells it is interpolated, as NumPy does; one NaN among the cells makes it NaN.
///
/// The cells of each value are in memory at once. The array is read in bands along the first axis that is kept, as wide as
/// the memory of the driver permits; a reduction of everything, or one whose thinnest band is larger, is refused.
pub fn quantile(
    array: &dyn ArrayView,
    region: &Region,
    level: f64,
    axes: &[usize],
    driver: &Driver,
) -> Result<Quantiles> {
    if !(0.0..=1.0).contains(&level) {
        return Err(Error::invalid(format!("{level} is not between 0 and 1")));
    }
    let shape = Shape::try_new(array, region, axes)?;
    let mut values = Vec::new();
    if shape.kept_cells > 0 {
        if shape.reduced_cells == 0 {
            return Err(
                Error::invalid("the quantile of an empty selection is undefined").hint("widen the selection")
            );
        }
        let cells = region.cells().unwrap_or(u64::MAX);
        driver.progress().expect(cells.saturating_mul(array.dtype().size() as u64));
        for band in bands(array, region, &shape, driver)? {
            driver.check_canceled()?;
            values.extend(of_band(array, &band, &shape, level, driver)?);
        }
    }
    Ok(Quantiles { shape: shape.kept_shape, values })
}

/// The parts of a region that are read one after the other; their values follow each other in the result.
fn bands(array: &dyn ArrayView, region: &Region, shape: &Shape, driver: &Driver) -> Result<Vec<Region>> {
    let memory = driver.budget().total();
    let cells = region.cells().unwrap_or(u64::MAX);
    let axis = shape.reduced.iter().position(|reduced| !reduced);
    let count = axis.and_then(|axis| region.spans.get(axis)).map_or(1, Span::len).max(1);
    let thinnest = (cells / count).saturating_mul(CELL_BYTES);
    if thinnest > memory {
        let needed = thinnest.div_ceil(1 << 20);
        return Err(Error::limit(format!("a quantile needs all of its cells at once, {needed} MiB"))
            .hint(format!("allow at least {needed} MiB, reduce over fewer axes, or select a region")));
    }
    let Some(axis) = axis else { return Ok(vec![region.clone()]) };
    let Some(span) = region.spans.get(axis) else { return Ok(vec![region.clone()]) };
    let mut width = (memory / thinnest.max(1)).clamp(1, count);
    // Whole tiles are decoded once.
    let tile = array.tile_shape().get(axis).copied().unwrap_or(1) / span.step.max(1);
    if tile > 0 && width > tile {
        width -= width % tile;
    }
    let starts = (0..count).step_by(usize::try_from(width).unwrap_or(usize::MAX));
    let band = |first: u64| {
        let mut band = region.clone();
        let stop = span.start.saturating_add(first.saturating_add(width).saturating_mul(span.step));
        if let Some(place) = band.spans.get_mut(axis) {
            *place =
                Span { start: span.start + first * span.step, stop: stop.min(span.stop), step: span.step };
        }
        band
    };
    Ok(starts.map(band).collect())
}

fn of_band(
    array: &dyn ArrayView,
    band: &Region,
    shape: &Shape,
    level: f64,
    driver: &Driver,
) -> Result<Vec<f64>> {
    let cells = band.cells().and_then(|cells| usize::try_from(cells).ok());
    let bytes = cells.and_then(|cells| cells.checked_mul(array.dtype().size()));
    let mut stored = vec![0; bytes.ok_or_else(|| Error::limit("the region has too many cells"))?];
    read_region(array, band, &mut stored, driver)?;
    let numbers = match array.dtype() {
        DType::I8 => doubles::<Integral<i8>>(&stored),
        DType::I16 => doubles::<Integral<i16>>(&stored),
        DType::I32 => doubles::<Integral<i32>>(&stored),
        DType::I64 => doubles::<Integral<i64>>(&stored),
        DType::U8 => doubles::<Integral<u8>>(&stored),
        DType::U16 => doubles::<Integral<u16>>(&stored),
        DType::U32 => doubles::<Integral<u32>>(&stored),
        DType::U64 => doubles::<Integral<u64>>(&stored),
        DType::F16 => doubles::<F16>(&stored),
        DType::F32 => doubles::<F32>(&stored),
        DType::F64 => doubles::<F64>(&stored),
    };
    drop(stored);
    let extents: Vec<usize> = band.shape().into_iter().map(|extent| extent as usize).collect();
    let (kept, reduced) = (offsets(&extents, &shape.reduced, false), offsets(&extents, &shape.reduced, true));
    let one = |range: Range<usize>| -> Vec<f64> {
        let mut cells = Vec::with_capacity(reduced.len());
        let start = |value: &usize| {
            cells.clear();
            cells.extend(reduced.iter().map(|offset| numbers.value(value + offset)));
            of_cells(&mut cells, level)
        };
        kept.within(range).iter().map(start).collect()
    };
    let part = kept.len().div_ceil(driver.threads().max(1) * 4).max(1);
    let parts = (0..kept.len()).step_by(part).map(|from| from..kept.len().min(from + part));
    let parts: Vec<Range<usize>> = parts.collect();
    Ok(driver.install(|| parallel::map(parts, one)).concat())
}

/// The quantile of cells, which are put into another order.
fn of_cells(cells: &mut [f64], level: f64) -> f64 {
    if cells.is_empty() || cells.iter().any(|cell| cell.is_nan()) {
        return f64::NAN;
    }
    let place = level * (cells.len() - 1) as f64;
    let (lower, between) = (place.floor() as usize, place - place.floor());
    let (_, low, above) = cells.select_nth_unstable_by(lower, f64::total_cmp);
    let low = *low;
    // The next cell is the smallest of those above.
    let Some(high) = above.iter().copied().min_by(f64::total_cmp).filter(|_| between > 0.0) else {
        return low;
    };
    if low == high {
        return low;
    }
    if between.total_cmp(&0.5).is_eq() {
        // The median between two cells is their mean, which is infinite, not NaN, if only one of them is.
        let sum = low + high;
        return if sum.is_finite() { sum / 2.0 } else { low / 2.0 + high / 2.0 };
    }
    let distance = high - low;
    if between < 0.5 { low + distance * between } else { high - distance * (1.0 - between) }
}

fn doubles<C: Cell>(stored: &[u8]) -> Vec<f64> {
    C::cells(stored).iter().map(|raw| C::load(*raw).to_f64()).collect()
}

/// The places of cells, row-major, along the kept or the reduced axes; the others are at 0.
fn offsets(extents: &[usize], reduced: &[bool], wanted: bool) -> Vec<usize> {
    let mut all = vec![0];
    let mut stride = extents.iter().product::<usize>();
    for (extent, reduced) in extents.iter().zip(reduced) {
        stride /= (*extent).max(1);
        if *reduced == wanted {
            all = all.iter().flat_map(|start| (0..*extent).map(move |at| start + at * stride)).collect();
        }
    }
    all
}
