//! The pages of chunks decoded and compared with their statistics, each on any thread.

use std::sync::Arc;

use tesselle_core::driver::parallel;
use tesselle_core::{Driver, Finding, Severity};

use super::{Compare, difference};
use crate::meta::{Statistics, Version};
use crate::points;
use crate::walk::WalkedChunk;

/// A chunk that waits to be decoded.
pub(crate) struct Waiting {
    /// What it is, for findings.
    pub(crate) piece: String,
    /// Its bytes.
    pub(crate) chunk: Box<WalkedChunk>,
    /// What the metadata says about it.
    pub(crate) stated: Option<Statistics>,
    /// The times beside it, by page, for a column of an aligned group.
    pub(crate) times: Arc<Vec<Vec<i64>>>,
    /// How many of its pages are decoded.
    pub(crate) pages: usize,
}

/// What came of a page.
#[derive(Default)]
pub(crate) struct Checked {
    /// What is wrong with it.
    pub(crate) findings: Vec<Finding>,
    /// Its times, for a time column.
    pub(crate) times: Vec<i64>,
}

/// Decodes the pages of chunks; what comes out is in their order.
pub(crate) fn check(waiting: &[Waiting], version: Version, driver: &Driver) -> Vec<Checked> {
    let pages: Vec<(&Waiting, usize)> =
        waiting.iter().flat_map(|chunk| (0..chunk.pages).map(move |number| (chunk, number))).collect();
    let one = |(chunk, number): &(&Waiting, usize)| page(chunk, *number, version);
    if pages.len() < 2 || driver.threads() < 2 {
        return pages.iter().map(one).collect();
    }
    driver.install(|| parallel::map(&pages, one))
}

fn page(waiting: &Waiting, number: usize, version: Version) -> Checked {
    let loaded = &waiting.chunk.loaded;
    let (Some(page), header) = (loaded.pages.get(number), &loaded.header) else { return Checked::default() };
    let place = format!("{}, page {number}", waiting.piece);
    let alone = if loaded.pages.len() == 1 { waiting.stated.as_ref() } else { None };
    let expected = page.header.statistics.as_ref().or(alone);
    let times = waiting.times.get(number).map(Vec::as_slice);
    let mut checked = Checked::default();
    let points = match points::decode(loaded, number, version, times, expected) {
        Ok(points) => points,
        Err(error) => {
            let error = error.offset(page.offset).piece(place);
            checked.findings.push(Finding::from_error(error.class_name(), &error));
            return checked;
        }
    };
    let mut add = |severity, kind, message: String| {
        checked.findings.push(Finding::new(severity, kind, message).offset(page.offset).piece(&place));
    };
    let found = points.statistics(header.data_type, version);
    let differs = |expected| difference(expected, &found, Compare::page(loaded, number, expected));
    if let Some(text) = expected.and_then(differs) {
        let text = format!("the statistics of a page are not those of its points: {text}");
        add(Severity::Error, "page_statistics", text);
    }
    if let Some(count) = points.not_utf8(header.data_type).filter(|count| *count > 0) {
        let text = format!("{count} values are not UTF-8; they can be read as bytes");
        add(Severity::Warning, "not_utf8", text);
    }
    if !version.is_flat() && points.times.windows(2).any(|pair| pair[0] >= pair[1]) {
        add(Severity::Warning, "time_order", "the times of a page do not ascend".to_string());
    }
    if header.is_time_column() {
        checked.times = points.times;
    }
    checked
}
