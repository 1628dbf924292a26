//! The points of loaded chunks, page by page, outside of scans: for statistics and dumps.

use tesselle_core::{Cursor, Error, Result};

use crate::meta::{DataType, Statistics, Version};
use crate::read::column::{DecodedValues, NONE};
use crate::read::loaded::Loaded;
use crate::read::{date, page};
use crate::write::statistics;
use crate::write::values::{Slice, StringSlices};

/// Times and values of a page; a time column has no values.
#[derive(Debug)]
pub(crate) struct PagePoints {
    /// One per point.
    pub(crate) times: Vec<i64>,
    /// One per point.
    pub(crate) values: Option<DecodedValues>,
}

/// Decodes a page of a chunk. `times` are those of the matching time page, for a column of an aligned group;
/// `statistics` apply to a page without its own.
pub(crate) fn decode(
    loaded: &Loaded,
    number: usize,
    version: Version,
    times: Option<&[i64]>,
    statistics: Option<&Statistics>,
) -> Result<PagePoints> {
    let missing = || Error::internal("a page is missing");
    let page = loaded.pages.get(number).ok_or_else(missing)?;
    let header = &loaded.header;
    if header.is_time_column() {
        let times = page::decode_time_page(page, header, statistics, &mut Vec::new())?;
        return Ok(PagePoints { times, values: None });
    }
    let physical = header.data_type.physical().ok_or_else(missing)?;
    if header.is_value_column() {
        let times = times.ok_or_else(|| {
            Error::corrupt("a column of an aligned group has no time column")
                .class("bad_chunk")
                .offset(page.offset)
        })?;
        let decoded = page::decode_aligned(
            page,
            header,
            version,
            physical,
            statistics,
            (times.len(), times.len()),
            &mut Vec::new(),
        )?;
        let times = match &decoded.picks {
            None => times.to_vec(),
            Some(picks) => {
                times.iter().zip(picks).filter(|(_, pick)| **pick != NONE).map(|(time, _)| *time).collect()
            }
        };
        return Ok(PagePoints { times, values: Some(decoded.values) });
    }
    let mut times = Vec::new();
    let mut values = DecodedValues::new(physical);
    page::decode_points(page, header, version, statistics, &mut times, Some(&mut values))?;
    Ok(PagePoints { times, values: Some(values) })
}

/// The smallest step between values of a page with floats stored as scaled integers; 1 if some are not
/// scaled.
pub(crate) fn decimals(loaded: &Loaded, number: usize) -> Option<f64> {
    let (page, header) = (loaded.pages.get(number)?, &loaded.header);
    let mut scratch = Vec::new();
    let bytes = page.unfold(header.compression, &mut scratch).ok()?;
    let values = if header.is_value_column() {
        let rows = Cursor::new(bytes, 0, "page").i32_be().ok()?;
        bytes.get(4 + usize::try_from(rows).ok()?.div_ceil(8)..)?
    } else {
        page::split_columns(bytes, page.offset).ok()?.1
    };
    let digits = Cursor::new(values, 0, "decimals").uvarint().ok()?;
    let digits = i32::try_from(digits).ok()?;
    Some(if (1..MARKED).contains(&digits) { 10f64.powi(-digits) } else { 1.0 })
}

/// Digit counts from this number on mark a page with unscaled values.
const MARKED: i32 = i32::MAX - 1;

impl PagePoints {
    /// Counts the strings that are not UTF-8; `None` if the values are not strings.
    pub(crate) fn not_utf8(&self, data_type: DataType) -> Option<usize> {
        let (Some(column), true) = (&self.values, data_type.is_string()) else { return None };
        let DecodedValues::Binary(strings) = column else { return None };
        if std::str::from_utf8(&strings.data).is_ok_and(|all| {
            strings
                .offsets
                .iter()
                .all(|offset| all.is_char_boundary(usize::try_from(*offset).unwrap_or_default()))
        }) {
            return Some(0);
        }
        let is_bad = |row: usize| match column.value(row) {
            Some(crate::meta::Value::Binary(bytes)) => std::str::from_utf8(&bytes).is_err(),
            _ => false,
        };
        Some((0..self.times.len()).filter(|row| is_bad(*row)).count())
    }

    /// Counts the values of a DATE column that are not dates.
    pub(crate) fn not_dates(&self, data_type: DataType) -> usize {
        match &self.values {
            Some(DecodedValues::Int32(dates)) if data_type == DataType::Date => {
                dates.iter().filter(|stored| date::days(**stored).is_none()).count()
            }
            _ => 0,
        }
    }

    /// The statistics as a writer of `version` would store them.
    pub(crate) fn statistics(&self, data_type: DataType, version: Version) -> Statistics {
        let mut found = match &self.values {
            None => statistics::of_times(&self.times),
            Some(column) => {
                let slice = match column {
                    DecodedValues::Boolean(v) => Slice::Boolean(v),
                    DecodedValues::Int32(v) => Slice::Int32(v),
                    DecodedValues::Int64(v) => Slice::Int64(v),
                    DecodedValues::Float(v) => Slice::Float(v),
                    DecodedValues::Double(v) => Slice::Double(v),
                    DecodedValues::Binary(s) => {
                        Slice::Binary(StringSlices::Offsets { data: &s.data, offsets: &s.offsets })
                    }
                };
                statistics::of_points(&self.times, slice, version)
            }
        };
        if !version.is_flat() {
            // Later versions state the bounds regardless of the order of writing.
            found.start_time = self.times.iter().copied().min().unwrap_or(found.start_time);
            found.end_time = self.times.iter().copied().max().unwrap_or(found.end_time);
        }
        if data_type == DataType::Blob {
            found = Statistics { min: None, max: None, first: None, last: None, sum: None, ..found };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_dates_are_counted_in_date_columns_only() {
        let values = Some(DecodedValues::Int32(vec![20_240_229, 10, 20_230_229]));
        let points = PagePoints { times: vec![1, 2, 3], values };
        assert_eq!(points.not_dates(DataType::Date), 2);
        assert_eq!(points.not_dates(DataType::Int32), 0);
    }
}
