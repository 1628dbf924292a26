//! The note that the values of some blob columns are strings.
//!
//! The format has only blobs of bytes. A metadata pair of the footer, which other readers show but ignore,
//! names the columns whose blobs were strings when they were written: `tesselle:string_blobs` and a JSON
//! array of names.

/// The key of the note.
pub(crate) const KEY: &str = "tesselle:string_blobs";

/// The columns listed in the note; an unreadable note lists none.
pub(crate) fn parse(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<String> {
    let note = pairs.iter().find(|(key, _)| key == KEY.as_bytes()).map(|(_, value)| value.as_slice());
    note.and_then(|note| serde_json::from_slice(note).ok()).unwrap_or_default()
}

/// The note that lists `columns`; `None` if there are none.
pub(crate) fn write(columns: &[String]) -> Option<(String, String)> {
    let names =
        || columns.iter().map(|name| serde_json::Value::from(name.as_str())).collect::<serde_json::Value>();
    (!columns.is_empty()).then(|| (KEY.to_owned(), names().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_names_round_trip() {
        let names = ["body".to_owned(), "a,\"b\"".to_owned()];
        let (key, value) = write(&names).unwrap();
        assert_eq!(parse(&[(key.into_bytes(), value.into_bytes())]), names);
        assert_eq!(write(&[]), None);
    }

    #[test]
    fn an_invalid_note_is_ignored() {
        for note in ["", "body", "[1]", "{}"] {
            assert!(parse(&[(KEY.into(), note.into())]).is_empty(), "{note}");
        }
    }
}
