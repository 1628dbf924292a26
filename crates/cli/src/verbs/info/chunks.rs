//! The chunks of `info --chunks`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};
use tesselle::{Container, Result};

use super::render::plain;
use crate::format;

/// The listed chunks, and how many there are.
pub(super) struct Chunks {
    pub(super) listed: Vec<Value>,
    /// None if counting would mean listing them all.
    pub(super) total: Option<u64>,
}

impl Chunks {
    /// At most `limit` chunks of a container.
    pub(super) fn list(container: &dyn Container, limit: Option<usize>) -> Result<Self> {
        let listed = container.chunks(limit)?;
        let complete = limit.is_none_or(|limit| listed.len() < limit);
        let total = if complete { Some(listed.len() as u64) } else { container.chunk_count() };
        Ok(Self { listed, total })
    }

    /// A table with a column per key; statistics are columns as well. Pages follow their chunk, if wanted.
    pub(super) fn render(&self, text: &mut String, with_pages: bool) {
        let listed = format::count(self.listed.len() as u64);
        let total = self.total.map_or_else(|| "an unknown number".to_owned(), format::count);
        let _ = writeln!(text, "\nchunks: {listed} of {total}");
        table(text, &self.listed, with_pages);
    }
}

/// A table with a column per key of the chunks, and their pages below each, if wanted.
pub(crate) fn table(text: &mut String, chunks: &[Value], with_pages: bool) {
    let rows: Vec<Vec<(&str, &Value)>> = chunks.iter().filter_map(Value::as_object).map(cells).collect();
    let mut columns: Vec<&str> = Vec::new();
    for (key, _) in rows.iter().flatten() {
        if !columns.contains(key) {
            columns.push(key);
        }
    }
    let mut lines: Vec<Vec<String>> = vec![columns.iter().map(|key| (*key).to_owned()).collect()];
    lines.extend(rows.iter().map(|row| {
        let row: BTreeMap<&str, &Value> = row.iter().copied().collect();
        let cell = |key: &&str| row.get(key).map_or_else(|| "-".to_owned(), |value| plain(value));
        columns.iter().map(cell).collect()
    }));
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0))
        .collect();
    for (i, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        if with_pages && let Some(chunk) = i.checked_sub(1).and_then(|i| chunks.get(i)) {
            for (number, page) in chunk["pages"].as_array().into_iter().flatten().enumerate() {
                let _ = writeln!(text, "    page {number}: {}", plain(page));
            }
        }
    }
}

/// The cells of a chunk, with those of its statistics. The bytes of a zone map are those of `min` and `max`.
fn cells(chunk: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut cells = Vec::new();
    for (key, value) in chunk {
        match (key.as_str(), value) {
            ("pages" | "zone" | "zone_min" | "zone_max", _) => {}
            ("statistics", Value::Object(statistics)) => {
                cells.extend(statistics.iter().map(|(key, value)| (key.as_str(), value)));
            }
            _ => cells.push((key.as_str(), value)),
        }
    }
    cells
}
