//! The formats this build knows. Nothing else matches on a format.

use tesselle_core::{Confidence, Error, Format, Location, Probe, Result};

use crate::foreign::Foreign;

static FORMATS: [&dyn Format; 4] =
    [&tesselle_tet::Tet, &tesselle_tiledb::TileDb, &tesselle_tsfile::TsFile, &tesselle_tatami::Tatami];

/// All formats, in the order they are asked.
pub fn formats() -> &'static [&'static dyn Format] {
    &FORMATS
}

/// The format of that name.
pub fn format_by_name(name: &str) -> Result<&'static dyn Format> {
    let found = FORMATS.iter().copied().find(|format| format.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| Error::unknown_name("format", name, FORMATS.iter().map(|format| format.name())))
}

/// The format that writes files with this name's ending.
pub fn format_by_extension(name: &str) -> Option<&'static dyn Format> {
    let (_, end) = name.rsplit_once('.')?;
    FORMATS.iter().copied().find(|format| format.extensions().iter().any(|e| e.eq_ignore_ascii_case(end)))
}

/// The format whose own this is, by its content.
pub fn detect(location: &Location) -> Result<&'static dyn Format> {
    if !location.exists()? && !location.storage().recover(location.path())? {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::io(format!("cannot read '{}'", location.path()), missing));
    }
    let probe = Probe::of(location)?;
    let best = FORMATS
        .iter()
        .map(|format| (format.sniff(&probe), *format))
        .max_by_key(|(confidence, _)| *confidence);
    match best {
        Some((confidence, format)) if confidence > Confidence::No => Ok(format),
        _ => match Foreign::detect(location)? {
            Some(foreign) => Err(elsewhere(foreign, location).file(location.path())),
            None if location.name().to_ascii_lowercase().ends_with(".json") => Err(unrecognised(&probe)
                .rephrase_hint(|_| {
                    "JSON is read one object a line: --format jsonl, or a name that ends in .jsonl".to_owned()
                })
                .file(location.path())),
            None => Err(unrecognised(&probe).file(location.path())),
        },
    }
}

/// A file that may be whole, but is asked for in the wrong place.
fn elsewhere(foreign: Foreign, location: &Location) -> Error {
    let name = foreign.name();
    Error::invalid(format!(
        "this is {name}, which is queried and converted, but none of the engine's own formats"
    ))
    .class("unknown_format")
    .hint(format!("try tess sql \"SELECT * FROM '{}'\", or tess convert", location.path()))
}

fn unrecognised(probe: &Probe) -> Error {
    let looked_at = match &probe.entries {
        Some(entries) if entries.is_empty() => "an empty folder".to_owned(),
        Some(entries) => {
            let shown: Vec<&str> = entries.iter().take(4).map(String::as_str).collect();
            format!("a folder with {} entries ({}…)", entries.len(), shown.join(", "))
        }
        None if probe.size == 0 => "an empty file".to_owned(),
        None => {
            let first: Vec<String> = probe.head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("a file of {} bytes that begins with {}", probe.size, first.join(" "))
        }
    };
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    Error::unsupported(format!("this is none of the known formats: {looked_at}"))
        .class("unknown_format")
        .hint(format!("known are {}; --format NAME skips this look", names.join(", ")))
}
