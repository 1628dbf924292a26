//! Hints of errors in command line terms.

use tesselle::core::{listed_name, shown};
use tesselle::{Action, Error, type_name};

/// An action as a flag or a verb.
pub(crate) fn word(action: &Action) -> String {
    match action {
        Action::Setting(name, value) => format!("--set {}", quoted(&format!("{name}={value}"))),
        Action::Overwrite => "--force".to_owned(),
        Action::Table(names) => format!("--table NAME or #NAME: {}", shown(names)),
        Action::ArrayColumn(names) => format!("--column NAME: {}", shown(names)),
        Action::Cast(casts) => {
            let cast = |(name, to): &(String, _)| {
                format!("--cast {}", quoted(&format!("{}={}", listed_name(name), type_name(to))))
            };
            casts.iter().map(cast).collect::<Vec<_>>().join(" ")
        }
        Action::Columns => "--columns".to_owned(),
        Action::OnlyColumns(names) => {
            let names: Vec<_> = names.iter().map(|name| listed_name(name)).collect();
            format!("--columns {}", quoted(&names.join(",")))
        }
        Action::Filter => "--where".to_owned(),
        Action::Slice => "--slice".to_owned(),
        Action::Region => "--region".to_owned(),
        Action::Format(name) => format!("--format {name}"),
        Action::Target(name) => format!("--to {name}"),
        Action::Raw => "--raw".to_owned(),
        Action::StringsAsBinary => "--text-as-binary".to_owned(),
        Action::AsOf => "--at".to_owned(),
        Action::Key => "--key-file or TESSELLE_KEY".to_owned(),
        Action::SearchColumns => "--text COLUMNS".to_owned(),
        Action::Memory => "--memory-limit".to_owned(),
        Action::Verify => "'tess verify --deep'".to_owned(),
        Action::Repair => "'tess repair'".to_owned(),
        Action::Info => "'tess info'".to_owned(),
        Action::Index => "'tess index IN OUT --text COLUMNS'".to_owned(),
        Action::Convert => "'tess convert'".to_owned(),
        Action::Deleted => "'tess cat --deleted'".to_owned(),
        Action::InPlace => "--in-place".to_owned(),
        Action::Append => "'tess append'".to_owned(),
        Action::Delete => "'tess tsfile delete', 'tess tiledb delete' or 'tess tatami delete'".to_owned(),
        Action::Register(name) => format!("'--table {name}=FILE'"),
        other => other.neutral(),
    }
}

/// A word as a shell takes it: quoted if it contains spaces or other characters with a meaning.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-+=.,:/@%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// An action in SQL terms, if SQL has an equivalent.
#[cfg(feature = "sql")]
pub(crate) fn word_in_sql(action: &Action) -> String {
    tesselle_sql::word(action).unwrap_or_else(|| word(action))
}

/// An error as one line.
pub(crate) fn line(error: &Error) -> String {
    error.worded(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_flags_and_verbs() {
        let casts = vec![
            ("a".to_owned(), tesselle::type_by_name("int64").unwrap()),
            ("b".to_owned(), tesselle::type_by_name("utf8").unwrap()),
        ];
        let error = Error::invalid("x").suggest("use {}, or {}", [Action::Cast(casts), Action::Repair]);
        assert_eq!(line(&error), "x; use --cast a=int64 --cast b=utf8, or 'tess repair'");
    }

    #[test]
    fn flags_can_be_pasted_into_a_shell() {
        let cast = |name: &str, to: &str| {
            word(&Action::Cast(vec![(name.to_owned(), tesselle::type_by_name(to).unwrap())]))
        };
        assert_eq!(cast("unit price", "float64"), "--cast 'unit price=float64'");
        assert_eq!(cast("driver's", "utf8"), r"--cast 'driver'\''s=utf8'");
        assert_eq!(cast("größe", "timestamp_ms"), "--cast größe=timestamp_ms");
        let only = Action::OnlyColumns(vec!["id".to_owned(), "unit price".to_owned()]);
        assert_eq!(word(&only), "--columns 'id,unit price'");
        assert_eq!(
            word(&Action::OnlyColumns(vec!["a,b".to_owned(), "c".to_owned()])),
            "--columns '\"a,b\",c'"
        );
        assert_eq!(cast("a,b", "int8"), "--cast '\"a,b\"=int8'");
        assert_eq!(word(&Action::setting("time", "@row")), "--set time=@row");
        assert_eq!(word(&Action::setting("delimiter", ";")), "--set 'delimiter=;'");
    }
}
