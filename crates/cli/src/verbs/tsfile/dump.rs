//! `tess tsfile read`: prints records as they are read, in bounded memory.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use tesselle::storage::Staged;
use tesselle::tsfile::tools::{self, Dumped};
use tesselle::{Error, Result, Uri};

use super::word;
use crate::out;

/// Prints the records of a file from start to end.
pub(super) fn dump(path: &str, points: bool, json: bool) -> Result<()> {
    let location = Uri::parse(path)?.location;
    let mut out = out::target(None, false)?;
    if json {
        let mut writer = JsonDump { out: &mut *out, records: 0, pages: None };
        tools::read(&location, points, &mut |part| writer.part(part))?;
    } else {
        tools::read(&location, points, &mut |part| text_part(&mut *out, part))?;
    }
    out.commit().map(drop)
}

/// One object, written while its records arrive.
struct JsonDump<'a> {
    out: &'a mut dyn Staged,
    records: u64,
    /// Pages of the chunk that is open.
    pages: Option<u64>,
}

impl JsonDump<'_> {
    fn part(&mut self, part: Dumped) -> Result<()> {
        match part {
            Dumped::Version(version) => {
                self.put(&format!("{{\"version\": {}, \"records\": [", json(&version.into())?))
            }
            Dumped::Record(record) => {
                self.close_pages()?;
                let text = json(&Value::Object(record))?;
                let comma = if self.records > 0 { "," } else { "" };
                self.records += 1;
                self.put(&format!("{comma}\n{text}"))
            }
            Dumped::Chunk(chunk) => {
                self.close_pages()?;
                let text = json(&Value::Object(chunk))?;
                let comma = if self.records > 0 { "," } else { "" };
                self.records += 1;
                self.pages = Some(0);
                // The object stays open for its pages.
                self.put(&format!("{comma}\n{}, \"pages\": [", text.strip_suffix('}').unwrap_or(&text)))
            }
            Dumped::Page(page) => {
                let text = json(&Value::Object(page))?;
                let pages = self.pages.get_or_insert(0);
                let comma = if *pages > 0 { "," } else { "" };
                *pages += 1;
                self.put(&format!("{comma}\n  {text}"))
            }
            Dumped::End(stopped) => {
                self.close_pages()?;
                let stopped = json(&stopped.map_or(Value::Null, Value::from))?;
                self.put(&format!("\n], \"stopped\": {stopped}}}\n"))
            }
        }
    }

    fn close_pages(&mut self) -> Result<()> {
        if self.pages.take().is_some() {
            self.put("]}")?;
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.out.write(text.as_bytes())
    }
}

fn json(value: &Value) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::internal("a record is not JSON").source(e))
}

fn text_part(out: &mut dyn Staged, part: Dumped) -> Result<()> {
    let mut text = String::new();
    match part {
        Dumped::Version(_) | Dumped::End(None) => {}
        Dumped::Record(object) | Dumped::Chunk(object) => object_text(&mut text, &object, 0),
        Dumped::Page(object) => object_text(&mut text, &object, 1),
        Dumped::End(Some(why)) => {
            let _ = writeln!(text, "stopped: {why}");
        }
    }
    out.write(text.as_bytes())
}

/// The facts of an object on one line, the values of its lists below, indented.
fn object_text(text: &mut String, object: &Map<String, Value>, depth: usize) {
    let plain = object.iter().filter(|(_, value)| !value.is_array());
    let facts: Vec<String> = plain.map(|(key, value)| format!("{key} {}", word(value))).collect();
    let _ = writeln!(text, "{}{}", "  ".repeat(depth), facts.join(", "));
    for inner in object.values().filter_map(Value::as_array).flatten() {
        let _ = writeln!(text, "{}{inner}", "  ".repeat(depth + 1));
    }
}
