//! The formats of this build. Nothing else matches on a format.

use std::sync::Arc;

use tesselle_core::{Action, Confidence, Error, Format, Location, Probe, Result};

use crate::compression::Compression;

static FORMATS: &[&dyn Format] = &[
    #[cfg(feature = "tet")]
    &tesselle_tet::Tet,
    #[cfg(feature = "tiledb")]
    &tesselle_tiledb::TileDb,
    #[cfg(feature = "tsfile")]
    &tesselle_tsfile::TsFile,
    #[cfg(feature = "tatami")]
    &tesselle_tatami::Tatami,
    #[cfg(feature = "parquet")]
    &crate::foreign::Parquet,
    #[cfg(feature = "arrow-ipc")]
    &crate::foreign::ArrowIpc,
    #[cfg(feature = "text")]
    &crate::foreign::Csv,
    #[cfg(feature = "text")]
    &crate::foreign::Tsv,
    #[cfg(feature = "text")]
    &crate::foreign::JsonLines,
    #[cfg(feature = "zarr")]
    &crate::foreign::Npy,
    #[cfg(feature = "zarr")]
    &crate::foreign::Zarr,
];

/// All formats, in detection order.
pub fn formats() -> &'static [&'static dyn Format] {
    FORMATS
}

fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name())
}

/// The format with that name, or of files with that extension.
pub fn format_by_name(name: &str) -> Result<&'static dyn Format> {
    let ending = |format: &&dyn Format| format.extensions().iter().any(|e| e.eq_ignore_ascii_case(name));
    let found = FORMATS.iter().copied().find(|format| format.name().eq_ignore_ascii_case(name));
    let found = found.or_else(|| FORMATS.iter().copied().find(ending));
    found.ok_or_else(|| Error::unknown_name("format", name, names()))
}

/// The format that writes files with this file name extension; text may be compressed.
pub fn format_by_extension(name: &str) -> Option<&'static dyn Format> {
    let (_, end) = Compression::inner_name(name).rsplit_once('.')?;
    let known = |format: &&dyn Format| format.extensions().iter().any(|e| e.eq_ignore_ascii_case(end));
    let found = FORMATS.iter().copied().find(known)?;
    (Compression::of(name).is_none() || found.capabilities().infers_types).then_some(found)
}

/// The format to write: the one with that name, else the one of the file's extension.
pub fn target_format(name: Option<&str>, file: &str) -> Result<&'static dyn Format> {
    if let Some(name) = name {
        return format_by_name(name);
    }
    format_by_extension(file).ok_or_else(|| {
        Error::invalid(format!("the name '{file}' does not determine the format to write")).suggest(
            "add {}, or an extension such as .tet, .parquet, .csv, .arrow, .npy, .zarr",
            [Action::Target("FORMAT".into())],
        )
    })
}

/// The format with the highest confidence for `probe`.
pub(crate) fn best(probe: &Probe) -> Option<(&'static dyn Format, Confidence)> {
    let mut best = None;
    for format in FORMATS.iter().copied() {
        let confidence = format.sniff(probe);
        if confidence > best.map_or(Confidence::No, |(_, best)| best) {
            best = Some((format, confidence));
        }
    }
    best
}

/// The format at a location, by content first and by name second.
pub fn detect(location: &Location) -> Result<&'static dyn Format> {
    if !location.exists()? && !location.storage().recover(location.path())? {
        return Err(missing(location));
    }
    let probe = Probe::of(location)?;
    let found = best(&probe).map(|(format, _)| format);
    let of_pipe = || if location.storage().is_pipe() { text_in(&probe.head) } else { None };
    found.or_else(of_pipe).ok_or_else(|| unrecognized(&probe).file(location.path()))
}

/// The error for a location that does not exist, with the most similar name next to it. A store with latency is not asked for
/// names.
pub(crate) fn missing(location: &Location) -> Error {
    if location.storage().hints().concurrency > 1 {
        return Error::missing(location.path());
    }
    let here = || Location::new(Arc::clone(location.storage()), ".");
    let entries = location.parent().unwrap_or_else(here).list().unwrap_or_default();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    Error::missing_among(location.path(), &names)
}

/// The format of a location, if it is certain and not this one. Text files are recognized only by name.
#[cfg(feature = "tatami")]
pub(crate) fn other_format(location: &Location, than: &dyn Format) -> Result<Option<&'static dyn Format>> {
    if !location.exists()? {
        return Ok(None);
    }
    let probe = Probe::of(location)?;
    let by_content = FORMATS.iter().copied().find(|format| format.sniff(&probe) == Confidence::Content);
    let by_name = || {
        let mut text = FORMATS.iter().copied().filter(|format| format.capabilities().infers_types);
        text.find(|format| format.sniff(&probe) == Confidence::Name)
    };
    Ok(by_content.or_else(by_name).filter(|format| format.name() != than.name()))
}

