//! The note that the values of some blob columns are strings.
//!
//! The format has one kind of blob, bytes. A metadata pair of the footer, which other readers show but do not heed,
//! names the columns whose blobs were strings when they were written: `tesselle:string_blobs` and a JSON array of names.

/// The key of the note.
pub(crate) const KEY: &str = "tesselle:string_blobs";

/// The columns that the note names; a note that cannot be read names none.
pub(crate) fn parse(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<String> {
    let note = pairs.iter().find(|(key, _)| key == KEY.as_bytes()).map(|(_, value)| value.as_slice());
    note.and_then(|note| serde_json::from_slice(note).ok()).unwrap_or_default()
}

/// The note that names `columns`; `None` where there are none.
pub(crate) fn write(columns: &[String]) -> Option<(String, String)> {
    let names =
        || columns.iter().map(|name| serde_json::Value::from(name.as_str())).collect::<serde_json::Value>();
    (!columns.is_empty()).then(|| (KEY.to_owned(), names().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_whatever_they_hold() {
        let names = ["body".to_owned(), "a,\"b\"".to_owned()];
        let (key, value) = write(&names).unwrap();
        assert_eq!(parse(&[(key.into_bytes(), value.into_bytes())]), names);
        assert_eq!(write(&[]), None);
    }

    #[test]
    fn a_note_that_is_no_list_of_names_is_none() {
        for note in ["", "body", "[1]", "{}"] {
            assert!(parse(&[(KEY.into(), note.into())]).is_empty(), "{note}");
        }
    }
}
