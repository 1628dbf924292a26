//! The options of `CREATE EXTERNAL TABLE`.

use std::collections::HashMap;

use tesselle::name::{parse_time, parse_times, read_key};
use tesselle::{Error, OpenOptions, Result, Secret};

/// Names that are understood.
const KNOWN: [&str; 8] =
    ["table", "at", "between", "key", "key_file", "raw", "text_as_binary", "full_domain"];

/// The options of a statement for the file it opens.
#[derive(Debug)]
pub(super) struct TableOptions {
    pub(super) table: Option<String>,
    pub(super) open: OpenOptions,
    /// Whether the statement gives a time.
    pub(super) own_time: bool,
}

impl TableOptions {
    /// The given options on top of those of the session.
    pub(super) fn try_new(base: &OpenOptions, given: &HashMap<String, String>) -> Result<Self> {
        let mut options = Self { table: None, open: base.clone(), own_time: false };
        for (name, value) in given {
            let open = &mut options.open;
            // The parser puts options without a dot into the namespace of the file format.
            let name = name.strip_prefix("format.").unwrap_or(name);
            options.own_time |= matches!(name, "at" | "between");
            match name {
                "table" => options.table = Some(value.clone()),
                "at" => open.between = Some((0, parse_time(value)?)),
                "between" => open.between = Some(parse_times(value)?),
                "key" => open.key = Some(Secret::parse(value.as_bytes())?),
                "key_file" => open.key = Some(read_key(value)?),
                "raw" => open.raw = truth(value)?,
                "text_as_binary" => open.text_as_binary = truth(value)?,
                "full_domain" => open.full_domain = truth(value)?,
                other => return Err(Error::unknown_name("table option", other, KNOWN)),
            }
        }
        Ok(options)
    }
}

fn truth(text: &str) -> Result<bool> {
    let lower = text.trim().to_ascii_lowercase();
    lower.parse().map_err(|_| Error::invalid(format!("'{text}' is neither true nor false")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<TableOptions> {
        let given = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        TableOptions::try_new(&OpenOptions::default(), &given)
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
        assert_eq!(hint.hint_text().as_deref(), Some("did you mean 'table'?"));
        assert!(read(&[("between", "5")]).is_err());
        assert!(read(&[("at", "noon")]).is_err());
    }
}