/// The format of text without a name: JSON lines if it starts with an object, else CSV.
#[cfg(feature = "text")]
fn text_in(head: &[u8]) -> Option<&'static dyn Format> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character at the end may be cut.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    if is_json_array(head) {
        return None;
    }
    let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    let first = text.trim_start().chars().next()?;
    let json = first == '{' && text.trim_start()[1..].trim_start().starts_with(['"', '}']);
    let format: &'static dyn Format = if json { &crate::foreign::JsonLines } else { &crate::foreign::Csv };
    text.chars().all(is_text).then_some(format)
}

/// Whether a file starts as a JSON array of objects does.
#[cfg(feature = "text")]
fn is_json_array(head: &[u8]) -> bool {
    let Some(inside) = head.trim_ascii_start().strip_prefix(b"[") else { return false };
    matches!(inside.trim_ascii_start(), [b'{' | b']', ..])
}

#[cfg(not(feature = "text"))]
fn text_in(_head: &[u8]) -> Option<&'static dyn Format> {
    None
}

/// Formats of other tools by their first bytes, and a way from them to a format that is read here.
const OTHERS: [(&[u8], &str, &str); 16] = [
    (b"\x1f\x8b", "a gzip file", "only text is read compressed, by its name: x.csv.gz, x.jsonl.gz"),
    (
        b"\x28\xb5\x2f\xfd",
        "a Zstandard file",
        "only text is read compressed, by its name: x.csv.zst, x.jsonl.zst",
    ),
    (b"BZh", "a bzip2 file", "decompress it first, or compress it with gzip or zstd"),
    (b"\xfd7zXZ\0", "an xz file", "decompress it first, or compress it with gzip or zstd"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 or NetCDF 4", XARRAY),
    (b"CDF\x01", "NetCDF 3", XARRAY),
    (b"CDF\x02", "NetCDF 3", XARRAY),
    (b"CDF\x05", "NetCDF 3", XARRAY),
    (b"GRIB", "GRIB", XARRAY),
    (b"II*\0", "TIFF", RASTERIO),
    (b"MM\0*", "TIFF", RASTERIO),
    (b"II+\0", "BigTIFF", RASTERIO),
    (
        b"PK\x03\x04",
        "a zip archive, as .npz and .xlsx are",
        "unpack it, or save its tables and arrays as Parquet, CSV or .npy",
    ),
    (b"SQLite format 3\0", "a SQLite database", "export its tables as CSV or Parquet"),
    (b"ORC", "ORC", "pyarrow.orc reads it, pyarrow.parquet writes Parquet"),
    (b"Obj\x01", "Avro", "convert it to Parquet or JSON lines with the tools of Avro"),
];
const XARRAY: &str = "with Python: xarray.open_dataset(FILE).to_zarr('out.zarr', zarr_format=3)";
const RASTERIO: &str = "with Python: numpy.save('out.npy', rasterio.open(FILE).read())";

fn known_by_others(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = OTHERS.iter().find(|(first, ..)| head.starts_with(first));
    found.map(|(_, name, hint)| (*name, *hint))
}

fn unrecognized(probe: &Probe) -> Error {
    let looked_at = match &probe.entries {
        Some(entries) if entries.is_empty() => "an empty folder".to_owned(),
        Some(entries) => {
            let shown: Vec<&str> = entries.iter().take(4).map(String::as_str).collect();
            format!("a folder with {} entries ({}…)", entries.len(), shown.join(", "))
        }
        None if probe.size == 0 => "an empty file".to_owned(),
        None => {
            let first: Vec<String> = probe.head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("a file of {} bytes that starts with {}", probe.size, first.join(" "))
        }
    };
    if let Some((name, hint)) = known_by_others(&probe.head) {
        return Error::unsupported(format!("this is {name}, which is not read here"))
            .class("unknown_format")
            .hint(hint);
    }
    let error = Error::unsupported(format!("the format is not known: {looked_at}")).class("unknown_format");
    #[cfg(feature = "text")]
    if is_json_array(&probe.head) {
        return Error::unsupported("this is a JSON array, which is not read here")
            .class("unknown_format")
            .hint(crate::foreign::JSON_ARRAY);
    }
    #[cfg(feature = "text")]
    if probe.has_extension("json") {
        let name = Action::Format(crate::foreign::JsonLines.name().into());
        return error
            .suggest("JSON must have one object per line: use {}, or a name that ends in .jsonl", [name]);
    }
    let known = names().collect::<Vec<_>>().join(", ");
    error.suggest(format!("known formats are {known}; {{}} skips detection"), [Action::Format("NAME".into())])
}
