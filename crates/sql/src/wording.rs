//! Hints of errors in SQL terms.

use tesselle::core::shown;
use tesselle::{Action, Error};

/// An action as SQL spells it; `None` if SQL has no equivalent.
pub fn word(action: &Action) -> Option<String> {
    let option = |name: &str, value: &str| Some(format!("OPTIONS ('{name}' '{value}')"));
    match action {
        Action::Setting(name, value) => option(name, value),
        Action::Overwrite => option("overwrite", "true"),
        Action::Table(names) => Some(format!("#NAME to the file: {}", shown(names))),
        Action::Cast(casts) => {
            let casts = casts.iter().map(|(name, to)| format!("arrow_cast(\"{name}\", '{to}')"));
            Some(casts.collect::<Vec<_>>().join(", "))
        }
        Action::Columns => Some("SELECT".to_owned()),
        Action::OnlyColumns(names) => {
            let names = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
            Some(format!("SELECT {}", names.collect::<Vec<_>>().join(", ")))
        }
        Action::Filter => Some("WHERE".to_owned()),
        Action::Target(_) => {
            let names = tesselle::formats().iter().filter(|format| format.capabilities().rows_in);
            let names: Vec<String> = names.map(|format| format.name().to_ascii_uppercase()).collect();
            Some(format!("STORED AS {}", names.join(", ")))
        }
        _ => None,
    }
}

/// An error as one line, with its hint in SQL terms.
pub fn explain(error: &Error) -> String {
    error.worded(|action| word(action).unwrap_or_else(|| action.neutral()))
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    #[test]
    fn hints_speak_sql() {
        let hint = |sentence: &'static str, actions: &[Action]| {
            explain(&Error::invalid("x").suggest(sentence, actions.to_vec())).replace("x; ", "")
        };
        let time = |value: &'static str| Action::setting("time", value);
        assert_eq!(
            hint("name it with {}, or number the rows with {}", &[time("COLUMN"), time("@row")]),
            "name it with OPTIONS ('time' 'COLUMN'), or number the rows with OPTIONS ('time' '@row')"
        );
        assert_eq!(
            hint(
                "convert it with {}, or exclude it with {}",
                &[Action::Cast(vec![("t".to_owned(), DataType::Int64)]), Action::Columns]
            ),
            "convert it with arrow_cast(\"t\", 'Int64'), or exclude it with SELECT"
        );
        let only = Action::OnlyColumns(vec!["a".to_owned(), "B".to_owned()]);
        assert_eq!(hint("exclude it with {}", &[only]), "exclude it with SELECT \"a\", \"B\"");
        assert!(hint("add {}", &[Action::Target("FORMAT".into())]).contains("STORED AS TET, TILEDB"));
    }
}
