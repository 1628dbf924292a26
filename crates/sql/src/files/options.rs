//! The options of `CREATE EXTERNAL TABLE`.

use std::collections::HashMap;

use tesselle::{Error, OpenOptions, Result, Secret};

/// Names that are understood.
const KNOWN: [&str; 8] =
    ["table", "at", "between", "key", "key_file", "raw", "text_as_binary", "full_domain"];

/// What a statement says about the file it opens.
#[derive(Debug)]
pub(super) struct TableOptions {
    pub(super) table: Option<String>,
    pub(super) open: OpenOptions,
}

impl TableOptions {
    /// The given options on top of those of the session.
    pub(super) fn new(base: &OpenOptions, given: &HashMap<String, String>) -> Result<Self> {
        let mut options = Self { table: None, open: base.clone() };
        for (name, value) in given {
            let open = &mut options.open;
            // The parser puts options without a dot into the space of the file format.
            match name.strip_prefix("format.").unwrap_or(name) {
                "table" => options.table = Some(value.clone()),
                "at" => open.between = Some((0, time(value)?)),
                "between" => {
                    let (start, end) = value
                        .split_once(',')
                        .ok_or_else(|| Error::invalid("between takes two times and a comma"))?;
                    open.between = Some((time(start)?, time(end)?));
                }
                "key" => open.key = Some(Secret::from_text(value.as_bytes())?),
                "key_file" => open.key = Some(key_file(value)?),
                "raw" => open.raw = truth(value)?,
                "text_as_binary" => open.text_as_binary = truth(value)?,
                "full_domain" => open.full_domain = truth(value)?,
                other => return Err(Error::unknown_name("table option", other, KNOWN)),
            }
        }
        Ok(options)
    }
}

fn key_file(path: &str) -> Result<Secret> {
    let text = std::fs::read(path).map_err(|e| Error::io(format!("cannot read the key file '{path}'"), e))?;
    // Editors end files with a newline; a raw key of 32 bytes is taken as it is.
    Secret::from_text(if text.len() == 32 { &text } else { text.trim_ascii_end() })
}

fn truth(text: &str) -> Result<bool> {
    let lower = text.trim().to_ascii_lowercase();
    lower.parse().map_err(|_| Error::invalid(format!("'{text}' is neither true nor false")))
}

/// Milliseconds since the epoch, or ISO 8601.
fn time(text: &str) -> Result<u64> {
    let text = text.trim();
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    let nanos = arrow_cast::parse::string_to_timestamp_nanos(text).map_err(|_| {
        Error::invalid(format!("'{text}' is not a time"))
            .hint("write milliseconds since the epoch, or ISO 8601 such as 2024-05-01T12:00:00Z")
    })?;
    u64::try_from(nanos.div_euclid(1_000_000))
        .map_err(|_| Error::invalid("times before 1970 are not used by any format"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<TableOptions> {
        let given = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        TableOptions::new(&OpenOptions::default(), &given)
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let options =
            read(&[("format.table", "t"), ("format.at", "1970-01-01T00:00:01Z"), ("raw", "TRUE")]).unwrap();
        assert_eq!(options.table.as_deref(), Some("t"));
        assert_eq!(options.open.between, Some((0, 1000)));
        assert!(options.open.raw);
        assert_eq!(read(&[("between", "5, 7")]).unwrap().open.between, Some((5, 7)));
        let hint = read(&[("tabel", "t")]).unwrap_err();
        assert_eq!(hint.hint_text(), Some("did you mean 'table'?"));
        assert!(read(&[("between", "5")]).is_err());
        assert!(read(&[("at", "noon")]).is_err());
    }
}
