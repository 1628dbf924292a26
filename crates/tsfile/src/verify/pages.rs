//! Decodes the pages of chunks and compares them with their statistics, on any thread.

use std::sync::Arc;

use tesselle_core::driver::parallel;
use tesselle_core::{Driver, ErrorKind, Finding, Result, Severity};

use super::{Compare, difference};
use crate::meta::{Statistics, Version};
use crate::points;
use crate::records::WalkedChunk;

/// A chunk queued for decoding.
pub(crate) struct Waiting {
    /// Its name in findings.
    pub(crate) piece: String,
    /// Its bytes.
    pub(crate) chunk: Box<WalkedChunk>,
    /// Its metadata entry.
    pub(crate) stated: Option<Statistics>,
    /// The matching times, by page, for a column of an aligned group.
    pub(crate) times: Arc<Vec<Vec<i64>>>,
    /// Number of pages to decode.
    pub(crate) pages: usize,
}

/// The result for a page.
#[derive(Default)]
pub(crate) struct Checked {
    /// The findings.
    pub(crate) findings: Vec<Finding>,
    /// Its times, for a time column.
    pub(crate) times: Vec<i64>,
}

/// Decodes the pages of chunks; the results are in the same order. A failure that is not damage, such as a lack of memory, is
/// an error.
pub(crate) fn check(waiting: &[Waiting], version: Version, driver: &Driver) -> Result<Vec<Checked>> {
    let pages: Vec<(&Waiting, usize)> =
        waiting.iter().flat_map(|chunk| (0..chunk.pages).map(move |number| (chunk, number))).collect();
    let one = |(chunk, number): &(&Waiting, usize)| page(chunk, *number, version);
    if pages.len() < 2 || driver.threads() < 2 {
        return pages.iter().map(one).collect();
    }
    driver.install(|| parallel::map(&pages, one)).into_iter().collect()
}

fn page(waiting: &Waiting, number: usize, version: Version) -> Result<Checked> {
    let loaded = &waiting.chunk.loaded;
    let (Some(page), header) = (loaded.pages.get(number), &loaded.header) else {
        return Ok(Checked::default());
    };
    let place = format!("{}, page {number}", waiting.piece);
    let alone = if loaded.pages.len() == 1 { waiting.stated.as_ref() } else { None };
    let expected = page.header.statistics.as_ref().or(alone);
    let times = waiting.times.get(number).map(Vec::as_slice);
    let mut checked = Checked::default();
    let points = match points::decode(loaded, number, version, times, expected) {
        Ok(points) => points,
        Err(error) if error.kind() == ErrorKind::Io => return Err(error.offset(page.offset).piece(place)),
        Err(error) => {
            let error = error.offset(page.offset).piece(place);
            checked.findings.push(Finding::from_error(error.class_name(), &error));
            return Ok(checked);
        }
    };
    let mut add = |severity, kind, message: String| {
        checked.findings.push(Finding::new(severity, kind, message).offset(page.offset).piece(&place));
    };
    let found = points.statistics(header.data_type, version);
    let differs = |expected| difference(expected, &found, Compare::page(loaded, number, expected));
    if let Some(message) = expected.and_then(differs) {
        let message = format!("the statistics of a page differ from those of its points: {message}");
        add(Severity::Error, "page_statistics", message);
    }
    if let Some(count) = points.not_utf8(header.data_type).filter(|count| *count > 0) {
        let message = format!("{count} values are not UTF-8; they can be read as bytes");
        add(Severity::Warning, "not_utf8", message);
    }
    let not_dates = points.not_dates(header.data_type);
    if not_dates > 0 {
        let message = format!("{not_dates} values are not dates; they can be read as stored");
        add(Severity::Warning, "bad_date", message);
    }
    if !version.is_flat() && points.times.windows(2).any(|pair| pair[0] >= pair[1]) {
        add(Severity::Warning, "time_order", "the times of a page are not ascending".to_string());
    }
    if header.is_time_column() {
        checked.times = points.times;
    }
    Ok(checked)
}
