//! Hints about errors, as data: each front end renders them in its own terms.

use std::borrow::Cow;
use std::fmt;

use arrow_schema::DataType;

use crate::types::type_name;

/// An action of the caller, which the command line, SQL and Python spell differently.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Use a setting of the writer.
    Setting(Cow<'static, str>, Cow<'static, str>),
    /// Allow the target to be replaced.
    Overwrite,
    /// Select one of these tables.
    Table(Vec<String>),
    /// Select one of these array columns.
    ArrayColumn(Vec<String>),
    /// Cast columns to other types.
    Cast(Vec<(String, DataType)>),
    /// Choose columns.
    Columns,
    /// Choose exactly these columns.
    OnlyColumns(Vec<String>),
    /// Choose rows by a condition.
    Filter,
    /// Choose a region of an array.
    Slice,
    /// Select the region of a dense array to write.
    Region,
    /// Name the format that is read.
    Format(Cow<'static, str>),
    /// Name the format that is written.
    Target(Cow<'static, str>),
    /// Read stored integers instead of their meaning.
    Raw,
    /// Read strings as bytes.
    StringsAsBinary,
    /// Read the state as of an earlier time.
    AsOf,
    /// Give the key of an encrypted array.
    Key,
    /// Name the columns to search in.
    SearchColumns,
    /// Allow more memory.
    Memory,
    /// Check every value.
    Verify,
    /// Recover what can be recovered.
    Repair,
    /// Show the metadata.
    Info,
    /// Build a search segment.
    Index,
    /// Write through rows, into any format.
    Convert,
    /// Also read rows that are marked as deleted.
    Deleted,
    /// Replace the source by the result.
    InPlace,
    /// Add rows to an existing table.
    Append,
    /// Mark rows of an existing table as deleted.
    Delete,
    /// Make a table of this name known to a query.
    Register(String),
}

impl Action {
    /// A setting of a writer.
    pub fn setting(name: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) -> Self {
        Self::Setting(name.into(), value.into())
    }

    /// The action in terms that fit every front end.
    pub fn neutral(&self) -> String {
        match self {
            Self::Setting(name, value) => format!("the setting {name}={value}"),
            Self::Overwrite => "the overwrite option".to_owned(),
            Self::Table(names) => format!("a table name: {}", shown(names)),
            Self::ArrayColumn(names) => format!("a column name: {}", shown(names)),
            Self::Cast(casts) => {
                let casts = casts.iter().map(|(name, to)| format!("{name}={}", type_name(to)));
                format!("casts: {}", casts.collect::<Vec<_>>().join(","))
            }
            Self::Columns => "a list of columns".to_owned(),
            Self::OnlyColumns(names) => format!("a list of columns: {}", names.join(", ")),
            Self::Filter => "a filter".to_owned(),
            Self::Slice => "a slice".to_owned(),
            Self::Region => "a region".to_owned(),
            Self::Format(name) => format!("the input format {name}"),
            Self::Target(name) => format!("the output format {name}"),
            Self::Raw => "the raw option".to_owned(),
            Self::StringsAsBinary => "the option text_as_binary".to_owned(),
            Self::AsOf => "an earlier time".to_owned(),
            Self::Key => "a key".to_owned(),
            Self::SearchColumns => "the columns to search in".to_owned(),
            Self::Memory => "the memory limit".to_owned(),
            Self::Verify => "deep verification".to_owned(),
            Self::Repair => "repair".to_owned(),
            Self::Info => "info".to_owned(),
            Self::Index => "index".to_owned(),
            Self::Convert => "convert".to_owned(),
            Self::Deleted => "the option deleted".to_owned(),
            Self::InPlace => "in-place repair".to_owned(),
            Self::Append => "append".to_owned(),
            Self::Delete => "the deletion of its format".to_owned(),
            Self::Register(name) => format!("a table that is registered as '{name}'"),
        }
    }
}

/// The first few names.
pub fn shown(names: &[String]) -> String {
    const MOST: usize = 8;
    let more = if names.len() > MOST { ", …" } else { "" };
    let names: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    format!("{}{more}", names.join(", "))
}

/// A sentence with actions as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Each `{}` is replaced by one of the actions, in order.
    sentence: Cow<'static, str>,
    actions: Vec<Action>,
}

impl Hint {
    /// A sentence in which each `{}` is replaced by one of `actions`.
    pub fn new(sentence: impl Into<Cow<'static, str>>, actions: impl Into<Vec<Action>>) -> Self {
        Self { sentence: sentence.into(), actions: actions.into() }
    }

    /// The same hint, with the columns to choose.
    #[must_use]
    pub fn with_columns(mut self, names: &[String]) -> Self {
        for action in self.actions.iter_mut().filter(|action| **action == Action::Columns) {
            *action = Action::OnlyColumns(names.to_vec());
        }
        self
    }

    /// The actions of the sentence.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The sentence, with each action rendered by `wording`.
    pub fn word(&self, wording: impl Fn(&Action) -> String) -> String {
        if self.actions.is_empty() {
            return self.sentence.clone().into_owned();
        }
        let mut actions = self.actions.iter();
        let mut parts = self.sentence.split("{}");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text.extend(actions.next().map(&wording));
            text.push_str(part);
        }
        text
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word(Action::neutral))
    }
}

impl<S: Into<Cow<'static, str>>> From<S> for Hint {
    fn from(text: S) -> Self {
        Self::new(text, [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_front_end_words_the_actions_of_a_hint() {
        let hint = Hint::new(
            "name it with {}, or number the rows with {}",
            [Action::setting("time", "COLUMN"), Action::setting("time", "@row")],
        );
        assert_eq!(
            hint.to_string(),
            "name it with the setting time=COLUMN, or number the rows with the setting time=@row"
        );
        let flags = hint.word(|action| match action {
            Action::Setting(name, value) => format!("--set {name}={value}"),
            other => other.neutral(),
        });
        assert_eq!(flags, "name it with --set time=COLUMN, or number the rows with --set time=@row");
        assert_eq!(Hint::from("write {} yourself").to_string(), "write {} yourself");
    }
}
