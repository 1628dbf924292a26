//! Hints of errors in Python terms.

use tesselle::core::shown;
use tesselle::{Action, Error, type_name};

/// An action as a keyword or a call.
pub(crate) fn word(action: &Action) -> String {
    match action {
        Action::Setting(name, value) => format!("{}={}", keyword(name), literal(value)),
        Action::Overwrite => "overwrite=True".to_owned(),
        Action::Table(names) => format!("#NAME or table(NAME): {}", shown(names)),
        Action::ArrayColumn(names) => format!("array(COLUMN): {}", shown(names)),
        Action::Cast(casts) => {
            let casts = casts.iter().map(|(name, to)| format!("{name:?}: {:?}", type_name(to)));
            format!("cast={{{}}}", casts.collect::<Vec<_>>().join(", "))
        }
        Action::Columns => "columns=[…]".to_owned(),
        Action::OnlyColumns(names) => format!("columns={names:?}"),
        Action::Filter => "where=…".to_owned(),
        Action::Slice => "slice=…".to_owned(),
        Action::Region => "region=…".to_owned(),
        Action::Format(name) => format!("format={}", literal(name)),
        Action::Target(name) => format!("format={}", literal(name)),
        Action::Raw => "raw=True".to_owned(),
        Action::StringsAsBinary => "text_as_binary=True".to_owned(),
        Action::AsOf => "at=…".to_owned(),
        Action::Key => "key=… or TESSELLE_KEY".to_owned(),
        Action::SearchColumns => "text=[…]".to_owned(),
        Action::Memory => "tesselle.configure(memory=…)".to_owned(),
        Action::Verify => "tesselle.verify(…)".to_owned(),
        Action::Repair => "tesselle.repair(…)".to_owned(),
        Action::Info => "info()".to_owned(),
        Action::Index => "tesselle.index(src, dst, text=[…])".to_owned(),
        Action::Convert => "tesselle.convert(…)".to_owned(),
        Action::Append => "tesselle.append(…)".to_owned(),
        Action::Deleted => "deleted=True".to_owned(),
        Action::InPlace => "'python -m tesselle repair --in-place'".to_owned(),
        Action::Delete => "'python -m tesselle FORMAT delete'".to_owned(),
        Action::Register(name) => format!("tesselle.sql(…, {name}=TABLE)"),
        other => other.neutral(),
    }
}

/// An action of a conversion, where `source=` says how the source is opened.
pub(crate) fn word_in_conversion(action: &Action) -> String {
    match action {
        Action::Format(name) => format!("source={{\"format\": {}}}", literal(name)),
        Action::Raw => "source={\"raw\": True}".to_owned(),
        Action::StringsAsBinary => "source={\"text_as_binary\": True}".to_owned(),
        Action::AsOf => "source={\"at\": …}".to_owned(),
        Action::Key => "source={\"key\": …} or TESSELLE_KEY".to_owned(),
        Action::Deleted => "source={\"deleted\": True}".to_owned(),
        other => word(other),
    }
}

/// An action of a statement: what SQL spells itself, and keywords of `tesselle.open` for a table that is passed by name.
pub(crate) fn word_in_sql(action: &Action) -> String {
    match action {
        Action::Key => "TESSELLE_KEY, or t=tesselle.open(…, key=…)".to_owned(),
        Action::Raw | Action::StringsAsBinary | Action::AsOf | Action::Deleted | Action::Format(_) => {
            format!("t=tesselle.open(…, {})", word(action))
        }
        other => tesselle_sql::word(other).unwrap_or_else(|| word(other)),
    }
}

/// An error whose hint has its words, so that no others are chosen for it.
pub(crate) fn worded(error: Error, wording: fn(&Action) -> String) -> Error {
    let hint = error.next_step().map(|hint| hint.word(wording));
    match hint {
        Some(hint) => error.replace_hint(hint),
        None => error,
    }
}

/// The name of a setting as a keyword.
fn keyword(name: &str) -> String {
    name.replace(['.', '-'], "_")
}

/// A value as Python writes it; words in capitals stand for what the caller chooses.
fn literal(value: &str) -> String {
    let placeholder = value.chars().all(|c| c.is_ascii_uppercase() || c == '_') && !value.is_empty();
    if placeholder || value.parse::<f64>().is_ok() { value.to_owned() } else { format!("{value:?}") }
}
